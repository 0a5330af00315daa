//! Snapshots that match the journal: the existing ones, or new ones from the export.

use super::OpenError;
use super::recovery::{io_error, store_error};
use crate::disk::Disk;
use crate::journal::export::{ExportInfo, ExportReader, RestoreMarker, export_name};
use crate::snapshot::{RowChange, SnapshotSource, SnapshotStore};
use crate::{Row, RowKey, Seq};

/// Rows loaded from an export into the snapshots at a time.
const LOAD_ROWS: usize = 4000;

/// Range of the journal.
pub(super) struct JournalRange {
    pub(super) first_seq: Seq,
    pub(super) restored: Option<RestoreMarker>,
}

impl JournalRange {
    /// Whether rows as of `seq` plus the journal give the newest rows.
    fn continues_from(&self, seq: Seq) -> bool {
        // The gap between a backup and the restored history has no commits.
        let after_restore = self
            .restored
            .is_some_and(|mark| seq >= mark.seq && self.first_seq <= mark.first_seq);
        self.first_seq <= seq + 1 || after_restore
    }
}

/// Opens the snapshots; if they are missing, too old or corrupt, rebuilds them from the export.
pub(super) fn open_snapshots(
    disk: &dyn Disk,
    source: &dyn SnapshotSource,
    export: Option<ExportInfo>,
    reach: &JournalRange,
) -> Result<(Box<dyn SnapshotStore>, Seq), OpenError> {
    if let Some(snapshots) = source.open()? {
        match snapshots.applied_seq() {
            Ok(Some(applied)) if reach.continues_from(applied) => return Ok((snapshots, applied)),
            // New, or stopped before the first rows were applied completely; the journal has them all.
            Ok(None) if export.is_none() && reach.first_seq == 1 => return Ok((snapshots, 0)),
            Ok(Some(applied)) => tracing::warn!(applied, "the snapshots are older than the journal reaches"),
            Ok(None) => tracing::warn!("there are no snapshots"),
            Err(e) => tracing::warn!(error = %e, "the snapshots are not usable"),
        }
    }
    let base = export.map_or(0, |info| info.seq);
    if !reach.continues_from(base) {
        return Err(OpenError::Missing(format!(
            "an export that reaches sequence {}",
            reach.first_seq - 1
        )));
    }
    tracing::warn!(
        export = base,
        "the snapshots are rebuilt from the last export and the journal"
    );
    source.discard()?;
    let Some(snapshots) = source.open()? else {
        return Err(OpenError::Snapshots("even empty snapshots cannot be opened".into()));
    };
    if let Some(info) = export {
        load(disk, info, &*snapshots)?;
    }
    Ok((snapshots, base))
}

/// Loads an export into empty snapshots; only the last step records their sequence.
fn load(disk: &dyn Disk, info: ExportInfo, snapshots: &dyn SnapshotStore) -> Result<(), OpenError> {
    let file = disk.open(&export_name(info.seq)).map_err(io_error)?;
    let mut reader = ExportReader::open(&*file).map_err(store_error)?;
    let mut rows: Vec<(RowKey, Row)> = Vec::new();
    loop {
        let next = reader.next().map_err(store_error)?;
        let finished = next.is_none();
        rows.extend(next);
        if finished || rows.len() == LOAD_ROWS {
            let seq = finished.then_some(info.seq);
            let mut changes = rows.iter().map(|(key, row)| -> RowChange<'_> { (key, Some(row)) });
            snapshots.apply(&mut changes, seq).map_err(store_error)?;
            rows.clear();
        }
        if finished {
            return Ok(());
        }
    }
}
