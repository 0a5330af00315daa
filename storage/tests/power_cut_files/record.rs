//! Sees every sync of this process, sled's included, and keeps what it made durable.
//!
//! The program's own `fsync` and `fdatasync` take precedence over libc's.

#![allow(unsafe_code)]

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

static ROOT: OnceLock<PathBuf> = OnceLock::new();
static SYNCS_LEFT: AtomicI64 = AtomicI64::new(i64::MAX);
static COPIES: AtomicU64 = AtomicU64::new(0);
static PERSIST_LOCK: Mutex<()> = Mutex::new(());

/// Where the durable image of a store's directory is kept.
pub(crate) fn image_of(dir: &Path) -> PathBuf {
    dir.with_extension("durable")
}

/// Where the durable content of a file, or the durable names of a directory, are kept: by inode, because
/// content stays durable when its name changes.
pub(crate) fn image_of_file(root: &Path, path: &Path) -> Option<PathBuf> {
    let inode = std::fs::metadata(path).ok()?.ino();
    Some(image_of(root).join(inode.to_string()))
}

/// The names in a directory, one a line.
pub(crate) fn names_in(dir: &Path) -> String {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    entries
        .map(|entry| format!("{}\n", entry.file_name().to_string_lossy()))
        .collect()
}

/// Records from now on, and kills the process in the middle of the given sync.
pub(crate) fn start(dir: &Path, dies_at: u64) {
    SYNCS_LEFT.store(dies_at as i64, Ordering::SeqCst);
    ROOT.set(dir.to_path_buf()).unwrap();
}

fn die() -> ! {
    // SAFETY: raising a signal in the own process.
    unsafe { libc::raise(libc::SIGKILL) };
    unreachable!("killed")
}

fn sync(number: libc::c_long, fd: libc::c_int) -> libc::c_int {
    let Some(root) = ROOT.get() else {
        return syscall(number, fd);
    };
    let left = SYNCS_LEFT.fetch_sub(1, Ordering::SeqCst);
    // Every other time the sync is still done, and only its return is never seen.
    if left <= 0 && left % 2 == 0 && COPIES.load(Ordering::SeqCst).is_multiple_of(2) {
        die();
    }
    // One at a time: of two syncs of the same thing, the one that read earlier must not be kept later, or what the
    // other made durable would be forgotten.
    let one = PERSIST_LOCK.lock();
    let result = syscall(number, fd);
    if result == 0 {
        persist_image(root, fd);
    }
    drop(one);
    if left <= 0 {
        die();
    }
    result
}

fn syscall(number: libc::c_long, fd: libc::c_int) -> libc::c_int {
    // SAFETY: both calls take a descriptor and nothing else.
    unsafe { libc::syscall(number, fd) as libc::c_int }
}

fn persist_image(root: &Path, fd: libc::c_int) {
    let Ok(path) = std::fs::read_link(format!("/proc/self/fd/{fd}")) else {
        return;
    };
    if !path.starts_with(root) {
        return;
    }
    let Some(target) = image_of_file(root, &path) else {
        return;
    };
    std::fs::create_dir_all(image_of(root)).unwrap();
    let scratch = image_of(root).with_extension(format!("tmp{}", COPIES.fetch_add(1, Ordering::SeqCst)));
    if path.is_dir() {
        std::fs::write(&scratch, names_in(&path)).unwrap();
    } else if std::fs::copy(&path, &scratch).is_err() {
        return;
    }
    // Whole or not at all, as the process can be killed meanwhile.
    std::fs::rename(&scratch, target).unwrap();
}

/// Intercepts libc's `fsync`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fsync(fd: libc::c_int) -> libc::c_int {
    sync(libc::SYS_fsync, fd)
}

/// Intercepts libc's `fdatasync`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fdatasync(fd: libc::c_int) -> libc::c_int {
    sync(libc::SYS_fdatasync, fd)
}
