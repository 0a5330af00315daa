//! The gate as effects meet it: before anything is signed or ordered, and again before it is sent.

use purser_storage::mutants::{self, Mutant};

use super::{HandlerResult, JobHandlers};
use crate::engine::untracked_transfers::gate::Shut;
use crate::id::{PaymentId, Wallet};
use crate::kernel::{AttemptFailure, Entity, EntityRegistry};

/// Something new may leave for an account now. Only the gate gives it, and whatever signs or orders asks for it.
pub(super) struct Pass(());

impl JobHandlers {
    /// Asks whether something new may be signed or ordered for an account, out of what a payment has bought; or out of a balance or a
    /// managed wallet, by [`PaymentId::NONE`].
    pub(super) async fn pass(&self, owner: &Wallet, shut: Shut, rests_on: PaymentId) -> Result<Pass, AttemptFailure> {
        if self.departures.is_shut(shut) || self.is_barred(owner).await? || self.is_unfinal(rests_on).await? {
            return Err(self.held());
        }
        Ok(Pass(()))
    }

    /// Whether what rests on this payment stays.
    pub(super) async fn is_unfinal(&self, payment: PaymentId) -> Result<bool, AttemptFailure> {
        let unfinal = self.departures.is_unfinal(payment).await;
        unfinal.map_err(|e| AttemptFailure::temporary(e.to_string()))
    }

    /// Whether nothing more of what is signed may be sent: then it is only looked up.
    pub(super) async fn is_barred(&self, owner: &Wallet) -> Result<bool, AttemptFailure> {
        let frozen = self.departures.is_frozen(owner).await;
        frozen.map_err(|e| AttemptFailure::temporary(e.to_string()))
    }

    /// Nothing has failed and no try is used up: it is asked again until the gate opens.
    pub(super) fn held(&self) -> AttemptFailure {
        AttemptFailure::defer(self.settings.watch_every_ms)
    }

    /// Whether something that the backup did not know as signed may be signed and sent, or given back as never sent: not
    /// before everything that left without a row is explained, because it may have been this. `mark` is what it would be
    /// sent as: a transfer that is on the chain by exactly that is only looked up.
    pub(super) fn may_leave(&self, mark: Option<[u8; 32]>) -> HandlerResult {
        match self.departures.must_wait(mark) {
            true if !mutants::is_enabled(Mutant::SignsOutsideGate) => Err(self.held()),
            _ => Ok(()),
        }
    }

    /// Makes durable what was signed, in a batch that holds only while the account is not frozen. One that was frozen since the
    /// gate was asked has it held, and nothing was sent.
    pub(super) async fn tell_signed<E: Entity>(
        &self,
        owner: &Wallet,
        (family, id): (&EntityRegistry<E>, E::Id),
        command: E::Command,
    ) -> HandlerResult {
        match family.ask(id, command).await {
            Ok(_) => Ok(()),
            Err(_) if self.is_barred(owner).await? => Err(self.held()),
            Err(refusal) => Err(AttemptFailure::temporary(format!(
                "{} {id}: {refusal:?}",
                E::KIND.name()
            ))),
        }
    }
}
