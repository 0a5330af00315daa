//! Records of the sandbox's identity checks, in an archive. The person's answers are not stored.

use purser_actors::id::{JobId, Wallet};
use purser_actors::port::{Timestamp, Verdict};
use sha2::{Digest as _, Sha256};

use crate::sandbox::archive::{ArchiveRecord, ArchiveState, RecordBuffer, name};

/// One record of the file.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) enum CheckRecord {
    /// A check was started.
    Started { key: JobId, wallet: Wallet, at: Timestamp },
    /// The person has answered; the verdict holds from `decided_at` on.
    Answered {
        key: JobId,
        at: Timestamp,
        decided_at: Timestamp,
        verdict: Verdict,
    },
}

impl CheckRecord {
    const fn key(&self) -> JobId {
        match self {
            Self::Started { key, .. } | Self::Answered { key, .. } => *key,
        }
    }
}

/// A check, assembled from its records.
#[derive(Clone, Debug)]
pub(super) struct CheckSummary {
    pub(super) key: JobId,
    pub(super) wallet: Wallet,
    pub(super) at: Timestamp,
    pub(super) answered: Option<(Timestamp, Verdict)>,
}

/// The provider's reference of a check.
pub(super) fn reference(key: JobId) -> String {
    format!("sbx_check_{}", derive(b"reference", key))
}

/// The secret token at the end of the page's URL.
pub(super) fn token(key: JobId) -> String {
    derive(b"token", key)
}

fn derive(what: &[u8], key: JobId) -> String {
    let mut hash = Sha256::new();
    hash.update(b"purser SANDBOX identity check");
    hash.update(what);
    hash.update(key.0.to_be_bytes());
    hex::encode(&hash.finalize()[..16])
}

fn by_key(key: JobId) -> u64 {
    name(&[b"key", &key.0.to_be_bytes()])
}

fn by_text(text: &str) -> u64 {
    name(&[b"text", text.as_bytes()])
}

impl ArchiveRecord for CheckRecord {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (entry, used) =
            bincode::decode_from_slice(record, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(vec![entry])
        } else {
            Err("trailing bytes".into())
        }
    }

    fn index_keys(&self) -> Vec<u64> {
        let key = self.key();
        match self {
            Self::Started { .. } => vec![by_key(key), by_text(&reference(key)), by_text(&token(key))],
            Self::Answered { .. } => vec![by_key(key)],
        }
    }

    fn is_counted(&self) -> bool {
        matches!(self, Self::Started { .. })
    }
}

#[derive(Default)]
pub(super) struct CheckRecords {
    buffer: RecordBuffer<CheckRecord>,
    pub(super) started: u64,
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// The newest check.
    pub(super) last: Option<JobId>,
    /// The provider's time never runs backwards.
    pub(super) now: Timestamp,
}

impl CheckRecords {
    pub(super) fn by_key(&self, key: JobId) -> Option<CheckSummary> {
        let mut found = None;
        for entry in self.buffer.find(by_key(key)) {
            match (entry, &mut found) {
                (CheckRecord::Started { key: of, wallet, at }, None) if of == key => {
                    found = Some(CheckSummary {
                        key,
                        wallet,
                        at,
                        answered: None,
                    });
                }
                (
                    CheckRecord::Answered {
                        key: of,
                        decided_at,
                        verdict,
                        ..
                    },
                    Some(check),
                ) if of == key => check.answered = Some((decided_at, verdict)),
                _ => {}
            }
        }
        found
    }

    pub(super) fn by_reference(&self, wanted: &str) -> Option<CheckSummary> {
        self.find_by(wanted, reference)
    }

    pub(super) fn by_token(&self, wanted: &str) -> Option<CheckSummary> {
        self.find_by(wanted, token)
    }

    fn find_by(&self, wanted: &str, named: impl Fn(JobId) -> String) -> Option<CheckSummary> {
        let near = self.buffer.find(by_text(wanted)).into_iter();
        let key = near.map(|entry| entry.key()).find(|key| named(*key) == wanted)?;
        self.by_key(key)
    }
}

impl ArchiveState for CheckRecords {
    type Item = CheckRecord;

    fn apply(&mut self, entry: &CheckRecord) -> Result<(), String> {
        let (count, at) = match entry {
            CheckRecord::Started { at, .. } => (&mut self.started, *at),
            CheckRecord::Answered {
                verdict: Verdict::Passed,
                at,
                ..
            } => (&mut self.passed, *at),
            CheckRecord::Answered { at, .. } => (&mut self.failed, *at),
        };
        *count += 1;
        if let CheckRecord::Started { key, .. } = entry {
            self.last = Some(*key);
        }
        self.now = self.now.max(at);
        self.buffer.add(entry.clone());
        Ok(())
    }

    fn buffer(&mut self) -> &mut RecordBuffer<CheckRecord> {
        &mut self.buffer
    }

    fn save(&self) -> Vec<u8> {
        let saved = (self.started, self.passed, self.failed, self.last, self.now);
        // Encoding plain data into memory cannot fail.
        bincode::encode_to_vec(saved, bincode::config::standard()).unwrap_or_default()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), String> {
        let (saved, _) = bincode::decode_from_slice(saved, bincode::config::standard()).map_err(|e| e.to_string())?;
        (self.started, self.passed, self.failed, self.last, self.now) = saved;
        Ok(())
    }

    fn weight(&self) -> usize {
        0
    }
}
