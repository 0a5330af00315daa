//! Jobs of a top-up, leg by leg. Everything is durable before it is sent. Where something may have been sent, the chain
//! is read before anything else.

use purser_storage::mutants::{self, Mutant};

use super::finality::PAYMENT_REVERSED;
use super::gate::OutgoingPermit;
use super::work::{Inquiry, OperatorResolution, Summary, Work, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::engine::operators::corrupt;
use crate::engine::registries::Registries;
use crate::engine::untracked_transfers::gate::GateClosure;
use crate::engine::{Engine, ResolveError};
use crate::entity::top_up::{
    BridgeProgress, Command, DECLINED, FirstLeg, ISSUER_NOT_LINKED, Job, MINT_IMPOSSIBLE, Status, TopUp, UNAVAILABLE,
};
use crate::entity::withdrawal::SignedTransfer;
use crate::id::{JobId, Network, TopUpId, Wallet};
use crate::jobs::OutgoingPurpose;
use crate::kernel::{AttemptFailure, OutboxJob, table};
use crate::port::{
    AttestationStatus, AttestedMessage, BoxFuture, BridgeTransfer, CardDeposit, ChainStatus, Decline, ErrorKind,
    Finality, MintResult, OutgoingTransferRequest, PortError, Preparation, SignedBurn, SubmitResult,
};
use crate::reconciliation::{EntryAmount, EntryStatus};

/// Attempts to sign a first leg before the charge is credited: nothing has left yet.
const MAX_SIGN_ATTEMPTS: u32 = 8;
/// A declined mint is signed again after this number of chain reads, because each new one is persisted.
const MINT_RETRY_READS: u64 = 10;

/// Result of signing a first leg.
enum FirstLegSigning {
    Ready(FirstLeg),
    /// Why the chain would decline it.
    Declined(Decline),
}

impl FirstLegSigning {
    /// A declined one will not be looked up, so it counts as unknown: see [`JobHandlers::outgoing_allowed`].
    const fn fingerprint(&self) -> Option<[u8; 32]> {
        match self {
            Self::Ready(first) => first.fingerprint(),
            Self::Declined(_) => None,
        }
    }
}

#[deny(clippy::wildcard_enum_match_arm, reason = "a new job must be handled here")]
impl Work for Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        match self {
            Self::SendTopUp(id) => Box::pin(on.send_top_up(outbox_job, id)),
            Self::BridgeTopUp(id) => Box::pin(on.bridge_top_up(outbox_job, id)),
            Self::AwaitIssuerCredit(id) => Box::pin(on.await_issuer_credit(outbox_job, id)),
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::SendTopUp(id) | Self::BridgeTopUp(id) | Self::AwaitIssuerCredit(id)) = self;
        summarize(&all.top_ups, id, |top_up| {
            Some(EntryAmount::Usdc(top_up.charge.charged))
        })
    }

    fn inquire(self, engine: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        match self {
            Self::AwaitIssuerCredit(id) => Box::pin(engine.issuer_credit_status(id)),
            Self::SendTopUp(_) | Self::BridgeTopUp(_) => not_queryable(),
        }
    }

    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        match self {
            Self::AwaitIssuerCredit(id) if resolution.done => {
                resolution.send(engine, (&engine.0.registries.top_ups, id), || {
                    Command::RecordIssuerCredit { job: resolution.id }
                })
            }
            Self::SendTopUp(_) | Self::BridgeTopUp(_) | Self::AwaitIssuerCredit(_) => not_resolvable(),
        }
    }
}

impl Engine {
    /// Whether the issuer has credited what was delivered to it.
    async fn issuer_credit_status(&self, id: TopUpId) -> Inquiry {
        let Some(top_up) = self.top_up(&id).await.map_err(corrupt)? else {
            return Ok(None);
        };
        let (transaction, amount) = top_up.delivered().unwrap_or(("", top_up.delivered_amount()));
        let deposit = CardDeposit {
            address: top_up.address,
            transaction: transaction.to_owned(),
            amount,
        };
        let asked = self.0.ports.card_balances.is_credited(&deposit);
        let response = with_timeout_ms(self.query_timeout(), asked, "credited").await;
        Ok(Some(response.map(|counted| match counted {
            true => EntryStatus::Completed,
            false => EntryStatus::Pending,
        })))
    }
}

impl JobHandlers {
    async fn top_up(&self, id: TopUpId) -> Result<TopUp, AttemptFailure> {
        let read = self.registries.top_ups.read(&id).await.map_err(load_failed)?;
        read.map(|(top_up, _)| top_up)
            .ok_or_else(|| AttemptFailure::temporary("the top-up is not there"))
    }

    async fn ask_top_up(&self, id: TopUpId, command: Command) -> HandlerResult {
        ask_entity(&self.registries.top_ups, id, command).await
    }

    async fn fail_top_up(&self, outbox_job: &OutboxJob, id: TopUpId, reason: &str) -> HandlerResult {
        let request = outbox_job.request_id;
        tracing::warn!(top_up = %id, %request, reason, "a top-up cannot be delivered and is credited");
        let (job, reason) = (outbox_job.id, reason.into());
        self.ask_top_up(id, Command::Fail { job, reason }).await
    }

    /// The burn, or the transfer on Base: sign, persist, send. Sends the same one again until the chain shows it or
    /// proves that it can never settle.
    pub(super) async fn send_top_up(&self, outbox_job: &OutboxJob, id: TopUpId) -> HandlerResult {
        let top_up = self.top_up(id).await?;
        let Status::Paid(first) = &top_up.status else {
            return Ok(());
        };
        let leaves = OutgoingPurpose::TopUp(id);
        self.outgoing_guard
            .reserve(top_up.rail, top_up.delivered_amount(), leaves);
        let first = match first {
            Some(first) => (**first).clone(),
            None => {
                let rests_on = top_up.charge.payment;
                if self.is_reversed(rests_on).await? {
                    self.outgoing_allowed(None)?;
                    return self.fail_top_up(outbox_job, id, PAYMENT_REVERSED).await;
                }
                let pass = self
                    .acquire_outgoing_permit(&top_up.owner, GateClosure::Open, rests_on)
                    .await?;
                // Each signing makes a different burn, so it is not even signed.
                if top_up.rail == Network::Solana {
                    self.outgoing_allowed(None)?;
                }
                if !self.is_linked(&top_up).await? {
                    self.outgoing_allowed(None)?;
                    return self.fail_top_up(outbox_job, id, ISSUER_NOT_LINKED).await;
                }
                let signed = self.sign_first_leg(&pass, id, &top_up).await;
                self.outgoing_allowed(signed.as_ref().ok().and_then(FirstLegSigning::fingerprint))?;
                match signed {
                    Ok(FirstLegSigning::Declined(decline)) => {
                        tracing::warn!(top_up = %id, reason = decline.reason.as_str(), "a first leg is declined unsent");
                        return self.fail_top_up(outbox_job, id, DECLINED).await;
                    }
                    Ok(FirstLegSigning::Ready(first)) => {
                        let (top_ups, signed) = ((&self.registries.top_ups, id), Command::RecordSigned(first.clone()));
                        self.persist_signed(&top_up.owner, top_ups, signed).await?;
                        first
                    }
                    Err(error)
                        if error.kind == ErrorKind::Permanent || outbox_job.attempts + 1 >= MAX_SIGN_ATTEMPTS =>
                    {
                        tracing::warn!(top_up = %id, %error, "the first leg of a top-up could not be signed");
                        return self.fail_top_up(outbox_job, id, UNAVAILABLE).await;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        if self.is_owner_frozen(&top_up.owner).await? {
            return self
                .find_first_leg(outbox_job, id, (&first, false, top_up.expired_signatures))
                .await;
        }
        let refused = match self.with_timeout(self.submit_first_leg(&first), "submit").await {
            Ok(SubmitResult::Settled { transaction, finality }) => {
                return self.first_leg_confirmed(outbox_job, id, (transaction, finality)).await;
            }
            Ok(SubmitResult::Declined(_)) => false,
            Err(error) if mutants::is_enabled(Mutant::UnknownBurnResigned) && error.kind == ErrorKind::Unknown => {
                let (job, round) = (outbox_job.id, top_up.expired_signatures);
                self.ask_top_up(id, Command::RecordExpired { job, round }).await?;
                return Err(AttemptFailure::defer(self.settings.watch_every_ms));
            }
            Err(error) => error.kind == ErrorKind::Permanent,
        };
        self.find_first_leg(outbox_job, id, (&first, refused, top_up.expired_signatures))
            .await
    }

    /// Reads the chain, since neither a decline nor a timeout proves anything. A leg that can never settle is signed
    /// again, unless it was `refused` permanently.
    async fn find_first_leg(
        &self,
        outbox_job: &OutboxJob,
        id: TopUpId,
        (first, refused, round): (&FirstLeg, bool, u8),
    ) -> HandlerResult {
        let every_ms = self.settings.watch_every_ms;
        let lookup = match first {
            FirstLeg::Burn(burn) => self.with_timeout(self.ports.bridge.find_burn(burn), "find burn").await,
            FirstLeg::Transfer(out) => {
                let lookup = self.ports.settlement.lookup(&out.authorization, Some(&out.prepared));
                self.with_timeout(lookup, "lookup").await
            }
        };
        match lookup {
            Ok(ChainStatus::Confirmed { transaction, finality }) => {
                self.first_leg_confirmed(outbox_job, id, (transaction, finality)).await
            }
            // The lost history may have signed another one, which is confirmed.
            Ok(ChainStatus::Impossible) if self.outgoing_guard.must_wait(None) => self.outgoing_allowed(None),
            Ok(ChainStatus::Impossible) if refused => self.fail_top_up(outbox_job, id, DECLINED).await,
            Ok(ChainStatus::Impossible) => {
                let job = outbox_job.id;
                self.ask_top_up(id, Command::RecordExpired { job, round }).await?;
                match self.top_up(id).await?.status {
                    Status::Paid(_) => Err(AttemptFailure::defer(every_ms)),
                    _ => Ok(()),
                }
            }
            Ok(ChainStatus::Pending) if mutants::is_enabled(Mutant::SignedLegCredited) => {
                self.fail_top_up(outbox_job, id, DECLINED).await
            }
            Ok(ChainStatus::Pending) => Err(AttemptFailure::defer(every_ms)),
            Err(error) => Err(AttemptFailure::from(error).retry_every_ms(every_ms)),
        }
    }

    /// The leg is on its chain. It counts as permanent only once it is final, as for a withdrawal.
    async fn first_leg_confirmed(
        &self,
        outbox_job: &OutboxJob,
        id: TopUpId,
        (transaction, finality): (String, Finality),
    ) -> HandlerResult {
        if finality == Finality::Confirmed {
            self.outgoing_guard.release_sent(OutgoingPurpose::TopUp(id));
            return Err(AttemptFailure::defer(self.settings.watch_every_ms));
        }
        let job = outbox_job.id;
        self.ask_top_up(id, Command::RecordConfirmed { job, transaction }).await
    }

    /// Whether the account that the top-up was bought for is still the linked one.
    async fn is_linked(&self, top_up: &TopUp) -> Result<bool, AttemptFailure> {
        let row = self.store.read(&table::issuer_linked(&top_up.owner)).await;
        let row = row.map_err(|e| AttemptFailure::temporary(e.to_string()))?;
        Ok(row.is_some_and(|row| *row.value == top_up.address))
    }

    async fn sign_first_leg(
        &self,
        _: &OutgoingPermit,
        id: TopUpId,
        top_up: &TopUp,
    ) -> Result<FirstLegSigning, PortError> {
        match top_up.rail {
            Network::Solana => {
                let bridge_transfer = top_up.bridge_transfer(id);
                let signed = self
                    .with_timeout(self.ports.bridge.sign_burn(&bridge_transfer), "sign burn")
                    .await?;
                // The burn is too small for the amount to arrive.
                if signed.burned < bridge_transfer.delivered_amount {
                    return Err(PortError {
                        kind: ErrorKind::Temporary,
                        operation: "sign burn",
                        message: "it burns less than is to arrive".into(),
                    });
                }
                Ok(FirstLegSigning::Ready(FirstLeg::Burn(signed)))
            }
            Network::Base => {
                let transfer = OutgoingTransferRequest {
                    key: id.0,
                    to: Wallet::Evm(top_up.address),
                    amount: top_up.delivered_amount(),
                };
                let authorization = self.with_timeout(self.ports.settlement.sign(&transfer), "sign").await?;
                let prepare = self.ports.settlement.prepare(&authorization);
                Ok(match self.with_timeout(prepare, "prepare").await? {
                    Preparation::Ready(prepared) => FirstLegSigning::Ready(FirstLeg::Transfer(SignedTransfer {
                        authorization,
                        prepared,
                    })),
                    Preparation::Declined(decline) => FirstLegSigning::Declined(decline),
                })
            }
        }
    }

    async fn submit_first_leg(&self, first: &FirstLeg) -> Result<SubmitResult, PortError> {
        match first {
            FirstLeg::Burn(burn) => self.ports.bridge.burn(burn).await,
            FirstLeg::Transfer(out) => self.ports.settlement.submit(&out.authorization, &out.prepared).await,
        }
    }

    /// Attestation, then mint. Only moves forward: after any port result it asks again at a fixed interval.
    pub(super) async fn bridge_top_up(&self, outbox_job: &OutboxJob, id: TopUpId) -> HandlerResult {
        let top_up = self.top_up(id).await?;
        let bridge_transfer = top_up.bridge_transfer(id);
        let Status::Bridging(burned) = top_up.status else {
            return Ok(());
        };
        let BridgeProgress { burn, attested, mint } = *burned;
        let steady = |error: PortError| AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms);
        let attested = match attested {
            Some(attested) => attested,
            None => {
                let attested = self.await_attestation(&burn, &bridge_transfer).await?;
                self.ask_top_up(id, Command::RecordAttestation(attested.clone()))
                    .await?;
                attested
            }
        };
        let mint = match mint {
            Some(mint) => mint,
            None => self
                .sign_mint(id, &attested)
                .await
                .map_err(|e| e.retry_every_ms(self.settings.watch_every_ms))?,
        };
        let minting = self.with_timeout(self.ports.bridge.mint(&mint), "mint").await;
        if let Ok(MintResult::Minted { transaction }) = minting {
            let job = outbox_job.id;
            return self.ask_top_up(id, Command::RecordMinted { job, transaction }).await;
        }
        // After a used nonce, a decline or a timeout, the same question remains: what does Base show?
        let found = self
            .with_timeout(self.ports.bridge.find_mint(&attested), "find mint")
            .await;
        match (found.map_err(steady)?, minting) {
            (ChainStatus::Confirmed { transaction, .. }, _) => {
                let job = outbox_job.id;
                self.ask_top_up(id, Command::RecordMinted { job, transaction }).await
            }
            (ChainStatus::Impossible, _) => self.fail_top_up(outbox_job, id, MINT_IMPOSSIBLE).await,
            // The signed mint was declined: another one may be accepted.
            (ChainStatus::Pending, Ok(MintResult::Declined(decline))) => {
                let newest = self.await_attestation(&burn, &bridge_transfer).await?;
                self.resign_mint(id, (&attested, newest), decline).await
            }
            (ChainStatus::Pending, Err(_)) if mutants::is_enabled(Mutant::MintFailedWithoutProof) => {
                let (job, transaction) = (outbox_job.id, mint.transaction);
                self.ask_top_up(id, Command::RecordMinted { job, transaction }).await
            }
            (ChainStatus::Pending, _) => Err(AttemptFailure::defer(self.settings.watch_every_ms)),
        }
    }

    /// A declined mint. Signs it again after a while, or starts again at once from a new attestation if the stored one
    /// has expired.
    async fn resign_mint(
        &self,
        id: TopUpId,
        (known, newest): (&AttestedMessage, AttestedMessage),
        decline: Decline,
    ) -> HandlerResult {
        tracing::warn!(top_up = %id, reason = decline.reason.as_str(), "a mint was refused and is signed anew");
        if newest != *known {
            self.ask_top_up(id, Command::RecordAttestation(newest)).await?;
            return Err(AttemptFailure::defer(0));
        }
        let every_ms = self.settings.watch_every_ms;
        let signed = self.sign_mint(id, known).await;
        signed.map_err(|e| e.retry_every_ms(every_ms))?;
        Err(AttemptFailure::temporary(decline.reason.as_str())
            .retry_every_ms(every_ms.saturating_mul(MINT_RETRY_READS)))
    }

    /// Waits for the attestation, however long it takes. An attestation that does not match this bridge transfer is
    /// never minted: an operator must look.
    async fn await_attestation(
        &self,
        burn: &SignedBurn,
        bridge_transfer: &BridgeTransfer,
    ) -> Result<AttestedMessage, AttemptFailure> {
        let every_ms = self.settings.watch_every_ms;
        let steady = |error: PortError| AttemptFailure::from(error).retry_every_ms(every_ms);
        let response = self
            .with_timeout(self.ports.bridge.attestation(burn), "attestation")
            .await;
        match response.map_err(steady)? {
            AttestationStatus::Complete(attested) => match attested.check_matches(bridge_transfer, burn.burned) {
                Err(wrong) if !mutants::is_enabled(Mutant::ForeignAttestation) => Err(AttemptFailure {
                    kind: ErrorKind::Permanent,
                    ..AttemptFailure::temporary(wrong)
                }),
                _ => Ok(attested),
            },
            AttestationStatus::Pending { retry_after_ms } => Err(AttemptFailure::defer(retry_after_ms)),
            AttestationStatus::Expired { nonce } => {
                let asked = self
                    .with_timeout(self.ports.bridge.reattest(&nonce), "attest again")
                    .await;
                asked.map_err(steady)?;
                Err(AttemptFailure::defer(every_ms))
            }
        }
    }

    async fn sign_mint(
        &self,
        id: TopUpId,
        attested: &AttestedMessage,
    ) -> Result<crate::port::SignedMint, AttemptFailure> {
        let signed = self
            .with_timeout(self.ports.bridge.sign_mint(attested), "sign mint")
            .await?;
        self.ask_top_up(id, Command::RecordMintSigned(signed.clone())).await?;
        Ok(signed)
    }

    /// Queries the issuer until it has credited the delivery. A delivery not credited in time is dead-lettered under
    /// its own reason. The charge is not credited to the account, since the issuer has the money.
    pub(super) async fn await_issuer_credit(&self, outbox_job: &OutboxJob, id: TopUpId) -> HandlerResult {
        let top_up = self.top_up(id).await?;
        if top_up.status != Status::Delivered {
            return Ok(());
        }
        let (transaction, amount) = top_up.delivered().unwrap_or(("", top_up.delivered_amount()));
        let deposit = CardDeposit {
            address: top_up.address,
            transaction: transaction.to_owned(),
            amount,
        };
        let patience = std::time::Duration::from_millis(self.settings.issuer_timeout_ms);
        let response = with_timeout_ms(patience, self.ports.card_balances.is_credited(&deposit), "credited").await;
        match response {
            Ok(true) => {
                self.ask_top_up(id, Command::RecordIssuerCredit { job: outbox_job.id })
                    .await
            }
            response => {
                let waited_ms = self.clock.now().0.saturating_sub(outbox_job.created_at.0);
                if waited_ms >= self.settings.card_credit_timeout_ms {
                    return Err(AttemptFailure {
                        kind: ErrorKind::Permanent,
                        ..AttemptFailure::temporary(
                            "issuer_has_not_credited: the deposit is on Base and not in the balance",
                        )
                    });
                }
                let every_ms = self.settings.watch_every_ms;
                match response {
                    Err(error) => Err(AttemptFailure::from(error).retry_every_ms(every_ms)),
                    Ok(_) => Err(AttemptFailure::defer(every_ms)),
                }
            }
        }
    }
}
