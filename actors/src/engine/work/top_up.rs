//! A top-up's way to the card issuer, leg by leg. Before anything is sent it is durable; what may have been sent is read
//! from the chain before anything else is done.

use purser_storage::planted::{self, Bug};

use super::finality::GONE;
use super::gate::Pass;
use super::{Desk, Done, tell, unreadable, within};
use crate::engine::departures::gate::Shut;
use crate::id::{Network, TopUpId, Wallet};
use crate::kernel::effect::Leaves;
use crate::kernel::{Effect, Failure, table};
use crate::port::{
    Attestation, Attested, Crossing, Decline, Deposited, ErrorKind, Finality, Lookup, Minting, PortError, Preparation,
    SignedBurn, Submitted, Transfer,
};
use crate::top_up::{Burned, Command, First, REFUSED, Status, TopUp, UNAVAILABLE, UNLINKED, UNMINTABLE};
use crate::withdrawal::Outgoing;

/// Tries to sign a first leg before the charge is given back: nothing has left yet.
const SIGN_TRIES: u32 = 8;
/// Readings of the chain that a refused mint waits: each one signed anew is written down.
const MINT_AGAIN_AFTER: u64 = 10;

/// What came of signing a first leg.
enum SignedFirst {
    Ready(First),
    /// Why the chain would refuse it.
    Declined(Decline),
}

impl SignedFirst {
    /// One that is declined will not be looked up, so it counts as unknown: see [`Desk::may_leave`].
    const fn mark(&self) -> Option<[u8; 32]> {
        match self {
            Self::Ready(first) => first.mark(),
            Self::Declined(_) => None,
        }
    }
}

impl Desk {
    async fn top_up(&self, id: TopUpId) -> Result<TopUp, Failure> {
        let read = self.families.top_ups.read(&id).await.map_err(unreadable)?;
        read.map(|(top_up, _)| top_up)
            .ok_or_else(|| Failure::temporary("the top-up is not there"))
    }

    async fn tell_top_up(&self, id: TopUpId, command: Command) -> Done {
        tell(&self.families.top_ups, id, command).await
    }

    async fn fail_top_up(&self, effect: &Effect, id: TopUpId, reason: &str) -> Done {
        let request = effect.origin;
        tracing::warn!(top_up = %id, %request, reason, "a top-up cannot be delivered and is credited");
        let (effect, reason) = (effect.id, reason.into());
        self.tell_top_up(id, Command::Fail { effect, reason }).await
    }

    /// The burn, or the transfer on Base: sign, make durable, send, and send the same again until the chain shows it or
    /// proves that it never will.
    pub(super) async fn send_top_up(&self, effect: &Effect, id: TopUpId) -> Done {
        let top_up = self.top_up(id).await?;
        let Status::Paid(first) = &top_up.status else {
            return Ok(());
        };
        let leaves = Leaves::TopUp(id);
        self.departures.promised(top_up.rail, top_up.arrives(), leaves);
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
                    return self.fail_top_up(effect, id, UNLINKED).await;
                }
                let signed = self.sign_first(&pass, id, &top_up).await;
                self.may_leave(signed.as_ref().ok().and_then(SignedFirst::mark))?;
                match signed {
                    Ok(SignedFirst::Declined(decline)) => {
                        tracing::warn!(top_up = %id, reason = decline.reason.as_str(), "a first leg is declined unsent");
                        return self.fail_top_up(effect, id, REFUSED).await;
                    }
                    Ok(SignedFirst::Ready(first)) => {
                        let (top_ups, signed) = ((&self.families.top_ups, id), Command::Signed(first.clone()));
                        self.tell_signed(&top_up.owner, top_ups, signed).await?;
                        first
                    }
                    Err(error) if error.kind == ErrorKind::Permanent || effect.attempts + 1 >= SIGN_TRIES => {
                        tracing::warn!(top_up = %id, %error, "the first leg of a top-up could not be signed");
                        return self.fail_top_up(effect, id, UNAVAILABLE).await;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        if self.is_barred(&top_up.owner).await? {
            return self.look_for_first(effect, id, (&first, false, top_up.lapsed)).await;
        }
        let refused = match self.in_time(self.submit_first(&first), "submit").await {
            Ok(Submitted::Settled { transaction, finality }) => {
                return self.first_landed(effect, id, (transaction, finality)).await;
            }
            Ok(Submitted::Declined(_)) => false,
            Err(error) if planted::is(Bug::UnknownBurnsAgain) && error.kind == ErrorKind::Unknown => {
                let (effect, round) = (effect.id, top_up.lapsed);
                self.tell_top_up(id, Command::Lapse { effect, round }).await?;
                return Err(Failure::not_yet(self.settings.watch_every_ms));
            }
            Err(error) => error.kind == ErrorKind::Permanent,
        };
        self.look_for_first(effect, id, (&first, refused, top_up.lapsed)).await
    }

    /// Neither a refusal nor silence proves anything: the chain is read. What it says can never land is signed anew,
    /// unless it was `refused` for good.
    async fn look_for_first(&self, effect: &Effect, id: TopUpId, (first, refused, round): (&First, bool, u8)) -> Done {
        let every_ms = self.settings.watch_every_ms;
        let lookup = match first {
            First::Burn(burn) => self.in_time(self.ports.bridge.find_burn(burn), "find burn").await,
            First::Transfer(out) => {
                let lookup = self.ports.settlement.lookup(&out.authorization, Some(&out.prepared));
                self.in_time(lookup, "lookup").await
            }
        };
        match lookup {
            Ok(Lookup::Landed { transaction, finality }) => {
                self.first_landed(effect, id, (transaction, finality)).await
            }
            // The lost history may have signed another, and that one landed.
            Ok(Lookup::Impossible) if self.departures.hold(None) => self.may_leave(None),
            Ok(Lookup::Impossible) if refused => self.fail_top_up(effect, id, REFUSED).await,
            Ok(Lookup::Impossible) => {
                let effect = effect.id;
                self.tell_top_up(id, Command::Lapse { effect, round }).await?;
                match self.top_up(id).await?.status {
                    Status::Paid(_) => Err(Failure::not_yet(every_ms)),
                    _ => Ok(()),
                }
            }
            Ok(Lookup::Pending) if planted::is(Bug::SignedLegCredited) => self.fail_top_up(effect, id, REFUSED).await,
            Ok(Lookup::Pending) => Err(Failure::not_yet(every_ms)),
            Err(error) => Err(Failure::from(error).every_ms(every_ms)),
        }
    }

    /// On its chain, and for good only once it is final: see a withdrawal.
    async fn first_landed(&self, effect: &Effect, id: TopUpId, (transaction, finality): (String, Finality)) -> Done {
        if finality == Finality::Seen {
            self.departures.is_seen_to_leave(Leaves::TopUp(id));
            return Err(Failure::not_yet(self.settings.watch_every_ms));
        }
        let effect = effect.id;
        self.tell_top_up(id, Command::Landed { effect, transaction }).await
    }

    /// Whether the account that the top-up was bought for is still the linked one.
    async fn is_linked(&self, top_up: &TopUp) -> Result<bool, Failure> {
        let row = self.store.read(&table::linked(&top_up.owner)).await;
        let row = row.map_err(|e| Failure::temporary(e.to_string()))?;
        Ok(row.is_some_and(|row| *row.value == top_up.address))
    }

    async fn sign_first(&self, _: &Pass, id: TopUpId, top_up: &TopUp) -> Result<SignedFirst, PortError> {
        match top_up.rail {
            Network::Solana => {
                let crossing = top_up.crossing(id);
                let signed = self
                    .in_time(self.ports.bridge.sign_burn(&crossing), "sign burn")
                    .await?;
                // What was to arrive could not be minted from it.
                if signed.burned < crossing.arrives {
                    return Err(PortError {
                        kind: ErrorKind::Temporary,
                        operation: "sign burn",
                        message: "it burns less than is to arrive".into(),
                    });
                }
                Ok(SignedFirst::Ready(First::Burn(signed)))
            }
            Network::Base => {
                let transfer = Transfer {
                    key: id.0,
                    to: Wallet::Evm(top_up.address),
                    amount: top_up.arrives(),
                };
                let authorization = self.in_time(self.ports.settlement.sign(&transfer), "sign").await?;
                let prepare = self.ports.settlement.prepare(&authorization);
                Ok(match self.in_time(prepare, "prepare").await? {
                    Preparation::Ready(prepared) => SignedFirst::Ready(First::Transfer(Outgoing {
                        authorization,
                        prepared,
                    })),
                    Preparation::Declined(decline) => SignedFirst::Declined(decline),
                })
            }
        }
    }

    async fn submit_first(&self, first: &First) -> Result<Submitted, PortError> {
        match first {
            First::Burn(burn) => self.ports.bridge.burn(burn).await,
            First::Transfer(out) => self.ports.settlement.submit(&out.authorization, &out.prepared).await,
        }
    }

    /// Attestation, then mint. It only goes forward: whatever a port answers, it is asked again at a steady pace.
    pub(super) async fn cross_bridge(&self, effect: &Effect, id: TopUpId) -> Done {
        let top_up = self.top_up(id).await?;
        let crossing = top_up.crossing(id);
        let Status::Bridging(burned) = top_up.status else {
            return Ok(());
        };
        let Burned { burn, attested, mint } = *burned;
        let steady = |error: PortError| Failure::from(error).every_ms(self.settings.watch_every_ms);
        let attested = match attested {
            Some(attested) => attested,
            None => {
                let attested = self.attested(&burn, &crossing).await?;
                self.tell_top_up(id, Command::Attested(attested.clone())).await?;
                attested
            }
        };
        let mint = match mint {
            Some(mint) => mint,
            None => self
                .sign_mint(id, &attested)
                .await
                .map_err(|e| e.every_ms(self.settings.watch_every_ms))?,
        };
        let minting = self.in_time(self.ports.bridge.mint(&mint), "mint").await;
        if let Ok(Minting::Minted { transaction }) = minting {
            let effect = effect.id;
            return self.tell_top_up(id, Command::Minted { effect, transaction }).await;
        }
        // A used nonce, a refusal and silence are all the same question: what does Base show?
        let found = self.in_time(self.ports.bridge.find_mint(&attested), "find mint").await;
        match (found.map_err(steady)?, minting) {
            (Lookup::Landed { transaction, .. }, _) => {
                let effect = effect.id;
                self.tell_top_up(id, Command::Minted { effect, transaction }).await
            }
            (Lookup::Impossible, _) => self.fail_top_up(effect, id, UNMINTABLE).await,
            // As it was signed it was refused: another may be taken.
            (Lookup::Pending, Ok(Minting::Declined(decline))) => {
                let newest = self.attested(&burn, &crossing).await?;
                self.mint_anew(id, (&attested, newest), decline).await
            }
            (Lookup::Pending, Err(_)) if planted::is(Bug::MintUnproven) => {
                let (effect, transaction) = (effect.id, mint.transaction);
                self.tell_top_up(id, Command::Minted { effect, transaction }).await
            }
            (Lookup::Pending, _) => Err(Failure::not_yet(self.settings.watch_every_ms)),
        }
    }

    /// A mint was refused: it is signed anew after a while, or, if the attesters' word has lapsed since it was written down,
    /// begun again at once from their new one.
    async fn mint_anew(&self, id: TopUpId, (known, newest): (&Attested, Attested), decline: Decline) -> Done {
        tracing::warn!(top_up = %id, reason = decline.reason.as_str(), "a mint was refused and is signed anew");
        if newest != *known {
            self.tell_top_up(id, Command::Attested(newest)).await?;
            return Err(Failure::not_yet(0));
        }
        let every_ms = self.settings.watch_every_ms;
        let signed = self.sign_mint(id, known).await;
        signed.map_err(|e| e.every_ms(every_ms))?;
        Err(Failure::temporary(decline.reason.as_str()).every_ms(every_ms.saturating_mul(MINT_AGAIN_AFTER)))
    }

    /// The attesters' word, for as long as it takes them. One on what is not this crossing is nothing to mint on: somebody
    /// must look.
    async fn attested(&self, burn: &SignedBurn, crossing: &Crossing) -> Result<Attested, Failure> {
        let every_ms = self.settings.watch_every_ms;
        let steady = |error: PortError| Failure::from(error).every_ms(every_ms);
        let told = self.in_time(self.ports.bridge.attestation(burn), "attestation").await;
        match told.map_err(steady)? {
            Attestation::Complete(attested) => match attested.is_of(crossing, burn.burned) {
                Err(wrong) if !planted::is(Bug::ForeignAttestation) => Err(Failure {
                    kind: ErrorKind::Permanent,
                    ..Failure::temporary(wrong)
                }),
                _ => Ok(attested),
            },
            Attestation::Pending { retry_after_ms } => Err(Failure::not_yet(retry_after_ms)),
            Attestation::Lapsed { nonce } => {
                let asked = self
                    .in_time(self.ports.bridge.attest_again(&nonce), "attest again")
                    .await;
                asked.map_err(steady)?;
                Err(Failure::not_yet(every_ms))
            }
        }
    }

    async fn sign_mint(&self, id: TopUpId, attested: &Attested) -> Result<crate::port::SignedMint, Failure> {
        let signed = self.in_time(self.ports.bridge.sign_mint(attested), "sign mint").await?;
        self.tell_top_up(id, Command::MintSigned(signed.clone())).await?;
        Ok(signed)
    }

    /// Asks the issuer until it counts what was delivered. What it does not count in time waits for a person, by that
    /// name: nothing is given back, since the issuer holds the money.
    pub(super) async fn await_card_credit(&self, effect: &Effect, id: TopUpId) -> Done {
        let top_up = self.top_up(id).await?;
        if top_up.status != Status::Delivered {
            return Ok(());
        }
        let (transaction, amount) = top_up.delivered().unwrap_or(("", top_up.arrives()));
        let deposit = Deposited {
            address: top_up.address,
            transaction: transaction.to_owned(),
            amount,
        };
        let patience = std::time::Duration::from_millis(self.settings.issuer_timeout_ms);
        let told = within(patience, self.ports.card_balances.is_credited(&deposit), "credited").await;
        match told {
            Ok(true) => {
                self.tell_top_up(id, Command::IssuerCredited { effect: effect.id })
                    .await
            }
            told => {
                let waited_ms = self.clock.now().0.saturating_sub(effect.created_at.0);
                if waited_ms >= self.settings.card_credit_patience_ms {
                    return Err(Failure {
                        kind: ErrorKind::Permanent,
                        ..Failure::temporary("issuer_has_not_credited: the deposit is on Base and not in the balance")
                    });
                }
                let every_ms = self.settings.watch_every_ms;
                match told {
                    Err(error) => Err(Failure::from(error).every_ms(every_ms)),
                    Ok(_) => Err(Failure::not_yet(every_ms)),
                }
            }
        }
    }
}
