//! The queues that wait for operators, each with its size, its oldest item and a version that changes with its content.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher as _;
use std::sync::Arc;
use std::time::Duration;

use purser_actors::answer::rfc3339;
use purser_actors::engine::Engine;
use purser_actors::entity::line::State;
use purser_actors::id::{ApprovalId, DepositId, DiscrepancyId, RefundId};
use purser_actors::kernel::{Entity as _, NamedState as _, StateMachine as _};
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use purser_actors::port::Timestamp;
use purser_storage::StoreError;
use serde::Serialize;
use tokio::sync::watch;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::AuthorizedRead;
use crate::announcements::{Announcer, WaitingItem};
use crate::http::error::ApiError;
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
use crate::metrics::Metrics;
use crate::statuses::closed_set;
use crate::system::Stopwatch;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/queues" => get_queues {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listQueues", tag: "System" },
                Permission::Read,
                "List everything that waits for operators, with the number of items and the oldest one",
                of::<QueueList>,
            )
        )
    }
}

/// Items of a queue that are counted.
const COUNTED: usize = 1_000;
/// Shortest and longest time between two looks at the queues.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
const LONGEST_INTERVAL_MS: u64 = 15_000;
/// The share of time that looking may take is one of this many parts.
const SHARE: u32 = 10;
/// Hours in which an international card is promised.
const ORDER_LIMIT_SECONDS: u64 = 24 * 3_600;

/// Everything that waits for operators.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct QueueList {
    /// Every queue, also an empty one.
    queues: Vec<QueueStatus>,
}

closed_set! {
    "Name of a queue that waits for operators." QueueName = {
        QUEUES.to_vec()
    }
}

/// Queue of jobs that fail and are still retried.
const LATE_JOBS: &str = "late_jobs";

/// Names of the queues.
const QUEUES: [&str; 12] = [
    "intl_orders",
    "card_withdrawals",
    "card_actions",
    "dead_letters",
    LATE_JOBS,
    "unknown_payments",
    "approvals",
    "refunds",
    "incoming_transfers",
    "untracked_transfers",
    "discrepancies",
    "lines_not_sold",
];

/// A queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct QueueStatus {
    /// Name of the queue.
    queue: QueueName,
    /// Number of items, counted to 1,000.
    count: u64,
    /// Whether there are more.
    more: bool,
    /// Time since which the oldest item waits (RFC 3339); null for an empty queue, and for lines.
    #[cfg_attr(feature = "documents", schema(required))]
    oldest_at: Option<String>,
    /// Seconds in which an item is due; null without a limit.
    #[cfg_attr(feature = "documents", schema(required))]
    limit_seconds: Option<u64>,
    /// Changes with the items and their leases. A page that shows the queue reads it again then.
    version: String,
}

/// The queues with their items.
pub(super) struct Queues {
    pub(super) list: QueueList,
    /// Up to 1,000 of each queue that is announced.
    pub(super) items: Vec<WaitingItem>,
}

/// Adds up one queue.
struct Tally {
    name: &'static str,
    items: Vec<WaitingItem>,
    count: usize,
    more: bool,
    oldest: Option<Timestamp>,
    hasher: DefaultHasher,
}

impl Tally {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            items: Vec::new(),
            count: 0,
            more: false,
            oldest: None,
            hasher: DefaultHasher::new(),
        }
    }

    /// Adds an item. `version` changes with what the page shows of it.
    fn add(&mut self, item: String, version: impl std::hash::Hash, since: Option<Timestamp>) {
        self.items.push(WaitingItem {
            queue: self.name,
            item,
            since,
        });
        self.count += 1;
        self.oldest = match (self.oldest, since) {
            (Some(oldest), Some(since)) => Some(oldest.min(since)),
            (oldest, since) => oldest.or(since),
        };
        version.hash(&mut self.hasher);
    }

    fn finish_into(mut self, queues: &mut Queues, limit_seconds: Option<u64>) {
        // Late jobs are still retried: no operator has to act yet.
        if self.name != LATE_JOBS {
            self.items.truncate(COUNTED);
            queues.items.append(&mut self.items);
        }
        queues.list.queues.push(self.finish(limit_seconds));
    }

    fn finish(self, limit_seconds: Option<u64>) -> QueueStatus {
        QueueStatus {
            queue: QueueName(self.name),
            count: self.count.min(COUNTED) as u64,
            more: self.more || self.count > COUNTED,
            oldest_at: self.oldest.map(rfc3339),
            limit_seconds,
            version: format!("{:016x}", self.hasher.finish()),
        }
    }
}

async fn get_queues(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<QueueList>, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let queues = read(&admin.engine).await.map_err(|_| ApiError::internal())?;
    Ok(Private(queues.list))
}

/// All queues now. Reads every open job.
///
/// # Errors
/// When storage fails.
pub(super) async fn read(engine: &Engine) -> Result<Queues, StoreError> {
    let mut queues = Queues {
        list: QueueList::default(),
        items: Vec::new(),
    };
    let mut tally = Tally::new("intl_orders");
    let (orders, more) = engine.intl_queue(None, COUNTED).await?;
    tally.more = more;
    for queued in &orders {
        let order = &queued.order;
        let version = (
            queued.id.0,
            order.lease,
            order.state().as_str(),
            order.overdue,
            queued.in_doubt,
        );
        tally.add(queued.id.to_string(), version, Some(order.created_at));
    }
    tally.finish_into(&mut queues, Some(ORDER_LIMIT_SECONDS));
    let mut tally = Tally::new("card_withdrawals");
    let (withdrawals, more) = engine.card_withdrawal_queue(None, COUNTED).await?;
    tally.more = more;
    for (id, withdrawal) in &withdrawals {
        let version = (id.0, withdrawal.lease, withdrawal.state().as_str());
        tally.add(id.to_string(), version, Some(withdrawal.created_at));
    }
    tally.finish_into(&mut queues, None);
    let mut tally = Tally::new("card_actions");
    let (actions, more) = engine.pending_card_actions(None, COUNTED).await?;
    tally.more = more;
    for queued in &actions {
        tally.add(queued.id.to_string(), queued.id.0, queued.order.action_requested_at);
    }
    tally.finish_into(&mut queues, None);
    jobs(engine, &mut queues).await?;
    let mut tally = Tally::new("approvals");
    for ((at, id), _) in engine.approvals(None, COUNTED + 1).await? {
        tally.add(ApprovalId(id).to_string(), id, Some(at));
    }
    tally.finish_into(&mut queues, None);
    let mut tally = Tally::new("refunds");
    for ((at, id), _) in engine.pending_refunds(None, COUNTED + 1).await? {
        tally.add(RefundId(id).to_string(), id, Some(at));
    }
    tally.finish_into(&mut queues, None);
    let mut tally = Tally::new("incoming_transfers");
    for ((at, id), incoming) in engine.incoming_transfers(None, COUNTED + 1).await? {
        tally.add(DepositId(id).to_string(), (id, incoming.status()), Some(at));
    }
    tally.finish_into(&mut queues, None);
    let mut tally = Tally::new("untracked_transfers");
    for transfer in engine.untracked_transfers().await? {
        let transaction = &transfer.transfer.transaction;
        tally.add(transaction.clone(), transaction, Some(transfer.transfer.at));
    }
    for order in engine.lost_orders() {
        tally.add(order.key.to_string(), order.key.0, Some(order.at));
    }
    tally.finish_into(&mut queues, None);
    let mut tally = Tally::new("discrepancies");
    for ((at, id), _) in engine.discrepancies(None, COUNTED + 1).await? {
        tally.add(DiscrepancyId(id).to_string(), id, Some(at));
    }
    tally.finish_into(&mut queues, None);
    let mut tally = Tally::new("lines_not_sold");
    for (status, _) in engine.lines().await? {
        if status.status != State::Open {
            let line = status.line.name();
            tally.add(line.to_owned(), (line, status.status.as_str()), None);
        }
    }
    tally.finish_into(&mut queues, None);
    Ok(queues)
}

/// Dead letters, late jobs, and payments with an unknown outcome.
async fn jobs(engine: &Engine, queues: &mut Queues) -> Result<(), StoreError> {
    let found = engine.dead_letters().await?;
    let mut dead = Tally::new("dead_letters");
    for job in &found.jobs {
        dead.add(job.id.to_string(), (job.id.0, job.attempts), Some(job.created_at));
    }
    let mut late = Tally::new(LATE_JOBS);
    for job in &found.late {
        late.add(job.job.id.to_string(), job.job.id.0, Some(job.job.created_at));
    }
    let mut unknown = Tally::new("unknown_payments");
    for payment in &found.unknown_payments {
        unknown.add(payment.payment.to_string(), payment.payment.0, Some(payment.since));
    }
    for tally in [dead, late, unknown] {
        tally.finish_into(queues, None);
    }
    Ok(())
}

/// Looks at the queues for all streams together, while there is one.
pub struct QueueWatch(Arc<watch::Sender<QueueList>>);

impl QueueWatch {
    /// Starts the task, which ends with the service. With an announcer it looks at the queues without a stream too.
    pub fn start(metrics: Arc<Metrics>, announcer: Option<Arc<Announcer>>) -> Self {
        let sender = Arc::new(watch::Sender::new(QueueList::default()));
        tokio::spawn(keep_watch(metrics, announcer, sender.clone()));
        Self(sender)
    }

    /// Changes from now on. The current state has to be read once.
    pub(super) fn subscribe(&self) -> watch::Receiver<QueueList> {
        self.0.subscribe()
    }
}

async fn keep_watch(metrics: Arc<Metrics>, announcer: Option<Arc<Announcer>>, sender: Arc<watch::Sender<QueueList>>) {
    // What the queues contain changes with a commit only, except for what expires.
    let (mut seen, mut idle_ms) = (None, 0);
    loop {
        let watch = Stopwatch::start();
        if sender.receiver_count() > 0 || announcer.is_some() {
            let newest = Some(metrics.store.stats().durable_seq);
            if newest != seen || idle_ms >= LONGEST_INTERVAL_MS {
                (seen, idle_ms) = (newest, 0);
                match read(&metrics.engine).await {
                    Ok(Queues { list, items }) => {
                        sender.send_if_modified(|known| {
                            let differs = *known != list;
                            *known = list;
                            differs
                        });
                        if let Some(announcer) = &announcer
                            && let Err(error) = announcer.observe(&items).await
                        {
                            tracing::error!(%error, "what waits for operators could not be announced, and is again");
                            seen = None;
                        }
                    }
                    Err(error) => tracing::error!(%error, "the queues could not be read"),
                }
            }
        } else {
            seen = None;
        }
        let pause = LOOK_INTERVAL.max(Duration::from_micros(watch.micros()) * SHARE);
        idle_ms += u64::try_from(pause.as_millis()).unwrap_or(LONGEST_INTERVAL_MS);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = metrics.hub.stopped() => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: the version depends on the items, and the oldest item is found in any order.
    #[test]
    fn version_changes_with_the_items() {
        let tally = |items: &[(u128, u64)]| {
            let mut tally = Tally::new("refunds");
            for (id, at) in items {
                tally.add(id.to_string(), *id, Some(Timestamp(*at)));
            }
            tally.finish(None)
        };
        let (one, two) = (tally(&[(1, 5)]), tally(&[(1, 5), (2, 3)]));
        assert_eq!(one, tally(&[(1, 5)]));
        assert_ne!(one.version, two.version);
        assert_eq!(two.oldest_at, Some(rfc3339(Timestamp(3))));
        assert_eq!((two.count, two.more), (2, false));
    }
}
