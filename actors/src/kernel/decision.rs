//! What a state machine decides, put together piece by piece and committed as one batch.

use purser_storage::codec;
use purser_storage::{Condition, RowKey, Write};

use crate::id::{JobId, Wallet};
use crate::kernel::entity::{Entity, EntityKind, NewEntity};
use crate::kernel::job::{Job, OutboxJob};
use crate::kernel::{Context, audit_log, table};
use crate::ledger::LedgerTransaction;
use crate::operator::{AuditRecord, AuditedAction};
use crate::port::Timestamp;

/// What a decision brings about; everything in it is committed together.
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
    /// Changes nothing.
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

    /// Adds what happened.
    #[must_use]
    pub fn event(mut self, event: E::Event) -> Self {
        self.events.push(event);
        self
    }

    /// Adds durable work.
    #[must_use]
    pub fn enqueue(mut self, work: Job, context: &Context) -> Self {
        self.jobs.push(OutboxJob::new(JobId(context.id()), work, context.now));
        self
    }

    /// Adds durable work that is not due yet; see [`crate::kernel::timer`].
    #[must_use]
    pub fn enqueue_at(self, due: Timestamp, work: Job, context: &Context) -> Self {
        let effect = OutboxJob::new(JobId(context.id()), work, due);
        self.put_new(table::timer(due, effect.id), codec::encode(&effect))
    }

    /// Adds durable work under an id of the caller's choice, of which only one can be open.
    #[must_use]
    pub fn enqueue_as(mut self, id: JobId, work: Job, context: &Context) -> Self {
        self.conditions.push(Condition::Absent(table::outbox_job(id)));
        self.jobs.push(OutboxJob::new(id, work, context.now));
        self
    }

    /// Ends an effect: the batch holds only if the effect is still open.
    #[must_use]
    pub fn completes_job(mut self, effect: JobId) -> Self {
        let key = table::outbox_job(effect);
        self.conditions.push(Condition::Present(key.clone()));
        self.writes.push(Write::Delete { key });
        self
    }

    /// Adds a ledger transaction.
    #[must_use]
    pub fn post_ledger(self, transaction: &LedgerTransaction, context: &Context) -> Self {
        self.put(table::ledger(context.now, context.id()), codec::encode(transaction))
    }

    /// Lists an entity among what its owner has.
    #[must_use]
    pub fn index_for_owner(self, owner: &Wallet, kind: EntityKind, id: u128, context: &Context) -> Self {
        self.put(table::owner_index_entry(owner, kind, context.now, id), Vec::new())
    }

    /// Writes down who asked for this.
    #[must_use]
    pub fn audit(
        mut self,
        deed: &AuditedAction,
        what: &str,
        subject: impl ToString,
        words: Option<String>,
        context: &Context,
    ) -> Self {
        let act = AuditRecord {
            position: deed.position,
            at: context.now,
            act: deed.act.clone(),
            action: what.to_owned(),
            subject: subject.to_string(),
            note: words,
        };
        let (conditions, writes) = audit_log::append(act, &deed.extras);
        self.conditions.extend(conditions);
        self.writes.extend(writes);
        self
    }

    /// Sets a row.
    #[must_use]
    pub fn put(mut self, key: RowKey, value: Vec<u8>) -> Self {
        self.writes.push(Write::Put {
            key,
            revision: 0,
            value,
        });
        self
    }

    /// Sets a row that must not exist.
    #[must_use]
    pub fn put_new(mut self, key: RowKey, value: Vec<u8>) -> Self {
        self.conditions.push(Condition::Absent(key.clone()));
        self.put(key, value)
    }

    /// The batch holds only if there is no such row.
    #[must_use]
    pub fn requires_absent(mut self, key: RowKey) -> Self {
        self.conditions.push(Condition::Absent(key));
        self
    }

    /// The batch holds only if there is such a row.
    #[must_use]
    pub fn requires_present(mut self, key: RowKey) -> Self {
        self.conditions.push(Condition::Present(key));
        self
    }

    /// The batch holds only if this entity has not changed since it had this revision; 0 if it did not exist.
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

    /// Removes a row, if it is there.
    #[must_use]
    pub fn delete_if_present(mut self, key: RowKey) -> Self {
        self.writes.push(Write::Delete { key });
        self
    }

    /// Brings another entity into being.
    #[must_use]
    pub fn open(mut self, opening: NewEntity) -> Self {
        self.new_entities.push(opening);
        self
    }

    /// What happens, in order.
    pub fn events(&self) -> &[E::Event] {
        &self.events
    }

    /// The durable work that begins.
    pub fn jobs(&self) -> &[OutboxJob] {
        &self.jobs
    }

    /// The rows that are written besides the snapshots.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// What must hold, the snapshot's revision apart.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The other entities that come into being.
    pub fn new_entities(&self) -> &[NewEntity] {
        &self.new_entities
    }

    /// The reply, once all of this is durable.
    pub const fn reply(&self) -> &E::Reply {
        &self.reply
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.jobs.is_empty() && self.writes.is_empty() && self.new_entities.is_empty()
    }
}
