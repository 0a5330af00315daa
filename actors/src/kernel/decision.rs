//! A state machine's decision, built step by step and committed as one batch.

use purser_storage::codec;
use purser_storage::{Condition, RowKey, Write};

use crate::id::{JobId, Wallet};
use crate::kernel::entity::{Entity, EntityKind, NewEntity};
use crate::kernel::job::{AnyJob, OutboxJob};
use crate::kernel::{Context, audit_log, table};
use crate::ledger::LedgerTransaction;
use crate::operator::{AuditAction, AuditRecord, AuditedAction};
use crate::port::Timestamp;

/// Result of a decision; everything in it is committed together.
#[derive(Debug)]
pub struct Decision<E: Entity> {
    pub(crate) events: Vec<E::Event>,
    pub(crate) reply: E::Reply,
    pub(crate) jobs: Vec<OutboxJob>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) writes: Vec<Write>,
    pub(crate) new_entities: Vec<NewEntity>,
}

impl<E: Entity> Decision<E> {
    /// Replies without a change.
    pub const fn answer(reply: E::Reply) -> Self {
        Self {
            events: Vec::new(),
            reply,
            jobs: Vec::new(),
            conditions: Vec::new(),
            writes: Vec::new(),
            new_entities: Vec::new(),
        }
    }

    /// Adds an event of the entity.
    #[must_use]
    pub fn event(mut self, event: E::Event) -> Self {
        self.events.push(event);
        self
    }

    /// Adds a job that is due now.
    #[must_use]
    pub fn enqueue(mut self, work: impl Into<AnyJob>, context: &Context) -> Self {
        self.jobs
            .push(OutboxJob::new(JobId(context.id()), work.into(), context.now));
        self
    }

    /// Adds a scheduled job; see [`crate::kernel::timer`].
    #[must_use]
    pub fn enqueue_at(self, due: Timestamp, work: impl Into<AnyJob>, context: &Context) -> Self {
        let outbox_job = OutboxJob::new(JobId(context.id()), work.into(), due);
        self.put_new(table::timer(due, outbox_job.id), codec::encode(&outbox_job))
    }

    /// Adds a job under an id of the caller's choice; only one job with this id can be open.
    #[must_use]
    pub fn enqueue_as(mut self, id: JobId, work: impl Into<AnyJob>, context: &Context) -> Self {
        self.conditions.push(Condition::Absent(table::outbox_job(id)));
        self.jobs.push(OutboxJob::new(id, work.into(), context.now));
        self
    }

    /// Completes a job: the batch commits only if the job is still open.
    #[must_use]
    pub fn completes_job(mut self, job: JobId) -> Self {
        let key = table::outbox_job(job);
        self.conditions.push(Condition::Present(key.clone()));
        self.writes.push(Write::Delete { key });
        self
    }

    /// Adds a ledger transaction.
    #[must_use]
    pub fn post_ledger(self, transaction: &LedgerTransaction, context: &Context) -> Self {
        self.put(table::ledger(context.now, context.id()), codec::encode(transaction))
    }

    /// Adds an entity to its owner's index.
    #[must_use]
    pub fn index_for_owner(self, owner: &Wallet, kind: EntityKind, id: u128, context: &Context) -> Self {
        self.put(table::owner_index_entry(owner, kind, context.now, id), Vec::new())
    }

    /// Records the operator action in the audit log.
    #[must_use]
    pub fn audit(
        mut self,
        audited: &AuditedAction,
        action: AuditAction,
        subject: impl ToString,
        note: Option<String>,
        context: &Context,
    ) -> Self {
        let act = AuditRecord {
            position: audited.position,
            at: context.now,
            act: audited.act.clone(),
            action: action.name().to_owned(),
            subject: subject.to_string(),
            note,
        };
        let (conditions, writes) = audit_log::append(act, &audited.extras);
        self.conditions.extend(conditions);
        self.writes.extend(writes);
        self
    }

    /// Writes a row.
    #[must_use]
    pub fn put(mut self, key: RowKey, value: Vec<u8>) -> Self {
        self.writes.push(Write::Put {
            key,
            revision: 0,
            value,
        });
        self
    }

    /// Writes a row with this revision, by which others notice that it changed.
    #[must_use]
    pub fn put_as(mut self, key: RowKey, revision: u64, value: Vec<u8>) -> Self {
        self.writes.push(Write::Put { key, revision, value });
        self
    }

    /// Writes a row that must be at this revision; 0 if it did not exist.
    #[must_use]
    pub fn put_revision(mut self, key: RowKey, revision: u64, value: Vec<u8>) -> Self {
        self.conditions.push(Condition::Revision(key.clone(), revision));
        self.writes.push(Write::Put {
            key,
            revision: revision.saturating_add(1),
            value,
        });
        self
    }

    /// Writes a row that must not exist.
    #[must_use]
    pub fn put_new(mut self, key: RowKey, value: Vec<u8>) -> Self {
        self.conditions.push(Condition::Absent(key.clone()));
        self.put(key, value)
    }

    /// The batch commits only if the row does not exist.
    #[must_use]
    pub fn requires_absent(mut self, key: RowKey) -> Self {
        self.conditions.push(Condition::Absent(key));
        self
    }

    /// The batch commits only if the row exists.
    #[must_use]
    pub fn requires_present(mut self, key: RowKey) -> Self {
        self.conditions.push(Condition::Present(key));
        self
    }

    /// The batch commits only if this entity is still at this revision; 0 if it did not exist.
    #[must_use]
    pub fn requires_unchanged(mut self, key: RowKey, revision: u64) -> Self {
        self.conditions.push(Condition::Revision(key, revision));
        self
    }

    /// Removes a row that must exist.
    #[must_use]
    pub fn delete(mut self, key: RowKey) -> Self {
        self.conditions.push(Condition::Present(key.clone()));
        self.writes.push(Write::Delete { key });
        self
    }

    /// Removes a row if it exists.
    #[must_use]
    pub fn delete_if_present(mut self, key: RowKey) -> Self {
        self.writes.push(Write::Delete { key });
        self
    }

    /// Opens another entity.
    #[must_use]
    pub fn open(mut self, opening: NewEntity) -> Self {
        self.new_entities.push(opening);
        self
    }

    /// Events in order.
    pub fn events(&self) -> &[E::Event] {
        &self.events
    }

    /// Jobs that the decision starts.
    pub fn jobs(&self) -> &[OutboxJob] {
        &self.jobs
    }

    /// Rows written besides the snapshots.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Conditions, except the snapshot's revision.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Other entities that the decision opens.
    pub fn new_entities(&self) -> &[NewEntity] {
        &self.new_entities
    }

    /// Reply, sent once the batch is durable.
    pub const fn reply(&self) -> &E::Reply {
        &self.reply
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.jobs.is_empty() && self.writes.is_empty() && self.new_entities.is_empty()
    }
}
