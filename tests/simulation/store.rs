//! The real journal behind the engine, with the simulator's hands on it: every batch, answer and read is judged, and
//! the committer works when the simulator says.

use std::sync::Arc;

use purser_actors::entity::payment::Payment;
use purser_actors::kernel::{EntityKind, table};
use purser_actors::product::ProductLine;
use purser_storage::{
    Batch, BoxFuture, CommitCallback, EventSink, Headroom, JournalStore, Row, RowKey, Seq, Span, Store, StoreError,
    StoredEvent, Write, codec,
};
use tokio::sync::Notify;

use crate::checks;
use crate::environment::{Environment, ORDERED_PANIC};
use crate::outages;

pub(crate) struct SimStore {
    pub(crate) journal: Arc<JournalStore>,
    environment: Arc<Environment>,
    bell: Arc<Notify>,
}

/// Says so if something is published that a power cut could still take back.
struct PublishCheck(Arc<Environment>, std::sync::Weak<JournalStore>);

impl EventSink for PublishCheck {
    fn publish(&self, events: &[StoredEvent]) {
        self.0.archive.lock().record(events);
        let durable = self.1.upgrade().map_or(0, |journal| journal.durable_seq());
        if events.last().is_some_and(|e| e.seq > durable) && !self.0.is_crashed() {
            self.0
                .report_violation("publish.early", format!("{durable} is durable"));
        }
        self.0.reference.lock().published(events);
    }
}

impl SimStore {
    pub(crate) fn new(journal: Arc<JournalStore>, world: &Arc<Environment>) -> Arc<Self> {
        journal.subscribe(Arc::new(PublishCheck(world.clone(), Arc::downgrade(&journal))));
        let dying = world.clone();
        // As in the binary: the process ends before any reply.
        journal.on_fatal(Box::new(move |reason| dying.crash(reason)));
        Arc::new(Self {
            journal,
            environment: world.clone(),
            bell: Arc::default(),
        })
    }

    /// Commits what is queued, late by a moment or two. Runs until the process dies.
    pub(crate) async fn commit_all(self: Arc<Self>) {
        loop {
            self.bell.notified().await;
            loop {
                let late = match self.environment.below(16) {
                    0 => 40 + self.environment.below(200),
                    1..10 => self.environment.below(self.environment.plan.sync_ms),
                    _ => 0,
                };
                self.environment.delay(late).await;
                if !self.journal.step_commit() {
                    break;
                }
            }
        }
    }

    /// The applier, the janitor and the exporter, in the simulator's order.
    pub(crate) async fn run_maintenance(self: Arc<Self>) {
        loop {
            self.environment.delay(200 + self.environment.below(1_500)).await;
            // An error stops the store, and with it the process.
            match self.environment.below(8) {
                0..4 => drop(self.journal.step_apply()),
                4..6 => drop(self.journal.step_maintain()),
                6 if self.environment.plan.may_lose_events() || self.environment.one_in(8) => {
                    drop(self.journal.export())
                }
                _ => {}
            }
        }
    }

    /// Whether the read that is asked for now fails.
    fn read_fails(&self) -> bool {
        let mut trips = self.environment.fault_triggers.lock();
        match &mut trips.reads {
            Some((0, 0)) => trips.reads = None,
            Some((0, left)) => {
                *left -= 1;
                return true;
            }
            Some((until, _)) => *until -= 1,
            None => {}
        }
        false
    }

    fn panics(&self, batch: &Batch) -> Option<bool> {
        if batch.session.is_none() || batch.writes.is_empty() {
            return None;
        }
        let mut trips = self.environment.fault_triggers.lock();
        match &mut trips.panic {
            Some((0, before)) => {
                let before = *before;
                trips.panic = None;
                Some(before)
            }
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        }
    }

    fn enqueue(&self, batch: Batch, done: CommitCallback) {
        let ticket = self.environment.reference.lock().submit(&batch);
        let claimed: Vec<ProductLine> = batch.writes.iter().filter_map(claimed).collect();
        let claims = !claimed.is_empty();
        // A caller that ignores backpressure soon exceeds the limit by far.
        let headroom = self.journal.headroom();
        if claims && headroom.lag_bytes > headroom.lag_limit_bytes + (48 << 10) {
            self.environment
                .report_violation("limit.lag", format!("a claim at {headroom:?}"));
        }
        let world = self.environment.clone();
        let callback: CommitCallback = Box::new(move |answer| {
            if world.is_crashed() {
                return;
            }
            world.trace(|| format!("commit {ticket}: {answer:?}"));
            let judged = world.reference.lock().answer(ticket, &answer);
            if let Err((rule, detail)) = judged {
                return world.report_violation(rule, detail);
            }
            if claims {
                checks::check_in_flight(&world);
                claimed.iter().for_each(|line| outages::check_claim(&world, *line));
            }
            done(answer);
        });
        self.journal.commit(batch, callback);
        self.bell.notify_one();
    }

    fn io() -> StoreError {
        StoreError::Io("the simulation lets this read fail".into())
    }
}

/// The line of the payment that begins with this, if one does.
fn claimed(write: &Write) -> Option<ProductLine> {
    let prefix = [table::ENTITY, EntityKind::Payment as u8];
    match write {
        Write::Put {
            key,
            revision: 1,
            value,
        } if key.starts_with(&prefix) => {
            let payment: Payment = codec::decode(value).ok()?;
            // One that was taken over after a restore was sold before.
            (!payment.is_final()).then(|| payment.claim.purchase.line())
        }
        _ => None,
    }
}

impl Store for SimStore {
    fn commit(&self, batch: Batch, done: CommitCallback) {
        if !self.environment.crash_point() {
            return;
        }
        match self.panics(&batch) {
            Some(true) => panic!("{ORDERED_PANIC}"),
            Some(false) => {
                self.enqueue(batch, done);
                panic!("{ORDERED_PANIC}");
            }
            None => self.enqueue(batch, done),
        }
    }

    fn read<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Row>, StoreError>> {
        Box::pin(async move {
            self.environment.crash_point_or_hang().await;
            if self.read_fails() {
                return Err(Self::io());
            }
            let row = self.journal.read(key).await;
            if let Ok(row) = &row
                && row.as_ref() != self.environment.reference.lock().rows.get(key)
            {
                self.environment
                    .report_violation("read.durable", format!("{} is not what is durable", hex::encode(key)));
            }
            row
        })
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<&'a [u8]>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(RowKey, Row)>, StoreError>> {
        Box::pin(async move {
            self.environment.crash_point_or_hang().await;
            self.journal.scan(prefix, after, limit).await
        })
    }

    fn scan_back<'a>(
        &'a self,
        prefix: &'a [u8],
        before: Option<&'a [u8]>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(RowKey, Row)>, StoreError>> {
        Box::pin(async move {
            self.environment.crash_point_or_hang().await;
            self.journal.scan_back(prefix, before, limit).await
        })
    }

    fn events<'a>(
        &'a self,
        after: Seq,
        limit: usize,
        subject: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>> {
        Box::pin(async move {
            self.environment.crash_point_or_hang().await;
            self.journal.events(after, limit, subject).await
        })
    }

    fn events_of<'a>(
        &'a self,
        subject: &'a [u8],
        span: Span,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>> {
        Box::pin(async move {
            self.environment.crash_point_or_hang().await;
            self.journal.events_of(subject, span, limit).await
        })
    }

    fn durable_seq(&self) -> Seq {
        self.journal.durable_seq()
    }

    fn headroom(&self) -> Headroom {
        self.journal.headroom()
    }

    fn subscribe(&self, sink: Arc<dyn EventSink>) {
        self.journal.subscribe(sink);
    }
}
