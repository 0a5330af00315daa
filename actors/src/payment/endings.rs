//! How a payment ends otherwise than by what it buys.

use super::{Answer, Command, Event, Payment, Rejection, Status, TakenIn};
use crate::id::{EffectId, PaymentId};
use crate::kernel::{Context, Decision, table};
use crate::ledger::{Place, Transaction};

impl Payment {
    /// On chain, and taken in without it: that was its end, though nobody knew.
    pub(super) fn deposited(
        &self,
        id: &PaymentId,
        effect: EffectId,
        (transaction, taken_in): (String, TakenIn),
        context: &Context,
    ) -> Decision<Self> {
        let event = match taken_in {
            TakenIn::Credited => Event::Deposited(transaction, context.now),
            TakenIn::Resolved(resolution) => Event::Resolved(transaction, resolution, context.now),
        };
        let deposit = table::deposit(*id);
        Decision::answer(Answer::Done)
            .completes(effect)
            .requires_present(deposit)
            .event(event)
            .then(self.freed_share(), context)
    }

    /// What the chain shows of a settled payment for good: that it stays, or that it is gone.
    pub(super) fn known_for_good(
        &self,
        id: &PaymentId,
        command: &Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        match (&self.status, command) {
            (Status::Fulfilled { .. } | Status::Credited { .. }, Command::Reversed { effect }) => {
                Ok(self.reversed(id, *effect, context))
            }
            // Found again meanwhile: one loss is booked. What was gone before it was final never becomes final.
            (Status::Reversed { .. }, Command::Reversed { effect } | Command::Finalized { effect }) => {
                Ok(Decision::answer(Answer::Done).completes(*effect))
            }
            (
                Status::Settled { .. } | Status::Fulfilled { .. } | Status::Credited { .. },
                Command::Finalized { effect },
            ) => {
                let done = Decision::answer(Answer::Done).completes(*effect);
                Ok(done.take(table::unfinal(*id)))
            }
            (_, _) => Err(Rejection::OutOfOrder(self.state_name())),
        }
    }

    /// Gone from the chain for good: what was received for it is our loss, whoever has the product.
    fn reversed(&self, id: &PaymentId, effect: EffectId, context: &Context) -> Decision<Self> {
        let treasury = Place::Treasury(self.claim.authorization.network());
        let lost = Transaction::new(context.now, id).book(Place::Losses, treasury, self.price());
        Decision::answer(Answer::Done)
            .completes(effect)
            .event(Event::Reversed(context.now))
            .post(&lost, context)
    }

    /// Given back unsent: what was reserved for it is free.
    pub(super) fn released(&self, effect: EffectId, event: Event, context: &Context) -> Decision<Self> {
        let released = Decision::answer(Answer::Done).completes(effect).event(event);
        released.then(self.freed_share(), context)
    }
}
