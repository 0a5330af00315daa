//! The Solana side: the burn and its attestation.

use std::sync::atomic::Ordering;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    AttestationStatus, AttestedMessage, Authorization, BridgeTransfer, ChainStatus, ErrorKind, OutgoingTransferRequest,
    PortError, Preparation, PreparedTransaction, SignedBurn, SubmitResult,
};

use super::faults::BridgeLeg;
use super::message::{Message, attest};
use super::records::{BridgeRecord, BridgeRecordKind, SignedBurnRecord, nonce_of};
use super::{SandboxBridge, decline, failed, has, signed_of};
use purser_sandbox::chains::SandboxSettlement;
use purser_sandbox::faults::Fault;
use purser_sandbox::keys::treasury;

/// The bridge's fee in ten-thousandths of the delivered amount, rounded up.
const FEE_PER_10_000: u64 = 1;
/// Extra Solana balance of the sandbox's treasury beyond the burn, for the fees of other bridges: a hundred USDC.
const FLOAT: Usdc = Usdc::from_atomic(100_000_000);
/// Delay that the attesters request before the next query.
const ATTESTATION_RETRY_MS: u64 = 500;
/// The same after too many queries.
const RATE_LIMIT_RETRY_MS: u64 = 2_000;

impl SandboxBridge {
    pub(super) async fn sign_burn(&self, bridge_transfer: &BridgeTransfer) -> Result<SignedBurn, PortError> {
        let arrives = bridge_transfer.delivered_amount.atomic();
        let fee = arrives.saturating_mul(FEE_PER_10_000).div_ceil(10_000);
        let burned = Usdc::from_atomic(arrives.saturating_add(fee));
        let vault = Wallet::Solana(self.wallet.solana_address());
        self.prepare_chain(vault, burned).await?;
        let transfer = OutgoingTransferRequest {
            key: bridge_transfer.key,
            to: vault,
            amount: burned,
        };
        let authorization = self.chains.sign(&transfer).await?;
        let PreparedTransaction { bytes, transaction } = match self.chains.prepare(&authorization).await? {
            Preparation::Ready(prepared) => prepared,
            // It can be signed again once the treasury has the funds.
            Preparation::Declined(decline) => return Err(failed(ErrorKind::Temporary, decline.reason.as_str())),
        };
        let signed = SignedBurnRecord {
            key: bridge_transfer.key,
            to: bridge_transfer.to,
            burned: burned.atomic(),
            fee,
        };
        let event_key = authorization.claim_key();
        self.record(&transaction, |known, _| {
            let new = signed_of(known).is_none().then_some(BridgeRecordKind::Signed(signed));
            (new, ())
        })
        .await?;
        Ok(SignedBurn {
            bytes,
            transaction,
            event_key,
            burned,
        })
    }

    /// Creates the bridge's token account on Solana and funds the treasury for the fee: the payment does not cover the
    /// fee, and the sandbox's treasury starts empty.
    async fn prepare_chain(&self, vault: Wallet, burned: Usdc) -> Result<(), PortError> {
        if !self.is_open.load(Ordering::Relaxed) {
            self.chains.fund(vault, Usdc::from_atomic(1)).await?;
            self.is_open.store(true, Ordering::Relaxed);
        }
        let ours = treasury(Network::Solana);
        if self.chains.balance(&ours).await? < burned.checked_add(FLOAT).unwrap_or(burned) {
            self.chains
                .fund(ours, FLOAT.checked_add(FLOAT).unwrap_or(FLOAT))
                .await?;
        }
        Ok(())
    }

    pub(super) async fn submit_burn(&self, burn: &SignedBurn) -> Result<SubmitResult, PortError> {
        let known = self.records_of(&burn.transaction).await?;
        let fault = self.fault(BridgeLeg::Burn, &known);
        self.before(fault).await?;
        match fault {
            Some(Fault::Stall) => return Err(failed(ErrorKind::Unknown, "nothing is heard of the burn")),
            Some(Fault::RetryableDecline) => return Ok(SubmitResult::Declined(decline("bridge_busy"))),
            Some(Fault::Expire | Fault::Decline) => {
                let unsent = |known: &[BridgeRecord], _| {
                    let dead = !has(known, &BridgeRecordKind::Sent);
                    (dead.then_some(BridgeRecordKind::BurnExpired), dead)
                };
                if self.record(&burn.transaction, unsent).await? {
                    let kind = match fault {
                        Some(Fault::Decline) => ErrorKind::Permanent,
                        _ => ErrorKind::Unknown,
                    };
                    return Err(failed(kind, "the burn was not taken"));
                }
            }
            _ => {}
        }
        let send = |known: &[BridgeRecord], _| {
            let dead = has(known, &BridgeRecordKind::BurnExpired) || signed_of(known).is_none();
            (
                (!dead && !has(known, &BridgeRecordKind::Sent)).then_some(BridgeRecordKind::Sent),
                !dead,
            )
        };
        if !self.record(&burn.transaction, send).await? {
            return Ok(SubmitResult::Declined(decline("blockhash_not_found")));
        }
        let (authorization, prepared) = on_solana(burn)?;
        let submitted = self.chains.submit(&authorization, &prepared).await;
        match fault {
            Some(Fault::LoseResponse) => Err(failed(ErrorKind::Unknown, "no answer in time")),
            _ => submitted,
        }
    }

    pub(super) async fn lookup_burn(&self, burn: &SignedBurn) -> Result<ChainStatus, PortError> {
        let known = self.records_of(&burn.transaction).await?;
        if has(&known, &BridgeRecordKind::BurnExpired) {
            return Ok(ChainStatus::Impossible);
        }
        self.lookup_on_chain(burn).await
    }

    async fn lookup_on_chain(&self, burn: &SignedBurn) -> Result<ChainStatus, PortError> {
        let (authorization, prepared) = on_solana(burn)?;
        self.chains.lookup(&authorization, Some(&prepared)).await
    }

    pub(super) async fn attestation(&self, burn: &SignedBurn) -> Result<AttestationStatus, PortError> {
        let landed = match burn.bytes.is_empty() {
            // An operator named this burn: only its transaction is known, and the attesters are queried by it.
            true => self
                .chains
                .has_outgoing_transfer(&burn.transaction)
                .await
                .unwrap_or(false),
            false => matches!(self.lookup_on_chain(burn).await, Ok(ChainStatus::Confirmed { .. })),
        };
        let not_yet = |retry_after_ms| Ok(AttestationStatus::Pending { retry_after_ms });
        if !landed {
            return not_yet(ATTESTATION_RETRY_MS);
        }
        let known = self.records_of(&burn.transaction).await?;
        let fault = self.fault(BridgeLeg::Attestation, &known);
        let seen = |known: &[BridgeRecord], _| {
            (
                (!has(known, &BridgeRecordKind::BurnObserved)).then_some(BridgeRecordKind::BurnObserved),
                (),
            )
        };
        self.record(&burn.transaction, seen).await?;
        match fault {
            Some(Fault::RateLimited) => return not_yet(RATE_LIMIT_RETRY_MS),
            Some(Fault::Stall) => return not_yet(ATTESTATION_RETRY_MS),
            Some(Fault::LoseResponse) => return Err(failed(ErrorKind::Unknown, "no answer in time")),
            fault => self.before(fault).await?,
        }
        if fault == Some(Fault::Expire) {
            self.record(&burn.transaction, |_, _| {
                (Some(BridgeRecordKind::AttestationExpired), ())
            })
            .await?;
        }
        let after = self.attest_after_ms;
        let wait = self
            .record(&burn.transaction, move |known, now| {
                let last = known.iter().rev().find(|n| {
                    matches!(
                        n.kind,
                        BridgeRecordKind::BurnObserved
                            | BridgeRecordKind::AttestationExpired
                            | BridgeRecordKind::Reattested
                    )
                });
                let expired = last.is_some_and(|n| n.kind == BridgeRecordKind::AttestationExpired);
                let due = last.map_or(now, |n| n.at.plus_ms(after));
                (None, (!expired).then(|| due.0.saturating_sub(now.0)))
            })
            .await?;
        let nonce = nonce_of(&burn.transaction);
        match (wait, signed_of(&known)) {
            (None, _) => Ok(AttestationStatus::Expired { nonce }),
            (Some(0), Some(signed)) => Ok(AttestationStatus::Complete(self.attestation_for(nonce, signed))),
            (Some(wait), _) => not_yet(wait.clamp(1, ATTESTATION_RETRY_MS)),
        }
    }

    fn attestation_for(&self, nonce: [u8; 32], signed: SignedBurnRecord) -> AttestedMessage {
        let message = Message {
            nonce,
            to: signed.to,
            amount: signed.burned,
            fee: signed.fee,
        };
        let bytes = message.bytes(&self.wallet.solana_address());
        AttestedMessage {
            nonce,
            attestation: attest(&self.wallet, &bytes).to_vec(),
            to: message.to,
            is_usdc: Message::is_of_usdc(&bytes),
            delivered_amount: message.delivered_amount(),
            message: bytes,
        }
    }
}

/// The burn as a payment on the sandbox's Solana.
fn on_solana(burn: &SignedBurn) -> Result<(Authorization, PreparedTransaction), PortError> {
    let transfer = SandboxSettlement::read_signed(&burn.bytes)
        .ok_or_else(|| failed(ErrorKind::Permanent, "not a burn that can be read"))?;
    let prepared = PreparedTransaction {
        bytes: burn.bytes.clone(),
        transaction: burn.transaction.clone(),
    };
    Ok((Authorization::Solana(transfer), prepared))
}
