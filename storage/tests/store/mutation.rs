//! Journals, backups and stored values with any bytes changed: exact, or refused by name. Never other data, never a
//! panic.
//!
//! bolero draws the changes. Longer: `BOLERO_RANDOM_ITERATIONS=100000 cargo test -p purser-storage --test store
//! mutation`.

use std::panic::AssertUnwindSafe;
use std::path::Path;

use bolero::check;
use purser_storage::codec::{self, Stored};
use purser_storage::{JournalStore, OpenError, Store, StoreError};

use crate::conformance::options;
use crate::recovery::{FIRST, StoreHarness};
use crate::suite::{batch, commit, enqueue, event, keys, payloads, put, value};

const HISTORY: u64 = 30;
const SEGMENT_HEADER: usize = 72;
const FRAME_HEADER: usize = 48;

/// An input, read as dice; nothing left is zero.
struct InputBytes<'a>(&'a [u8]);

impl InputBytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % n
    }
}

/// One change within the first `used` bytes or shortly behind them: what media, copies and editors do to a file.
fn change(bytes: &mut Vec<u8>, used: usize, dice: &mut InputBytes<'_>) {
    let kind = dice.byte() % 9;
    let at = dice.below(used + 64).min(bytes.len() - 1);
    let end = (at + 1 + dice.below(200)).min(bytes.len());
    match kind {
        0 | 1 => bytes[at] ^= 1 << (dice.byte() % 8),
        2 => bytes[at] = dice.byte(),
        3 => bytes[at..end].fill(0),
        4 => bytes[at..end].fill(0xff),
        5 => {
            // A lost sector, as a power cut or a bad block leaves it.
            let sector = at / 512 * 512;
            let end = (sector + 512).min(bytes.len());
            bytes[sector..end].fill(0);
        }
        6 => {
            let to = dice.below(used).min(bytes.len() - (end - at));
            bytes.copy_within(at..end, to);
        }
        7 => bytes.truncate(at + 1),
        _ => {
            let more = dice.below(64);
            bytes.resize(bytes.len() + more, dice.byte());
        }
    }
}

fn text(i: u64) -> String {
    format!("{i:0>width$}", width = 20 + (i as usize * 37) % 300)
}

/// Commits a short history, each batch a write of its own, and says where each frame begins and the last one ends.
fn history(rig: &StoreHarness) -> Vec<usize> {
    let store = rig.open().unwrap();
    let end = || rig.disk.bytes(FIRST).unwrap().iter().rposition(|b| *b != 0).unwrap() + 1;
    let mut places = vec![SEGMENT_HEADER];
    for i in 0..HISTORY {
        let writes = vec![put(&format!("k{i:04}"), i, &text(i))];
        let answer = enqueue(&*store, batch(writes, vec![event("s", &i.to_string())]));
        store.step_commit();
        answer.recv().unwrap().unwrap();
        places.push(end().next_multiple_of(8));
    }
    places
}

/// How many batches a store holds: all of its rows and events must be those of that many.
fn batches(store: &JournalStore) -> u64 {
    let held = store.durable_seq();
    let expected: Vec<(u64, String)> = (0..held).map(|i| (i + 1, i.to_string())).collect();
    assert_eq!(payloads(store, 0, 1000, Some("s")), expected);
    let names: Vec<String> = (0..held).map(|i| format!("k{i:04}")).collect();
    assert_eq!(keys(store, "", None, 1000), names);
    for (i, name) in names.iter().enumerate() {
        assert_eq!(value(store, name), Some((i as u64, text(i as u64))));
    }
    held
}

#[test]
fn case_65_changed_journal_is_exact_or_rejected() {
    // Checks: after any change, a journal that opens has exactly the batches up to some point. These are all batches,
    // unless every later one was changed: one intact frame after a bad one distinguishes corruption from a torn write.
    let rig = AssertUnwindSafe(StoreHarness::new());
    let places = history(&rig);
    let good = rig.disk.bytes(FIRST).unwrap();
    let used = places[HISTORY as usize];
    check!()
        .with_iterations(1_500)
        .with_max_len(48)
        .for_each(|input: &[u8]| {
            let mut dice = InputBytes(input);
            let mut changed = good.clone();
            (0..1 + dice.below(3)).for_each(|_| change(&mut changed, used, &mut dice));
            let touched = |i: &u64| {
                let frame = places[*i as usize]..places[*i as usize + 1];
                changed.get(frame.clone()) != Some(&good[frame])
            };
            let lost = (0..HISTORY).rev().take_while(touched).count() as u64;
            rig.disk.corrupt(FIRST, |bytes| bytes.clone_from(&changed)).unwrap();
            rig.lose_snapshots();
            match rig.open() {
                Ok(store) => {
                    let held = batches(&store);
                    assert!(held + lost >= HISTORY, "{held} held, {lost} touched");
                }
                Err(OpenError::Corrupt { segment, .. }) => assert_eq!(segment, FIRST),
                Err(e) => panic!("{e}"),
            }
        });
}

/// Makes a frame's checksums right again, as only who knows the segment's salt can.
fn seal(bytes: &mut [u8], at: usize) {
    let salt = crc32c::crc32c(&bytes[56..64]);
    let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let payload = at + FRAME_HEADER;
    let crc = crc32c::crc32c_append(salt, bytes.get(payload..payload + length).unwrap_or_default());
    bytes[at + 4..at + 8].copy_from_slice(&crc.to_le_bytes());
    let crc = crc32c::crc32c_append(salt, &bytes[at..at + 44]);
    bytes[at + 44..at + 48].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn a_frame_with_right_checksums_is_still_read_with_care() {
    // Checks: with valid checksums, which only a writer's bug could produce, inconsistent counts and lengths are
    // corruption with a position. A frame that still parses keeps its events in order.
    let rig = AssertUnwindSafe(StoreHarness::new());
    let places = history(&rig);
    let good = rig.disk.bytes(FIRST).unwrap();
    check!()
        .with_iterations(1_500)
        .with_max_len(48)
        .for_each(|input: &[u8]| {
            let mut dice = InputBytes(input);
            let at = dice.below(HISTORY as usize);
            let (start, length) = (places[at], places[at + 1] - places[at]);
            let mut frame = good[start..start + length].to_vec();
            (0..1 + dice.below(3)).for_each(|_| change(&mut frame, length, &mut dice));
            frame.resize(length, 0);
            let mut changed = good.clone();
            changed[start..start + length].copy_from_slice(&frame);
            seal(&mut changed, start);
            rig.disk.corrupt(FIRST, |bytes| *bytes = changed).unwrap();
            rig.lose_snapshots();
            match rig.open() {
                Ok(store) => {
                    let events = payloads_lossy(&store);
                    assert!(events.windows(2).all(|pair| pair[0] < pair[1]));
                    assert!(events.iter().all(|seq| *seq <= store.durable_seq()));
                }
                Err(OpenError::Corrupt { segment, .. }) => assert_eq!(segment, FIRST),
                Err(OpenError::Snapshots(why)) => assert!(why.contains("the frame at sequence"), "{why}"),
                Err(e) => panic!("{e}"),
            }
        });
}

fn payloads_lossy(store: &JournalStore) -> Vec<u64> {
    let events = crate::suite::wait(store.events(0, 1000, None)).unwrap();
    events.into_iter().map(|event| event.seq).collect()
}

fn backup(root: &Path) -> Vec<u8> {
    let (dir, file) = (root.join("store"), root.join("good.backup"));
    let store = JournalStore::open(options(&dir)).unwrap();
    for i in 0..HISTORY {
        commit(&*store, batch(vec![put(&format!("k{i:04}"), i, &text(i))], vec![])).unwrap();
    }
    store.backup(&file).unwrap();
    std::fs::read(file).unwrap()
}

#[test]
fn case_66_backup_is_read_completely_or_not_at_all() {
    // Checks: a backup has each row once and the sequence. A truncated or changed one is an error.
    let root = tempfile::tempdir().unwrap();
    let good = backup(root.path());
    let file = root.path().join("good.backup");
    let read = || {
        let mut keys = Vec::new();
        let seq = JournalStore::read_backup(&file, &mut |key, _| keys.push(key.to_vec()));
        seq.map(|seq| (seq, keys))
    };
    let (seq, keys) = read().unwrap();
    assert!(seq > 0 && keys.len() as u64 == HISTORY && keys.is_sorted());
    for at in [29, good.len() / 2, good.len() - 1] {
        std::fs::write(&file, &good[..at]).unwrap();
        assert!(read().is_err(), "cut at {at}");
        let mut changed = good.clone();
        changed[at] ^= 1;
        std::fs::write(&file, &changed).unwrap();
        assert!(read().is_err(), "changed at {at}");
    }
}

#[test]
fn case_66_changed_backup_is_rejected() {
    // Checks: a backup is restored exactly or rejected, and a rejected one leaves the directory free. With corrected
    // checksums the rows are still validated.
    const HEADER: usize = 28;
    let root = tempfile::tempdir().unwrap();
    let good = backup(root.path());
    let folder = root.path().to_path_buf();
    check!().with_iterations(300).with_max_len(48).for_each(|input: &[u8]| {
        let mut dice = InputBytes(input);
        let sealed = dice.byte() % 2 == 1;
        let mut changed = good.clone();
        if sealed {
            let end = good.len() - 20;
            let mut block = good[HEADER + 8..end].to_vec();
            (0..1 + dice.below(3)).for_each(|_| change(&mut block, end - HEADER - 8, &mut dice));
            block.resize(end - HEADER - 8, 0);
            changed[HEADER + 8..end].copy_from_slice(&block);
            let crc = crc32c::crc32c(&block).to_le_bytes();
            changed[HEADER + 4..HEADER + 8].copy_from_slice(&crc);
            changed[end + 12..end + 16].copy_from_slice(&crc32c::crc32c(&crc).to_le_bytes());
            let crc = crc32c::crc32c(&changed[end..end + 16]);
            changed[end + 16..].copy_from_slice(&crc.to_le_bytes());
        } else {
            (0..1 + dice.below(3)).for_each(|_| change(&mut changed, good.len(), &mut dice));
        }
        let (file, dir) = (folder.join("changed.backup"), folder.join("restored"));
        std::fs::write(&file, &changed).unwrap();
        let restored = JournalStore::restore(&file, &dir, 1);
        match restored {
            Ok(mark) => assert!(mark.seq == HISTORY && (sealed || changed == good)),
            Err(StoreError::Corrupt(_)) => assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0),
            Err(e) => panic!("{e}"),
        }
        std::fs::remove_dir_all(&dir).unwrap();
    });
}

/// As snapshots are made of: lengths, tags, numbers.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
enum Sample {
    Empty,
    Full {
        id: [u8; 16],
        names: Vec<String>,
        maybe: Option<Box<Sample>>,
        flag: bool,
    },
}

impl Stored for Sample {
    const SCHEMA: u16 = 0xFFF3;
}

#[test]
fn stored_value_is_exact_or_rejected() {
    // Checks: changed bytes are rejected. With a corrected checksum, a parsed value encodes to the same bytes.
    let good = codec::encode(&Sample::Full {
        id: [7; 16],
        names: vec!["a".into(), String::new(), "Zo\u{eb}".into()],
        maybe: Some(Box::new(Sample::Empty)),
        flag: true,
    });
    check!()
        .with_iterations(20_000)
        .with_max_len(48)
        .for_each(|input: &[u8]| {
            assert!(codec::decode::<Sample>(input).is_err());
            let mut dice = InputBytes(input);
            let mut changed = good.clone();
            (0..1 + dice.below(3)).for_each(|_| change(&mut changed, good.len(), &mut dice));
            assert_eq!(codec::decode::<Sample>(&changed).is_ok(), changed == good);
            if changed.len() >= 7 {
                let crc = crc32c::crc32c_append(crc32c::crc32c(&changed[..3]), &changed[7..]);
                changed[3..7].copy_from_slice(&crc.to_le_bytes());
                if let Ok(value) = codec::decode::<Sample>(&changed) {
                    assert_eq!(codec::encode(&value), changed);
                }
            }
        });
}
