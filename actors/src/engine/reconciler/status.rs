//! How reconciliation stands, for who asks, and a walk at once for who wants one.

use std::sync::atomic::Ordering;

use purser_storage::StoreError;

use super::ReconciliationCursor;
use super::worker::ReconciliationMsg;
use crate::discrepancy::Discrepancy;
use crate::engine::Engine;
use crate::engine::operators::ListPosition;
use crate::id::DiscrepancyId;
use crate::kernel::table;
use crate::reconciliation::DiscrepancyKind;

/// A walk that began since the start and has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRun {
    /// From 1 on, in the order in which they began; 0 is one that an earlier process began.
    pub number: u64,
    /// Entries of lists and books.
    pub compared: u64,
    /// Whether every list and every row was read.
    pub complete: bool,
}

/// An open difference with its place in the list.
pub type OpenDiscrepancy = (ListPosition, Discrepancy);

/// How reconciliation stands.
#[derive(Clone, Debug)]
pub struct ReconciliationStatus {
    /// The walk under way, or the last one.
    pub run: ReconciliationCursor,
    /// Open differences, in the order of [`Discrepancy::ALL`].
    pub open: [u64; DiscrepancyKind::ALL.len()],
    /// Compared since the start.
    pub compared: u64,
    /// Walkers that failed and were replaced since the start.
    pub restarts: u64,
    /// The last walk that has ended since the start.
    pub last_run: Option<CompletedRun>,
}

impl Engine {
    /// How reconciliation stands. Reads the list of open differences.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn reconciliation(&self) -> Result<ReconciliationStatus, StoreError> {
        const PAGE: usize = 1_000;
        let inner = &self.0;
        let mut open = [0; DiscrepancyKind::ALL.len()];
        let mut after: Option<Box<[u8]>> = None;
        loop {
            let page = inner
                .store
                .scan(&[table::OPEN_DISCREPANCY], after.as_deref(), PAGE)
                .await?;
            for (_, row) in &page {
                if let Some(count) = row.value.first().and_then(|kind| open.get_mut(usize::from(*kind))) {
                    *count += 1;
                }
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        Ok(ReconciliationStatus {
            run: ReconciliationCursor::read(&*inner.store).await?,
            open,
            compared: inner.reconciliation_stats.compared.load(Ordering::Relaxed),
            restarts: inner.reconciliation_stats.restarts.load(Ordering::Relaxed),
            last_run: *inner.reconciliation_stats.last_run.lock(),
        })
    }

    /// Has a walk begin as soon as the one under way has ended, and returns its number. A walk of that number or a later one
    /// ([`EndedWalk::number`]) has read everything that was durable before this was called. `None` when nothing reconciles.
    pub fn request_reconciliation(&self) -> Option<u64> {
        let watching = &self.0.reconciliation_stats;
        let overseer = watching.supervisor.get()?;
        let next = watching.started_runs.load(Ordering::SeqCst).saturating_add(1);
        watching.requested_run.fetch_max(next, Ordering::SeqCst);
        overseer.cast(ReconciliationMsg::RunNow).ok()?;
        Some(next)
    }

    /// Open differences, the oldest first, behind a place, at most `limit`; each with its own place. Damaged ones are left out.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn discrepancies(
        &self,
        after: Option<ListPosition>,
        limit: usize,
    ) -> Result<Vec<OpenDiscrepancy>, StoreError> {
        let mut after = after.map(|(at, id)| table::open_discrepancy(at, DiscrepancyId(id)));
        let mut found = Vec::with_capacity(limit);
        // A page that lacks damaged ones is no last page.
        while found.len() < limit {
            let rows = self
                .0
                .store
                .scan(&[table::OPEN_DISCREPANCY], after.as_deref(), limit - found.len());
            let rows = rows.await?;
            let Some((last, _)) = rows.last() else { break };
            after = Some(last.clone());
            for (at, id) in rows.iter().filter_map(|(key, _)| table::created_and_id(key)) {
                let read = self
                    .0
                    .registries
                    .discrepancies
                    .read_or_skip_corrupt(&DiscrepancyId(id))
                    .await?;
                found.extend(read.map(|(difference, _)| ((at, id), difference)));
            }
        }
        Ok(found)
    }
}
