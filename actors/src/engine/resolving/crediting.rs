//! What stuck work was paid with, given back.

#![deny(clippy::wildcard_enum_match_arm, reason = "a new kind of work is asked about here")]

use super::{NotResolved, Outcome, Resolvable, unread};
use crate::approval::Gift;
use crate::engine::Engine;
use crate::engine::acting::Words;
use crate::engine::giving::Leave;
use crate::engine::operating::damaged;
use crate::engine::stuck::Says;
use crate::engine::work::refunded;
use crate::id::EffectId;
use crate::kernel::effect::CreditCause;
use crate::operator::Act;
use crate::reconcile::Standing;

impl Engine {
    /// Gives the holder back what stuck work was paid with: it failed. What was asked of the provider now says whether the
    /// money has left; where that proves nothing, `not_left` is the operator's own statement that it has not. A credit that was
    /// withheld since its chain took the payment back needs no such statement: it is given at the house's own loss.
    ///
    /// # Errors
    /// [`NotResolved`].
    pub async fn credit_back(&self, id: EffectId, stated: (&str, bool), act: &Act) -> Result<(), NotResolved> {
        self.credit_back_by(id, stated, Leave::Own(act)).await
    }

    /// The same, by somebody's leave.
    pub(in crate::engine) async fn credit_back_by(
        &self,
        id: EffectId,
        (evidence, not_left): (&str, bool),
        leave: Leave<'_>,
    ) -> Result<(), NotResolved> {
        let effect = self.waiting(id).await?;
        let impossible = !effect.work.credits()
            || !self.is_from_balance(&effect.work).await?
            || self.is_refunded(effect.work.resolvable()).await?;
        if impossible {
            return Err(NotResolved::Impossible);
        }
        let proof = match self.says(&effect).await.map_err(unread)? {
            Says::Stands(standing @ (Standing::Done | Standing::UnderWay | Standing::Held)) => {
                return Err(NotResolved::Contradicted(standing));
            }
            Says::Stands(standing @ (Standing::Refused | Standing::Returned)) => standing.name(),
            Says::Stands(Standing::NotAsked) if effect.work.resolvable().is_known_where_asked() => {
                Standing::NotAsked.name()
            }
            Says::Stands(Standing::NotAsked) | Says::Nothing | Says::Silent(_) => {
                match (effect.work.resolvable(), not_left) {
                    (Resolvable::Credit(..), _) => "a credit that was not given",
                    (_, true) => "the operator states that it has not left",
                    (_, false) => return Err(NotResolved::Unproven),
                }
            }
        };
        let words = Some(format!("{evidence} ({proof})"));
        let mut words = Words::of(leave.act(), "effect.credit_back", &effect, words);
        let one = self.untouched(&effect).await?;
        let gift = || Gift::CreditBack {
            effect: id,
            evidence: evidence.to_owned(),
            not_left,
        };
        words.beside = self.may_give(&one, leave, self.worth(&effect).await?, gift).await?;
        self.resolved(&one, &effect, (Outcome::NotDone, ""), &words).await
    }

    /// Whether it is what was left on a card whose charge a refund has given back already.
    async fn is_refunded(&self, work: Resolvable) -> Result<bool, NotResolved> {
        let Resolvable::Credit(_, _, CreditCause::Card(card)) = work else {
            return Ok(false);
        };
        let all = &self.0.families;
        let failed = |error| unread(damaged(error));
        let paid = match all.cards.read(&card).await.map_err(failed)? {
            Some((card, _)) => Some(card.charge.payment),
            None => {
                let order = all.intl_orders.read(&card).await.map_err(failed)?;
                order.map(|(order, _)| order.charge.payment)
            }
        };
        match paid {
            Some(paid) => Ok(refunded(all, card, paid).await.map_err(failed)?.is_some()),
            None => Ok(false),
        }
    }
}
