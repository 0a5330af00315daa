//! Job handlers: they call providers and chains, and send the result to the entity. Each run ends in one of three ways.
//! The batch with the outcome deletes the job, the supervisor records a failure, or the job is deferred.

mod accounts;
mod banking;
mod cards;
mod counting;
mod credits;
mod finality;
mod gate;
mod gift_cards;
mod incoming;
mod intl_orders;
mod owner;
mod payment_watch;
mod payments;
mod payouts;
mod recoveries;
mod refunds;
mod reloadable_cards;
mod reorg;
mod sent_transfer_match;
mod spend_approvals;
mod spent_before;
pub(super) mod table;
mod top_ups;
mod wallet_payments;
mod webhooks;
mod withdrawals;
pub(super) mod work;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use purser_storage::Store;

use super::account_map::AccountMap;
use super::claim_lock::ClaimLocks;
use super::incoming::{IncomingTracker, LostHistory};
use super::lines::LineBreakers;
use super::registries::Registries;
use super::untracked_transfers::OutgoingTransferGuard;
use super::webhooks::WebhookService;
use super::{EngineSettings, Ports};
use crate::jobs::LineDependency;
use crate::kernel::job::{AnyJob, JobFacts};
use crate::kernel::outbox::{AttemptCounters, JobHandler};
use crate::kernel::registry::LoadError;
use crate::kernel::{AttemptFailure, Entity, EntityRegistry, OutboxJob};
use crate::port::{BoxFuture, Clock, ErrorKind, PortError, ReconciliationLists};

pub(super) use credits::{pending_payment_behind, reorged_payment};
pub(super) use webhooks::DeliveryLimiter;
pub use webhooks::{OUTCOMES, WebhookStats};

/// Dependencies of the job handlers.
pub(super) struct JobHandlers {
    pub(super) registries: Registries,
    pub(super) store: Arc<dyn Store>,
    pub(super) ports: Ports,
    pub(super) clock: Arc<dyn Clock>,
    /// Webhook fan-out and delivery.
    pub(super) webhooks: Arc<WebhookService>,
    /// Breakers of the product lines.
    pub(super) lines: Arc<LineBreakers>,
    /// Counts attempts by result.
    pub(super) attempts: Arc<AttemptCounters>,
    /// Spends of one API key take turns.
    pub(super) key_turns: ClaimLocks,
    pub(super) settings: EngineSettings,
    /// Key from which payment ids are derived.
    pub(super) secret: [u8; 32],
    /// Decides whether outgoing transfers are allowed.
    pub(super) outgoing_guard: Arc<OutgoingTransferGuard>,
    /// Addresses of agent wallets and their owners.
    pub(super) account_map: AccountMap,
    /// External lists of reconciliation.
    pub(super) lists: ReconciliationLists,
    /// The history that a restore lost, if any.
    pub(super) lost_history: Option<LostHistory>,
    /// State of incoming transfers.
    pub(super) incoming: Arc<IncomingTracker>,
}

type HandlerResult = Result<(), AttemptFailure>;

impl JobHandler for JobHandlers {
    fn handle<'a>(&'a self, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let running = table::run(self, outbox_job);
        match outbox_job.job.line() {
            LineDependency::WaitsForLine(line) | LineDependency::Unblocked(line) => {
                Box::pin(self.run_on_line(line, outbox_job, running))
            }
            // A payout names its rail in its own state.
            LineDependency::WaitsForRail | LineDependency::None => running,
        }
    }

    fn facts(&self, job: &AnyJob) -> JobFacts {
        job.facts()
    }
}

impl JobHandlers {
    fn is_exhausted(&self, outbox_job: &OutboxJob, error: &PortError) -> bool {
        error.kind == ErrorKind::Permanent || outbox_job.attempts + 1 >= self.settings.prepare_attempts
    }

    async fn with_timeout<T>(
        &self,
        call: impl Future<Output = Result<T, PortError>>,
        operation: &'static str,
    ) -> Result<T, PortError> {
        with_timeout_ms(Duration::from_millis(self.settings.settle_timeout_ms), call, operation).await
    }
}

/// Calls with a timeout. After a timeout the operation may have happened.
pub(super) async fn with_timeout_ms<T>(
    timeout: Duration,
    call: impl Future<Output = Result<T, PortError>>,
    operation: &'static str,
) -> Result<T, PortError> {
    tracing::debug!(operation, "port called");
    match tokio::time::timeout(timeout, call).await {
        Ok(result) => {
            tracing::debug!(operation, answered = result.is_ok(), "port answered");
            result
        }
        Err(_) => Err(PortError {
            kind: ErrorKind::Unknown,
            operation,
            message: "no answer in time".into(),
        }),
    }
}

/// Asks an entity. Any error is a failed attempt. If the job was completed meanwhile, recording the failure finds no
/// row and ends there. Otherwise the next attempt reads the entity again.
async fn ask_entity<E: Entity>(registry: &EntityRegistry<E>, id: E::Id, command: E::Command) -> HandlerResult {
    match registry.ask(id, command).await {
        Ok(_) => Ok(()),
        Err(refusal) => Err(AttemptFailure::temporary(format!(
            "{} {id}: {refusal:?}",
            E::KIND.name()
        ))),
    }
}

fn load_failed(error: LoadError) -> AttemptFailure {
    AttemptFailure::temporary(error.to_string())
}
