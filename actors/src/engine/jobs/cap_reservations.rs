//! Jobs that count usage against daily caps and release cap reservations.

use super::{HandlerResult, JobHandlers, ask_entity};
use crate::account;
use crate::id::Wallet;
use crate::kernel::OutboxJob;
use crate::kernel::job::CapReservation;

impl JobHandlers {
    pub(super) async fn release_cap_reservation(
        &self,
        effect: &OutboxJob,
        account: Wallet,
        share: CapReservation,
    ) -> HandlerResult {
        let effect = effect.id;
        let command = account::Command::ReleaseCapReservation {
            job: effect,
            reservation: share,
        };
        ask_entity(&self.registries.accounts, account, command).await
    }

    pub(super) async fn count_cap_reservation(
        &self,
        effect: &OutboxJob,
        account: Wallet,
        share: CapReservation,
    ) -> HandlerResult {
        let effect = effect.id;
        let command = account::Command::CountCapReservation {
            job: effect,
            reservation: share,
        };
        ask_entity(&self.registries.accounts, account, command).await
    }
}
