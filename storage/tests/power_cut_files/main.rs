//! A modelled power cut on real files, sled included.
//!
//! A child process writes and is killed in the middle of a sync; every file is then set back to what its last
//! sync made durable ("lost"), or to a random mix of that and what was written since ("torn"); names that no
//! directory sync covered may vanish. The next child opens what is left, checks that nothing acknowledged is
//! gone, and goes on. `PURSER_POWER_CUTS` sets the number of seeds (default 20), `PURSER_POWER_CUT_SEED` runs one.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod image;
mod record;

use std::collections::BTreeMap;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};

use purser_storage::sim_disk::SeededRng;
use purser_storage::{Batch, BoxFuture, Event, JournalStore, Store, StoreError, StoreLimits, StoreOptions, Write};

const DIR: &str = "PURSER_CHILD_DIR";
const ACKED: &str = "PURSER_CHILD_ACKED";
const DIES_AT: &str = "PURSER_CHILD_DIES_AT";
const KEYS: u64 = 50;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn ready<T>(mut future: BoxFuture<'_, T>) -> T {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("this store answers at once"),
    }
}

fn limits() -> StoreLimits {
    StoreLimits {
        segment_bytes: 64 << 10,
        apply_interval_ms: 3,
        retention_bytes: 192 << 10,
        export_every_bytes: 128 << 10,
        ..StoreLimits::test()
    }
}

/// Batch `i` writes row `i % KEYS` and one event, so that its sequence is `i` and every state follows from it.
fn batch(i: u64) -> Batch {
    let key = format!("k{}", i % KEYS).into_bytes().into();
    let value = format!("{i:0>400}").into_bytes();
    Batch {
        writes: vec![Write::Put {
            key,
            revision: i,
            value,
        }],
        events: vec![Event {
            subject: Box::from(*b"s"),
            payload: i.to_string().into_bytes(),
        }],
        ..Batch::default()
    }
}

fn check(store: &JournalStore, acked: u64) {
    let durable = store.durable_seq();
    assert!(durable >= acked, "acknowledged {acked}, durable {durable}");
    let rows = ready(store.scan(b"k", None, 1000)).unwrap();
    let found: BTreeMap<u64, u64> = rows
        .iter()
        .map(|(_, row)| (row.revision % KEYS, row.revision))
        .collect();
    let expected: BTreeMap<u64, u64> = (durable.saturating_sub(KEYS - 1).max(1)..=durable)
        .map(|i| (i % KEYS, i))
        .collect();
    assert_eq!(found, expected, "durable {durable}");
    for (_, row) in &rows {
        assert_eq!(*row.value, *format!("{:0>400}", row.revision).as_bytes());
    }
    let oldest = match ready(store.events(0, 1, None)) {
        Err(StoreError::Expired { oldest }) => oldest,
        _ => 1,
    };
    let events = ready(store.events(oldest - 1, usize::MAX, Some(b"s"))).unwrap();
    assert_eq!(
        events.iter().map(|e| e.seq).collect::<Vec<_>>(),
        (oldest..=durable).collect::<Vec<_>>()
    );
}

/// The writer. Does nothing unless a parent started it with a directory.
#[test]
fn child() {
    let Ok(dir) = std::env::var(DIR) else { return };
    record::start(Path::new(&dir), variable(DIES_AT).unwrap());
    let clock = Arc::new(|| 1_700_000_000_000_000);
    let store = JournalStore::open(StoreOptions {
        dir: dir.into(),
        limits: limits(),
        clock,
    })
    .unwrap();
    check(&store, variable(ACKED).unwrap());
    let (tell, acks) = channel();
    for i in store.durable_seq() + 1.. {
        let tell = tell.clone();
        store.commit(
            batch(i),
            Box::new(move |outcome| tell.send(outcome.unwrap().seq).unwrap()),
        );
        if i % 7 == 0 {
            let acked = acks.recv().unwrap() + acks.try_iter().count() as u64;
            writeln!(std::io::stdout(), "\nacked {acked}").unwrap();
        }
    }
}

/// Runs a child until it is killed; returns the last sequence it reported.
fn run_until_killed(dir: &Path, acked: u64, dies_at: u64) -> Result<u64, String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(DIR, dir)
        .env(ACKED, acked.to_string())
        .env(DIES_AT, dies_at.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut out, mut errors) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    // An exit code means that it ended by itself: a failed check.
    if child.wait().unwrap().code().is_some() {
        return Err(format!("{out}{errors}"));
    }
    let reported = out
        .lines()
        .filter_map(|line| line.strip_prefix("acked ")?.parse().ok())
        .max();
    Ok(reported.unwrap_or(0).max(acked))
}

fn run(seed: u64) {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("store");
    let mut seeded = SeededRng::new(seed);
    let mut acked = 0;
    for life in 0..4 {
        let range = if seeded.one_in(3) { 30 } else { 300 };
        let dies_at = seeded.next_below(range);
        acked = run_until_killed(&dir, acked, dies_at).unwrap_or_else(|e| panic!("seed {seed}, life {life}: {e}"));
        image::cut_power(&dir, &mut seeded);
    }
}

/// Checks: on real files with sled, a power cut loses nothing acknowledged and never prevents opening.
#[test]
fn case_65_a_power_cut_on_real_files_loses_nothing() {
    if let Some(seed) = variable("PURSER_POWER_CUT_SEED") {
        return run(seed);
    }
    for seed in 0..variable("PURSER_POWER_CUTS").unwrap_or(20) {
        run(seed);
    }
}
