//! After a restore: transfers that left the treasury, and orders placed for a balance, in the lost history. Until each
//! has a row, nothing new leaves, because the balances do not yet reflect what has left.

mod attribution;
mod candidates;
pub(super) mod gate;
mod lost_windows;
mod order_attribution;
mod orders;
pub(super) mod recorded;
mod rows;
pub(super) mod top_ups;
mod treasury_reservations;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use purser_storage::{Batch, Store, StoreError, Write};

use self::orders::LostOrders;
use self::recorded::RecordedTransfers;
use self::rows::{for_each, put_row};
use self::treasury_reservations::TreasuryReservations;
use super::Engine;
use crate::entity::withdrawal::{self, Withdrawal};
use crate::kernel::table;
use crate::port::{Clock, OutgoingTransfer, ReconciliationLists, Settlement, Timestamp};

pub use attribution::{Attribution, AttributionError, AttributionWait};
pub use candidates::UntrackedTransfer;
pub use gate::{FreezeEffect, GateHold};
pub use lost_windows::lost_windows;
pub use treasury_reservations::{ReservationError, TreasuryReservation};

/// Incoming transfers read in one page.
const PAGE: usize = 1_000;
/// META key: when everything was tracked.
const TRACKED_KEY: &str = "transfers-tracked";
/// META key: since when something is untracked, until everything is tracked. A backup of a restored store may be
/// restored too.
const SINCE_KEY: &str = "transfers-tracked-since";
/// META key: when the engine first started on a restored store, and after which restore.
const FIRST_START_KEY: &str = "transfers-first-start";

/// The window of a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreWindow {
    /// Every outgoing transfer before this has a row.
    pub since: Timestamp,
    /// Nothing that the lost history signed can settle after this.
    pub until: Timestamp,
    /// When the store was restored, by the machine's clock. Identifies the restore.
    pub at: Timestamp,
}

/// Decides whether outgoing transfers are allowed.
pub(super) struct OutgoingTransferGuard {
    restored: Option<RestoreWindow>,
    store: Arc<dyn Store>,
    settlement: Arc<dyn Settlement>,
    clock: Arc<dyn Clock>,
    /// Everything is tracked, or there was no restore.
    all_tracked: AtomicBool,
    /// When the engine first started on this store, in milliseconds. Until it is known, everything may have been
    /// started earlier.
    first_started_at: AtomicU64,
    /// All transfers up to this time, in milliseconds, were compared with the rows; 0 before the first comparison.
    compared_until: AtomicU64,
    untracked: Mutex<Vec<OutgoingTransfer>>,
    pub(super) lost_orders: LostOrders,
    reservations: Mutex<TreasuryReservations>,
    /// Whether there may be payments that are not final. If false, no row is read for the check.
    any_pending_finality: AtomicBool,
}

impl OutgoingTransferGuard {
    pub(super) fn new(
        restored: Option<RestoreWindow>,
        store: Arc<dyn Store>,
        settlement: Arc<dyn Settlement>,
        (clock, lists): (Arc<dyn Clock>, ReconciliationLists),
    ) -> Self {
        Self {
            restored,
            store,
            settlement,
            clock,
            all_tracked: AtomicBool::new(restored.is_none()),
            first_started_at: AtomicU64::new(u64::MAX),
            compared_until: AtomicU64::new(0),
            untracked: Mutex::default(),
            lost_orders: LostOrders::new(lists),
            reservations: Mutex::default(),
            any_pending_finality: AtomicBool::new(false),
        }
    }

    /// Whether a transfer that was not signed before must wait. A transfer with exactly this signature on chain is only
    /// looked up.
    pub(super) fn must_wait(&self, fingerprint: Option<[u8; 32]>) -> bool {
        !self.all_tracked.load(Ordering::Acquire)
            && !self
                .untracked
                .lock()
                .iter()
                .any(|transfer| Some(transfer.fingerprint) == fingerprint)
    }

    /// Untracked transfers, as last read.
    pub(super) fn untracked(&self) -> Vec<OutgoingTransfer> {
        self.untracked.lock().clone()
    }

    /// Whether all transfers up to then are known: in the ledger, or listed as untracked.
    pub(super) fn is_known_by(&self, at: Timestamp) -> bool {
        self.all_tracked.load(Ordering::Acquire) || self.compared_until.load(Ordering::Acquire) >= at.0.max(1)
    }

    /// Whether everything that the lost history can have sent is known. Its signed transfers were then compared with
    /// the rows after they could no longer settle.
    pub(super) fn is_all_known(&self) -> bool {
        let over = |restored: RestoreWindow| self.compared_until.load(Ordering::Acquire) > restored.until.0;
        self.all_tracked.load(Ordering::Acquire) || self.restored.is_none_or(over)
    }

    /// Whether nothing that a lost history signed can settle any more.
    fn is_restore_window_over(&self) -> bool {
        let over = |restored: RestoreWindow| self.clock.now() > restored.until;
        self.all_tracked.load(Ordering::Acquire) || self.restored.is_none_or(over)
    }

    /// Whether a lost history may have sent what was started at this time and not signed.
    pub(super) fn may_have_been_sent(&self, begun: Timestamp) -> bool {
        self.restored.is_some() && begun.0 <= self.first_started_at.load(Ordering::Acquire)
    }

    /// For something started at this time and not signed: since when a lost history may have sent it. `None` if it was
    /// started after the restore.
    pub(super) async fn may_have_been_sent_since(&self, begun: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let Some(restored) = self.restored.filter(|_| self.may_have_been_sent(begun)) else {
            return Ok(None);
        };
        let earlier = self.earlier_restore().await?;
        Ok(Some(
            earlier.map_or(restored.since, |earlier| earlier.min(restored.since)),
        ))
    }

    /// Whether, in a lost history, operators may have done what was started at this time and last seen undone at the
    /// other.
    pub(super) fn may_have_been_done_manually(&self, begun: Timestamp, undone: Option<Timestamp>) -> bool {
        let since = self.first_started_at.load(Ordering::Acquire);
        let could = self.restored.is_some_and(|restored| begun <= restored.until);
        could && undone.is_none_or(|at| at.0 <= since)
    }

    /// Records when the engine first started after this restore. What was started by then, the lost history may have
    /// continued.
    async fn record_first_start(&self) -> Result<(), String> {
        let Some(restored) = self.restored else { return Ok(()) };
        let key = table::meta(FIRST_START_KEY);
        let row = self.store.read(&key).await.map_err(|e| e.to_string())?;
        let known = row.and_then(|row| {
            let (at, begun) = (row.value.first_chunk::<8>()?, row.value.last_chunk::<8>()?);
            (u64::from_be_bytes(*at) == restored.at.0).then_some(u64::from_be_bytes(*begun))
        });
        let begun = match known {
            Some(begun) => begun,
            None => {
                let now = self.clock.now().0;
                let value = [restored.at.0.to_be_bytes(), now.to_be_bytes()].concat();
                let lost = lost_windows::append_window(&*self.store, restored).await;
                let lost = lost.map_err(|e| e.to_string())?;
                self.write(vec![put_row(key, value), lost]).await?;
                now
            }
        };
        self.first_started_at.store(begun, Ordering::Release);
        Ok(())
    }

    /// Since when an earlier restore left something untracked.
    async fn earlier_restore(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = self.store.read(&table::meta(SINCE_KEY)).await?;
        Ok(row.and_then(|row| row.value.first_chunk().map(|at| Timestamp(u64::from_be_bytes(*at)))))
    }

    /// Start of the window, including what an earlier restore left untracked.
    async fn since(&self, restored: Timestamp) -> Result<Timestamp, String> {
        match self.earlier_restore().await.map_err(|e| e.to_string())? {
            Some(earlier) if earlier <= restored => Ok(earlier),
            _ => {
                let row = put_row(table::meta(SINCE_KEY), restored.0.to_be_bytes().to_vec());
                self.write(vec![row]).await?;
                Ok(restored)
            }
        }
    }

    async fn write(&self, writes: Vec<Write>) -> Result<(), String> {
        let batch = Batch {
            writes,
            ..Batch::default()
        };
        super::commit(&*self.store, batch).await.map_err(|e| e.to_string())
    }

    /// Whether an earlier process has recorded that everything is tracked.
    async fn is_tracked(&self, restored: RestoreWindow) -> Result<bool, String> {
        let row = self.store.read(&table::meta(TRACKED_KEY)).await;
        let row = row.map_err(|e| e.to_string())?;
        Ok(row.is_some_and(|row| *row.value == restored.at.0.to_be_bytes()))
    }

    /// Reads the lists of the payout rails and the bank. Nothing else waits for them.
    async fn read_orders(&self, patience: Duration) -> Result<(), String> {
        let Some(restored) = self.restored else { return Ok(()) };
        if self.is_tracked(restored).await? {
            return Ok(());
        }
        let (since, now) = (self.since(restored.since).await?, self.clock.now());
        self.lost_orders.read(since, now, patience).await
    }

    /// Compares the chains' lists with the rows, and those of the payout rails and the bank. Once nothing more can come
    /// and everything is tracked, records that.
    async fn compare(&self, patience: Duration) -> Result<(), String> {
        let Some(restored) = self.restored else { return Ok(()) };
        if self.all_tracked.load(Ordering::Acquire) {
            return Ok(());
        }
        if self.is_tracked(restored).await? {
            self.all_tracked.store(true, Ordering::Release);
            return Ok(());
        }
        let since = self.since(restored.since).await?;
        // Read before the chain: a transfer confirmed in between is found at the next comparison, after its row.
        let now = self.clock.now();
        let left = tokio::time::timeout(patience, self.settlement.outgoing_transfers(since, restored.until)).await;
        let left = left.map_err(|_| "no answer in time")?.map_err(|e| e.to_string())?;
        let known = RecordedTransfers::read(&*self.store).await.map_err(|e| e.to_string())?;
        let left = known.untracked(left);
        let all = left.is_empty();
        *self.untracked.lock() = left;
        self.compared_until.store(now.0, Ordering::Release);
        let ordered = self.lost_orders.compare(&*self.store, restored.until).await;
        let all = ordered.map_err(|e| e.to_string())? && all;
        if all && now > restored.until {
            let done = put_row(table::meta(TRACKED_KEY), restored.at.0.to_be_bytes().to_vec());
            let since = table::meta(SINCE_KEY);
            self.write(vec![done, Write::Delete { key: since }]).await?;
            tracing::info!("everything that left before the restore is explained");
            self.all_tracked.store(true, Ordering::Release);
        }
        Ok(())
    }
}

/// Whether a withdrawal that was never signed here waits for a transfer like this one.
fn candidate_withdrawal(withdrawal: &Withdrawal, transfer: &OutgoingTransfer) -> bool {
    withdrawal.status == withdrawal::Status::Pending
        && (withdrawal.to, withdrawal.amount) == (transfer.to, transfer.amount)
}

impl Engine {
    /// Whether withdrawals and top-ups are paused, because an outgoing transfer is missing from the restored ledger or
    /// one could still settle.
    pub fn are_withdrawals_paused(&self) -> bool {
        self.0.outgoing_guard.must_wait(None)
    }

    /// Earliest time at which paused withdrawals and top-ups can resume. From then on, no transfer unknown to the
    /// restored ledger can settle. They resume once every outgoing transfer is tracked.
    pub fn withdrawals_paused_until(&self) -> Option<Timestamp> {
        let restored = self.0.outgoing_guard.restored.filter(|_| self.are_withdrawals_paused());
        restored.map(|restored| restored.until)
    }

    async fn read_lost_orders(&self) {
        let patience = Duration::from_millis(self.0.settings.payouts.timeout_ms);
        if let Err(error) = self.0.outgoing_guard.read_orders(patience).await {
            tracing::warn!(
                error,
                "what was ordered before the restore could not be read, and nothing leaves"
            );
        }
    }

    async fn match_outgoing_transfers(&self) {
        let patience = Duration::from_millis(self.0.settings.settle_timeout_ms);
        if let Err(error) = self.0.outgoing_guard.compare(patience).await {
            tracing::warn!(
                error,
                "what left the treasury before the restore could not be read, and nothing leaves"
            );
        }
    }

    /// Compares before the first job runs, and then until everything is tracked.
    pub(super) async fn watch_outgoing_transfers(&self) {
        /// Chain reads per comparison; each comparison reads every withdrawal.
        const READS_PER_COMPARISON: u64 = 3;
        if let Err(error) = self.0.outgoing_guard.record_first_start().await {
            tracing::error!(error, "the time of the first start could not be stored");
        }
        if !self.are_withdrawals_paused() {
            return;
        }
        self.read_lost_orders().await;
        self.match_outgoing_transfers().await;
        for transfer in self.0.outgoing_guard.untracked.lock().iter() {
            let (name, to) = (transfer.name(), transfer.to);
            tracing::error!(%name, %to, amount = %transfer.amount.decimal(), "untracked transfer out of the treasury");
        }
        let inner = Arc::downgrade(&self.0);
        let every = Duration::from_millis(
            self.0
                .settings
                .watch_every_ms
                .max(1)
                .saturating_mul(READS_PER_COMPARISON),
        );
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(inner) = inner.upgrade() else { return };
                let engine = Self(inner);
                if !engine.are_withdrawals_paused() {
                    return;
                }
                engine.read_lost_orders().await;
                // Not during an attribution: rows read before it would show its transfer as untracked.
                let _one = engine.0.operator_lock.lock().await;
                engine.match_outgoing_transfers().await;
            }
        });
    }
}
