//! The sandbox's identity check: a form for the person, its own file that is synced before each response, a verdict
//! after a realistic delay, and a signed callback that may be lost, duplicated or forged.

mod callbacks;
mod form;
mod records;

use std::collections::BTreeMap;
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
use crate::sandbox::records::RecordBook as _;
use crate::sandbox::store::{SandboxStore, SandboxStoreError, Table};

/// Page with the form; the check's token is appended to it.
pub const PAGES: &str = "/sandbox/identity-check?token=";
/// A check expires after this time without an answer.
const OPEN_FOR_MS: u64 = 24 * 3_600_000;
/// Delay after which the engine is asked to retry while the person has not answered, and the maximum while the verdict
/// is due.
const UNANSWERED_RETRY_MS: u64 = 5_000;
const MAX_RETRY_AFTER_MS: u64 = 2_000;
/// Duration of a call that times out.
const TIMEOUT_MS: u64 = 1_000;

/// Faults of calls by the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckFault {
    Unreachable,
    /// The call is delayed and then proceeds normally.
    Slow {
        ms: u64,
    },
    /// The response is malformed.
    MalformedResponse,
    /// The check is started and the response is lost.
    Timeout,
    /// No check is started, and none will be.
    Decline,
}

impl CheckFault {
    /// Name in the sandbox controls.
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

/// Summary of the provider.
#[derive(Clone, Debug)]
pub struct SandboxCheckSummary {
    pub started: u64,
    /// Passed checks, including those whose verdict is due.
    pub passed: u64,
    pub failed: u64,
    /// The provider's reference of the newest check.
    pub last_reference: Option<String>,
    /// Faults that wait for a call.
    pub rules: Vec<FaultRule<CheckFault>>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
}

/// State of the person's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckPage {
    /// The form is open.
    Open,
    /// The form was submitted.
    Answered,
    /// The form was not submitted in time.
    Expired,
}

/// A simulated provider of identity checks.
pub struct SandboxIdentityCheck {
    decides_after_ms: u64,
    clock: Arc<dyn Clock>,
    records: Mutex<CheckRecords>,
    rules: FaultRules<CheckFault>,
    /// The service's callback URL and the key that signs callbacks; unknown until the service listens.
    callbacks: OnceLock<(String, CallbackKey)>,
    /// Origin of the form's URLs; unset while the service itself serves the pages.
    pages_origin: OnceLock<String>,
}

impl SandboxIdentityCheck {
    /// Opens its tables of the store.
    ///
    /// # Errors
    /// When its rows cannot be read.
    pub fn open(store: &SandboxStore, decides_after_ms: u64, clock: Arc<dyn Clock>) -> Result<Self, SandboxStoreError> {
        let book = CheckRecords::default().open(store, Table::IdentityChecks)?;
        Ok(Self {
            decides_after_ms,
            clock,
            records: Mutex::new(book),
            rules: FaultRules::default(),
            callbacks: OnceLock::new(),
            pages_origin: OnceLock::new(),
        })
    }

    /// Sets the callback URL and the signing key. Only the first call has an effect.
    pub fn set_callback(&self, url: String, key: CallbackKey) {
        drop(self.callbacks.set((url, key)));
    }

    /// Sets the origin of the pages. Only the first call has an effect.
    pub fn set_pages_origin(&self, origin: String) {
        drop(self.pages_origin.set(origin));
    }

    pub fn add_fault(&self, rule: FaultRule<CheckFault>) {
        self.rules.add(rule);
    }

    pub fn clear_faults(&self) {
        self.rules.clear();
    }

    /// Totals and faults, after they are durable.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn state(&self) -> Result<SandboxCheckSummary, SandboxStoreError> {
        let (state, durable) = {
            let book = self.records.lock();
            let state = SandboxCheckSummary {
                started: book.rows.numbered(),
                passed: book.totals.passed,
                failed: book.totals.failed,
                last_reference: book.totals.last.map(reference),
                rules: self.rules.pending(),
                faults_injected: self.rules.injected(),
            };
            (state, book.rows.barrier())
        };
        durable.wait().await.map(|()| state)
    }

    /// State of a person's page; `None` for an unknown token.
    pub fn page(&self, token: &str) -> Option<CheckPage> {
        let mut book = self.records.lock();
        book.totals.now = book.totals.now.max(self.clock.now());
        let check = book.by_token(token)?;
        Some(if check.answered.is_some() {
            CheckPage::Answered
        } else if has_expired(&check, book.totals.now) {
            CheckPage::Expired
        } else {
            CheckPage::Open
        })
    }

    /// Submits the person's answers. A second submission changes nothing.
    ///
    /// # Errors
    /// Names the invalid field; nothing is decided then.
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

    /// Decides a check by the sandbox controls, without the person's answers. Returns whether this call decided it: a
    /// verdict is final.
    ///
    /// # Errors
    /// When there is no such check.
    pub async fn set_result(self: &Arc<Self>, wanted: &str, verdict: Verdict) -> Result<bool, InvalidField> {
        let none = InvalidField("There is no such check.");
        let found = |book: &CheckRecords| book.by_reference(wanted).ok_or(none);
        let judged = |_| Ok(FormResult::immediate(verdict));
        self.decide(found, judged).await.map(|(_, decided)| decided)
    }

    /// State of the page afterwards, and whether this call decided the check.
    async fn decide(
        self: &Arc<Self>,
        found: impl Fn(&CheckRecords) -> Result<CheckSummary, InvalidField>,
        judge: impl FnOnce(Timestamp) -> Result<FormResult, InvalidField>,
    ) -> Result<(CheckPage, bool), InvalidField> {
        let (recorded, durable) = {
            let mut book = self.records.lock();
            let now = book.totals.now.max(self.clock.now());
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
            ((check, judged), book.append(&[entry]))
        };
        if durable.wait().await.is_err() {
            return Err(InvalidField("The sandbox has stopped. Try again later."));
        }
        let provider = Arc::downgrade(self);
        let (check, judged) = recorded;
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(judged.after_ms)).await;
            // If the provider has been dropped by then, no callback is sent; the service queries the check.
            if let Some(provider) = provider.upgrade() {
                provider.send_callback(&check, &judged.verdict, judged.delivery).await;
            }
        });
        Ok((CheckPage::Answered, true))
    }

    async fn start_check(&self, order: &IdentityCheckRequest) -> Result<StartedCheck, PortError> {
        let fault = self.rules.take(|_| true);
        self.before(fault, "identity start").await?;
        if fault == Some(CheckFault::Decline) {
            return Err(failed(
                ErrorKind::Permanent,
                "identity start",
                "the sandbox declines (control)",
            ));
        }
        let durable = {
            let mut book = self.records.lock();
            book.totals.now = book.totals.now.max(self.clock.now());
            match book.by_key(order.key) {
                Some(known) if known.wallet != order.wallet => {
                    return Err(failed(
                        ErrorKind::Permanent,
                        "identity start",
                        "this key is another wallet's",
                    ));
                }
                Some(_) => book.rows.barrier(),
                None => {
                    let begun = CheckRecord::Started {
                        key: order.key,
                        wallet: order.wallet,
                        at: book.totals.now,
                    };
                    book.append(&[begun])
                }
            }
        };
        let stopped = |e: SandboxStoreError| failed(ErrorKind::Unknown, "identity start", &e.to_string());
        durable.wait().await.map_err(stopped)?;
        if fault == Some(CheckFault::Timeout) {
            tokio::time::sleep(Duration::from_millis(TIMEOUT_MS)).await;
            return Err(failed(ErrorKind::Unknown, "identity start", "no answer in time"));
        }
        Ok(StartedCheck {
            reference: reference(order.key),
            // A URL of the service's own page has no origin, so it stays valid when the service moves.
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
            book.totals.now = book.totals.now.max(self.clock.now());
            (book.by_reference(wanted), book.totals.now, book.rows.barrier())
        };
        let stopped = |e: SandboxStoreError| failed(ErrorKind::Temporary, "identity status", &e.to_string());
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

    /// The effect of a fault before the provider has read the request.
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
