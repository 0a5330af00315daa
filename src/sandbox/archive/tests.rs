#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

const KIND: [u8; 8] = *b"TESTARC1";

impl ArchiveRecord for u64 {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let bytes = record.try_into().map_err(|_| "not eight bytes")?;
        Ok(vec![Self::from_le_bytes(bytes)])
    }

    fn index_keys(&self) -> Vec<u64> {
        vec![named(*self)]
    }

    fn is_counted(&self) -> bool {
        true
    }
}

fn named(number: u64) -> u64 {
    name(&[b"number", &number.to_le_bytes()])
}

/// Sums its items.
#[derive(Default)]
struct Sum {
    buffer: RecordBuffer<u64>,
    sum: u64,
    applied: usize,
}

impl ArchiveState for Sum {
    type Item = u64;

    fn apply(&mut self, number: &u64) -> Result<(), String> {
        self.sum += number;
        self.applied += 1;
        self.buffer.add(*number);
        Ok(())
    }

    fn buffer(&mut self) -> &mut RecordBuffer<u64> {
        &mut self.buffer
    }

    fn save(&self) -> Vec<u8> {
        self.sum.to_le_bytes().to_vec()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), String> {
        self.sum = u64::from_le_bytes(saved.try_into().map_err(|_| "not eight bytes")?);
        Ok(())
    }

    fn weight(&self) -> usize {
        0
    }
}

struct Harness {
    dir: TempDir,
    archive: Archive,
    state: Sum,
}

impl Harness {
    fn in_dir(dir: TempDir) -> Self {
        let mut state = Sum::default();
        let archive = Archive::open(&dir.path().join("log"), KIND, &mut state).unwrap();
        Self { dir, archive, state }
    }

    fn with(numbers: std::ops::Range<u64>) -> Self {
        let mut harness = Self::in_dir(tempfile::tempdir().unwrap());
        harness.push(numbers);
        harness
    }

    fn push(&mut self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            self.state.apply(&number).unwrap();
            let _durable = self.archive.append(&mut self.state, number.to_le_bytes().to_vec());
        }
    }

    /// Closed, with everything on disk; only the files are left.
    fn closed(self) -> TempDir {
        let Self {
            dir,
            archive,
            state: book,
        } = self;
        book.buffer.evict();
        drop(archive);
        dir
    }

    /// Exactly these numbers are found, each once, in order, by name and by offset.
    fn check(&self, count: u64) {
        assert_eq!(self.state.sum, (0..count).sum::<u64>());
        assert_eq!(self.state.buffer.counted(), count);
        for number in 0..count {
            let found = self.state.buffer.find(named(number));
            assert_eq!(found.iter().filter(|n| **n == number).count(), 1, "{number} of {count}");
        }
        assert!(!self.state.buffer.find(named(count)).contains(&count));
        for from in [0, 1, count / 2, count.saturating_sub(1), count] {
            let mut seen = Vec::new();
            self.state.buffer.scan(from, |place, number| {
                seen.push((place, *number));
                true
            });
            let expected: Vec<_> = (from..count).map(|n| (n, n)).collect();
            assert_eq!(seen, expected, "from {from} of {count}");
        }
        assert!(!self.archive.has_failed());
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect()
}

fn copy(log: &Path, index: Option<&Path>) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(log.join("log"), dir.path().join("log")).unwrap();
    if let Some(index) = index {
        let target = dir.path().join("log.index");
        std::fs::create_dir(&target).unwrap();
        for file in files(&index.join("log.index")) {
            std::fs::copy(&file, target.join(file.file_name().unwrap())).unwrap();
        }
    }
    dir
}

// Checks: memory stays under its bound for any number of records, and all of them are found.
#[test]
fn memory_holds_no_more_than_the_bound() {
    let mut harness = Harness::with(0..0);
    for number in 0..500 {
        harness.push(number..number + 1);
        assert!(harness.state.buffer.resident() <= 2 * MAX_IN_MEMORY, "after {number}");
    }
    harness.check(500);
    harness.state.buffer.evict();
    harness.check(500);
}

// Checks: a start replays the tail only, and continues where the last process ended.
#[test]
fn a_start_replays_only_the_tail() {
    let mut harness = Harness::with(0..301);
    for count in [301, 350, 399] {
        harness.push(harness.state.buffer.counted()..count);
        harness = Harness::in_dir(harness.closed());
        assert!(
            harness.state.applied <= MAX_IN_MEMORY,
            "{} of {count}",
            harness.state.applied
        );
        harness.check(count);
    }
}

// Checks: a kill between log and index loses nothing, in any state of the index.
#[test]
fn an_index_behind_its_log_catches_up() {
    let early = Harness::with(0..0).closed();
    let mut harness = Harness::in_dir(copy(early.path(), None));
    let mut indexes = Vec::new();
    for count in [0, 10, 50, 120] {
        harness.push(harness.state.buffer.counted()..count);
        harness = Harness::in_dir(harness.closed());
        indexes.push(copy(harness.dir.path(), Some(harness.dir.path())));
    }
    let last = harness.closed();
    for index in &indexes {
        Harness::in_dir(copy(last.path(), Some(index.path()))).check(120);
    }
}

// Checks: a log from before there were indexes, and one whose index was deleted, is read once, in bounded memory.
#[test]
fn a_log_without_an_index_is_read_whole_once() {
    let whole = Harness::with(0..200).closed();
    let harness = Harness::in_dir(copy(whole.path(), None));
    assert_eq!(harness.state.applied, 200);
    assert!(harness.state.buffer.resident() <= 2 * MAX_IN_MEMORY);
    harness.check(200);
    let again = Harness::in_dir(harness.closed());
    assert!(again.state.applied <= MAX_IN_MEMORY);
    again.check(200);
}

// Checks: a wrong bit in the index is always noticed: the index is rebuilt, and nothing is lost or found twice.
#[test]
fn corrupt_index_is_rebuilt() {
    let whole = Harness::with(0..90).closed();
    for file in files(&whole.path().join("log.index")) {
        let bytes = std::fs::read(&file).unwrap();
        let name = file.file_name().unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 7 + 1) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 4;
            for damage in [&flipped[..], &bytes[..at]] {
                let dir = copy(whole.path(), Some(whole.path()));
                std::fs::write(dir.path().join("log.index").join(name), damage).unwrap();
                let harness = Harness::in_dir(dir);
                assert_eq!(harness.state.applied, 90, "{name:?} at {at}");
                harness.check(90);
            }
        }
        let dir = copy(whole.path(), Some(whole.path()));
        std::fs::remove_file(dir.path().join("log.index").join(name)).unwrap();
        Harness::in_dir(dir).check(90);
    }
}

// Checks: an index that is ahead of its log, or belongs to another log, is rebuilt.
#[test]
fn index_ahead_of_its_log_is_rebuilt() {
    let whole = Harness::with(0..120).closed();
    let short = Harness::with(0..60).closed();
    let dir = copy(short.path(), Some(whole.path()));
    Harness::in_dir(dir).check(60);
    let bytes = std::fs::read(whole.path().join("log")).unwrap();
    let cut = copy(whole.path(), Some(whole.path()));
    std::fs::write(cut.path().join("log"), &bytes[..bytes.len() / 2]).unwrap();
    let harness = Harness::in_dir(cut);
    let count = harness.state.buffer.counted();
    assert!(count < 120);
    harness.check(count);
    let other = Harness::with(1000..1120).closed();
    let harness = Harness::in_dir(copy(other.path(), Some(whole.path())));
    assert_eq!(harness.state.sum, (1000..1120).sum::<u64>());
}

// Checks: an old record that cannot be read is an error, not a missing record: all later lookups fail.
#[tokio::test]
async fn corrupt_old_record_ends_all_responses() {
    let dir = Harness::with(0..90).closed();
    let mut harness = Harness::in_dir(dir);
    harness.archive.barrier().wait().await.unwrap();
    let log = harness.dir.path().join("log");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[30] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    assert!(harness.state.buffer.find(named(0)).is_empty());
    assert!(harness.archive.has_failed());
    assert!(harness.archive.barrier().wait().await.is_err());
    harness.state.apply(&90).unwrap();
    let durable = harness.archive.append(&mut harness.state, 90u64.to_le_bytes().to_vec());
    assert!(durable.wait().await.is_err());
}
