//! What the engine does with the jobs of an entity kind: run them, show their subject, query their executor, and record
//! what an operator states.

use std::future::ready;

use purser_storage::StoreError;

use super::{HandlerResult, JobHandlers, ask_entity, with_timeout_ms};
use crate::currency::Currency;
use crate::engine::operator_actions::{AuditEntry, OperatorLock};
use crate::engine::operators::corrupt;
use crate::engine::registries::Registries;
use crate::engine::{Engine, JobSummary, ResolveError};
use crate::id::JobId;
use crate::jobs::JobTypes;
use crate::kernel::{AskError, Entity, EntityRegistry, OutboxJob};
use crate::money::Cents;
use crate::port::{BoxFuture, EntryKey, PortError};
use crate::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};

/// Reason shown to the account owner where the provider gave none.
pub(super) const NOT_COMPLETED_REASON: &str = "not_completed";

/// Subject of a job, if its entity exists.
pub(in crate::engine) type Summary = Result<Option<JobSummary>, StoreError>;

/// What the executor of a job reports now. `None` if it can't be queried without placing an order, or no external party
/// executes the job.
pub(in crate::engine) type Inquiry = Result<Option<Result<EntryStatus, PortError>>, StoreError>;

/// The jobs of an entity kind, as the engine handles them. Nothing has a default, so every method must handle a new job.
pub(in crate::engine) trait Work: JobTypes {
    /// Makes an attempt. Returns once the batch that deletes the job is durable.
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult>;

    /// Subject of the job, and the money concerned.
    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary>;

    /// Queries the executor for the outcome. Changes nothing.
    fn inquire(self, engine: &Engine, id: JobId) -> BoxFuture<'_, Inquiry>;

    /// Sends the entity the command that the provider's response would have caused.
    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>>;
}

/// An operator's outcome of a job.
pub(in crate::engine) struct OperatorResolution<'a> {
    /// The job.
    pub(in crate::engine) id: JobId,
    /// Whether it was executed.
    pub(in crate::engine) done: bool,
    /// The provider's or the chain's id of the event.
    pub(in crate::engine) reference: &'a str,
    /// Locks out other operators.
    pub(in crate::engine) lock: &'a OperatorLock<'a>,
    /// For the audit log.
    pub(in crate::engine) words: &'a AuditEntry<'a>,
}

/// For jobs whose outcome no operator may record.
pub(super) fn not_resolvable<'a>() -> BoxFuture<'a, Result<(), ResolveError>> {
    Box::pin(ready(Err(ResolveError::NotResolvable)))
}

/// For jobs whose executor can't be queried.
pub(super) fn not_queryable<'a>() -> BoxFuture<'a, Inquiry> {
    Box::pin(ready(Ok(None)))
}

/// Sends a command to an entity.
pub(super) fn ask<E: Entity>(
    registry: &EntityRegistry<E>,
    id: E::Id,
    command: E::Command,
) -> BoxFuture<'_, HandlerResult> {
    Box::pin(ask_entity(registry, id, command))
}

/// Reads a job's subject.
pub(super) fn summarize<'a, E: Entity>(
    registry: &'a EntityRegistry<E>,
    id: E::Id,
    money: impl FnOnce(&E) -> Option<EntryAmount> + Send + 'a,
) -> BoxFuture<'a, Summary> {
    Box::pin(async move {
        let read = registry.read(&id).await.map_err(corrupt)?;
        Ok(read.map(|(entity, _)| JobSummary {
            owner: entity.owner(),
            status: entity.status(),
            money: money(&entity),
        }))
    })
}

pub(super) const fn usd(amount: Cents) -> EntryAmount {
    EntryAmount::Cents(amount, Currency::USD)
}

/// Status of an order on the provider's own list, if there is a list.
pub(super) fn listed(engine: &Engine, source: ReconciliationSource, key: JobId) -> BoxFuture<'_, Inquiry> {
    Box::pin(async move {
        let Some(list) = engine.0.lists.providers.get(&source) else {
            return Ok(None);
        };
        let entry = with_timeout_ms(engine.query_timeout(), list.entry(&EntryKey::for_order(key)), "entry").await;
        Ok(Some(entry.map(|entry| {
            entry.map_or(EntryStatus::NotSubmitted, |entry| entry.status)
        })))
    })
}

impl Engine {
    /// Sends an operator's outcome to an entity, with its audit record.
    pub(in crate::engine) async fn send_resolution<E: Entity>(
        &self,
        one: &OperatorLock<'_>,
        to: (&EntityRegistry<E>, E::Id),
        words: &AuditEntry<'_>,
        command: impl Fn() -> E::Command + Send + Sync,
    ) -> Result<(), ResolveError> {
        match self.ask_with_audit(one, to, words, command).await {
            Ok(_) => {
                tracing::warn!(
                    what = words.action.name(),
                    subject = words.subject,
                    by = words.act.operator,
                    "an operator's word was taken"
                );
                Ok(())
            }
            // The entity has changed since it was read.
            Err(AskError::Rejected(_) | AskError::NotFound | AskError::Conflict) => Err(ResolveError::NotFound),
            Err(AskError::OutcomeUnknown | AskError::Quarantined) => Err(ResolveError::Unavailable),
        }
    }
}

impl OperatorResolution<'_> {
    /// Sends the operator's outcome to an entity.
    pub(super) fn send<'a, E: Entity>(
        &'a self,
        engine: &'a Engine,
        to: (&'a EntityRegistry<E>, E::Id),
        command: impl Fn() -> E::Command + Send + Sync + 'a,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        Box::pin(engine.send_resolution(self.lock, to, self.words, command))
    }
}
