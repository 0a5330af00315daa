//! One process per directory.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::OpenError;
use crate::disk::open_private;

/// Locked while a store is open; the kernel releases it whenever the process ends.
pub(crate) struct DirLock {
    _file: File,
}

impl DirLock {
    pub(crate) fn acquire(dir: &Path) -> Result<Self, OpenError> {
        let io = |e: std::io::Error| OpenError::Io(format!("{}: {e}", dir.display()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = open_private(&options, &dir.join("lock")).map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked(dir.to_path_buf())),
            Err(TryLockError::Error(e)) => Err(io(e)),
        }
    }
}
