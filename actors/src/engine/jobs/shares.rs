//! What is counted against daily caps, and given back to them.

use super::{HandlerResult, JobHandlers, ask_entity};
use crate::account;
use crate::id::Wallet;
use crate::kernel::OutboxJob;
use crate::kernel::job::CapReservation;

impl JobHandlers {
    pub(super) async fn free_share(&self, effect: &OutboxJob, account: Wallet, share: CapReservation) -> HandlerResult {
        let effect = effect.id;
        let command = account::Command::ReleaseCapReservation { effect, share };
        ask_entity(&self.families.accounts, account, command).await
    }

    pub(super) async fn count_share(
        &self,
        effect: &OutboxJob,
        account: Wallet,
        share: CapReservation,
    ) -> HandlerResult {
        let effect = effect.id;
        let command = account::Command::CountShare { effect, share };
        ask_entity(&self.families.accounts, account, command).await
    }
}
