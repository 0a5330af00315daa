//! The engine behind one handle: the API for the HTTP layer and the CLI.

mod access;
mod account_map;
mod agent_wallet;
mod api_keys;
mod approvals;
mod balance;
mod balance_spends;
mod banking;
mod builder;
mod card_withdrawals;
mod claim_lock;
mod customer_notes;
pub mod customers;
mod dead_letters;
mod expiry;
mod idempotency;
mod incoming;
mod job_resolution;
mod jobs;
mod key_limits;
mod leases;
mod lines;
mod operator_actions;
mod operator_sessions;
mod operators;
mod owner;
mod passkeys;
mod payments;
mod payouts;
mod permits;
mod precheck;
mod preconditions;
mod provider_events;
mod reads;
mod reconciler;
mod recoveries;
mod refunds;
mod registries;
mod reloadable_cards;
mod secret;
mod spend_approvals;
mod spending;
pub mod stats;
mod suspension;
mod untracked_transfers;
mod webhook_dispatcher;
pub mod webhooks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use purser_storage::mutants::{self, Mutant};
use purser_storage::{Batch, CommitError, Store, StoreError, codec};
use ractor::ActorCell;
use tokio::sync::{Semaphore, oneshot};

use self::account_map::AccountMap;
use self::agent_wallet::read_http_record;
use self::incoming::IncomingTracker;
use self::registries::Registries;
use self::secret::claim_secret;
use self::untracked_transfers::OutgoingTransferGuard;
use crate::id::Wallet;
use crate::kernel::outbox::{AttemptCounters, Outbox, OutboxDeps};
use crate::kernel::registry::{EntityDeps, JobStarter};
use crate::kernel::{OutboxJob, root_supervisor, table, timer};
use crate::port::{BoxFuture, Clock, Entropy, ReconciliationLists};

pub use crate::port::Ports;
pub use access::{ApprovalPending, ExceedsOperatorLimit, OperationError, UserIdCollision};
pub use approvals::ApprovalError;
pub use balance::StatementSums;
pub use balance_spends::SpendDenied;
pub use builder::{EngineDeps, EngineSettings};
pub use dead_letters::{DeadLetters, JobSummary, LateJob, ProviderReport, UnknownPayment};
pub use idempotency::{KeyGuard, KeyState};
pub use incoming::{IncomingDecision, IncomingDecisionError, LostHistory};
pub use job_resolution::{JobOutcome, JobResolution, ResolveError};
pub use jobs::table::{JOB_NAMES, job_types};
pub use lines::{LineStatus, LineUnavailable};
pub use operator_sessions::OperatorPasskeyUse;
pub use operators::{AuditProof, LastAdministrator, ListPosition, QueuedOrder};
pub use passkeys::{Confirmation, LINK_CONFIRMED_MS, NewPasskey, PasskeyUse};
pub use payments::{ClaimError, PaymentRequest, PaymentResult};
pub use payouts::PayoutSettings;
pub use permits::{AdmissionPermit, OverloadError};
pub use reads::ListStart;
pub use reconciler::{
    CompletedRun, OpenDiscrepancy, Reconciler, ReconcilerDeps, ReconcilerSettings, ReconciliationCursor,
    ReconciliationStatus,
};
pub use refunds::{RefundError, RefundParams};
pub use registries::{charts, event_types};
pub use reloadable_cards::AnyWithdrawal;
pub use spend_approvals::{AgentSpend, SpendNotApproved};
pub use spending::Spent;
pub use suspension::SuspendedItem;
pub use untracked_transfers::{
    Attribution, AttributionError, AttributionWait, FreezeEffect, GateHold, ReservationError, RestoreWindow,
    TreasuryReservation, UntrackedTransfer, lost_windows,
};

/// Attempts before giving up. Each failure is a lost race, or a batch behind one that was rejected.
const MAX_CONFLICT_RETRIES: usize = 8;

/// Why the engine can't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Storage could not be opened or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A stored META value is corrupt.
    #[error("stored {0} is damaged: {1}")]
    Corrupt(&'static str, codec::DecodeError),
    /// The store rejected the first commit.
    #[error("the store refused a commit: {0}")]
    Commit(CommitError),
    /// The actor runtime is stopping.
    #[error("actors cannot be started: {0}")]
    Actors(String),
}

/// Handle to the running engine.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ports: Ports,
    entropy: Arc<dyn Entropy>,
    settings: EngineSettings,
    registries: Registries,
    secret: [u8; 32],
    /// Addresses of agent wallets and their owners.
    account_map: AccountMap,
    permits: Arc<Semaphore>,
    payers: dashmap::DashMap<Wallet, usize>,
    claim_locks: claim_lock::ClaimLocks,
    /// Spends of one API key take turns.
    key_turns: claim_lock::ClaimLocks,
    keys_in_progress: idempotency::KeysInProgress,
    overloads: stats::OverloadCounters,
    attempts: Arc<AttemptCounters>,
    outbox: Arc<Outbox>,
    /// Notified when the payout rails may have new events.
    payout_events_ready: Arc<tokio::sync::Notify>,
    card_events_ready: Arc<tokio::sync::Notify>,
    prepaid_events_ready: Arc<tokio::sync::Notify>,
    bank_events_ready: Arc<tokio::sync::Notify>,
    /// Serialises changes by operators that no entity decides.
    operator_lock: tokio::sync::Mutex<()>,
    /// Webhook fan-out and delivery.
    webhooks: Arc<webhooks::WebhookService>,
    /// Breakers of the product lines.
    lines: Arc<lines::LineBreakers>,
    /// Decides whether outgoing transfers are allowed.
    outgoing_guard: Arc<OutgoingTransferGuard>,
    /// The history that a restore lost, if any.
    lost_history: Option<LostHistory>,
    /// State of incoming transfers.
    incoming: Arc<IncomingTracker>,
    /// Credentials from before a restore are suspended until an operator confirms them.
    suspended: suspension::SuspensionTime,
    /// External lists that reconciliation compares with.
    lists: ReconciliationLists,
    /// Statistics of reconciliation.
    reconciliation_stats: Arc<reconciler::ReconciliationStats>,
    /// False once a supervisor has died.
    healthy: Arc<AtomicBool>,
    root: ActorCell,
}

impl Engine {
    /// Starts the supervisors and resumes every job that was open when the last process ended.
    ///
    /// # Errors
    /// When storage fails or actors can't be started.
    pub fn start(parts: EngineDeps) -> BoxFuture<'static, Result<Self, StartError>> {
        // Boxed, so that the actors are compiled in this crate and not in every program that starts an engine. The body
        // of an async function is generated where it is polled.
        Box::pin(Self::open(parts))
    }

    async fn open(parts: EngineDeps) -> Result<Self, StartError> {
        let EngineDeps {
            store,
            clock,
            entropy,
            ports,
            lost_history: lost,
            restored,
            reconciler: reconciling,
            settings,
        } = parts;
        let actors = |e: ractor::SpawnErr| StartError::Actors(e.to_string());
        let secret = claim_secret(&store, &entropy).await?;
        let healthy = Arc::new(AtomicBool::new(true));
        let root = root_supervisor::start(healthy.clone()).await.map_err(actors)?;
        let outbox = Arc::new(Outbox::default());
        let job_starter: Arc<dyn JobStarter> = outbox.clone();
        let deps = EntityDeps {
            store: store.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            job_starter,
            runtime: tokio::runtime::Handle::current(),
            limits: settings.limits,
        };
        let account_map = AccountMap::load(&*store, restored.map(|_| &*ports.wallet_signer)).await?;
        let settlement = ports.settlement.clone();
        let lists = reconciling.as_ref().map(|with| with.lists.clone()).unwrap_or_default();
        let outgoing_guard =
            OutgoingTransferGuard::new(restored, store.clone(), settlement, (clock.clone(), lists.clone()));
        let inner = Inner {
            registries: Registries::start(&deps, &root).await.map_err(actors)?,
            store: store.clone(),
            clock: clock.clone(),
            ports,
            entropy: entropy.clone(),
            settings,
            secret,
            account_map,
            permits: Arc::new(Semaphore::new(settings.max_in_flight)),
            payers: dashmap::DashMap::new(),
            claim_locks: claim_lock::ClaimLocks::default(),
            key_turns: claim_lock::ClaimLocks::default(),
            keys_in_progress: idempotency::KeysInProgress::default(),
            overloads: stats::OverloadCounters::default(),
            payout_events_ready: Arc::default(),
            card_events_ready: Arc::default(),
            prepaid_events_ready: Arc::default(),
            bank_events_ready: Arc::default(),
            attempts: Arc::new(AttemptCounters::new(JOB_NAMES.len())),
            outbox: outbox.clone(),
            operator_lock: tokio::sync::Mutex::default(),
            webhooks: webhooks::WebhookService::new(&settings.webhooks, &entropy),
            lines: Arc::new(lines::LineBreakers::new(settings.breaker, settings.not_offered)),
            lists,
            outgoing_guard: Arc::new(outgoing_guard),
            lost_history: lost,
            incoming: IncomingTracker::load(&*store).await?,
            suspended: suspension::SuspensionTime::load(&*store).await?,
            reconciliation_stats: Arc::default(),
            healthy,
            root: root.clone(),
        };
        let worker = Arc::new(inner.job_handlers());
        outbox
            .open(Registries::KINDS, inner.outbox_deps(), worker, root)
            .await
            .map_err(actors)?;
        let engine = Self(Arc::new(inner));
        engine.start_background(outbox, reconciling).await?;
        Ok(engine)
    }

    /// Resumes open jobs and starts the background tasks.
    async fn start_background(
        &self,
        outbox: Arc<Outbox>,
        reconciling: Option<ReconcilerDeps>,
    ) -> Result<(), StartError> {
        self.0.lines.load(&self.0.registries.lines, self.0.clock.now()).await?;
        self.0.outgoing_guard.load_pending_finality().await?;
        self.watch_outgoing_transfers().await;
        self.resume_outbox(&*outbox).await?;
        self.run_housekeeping();
        self.run_timers(outbox);
        provider_events::spawn_poller::<payouts::PayoutEventSource>(self);
        provider_events::spawn_poller::<reloadable_cards::CardEventSource>(self);
        provider_events::spawn_poller::<reloadable_cards::PrepaidEventSource>(self);
        provider_events::spawn_poller::<banking::BankEventSource>(self);
        webhook_dispatcher::spawn(self);
        let Some(reconciling) = reconciling else { return Ok(()) };
        let actors = |e: ractor::SpawnErr| StartError::Actors(e.to_string());
        incoming::spawn(self, &reconciling).await.map_err(actors)?;
        reconciler::spawn(self, reconciling).await.map_err(actors)
    }

    /// Starts every open job; dead letters wait for an operator. Reads all rows before it starts the first job. A page
    /// read later would show jobs that the first ones create, and start them twice.
    async fn resume_outbox(&self, job_starter: &dyn JobStarter) -> Result<(), StartError> {
        const PAGE: usize = 1_000;
        let mut after = None;
        let mut open = Vec::new();
        loop {
            let page = self.0.store.scan(&[table::OUTBOX], after.as_deref(), PAGE).await?;
            for (_, row) in &page {
                let outbox_job: OutboxJob = codec::decode(&row.value).map_err(|e| StartError::Corrupt("job", e))?;
                if let Some(leaves) = outbox_job.job.outgoing_purpose() {
                    self.restore_reservation(leaves).await;
                }
                let passed_over = mutants::is_enabled(Mutant::RetriedJobsLost) && outbox_job.attempts > 0;
                if !outbox_job.dead_lettered && !passed_over {
                    open.push(outbox_job);
                }
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        if mutants::is_enabled(Mutant::OutboxJobsLost) {
            open.clear();
        }
        open.into_iter().for_each(|outbox_job| job_starter.start(outbox_job));
        Ok(())
    }

    /// Background task: passivates idle entities and purges expired nonces and login codes.
    fn run_housekeeping(&self) {
        let inner = Arc::downgrade(&self.0);
        let every = Duration::from_millis(self.0.settings.sweep_every_ms.max(1));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(inner) = inner.upgrade() else { return };
                inner.registries.sweep();
                if let Err(error) = inner.purge_expired().await {
                    tracing::error!(%error, "expired nonces and codes could not be forgotten");
                }
            }
        });
    }

    /// Background task: starts scheduled jobs when they are due.
    fn run_timers(&self, job_starter: Arc<dyn JobStarter>) {
        let inner = Arc::downgrade(&self.0);
        let every = Duration::from_millis(self.0.settings.timers_every_ms.max(1));
        tokio::spawn(async move {
            loop {
                let Some(inner) = inner.upgrade() else { return };
                if let Err(error) = timer::fire_due(&inner.store, &job_starter, inner.clock.now()).await {
                    tracing::error!(%error, "timers that are due could not be read");
                }
                drop(inner);
                tokio::time::sleep(every).await;
            }
        });
    }

    /// Number of registries, each with a supervisor of entities and one of jobs.
    pub const REGISTRY_COUNT: usize = Registries::KINDS.len();

    /// Whether every supervisor is alive. If not, claimed payments wait for the next start, and callers should accept
    /// no new ones.
    pub fn is_healthy(&self) -> bool {
        self.0.healthy.load(Ordering::Acquire)
    }

    /// Stops every actor. Durable state stays; open jobs resume at the next start.
    pub fn stop(&self) {
        // First, so that a task that loses its actor now does not wait for another.
        self.0.healthy.store(false, Ordering::Release);
        self.0.root.stop(Some("the service stops".into()));
    }
}

impl Inner {
    fn job_handlers(&self) -> jobs::JobHandlers {
        jobs::JobHandlers {
            registries: self.registries.clone(),
            store: self.store.clone(),
            ports: self.ports.clone(),
            clock: self.clock.clone(),
            webhooks: self.webhooks.clone(),
            lines: self.lines.clone(),
            attempts: self.attempts.clone(),
            key_turns: self.key_turns.clone(),
            settings: self.settings,
            secret: self.secret,
            outgoing_guard: self.outgoing_guard.clone(),
            account_map: self.account_map.clone(),
            lists: self.lists.clone(),
            lost_history: self.lost_history,
            incoming: self.incoming.clone(),
        }
    }

    fn outbox_deps(&self) -> OutboxDeps {
        OutboxDeps {
            store: self.store.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            retry: self.settings.retry,
            attempts: self.attempts.clone(),
        }
    }
}

/// Commits a batch that no entity decides, and waits for it.
async fn commit(store: &dyn Store, batch: Batch) -> Result<(), CommitError> {
    let (done, committed) = oneshot::channel();
    store.commit(batch, Box::new(move |result| drop(done.send(result))));
    committed.await.unwrap_or(Err(CommitError::Stopped)).map(drop)
}
