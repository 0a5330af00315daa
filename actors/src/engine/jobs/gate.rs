//! The gate as effects meet it: before anything is signed or ordered, and again before it is sent.

use purser_storage::mutants::{self, Mutant};

use super::{HandlerResult, JobHandlers};
use crate::engine::untracked_transfers::gate::GateClosure;
use crate::id::{PaymentId, Wallet};
use crate::kernel::{AttemptFailure, Entity, EntityRegistry};

/// Something new may leave for an account now. Only the gate gives it, and whatever signs or orders asks for it.
pub(super) struct OutgoingPermit(());

impl JobHandlers {
    /// Asks whether something new may be signed or ordered for an account, out of what a payment has bought; or out of a balance or a
    /// managed wallet, by [`PaymentId::NONE`].
    pub(super) async fn acquire_outgoing_permit(
        &self,
        owner: &Wallet,
        shut: GateClosure,
        rests_on: PaymentId,
    ) -> Result<OutgoingPermit, AttemptFailure> {
        if self.outgoing_guard.is_closed(shut)
            || self.is_owner_frozen(owner).await?
            || self.is_pending_finality(rests_on).await?
        {
            return Err(self.defer_at_gate());
        }
        Ok(OutgoingPermit(()))
    }

    /// Whether what rests on this payment stays.
    pub(super) async fn is_pending_finality(&self, payment: PaymentId) -> Result<bool, AttemptFailure> {
        let unfinal = self.outgoing_guard.is_pending_finality(payment).await;
        unfinal.map_err(|e| AttemptFailure::temporary(e.to_string()))
    }

    /// Whether nothing more of what is signed may be sent: then it is only looked up.
    pub(super) async fn is_owner_frozen(&self, owner: &Wallet) -> Result<bool, AttemptFailure> {
        let frozen = self.outgoing_guard.is_frozen(owner).await;
        frozen.map_err(|e| AttemptFailure::temporary(e.to_string()))
    }

    /// Nothing has failed and no try is used up: it is asked again until the gate opens.
    pub(super) fn defer_at_gate(&self) -> AttemptFailure {
        AttemptFailure::defer(self.settings.watch_every_ms)
    }

    /// Whether something that the backup did not know as signed may be signed and sent, or given back as never sent: not
    /// before everything that left without a row is explained, because it may have been this. `mark` is what it would be
    /// sent as: a transfer that is on the chain by exactly that is only looked up.
    pub(super) fn outgoing_allowed(&self, mark: Option<[u8; 32]>) -> HandlerResult {
        match self.outgoing_guard.must_wait(mark) {
            true if !mutants::is_enabled(Mutant::SignsOutsideGate) => Err(self.defer_at_gate()),
            _ => Ok(()),
        }
    }

    /// Makes durable what was signed, in a batch that holds only while the account is not frozen. One that was frozen since the
    /// gate was asked has it held, and nothing was sent.
    pub(super) async fn persist_signed<E: Entity>(
        &self,
        owner: &Wallet,
        (family, id): (&EntityRegistry<E>, E::Id),
        command: E::Command,
    ) -> HandlerResult {
        match family.ask(id, command).await {
            Ok(_) => Ok(()),
            Err(_) if self.is_owner_frozen(owner).await? => Err(self.defer_at_gate()),
            Err(refusal) => Err(AttemptFailure::temporary(format!(
                "{} {id}: {refusal:?}",
                E::KIND.name()
            ))),
        }
    }
}
