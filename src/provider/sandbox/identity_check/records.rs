//! Records of the sandbox's identity checks. The person's answers are not stored.

use purser_actors::id::{JobId, Wallet};
use purser_actors::port::{Timestamp, Verdict};
use purser_storage::codec::Stored;
use sha2::{Digest as _, Sha256};

use purser_sandbox::record_book;
use purser_sandbox::records::{RecordBook, SandboxRecord, key_name, name};
use purser_sandbox::state::StoredValue;

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

fn by_text(text: &str) -> u64 {
    name(&[b"text", text.as_bytes()])
}

impl Stored for CheckRecord {
    const SCHEMA: u16 = 711;
}

impl SandboxRecord for CheckRecord {
    fn names(&self) -> Vec<u64> {
        let key = self.key();
        match self {
            Self::Started { .. } => vec![key_name(key), by_text(&reference(key)), by_text(&token(key))],
            Self::Answered { .. } => vec![key_name(key)],
        }
    }

    fn is_numbered(&self) -> bool {
        matches!(self, Self::Started { .. })
    }
}

#[derive(Debug, Default, bincode::Encode, bincode::Decode)]
pub(super) struct CheckTotals {
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// The newest check.
    pub(super) last: Option<JobId>,
    /// The provider's time never runs backwards.
    pub(super) now: Timestamp,
}

impl Stored for CheckTotals {
    const SCHEMA: u16 = 712;
}

record_book! {
    pub(super) struct CheckRecords of CheckRecord {
        pub(super) totals: StoredValue<CheckTotals>,
    }
}

impl CheckRecords {
    pub(super) fn by_key(&self, key: JobId) -> Option<CheckSummary> {
        let mut found = None;
        for entry in self.rows.find(key_name(key)) {
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
        let near = self.rows.find(by_text(wanted)).into_iter();
        let key = near.map(|entry| entry.key()).find(|key| named(*key) == wanted)?;
        self.by_key(key)
    }
}

impl RecordBook for CheckRecords {
    fn apply(&mut self, entry: &CheckRecord) -> Result<(), String> {
        let totals = &mut *self.totals;
        let (CheckRecord::Started { at, .. } | CheckRecord::Answered { at, .. }) = entry;
        totals.now = totals.now.max(*at);
        match entry {
            CheckRecord::Started { key, .. } => totals.last = Some(*key),
            CheckRecord::Answered {
                verdict: Verdict::Passed,
                ..
            } => totals.passed += 1,
            CheckRecord::Answered { .. } => totals.failed += 1,
        }
        Ok(())
    }
}
