//! Counts what payments of a lost history may have bought against daily caps, until they have settled here.

use super::{HandlerResult, JobHandlers, ask_entity, load_failed};
use crate::entity::account;
use crate::entity::account::{CapReservation, UnclaimedCapUsage};
use crate::id::{PaymentId, Wallet};
use crate::kernel::{AttemptFailure, OutboxJob};

impl JobHandlers {
    pub(super) async fn count_unclaimed(
        &self,
        outbox_job: &OutboxJob,
        payment: PaymentId,
        counted: UnclaimedCapUsage,
    ) -> HandlerResult {
        let known = self.registries.payments.read(&payment).await.map_err(load_failed)?;
        let counted_before = self.incoming.unclaimed_usage_of(payment, &*self.store).await;
        let counted_before = counted_before.map_err(|error| AttemptFailure::temporary(error.to_string()))?;
        let unclaimed = counted_before.is_none() && known.as_ref().is_none_or(|(known, _)| known.is_released());
        self.incoming.mark_counted();
        let account = counted.account;
        let command = account::Command::CountUnclaimed {
            job: outbox_job.id,
            payment,
            revision: known.map_or(0, |(_, revision)| revision),
            counted: unclaimed.then_some(counted),
        };
        ask_entity(&self.registries.accounts, account, command).await
    }

    pub(super) async fn count_claimed(
        &self,
        outbox_job: &OutboxJob,
        account: Wallet,
        payment: PaymentId,
    ) -> HandlerResult {
        let counted = self.incoming.unclaimed_usage_of(payment, &*self.store).await;
        let counted = counted.map_err(|error| AttemptFailure::temporary(error.to_string()))?;
        let known = self.registries.payments.read(&payment).await.map_err(load_failed)?;
        let account = counted.as_ref().map_or(account, |counted| counted.account);
        let counted = counted.map(|counted| {
            // An adopted payment is counted as its own purchase.
            let bought = known.filter(|(known, _)| !known.is_released() && !known.claim.is_adopted());
            let share = bought.map(|(known, _)| CapReservation {
                day: counted.reservations.first().map_or(0, |share| share.day),
                cap_group: known.claim.purchase.line().cap_group(),
                cents: known.claim.worth,
            });
            (counted, share)
        });
        let command = account::Command::CountClaimed {
            job: outbox_job.id,
            payment,
            counted,
        };
        ask_entity(&self.registries.accounts, account, command).await
    }
}
