//! sled 0.34 as the snapshot store, with the rules that make it safe behind a journal.

use std::fs::{File, Permissions};
use std::ops::Bound;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{RowChange, SnapshotSource, SnapshotStore, interpose, range_end};
use crate::disk::{OWNER_ONLY, OWNER_ONLY_DIR, create_dir_durably};
use crate::{OpenError, Row, RowKey, Seq, StoreError};

const ROW: u8 = b'r';
const APPLIED: &[u8] = b"m/applied";
const PROBE: &[u8] = b"m/probe";
/// Rows in one atomic batch; sled's readers, including the committer, wait while one is applied.
const CHUNK_ROWS: usize = 128;
const CHUNK_BYTES: usize = 1 << 20;
/// 20 ms per attempt.
const LOCK_ATTEMPTS: usize = 250;
/// sled frees pages only on this timer.
const FLUSH_EVERY_MS: u64 = 500;

/// sled in a directory.
#[derive(Debug, Clone)]
pub struct SledSource {
    dir: PathBuf,
    cache_bytes: u64,
}

impl SledSource {
    /// `cache_bytes` is passed to sled, which can use a multiple of it.
    pub fn new(dir: &Path, cache_bytes: u64) -> Self {
        Self {
            dir: dir.to_path_buf(),
            cache_bytes,
        }
    }

    fn names(&self) -> std::io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.dir)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        Ok(names)
    }

    /// Prepares the files before sled opens them.
    fn prepare(&self) -> std::io::Result<()> {
        create_dir_durably(&self.dir)?;
        // sled creates files with the umask, also later; the directory's permissions keep other users out.
        std::fs::set_permissions(&self.dir, Permissions::from_mode(OWNER_ONLY_DIR))?;
        for name in self.names()? {
            // Left by a kill during an earlier open; sled would read it and report corruption.
            if name.starts_with("snap.") && name.ends_with(".generating") {
                std::fs::remove_file(self.dir.join(name))?;
            }
        }
        // Opening writes a synced page table about log bytes that may still be only in the page cache.
        match File::open(self.dir.join("db")) {
            Ok(db) => db.sync_data()?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        File::open(&self.dir)?.sync_all()
    }

    /// Moves the page tables aside; sled then scans its whole log.
    fn move_page_tables_away(&self) -> std::io::Result<()> {
        for name in self.names()?.into_iter().filter(|n| n.starts_with("snap.")) {
            std::fs::rename(self.dir.join(&name), self.dir.join(format!("aside.{name}")))?;
        }
        File::open(&self.dir)?.sync_all()
    }

    /// Removes all permissions except the owner's.
    fn restrict_permissions(&self) -> std::io::Result<()> {
        for entry in std::fs::read_dir(&self.dir)? {
            let entry = entry?;
            let mode = if entry.file_type()?.is_dir() {
                OWNER_ONLY_DIR
            } else {
                OWNER_ONLY
            };
            match std::fs::set_permissions(entry.path(), Permissions::from_mode(mode)) {
                // sled's own threads replace its page tables meanwhile.
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }

    /// Opens sled; a panic inside is as bad as an error.
    fn try_open(&self) -> Result<sled::Db, sled::Error> {
        let config = sled::Config::new()
            .path(&self.dir)
            .cache_capacity(self.cache_bytes)
            .flush_every_ms(Some(FLUSH_EVERY_MS));
        let open = || {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| config.open()))
                .unwrap_or(Err(sled::Error::Corruption { at: None, bt: () }))
        };
        let mut opened = open();
        // We hold the directory lock, but sled's own threads may still be closing an earlier handle.
        for _ in 0..LOCK_ATTEMPTS {
            if !matches!(&opened, Err(sled::Error::Io(e)) if e.to_string().contains("could not acquire lock")) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            opened = open();
        }
        opened
    }

    fn finish(&self, db: sled::Db) -> Result<SledSnapshots, OpenError> {
        let io = |e: std::io::Error| OpenError::Io(format!("{}: {e}", self.dir.display()));
        self.restrict_permissions().map_err(io)?;
        let blobs = self.dir.join("blobs");
        let has_blobs = blobs.is_dir() && std::fs::read_dir(&blobs).map_err(io)?.next().is_some();
        File::open(self.dir.join("conf"))
            .and_then(|f| f.sync_all())
            .map_err(io)?;
        File::open(&self.dir).and_then(|f| f.sync_all()).map_err(io)?;
        if let Some(parent) = self.dir.parent() {
            File::open(parent).and_then(|f| f.sync_all()).map_err(io)?;
        }
        let log = File::open(self.dir.join("db")).map_err(io)?;
        if has_blobs {
            // sled never syncs blobs, so a reference to one cannot be trusted.
            return Err(OpenError::Snapshots("sled has blob files".into()));
        }
        let snapshots = SledSnapshots { db, log: Arc::new(log) };
        snapshots.verify_sync_interposed()?;
        Ok(snapshots)
    }
}

impl SnapshotSource for SledSource {
    fn open(&self) -> Result<Option<Box<dyn SnapshotStore>>, OpenError> {
        let io = |e: std::io::Error| OpenError::Io(format!("{}: {e}", self.dir.display()));
        self.prepare().map_err(io)?;
        let mut opened = self.try_open();
        if matches!(opened, Err(sled::Error::Corruption { .. })) {
            tracing::warn!(dir = %self.dir.display(), "sled reports corruption; opening without its page tables");
            self.move_page_tables_away().map_err(io)?;
            opened = self.try_open();
        }
        match opened {
            Ok(db) => match self.finish(db) {
                Ok(snapshots) => Ok(Some(Box::new(snapshots))),
                Err(OpenError::Snapshots(why)) => {
                    tracing::warn!(why, "sled is not usable");
                    Ok(None)
                }
                Err(e) => Err(e),
            },
            Err(sled::Error::Io(e)) if e.kind() != std::io::ErrorKind::InvalidData => Err(io(e)),
            Err(e) => {
                tracing::warn!(error = %e, "sled cannot be opened");
                Ok(None)
            }
        }
    }

    fn discard(&self) -> Result<(), OpenError> {
        let io = |e: std::io::Error| OpenError::Io(format!("{}: {e}", self.dir.display()));
        // One old copy stays for an investigation.
        let aside = self.dir.with_extension("broken");
        for old in [&aside] {
            match std::fs::remove_dir_all(old) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(io(e)),
                _ => {}
            }
        }
        match std::fs::rename(&self.dir, &aside) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(io(e)),
            _ => {}
        }
        match self.dir.parent() {
            Some(parent) => File::open(parent).and_then(|f| f.sync_all()).map_err(io),
            None => Ok(()),
        }
    }
}

struct SledSnapshots {
    db: sled::Db,
    // One descriptor for the process's lifetime: write-back errors are reported per descriptor.
    log: Arc<File>,
}

fn engine(e: sled::Error) -> StoreError {
    match e {
        sled::Error::Corruption { .. } => StoreError::Corrupt("sled reports corruption".into()),
        e => StoreError::Io(format!("sled: {e}")),
    }
}

fn row_key(key: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(key.len() + 1);
    out.push(ROW);
    out.extend_from_slice(key);
    out
}

fn row_bytes(row: &Row) -> Vec<u8> {
    let mut out = Vec::with_capacity(row.value.len() + 8);
    out.extend_from_slice(&row.revision.to_le_bytes());
    out.extend_from_slice(&row.value);
    out
}

fn row_of(bytes: &[u8]) -> Result<Row, StoreError> {
    match bytes.split_first_chunk::<8>() {
        Some((revision, value)) => Ok(Row {
            revision: u64::from_le_bytes(*revision),
            value: value.into(),
        }),
        None => Err(StoreError::Corrupt("a row in sled is too short".into())),
    }
}

impl SledSnapshots {
    /// Verifies that a flush calls our `sync_file_range`; otherwise sled's order on disk is not what it assumes.
    fn verify_sync_interposed(&self) -> Result<(), OpenError> {
        let before = interpose::calls();
        // Present, absent, present: sled writes nothing for an unchanged row.
        let change = || match self.db.remove(PROBE)? {
            Some(_) => Ok(()),
            None => self.db.insert(PROBE, &[1]).map(|_| ()),
        };
        let proof = change().and_then(|()| self.db.flush());
        proof.map_err(|e| OpenError::Snapshots(e.to_string()))?;
        if cfg!(target_os = "linux") && interpose::calls() == before {
            return Err(OpenError::SyncNotBound);
        }
        Ok(())
    }

    /// The rows of a prefix before `end`, the last one first, by passing over all of them.
    fn scan_back_by_forward(
        &self,
        prefix: &[u8],
        end: Bound<RowKey>,
        visit: &mut dyn FnMut(&[u8], Row) -> bool,
    ) -> Result<(), StoreError> {
        let start: RowKey = prefix.into();
        let rows: Result<Vec<_>, _> = self.db.range((Bound::Included(start), end)).collect();
        for (key, raw) in rows.map_err(engine)?.into_iter().rev() {
            if !key.starts_with(prefix) || !visit(&key[1..], row_of(&raw)?) {
                break;
            }
        }
        Ok(())
    }

    fn write(&self, batch: sled::Batch) -> Result<(), StoreError> {
        self.db.apply_batch(batch).map_err(engine)
    }
}

impl SnapshotStore for SledSnapshots {
    fn applied_seq(&self) -> Result<Option<Seq>, StoreError> {
        let Some(raw) = self.db.get(APPLIED).map_err(engine)? else {
            return Ok(None);
        };
        match <[u8; 8]>::try_from(raw.as_ref()) {
            Ok(raw) => Ok(Some(u64::from_le_bytes(raw))),
            Err(_) => Err(StoreError::Corrupt("sled's applied sequence".into())),
        }
    }

    fn get(&self, key: &[u8]) -> Result<Option<Row>, StoreError> {
        self.db
            .get(row_key(key))
            .map_err(engine)?
            .map(|raw| row_of(&raw))
            .transpose()
    }

    fn scan(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> bool,
    ) -> Result<(), StoreError> {
        let prefix = row_key(prefix);
        let iter = match after.map(row_key) {
            Some(after) if after >= prefix => self.db.range((Bound::Excluded(after), Bound::Unbounded)),
            _ => self.db.range(prefix.clone()..),
        };
        for item in iter {
            let (key, raw) = item.map_err(engine)?;
            if !key.starts_with(&prefix) || !visit(&key[1..], row_of(&raw)?) {
                break;
            }
        }
        Ok(())
    }

    fn scan_back(
        &self,
        prefix: &[u8],
        before: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> bool,
    ) -> Result<(), StoreError> {
        let prefix = row_key(prefix);
        let mut end = range_end(&prefix, before.map(row_key).as_deref());
        let mut rows = self.db.range((Bound::Unbounded, end.clone()));
        loop {
            // sled looks for the page before another one by a key that it guesses. If keys with four bytes of 0xff lie
            // between the two, it searches for a while and panics.
            let next = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rows.next_back()));
            let Ok(next) = next else {
                tracing::warn!("sled lost its way back; the rows are read forward");
                return self.scan_back_by_forward(&prefix, end, visit);
            };
            let Some(item) = next else { return Ok(()) };
            let (key, raw) = item.map_err(engine)?;
            if !key.starts_with(&prefix) || !visit(&key[1..], row_of(&raw)?) {
                return Ok(());
            }
            end = Bound::Excluded((&*key).into());
        }
    }

    fn apply(&self, changes: &mut dyn Iterator<Item = RowChange<'_>>, seq: Option<Seq>) -> Result<(), StoreError> {
        let (mut batch, mut rows, mut bytes) = (sled::Batch::default(), 0, 0);
        for (key, row) in changes {
            bytes += key.len() + row.map_or(0, |row| row.value.len());
            rows += 1;
            match row {
                Some(row) => batch.insert(row_key(key), row_bytes(row)),
                None => batch.remove(row_key(key)),
            }
            if rows == CHUNK_ROWS || bytes >= CHUNK_BYTES {
                // Earlier chunks are written without the sequence: after a crash here, the journal writes them again.
                self.write(std::mem::take(&mut batch))?;
                (rows, bytes) = (0, 0);
            }
        }
        if let Some(seq) = seq {
            batch.insert(APPLIED, &seq.to_le_bytes()[..]);
        }
        self.write(batch)?;
        self.db.flush().map_err(engine)?;
        self.log
            .sync_data()
            .map_err(|e| StoreError::Io(format!("sled's log: {e}")))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: rows are read back also where sled's own iterator gives up.
    #[test]
    fn keys_that_end_in_high_bytes_are_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let source = SledSource::new(&dir.path().join("sled"), 1 << 20);
        let snapshots = source.open().unwrap().unwrap();
        let high = |n: u16| [&[1, u8::MAX, u8::MAX, u8::MAX, u8::MAX][..], &n.to_be_bytes()].concat();
        let low = |n: u16| [&[2][..], &n.to_be_bytes()].concat();
        let keys: Vec<Vec<u8>> = (0..2_000).map(high).chain((0..2_000).map(low)).collect();
        let row = Row {
            revision: 1,
            value: vec![7; 100].into(),
        };
        let mut changes = keys.iter().map(|key| (&key[..], Some(&row)));
        snapshots.apply(&mut changes, Some(1)).unwrap();
        let mut found = Vec::new();
        let mut visit = |key: &[u8], _| {
            found.push(key.to_vec());
            true
        };
        snapshots.scan_back(&[], None, &mut visit).unwrap();
        assert!(found.iter().eq(keys.iter().rev()));
    }
}
