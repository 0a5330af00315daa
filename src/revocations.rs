//! Log of what an older backup must not bring back: revoked sessions, API keys, passkeys and operator tokens, frozen
//! accounts and stopped agents. The file lies beside the store, so a restore of the store does not replace it. Every line is on disk
//! before its change is reported to anyone.
//!
//! Each line is a checksum over all lines before it and itself, then JSON. A last line without its end was reported to
//! no client and is cut off. Any other line that does not match is corruption and prevents the start.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use purser_actors::entity::{account, recovery};
use purser_actors::id::{ApiKeyId, PasskeyId, SessionId, Wallet};
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::event_record::EventRecord;
use purser_actors::port::Entropy;
use purser_storage::codec;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Bytes of a checksum, written in hexadecimal on each line.
const SUM: usize = 8;

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("{}: {error}", .file.display())]
    Io { file: PathBuf, error: io::Error },
    /// The file does not match its checksums.
    #[error(
        "{} is damaged at line {line}: put a whole copy in its place, or move it away; a restore without it suspends every key, session \
         and operator's token",
        .file.display()
    )]
    Corrupt {
        file: PathBuf,
        /// Line number, from 1.
        line: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    /// Unique name of the store that the log belongs to.
    store: String,
    /// The log has no entries from before this time, in Unix milliseconds.
    since_ms: u64,
}

/// A revocation, or an account that was frozen or unfrozen, or whose agents were stopped or resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A session, with all its tokens.
    Session(String),
    /// An API key, with all tokens issued for it.
    ApiKey(String),
    /// A passkey, with all sessions that it opened.
    Passkey(String),
    /// SHA-256 of the credential id of an operator's passkey.
    OperatorPasskey(String),
    /// SHA-256 of an operator token.
    OperatorToken(String),
    Frozen {
        /// Exact address of the account.
        account: String,
        /// Message shown to the account owner.
        message: String,
    },
    Unfrozen {
        /// Exact address of the account.
        account: String,
    },
    /// A recovery was completed: all access from before has ended.
    AccessEnded {
        /// Exact address of the account.
        account: String,
    },
    /// All agents of an account were stopped.
    AgentsStopped {
        /// Exact address of the account.
        account: String,
    },
    /// The agents of an account may act again.
    AgentsResumed {
        /// Exact address of the account.
        account: String,
    },
}

/// A position in the file: the number of lines before it and the checksum of the last one. Checksums are chained, so
/// two files that share a position are identical up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPosition {
    lines: u64,
    sum: [u8; SUM],
}

impl LogPosition {
    /// The form in which the store persists it.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.lines.to_be_bytes());
        bytes[8..].copy_from_slice(&self.sum);
        bytes
    }

    /// Reverses [`LogPosition::to_bytes`]; `None` if the length is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (lines, sum) = bytes.split_first_chunk::<8>()?;
        Some(Self {
            lines: u64::from_be_bytes(*lines),
            sum: sum.try_into().ok()?,
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogContents {
    header: Option<Header>,
    /// In file order.
    pub entries: Vec<Entry>,
    /// Checksum of each line, the header's first.
    sums: Vec<[u8; SUM]>,
    /// Length in bytes up to the end of the last complete line.
    bytes: u64,
}

impl LogContents {
    /// Entries after a position. `None` if the file does not contain the position: it is older, or was started or
    /// continued for another store.
    pub fn entries_after(&self, place: LogPosition) -> Option<&[Entry]> {
        let last = usize::try_from(place.lines).ok()?.checked_sub(1)?;
        let through = self.sums.get(last) == Some(&place.sum);
        self.entries.get(last..).filter(|_| through)
    }

    /// Position of the end.
    pub fn end(&self) -> LogPosition {
        LogPosition {
            lines: self.sums.len() as u64,
            sum: self.sums.last().copied().unwrap_or_default(),
        }
    }

    /// Name of the store that the log belongs to.
    pub fn store(&self) -> Option<&str> {
        self.header.as_ref().map(|header| header.store.as_str())
    }
}

/// The open file. Writers wait until their line is on disk.
pub struct RevocationLog {
    path: PathBuf,
    end: Mutex<LogTail>,
}

struct LogTail {
    file: File,
    position: LogPosition,
}

fn sum_of(before: &[u8; SUM], json: &str) -> [u8; SUM] {
    let hash = Sha256::new().chain_update(before).chain_update(json).finalize();
    let mut sum = [0; SUM];
    sum.copy_from_slice(&hash[..SUM]);
    sum
}

/// Reads the file. A missing file has no entries.
///
/// # Errors
/// When the file cannot be read or is corrupt.
pub fn read(path: &Path) -> Result<LogContents, LogError> {
    let mut text = Vec::new();
    let failed = |error| LogError::Io {
        file: path.to_owned(),
        error,
    };
    match File::open(path) {
        Ok(mut file) => {
            let read = file.read_to_end(&mut text);
            read.map_err(failed)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LogContents::default()),
        Err(error) => return Err(failed(error)),
    }
    let mut found = LogContents::default();
    for (number, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        // An incomplete line was reported to no client.
        let Some(line) = line.strip_suffix(b"\n") else { break };
        let damaged = || LogError::Corrupt {
            file: path.to_owned(),
            line: number + 1,
        };
        let line = std::str::from_utf8(line).map_err(|_| damaged())?;
        let (sum, json) = line.split_once(' ').ok_or_else(damaged)?;
        let expected = sum_of(&found.end().sum, json);
        if hex::encode(expected) != sum {
            return Err(damaged());
        }
        if number == 0 {
            found.header = Some(serde_json::from_str(json).map_err(|_| damaged())?);
        } else {
            found.entries.push(serde_json::from_str(json).map_err(|_| damaged())?);
        }
        found.sums.push(expected);
        found.bytes += line.len() as u64 + 1;
    }
    Ok(found)
}

/// Moves aside a file whose store continues with another one, and returns the new path.
///
/// # Errors
/// When the file cannot be moved.
pub fn move_aside(path: &Path, now_ms: u64) -> Result<PathBuf, LogError> {
    let aside = path.with_extension(format!("{now_ms}.log"));
    std::fs::rename(path, &aside).map_err(|error| LogError::Io {
        file: path.to_owned(),
        error,
    })?;
    Ok(aside)
}

/// Generates the name of a new store.
pub fn generate_store_name(entropy: &dyn Entropy) -> String {
    format!("{:032x}", entropy.random())
}

impl RevocationLog {
    /// Continues the file that was read, or creates one for this store.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn open(path: &Path, read: &LogContents, store: &str, now_ms: u64) -> Result<Self, LogError> {
        let failed = |error| LogError::Io {
            file: path.to_owned(),
            error,
        };
        let is_new = read.header.is_none();
        let open = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .mode(0o600)
            .open(path);
        let mut file = open.map_err(failed)?;
        file.set_len(read.bytes).map_err(failed)?;
        // Lines of a process that died must be on disk before anything relies on them.
        file.sync_all().map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let place = read.end();
        let log = Self {
            path: path.to_owned(),
            end: Mutex::new(LogTail { file, position: place }),
        };
        if is_new {
            let header = Header {
                store: store.to_owned(),
                since_ms: now_ms,
            };
            log.write(&[header]).map_err(failed)?;
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = File::open(folder.unwrap_or_else(|| Path::new(".")));
            folder.and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        Ok(log)
    }

    /// Position of the end: everything before it is on disk.
    pub fn end(&self) -> LogPosition {
        self.end.lock().position
    }

    fn write<T: Serialize>(&self, lines: &[T]) -> io::Result<()> {
        let mut end = self.end.lock();
        let (mut text, mut sum) = (String::new(), end.position.sum);
        for line in lines {
            let json = serde_json::to_string(line)?;
            sum = sum_of(&sum, &json);
            text.push_str(&hex::encode(sum));
            text.push(' ');
            text.push_str(&json);
            text.push('\n');
        }
        end.file.write_all(text.as_bytes())?;
        end.file.sync_data()?;
        end.position = LogPosition {
            lines: end.position.lines + lines.len() as u64,
            sum,
        };
        Ok(())
    }

    /// Appends these entries. An entry that cannot be persisted must not be reported, so on failure the process ends,
    /// as when the journal fails. The next start then finds the complete lines.
    pub fn record(&self, entries: &[Entry]) {
        if entries.is_empty() {
            return;
        }
        if let Err(error) = self.write(entries) {
            tracing::error!(file = %self.path.display(), %error, "a revocation could not be recorded; the process ends");
            std::process::abort();
        }
    }
}

/// The entry for an event that must survive a restore, if it is one.
pub fn entry_of(record: &EventRecord) -> Option<Entry> {
    let number = || <[u8; 16]>::try_from(record.id.as_slice()).map(u128::from_be_bytes).ok();
    if record.kind == EntityKind::Session as u8 && record.status == "revoked" {
        return Some(Entry::Session(SessionId(number()?).to_string()));
    }
    if record.kind == EntityKind::ApiKey as u8 && record.status == "revoked" {
        return Some(Entry::ApiKey(ApiKeyId(number()?).to_string()));
    }
    if record.kind == EntityKind::Passkey as u8 && record.status == "removed" {
        return Some(Entry::Passkey(PasskeyId(number()?).to_string()));
    }
    if record.kind == EntityKind::Recovery as u8 && record.status == "completed" {
        let account = Wallet::from_key(&record.id)?.address();
        return match codec::decode(&record.event).ok()? {
            recovery::Event::Completed(_) => Some(Entry::AccessEnded { account }),
            _ => None,
        };
    }
    if record.kind != EntityKind::Account as u8 || record.announcement.is_none() {
        return None;
    }
    let account = Wallet::from_key(&record.id)?.address();
    match codec::decode(&record.event).ok()? {
        account::Event::Frozen(message) => Some(Entry::Frozen { account, message }),
        account::Event::Unfrozen => Some(Entry::Unfrozen { account }),
        account::Event::AgentsStopped(_) => Some(Entry::AgentsStopped { account }),
        account::Event::AgentsResumed => Some(Entry::AgentsResumed { account }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn entry(n: u128) -> Entry {
        Entry::Session(SessionId(n).to_string())
    }

    // Checks: a log contains each of its earlier end positions and returns the entries after it. It contains no
    // position of a longer file, or of one that diverged after the same beginning.
    #[test]
    fn case_81_log_continues_only_at_its_own_positions() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("revocations.log"), folder.path().join("other.log"));
        let log = RevocationLog::open(&path, &read(&path).unwrap(), "a", 5).unwrap();
        let mut places = vec![log.end()];
        for n in 1..4 {
            log.record(&[entry(n)]);
            places.push(log.end());
            if n == 2 {
                std::fs::copy(&path, &other).unwrap();
            }
        }
        let whole = read(&path).unwrap();
        for (n, place) in places.iter().enumerate() {
            let kept = LogPosition::from_bytes(&place.to_bytes()).unwrap();
            assert_eq!(whole.entries_after(kept), Some(&whole.entries[n..]));
        }
        let older = read(&other).unwrap();
        assert_eq!(older.entries_after(places[2]), Some(&[][..]));
        assert_eq!(older.entries_after(places[3]), None);
        RevocationLog::open(&other, &older, "a", 9)
            .unwrap()
            .record(&[entry(4), entry(5)]);
        let other_log = read(&other).unwrap();
        assert_eq!(other_log.entries_after(places[2]), Some(&[entry(4), entry(5)][..]));
        assert_eq!(other_log.entries_after(places[3]), None);
        assert_eq!(LogPosition::from_bytes(&[0; 15]), None);
    }

    // Checks: entries are read back in order after a restart, and an incomplete line is cut off and overwritten. A
    // changed byte or a missing line in the middle is reported as corruption with its line number.
    #[test]
    fn case_81_corrupt_log_is_reported_with_its_position() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("revocations.log");
        let begun = read(&path).unwrap();
        assert_eq!((begun.store(), begun.entries_after(begun.end())), (None, None));
        RevocationLog::open(&path, &begun, "a", 5)
            .unwrap()
            .record(&[entry(1), entry(2)]);
        let torn = [std::fs::read(&path).unwrap(), b"00112233".to_vec()].concat();
        std::fs::write(&path, &torn).unwrap();
        let again = read(&path).unwrap();
        assert_eq!(again.entries, [entry(1), entry(2)]);
        RevocationLog::open(&path, &again, "b", 9).unwrap().record(&[entry(3)]);
        let whole = read(&path).unwrap();
        assert_eq!(whole.entries, [entry(1), entry(2), entry(3)]);
        assert_eq!(whole.store(), Some("a"));

        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let lacking = format!("{}\n{}\n{}\n", lines[0], lines[2], lines[3]);
        let changed = text.replacen("ses_", "sex_", 1);
        for (bad, line) in [(lacking, 2), (changed, 2)] {
            std::fs::write(&path, bad).unwrap();
            let error = read(&path).unwrap_err();
            assert!(
                matches!(&error, LogError::Corrupt { line: at, .. } if *at == line),
                "{error}"
            );
        }
    }
}
