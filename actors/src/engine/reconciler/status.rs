//! Reconciliation status, and runs on request.

use std::sync::atomic::Ordering;

use purser_storage::StoreError;

use super::ReconciliationCursor;
use super::worker::ReconciliationMsg;
use crate::engine::Engine;
use crate::engine::operators::ListPosition;
use crate::entity::discrepancy::Discrepancy;
use crate::id::DiscrepancyId;
use crate::kernel::table;
use crate::reconciliation::DiscrepancyKind;

/// A run that started after the process did, and has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRun {
    /// From 1 in the order of the starts; 0 for a run that an earlier process started.
    pub number: u64,
    /// Entries compared, in lists and in our records.
    pub compared: u64,
    /// Whether every list and every row was read.
    pub complete: bool,
}

/// An open discrepancy with its position in the list.
pub type OpenDiscrepancy = (ListPosition, Discrepancy);

/// Status of reconciliation.
#[derive(Clone, Debug)]
pub struct ReconciliationStatus {
    /// The run in progress, or the last one.
    pub run: ReconciliationCursor,
    /// Open discrepancies, in the order of [`DiscrepancyKind::ALL`].
    pub open: [u64; DiscrepancyKind::ALL.len()],
    /// Entries compared since the start of the process.
    pub compared: u64,
    /// Workers that failed and were replaced since the start.
    pub restarts: u64,
    /// The last run that has ended since the start.
    pub last_run: Option<CompletedRun>,
}

impl Engine {
    /// Current status of reconciliation. Reads the list of open discrepancies.
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

    /// Requests a run as soon as the current one has ended, and returns its number. A run with that number or a later
    /// one ([`CompletedRun::number`]) reads everything that was durable before this call. `None` without
    /// reconciliation.
    pub fn request_reconciliation(&self) -> Option<u64> {
        let watching = &self.0.reconciliation_stats;
        let supervisor = watching.supervisor.get()?;
        let next = watching.started_runs.load(Ordering::SeqCst).saturating_add(1);
        watching.requested_run.fetch_max(next, Ordering::SeqCst);
        supervisor.cast(ReconciliationMsg::RunNow).ok()?;
        Some(next)
    }

    /// Open discrepancies, oldest first, after a position, at most `limit`; each with its own position. Corrupt rows
    /// are skipped.
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
        // A page is not the last one because corrupt rows are missing from it.
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
