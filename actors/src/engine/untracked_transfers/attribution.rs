//! Attributes an untracked transfer, or finds the payment for an order. An operator does it, once. After a restore,
//! untracked transfers block outgoing ones. At any time they are transfers that the service did not send, such as a
//! payment to a provider.

use std::collections::BTreeMap;
use std::time::Duration;

use purser_storage::{CommitError, Condition};

use super::candidate_withdrawal;
use super::recorded::RecordedTransfers;
use super::top_ups::{burn_from_transfer, candidate_burn};
use crate::approval::ApprovableAction;
use crate::engine::approvals::Authority;
use crate::engine::jobs::with_timeout_ms;
use crate::engine::operator_actions::{AuditEntry, OperatorLock};
use crate::engine::operators::put_row;
use crate::engine::{Engine, IncomingDecisionError};
use crate::entity::account;
use crate::entity::top_up::{FirstLeg, TopUp};
use crate::entity::{incoming, top_up, withdrawal};
use crate::id::{ApprovalId, DepositId, JobId, Network, TopUpId, TransferName, Wallet, WithdrawalId};
use crate::kernel::job::EntityJob;
use crate::kernel::{AskError, table};
use crate::ledger::{LedgerAccount, LedgerTransaction, Outlay};
use crate::money::Usdc;
use crate::operator::{AuditAction, OperatorAction};
use crate::port::{AttestationStatus, AttestedMessage, AttributedTransfer, ChainStatus, OutgoingTransfer, SignedBurn};

/// What an untracked transfer was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribution {
    /// It was paid from this account's balance.
    Account(Wallet),
    /// It is the transfer of this withdrawal, which the backup has without a signature.
    Withdrawal(WithdrawalId),
    /// It is the burn of this top-up, which the backup has without a signature.
    TopUp(TopUpId),
    /// It forwarded this incoming transfer in the lost history. Both are in the ledger then.
    Incoming(DepositId),
    /// No customer's: a provider payment, operator funds, or gas.
    Outlay(Outlay),
    /// A loss of the service.
    Loss,
}

/// What an attribution has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributionWait {
    /// A burn that the top-up has signed itself may still settle.
    OwnBurn,
    /// The bridge has not attested the recipient yet.
    Attestation,
    /// The bank has not decided yet.
    Bank,
    /// A payment of the lost history may still turn out to be its source.
    Payment,
}

/// Why a transfer was not attributed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributionError {
    /// No untracked transfer or order matches.
    NotFound,
    /// The transaction has several transfers and the name has no index. These are untracked.
    Ambiguous(Vec<TransferName>),
    /// The account's balance is too low.
    Insufficient {
        /// Available balance of the account, below the transferred amount.
        available: Usdc,
    },
    /// The withdrawal or top-up is not waiting for such a transfer, or the incoming transfer can't have paid for it.
    Mismatch,
    /// Not decidable yet: another transfer may still settle. The caller should retry later.
    MayStillSettle(AttributionWait),
    /// The amount charged to the payer is required.
    AmountMissing,
    /// The amount charged to the payer must be between these two.
    AmountOutOfRange(Usdc, Usdc),
    /// The amount is known and must not be given.
    AmountNotAllowed,
    /// An incoming transfer that awaits a decision has paid for it.
    PaidBy(DepositId),
    /// The provider has not executed the order, so there is nothing to attribute.
    NotExecuted,
    /// The amount needs a second operator's approval.
    ApprovalPending(ApprovalId),
    /// A dependency did not answer. Retry later.
    Unavailable,
}

impl Engine {
    /// Attributes an untracked transfer, or an order by its key, once. The batch that does it records the operator's
    /// evidence. `amount` is what the payer of an order was charged.
    ///
    /// # Errors
    /// [`AttributionError`]; nothing has changed then.
    pub async fn attribute_transfer(
        &self,
        name: &str,
        (booking, amount): (Attribution, Option<Usdc>),
        (act, evidence): (&OperatorAction, String),
    ) -> Result<Attribution, AttributionError> {
        self.attribute_by(name, (booking, amount), (Authority::Requester(act), evidence))
            .await
    }

    /// Attributes a transfer under an authority that was already checked.
    pub(in crate::engine) async fn attribute_by(
        &self,
        name: &str,
        (booking, amount): (Attribution, Option<Usdc>),
        (leave, evidence): (Authority<'_>, String),
    ) -> Result<Attribution, AttributionError> {
        // Two at once could both find it open.
        let one = self.lock_operator().await;
        match name.parse::<JobId>() {
            Ok(key) => {
                let booked = (booking, amount);
                self.attribute_order(&one, key, booked, (leave, evidence)).await?;
            }
            Err(_) => self.attribute_untracked(&one, name, booking, (leave, evidence)).await?,
        }
        self.match_outgoing_transfers().await;
        Ok(booking)
    }

    async fn attribute_untracked(
        &self,
        one: &OperatorLock<'_>,
        transaction: &str,
        booking: Attribution,
        (leave, evidence): (Authority<'_>, String),
    ) -> Result<(), AttributionError> {
        let act = leave.act();
        let (transfer, named) = self.find_untracked(transaction).await?;
        match booking {
            Attribution::Account(wallet) => {
                let command = |act| account::Command::AttributeTransfer {
                    transfer: transfer.clone(),
                    act,
                    evidence: evidence.clone(),
                };
                match self
                    .ask_as_operator(one, (&self.0.registries.accounts, wallet), act, command)
                    .await
                {
                    Err(AskError::Rejected(account::Rejection::Insufficient { available })) => {
                        return Err(AttributionError::Insufficient { available });
                    }
                    result => result.map_err(map_ask_error)?,
                }
            }
            Attribution::Withdrawal(id) => {
                let read = self.withdrawal(&id).await.map_err(|_| AttributionError::Unavailable)?;
                if !read.is_some_and(|withdrawal| candidate_withdrawal(&withdrawal, &transfer)) {
                    return Err(AttributionError::Mismatch);
                }
                let job = self.sending_job(withdrawal::Job::SendWithdrawal(id)).await?;
                let command = |act| withdrawal::Command::AttributeTransfer {
                    job,
                    transaction: transfer.key(),
                    act,
                    evidence: evidence.clone(),
                };
                let result = self
                    .ask_as_operator(one, (&self.0.registries.withdrawals, id), act, command)
                    .await;
                result.map_err(map_ask_error)?;
            }
            Attribution::TopUp(id) => {
                let read = self.top_up(&id).await.map_err(|_| AttributionError::Unavailable)?;
                let waits = read.filter(|top_up| candidate_burn(top_up, &transfer));
                let waits = waits.ok_or(AttributionError::Mismatch)?;
                let burn = burn_from_transfer(&transfer);
                let attested = self.attested_burn(&burn).await?;
                if attested
                    .check_matches(&waits.bridge_transfer(id), transfer.amount)
                    .is_err()
                {
                    return Err(AttributionError::Mismatch);
                }
                let dead = self.expired_burn(&waits).await?;
                let job = self.sending_job(top_up::Job::SendTopUp(id)).await?;
                let command = |act| top_up::Command::AttributeBurn {
                    job,
                    burn: burn.clone(),
                    index: transfer.index,
                    expired_burn: dead.clone(),
                    act,
                    evidence: evidence.clone(),
                };
                let result = self
                    .ask_as_operator(one, (&self.0.registries.top_ups, id), act, command)
                    .await;
                result.map_err(map_ask_error)?;
            }
            Attribution::Incoming(id) => self.attribute_to_incoming(one, id, &transfer, (act, evidence)).await?,
            Attribution::Outlay(_) | Attribution::Loss => {
                let of = (&transfer, named, booking);
                self.attribute_outlay(one, of, (leave, evidence)).await?;
            }
        }
        self.0.outgoing_guard.untracked.lock().retain(|open| *open != transfer);
        Ok(())
    }

    /// The untracked transfer with this name, and its key: the transaction's id if that has one transfer. Transfers
    /// from before a restore are stored; the chains are queried for all others.
    async fn find_untracked(&self, text: &str) -> Result<(OutgoingTransfer, String), AttributionError> {
        let name = TransferName::parse(text).ok_or(AttributionError::NotFound)?;
        let in_it = |one: &OutgoingTransfer| one.transaction == name.transaction;
        let open = self.0.outgoing_guard.untracked().into_iter().filter(in_it);
        let mut waiting: BTreeMap<u32, OutgoingTransfer> = open.map(|one| (one.index, one)).collect();
        // Before the rows are read: any of our own transfers on chain by now were persisted when signed.
        let all = self.outgoing_in_transaction(&name.transaction).await?;
        let several = all.len().max(waiting.len()) > 1;
        let known = RecordedTransfers::read(&*self.0.store)
            .await
            .map_err(|_| AttributionError::Unavailable)?;
        waiting.extend(known.untracked(all).into_iter().map(|one| (one.index, one)));
        if several && name.index.is_none() {
            return match waiting.is_empty() {
                true => Err(AttributionError::NotFound),
                false => Err(AttributionError::Ambiguous(
                    waiting.values().map(OutgoingTransfer::name).collect(),
                )),
            };
        }
        let one = waiting.into_values().find(|one| one.is_named(&name));
        let one = one.ok_or(AttributionError::NotFound)?;
        let named = if several {
            one.name().to_string()
        } else {
            name.transaction
        };
        Ok((one, named))
    }

    /// All outgoing transfers of our treasury in a transaction, from the chains' lists.
    async fn outgoing_in_transaction(&self, transaction: &str) -> Result<Vec<OutgoingTransfer>, AttributionError> {
        let Some(treasury) = &self.0.lists.treasury else {
            return Ok(Vec::new());
        };
        let patience = Duration::from_millis(self.0.settings.settle_timeout_ms);
        let mut left = Vec::new();
        for network in Network::ALL {
            let listed = treasury.in_transaction(network, transaction);
            let listed = with_timeout_ms(patience, listed, "in transaction")
                .await
                .map_err(|error| {
                    tracing::warn!(transaction, network = network.name(), %error, "a chain's list could not be read");
                    AttributionError::Unavailable
                })?;
            left.extend(listed.iter().filter_map(OutgoingTransfer::from_movement));
        }
        Ok(left)
    }

    /// The burn that a top-up has signed itself, proved never to settle; `None` if it has signed none. A second burn
    /// for one top-up would be money that can't be recovered.
    async fn expired_burn(&self, top_up: &TopUp) -> Result<Option<String>, AttributionError> {
        let top_up::Status::Paid(first) = &top_up.status else {
            return Err(AttributionError::Mismatch);
        };
        let burn = match first.as_deref() {
            None => return Ok(None),
            Some(FirstLeg::Burn(burn)) => burn,
            Some(FirstLeg::Transfer(_)) => return Err(AttributionError::Mismatch),
        };
        let patience = Duration::from_millis(self.0.settings.settle_timeout_ms);
        match with_timeout_ms(patience, self.0.ports.bridge.find_burn(burn), "find burn").await {
            Ok(ChainStatus::Impossible) => Ok(Some(burn.transaction.clone())),
            Ok(ChainStatus::Pending) => Err(AttributionError::MayStillSettle(AttributionWait::OwnBurn)),
            // Its own burn is on chain, so the transfer belongs to another.
            Ok(ChainStatus::Confirmed { .. }) => Err(AttributionError::Mismatch),
            Err(error) => {
                tracing::warn!(burn = burn.transaction, %error, "it is not known whether a burn may still settle");
                Err(AttributionError::Unavailable)
            }
        }
    }

    /// The attestation of a burn. Its recipient overrides the operator's statement.
    async fn attested_burn(&self, burn: &SignedBurn) -> Result<AttestedMessage, AttributionError> {
        let patience = Duration::from_millis(self.0.settings.settle_timeout_ms);
        let bridge = &self.0.ports.bridge;
        let result = match with_timeout_ms(patience, bridge.attestation(burn), "attestation").await {
            Ok(AttestationStatus::Complete(attested)) => return Ok(attested),
            Ok(AttestationStatus::Pending { .. }) => {
                return Err(AttributionError::MayStillSettle(AttributionWait::Attestation));
            }
            Ok(AttestationStatus::Expired { nonce }) => {
                with_timeout_ms(patience, bridge.reattest(&nonce), "attest again").await
            }
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => Err(AttributionError::MayStillSettle(AttributionWait::Attestation)),
            Err(error) => {
                tracing::warn!(burn = burn.transaction, %error, "it cannot be said whom a burn reached");
                Err(AttributionError::Unavailable)
            }
        }
    }

    /// The job that would send the transfer.
    async fn sending_job(&self, work: impl EntityJob) -> Result<JobId, AttributionError> {
        let open = self
            .open_jobs(usize::MAX)
            .await
            .map_err(|_| AttributionError::Unavailable)?;
        let moving = open.into_iter().find(|outbox_job| outbox_job.job == work);
        moving.map(|outbox_job| outbox_job.id).ok_or(AttributionError::Mismatch)
    }

    /// Attributes it to the incoming transfer that paid for it.
    async fn attribute_to_incoming(
        &self,
        one: &OperatorLock<'_>,
        id: DepositId,
        transfer: &OutgoingTransfer,
        (act, evidence): (&OperatorAction, String),
    ) -> Result<(), AttributionError> {
        let (incoming, payment) = self.load_undecided(id).await.map_err(map_decision_error)?;
        let paid = self.possible_top_up(&incoming).await;
        let paid = paid.map_err(|_| AttributionError::Unavailable)?;
        let paid = paid
            .filter(|paid| paid.may_match(transfer))
            .ok_or(AttributionError::Mismatch)?;
        if transfer.to.network() == Network::Solana {
            let attested = self.attested_burn(&burn_from_transfer(transfer)).await?;
            if !paid.may_reach(&attested) {
                return Err(AttributionError::Mismatch);
            }
        }
        let command = |act| incoming::Command::Forward {
            paid_for: Box::new(incoming::PaidFor::OutgoingTransfer(transfer.clone())),
            payment,
            act: Box::new(act),
            evidence: evidence.clone(),
        };
        // From now on a settlement checks whether its transfer was attributed.
        self.0.incoming.mark_taken_in();
        let result = self
            .ask_as_operator(one, (&self.0.registries.incoming, id), act, command)
            .await;
        result.map_err(map_ask_error)
    }

    /// Attributes it as an outlay or as a loss.
    async fn attribute_outlay(
        &self,
        one: &OperatorLock<'_>,
        (transfer, named, booking): (&OutgoingTransfer, String, Attribution),
        (leave, evidence): (Authority<'_>, String),
    ) -> Result<(), AttributionError> {
        let outlay = match booking {
            Attribution::Outlay(outlay) => Some(outlay),
            _ => None,
        };
        let gift = || {
            let (transaction, evidence) = (named, evidence.clone());
            match outlay {
                Some(outlay) => ApprovableAction::AttributeOutlay {
                    transaction,
                    outlay,
                    evidence,
                },
                None => ApprovableAction::AttributeLoss { transaction, evidence },
            }
        };
        let beside = self.authorize_action(one, leave, transfer.amount, gift).await?;
        let (id, now) = (transfer.id(), self.0.clock.now());
        let treasury = LedgerAccount::Treasury(transfer.to.network());
        let goes_to = outlay.map_or(LedgerAccount::OperatingCosts, Outlay::account);
        let booked = LedgerTransaction::new(now, id).post(goes_to, treasury, transfer.amount);
        let row = AttributedTransfer {
            transfer: transfer.clone(),
            account: None,
            outlay,
        };
        let key = table::attributed_transfer(id);
        let subject = match outlay {
            Some(outlay) => format!("{} {}", transfer.key(), outlay.name()),
            None => transfer.key(),
        };
        let words = AuditEntry {
            act: leave.act(),
            action: AuditAction::TransferAttribute,
            subject,
            note: Some(evidence.clone()),
            extras: beside,
        };
        let new = vec![Condition::Absent(key.clone())];
        let ledger = table::ledger(now, self.0.entropy.random());
        let writes = vec![put_row(key, &row), put_row(ledger, &booked)];
        match self.commit_with_audit(one, &words, new, writes).await {
            Ok(()) => Ok(()),
            Err(CommitError::Condition(_)) => Err(AttributionError::NotFound),
            Err(_) => Err(AttributionError::Unavailable),
        }
    }
}

pub(super) fn map_ask_error<R>(refusal: AskError<R>) -> AttributionError {
    match refusal {
        AskError::Rejected(_) | AskError::NotFound => AttributionError::Mismatch,
        AskError::Conflict => AttributionError::NotFound,
        AskError::OutcomeUnknown | AskError::Quarantined => AttributionError::Unavailable,
    }
}

/// Why a transfer can't be attributed to an incoming transfer that an operator could not decide either.
pub(super) fn map_decision_error(why: IncomingDecisionError) -> AttributionError {
    match why {
        IncomingDecisionError::Unavailable | IncomingDecisionError::ApprovalPending(_) => AttributionError::Unavailable,
        IncomingDecisionError::NotFound
        | IncomingDecisionError::AccountNotFound
        | IncomingDecisionError::AlreadyDelivered
        | IncomingDecisionError::InvalidState(_) => AttributionError::Mismatch,
    }
}
