//! Operator actions run one at a time. The batch of each action appends its audit record, linked to the previous one.

use purser_storage::{Batch, CommitError, Condition, Write};
use tokio::sync::MutexGuard;

use super::{Engine, MAX_CONFLICT_RETRIES, OperationError};
use crate::kernel::idempotency::{ExtraRows, ExtraWrite};
use crate::kernel::{AskError, Entity, EntityRegistry, IdempotencyRecorder, OutboxJob, audit_log, request_context};
use crate::operator::{AuditAction, AuditExtras, AuditPosition, AuditRecord, AuditedAction, OperatorAction};

/// The right to act, until it is dropped.
pub(super) type OperatorLock<'a> = MutexGuard<'a, ()>;

/// Audit record of an action.
pub(super) struct AuditEntry<'a> {
    /// Operator action that requests the change.
    pub(super) act: &'a OperatorAction,
    pub(super) action: AuditAction,
    /// What the action applies to.
    pub(super) subject: String,
    /// The operator's note.
    pub(super) note: Option<String>,
    /// Additional writes and conditions of the batch.
    pub(super) extras: AuditExtras,
}

impl<'a> AuditEntry<'a> {
    /// Audit record about a job.
    pub(super) fn for_job(act: &'a OperatorAction, action: AuditAction, job: &OutboxJob, note: Option<String>) -> Self {
        let OutboxJob { id, job, .. } = job;
        Self {
            act,
            action,
            subject: format!("{id} {} {}", job.name(), job.subject()),
            note,
            extras: AuditExtras::default(),
        }
    }
}

impl Engine {
    /// Waits until no other operator acts.
    pub(super) async fn lock_operator(&self) -> OperatorLock<'_> {
        self.0.operator_lock.lock().await
    }

    /// Next position in the audit log. An earlier request whose client has gone may still take it: the batch then
    /// conflicts.
    async fn next_audit_position<R>(&self) -> Result<AuditPosition, AskError<R>> {
        audit_log::next_position(&*self.0.store).await.map_err(|error| {
            tracing::error!(%error, "the end of the audit log could not be read");
            AskError::OutcomeUnknown
        })
    }

    /// Asks an entity for an operator's command. The entity writes the audit record.
    ///
    /// # Errors
    /// The entity's; [`AskError::Conflict`] when a condition other than the log position fails.
    pub(super) async fn ask_as_operator<E: Entity>(
        &self,
        one: &OperatorLock<'_>,
        to: (&EntityRegistry<E>, E::Id),
        act: &OperatorAction,
        command: impl Fn(AuditedAction) -> E::Command + Send + Sync,
    ) -> Result<E::Reply, AskError<E::Rejection>> {
        self.ask_as_operator_with_extras(one, to, (act, &AuditExtras::default()), command)
            .await
    }

    /// The same with additional writes.
    ///
    /// # Errors
    /// As [`Engine::ask_as_operator`]; [`AskError::Conflict`] also when one of their conditions fails.
    pub(super) async fn ask_as_operator_with_extras<E: Entity>(
        &self,
        _one: &OperatorLock<'_>,
        (registry, id): (&EntityRegistry<E>, E::Id),
        (act, beside): (&OperatorAction, &AuditExtras),
        command: impl Fn(AuditedAction) -> E::Command + Send + Sync,
    ) -> Result<E::Reply, AskError<E::Rejection>> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            let link = self.next_audit_position().await?;
            let (act, beside) = (act.clone(), Box::new(beside.clone()));
            match registry
                .ask(
                    id,
                    command(AuditedAction {
                        act,
                        position: link,
                        extras: beside,
                    }),
                )
                .await
            {
                Err(AskError::Conflict) => {}
                result => return result,
            }
        }
        Err(AskError::Conflict)
    }

    /// For commands that owners send too: then no audit record is written, and the response is persisted if there is an
    /// idempotency recorder.
    ///
    /// # Errors
    /// As [`Engine::ask_idempotent`].
    pub(super) async fn ask_as_operator_or_owner<E: Entity>(
        &self,
        (registry, id): (&EntityRegistry<E>, E::Id),
        (by, recorder): (Option<&OperatorAction>, Option<IdempotencyRecorder<E>>),
        command: impl Fn(Option<AuditedAction>) -> E::Command + Send + Sync,
    ) -> Result<E::Reply, OperationError<E::Rejection>>
    where
        E::Command: Clone,
    {
        let Some(act) = by else {
            return self.ask_idempotent(registry, id, command(None), recorder).await;
        };
        let one = self.lock_operator().await;
        match self
            .ask_as_operator(&one, (registry, id), act, |audited| command(Some(audited)))
            .await
        {
            Err(AskError::Conflict) => Err(OperationError::Unavailable),
            result => Ok(result?),
        }
    }

    /// Asks an entity for a command that otherwise only an external event causes. The entity knows no operator, so the
    /// audit record is added to its batch.
    ///
    /// # Errors
    /// As [`Engine::ask_as_operator`].
    pub(super) async fn ask_with_audit<E: Entity>(
        &self,
        _one: &OperatorLock<'_>,
        (registry, id): (&EntityRegistry<E>, E::Id),
        words: &AuditEntry<'_>,
        command: impl Fn() -> E::Command + Send + Sync,
    ) -> Result<E::Reply, AskError<E::Rejection>> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            let note = self.audit_rows(words, self.next_audit_position().await?);
            match registry
                .ask_with_extra(id, command(), Some(ExtraWrite::Rows(note)))
                .await
            {
                Err(AskError::Conflict) => {}
                result => return result,
            }
        }
        Err(AskError::Conflict)
    }

    /// Commits writes that no entity decides.
    ///
    /// # Errors
    /// When the store rejects it; [`CommitError::Condition`] when a condition other than the log position fails.
    pub(super) async fn commit_with_audit(
        &self,
        one: &OperatorLock<'_>,
        words: &AuditEntry<'_>,
        conditions: Vec<Condition>,
        writes: Vec<Write>,
    ) -> Result<(), CommitError> {
        let committed = self.commit_by_position(one, words, &conditions, |_| writes.clone());
        committed.await.map(drop)
    }

    /// The same for writes that depend on the position in the audit log. Returns the position.
    ///
    /// # Errors
    /// As [`Engine::commit_with_audit`].
    pub(super) async fn commit_by_position(
        &self,
        _one: &OperatorLock<'_>,
        words: &AuditEntry<'_>,
        conditions: &[Condition],
        writes: impl Fn(AuditPosition) -> Vec<Write>,
    ) -> Result<AuditPosition, CommitError> {
        let mut refused = CommitError::Stopped;
        for _ in 0..MAX_CONFLICT_RETRIES {
            let link = self
                .next_audit_position::<()>()
                .await
                .map_err(|_| CommitError::Stopped)?;
            let note = self.audit_rows(words, link);
            let batch = Batch {
                conditions: [
                    conditions.to_vec(),
                    note.conditions,
                    request_context::operator_conditions(),
                ]
                .concat(),
                writes: [writes(link), note.writes].concat(),
                ..Batch::default()
            };
            match super::commit(&*self.0.store, batch).await {
                Err(CommitError::Condition(which)) => refused = CommitError::Condition(which),
                result => return result.map(|()| link),
            }
        }
        Err(refused)
    }

    /// Records an action that was done outside the engine.
    ///
    /// # Errors
    /// When the store rejects it.
    pub async fn record_operator_action(
        &self,
        act: &OperatorAction,
        action: AuditAction,
        subject: String,
        note: String,
    ) -> Result<(), CommitError> {
        let one = self.lock_operator().await;
        let entry = AuditEntry {
            act,
            action,
            subject,
            note: Some(note),
            extras: AuditExtras::default(),
        };
        self.commit_with_audit(&one, &entry, Vec::new(), Vec::new()).await
    }

    fn audit_rows(&self, words: &AuditEntry<'_>, link: AuditPosition) -> ExtraRows {
        let act = AuditRecord {
            position: link,
            at: self.0.clock.now(),
            act: words.act.clone(),
            action: words.action.name().to_owned(),
            subject: words.subject.clone(),
            note: words.note.clone(),
        };
        let (conditions, writes) = audit_log::append(act, &words.extras);
        ExtraRows {
            conditions,
            writes,
            jobs: Vec::new(),
        }
    }
}
