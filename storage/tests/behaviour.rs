//! One behaviour suite against every store.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "behaviour/suite.rs"]
mod suite;

use std::sync::Arc;

use purser_storage::{JournalStore, Limits, Options};

fn options(dir: &std::path::Path) -> Options {
    Options {
        dir: dir.to_path_buf(),
        limits: Limits::test(),
        clock: Arc::new(|| 1_700_000_000_000),
    }
}

/// Aim: the store on real files keeps every rule.
#[test]
fn the_journal_on_files_keeps_every_rule() {
    let root = tempfile::tempdir().unwrap();
    let mut n = 0;
    suite::every_rule(&mut || {
        n += 1;
        JournalStore::open(options(&root.path().join(n.to_string()))).unwrap()
    });
}
