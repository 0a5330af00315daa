#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::path::Path;

use super::*;

const KIND: [u8; 8] = *b"TESTLOG1";

fn open(path: &Path) -> Result<(RecordLog, Vec<Vec<u8>>), LogError> {
    let mut seen = Vec::new();
    let mut file = LogFile::open(path, KIND)?;
    let end = file.replay(file.first, |frame| {
        seen.extend(frame.records()?.into_iter().map(<[u8]>::to_vec));
        Ok(())
    })?;
    let (file, name) = file.split(&tail(end))?;
    Ok((RecordLog::start(file, name, tail(end), channel().0).unwrap(), seen))
}

const fn tail(end: u64) -> LogTail {
    LogTail {
        end,
        point: None,
        entries: Vec::new(),
    }
}

async fn three_frames(path: &Path) {
    let (log, _) = open(path).unwrap();
    for text in ["one", "two", "three"] {
        log.append(text.into(), Vec::new()).wait().await.unwrap();
    }
}

// case_65, case_66: for every length the file is cut to, reading returns a prefix of what was written.
#[tokio::test]
async fn case_66_every_torn_tail_leaves_a_prefix() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    three_frames(&path).await;
    let whole = std::fs::read(&path).unwrap();
    let mut most = 0;
    for cut in 0..=whole.len() {
        let torn = dir.path().join("torn");
        std::fs::write(&torn, &whole[..cut]).unwrap();
        let (log, seen) = open(&torn).unwrap();
        let all: [&[u8]; 3] = [b"one", b"two", b"three"];
        assert!(
            all.starts_with(&seen.iter().map(Vec::as_slice).collect::<Vec<_>>()),
            "cut at {cut}"
        );
        assert!(seen.len() >= most, "a longer file never holds less");
        most = seen.len();
        log.append(b"after".to_vec(), Vec::new()).wait().await.unwrap();
        drop(log);
        assert_eq!(open(&torn).unwrap().1.last().unwrap(), b"after");
    }
    assert_eq!(most, 3);
}

// case_65: a flipped bit before the last frame is reported with its offset; in the last frame it is a torn tail.
#[tokio::test]
async fn case_65_a_flipped_bit_is_never_read_as_data() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    three_frames(&path).await;
    let whole = std::fs::read(&path).unwrap();
    let last = whole.len() - (FRAME_HEADER + 4 + 5);
    for at in 0..whole.len() {
        let flipped = dir.path().join("flipped");
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&flipped, &bytes).unwrap();
        match open(&flipped) {
            Ok((_, seen)) => {
                assert!(at >= last, "a bit at {at} went unnoticed");
                assert_eq!(seen, [b"one", b"two"]);
            }
            Err(LogError::Corrupt { .. }) => assert!(at < last, "a bit at {at} is the tail's"),
            Err(other) => panic!("{other}"),
        }
    }
}

// A second process must not write to the same file.
#[tokio::test]
async fn the_file_is_held_by_one_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let (first, _) = open(&path).unwrap();
    assert!(matches!(open(&path), Err(LogError::Io { .. })));
    drop(first);
    assert!(open(&path).is_ok());
}

// Group commit preserves the order of the calls and loses none.
#[tokio::test]
async fn many_at_once_keep_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let (log, _) = open(&path).unwrap();
    let waits: Vec<_> = (0u32..500)
        .map(|n| log.append(n.to_le_bytes().to_vec(), Vec::new()))
        .collect();
    for wait in waits {
        wait.wait().await.unwrap();
    }
    drop(log);
    let seen = open(&path).unwrap().1;
    assert!(
        seen.iter()
            .enumerate()
            .all(|(n, r)| r[..] == u32::try_from(n).unwrap().to_le_bytes())
    );
    assert_eq!(seen.len(), 500);
}

struct FullDisk;

impl FrameSink for FullDisk {
    fn write_durably(&mut self, _: &[u8]) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }
}

// case_65: after a failed write no record is confirmed any more, for its waiter or for later ones.
#[tokio::test]
async fn case_65_a_full_disk_promises_nothing() {
    let log = RecordLog::start(FullDisk, "full".into(), tail(0), channel().0).unwrap();
    log.barrier().wait().await.expect("nothing to write yet");
    for _ in 0..3 {
        assert!(matches!(
            log.append(b"lost".to_vec(), Vec::new()).wait().await,
            Err(LogError::Stopped)
        ));
    }
    assert!(matches!(log.barrier().wait().await, Err(LogError::Stopped)));
}
