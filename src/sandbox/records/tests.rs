#![allow(clippy::unwrap_used)]
use tempfile::TempDir;

use super::*;
use crate::state::{StoredMap, StoredValue};
use crate::store::{DIRECTORY, SMALL_SEGMENTS};
use crate::test_store::{copy_after_kill, store_in};

/// A number. Odd ones are numbered, those divisible by five are only applied.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Number(u64);

impl Stored for Number {
    const SCHEMA: u16 = 748;
}

impl SandboxRecord for Number {
    fn names(&self) -> Vec<u64> {
        match self.0 % 5 {
            0 => Vec::new(),
            rest => vec![named(self.0), name(&[b"rest", &rest.to_le_bytes()])],
        }
    }

    fn is_numbered(&self) -> bool {
        self.0 % 2 == 1 && !self.0.is_multiple_of(5)
    }
}

fn named(number: u64) -> u64 {
    name(&[b"number", &number.to_le_bytes()])
}

#[derive(Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Sum(u64);

impl Stored for Sum {
    const SCHEMA: u16 = 749;
}

record_book! {
    struct Numbers of Number {
        sum: StoredValue<Sum>,
        /// How many there are of each last digit; none of a digit after a nine.
        digits: StoredMap<u64, Sum>,
    }
}

impl RecordBook for Numbers {
    fn apply(&mut self, number: &Number) -> Result<(), String> {
        if number.0 == u64::MAX {
            return Err("too large".into());
        }
        self.sum.0 += number.0;
        self.digits.change_or_default(&(number.0 % 10)).0 += 1;
        if number.0 % 10 == 9 {
            self.digits.retain(|digit, _| *digit != 4);
        }
        Ok(())
    }
}

impl Numbers {
    fn write(&mut self, numbers: &[Number]) -> DurablePromise {
        self.append(numbers);
        self.rows.barrier()
    }

    fn at(dir: &TempDir) -> Self {
        let store = store_in(dir.path());
        Self::default().open(&store, Table::Bank).unwrap()
    }

    /// Exactly the numbers below this one are found, each once, in order, by name and by number.
    fn check(&self, count: u64) {
        assert_eq!(self.sum.0, (0..count).sum::<u64>());
        let all: Vec<u64> = (0..count).filter(|number| number % 5 != 0).collect();
        for number in 0..=count {
            let expected: Vec<Number> = all.iter().filter(|n| **n == number).map(|n| Number(*n)).collect();
            assert_eq!(self.rows.find(named(number)), expected, "{number} of {count}");
        }
        let rest: Vec<u64> = self
            .rows
            .find(name(&[b"rest", &3_u64.to_le_bytes()]))
            .iter()
            .map(|n| n.0)
            .collect();
        assert_eq!(rest, all.iter().filter(|n| *n % 5 == 3).copied().collect::<Vec<_>>());
        let numbered: Vec<(u64, u64)> = (0..).zip(all.into_iter().filter(|number| number % 2 == 1)).collect();
        assert_eq!(self.rows.numbered(), numbered.len() as u64);
        for from in [
            0,
            1,
            numbered.len() / 2,
            numbered.len().saturating_sub(1),
            numbered.len(),
        ] {
            let mut seen = Vec::new();
            self.rows.scan(from as u64, |number, record| {
                seen.push((number, record.0));
                true
            });
            assert_eq!(seen, numbered[from.min(numbered.len())..], "from {from} of {count}");
        }
        assert!(!self.rows.has_failed());
    }
}

// Checks: records are found at once, when they are durable, and after a restart; the state returns exactly; memory has
// only what is not durable.
#[tokio::test]
async fn records_and_state_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut count = 0;
    for _ in 0..3 {
        let mut book = Numbers::at(&dir);
        book.check(count);
        for _ in 0..211 {
            let durable = book.write(&[Number(count), Number(count + 1)]);
            count += 2;
            if count % 100 == 0 {
                book.check(count);
                durable.wait().await.unwrap();
                book.check(count);
            }
        }
        book.rows.barrier().wait().await.unwrap();
        book.write(&[Number(count)]).wait().await.unwrap();
        count += 1;
        assert!(book.rows.resident() <= 2, "{}", book.rows.resident());
        book.check(count);
        let digits: Vec<u64> = book.digits.keys().copied().collect();
        drop(book);
        assert_eq!(Numbers::at(&dir).digits.keys().copied().collect::<Vec<_>>(), digits);
    }
}

// Checks: whatever was waited for is in the files that a killed process leaves.
#[tokio::test]
async fn durable_records_survive_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Numbers::at(&dir);
    for count in 1..40 {
        book.write(&[Number(count - 1)]).wait().await.unwrap();
        if count % 13 == 0 {
            let left = tempfile::tempdir().unwrap();
            copy_after_kill(dir.path(), left.path());
            Numbers::at(&left).check(count);
        }
    }
}

// Checks: a refused record ends the book: nothing after it is stored or trusted, and a restart has what was before it.
#[tokio::test]
async fn refused_record_ends_the_book() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Numbers::at(&dir);
    book.write(&[Number(0), Number(1)]).wait().await.unwrap();
    assert!(book.write(&[Number(2), Number(u64::MAX)]).wait().await.is_err());
    assert!(book.rows.barrier().wait().await.is_err());
    assert!(book.write(&[Number(2)]).wait().await.is_err());
    drop(book);
    Numbers::at(&dir).check(2);
}

// Checks: an old record that cannot be read is an error, not a missing record: all later lookups and responses fail.
#[tokio::test]
async fn unreadable_record_ends_all_responses() {
    let dir = tempfile::tempdir().unwrap();
    let store = store_in(dir.path());
    let mut book = Numbers::default().open(&store, Table::Bank).unwrap();
    book.write(&[Number(1)]).wait().await.unwrap();
    assert!(book.rows.find(named(2)).is_empty());
    let (done, durable) = oneshot::channel();
    let (name, place) = (named(2).to_be_bytes(), 0_u64.to_be_bytes());
    let damage = Batch {
        writes: vec![put(
            key(Table::Bank, RowKind::Name, &[&name, &place]),
            9_u64.to_be_bytes().to_vec(),
        )],
        ..Batch::default()
    };
    store
        .journal()
        .commit(damage, Box::new(move |_| done.send(()).unwrap_or_default()));
    durable.await.unwrap();
    // Its own record is durable and no longer in memory after the next one.
    book.write(&[Number(3)]).wait().await.unwrap();
    assert!(book.rows.find(named(2)).is_empty());
    assert!(book.rows.has_failed());
    assert!(book.rows.barrier().wait().await.is_err());
    assert!(book.write(&[Number(4)]).wait().await.is_err());
}

// Checks: the store of another version, and files of a sandbox before 0.1.0, are refused in words that say what to do.
#[tokio::test]
async fn other_versions_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(store_in(dir.path()));
    let limits = purser_storage::StoreLimits::test();
    let options = purser_storage::StoreOptions {
        dir: dir.path().join(DIRECTORY),
        limits,
        clock: Arc::new(|| 1),
    };
    let journal = JournalStore::open(options).unwrap();
    let (done, durable) = oneshot::channel();
    let newer = Batch {
        writes: vec![put(b"\0version".as_slice().into(), b"9".to_vec())],
        ..Batch::default()
    };
    journal.commit(newer, Box::new(move |_| done.send(()).unwrap_or_default()));
    durable.await.unwrap();
    drop(journal);
    let refused = SandboxStore::open(dir.path(), SMALL_SEGMENTS)
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("version 9") && refused.contains("anew"), "{refused}");

    let old = tempfile::tempdir().unwrap();
    std::fs::write(old.path().join("base.chain"), b"SBXCHN01").unwrap();
    let refused = SandboxStore::open(old.path(), SMALL_SEGMENTS)
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("older than Purser 0.1.0"), "{refused}");
}
