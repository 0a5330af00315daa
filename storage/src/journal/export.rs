//! Full, verified copies of all rows: for rebuilding sled, for freeing journal space, and as backups.
//!
//! An export is folded from the previous one and the journal since then. It never trusts sled, so a row that sled lost
//! silently is not lost permanently. The rows are taken from the snapshots only if there is no usable export (removed
//! or corrupt) and the journal no longer reaches back.

mod compaction;
mod format;
mod restore;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) use format::ExportReader;
pub use restore::RestoreMarker;
pub(crate) use restore::{read, read_marker, restore, restore_on};

use crate::disk::{Disk, FileDisk};
use crate::journal::{Segment, StoreCore, index_name, segment_name};
use crate::{Seq, StoreError};

/// An export in the store's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExportInfo {
    pub(crate) seq: Seq,
}

pub(crate) fn export_name(seq: Seq) -> String {
    format!("export-{seq:020}.rows")
}

/// The sequence in the name of an export.
pub(crate) fn export_seq(name: &str) -> Option<Seq> {
    name.strip_prefix("export-")?.strip_suffix(".rows")?.parse().ok()
}

fn io(e: std::io::Error) -> StoreError {
    StoreError::Io(format!("export: {e}"))
}

/// Makes an export of everything durable now, then removes the previous one.
pub(crate) fn export(engine: &StoreCore) -> Result<Seq, StoreError> {
    let mut current = engine.export.lock();
    let seq = engine.durable.load(Ordering::Acquire);
    if current.is_some_and(|info| info.seq == seq) {
        return Ok(seq);
    }
    let seq = compaction::write_rows(engine, *current, seq, &*engine.disk, "export.tmp")?;
    engine.disk.rename("export.tmp", &export_name(seq)).map_err(io)?;
    engine.disk.sync_dir().map_err(io)?;
    let old = current.replace(ExportInfo { seq });
    if let Some(old) = old.filter(|old| old.seq != seq) {
        engine.disk.remove(&export_name(old.seq)).map_err(io)?;
        engine.disk.sync_dir().map_err(io)?;
    }
    Ok(seq)
}

/// Makes an export when enough sealed journal has gathered since the last one.
pub(crate) fn export_if_due(engine: &StoreCore) -> Result<(), StoreError> {
    let covered = engine.export.lock().map_or(0, |info| info.seq);
    let segments = engine.segments.read();
    let sealed = segments
        .iter()
        .filter(|s| s.extent.read().sealed && s.extent.read().last_seq > covered);
    let waiting: u64 = sealed.map(|s| s.size).sum();
    drop(segments);
    if waiting >= engine.limits.export_every_bytes.max(1) {
        let seq = export(engine)?;
        tracing::info!(seq, "rows exported");
    }
    Ok(())
}

/// Removes the oldest segments that the snapshots and the export cover and whose events are past their retention.
pub(crate) fn retain(engine: &StoreCore) -> Result<(), StoreError> {
    let export = engine.export.lock();
    let covered = export
        .map_or(0, |info| info.seq)
        .min(engine.applied.load(Ordering::Acquire));
    let now = engine.now_ms();
    loop {
        let oldest: Option<Arc<Segment>> = {
            let segments = engine.segments.read();
            let sealed_bytes: u64 = segments.iter().filter(|s| s.extent.read().sealed).map(|s| s.size).sum();
            segments
                .first()
                .filter(|s| removable(engine, s, covered, sealed_bytes, now))
                .map(Arc::clone)
        };
        let Some(oldest) = oldest else { return Ok(()) };
        // Readers that have it open continue; new ones no longer find it.
        engine.segments.write().retain(|s| s.number != oldest.number);
        for name in [segment_name(oldest.number), index_name(oldest.number)] {
            match engine.disk.remove(&name) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(io(e)),
                _ => {}
            }
        }
        engine.disk.sync_dir().map_err(io)?;
    }
}

fn removable(engine: &StoreCore, segment: &Segment, covered: Seq, sealed_bytes: u64, now_ms: u64) -> bool {
    let extent = segment.extent.read();
    let too_old = extent.newest_ms.saturating_add(engine.limits.retention_ms) < now_ms;
    let too_much = sealed_bytes > engine.limits.retention_bytes;
    extent.sealed && extent.last_seq <= covered && (too_old || too_much)
}

/// Writes everything durable now into one file anywhere on the file system.
pub(crate) fn backup(engine: &StoreCore, path: &Path) -> Result<Seq, StoreError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(StoreError::Io("the backup needs a file name".into()));
    };
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    let disk = FileDisk::open(parent).map_err(io)?;
    backup_on(engine, &disk, &name.to_string_lossy())
}

/// The same on any disk.
pub(crate) fn backup_on(engine: &StoreCore, disk: &dyn Disk, name: &str) -> Result<Seq, StoreError> {
    let scratch = format!("{name}.tmp");
    let current = engine.export.lock();
    let seq = engine.durable.load(Ordering::Acquire);
    let seq = compaction::write_rows(engine, *current, seq, disk, &scratch)?;
    disk.rename(&scratch, name).map_err(io)?;
    disk.sync_dir().map_err(io)?;
    Ok(seq)
}
