//! The simulated bridge: burns, attestations, mints, and the issuer's counter. Each leg of each top-up follows its
//! fault plan. The state of the two chains is kept here and survives every crash of the process.

mod checks;
mod issuer;
mod ledger;

use std::sync::Arc;

use purser_actors::entity::top_up::{Status, TopUp};
use purser_actors::id::TopUpId;
use purser_actors::kernel::EntityKind;
use purser_actors::money::Usdc;
use purser_actors::port::{
    AttestationStatus, AttestedMessage, BoxFuture, Bridge, BridgeTransfer, ChainStatus, Decline, ErrorKind, Finality,
    MintResult, PortError, SignedBurn, SignedMint, SubmitResult,
};

use crate::account_steps::durable;
use crate::environment::{Environment, ORDERED_PANIC};
use crate::fault_plan::{Leg, LegBehavior};
use crate::top_ups::payment_for;

use ledger::{ATTESTED_AFTER_MS, nonce};
pub(crate) use ledger::{BridgeTransfers, Burn, mint_name};

pub(crate) struct SimBridge(pub(crate) Arc<Environment>);

type CallResult<'a, T> = BoxFuture<'a, Result<T, PortError>>;

fn error(kind: ErrorKind, operation: &'static str) -> PortError {
    PortError {
        kind,
        operation,
        message: "as the plan says".into(),
    }
}

fn decline(reason: &str) -> Decline {
    Decline {
        reason: reason.into(),
        message: "as the plan says".into(),
    }
}

/// What befalls an answer to something that was done.
async fn afterwards(met: Option<LegBehavior>) -> Result<(), PortError> {
    match met {
        Some(LegBehavior::DoneLost | LegBehavior::Later(_)) => Err(error(ErrorKind::Unknown, "bridge")),
        Some(LegBehavior::DoneHangs) => std::future::pending().await,
        Some(LegBehavior::DonePanics) => panic!("{ORDERED_PANIC}"),
        _ => Ok(()),
    }
}

impl SimBridge {
    /// What a call meets; what ends it before anything is done, ends it here.
    async fn apply_fault(&self, leg: Leg, payment: u32) -> Result<Option<LegBehavior>, PortError> {
        let world = &self.0;
        world.delay(world.below(60)).await;
        let call = {
            let mut bridge = world.bridge.lock();
            let calls = bridge.calls.entry((payment, leg)).or_default();
            *calls += 1;
            *calls - 1
        };
        let leg_behaviors = world
            .plan
            .fault_plans
            .get(&payment)
            .and_then(|fault_plan| fault_plan.legs.get(&leg));
        let met = leg_behaviors
            .and_then(|met| met.get(call))
            .filter(|_| !world.are_faults_over())
            .copied();
        world.trace(|| format!("bridge: {leg:?} of payment {payment} meets {met:?}"));
        match met {
            Some(LegBehavior::Busy) => Err(error(ErrorKind::Temporary, "bridge")),
            Some(LegBehavior::Lost) => Err(error(ErrorKind::Unknown, "bridge")),
            Some(LegBehavior::Hangs) => std::future::pending().await,
            Some(LegBehavior::Panics) => panic!("{ORDERED_PANIC}"),
            Some(LegBehavior::Slow(ms)) => {
                world.delay(ms).await;
                Ok(None)
            }
            met => Ok(met),
        }
    }

    fn top_up(&self, id: TopUpId) -> Option<TopUp> {
        durable(&self.0, EntityKind::TopUp, &id.0.to_be_bytes())
    }

    /// Whose it is, with the number of the payment that bought it.
    fn known(&self, signed: &SignedBurn) -> Result<(TopUpId, u32), PortError> {
        let bridge = self.0.bridge.lock();
        let burn = bridge.burns.get(&signed.transaction);
        burn.map(|burn| (burn.top_up, burn.payment))
            .ok_or_else(|| error(ErrorKind::Permanent, "burn"))
    }

    async fn signed(&self, bridge_transfer: &BridgeTransfer) -> Result<SignedBurn, PortError> {
        let id = TopUpId(bridge_transfer.key);
        let stored = self.top_up(id);
        let sold = stored.as_ref().is_some_and(|top_up| {
            let asked =
                (top_up.address, top_up.delivered_amount()) == (bridge_transfer.to, bridge_transfer.delivered_amount);
            asked && matches!(top_up.status, Status::Paid(_))
        });
        if !sold {
            self.0
                .report_violation("burn.early", format!("{bridge_transfer:?}, and durable is {stored:?}"));
        }
        let payment = payment_for(bridge_transfer.delivered_amount);
        let met = self.apply_fault(Leg::Sign, payment).await?;
        if met == Some(LegBehavior::Never) {
            return Err(error(ErrorKind::Permanent, "sign burn"));
        }
        let (now, mut bridge) = (self.0.true_ms(), self.0.bridge.lock());
        let nth = bridge.burns.len() as u64;
        let transaction = format!("burn{payment}x{nth}");
        // The bridge's fee is another every time.
        let burned = match met {
            Some(LegBehavior::Wrong) => bridge_transfer.delivered_amount.atomic() - 1,
            _ => bridge_transfer.delivered_amount.atomic() + 100 + nth,
        };
        let burn = Burn::signed(bridge_transfer, payment, burned, now);
        bridge.burns.insert(transaction.clone(), burn);
        Ok(SignedBurn {
            bytes: transaction.clone().into_bytes(),
            event_key: nonce(&transaction),
            transaction,
            burned: Usdc::from_atomic(burned),
        })
    }

    async fn burned(&self, signed: &SignedBurn, payment: u32) -> Result<SubmitResult, PortError> {
        let met = self.apply_fault(Leg::Burn, payment).await?;
        let now = self.0.true_ms();
        let lands_at = {
            let mut bridge = self.0.bridge.lock();
            let burn = bridge.burns.get_mut(&signed.transaction).expect("it was signed");
            burn.sent = true;
            match met {
                Some(LegBehavior::Declined) => {}
                Some(LegBehavior::Later(ms) | LegBehavior::DeclinedLater(ms)) => burn.schedule_execution(now + ms),
                Some(LegBehavior::Never | LegBehavior::Expires) if burn.executes_at.is_none() => burn.expired = true,
                _ => burn.schedule_execution(now),
            }
            burn.executes_at
        };
        self.0
            .trace(|| format!("bridge: {} lands at {lands_at:?}", signed.transaction));
        // Here the burn is on chain, and no response was sent.
        self.0.delay(self.0.below(40)).await;
        match met {
            Some(LegBehavior::Declined | LegBehavior::DeclinedLater(_)) => {
                return Ok(SubmitResult::Declined(decline("blockhash_not_found")));
            }
            Some(LegBehavior::Never | LegBehavior::CompletedButDeclined) => {
                return Err(error(ErrorKind::Permanent, "burn"));
            }
            Some(LegBehavior::Expires) => return Err(error(ErrorKind::Unknown, "burn")),
            _ => afterwards(met).await?,
        }
        Ok(match lands_at {
            Some(at) if at <= self.0.true_ms() => SubmitResult::Settled {
                finality: Finality::Final,
                transaction: signed.transaction.clone(),
            },
            _ => SubmitResult::Declined(decline("blockhash_not_found")),
        })
    }

    async fn attested(
        &self,
        signed: &SignedBurn,
        (id, payment): (TopUpId, u32),
    ) -> Result<AttestationStatus, PortError> {
        let met = self.apply_fault(Leg::Attest, payment).await?;
        let (now, mut bridge) = (self.0.true_ms(), self.0.bridge.lock());
        let burn = bridge.burns.get_mut(&signed.transaction).expect("it was signed");
        let seen = burn.executes_at.is_some_and(|at| at + ATTESTED_AFTER_MS <= now);
        if met == Some(LegBehavior::NotYet) || !seen {
            return Ok(AttestationStatus::Pending { retry_after_ms: 300 });
        }
        let good_for = burn.attestation_ttl_ms();
        let (word, until) = burn.attestation.get_or_insert((1, now + good_for));
        if met == Some(LegBehavior::Expires) {
            *until = now;
        }
        if *until <= now {
            let nonce = nonce(&signed.transaction);
            return Ok(AttestationStatus::Expired { nonce });
        }
        let (word, mut name) = (*word, signed.transaction.clone());
        let (mut to, mut is_usdc, mut arrives) = (burn.to, true, burn.arrives);
        if met == Some(LegBehavior::Wrong) {
            // An attestation of another burn: for another recipient, another amount or another token.
            let kind = self.0.below(3);
            match kind {
                0 => to = [6; 20],
                1 => arrives /= 2,
                _ => is_usdc = false,
            }
            name = format!("stranger{payment}x{kind}");
            let stranger = Burn::mismatched(payment, (to, arrives), now);
            bridge.burns.entry(name.clone()).or_insert(stranger);
            bridge.misattested.insert(id);
        }
        Ok(AttestationStatus::Complete(AttestedMessage {
            nonce: nonce(&name),
            message: name.into_bytes(),
            attestation: word.to_be_bytes().to_vec(),
            to,
            is_usdc,
            delivered_amount: Usdc::from_atomic(arrives),
        }))
    }

    async fn minted(&self, mint: &SignedMint, payment: u32, name: &str) -> Result<MintResult, PortError> {
        let met = self.apply_fault(Leg::Mint, payment).await?;
        let now = self.0.true_ms();
        let minted = {
            let mut bridge = self.0.bridge.lock();
            let Some((_, burn, word)) = bridge.of_mint(mint) else {
                return Err(error(ErrorKind::Permanent, "mint"));
            };
            let before = burn.is_minted(now);
            if met == Some(LegBehavior::Others) {
                burn.mint(now, "other");
            }
            if met == Some(LegBehavior::Never) && burn.mint.is_none() {
                burn.blocked = true;
            }
            let good = burn
                .attestation
                .is_some_and(|(newest, until)| newest == word && now < until);
            match met {
                _ if before => {}
                Some(LegBehavior::Declined) => return Ok(MintResult::Declined(decline("insufficient_gas"))),
                _ if burn.blocked => return Ok(MintResult::Declined(decline("recipient_denied"))),
                _ if !good && burn.mint.is_none() => return Ok(MintResult::Declined(decline("message_expired"))),
                Some(LegBehavior::Later(ms) | LegBehavior::DeclinedLater(ms)) => burn.mint(now + ms, "ours"),
                _ => burn.mint(now, "ours"),
            }
            burn.mint
                .filter(|(at, by)| !before && *at <= now && *by == "ours")
                .map(|(_, by)| by)
        };
        self.0.delay(self.0.below(40)).await;
        if matches!(
            met,
            Some(LegBehavior::DeclinedLater(_) | LegBehavior::CompletedButDeclined)
        ) {
            return Ok(MintResult::Declined(decline("insufficient_gas")));
        }
        afterwards(met).await?;
        Ok(match minted {
            Some(by) => MintResult::Minted {
                transaction: mint_name(name, by),
            },
            None => MintResult::NonceUsed,
        })
    }
}

impl Bridge for SimBridge {
    fn sign_burn<'a>(&'a self, bridge_transfer: &'a BridgeTransfer) -> CallResult<'a, SignedBurn> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            let _one = self
                .0
                .single_attempts
                .enter(&self.0, "top_up.at_once", bridge_transfer.key);
            let answer = self.signed(bridge_transfer).await;
            self.0.crash_point_or_hang().await;
            answer
        })
    }

    fn burn<'a>(&'a self, burn: &'a SignedBurn) -> CallResult<'a, SubmitResult> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            let (id, payment) = self.known(burn)?;
            self.check_burn(burn, id);
            let _one = self.0.single_attempts.enter(&self.0, "top_up.at_once", id.0);
            let answer = self.burned(burn, payment).await;
            self.0.crash_point_or_hang().await;
            self.0
                .trace(|| format!("bridge: {} is answered {answer:?}", burn.transaction));
            answer
        })
    }

    fn find_burn<'a>(&'a self, burn: &'a SignedBurn) -> CallResult<'a, ChainStatus> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            let (id, payment) = self.known(burn)?;
            let _one = self.0.single_attempts.enter(&self.0, "top_up.at_once", id.0);
            self.apply_fault(Leg::Lookup, payment).await?;
            let (now, bridge) = (self.0.true_ms(), self.0.bridge.lock());
            let known = &bridge.burns[&burn.transaction];
            let transaction = burn.transaction.clone();
            Ok(match known.has_executed(now) {
                true => ChainStatus::Confirmed {
                    transaction,
                    finality: Finality::Final,
                },
                false if known.expired || known.executes_at.is_none() && now >= known.until_ms => {
                    ChainStatus::Impossible
                }
                false => ChainStatus::Pending,
            })
        })
    }

    fn attestation<'a>(&'a self, burn: &'a SignedBurn) -> CallResult<'a, AttestationStatus> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            let known = self.known(burn)?;
            let _one = self.0.single_attempts.enter(&self.0, "top_up.at_once", known.0.0);
            let answer = self.attested(burn, known).await;
            self.0.crash_point_or_hang().await;
            self.0
                .trace(|| format!("bridge: of {} the attesters say {answer:?}", burn.transaction));
            answer
        })
    }

    fn reattest<'a>(&'a self, nonce_bytes: &'a [u8; 32]) -> CallResult<'a, ()> {
        Box::pin(async move {
            self.0.delay(self.0.below(40)).await;
            let (now, mut bridge) = (self.0.true_ms(), self.0.bridge.lock());
            let Some((_, burn)) = bridge.with_nonce(nonce_bytes) else {
                return Err(error(ErrorKind::Permanent, "attest again"));
            };
            let good_for = burn.attestation_ttl_ms();
            burn.attestation = burn.attestation.map(|(word, _)| (word + 1, now + good_for));
            Ok(())
        })
    }

    fn sign_mint<'a>(&'a self, attested: &'a AttestedMessage) -> CallResult<'a, SignedMint> {
        Box::pin(async move {
            self.0.delay(self.0.below(20)).await;
            let transaction = String::new();
            let bytes = [attested.nonce.as_slice(), &attested.attestation].concat();
            Ok(SignedMint { bytes, transaction })
        })
    }

    fn mint<'a>(&'a self, mint: &'a SignedMint) -> CallResult<'a, MintResult> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            let Some((id, payment, name)) = self.check_mint(mint) else {
                return Err(error(ErrorKind::Permanent, "mint"));
            };
            let _one = self.0.single_attempts.enter(&self.0, "top_up.at_once", id.0);
            let answer = self.minted(mint, payment, &name).await;
            self.0.crash_point_or_hang().await;
            self.0
                .trace(|| format!("bridge: the mint of {name} is answered {answer:?}"));
            answer
        })
    }

    fn find_mint<'a>(&'a self, attested: &'a AttestedMessage) -> CallResult<'a, ChainStatus> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            let found = self
                .0
                .bridge
                .lock()
                .with_nonce(&attested.nonce)
                .map(|(_, burn)| burn.payment);
            let payment = found.ok_or_else(|| error(ErrorKind::Permanent, "find mint"))?;
            self.apply_fault(Leg::Lookup, payment).await?;
            let (now, mut bridge) = (self.0.true_ms(), self.0.bridge.lock());
            let found = bridge.with_nonce(&attested.nonce);
            Ok(match found {
                Some((_, burn)) if burn.blocked => ChainStatus::Impossible,
                Some((name, burn)) if burn.is_minted(now) => ChainStatus::Confirmed {
                    finality: Finality::Final,
                    transaction: mint_name(&name, burn.minted_by()),
                },
                _ => ChainStatus::Pending,
            })
        })
    }
}
