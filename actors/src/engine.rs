//! The whole engine behind one handle: what the edge calls.

mod account_map;
mod acting;
mod agent_wallet;
mod api_keys;
mod balance;
mod banking;
mod card_withdrawals;
pub mod customers;
mod departures;
mod families;
pub mod figures;
mod forgetting;
mod giving;
mod holder;
mod incoming;
mod lines;
mod listening;
mod mailroom;
mod once;
mod operating;
mod owner;
mod parts;
mod paying;
mod payouts;
mod permits;
mod prechecking;
mod program;
mod reading;
mod reconciling;
mod refunding;
mod requiring;
mod resolving;
mod secret;
mod stuck;
mod suspending;
mod turn;
pub mod webhooks;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use purser_storage::planted::{self, Bug};
use purser_storage::{Batch, CommitError, Store, StoreError, codec};
use ractor::ActorCell;
use tokio::sync::{Semaphore, oneshot};

use self::account_map::AccountMap;
use self::agent_wallet::spoken;
use self::departures::Departures;
use self::families::Families;
use self::incoming::Arrivals;
use self::secret::claim_secret;
use crate::kernel::delivery::{Deliveries, DeliveryGround, Tries};
use crate::kernel::family::{Ground, StartEffects};
use crate::kernel::{Effect, root, table, timer};
use crate::port::{BoxFuture, Clock, Entropy, Lists};

pub use departures::{Booking, Early, Held, NotBooked, NotPromised, Promise, Restored, Unexplained, lost_times};
pub use families::event_types;
pub use giving::NotApproved;
pub use holder::{Collision, Denied, TooMuch, Waits};
pub use incoming::{Lost, NotRuled, Rule};
pub use lines::{LineFigures, NotSold};
pub use once::{Once, Turn};
pub use operating::{Place, Queued};
pub use parts::{Parts, Ports, Settings};
pub use paying::{Paid, PayError, PayRequest};
pub use payouts::PayoutSettings;
pub use permits::{Overloaded, Permit};
pub use program::AnyWithdrawal;
pub use reconciling::{EndedWalk, Open, Pace, Reconciler, Reconciliation, Reconciling, Walk};
pub use refunding::{NotRefunded, RefundRequest};
pub use resolving::{NotResolved, Outcome, Resolution};
pub use stuck::{Doubt, Evidence, Late, Says, Stuck};
pub use suspending::Confirmed;

/// Tries before giving up; each is a lost race, or a batch behind one that was refused.
const RACES: usize = 8;

/// The engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A stored fact is damaged.
    #[error("stored {0} is damaged: {1}")]
    Damaged(&'static str, codec::DecodeError),
    /// The store refused the first commit.
    #[error("the store refused a commit: {0}")]
    Commit(CommitError),
    /// The actor runtime is stopping.
    #[error("actors cannot be started: {0}")]
    Actors(String),
}

/// Handle on the running engine.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ports: Ports,
    entropy: Arc<dyn Entropy>,
    settings: Settings,
    families: Families,
    secret: [u8; 32],
    /// The addresses of managed wallets.
    account_map: AccountMap,
    permits: Arc<Semaphore>,
    payers: dashmap::DashMap<u128, usize>,
    turns: turn::Turns,
    running: once::Running,
    refused: figures::Refused,
    tries: Arc<Tries>,
    deliveries: Arc<Deliveries>,
    /// Rung when the rails are said to have something to tell.
    rails_told: Arc<tokio::sync::Notify>,
    issuer_told: Arc<tokio::sync::Notify>,
    prepaid_told: Arc<tokio::sync::Notify>,
    bank_told: Arc<tokio::sync::Notify>,
    /// One at a time: what an operator changes without an entity.
    operating: tokio::sync::Mutex<()>,
    /// Events on their way to endpoints.
    posting: Arc<webhooks::PostOffice>,
    /// What is sold now.
    lines: Arc<lines::Lines>,
    /// The gate that money leaves by.
    departures: Arc<Departures>,
    /// What a restore has lost.
    lost: Option<Lost>,
    /// What came in.
    arrivals: Arc<Arrivals>,
    /// What of before a restore is not good until somebody says so.
    suspended: suspending::Suspended,
    /// Whose lists the books are held against.
    lists: Lists,
    /// What reconciliation counts.
    watching: Arc<reconciling::Watching>,
    /// Whether every supervisor lives.
    sound: Arc<AtomicBool>,
    root: ActorCell,
}

impl Engine {
    /// Starts supervisors and takes up every effect that was not done when the last process ended.
    ///
    /// # Errors
    /// When storage fails or actors cannot be started.
    pub fn start(parts: Parts) -> BoxFuture<'static, Result<Self, StartError>> {
        // Boxed, so that the actors are compiled here and not in every program that starts an engine: the body of an
        // async function is generated where it is polled.
        Box::pin(Self::open(parts))
    }

    async fn open(parts: Parts) -> Result<Self, StartError> {
        let Parts {
            store,
            clock,
            entropy,
            ports,
            lost,
            restored,
            reconciling,
            settings,
        } = parts;
        let actors = |e: ractor::SpawnErr| StartError::Actors(e.to_string());
        let secret = claim_secret(&store, &entropy).await?;
        let sound = Arc::new(AtomicBool::new(true));
        let root = root::start(sound.clone()).await.map_err(actors)?;
        let deliveries = Arc::new(Deliveries::default());
        let effects: Arc<dyn StartEffects> = deliveries.clone();
        let ground = Ground {
            store: store.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            effects,
            runtime: tokio::runtime::Handle::current(),
            limits: settings.limits,
        };
        let account_map = AccountMap::load(&*store, restored.map(|_| &*ports.custody)).await?;
        let settlement = ports.settlement.clone();
        let lists = reconciling.as_ref().map(|with| with.lists.clone()).unwrap_or_default();
        let departures = Departures::new(restored, store.clone(), settlement, (clock.clone(), lists.clone()));
        let inner = Inner {
            families: Families::start(&ground, &root).await.map_err(actors)?,
            store: store.clone(),
            clock: clock.clone(),
            ports,
            entropy: entropy.clone(),
            settings,
            secret,
            account_map,
            permits: Arc::new(Semaphore::new(settings.in_flight_max)),
            payers: dashmap::DashMap::new(),
            turns: turn::Turns::default(),
            running: once::Running::default(),
            refused: figures::Refused::default(),
            rails_told: Arc::default(),
            issuer_told: Arc::default(),
            prepaid_told: Arc::default(),
            bank_told: Arc::default(),
            tries: Arc::default(),
            deliveries: deliveries.clone(),
            operating: tokio::sync::Mutex::default(),
            posting: webhooks::PostOffice::new(&settings.webhooks, &entropy),
            lines: Arc::new(lines::Lines::new(settings.lines, settings.not_offered)),
            lists,
            departures: Arc::new(departures),
            lost,
            arrivals: Arrivals::of(&*store).await?,
            suspended: suspending::Suspended::load(&*store).await?,
            watching: Arc::default(),
            sound,
            root: root.clone(),
        };
        let worker = Arc::new(inner.worker());
        deliveries
            .open(Families::KINDS, inner.delivery_ground(), worker, root)
            .await
            .map_err(actors)?;
        let engine = Self(Arc::new(inner));
        engine.live(deliveries, reconciling).await?;
        Ok(engine)
    }

    /// What was not done is taken up, and what goes on for as long as the engine lives begins.
    async fn live(&self, deliveries: Arc<Deliveries>, reconciling: Option<Reconciling>) -> Result<(), StartError> {
        self.0
            .lines
            .remember(&self.0.families.lines, self.0.clock.now())
            .await?;
        self.0.departures.find_unfinal().await?;
        self.watch_departures().await;
        self.take_up(&*deliveries).await?;
        self.keep_house();
        self.keep_time(deliveries);
        listening::listen::<payouts::Rails>(self);
        listening::listen::<program::Cards>(self);
        listening::listen::<program::Prepaid>(self);
        listening::listen::<banking::Deposits>(self);
        mailroom::open(self);
        let Some(reconciling) = reconciling else { return Ok(()) };
        let actors = |e: ractor::SpawnErr| StartError::Actors(e.to_string());
        incoming::watch(self, &reconciling).await.map_err(actors)?;
        reconciling::watch(self, reconciling).await.map_err(actors)
    }

    /// Starts every effect that is not done; stuck ones wait for an operator. All are read before the first is started:
    /// a page read later would show what the first ones bring about, and start it twice.
    async fn take_up(&self, deliveries: &dyn StartEffects) -> Result<(), StartError> {
        const PAGE: usize = 1_000;
        let mut after = None;
        let mut open = Vec::new();
        loop {
            let page = self.0.store.scan(&[table::EFFECT], after.as_deref(), PAGE).await?;
            for (_, row) in &page {
                let effect: Effect = codec::decode(&row.value).map_err(|e| StartError::Damaged("effect", e))?;
                if let Some(leaves) = effect.work.leaves() {
                    self.note_promise(leaves).await;
                }
                let passed_over = planted::is(Bug::RetriesForgotten) && effect.attempts > 0;
                if !effect.stuck && !passed_over {
                    open.push(effect);
                }
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        if planted::is(Bug::EffectsForgotten) {
            open.clear();
        }
        open.into_iter().for_each(|effect| deliveries.start(effect));
        Ok(())
    }

    /// Sends idle entities to rest and forgets expired nonces and login codes, for as long as the engine lives.
    fn keep_house(&self) {
        let inner = Arc::downgrade(&self.0);
        let every = Duration::from_millis(self.0.settings.sweep_every_ms.max(1));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(inner) = inner.upgrade() else { return };
                inner.families.sweep();
                if let Err(error) = inner.forget_expired().await {
                    tracing::error!(%error, "expired nonces and codes could not be forgotten");
                }
            }
        });
    }

    /// Rings timers, for as long as the engine lives.
    fn keep_time(&self, deliveries: Arc<dyn StartEffects>) {
        let inner = Arc::downgrade(&self.0);
        let every = Duration::from_millis(self.0.settings.timers_every_ms.max(1));
        tokio::spawn(async move {
            loop {
                let Some(inner) = inner.upgrade() else { return };
                if let Err(error) = timer::ring(&inner.store, &deliveries, inner.clock.now()).await {
                    tracing::error!(%error, "timers that are due could not be read");
                }
                drop(inner);
                tokio::time::sleep(every).await;
            }
        });
    }

    /// Families with a supervisor of entities and one of deliveries each.
    pub const FAMILIES: usize = Families::KINDS.len();

    /// Whether every supervisor lives. If not, what was claimed waits for the next start, and nothing new should come.
    pub fn is_sound(&self) -> bool {
        self.0.sound.load(Ordering::Acquire)
    }

    /// Stops every actor. What is durable stays, what is not done is taken up at the next start.
    pub fn stop(&self) {
        // First, so that whoever loses its actor now does not wait for another.
        self.0.sound.store(false, Ordering::Release);
        self.0.root.stop(Some("the service stops".into()));
    }
}

impl Inner {
    /// Who does the effects' work.
    fn worker(&self) -> work::Desk {
        work::Desk {
            families: self.families.clone(),
            store: self.store.clone(),
            ports: self.ports.clone(),
            clock: self.clock.clone(),
            posting: self.posting.clone(),
            lines: self.lines.clone(),
            tries: self.tries.clone(),
            settings: self.settings,
            secret: self.secret,
            departures: self.departures.clone(),
            account_map: self.account_map.clone(),
            lists: self.lists.clone(),
            lost: self.lost,
            arrivals: self.arrivals.clone(),
        }
    }

    fn delivery_ground(&self) -> DeliveryGround {
        DeliveryGround {
            store: self.store.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            retry: self.settings.retry,
            tries: self.tries.clone(),
        }
    }
}

/// Commits a batch that no entity decides, and waits for it.
async fn commit(store: &dyn Store, batch: Batch) -> Result<(), CommitError> {
    let (done, committed) = oneshot::channel();
    store.commit(batch, Box::new(move |result| drop(done.send(result))));
    committed.await.unwrap_or(Err(CommitError::Stopped)).map(drop)
}
