//! A new store from a backup, with its permanent restore marker.

use std::path::Path;

use super::format::{ExportReader, ExportWriter};
use super::{export_name, io};
use crate::disk::{Disk, DiskFile, FileDisk};
use crate::journal::{u32_at, u64_at};
use crate::{Row, Seq, StoreError};

const NAME: &str = "restore.mark";
const TEMPORARY: &str = "restore.tmp";
const MAGIC: &[u8; 8] = b"PURSERR1";
const LEN: usize = 8 + 4 * 8 + 4;
/// Sequences skipped between a backup and the restored history, so that a cursor from after the backup is never taken
/// for one of the restored store. Two million restores fit below 2^53, where JSON numbers stop being exact.
const GAP: Seq = 1 << 32;

/// Marks a store that was made from a backup: the history between the two times is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreMarker {
    /// The last sequence in the backup.
    pub seq: Seq,
    /// First sequence assigned after the restore.
    pub first_seq: Seq,
    /// Time of the backup, in milliseconds since 1970.
    pub backed_up_at_ms: u64,
    /// Time of the restore, in milliseconds since 1970.
    pub restored_at_ms: u64,
}

/// Opens the file of a backup.
fn open(path: &Path) -> Result<Box<dyn DiskFile>, StoreError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(StoreError::Io("the backup has no file name".into()));
    };
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    if !path.is_file() {
        return Err(StoreError::Io(format!("{} is not a file", path.display())));
    }
    FileDisk::open(parent)
        .and_then(|disk| disk.open(&name.to_string_lossy()))
        .map_err(io)
}

/// Implementation of [`crate::JournalStore::read_backup`].
pub(crate) fn read(path: &Path, found: &mut dyn FnMut(&[u8], &Row)) -> Result<Seq, StoreError> {
    let file = open(path)?;
    let mut reader = ExportReader::open(&*file)?;
    while let Some((key, row)) = reader.next()? {
        found(&key, &row);
    }
    Ok(reader.seq)
}

/// Implementation of [`crate::JournalStore::restore`].
pub(crate) fn restore(path: &Path, dir: &Path, now_ms: u64) -> Result<RestoreMarker, StoreError> {
    let from = open(path)?;
    let disk = FileDisk::open(dir).map_err(io)?;
    if std::fs::read_dir(dir).map_err(io)?.next().is_some() {
        return Err(StoreError::Io(format!("{} is not empty", dir.display())));
    }
    let made = fill(&*from, &disk, now_ms);
    if made.is_err() {
        // A rejected backup must not block a good one.
        for name in [TEMPORARY, NAME] {
            let _ = disk.remove(name);
        }
    }
    made
}

/// Implementation of [`crate::JournalStore::restore_on`].
pub(crate) fn restore_on(
    from: &dyn Disk,
    name: &str,
    disk: &dyn Disk,
    now_ms: u64,
) -> Result<RestoreMarker, StoreError> {
    if !disk.list().map_err(io)?.is_empty() {
        return Err(StoreError::Io("the disk is not empty".into()));
    }
    fill(&*from.open(name).map_err(io)?, disk, now_ms)
}

fn fill(from: &dyn DiskFile, disk: &dyn Disk, now_ms: u64) -> Result<RestoreMarker, StoreError> {
    let mark = copy(from, disk, now_ms)?;
    write_marker(disk, &mark)?;
    // The export gets its name last: until then the directory is not a store.
    disk.rename(TEMPORARY, &export_name(mark.seq)).map_err(io)?;
    disk.sync_dir().map_err(io)?;
    Ok(mark)
}

fn copy(from: &dyn DiskFile, disk: &dyn Disk, now_ms: u64) -> Result<RestoreMarker, StoreError> {
    let mut reader = ExportReader::open(from)?;
    let (seq, backed_up_at_ms) = (reader.seq, reader.time_ms);
    let file = disk.create(TEMPORARY).map_err(io)?;
    let mut writer = ExportWriter::new(&*file, seq, backed_up_at_ms)?;
    while let Some((key, row)) = reader.next()? {
        writer.row(&key, &row)?;
    }
    writer.finish()?;
    Ok(RestoreMarker {
        seq,
        first_seq: seq + GAP,
        backed_up_at_ms,
        restored_at_ms: now_ms,
    })
}

fn write_marker(disk: &dyn Disk, mark: &RestoreMarker) -> Result<(), StoreError> {
    let mut out = Vec::with_capacity(LEN);
    out.extend_from_slice(MAGIC);
    for number in [mark.seq, mark.first_seq, mark.backed_up_at_ms, mark.restored_at_ms] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    let file = disk.create(NAME).map_err(io)?;
    file.write_at(0, &out).map_err(io)?;
    file.sync().map_err(io)?;
    disk.sync_dir().map_err(io)
}

/// Restore marker of a store, if there is one.
pub(crate) fn read_marker(disk: &dyn Disk) -> Result<Option<RestoreMarker>, StoreError> {
    let file = match disk.open(NAME) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io(e)),
    };
    let mut raw = [0; LEN];
    let whole = file.read_at(0, &mut raw).map_err(io)? == LEN && file.size().map_err(io)? == LEN as u64;
    if !whole || &raw[..8] != MAGIC || u32_at(&raw, LEN - 4) != crc32c::crc32c(&raw[..LEN - 4]) {
        return Err(StoreError::Corrupt(NAME.into()));
    }
    Ok(Some(RestoreMarker {
        seq: u64_at(&raw, 8),
        first_seq: u64_at(&raw, 16),
        backed_up_at_ms: u64_at(&raw, 24),
        restored_at_ms: u64_at(&raw, 32),
    }))
}
