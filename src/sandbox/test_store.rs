//! The journal in tests, of the chains here and of the providers.

#![allow(clippy::unwrap_used)]
use std::path::{Path, PathBuf};

use crate::store::{DIRECTORY, SMALL_SEGMENTS, SandboxStore};

/// A store for tests.
pub fn store_in(directory: &Path) -> SandboxStore {
    SandboxStore::open(directory, SMALL_SEGMENTS).unwrap()
}

/// Files of the journal, in order.
pub fn segments(directory: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(directory.join(DIRECTORY)).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let mut segments: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "seg"))
        .collect();
    segments.sort();
    segments
}

/// Copies the journal as it is now: what a killed process leaves.
pub fn copy_after_kill(from: &Path, to: &Path) {
    let target = to.join(DIRECTORY);
    std::fs::create_dir_all(&target).unwrap();
    for segment in segments(from) {
        std::fs::copy(&segment, target.join(segment.file_name().unwrap())).unwrap();
    }
}

/// Whether the journal has this text anywhere.
pub fn stored_text(directory: &Path, text: &str) -> bool {
    let found = |bytes: Vec<u8>| bytes.windows(text.len()).any(|at| at == text.as_bytes());
    segments(directory)
        .iter()
        .any(|file| found(std::fs::read(file).unwrap()))
}
