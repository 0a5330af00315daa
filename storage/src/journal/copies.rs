//! Copies of a store: exports, which free the journal, and backups.

use std::path::Path;

use super::JournalStore;
use crate::disk::Disk;
use crate::journal::export::{self, RestoreMarker};
use crate::{Row, Seq, StoreError};

impl JournalStore {
    /// Writes and verifies an export of everything durable now, then removes segments that are no longer needed.
    /// Blocks. Returns the sequence it holds.
    ///
    /// # Errors
    /// When reading, writing or verifying fails; the old export then stays.
    pub fn export(&self) -> Result<Seq, StoreError> {
        let seq = export::export(&self.core)?;
        export::retain(&self.core)?;
        Ok(seq)
    }

    /// Writes everything durable now into one verified file at `path`, replacing it atomically. Blocks.
    ///
    /// # Errors
    /// When reading, writing or verifying fails.
    pub fn backup(&self, path: &Path) -> Result<Seq, StoreError> {
        export::backup(&self.core, path)
    }

    /// Reads a backup to its end, row by row, and returns its sequence. Blocks. Fails if the backup is not whole: the
    /// rows found so far then prove nothing.
    pub fn read_backup(path: &Path, found: &mut dyn FnMut(&[u8], &Row)) -> Result<Seq, StoreError> {
        export::read(path, found)
    }

    /// The same into a file of any disk, as a simulation has it.
    ///
    /// # Errors
    /// When reading, writing or verifying fails.
    pub fn backup_on(&self, disk: &dyn Disk, name: &str) -> Result<Seq, StoreError> {
        export::backup_on(&self.core, disk, name)
    }

    /// Makes a new store in the empty or missing directory `dir` from a backup. Sequences continue far after the
    /// backup's, so that no cursor of the lost history points at a new event.
    ///
    /// # Errors
    /// When the backup is corrupt, or `dir` is not empty.
    pub fn restore(path: &Path, dir: &Path, now_ms: u64) -> Result<RestoreMarker, StoreError> {
        export::restore(path, dir, now_ms)
    }

    /// The same from a file of any disk onto an empty one, as a simulation has it.
    ///
    /// # Errors
    /// When the backup is corrupt, or the disk is not empty.
    pub fn restore_on(from: &dyn Disk, name: &str, to: &dyn Disk, now_ms: u64) -> Result<RestoreMarker, StoreError> {
        export::restore_on(from, name, to, now_ms)
    }
}
