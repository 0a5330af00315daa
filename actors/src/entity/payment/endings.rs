//! Ends of a payment other than its purchase.

use super::{Command, Event, IncomingOutcome, Payment, Rejection, Reply, Status};
use crate::id::{JobId, PaymentId};
use crate::kernel::{Context, Decision, Entity as _, table};
use crate::ledger::{LedgerAccount, LedgerTransaction};

impl Payment {
    /// The transfer is on chain and was recorded as a deposit. That ended the payment, although it was not known then.
    pub(super) fn settle_by_deposit(
        &self,
        id: &PaymentId,
        job: JobId,
        (transaction, taken_in): (String, IncomingOutcome),
        context: &Context,
    ) -> Decision<Self> {
        let event = match taken_in {
            IncomingOutcome::Credited => Event::CreditedAfterRestore(transaction, context.now),
            IncomingOutcome::Resolved(resolution) => Event::Resolved(transaction, resolution, context.now),
        };
        let deposit = table::taken_in_payment(*id);
        Decision::answer(Reply::Done)
            .completes_job(job)
            .requires_present(deposit)
            .event(event)
            .enqueue(self.release_cap_job(), context)
    }

    /// Final state of a settled payment on chain: it remains, or is gone.
    pub(super) fn decide_final(
        &self,
        id: &PaymentId,
        command: &Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        match (&self.status, command) {
            (Status::Fulfilled { .. } | Status::Credited { .. }, Command::RecordReorg { job }) => {
                Ok(self.reverse(id, *job, context))
            }
            // Found again meanwhile: one loss is posted. A payment that was reorged before it was final never becomes
            // final.
            (Status::Reversed { .. }, Command::RecordReorg { job } | Command::RecordFinal { job }) => {
                Ok(Decision::answer(Reply::Done).completes_job(*job))
            }
            (
                Status::Settled { .. } | Status::Fulfilled { .. } | Status::Credited { .. },
                Command::RecordFinal { job },
            ) => {
                let done = Decision::answer(Reply::Done).completes_job(*job);
                Ok(done.delete(table::pending_finality(*id)))
            }
            (_, _) => Err(Rejection::InvalidState(self.status())),
        }
    }

    /// The transfer can never settle again: the received amount is our loss, whether or not the product was delivered.
    fn reverse(&self, id: &PaymentId, job: JobId, context: &Context) -> Decision<Self> {
        let treasury = LedgerAccount::Treasury(self.claim.authorization.network());
        let lost = LedgerTransaction::new(context.now, id).post(LedgerAccount::Losses, treasury, self.price());
        let decision = Decision::answer(Reply::Done)
            .completes_job(job)
            .event(Event::Reversed(context.now))
            .post_ledger(&lost, context);
        self.list_cost(id, None, decision)
    }

    /// Released without being sent: its cap reservation is released.
    pub(super) fn release(&self, job: JobId, event: Event, context: &Context) -> Decision<Self> {
        let released = Decision::answer(Reply::Done).completes_job(job).event(event);
        released.enqueue(self.release_cap_job(), context)
    }
}
