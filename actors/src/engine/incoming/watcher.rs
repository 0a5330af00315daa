//! The actor that reads the chains' lists, and its supervisor, which restarts it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use purser_storage::mutants::{self, Mutant};
use purser_storage::{Store, codec};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::time::Instant;

use super::{IncomingCursor, IncomingTracker, LostHistory, SettlementMatch, cursor_key, match_settlement};
use crate::engine::provider_events::persist_cursor;
use crate::engine::reconciler::ReconcilerSettings;
use crate::engine::{Engine, ReconcilerDeps};
use crate::entity::incoming::{Command, Incoming, Status, Transfer};
use crate::entity::payment::{self, Payment};
use crate::id::{DepositId, Network};
use crate::kernel::{AskError, EntityRegistry, table};
use crate::port::{ChainMovement, Clock, Finality, TreasuryList, claim_key};

/// Milliseconds before a failed watcher is replaced.
const RESTART_MS: u64 = 1_000;
/// Most undecided transfers, so that dust cannot fill the store. At the limit the list is not read until some are
/// decided.
const MAX_OPEN: usize = 10_000;
/// Waiting transfers that are checked again in one step.
const RECHECK_PER_STEP: usize = 100;

#[derive(Clone)]
struct WatcherDeps {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    incoming: EntityRegistry<Incoming>,
    payments: EntityRegistry<Payment>,
    chains: Arc<dyn TreasuryList>,
    settings: ReconcilerSettings,
    secret: [u8; 32],
    lost_history: Option<LostHistory>,
    tracker: Arc<IncomingTracker>,
}

/// Starts the supervisor under the engine's root, and with it the watcher. Does nothing without a list of the chains.
///
/// # Errors
/// When the runtime is shutting down.
pub(in crate::engine) async fn spawn(engine: &Engine, reconciling: &ReconcilerDeps) -> Result<(), SpawnErr> {
    let inner = &engine.0;
    let Some(chains) = reconciling.lists.treasury.clone() else {
        return Ok(());
    };
    let ground = WatcherDeps {
        store: inner.store.clone(),
        clock: inner.clock.clone(),
        incoming: inner.registries.incoming.clone(),
        payments: inner.registries.payments.clone(),
        chains,
        settings: reconciling.settings,
        secret: inner.secret,
        lost_history: inner.lost_history,
        tracker: inner.incoming.clone(),
    };
    let (supervisor, _) = Actor::spawn_linked(None, WatcherSupervisor(ground), (), inner.root.clone()).await?;
    // An engine starts it only once, so it can't be set yet.
    let _ = inner.incoming.supervisor.set(supervisor.get_id());
    Ok(())
}

struct WatcherSupervisor(WatcherDeps);

/// Replaces the watcher that failed.
struct RestartWatcher;

impl WatcherSupervisor {
    fn on_watcher_stopped(&self, myself: &ActorRef<RestartWatcher>, watcher: &ActorCell, error: &str) {
        self.0.tracker.restarts.fetch_add(1, Ordering::Relaxed);
        tracing::error!(actor = %watcher.get_id(), error, "the watch over incoming transfers failed and goes on where it was");
        drop(myself.send_after(Duration::from_millis(RESTART_MS), || RestartWatcher));
    }
}

impl Actor for WatcherSupervisor {
    type Msg = RestartWatcher;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<RestartWatcher>, (): ()) -> Result<(), ActorProcessingErr> {
        drop(myself.cast(RestartWatcher));
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<RestartWatcher>,
        _: RestartWatcher,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        let watcher = IncomingWatcher(self.0.clone());
        if let Err(error) = Actor::spawn_linked(None, watcher, (), myself.get_cell()).await {
            tracing::error!(%error, "the watch over incoming transfers could not begin and is tried again");
            drop(myself.send_after(Duration::from_millis(RESTART_MS), || RestartWatcher));
        }
        Ok(())
    }

    /// Overridden because ractor's default stops the supervisor when a child ends.
    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<RestartWatcher>,
        event: SupervisionEvent,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(watcher, error) => {
                self.on_watcher_stopped(&myself, &watcher, &error.to_string())
            }
            SupervisionEvent::ActorTerminated(watcher, ..) => {
                self.on_watcher_stopped(&myself, &watcher, "it was killed")
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

struct IncomingWatcher(WatcherDeps);

struct Step;

#[derive(Default)]
struct WatcherState {
    /// The row of the waiting transfer that was last checked again.
    again: Option<Box<[u8]>>,
    in_progress: InProgress,
}

/// Transfers that hold a cursor because their payments are being settled, each with the time at which this watcher saw it
/// first. At most one of each chain. Measured without any clock that is set: the sandbox's time can be days ahead of its
/// chains, and after a long stop all transfers are old while their payments are only being settled again.
type InProgress = HashMap<DepositId, Instant>;

impl Actor for IncomingWatcher {
    type Msg = Step;
    type State = WatcherState;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Step>, (): ()) -> Result<Self::State, ActorProcessingErr> {
        drop(myself.cast(Step));
        Ok(WatcherState::default())
    }

    async fn handle(&self, myself: ActorRef<Step>, _: Step, state: &mut Self::State) -> Result<(), ActorProcessingErr> {
        for network in Network::ALL {
            // A chain that does not answer delays no other.
            if let Err(error) = self.read_list(network, &mut state.in_progress).await {
                tracing::warn!(network = network.name(), error, "incoming transfers could not be read");
            }
        }
        self.recheck(&mut state.again).await?;
        drop(myself.send_after(Duration::from_millis(self.0.settings.pause_ms.max(1)), || Step));
        Ok(())
    }
}

/// What to do about a transfer.
enum TransferLookup {
    /// In the ledger, or its payment will put it there.
    Known,
    /// Its payment is being settled, the sender may still claim it, or a reorg may remove it.
    TooYoung,
    /// Missing from the ledger.
    Unknown,
}

fn error_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl IncomingWatcher {
    /// Reads the list after its cursor, up to the first transfer that is too young to be judged.
    async fn read_list(&self, network: Network, in_progress: &mut InProgress) -> Result<(), String> {
        let ground = &self.0;
        let key = cursor_key(network);
        let row = ground.store.read(&key).await.map_err(error_text)?;
        let mut cursor = match row {
            Some(row) => Some(codec::decode::<IncomingCursor>(&row.value).map_err(error_text)?.0),
            None => None,
        };
        let patience = Duration::from_millis(ground.settings.timeout_ms);
        loop {
            let page = ground.chains.movements(network, cursor.as_ref(), ground.settings.page);
            let page = tokio::time::timeout(patience, page).await;
            let page = page.map_err(|_| "no answer in time")?.map_err(error_text)?;
            for moved in page.items.iter().filter(|moved| moved.incoming) {
                if !self.may_advance_past(network, moved, in_progress).await? {
                    return Ok(());
                }
            }
            let Some(next) = page.next else { return Ok(()) };
            persist_cursor(
                &*ground.store,
                key.clone(),
                codec::encode(&IncomingCursor(next.clone())),
            )
            .await?;
            cursor = Some(next);
        }
    }

    /// Whether the cursor may advance past this transfer: it is recorded, at the latest by this call.
    async fn may_advance_past(
        &self,
        network: Network,
        moved: &ChainMovement,
        in_progress: &mut InProgress,
    ) -> Result<bool, String> {
        let claim = claim_key(&moved.counterparty, &moved.fingerprint);
        let payment = payment::id_for_claim(&moved.counterparty, &claim, &self.0.secret);
        let transfer = Transfer::from_movement(network, moved, payment);
        let id = transfer.id();
        let may_advance = match self.lookup(&transfer, in_progress).await? {
            TransferLookup::Known => true,
            TransferLookup::TooYoung => false,
            TransferLookup::Unknown if !self.is_final(network, moved).await? => false,
            TransferLookup::Unknown => self.record_found(transfer).await?,
        };
        if may_advance {
            in_progress.remove(&id);
        }
        Ok(may_advance)
    }

    async fn lookup(&self, transfer: &Transfer, in_progress: &mut InProgress) -> Result<TransferLookup, String> {
        let ground = &self.0;
        let payment = ground
            .payments
            .read_or_skip_corrupt(&transfer.payment)
            .await
            .map_err(error_text)?;
        let settles = payment.map_or(SettlementMatch::Unrelated, |(payment, _)| {
            match_settlement(&payment, transfer)
        });
        if settles == SettlementMatch::Settled {
            return Ok(TransferLookup::Known);
        }
        let known = ground
            .incoming
            .read_or_skip_corrupt(&transfer.id())
            .await
            .map_err(error_text)?;
        if known.is_some() && !mutants::is_enabled(Mutant::DepositKeyedByReadTime) {
            return Ok(TransferLookup::Known);
        }
        // A transfer confirmed before a restore was claimed by then, or in the lost history.
        let of_old = settles == SettlementMatch::Unrelated
            && ground.lost_history.is_some_and(|lost| transfer.at <= lost.restored);
        let age_ms = match settles {
            SettlementMatch::MaySettle => {
                let first_seen = in_progress.entry(transfer.id()).or_insert_with(Instant::now);
                u64::try_from(first_seen.elapsed().as_millis()).unwrap_or(u64::MAX)
            }
            SettlementMatch::Settled | SettlementMatch::Unrelated => ground.clock.now().0.saturating_sub(transfer.at.0),
        };
        match of_old || age_ms >= ground.settings.grace_ms {
            true => Ok(TransferLookup::Unknown),
            false => Ok(TransferLookup::TooYoung),
        }
    }

    /// Whether a reorg can no longer remove it. A transfer that is not final is not recorded, so that no decision about
    /// it is possible and a reorg leaves nothing behind.
    async fn is_final(&self, network: Network, moved: &ChainMovement) -> Result<bool, String> {
        let asked = self.0.chains.movement_finality(network, moved);
        let patience = Duration::from_millis(self.0.settings.timeout_ms);
        let told_it = tokio::time::timeout(patience, asked).await;
        let finality = told_it.map_err(|_| "no answer in time")?.map_err(error_text)?;
        Ok(finality == Finality::Final)
    }

    async fn record_found(&self, transfer: Transfer) -> Result<bool, String> {
        let open = self
            .0
            .store
            .scan(&[table::INCOMING], None, MAX_OPEN)
            .await
            .map_err(error_text)?;
        if open.len() >= MAX_OPEN {
            tracing::error!("too many transfers wait for a decision: no more are taken down until some are decided");
            return Ok(false);
        }
        let id = match mutants::is_enabled(Mutant::DepositKeyedByReadTime) {
            true => DepositId(u128::from(self.0.clock.now().seconds()) ^ transfer.id().0),
            false => transfer.id(),
        };
        let Transfer {
            transaction,
            from,
            amount,
            ..
        } = transfer.clone();
        match self.0.incoming.ask(id, Command::Find(Box::new(transfer))).await {
            Ok(()) => {
                tracing::warn!(%id, transaction, %from, amount = %amount.decimal(), "an incoming transfer is not in the ledger");
                Ok(true)
            }
            Err(AskError::Quarantined) => {
                tracing::error!(%id, "an incoming transfer cannot be loaded: its decision is not stored");
                Ok(true)
            }
            Err(refusal) => Err(format!("{id} could not be stored: {refusal:?}")),
        }
    }

    /// Checks waiting transfers again, since their payments may have claimed them.
    async fn recheck(&self, again: &mut Option<Box<[u8]>>) -> Result<(), String> {
        let rows = self
            .0
            .store
            .scan(&[table::INCOMING], again.as_deref(), RECHECK_PER_STEP);
        let rows = rows.await.map_err(error_text)?;
        *again = (rows.len() == RECHECK_PER_STEP)
            .then(|| rows.last().map(|(key, _)| key.clone()))
            .flatten();
        for (_, id) in rows.iter().filter_map(|(key, _)| table::created_and_id(key)) {
            let id = DepositId(id);
            let read = self.0.incoming.read_or_skip_corrupt(&id).await.map_err(error_text)?;
            let Some((incoming, _)) = read.filter(|(incoming, _)| incoming.status == Status::Waiting) else {
                continue;
            };
            let payment = self.0.payments.read_or_skip_corrupt(&incoming.transfer.payment).await;
            let payment = payment.map_err(error_text)?;
            let settled = payment
                .filter(|(payment, _)| match_settlement(payment, &incoming.transfer) == SettlementMatch::Settled);
            let Some((payment, _)) = settled else { continue };
            match self.0.incoming.ask(id, Command::Claim(payment.account())).await {
                // An operator was first, or the next check repeats it.
                Ok(()) | Err(AskError::Conflict | AskError::Rejected(_)) => {}
                Err(refusal) => return Err(format!("{id} could not be claimed for its payment: {refusal:?}")),
            }
        }
        Ok(())
    }
}
