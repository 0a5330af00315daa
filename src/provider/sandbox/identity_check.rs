//! The sandbox's identity check: a form for the person, a file of its own synced before it answers, a verdict after a
//! realistic delay, and a signed callback that may be lost, doubled or forged like anybody's.

mod callbacks;
mod form;
mod records;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::port::{
    BoxFuture, CheckStatus, Clock, ErrorKind, IdentityCheck, IdentityCheckRequest, PortError, StartedCheck, Timestamp,
    Verdict,
};

use self::form::FormResult;
pub use self::form::{InvalidField, MAGIC_NAMES, MagicFamilyName, VerdictDelivery};
use self::records::{CheckRecord, CheckRecords, CheckSummary, reference, token};
use super::fault_rules::{FaultRule, FaultRules};
use crate::provider::callback::CallbackKey;
use crate::sandbox::archive::Archive;
use crate::sandbox::record_log::{DurablePromise, LogError};

/// Where people answer; the address goes on with the check's own secret.
pub const PAGES: &str = "/sandbox/identity-check?token=";
const KIND: [u8; 8] = *b"SBXIDC01";
/// A check that nobody answers is given up after this.
const OPEN_FOR_MS: u64 = 24 * 3_600_000;
/// What the engine is told to wait while the person has not answered, and at most while the verdict is due.
const UNANSWERED_RETRY_MS: u64 = 5_000;
const MAX_RETRY_AFTER_MS: u64 = 2_000;
/// How long a call takes that times out.
const TIMEOUT_MS: u64 = 1_000;

/// A way in which calls of the service go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckFault {
    /// Nothing answers.
    Unreachable,
    /// The call takes so long, and then goes its way.
    Slow {
        /// In milliseconds.
        ms: u64,
    },
    /// The answer is nonsense.
    MalformedResponse,
    /// The check is begun and the answer never comes.
    Timeout,
    /// No check is begun and none will be.
    Decline,
}

impl CheckFault {
    /// Its name on the sandbox desk.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Slow { .. } => "slow",
            Self::MalformedResponse => "malformed_response",
            Self::Timeout => "timeout",
            Self::Decline => "decline",
        }
    }
}

/// The check's provider at a glance.
#[derive(Clone, Debug)]
pub struct SandboxCheckSummary {
    /// Checks begun.
    pub started: u64,
    /// Verdicts that say yes, due ones included.
    pub passed: u64,
    /// Verdicts that say no.
    pub failed: u64,
    /// The provider's name of the newest check.
    pub last_reference: Option<String>,
    /// The faults waiting for a call.
    pub rules: Vec<FaultRule<CheckFault>>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
}

/// What the person's page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckPage {
    /// The form.
    Open,
    /// It was answered.
    Answered,
    /// Nobody answered in time.
    Expired,
}

/// A simulated provider of identity checks.
pub struct SandboxIdentityCheck {
    decides_after_ms: u64,
    clock: Arc<dyn Clock>,
    records: Mutex<CheckRecords>,
    archive: Archive,
    rules: FaultRules<CheckFault>,
    /// Where the service takes callbacks, and the key they are signed with; unknown until it listens.
    callbacks: OnceLock<(String, CallbackKey)>,
    /// What the addresses of its pages begin with; nothing while the service itself shows them.
    pages_origin: OnceLock<String>,
}

impl SandboxIdentityCheck {
    /// Opens or makes `identity.checks` in the directory, which must exist.
    ///
    /// # Errors
    /// When the disk fails, another process has the file, or it is damaged before its tail.
    pub fn open(directory: &Path, decides_after_ms: u64, clock: Arc<dyn Clock>) -> Result<Self, LogError> {
        let mut book = CheckRecords::default();
        let archive = Archive::open(&directory.join("identity.checks"), KIND, &mut book)?;
        Ok(Self {
            decides_after_ms,
            clock,
            records: Mutex::new(book),
            archive,
            rules: FaultRules::default(),
            callbacks: OnceLock::new(),
            pages_origin: OnceLock::new(),
        })
    }

    /// Sends its callbacks there from now on, signed with this key. The first address stays.
    pub fn set_callback(&self, url: String, key: CallbackKey) {
        drop(self.callbacks.set((url, key)));
    }

    /// Its pages are shown at this origin from now on. The first stays.
    pub fn set_pages_origin(&self, origin: String) {
        drop(self.pages_origin.set(origin));
    }

    /// Adds a fault.
    pub fn add_fault(&self, rule: FaultRule<CheckFault>) {
        self.rules.add(rule);
    }

    /// Makes the provider well again.
    pub fn clear_faults(&self) {
        self.rules.clear();
    }

    /// Totals and faults, durably.
    ///
    /// # Errors
    /// When the file has stopped.
    pub async fn state(&self) -> Result<SandboxCheckSummary, LogError> {
        let (state, durable) = {
            let book = self.records.lock();
            let state = SandboxCheckSummary {
                started: book.started,
                passed: book.passed,
                failed: book.failed,
                last_reference: book.last.map(reference),
                rules: self.rules.pending(),
                faults_injected: self.rules.injected(),
            };
            (state, self.archive.barrier())
        };
        durable.wait().await.map(|()| state)
    }

    /// What a person's page shows; `None` for an address of nobody's.
    pub fn page(&self, token: &str) -> Option<CheckPage> {
        let mut book = self.records.lock();
        book.now = book.now.max(self.clock.now());
        let check = book.by_token(token)?;
        Some(if check.answered.is_some() {
            CheckPage::Answered
        } else if has_expired(&check, book.now) {
            CheckPage::Expired
        } else {
            CheckPage::Open
        })
    }

    /// The person answers. A second answer changes nothing.
    ///
    /// # Errors
    /// What is wrong with the form; nothing is decided then.
    pub async fn submit_form(
        self: &Arc<Self>,
        token: &str,
        form: &BTreeMap<String, String>,
    ) -> Result<CheckPage, InvalidField> {
        let none = InvalidField("There is no such check.");
        let found = |book: &CheckRecords| book.by_token(token).ok_or(none);
        let decided = self.decide(found, |now| form::parse_form(form, now, self.decides_after_ms));
        decided.await.map(|(page, _)| page)
    }

    /// The provider decides without the person's answers, as the desk wants it; whether it did: what is decided stays so.
    ///
    /// # Errors
    /// When there is no such check.
    pub async fn set_result(self: &Arc<Self>, wanted: &str, verdict: Verdict) -> Result<bool, InvalidField> {
        let none = InvalidField("There is no such check.");
        let found = |book: &CheckRecords| book.by_reference(wanted).ok_or(none);
        let judged = |_| Ok(FormResult::immediate(verdict));
        self.decide(found, judged).await.map(|(_, decided)| decided)
    }

    /// The page after it, and whether this decided.
    async fn decide(
        self: &Arc<Self>,
        found: impl Fn(&CheckRecords) -> Result<CheckSummary, InvalidField>,
        judge: impl FnOnce(Timestamp) -> Result<FormResult, InvalidField>,
    ) -> Result<(CheckPage, bool), InvalidField> {
        let (told, durable) = {
            let mut book = self.records.lock();
            let now = book.now.max(self.clock.now());
            let check = found(&book)?;
            if check.answered.is_some() {
                return Ok((CheckPage::Answered, false));
            }
            if has_expired(&check, now) {
                return Ok((CheckPage::Expired, false));
            }
            let judged = judge(now)?;
            let entry = CheckRecord::Answered {
                key: check.key,
                at: now,
                decided_at: now.plus_ms(judged.after_ms),
                verdict: judged.verdict.clone(),
            };
            ((check, judged), self.persist(&mut book, &entry))
        };
        if durable.wait().await.is_err() {
            return Err(InvalidField("The sandbox has stopped. Try again later."));
        }
        let provider = Arc::downgrade(self);
        let (check, judged) = told;
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(judged.after_ms)).await;
            // Whoever is gone by then tells nobody; the service asks.
            if let Some(provider) = provider.upgrade() {
                provider.send_callback(&check, &judged.verdict, judged.delivery).await;
            }
        });
        Ok((CheckPage::Answered, true))
    }

    fn persist(&self, book: &mut CheckRecords, entry: &CheckRecord) -> DurablePromise {
        use crate::sandbox::archive::ArchiveState as _;
        if self.archive.has_failed() || book.apply(entry).is_err() {
            return DurablePromise::broken();
        }
        // Encoding plain data into memory has no failing case.
        let record = bincode::encode_to_vec(entry, bincode::config::standard()).unwrap_or_default();
        self.archive.append(book, record)
    }

    async fn start_check(&self, order: &IdentityCheckRequest) -> Result<StartedCheck, PortError> {
        let fault = self.rules.take(|_| true);
        self.before(fault, "identity start").await?;
        if fault == Some(CheckFault::Decline) {
            return Err(failed(
                ErrorKind::Permanent,
                "identity start",
                "the sandbox declines (desk)",
            ));
        }
        let durable = {
            let mut book = self.records.lock();
            book.now = book.now.max(self.clock.now());
            match book.by_key(order.key) {
                Some(known) if known.wallet != order.wallet => {
                    return Err(failed(
                        ErrorKind::Permanent,
                        "identity start",
                        "this key is another wallet's",
                    ));
                }
                Some(_) => self.archive.barrier(),
                None => {
                    let begun = CheckRecord::Started {
                        key: order.key,
                        wallet: order.wallet,
                        at: book.now,
                    };
                    self.persist(&mut book, &begun)
                }
            }
        };
        let stopped = |e: LogError| failed(ErrorKind::Unknown, "identity start", &e.to_string());
        durable.wait().await.map_err(stopped)?;
        if fault == Some(CheckFault::Timeout) {
            tokio::time::sleep(Duration::from_millis(TIMEOUT_MS)).await;
            return Err(failed(ErrorKind::Unknown, "identity start", "no answer in time"));
        }
        Ok(StartedCheck {
            reference: reference(order.key),
            // A page of the service itself has an address without an origin, which outlives a move.
            url: format!(
                "{}{PAGES}{}",
                self.pages_origin.get().map_or("", String::as_str),
                token(order.key)
            ),
        })
    }

    async fn check_status(&self, wanted: &str) -> Result<CheckStatus, PortError> {
        let fault = self.rules.take(|fault| fault != CheckFault::Decline);
        self.before(fault, "identity status").await?;
        if fault == Some(CheckFault::Timeout) {
            tokio::time::sleep(Duration::from_millis(TIMEOUT_MS)).await;
            return Err(failed(ErrorKind::Unknown, "identity status", "no answer in time"));
        }
        let (check, now, durable) = {
            let mut book = self.records.lock();
            book.now = book.now.max(self.clock.now());
            (book.by_reference(wanted), book.now, self.archive.barrier())
        };
        let stopped = |e: LogError| failed(ErrorKind::Temporary, "identity status", &e.to_string());
        durable.wait().await.map_err(stopped)?;
        let check = check.ok_or_else(|| failed(ErrorKind::Temporary, "identity status", "no such check"))?;
        Ok(match &check.answered {
            Some((decided_at, verdict)) if *decided_at <= now => CheckStatus::Decided(verdict.clone()),
            Some((decided_at, _)) => CheckStatus::Pending {
                retry_after_ms: (decided_at.0 - now.0).min(MAX_RETRY_AFTER_MS),
            },
            None if has_expired(&check, now) => CheckStatus::Decided(Verdict::Failed {
                reason: "not_completed".into(),
            }),
            None => CheckStatus::Pending {
                retry_after_ms: UNANSWERED_RETRY_MS,
            },
        })
    }

    /// What a fault does before the provider has understood the call.
    async fn before(&self, fault: Option<CheckFault>, operation: &'static str) -> Result<(), PortError> {
        match fault {
            Some(CheckFault::Unreachable) => Err(failed(ErrorKind::Temporary, operation, "the sandbox is unreachable")),
            Some(CheckFault::MalformedResponse) => {
                Err(failed(ErrorKind::Unknown, operation, "the answer is no answer"))
            }
            Some(CheckFault::Slow { ms }) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(())
            }
            Some(CheckFault::Timeout | CheckFault::Decline) | None => Ok(()),
        }
    }
}

impl IdentityCheck for SandboxIdentityCheck {
    fn start<'a>(&'a self, check: &'a IdentityCheckRequest) -> BoxFuture<'a, Result<StartedCheck, PortError>> {
        Box::pin(self.start_check(check))
    }

    fn status<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<CheckStatus, PortError>> {
        Box::pin(self.check_status(reference))
    }
}

fn has_expired(check: &CheckSummary, now: Timestamp) -> bool {
    check.answered.is_none() && now >= check.at.plus_ms(OPEN_FOR_MS)
}

fn failed(kind: ErrorKind, operation: &'static str, message: &str) -> PortError {
    PortError {
        kind,
        operation,
        message: message.into(),
    }
}

#[cfg(test)]
mod tests;
