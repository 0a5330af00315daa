//! How the house acts: one operator at a time, each act in the audit log behind the one before, by the batch that does it.

use purser_storage::{Batch, CommitError, Condition, Write};
use tokio::sync::MutexGuard;

use super::{Engine, MAX_CONFLICT_RETRIES, OperationError};
use crate::kernel::idempotency::{ExtraRows, ExtraWrite};
use crate::kernel::{AskError, Entity, EntityRegistry, IdempotencyRecorder, OutboxJob, audit_log};
use crate::operator::{AuditExtras, AuditPosition, AuditRecord, AuditedAction, OperatorAction};

/// The right to act, until it is dropped.
pub(super) type OperatorLock<'a> = MutexGuard<'a, ()>;

/// What is written down of an act.
pub(super) struct AuditEntry<'a> {
    /// Who.
    pub(super) act: &'a OperatorAction,
    /// What, for example `effect.retry`.
    pub(super) action: &'static str,
    /// To which.
    pub(super) subject: String,
    /// In the operator's own words.
    pub(super) note: Option<String>,
    /// What comes with it.
    pub(super) extras: AuditExtras,
}

impl<'a> AuditEntry<'a> {
    /// About a piece of work.
    pub(super) fn for_job(
        act: &'a OperatorAction,
        action: &'static str,
        effect: &OutboxJob,
        note: Option<String>,
    ) -> Self {
        let OutboxJob { id, job: work, .. } = effect;
        Self {
            act,
            action,
            subject: format!("{id} {} {}", work.name(), work.subject()),
            note,
            extras: AuditExtras::default(),
        }
    }
}

impl Engine {
    /// Waits until nobody else acts.
    pub(super) async fn lock_operator(&self) -> OperatorLock<'_> {
        self.0.operator_lock.lock().await
    }

    /// The next place in the audit log. Somebody who went away while acting may still take it: then the batch conflicts.
    async fn next_audit_position<R>(&self) -> Result<AuditPosition, AskError<R>> {
        audit_log::next_position(&*self.0.store).await.map_err(|error| {
            tracing::error!(%error, "the end of the audit log could not be read");
            AskError::OutcomeUnknown
        })
    }

    /// Asks an entity for what an operator wants; the entity writes it down.
    ///
    /// # Errors
    /// The entity's; [`Refusal::Conflict`] when something other than the log stands against it.
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

    /// The same with what comes with it.
    ///
    /// # Errors
    /// As [`Engine::act`]; [`Refusal::Conflict`] too when what comes with it stands against it.
    pub(super) async fn ask_as_operator_with_extras<E: Entity>(
        &self,
        _one: &OperatorLock<'_>,
        (family, id): (&EntityRegistry<E>, E::Id),
        (act, beside): (&OperatorAction, &AuditExtras),
        command: impl Fn(AuditedAction) -> E::Command + Send + Sync,
    ) -> Result<E::Reply, AskError<E::Rejection>> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            let link = self.next_audit_position().await?;
            let (act, beside) = (act.clone(), Box::new(beside.clone()));
            match family
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
                told => return told,
            }
        }
        Err(AskError::Conflict)
    }

    /// The same for what holders ask for too: then nobody is written down, and the answer is remembered if there is a memo.
    ///
    /// # Errors
    /// As [`Engine::ask_once`].
    pub(super) async fn ask_as_operator_or_owner<E: Entity>(
        &self,
        (family, id): (&EntityRegistry<E>, E::Id),
        (by, memo): (Option<&OperatorAction>, Option<IdempotencyRecorder<E>>),
        command: impl Fn(Option<AuditedAction>) -> E::Command + Send + Sync,
    ) -> Result<E::Reply, OperationError<E::Rejection>>
    where
        E::Command: Clone,
    {
        let Some(act) = by else {
            return self.ask_idempotent(family, id, command(None), memo).await;
        };
        let one = self.lock_operator().await;
        match self
            .ask_as_operator(&one, (family, id), act, |deed| command(Some(deed)))
            .await
        {
            Err(AskError::Conflict) => Err(OperationError::Unavailable),
            told => Ok(told?),
        }
    }

    /// Tells an entity what otherwise only somebody outside tells it. It knows of no operator: what is written down is added to
    /// its batch.
    ///
    /// # Errors
    /// As [`Engine::act`].
    pub(super) async fn ask_with_audit<E: Entity>(
        &self,
        _one: &OperatorLock<'_>,
        (family, id): (&EntityRegistry<E>, E::Id),
        words: &AuditEntry<'_>,
        command: impl Fn() -> E::Command + Send + Sync,
    ) -> Result<E::Reply, AskError<E::Rejection>> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            let note = self.audit_rows(words, self.next_audit_position().await?);
            match family.ask_with_extra(id, command(), Some(ExtraWrite::Rows(note))).await {
                Err(AskError::Conflict) => {}
                told => return told,
            }
        }
        Err(AskError::Conflict)
    }

    /// Does what no entity decides.
    ///
    /// # Errors
    /// When the store refuses it; [`CommitError::Condition`] when something other than the log stands against it.
    pub(super) async fn commit_with_audit(
        &self,
        _one: &OperatorLock<'_>,
        words: &AuditEntry<'_>,
        conditions: Vec<Condition>,
        writes: Vec<Write>,
    ) -> Result<(), CommitError> {
        let mut refused = CommitError::Stopped;
        for _ in 0..MAX_CONFLICT_RETRIES {
            let link = self
                .next_audit_position::<()>()
                .await
                .map_err(|_| CommitError::Stopped)?;
            let note = self.audit_rows(words, link);
            let batch = Batch {
                conditions: [conditions.clone(), note.conditions].concat(),
                writes: [writes.clone(), note.writes].concat(),
                ..Batch::default()
            };
            match super::commit(&*self.0.store, batch).await {
                Err(CommitError::Condition(which)) => refused = CommitError::Condition(which),
                told => return told,
            }
        }
        Err(refused)
    }

    /// Writes down what was done beside the engine.
    ///
    /// # Errors
    /// When the store refuses it.
    pub async fn record_operator_action(
        &self,
        act: &OperatorAction,
        what: &'static str,
        subject: String,
        words: String,
    ) -> Result<(), CommitError> {
        let one = self.lock_operator().await;
        let words = AuditEntry {
            act,
            action: what,
            subject,
            note: Some(words),
            extras: AuditExtras::default(),
        };
        self.commit_with_audit(&one, &words, Vec::new(), Vec::new()).await
    }

    fn audit_rows(&self, words: &AuditEntry<'_>, link: AuditPosition) -> ExtraRows {
        let act = AuditRecord {
            position: link,
            at: self.0.clock.now(),
            act: words.act.clone(),
            action: words.action.to_owned(),
            subject: words.subject.clone(),
            note: words.note.clone(),
        };
        let (conditions, writes) = audit_log::append(act, &words.extras);
        ExtraRows { conditions, writes }
    }
}
