//! Binds `sync_file_range` to `fdatasync` in every binary that links this crate.
//!
//! sled 0.34 ends a flush with `sync_file_range`, which neither writes metadata nor empties the drive's cache
//! (sync_file_range(2)). A program's own definition of the symbol takes precedence over libc's, so sled calls
//! this one and its assumption about order holds. The counter lets the store prove at open that the linker
//! did as expected.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

static CALLS: AtomicU64 = AtomicU64::new(0);

/// Data syncs by which sled ended its flushes, of all stores of this process: calls of the function below.
pub fn calls() -> u64 {
    CALLS.load(Ordering::Relaxed)
}

/// Replaces libc's function of the same name by a full data sync of the file.
///
/// It has the C signature that callers of `sync_file_range` expect; any descriptor is allowed, a bad one gives -1.
#[cfg(target_os = "linux")]
#[unsafe(no_mangle)]
pub(super) extern "C" fn sync_file_range(
    fd: libc::c_int,
    _offset: libc::off64_t,
    _bytes: libc::off64_t,
    _flags: libc::c_uint,
) -> libc::c_int {
    CALLS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: fdatasync takes any integer and reports a bad descriptor as an error.
    unsafe { libc::fdatasync(fd) }
}
