//! A top-up's way to the card issuer, leg by leg. Before anything is sent it is durable; what may have been sent is read
//! from the chain before anything else is done.

use purser_storage::mutants::{self, Mutant};

use super::finality::GONE;
use super::gate::Pass;
use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::engine::untracked_transfers::gate::Shut;
use crate::id::{Network, TopUpId, Wallet};
use crate::kernel::job::Leaves;
use crate::kernel::{AttemptFailure, OutboxJob, table};
use crate::port::{
    AttestationStatus, AttestedMessage, BridgeTransfer, CardDeposit, ChainStatus, Decline, ErrorKind, Finality,
    MintResult, OutgoingTransferRequest, PortError, Preparation, SignedBurn, SubmitResult,
};
use crate::top_up::{
    BridgeProgress, Command, DECLINED, FirstLeg, ISSUER_NOT_LINKED, MINT_IMPOSSIBLE, Status, TopUp, UNAVAILABLE,
};
use crate::withdrawal::SignedTransfer;

/// Tries to sign a first leg before the charge is given back: nothing has left yet.
const MAX_SIGN_ATTEMPTS: u32 = 8;
/// Readings of the chain that a refused mint waits: each one signed anew is written down.
const MINT_AGAIN_AFTER: u64 = 10;

/// What came of signing a first leg.
enum SignedFirst {
    Ready(FirstLeg),
    /// Why the chain would refuse it.
    Declined(Decline),
}

impl SignedFirst {
    /// One that is declined will not be looked up, so it counts as unknown: see [`Desk::may_leave`].
    const fn mark(&self) -> Option<[u8; 32]> {
        match self {
            Self::Ready(first) => first.fingerprint(),
            Self::Declined(_) => None,
        }
    }
}

impl JobHandlers {
    async fn top_up(&self, id: TopUpId) -> Result<TopUp, AttemptFailure> {
        let read = self.families.top_ups.read(&id).await.map_err(load_failed)?;
        read.map(|(top_up, _)| top_up)
            .ok_or_else(|| AttemptFailure::temporary("the top-up is not there"))
    }

    async fn tell_top_up(&self, id: TopUpId, command: Command) -> HandlerResult {
        ask_entity(&self.families.top_ups, id, command).await
    }

    async fn fail_top_up(&self, effect: &OutboxJob, id: TopUpId, reason: &str) -> HandlerResult {
        let request = effect.request_id;
        tracing::warn!(top_up = %id, %request, reason, "a top-up cannot be delivered and is credited");
        let (effect, reason) = (effect.id, reason.into());
        self.tell_top_up(id, Command::Fail { effect, reason }).await
    }

    /// The burn, or the transfer on Base: sign, make durable, send, and send the same again until the chain shows it or
    /// proves that it never will.
    pub(super) async fn send_top_up(&self, effect: &OutboxJob, id: TopUpId) -> HandlerResult {
        let top_up = self.top_up(id).await?;
        let Status::Paid(first) = &top_up.status else {
            return Ok(());
        };
        let leaves = Leaves::TopUp(id);
        self.departures.promised(top_up.rail, top_up.delivered_amount(), leaves);
        let first = match first {
            Some(first) => (**first).clone(),
            None => {
                let rests_on = top_up.charge.payment;
                if self.is_gone(rests_on).await? {
                    self.may_leave(None)?;
                    return self.fail_top_up(effect, id, GONE).await;
                }
                let pass = self.pass(&top_up.owner, Shut::Never, rests_on).await?;
                // A burn is another one each time it is signed, so it is not even signed.
                if top_up.rail == Network::Solana {
                    self.may_leave(None)?;
                }
                if !self.is_linked(&top_up).await? {
                    self.may_leave(None)?;
                    return self.fail_top_up(effect, id, ISSUER_NOT_LINKED).await;
                }
                let signed = self.sign_first_leg(&pass, id, &top_up).await;
                self.may_leave(signed.as_ref().ok().and_then(SignedFirst::mark))?;
                match signed {
                    Ok(SignedFirst::Declined(decline)) => {
                        tracing::warn!(top_up = %id, reason = decline.reason.as_str(), "a first leg is declined unsent");
                        return self.fail_top_up(effect, id, DECLINED).await;
                    }
                    Ok(SignedFirst::Ready(first)) => {
                        let (top_ups, signed) = ((&self.families.top_ups, id), Command::RecordSigned(first.clone()));
                        self.tell_signed(&top_up.owner, top_ups, signed).await?;
                        first
                    }
                    Err(error) if error.kind == ErrorKind::Permanent || effect.attempts + 1 >= MAX_SIGN_ATTEMPTS => {
                        tracing::warn!(top_up = %id, %error, "the first leg of a top-up could not be signed");
                        return self.fail_top_up(effect, id, UNAVAILABLE).await;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        if self.is_barred(&top_up.owner).await? {
            return self.find_first_leg(effect, id, (&first, false, top_up.lapsed)).await;
        }
        let refused = match self.with_timeout(self.submit_first_leg(&first), "submit").await {
            Ok(SubmitResult::Settled { transaction, finality }) => {
                return self.first_leg_confirmed(effect, id, (transaction, finality)).await;
            }
            Ok(SubmitResult::Declined(_)) => false,
            Err(error) if mutants::is_enabled(Mutant::UnknownBurnResigned) && error.kind == ErrorKind::Unknown => {
                let (effect, round) = (effect.id, top_up.lapsed);
                self.tell_top_up(id, Command::RecordExpired { effect, round }).await?;
                return Err(AttemptFailure::defer(self.settings.watch_every_ms));
            }
            Err(error) => error.kind == ErrorKind::Permanent,
        };
        self.find_first_leg(effect, id, (&first, refused, top_up.lapsed)).await
    }

    /// Neither a refusal nor silence proves anything: the chain is read. What it says can never land is signed anew,
    /// unless it was `refused` for good.
    async fn find_first_leg(
        &self,
        effect: &OutboxJob,
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
            Ok(ChainStatus::Landed { transaction, finality }) => {
                self.first_leg_confirmed(effect, id, (transaction, finality)).await
            }
            // The lost history may have signed another, and that one landed.
            Ok(ChainStatus::Impossible) if self.departures.must_wait(None) => self.may_leave(None),
            Ok(ChainStatus::Impossible) if refused => self.fail_top_up(effect, id, DECLINED).await,
            Ok(ChainStatus::Impossible) => {
                let effect = effect.id;
                self.tell_top_up(id, Command::RecordExpired { effect, round }).await?;
                match self.top_up(id).await?.status {
                    Status::Paid(_) => Err(AttemptFailure::defer(every_ms)),
                    _ => Ok(()),
                }
            }
            Ok(ChainStatus::Pending) if mutants::is_enabled(Mutant::SignedLegCredited) => {
                self.fail_top_up(effect, id, DECLINED).await
            }
            Ok(ChainStatus::Pending) => Err(AttemptFailure::defer(every_ms)),
            Err(error) => Err(AttemptFailure::from(error).retry_every_ms(every_ms)),
        }
    }

    /// On its chain, and for good only once it is final: see a withdrawal.
    async fn first_leg_confirmed(
        &self,
        effect: &OutboxJob,
        id: TopUpId,
        (transaction, finality): (String, Finality),
    ) -> HandlerResult {
        if finality == Finality::Seen {
            self.departures.is_seen_to_leave(Leaves::TopUp(id));
            return Err(AttemptFailure::defer(self.settings.watch_every_ms));
        }
        let effect = effect.id;
        self.tell_top_up(id, Command::RecordConfirmed { effect, transaction })
            .await
    }

    /// Whether the account that the top-up was bought for is still the linked one.
    async fn is_linked(&self, top_up: &TopUp) -> Result<bool, AttemptFailure> {
        let row = self.store.read(&table::linked(&top_up.owner)).await;
        let row = row.map_err(|e| AttemptFailure::temporary(e.to_string()))?;
        Ok(row.is_some_and(|row| *row.value == top_up.address))
    }

    async fn sign_first_leg(&self, _: &Pass, id: TopUpId, top_up: &TopUp) -> Result<SignedFirst, PortError> {
        match top_up.rail {
            Network::Solana => {
                let crossing = top_up.crossing(id);
                let signed = self
                    .with_timeout(self.ports.bridge.sign_burn(&crossing), "sign burn")
                    .await?;
                // What was to arrive could not be minted from it.
                if signed.burned < crossing.arrives {
                    return Err(PortError {
                        kind: ErrorKind::Temporary,
                        operation: "sign burn",
                        message: "it burns less than is to arrive".into(),
                    });
                }
                Ok(SignedFirst::Ready(FirstLeg::Burn(signed)))
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
                    Preparation::Ready(prepared) => SignedFirst::Ready(FirstLeg::Transfer(SignedTransfer {
                        authorization,
                        prepared,
                    })),
                    Preparation::Declined(decline) => SignedFirst::Declined(decline),
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

    /// Attestation, then mint. It only goes forward: whatever a port answers, it is asked again at a steady pace.
    pub(super) async fn cross_bridge(&self, effect: &OutboxJob, id: TopUpId) -> HandlerResult {
        let top_up = self.top_up(id).await?;
        let crossing = top_up.crossing(id);
        let Status::Bridging(burned) = top_up.status else {
            return Ok(());
        };
        let BridgeProgress { burn, attested, mint } = *burned;
        let steady = |error: PortError| AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms);
        let attested = match attested {
            Some(attested) => attested,
            None => {
                let attested = self.attested(&burn, &crossing).await?;
                self.tell_top_up(id, Command::RecordAttestation(attested.clone()))
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
            let effect = effect.id;
            return self
                .tell_top_up(id, Command::RecordMinted { effect, transaction })
                .await;
        }
        // A used nonce, a refusal and silence are all the same question: what does Base show?
        let found = self
            .with_timeout(self.ports.bridge.find_mint(&attested), "find mint")
            .await;
        match (found.map_err(steady)?, minting) {
            (ChainStatus::Landed { transaction, .. }, _) => {
                let effect = effect.id;
                self.tell_top_up(id, Command::RecordMinted { effect, transaction })
                    .await
            }
            (ChainStatus::Impossible, _) => self.fail_top_up(effect, id, MINT_IMPOSSIBLE).await,
            // As it was signed it was refused: another may be taken.
            (ChainStatus::Pending, Ok(MintResult::Declined(decline))) => {
                let newest = self.attested(&burn, &crossing).await?;
                self.resign_mint(id, (&attested, newest), decline).await
            }
            (ChainStatus::Pending, Err(_)) if mutants::is_enabled(Mutant::MintFailedWithoutProof) => {
                let (effect, transaction) = (effect.id, mint.transaction);
                self.tell_top_up(id, Command::RecordMinted { effect, transaction })
                    .await
            }
            (ChainStatus::Pending, _) => Err(AttemptFailure::defer(self.settings.watch_every_ms)),
        }
    }

    /// A mint was refused: it is signed anew after a while, or, if the attesters' word has lapsed since it was written down,
    /// begun again at once from their new one.
    async fn resign_mint(
        &self,
        id: TopUpId,
        (known, newest): (&AttestedMessage, AttestedMessage),
        decline: Decline,
    ) -> HandlerResult {
        tracing::warn!(top_up = %id, reason = decline.reason.as_str(), "a mint was refused and is signed anew");
        if newest != *known {
            self.tell_top_up(id, Command::RecordAttestation(newest)).await?;
            return Err(AttemptFailure::defer(0));
        }
        let every_ms = self.settings.watch_every_ms;
        let signed = self.sign_mint(id, known).await;
        signed.map_err(|e| e.retry_every_ms(every_ms))?;
        Err(AttemptFailure::temporary(decline.reason.as_str())
            .retry_every_ms(every_ms.saturating_mul(MINT_AGAIN_AFTER)))
    }

    /// The attesters' word, for as long as it takes them. One on what is not this crossing is nothing to mint on: somebody
    /// must look.
    async fn attested(&self, burn: &SignedBurn, crossing: &BridgeTransfer) -> Result<AttestedMessage, AttemptFailure> {
        let every_ms = self.settings.watch_every_ms;
        let steady = |error: PortError| AttemptFailure::from(error).retry_every_ms(every_ms);
        let told = self
            .with_timeout(self.ports.bridge.attestation(burn), "attestation")
            .await;
        match told.map_err(steady)? {
            AttestationStatus::Complete(attested) => match attested.is_of(crossing, burn.burned) {
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
        self.tell_top_up(id, Command::RecordMintSigned(signed.clone())).await?;
        Ok(signed)
    }

    /// Asks the issuer until it counts what was delivered. What it does not count in time waits for a person, by that
    /// name: nothing is given back, since the issuer holds the money.
    pub(super) async fn await_card_credit(&self, effect: &OutboxJob, id: TopUpId) -> HandlerResult {
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
        let told = with_timeout_ms(patience, self.ports.card_balances.is_credited(&deposit), "credited").await;
        match told {
            Ok(true) => {
                self.tell_top_up(id, Command::RecordIssuerCredit { effect: effect.id })
                    .await
            }
            told => {
                let waited_ms = self.clock.now().0.saturating_sub(effect.created_at.0);
                if waited_ms >= self.settings.card_credit_patience_ms {
                    return Err(AttemptFailure {
                        kind: ErrorKind::Permanent,
                        ..AttemptFailure::temporary(
                            "issuer_has_not_credited: the deposit is on Base and not in the balance",
                        )
                    });
                }
                let every_ms = self.settings.watch_every_ms;
                match told {
                    Err(error) => Err(AttemptFailure::from(error).retry_every_ms(every_ms)),
                    Ok(_) => Err(AttemptFailure::defer(every_ms)),
                }
            }
        }
    }
}
