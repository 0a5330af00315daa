//! What callers put into rows and events is never taken for the journal's own bytes.

use purser_storage::sim_disk::SimDisk;
use purser_storage::{Batch, JournalStore, OpenError, Store, Write};

use crate::recovery::{FIRST, StoreHarness};
use crate::suite::{enqueue, value};

/// Where a segment's header keeps its salt.
const SALT: std::ops::Range<usize> = 56..64;
const SECTOR: usize = 512;

/// A frame's header of the newest epoch there can be, as anybody who knows the format can write it.
fn forged_head(salt: &[u8], group: u32) -> Vec<u8> {
    let mut head = Vec::with_capacity(48);
    head.extend_from_slice(&1_u32.to_le_bytes());
    head.extend_from_slice(&[0; 4]);
    head.extend_from_slice(&11_u64.to_le_bytes());
    head.extend_from_slice(&u32::MAX.to_le_bytes());
    head.extend_from_slice(&group.to_le_bytes());
    head.extend_from_slice(&[0; 16]);
    head.extend_from_slice(&1_u32.to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(salt), &head);
    head.extend_from_slice(&crc.to_le_bytes());
    head
}

fn end_of(disk: &SimDisk) -> usize {
    let bytes = disk.bytes(FIRST).unwrap();
    (bytes.iter().rposition(|b| *b != 0).unwrap() + 1).next_multiple_of(8)
}

/// Commits ten rows and a last one of forged headers, at every alignment that a frame can have, whose first
/// sector a power cut then takes. Returns where that last write began.
fn torn_behind_forged_heads(rig: &StoreHarness, salt: impl FnOnce(&[u8]) -> Vec<u8>, group: u32) -> usize {
    let store = rig.open().unwrap();
    rig.fill(&store, 0, 10);
    let start = end_of(&rig.disk);
    let salt = salt(&rig.disk.bytes(FIRST).unwrap()[SALT]);
    let put = Write::Put {
        key: b"memo".as_slice().into(),
        revision: 1,
        value: [&forged_head(&salt, group)[..], b"."].concat().repeat(80),
    };
    let writes = vec![put];
    let answer = enqueue(
        &*store,
        Batch {
            writes,
            ..Batch::default()
        },
    );
    store.step_commit();
    answer.recv().unwrap().unwrap();
    drop(store);
    let sector_end = (start / SECTOR + 1) * SECTOR;
    rig.disk
        .corrupt(FIRST, |bytes| bytes[start..sector_end].fill(0))
        .unwrap();
    start
}

fn assert_continues(rig: &StoreHarness, store: &JournalStore) {
    assert_eq!((store.durable_seq(), value(store, "memo")), (10, None));
    rig.fill(store, 20, 1);
    assert_eq!(value(store, "k0020").unwrap().0, 20);
}

/// Checks: frame headers that a caller wrote into a row cannot make a torn write look like corruption.
#[test]
fn case_66_a_forged_header_in_a_payload_is_only_payload() {
    let rig = StoreHarness::new();
    torn_behind_forged_heads(&rig, |_| Vec::new(), u32::MAX);
    assert_continues(&rig, &rig.open().unwrap());
    // The salt alone keeps them apart: with it, the same bytes are believed.
    let rig = StoreHarness::new();
    let start = torn_behind_forged_heads(&rig, <[u8]>::to_vec, u32::MAX);
    assert_eq!(rig.corrupt_at(), Some((FIRST.into(), start as u64)));
}

/// Checks: an epoch in a torn write does not count, even with the right salt.
#[test]
fn an_epoch_in_a_torn_write_does_not_count() {
    let rig = StoreHarness::new();
    let start = torn_behind_forged_heads(&rig, <[u8]>::to_vec, 0);
    assert_continues(&rig, &rig.open().unwrap());
    let epoch = rig.disk.bytes(FIRST).unwrap()[start + 16..start + 20].to_vec();
    assert_eq!(epoch, 2_u32.to_le_bytes());
    assert_eq!(rig.open().unwrap().durable_seq(), 11);
}

/// Checks: epochs never wrap: a journal at the last one is rejected.
#[test]
fn last_epoch_is_rejected_not_wrapped() {
    let rig = StoreHarness::new();
    let store = rig.open().unwrap();
    rig.fill(&store, 0, 1);
    drop(store);
    rig.disk
        .corrupt(FIRST, |bytes| {
            bytes[44..48].copy_from_slice(&u32::MAX.to_le_bytes());
            let crc = crc32c::crc32c(&bytes[..68]);
            bytes[68..72].copy_from_slice(&crc.to_le_bytes());
        })
        .unwrap();
    assert!(matches!(rig.open(), Err(OpenError::Corrupt { what, .. }) if what.contains("epoch")));
}

/// Checks: the salt is known and the check as strict if the header itself never reached the disk.
#[test]
fn case_66_first_write_without_its_header_is_checked_too() {
    let rig = StoreHarness::new();
    let store = rig.open().unwrap();
    let blank = rig.disk.bytes(FIRST).unwrap();
    rig.fill(&store, 0, 1);
    drop(store);
    let revert = |bytes: &mut Vec<u8>| bytes[..SECTOR].copy_from_slice(&blank[..SECTOR]);
    rig.disk.corrupt(FIRST, revert).unwrap();
    let store = rig.open().unwrap();
    assert_eq!((store.durable_seq(), value(&*store, "k0000")), (0, None));
    assert_eq!(rig.disk.bytes(FIRST).unwrap(), blank);
    // A second write came after a sync of the first: now the first cannot have been torn.
    rig.fill(&store, 0, 2);
    drop(store);
    rig.disk.corrupt(FIRST, revert).unwrap();
    assert_eq!(rig.corrupt_at(), Some((FIRST.into(), 0)));
    rig.disk
        .corrupt(FIRST, |bytes| {
            bytes.clone_from(&blank);
            bytes[17] ^= 1;
        })
        .unwrap();
    assert_eq!(rig.corrupt_at(), Some((FIRST.into(), 0)));
}

/// Checks: each segment has its own salt. A simulation derives them from its seed.
#[test]
fn equal_seeds_give_equal_salts() {
    let salts = |seed: u64| {
        let mut rig = StoreHarness::new();
        rig.disk = SimDisk::seeded(seed);
        let store = rig.open().unwrap();
        rig.fill(&store, 0, 100);
        let salt = |name| rig.disk.bytes(name).unwrap()[SALT].to_vec();
        (salt(FIRST), salt("wal-000000000002.seg"))
    };
    assert_eq!(salts(7), salts(7));
    assert_ne!(salts(7), salts(8));
    assert_ne!(salts(7).0, salts(7).1);
    // On real files they come from the system.
    let root = tempfile::tempdir().unwrap();
    let disk = purser_storage::disk::FileDisk::open(root.path()).unwrap();
    use purser_storage::disk::Disk;
    assert_ne!(disk.salt().unwrap(), disk.salt().unwrap());
}
