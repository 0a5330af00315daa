//! What an operator knows of work that is stuck: its entity moves as if its provider had said so, by the same commands, once.
//! Whatever the provider itself says now goes before it, and what it says later counts as it would have without it.

#![deny(clippy::wildcard_enum_match_arm, reason = "a new kind of work is asked about here")]

mod crediting;
mod doubts;
mod kinds;

pub(in crate::engine) use self::kinds::Resolvable;
use purser_storage::StoreError;

use super::Engine;
use super::acting::{Acting, Words};
use super::giving::Leave;
use super::operating::damaged;
use super::stuck::Says;
use crate::approval::Gift;
use crate::banking::{account, transfer};
use crate::id::{ApprovalId, EffectId, PaymentId};
use crate::kernel::effect::Work;
use crate::kernel::{Effect, Entity, Family, Refusal};
use crate::money::Usdc;
use crate::operator::Act;
use crate::payment::{self, Payment, Status};
use crate::port::banking::{Moved, Opening};
use crate::port::payout::RailState;
use crate::product::Currency;
use crate::reconcile::{Money, Standing};
use crate::{card, card_withdrawal, gift_card, link, payout, reloadable, top_up};

/// Said to the holder where there was no word of the provider's.
const REASON: &str = "not_done";

/// What came of something, as an operator knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// It was not done, and will not be.
    NotDone,
}

/// An operator's word, with what it rests on.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// What came of it.
    pub outcome: Outcome,
    /// The provider's or the chain's name of what happened, or of the answer that it did not.
    pub reference: String,
    /// How the operator knows, for the audit log.
    pub evidence: String,
}

/// Why an operator's word was not taken. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotResolved {
    /// There is no such work, or it is done.
    Unknown,
    /// It is under way and is tried again by itself.
    NotStuck,
    /// Only whoever does it can say so: a card has its number from its issuer, a transfer is on its chain or is not.
    Impossible,
    /// The other side says otherwise.
    Contradicted(Standing),
    /// Nothing says that the money has not left.
    Unproven,
    /// Its signature may still be used.
    Early,
    /// It is too much for one operator, and waits for another.
    Waits(ApprovalId),
    /// Ask again later.
    Unavailable,
}

impl Engine {
    /// Takes an operator's word for what came of stuck work, or of a payment whose outcome is not known. Written down by the
    /// batch that moves the entity.
    ///
    /// # Errors
    /// [`NotResolved`].
    pub async fn resolve(&self, id: EffectId, resolution: &Resolution, act: &Act) -> Result<(), NotResolved> {
        self.resolve_by(id, resolution, Leave::Own(act)).await
    }

    /// The same, by somebody's leave.
    pub(super) async fn resolve_by(
        &self,
        id: EffectId,
        resolution: &Resolution,
        leave: Leave<'_>,
    ) -> Result<(), NotResolved> {
        let effect = self.waiting(id).await?;
        let (done, not_done) = effect.work.may_be_known();
        if !(match resolution.outcome {
            Outcome::Done => done,
            Outcome::NotDone => not_done,
        }) {
            return Err(NotResolved::Impossible);
        }
        let says = self.says(&effect).await.map_err(unread)?;
        if let Says::Stands(standing) = says
            && effect.work.resolvable().is_contradicted(resolution.outcome, standing)
        {
            return Err(NotResolved::Contradicted(standing));
        }
        let Resolution {
            outcome,
            reference,
            evidence,
        } = resolution;
        let words = match outcome {
            Outcome::Done => format!("done, {reference}: {evidence}"),
            Outcome::NotDone => format!("not done, {reference}: {evidence}"),
        };
        let mut words = Words::of(leave.act(), "effect.resolve", &effect, Some(words));
        if let Resolvable::Payment(payment) = effect.work.resolvable() {
            let lookup = self.landed_or_never(payment, resolution, &says).await?;
            let seen = || payment::Command::Seen {
                effect: id,
                lookup: lookup.clone(),
                made: false,
            };
            let one = self.untouched(&effect).await?;
            return self
                .told(&one, (&self.0.families.payments, payment), &words, seen)
                .await;
        }
        let one = self.untouched(&effect).await?;
        let from_balance = self.is_from_balance(&effect.work).await?;
        if effect.work.resolvable().gives(*outcome, from_balance) {
            let gift = || Gift::Resolve {
                effect: id,
                done: *outcome == Outcome::Done,
                reference: reference.clone(),
                evidence: evidence.clone(),
            };
            words.beside = self.may_give(&one, leave, self.worth(&effect).await?, gift).await?;
        }
        self.resolved(&one, &effect, (*outcome, reference), &words).await
    }

    /// How much a piece of work is about, in what balances hold.
    async fn worth(&self, effect: &Effect) -> Result<Usdc, NotResolved> {
        let evidence = self.evidence(&effect.work).await.map_err(unread)?;
        let worth = match evidence.and_then(|evidence| evidence.money) {
            Some(Money::Usdc(amount)) => Some(amount),
            Some(Money::Cents(amount, Currency::USD)) => Usdc::from_cents(amount).ok(),
            Some(Money::Cents(..)) | None => None,
        };
        // What nobody can tell the worth of is nobody's to give.
        worth.ok_or(NotResolved::Impossible)
    }

    /// Money that was to come from an account at the bank was never the balance's.
    async fn is_from_balance(&self, work: &Work) -> Result<bool, NotResolved> {
        let Resolvable::BankMove(id) = work.resolvable() else {
            return Ok(true);
        };
        let read = self.0.families.bank_transfers.read(&id).await;
        let read = read.map_err(|error| unread(damaged(error)))?;
        Ok(read.is_some_and(|(moved, _)| moved.way == transfer::Way::ToAccount))
    }

    /// Work that waits for a person.
    async fn waiting(&self, id: EffectId) -> Result<Effect, NotResolved> {
        let effect = self.effect(id).await.map_err(unread)?.ok_or(NotResolved::Unknown)?;
        let in_doubt = match effect.work.resolvable() {
            Resolvable::Payment(payment) => self.doubted(payment).await?.is_some(),
            Resolvable::Card(_)
            | Resolvable::GiftCard(_)
            | Resolvable::Payout(_)
            | Resolvable::Recall(_)
            | Resolvable::Credit(..)
            | Resolvable::BankMove(_)
            | Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::Reloadable(_)
            | Resolvable::Reservation(_)
            | Resolvable::ReservationEnd(_)
            | Resolvable::CardCredit(_)
            | Resolvable::Nobodys => false,
        };
        match effect.stuck || in_doubt {
            true => Ok(effect),
            false => Err(NotResolved::NotStuck),
        }
    }

    /// The right to act upon it, if nothing has happened to it since it was read: nobody waits for others' providers.
    async fn untouched(&self, effect: &Effect) -> Result<Acting<'_>, NotResolved> {
        let one = self.acting().await;
        match self.waiting(effect.id).await? == *effect {
            true => Ok(one),
            false => Err(NotResolved::NotStuck),
        }
    }

    async fn doubted(&self, id: PaymentId) -> Result<Option<Payment>, NotResolved> {
        let read = self.payment(&id).await.map_err(|error| unread(damaged(error)))?;
        Ok(read.filter(|payment| matches!(payment.status, Status::Unknown(_))))
    }

    /// Tells the entity what its provider would have.
    async fn resolved(
        &self,
        one: &Acting<'_>,
        effect: &Effect,
        (outcome, reference): (Outcome, &str),
        words: &Words<'_>,
    ) -> Result<(), NotResolved> {
        let (all, id, done) = (&self.0.families, effect.id, outcome == Outcome::Done);
        match effect.work.resolvable() {
            Resolvable::Card(card) if !done => {
                let refused = || card::Command::Refused {
                    effect: id,
                    reason: REASON.into(),
                };
                self.told(one, (&all.cards, card), words, refused).await
            }
            Resolvable::GiftCard(gift) if !done => {
                let refused = || gift_card::Command::Refused {
                    effect: id,
                    reason: REASON.into(),
                };
                self.told(one, (&all.gift_cards, gift), words, refused).await
            }
            Resolvable::Payout(payout) => {
                let resolved = || payout::Command::Resolved {
                    effect: id,
                    state: paid_out(done, reference),
                };
                self.told(one, (&all.payouts, payout), words, resolved).await
            }
            Resolvable::Credit(account, amount, cause) if !done => {
                let unfinal = self.unfinal_for(cause).await?;
                let credit = || crediting::given(id, amount, (cause, unfinal));
                self.told(one, (&all.accounts, account), words, credit).await
            }
            Resolvable::Recall(payout) if done => {
                let recalled = || payout::Command::Recalled { effect: id, done };
                self.told(one, (&all.payouts, payout), words, recalled).await
            }
            Resolvable::BankMove(moving) => {
                let command = || transfer::Command::Moved {
                    effect: id,
                    moved: moved(done, reference),
                };
                self.told(one, (&all.bank_transfers, moving), words, command).await
            }
            Resolvable::Card(_)
            | Resolvable::GiftCard(_)
            | Resolvable::Recall(_)
            | Resolvable::Credit(..)
            | Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::Reloadable(_)
            | Resolvable::Reservation(_)
            | Resolvable::ReservationEnd(_)
            | Resolvable::CardCredit(_)
            | Resolvable::Payment(_)
            | Resolvable::Nobodys => self.resolved_without_credit(one, effect, done, words).await,
        }
    }

    /// The same where no balance is credited: accounts, and what stands on balances at the issuer.
    async fn resolved_without_credit(
        &self,
        one: &Acting<'_>,
        effect: &Effect,
        done: bool,
        words: &Words<'_>,
    ) -> Result<(), NotResolved> {
        let (all, id) = (&self.0.families, effect.id);
        match effect.work.resolvable() {
            Resolvable::BankAccount(bank_account) if !done => {
                let refused = || account::Command::Opened {
                    effect: id,
                    opening: Opening::Refused {
                        reason: REASON.to_owned(),
                    },
                };
                self.told(one, (&all.bank_accounts, bank_account), words, refused).await
            }
            Resolvable::IssuerAccount(wallet) if !done => {
                let refused = || link::Command::Refused {
                    effect: id,
                    reason: REASON.into(),
                };
                self.told(one, (&all.links, wallet), words, refused).await
            }
            Resolvable::Reloadable(card) if !done => {
                let refused = || reloadable::Command::Refused {
                    effect: id,
                    reason: REASON.into(),
                };
                self.told(one, (&all.reloadables, card), words, refused).await
            }
            Resolvable::Reservation(withdrawal) => {
                let command = || match done {
                    true => card_withdrawal::Command::Held { effect: id },
                    false => card_withdrawal::Command::Refused {
                        effect: id,
                        reason: REASON.into(),
                    },
                };
                self.told(one, (&all.card_withdrawals, withdrawal), words, command)
                    .await
            }
            Resolvable::ReservationEnd(withdrawal) if done => {
                let settled = || card_withdrawal::Command::Settled { effect: id };
                self.told(one, (&all.card_withdrawals, withdrawal), words, settled)
                    .await
            }
            Resolvable::CardCredit(top_up) if done => {
                let credited = || top_up::Command::IssuerCredited { effect: id };
                self.told(one, (&all.top_ups, top_up), words, credited).await
            }
            Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::Reloadable(_)
            | Resolvable::ReservationEnd(_)
            | Resolvable::CardCredit(_)
            | Resolvable::Card(_)
            | Resolvable::GiftCard(_)
            | Resolvable::Payout(_)
            | Resolvable::Recall(_)
            | Resolvable::Credit(..)
            | Resolvable::BankMove(_)
            | Resolvable::Payment(_)
            | Resolvable::Nobodys => Err(NotResolved::Impossible),
        }
    }

    async fn told<E: Entity>(
        &self,
        one: &Acting<'_>,
        to: (&Family<E>, E::Id),
        words: &Words<'_>,
        command: impl Fn() -> E::Command + Send + Sync,
    ) -> Result<(), NotResolved> {
        match self.act_for(one, to, words, command).await {
            Ok(_) => {
                tracing::warn!(
                    what = words.what,
                    subject = words.subject,
                    by = words.act.by,
                    "an operator's word was taken"
                );
                Ok(())
            }
            // It has moved since it was read.
            Err(Refusal::Rejected(_) | Refusal::Missing | Refusal::Conflict) => Err(NotResolved::Unknown),
            Err(Refusal::Unknown | Refusal::Quarantined) => Err(NotResolved::Unavailable),
        }
    }
}

/// What a rail would have said.
fn paid_out(done: bool, reference: &str) -> RailState {
    match done {
        true => RailState::Complete {
            reference: reference.into(),
        },
        false => RailState::Failed { reason: REASON.into() },
    }
}

/// What the bank would have said.
fn moved(done: bool, reference: &str) -> Moved {
    match done {
        true => Moved::Complete {
            reference: reference.to_owned(),
        },
        false => Moved::Failed {
            reason: REASON.to_owned(),
        },
    }
}

fn unread(error: StoreError) -> NotResolved {
    tracing::error!(%error, "what is stuck could not be read");
    NotResolved::Unavailable
}
