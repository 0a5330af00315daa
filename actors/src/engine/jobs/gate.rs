//! The gate in jobs: checked before anything is signed or ordered, and again before it is sent.

use purser_storage::mutants::{self, Mutant};

use super::{HandlerResult, JobHandlers};
use crate::engine::untracked_transfers::gate::GateClosure;
use crate::id::{PaymentId, Wallet};
use crate::kernel::{AttemptFailure, Entity, EntityRegistry};

/// Permission for a new outgoing transfer or order of an account. Only the gate issues it, and code that signs or
/// orders requires it.
pub(super) struct OutgoingPermit(());

impl JobHandlers {
    /// Asks whether something new may be signed or ordered for an account with the proceeds of a payment. For a balance
    /// or an agent wallet, pass [`PaymentId::NONE`].
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

    /// Whether the payment is not yet final, so that what depends on it waits.
    pub(super) async fn is_pending_finality(&self, payment: PaymentId) -> Result<bool, AttemptFailure> {
        let unfinal = self.outgoing_guard.is_pending_finality(payment).await;
        unfinal.map_err(|e| AttemptFailure::temporary(e.to_string()))
    }

    /// Whether the owner is frozen: signed transfers are then only looked up, not sent.
    pub(super) async fn is_owner_frozen(&self, owner: &Wallet) -> Result<bool, AttemptFailure> {
        let frozen = self.outgoing_guard.is_frozen(owner).await;
        frozen.map_err(|e| AttemptFailure::temporary(e.to_string()))
    }

    /// Defers the job without an attempt; it is checked again until the gate opens.
    pub(super) fn defer_at_gate(&self) -> AttemptFailure {
        AttemptFailure::defer(self.settings.watch_every_ms)
    }

    /// Whether something may be signed and sent, or credited as never sent, if the backup has no signature for it. Only
    /// after every untracked transfer is explained, because it may be one of them. `fingerprint` is what it would
    /// be sent with: a transfer on chain with exactly that is only looked up.
    pub(super) fn outgoing_allowed(&self, fingerprint: Option<[u8; 32]>) -> HandlerResult {
        match self.outgoing_guard.must_wait(fingerprint) {
            true if !mutants::is_enabled(Mutant::SignsOutsideGate) => Err(self.defer_at_gate()),
            _ => Ok(()),
        }
    }

    /// Persists what was signed, on the condition that the account is not frozen. If it was frozen since the gate was
    /// checked, the job is held and nothing was sent.
    pub(super) async fn persist_signed<E: Entity>(
        &self,
        owner: &Wallet,
        (registry, id): (&EntityRegistry<E>, E::Id),
        command: E::Command,
    ) -> HandlerResult {
        match registry.ask(id, command).await {
            Ok(_) => Ok(()),
            Err(_) if self.is_owner_frozen(owner).await? => Err(self.defer_at_gate()),
            Err(refusal) => Err(AttemptFailure::temporary(format!(
                "{} {id}: {refusal:?}",
                E::KIND.name()
            ))),
        }
    }
}
