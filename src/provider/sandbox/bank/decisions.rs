//! Decisions of the sandbox's bank on applications, account openings and transfers.

use purser_actors::id::BankAccountId;
use purser_actors::port::banking::{
    AccountNumbers, AccountType, BankDecision, BankTransferRequest, BankTransferResult, OpenAccountRequest,
    OpenAccountResult, ReviewDecision,
};
use purser_actors::port::{ErrorKind, PortError};
use sha2::{Digest as _, Sha256};

use super::SandboxBank;
use super::faults::{BankCall, MAGIC_NAMES, REJECTED_CENTS};
use super::records::{BankRecord, ReviewVerdict};
use crate::banking::PlainApplication;
use purser_sandbox::faults::failed;

impl SandboxBank {
    pub(super) async fn decide(&self, asked: PlainApplication) -> Result<BankDecision<ReviewDecision>, PortError> {
        let mut digest = Sha256::new_with_prefix(b"application");
        for (name, answer) in &asked.answers {
            digest.update(format!("{name}={answer}\n"));
        }
        digest.update(asked.tax_id.expose_secret());
        for paper in &asked.documents {
            // A bank inspects documents: bytes of another type than announced are not accepted.
            let actual: [u8; 32] = Sha256::digest(&*paper.bytes).into();
            if actual != paper.sha256 {
                return Err(failed(
                    ErrorKind::Permanent,
                    "review",
                    "a document is not what was announced",
                ));
            }
            digest.update(actual);
        }
        let last = asked.answers.iter().find(|(name, _)| name == "last_name");
        let last = last.map_or("", |(_, answer)| answer.as_str());
        let more = asked.documents.iter().any(|paper| paper.document_type == "other");
        let verdict = match MAGIC_NAMES.iter().position(|magic| *magic == last) {
            Some(0) => ReviewVerdict::Rejected,
            Some(1) if !more => ReviewVerdict::InformationRequested,
            _ => ReviewVerdict::Approved,
        };
        let (key, digest) = (asked.key, digest.finalize().into());
        let outcome = self.call(BankCall::Review, (key, digest), |_, due, declined| {
            BankRecord::Reviewed {
                key,
                digest,
                verdict: if declined { ReviewVerdict::Rejected } else { verdict },
                due,
            }
        });
        Ok(match outcome.await? {
            Some(BankRecord::Reviewed { verdict, .. }) => BankDecision::Final(match verdict {
                ReviewVerdict::Approved => ReviewDecision::Approved {
                    customer: format!("sbx_cus_{:016x}", asked.id.0 >> 64),
                },
                ReviewVerdict::Rejected => ReviewDecision::Rejected {
                    reason: "declined_by_bank".into(),
                },
                ReviewVerdict::InformationRequested => ReviewDecision::InformationRequested {
                    what: "Another document of any kind that shows where the money comes from.".into(),
                },
            }),
            _ => self.pending(),
        })
    }

    pub(super) async fn open_account(
        &self,
        order: &OpenAccountRequest,
    ) -> Result<BankDecision<OpenAccountResult>, PortError> {
        let OpenAccountRequest {
            key,
            account,
            customer,
            account_type: ramp,
        } = order;
        let (key, account, ramp) = (*key, *account, *ramp);
        let digest = Sha256::digest(format!("account {account} {customer} {}", ramp.name())).into();
        let outcome = self.call(BankCall::Open, (key, digest), |_, due, refused| BankRecord::Opened {
            key,
            digest,
            account,
            ramp,
            rejected: refused,
            due,
        });
        Ok(match outcome.await? {
            Some(BankRecord::Opened { rejected: false, .. }) => {
                BankDecision::Final(OpenAccountResult::Open(coordinates(account, ramp)))
            }
            Some(BankRecord::Opened { .. }) => BankDecision::Final(OpenAccountResult::Rejected {
                reason: "declined_by_bank".into(),
            }),
            _ => self.pending(),
        })
    }

    pub(super) async fn move_money(
        &self,
        order: &BankTransferRequest,
    ) -> Result<BankDecision<BankTransferResult>, PortError> {
        let BankTransferRequest {
            key,
            transfer,
            account,
            amount,
            to_account,
        } = *order;
        let cents = amount.get();
        let digest = Sha256::digest(format!("move {transfer} {account} {cents} {to_account}")).into();
        let outcome = self.call(BankCall::Transfer, (key, digest), |book, due, declined| {
            let state = book.accounts.get(&account.0);
            let refused = match state {
                None => Some("no_such_account"),
                _ if declined || cents % 100 == REJECTED_CENTS => Some("declined_by_bank"),
                Some(state) if !to_account && state.cents < cents => Some("insufficient_funds"),
                Some(_) => None,
            };
            BankRecord::Transferred {
                key,
                digest,
                account,
                cents,
                to_account,
                decline_reason: refused.map(str::to_owned),
                due,
            }
        });
        Ok(match outcome.await? {
            Some(BankRecord::Transferred {
                decline_reason: None, ..
            }) => BankDecision::Final(BankTransferResult::Complete {
                reference: format!("sbx_mov_{:016x}", key.0 >> 64),
            }),
            Some(BankRecord::Transferred {
                decline_reason: Some(reason),
                ..
            }) => BankDecision::Final(BankTransferResult::Failed { reason }),
            _ => self.pending(),
        })
    }
}

/// Account number and routing number, derived from the account's id, so that they survive any loss. The routing number
/// has a valid checksum and belongs to no bank.
fn coordinates(account: BankAccountId, ramp: AccountType) -> AccountNumbers {
    AccountNumbers {
        bank_name: "Sandbox Bank".into(),
        routing_number: "110000000".into(),
        account_number: format!("{:012}", account.0 % 1_000_000_000_000),
        memo: (ramp == AccountType::OnRamp).then(|| format!("SBX{:08X}", (account.0 >> 96) as u32)),
    }
}
