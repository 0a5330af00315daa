//! The sandbox's identity check: a form for the person, records that are synced before each response, a verdict
//! after a realistic delay, and a signed callback that may be lost, duplicated or forged.

mod callbacks;
mod form;
mod records;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use purser_actors::port::{
    CheckStatus, Clock, ErrorKind, IdentityCheck, IdentityCheckRequest, PortError, PortFuture, StartedCheck, Timestamp,
    Verdict,
};

use self::form::FormResult;
pub use self::form::{InvalidField, MAGIC_NAMES, MagicFamilyName, VerdictDelivery};
use self::records::{CheckRecord, CheckRecords, CheckSummary, reference, token};
use crate::callback::CallbackKey;
use purser_sandbox::clock::advance;
use purser_sandbox::faults::{Fault, FaultTexts, Faults, failed};
use purser_sandbox::records::{RecordBook as _, Records};
use purser_sandbox::store::{SandboxStore, SandboxStoreError, Table};

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

const TEXTS: FaultTexts = FaultTexts {
    unreachable: "the sandbox is unreachable",
    malformed: "the answer is no answer",
};
const START: &str = "identity start";
const STATUS: &str = "identity status";

/// Summary of the provider.
#[derive(Clone, Debug)]
pub struct SandboxCheckSummary {
    pub started: u64,
    /// Passed checks, including those whose verdict is due.
    pub passed: u64,
    pub failed: u64,
    /// The provider's reference of the newest check.
    pub last_reference: Option<String>,
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
    records: Records<CheckRecords>,
    pub faults: Faults,
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
        Ok(Self {
            decides_after_ms,
            clock,
            records: Records::open(store, Table::IdentityChecks)?,
            faults: Faults::new(TEXTS, TIMEOUT_MS),
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

    /// Totals and faults, after they are durable.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn state(&self) -> Result<SandboxCheckSummary, SandboxStoreError> {
        let state = self.records.run(|book| SandboxCheckSummary {
            started: book.rows.numbered(),
            passed: book.totals.passed,
            failed: book.totals.failed,
            last_reference: book.totals.last.map(reference),
        });
        state.wait().await
    }

    /// State of a person's page; `None` for an unknown token.
    pub fn page(&self, token: &str) -> Option<CheckPage> {
        let mut book = self.records.lock();
        let now = advance(&mut book.totals.now, &*self.clock);
        let check = book.by_token(token)?;
        Some(if check.answered.is_some() {
            CheckPage::Answered
        } else if has_expired(&check, now) {
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
        let none = InvalidField::new("given_name", "There is no such check.");
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
        let none = InvalidField::new("given_name", "There is no such check.");
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
        let recorded = self.records.run(|book| {
            let now = book.totals.now.max(self.clock.now());
            let check = found(book)?;
            if check.answered.is_some() {
                return Ok(Err(CheckPage::Answered));
            }
            if has_expired(&check, now) {
                return Ok(Err(CheckPage::Expired));
            }
            let judged = judge(now)?;
            book.append(&[CheckRecord::Answered {
                key: check.key,
                at: now,
                decided_at: now.plus_ms(judged.after_ms),
                verdict: judged.verdict.clone(),
            }]);
            Ok(Ok((check, judged)))
        });
        let stopped = |_| InvalidField::new("given_name", "The sandbox has stopped. Try again later.");
        let (check, judged) = match recorded.wait().await.map_err(stopped)?? {
            Ok(recorded) => recorded,
            Err(page) => return Ok((page, false)),
        };
        let provider = Arc::downgrade(self);
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
        let fault = self.faults.before(START, |_| true).await?;
        if fault == Some(Fault::Decline) {
            return Err(failed(ErrorKind::Permanent, START, "the sandbox declines (control)"));
        }
        let started = self.records.run(|book| {
            let at = advance(&mut book.totals.now, &*self.clock);
            let (key, wallet) = (order.key, order.wallet);
            match book.by_key(key) {
                Some(known) if known.wallet != wallet => {
                    return Err(failed(ErrorKind::Permanent, START, "this key is another wallet's"));
                }
                Some(_) => {}
                None => book.append(&[CheckRecord::Started { key, wallet, at }]),
            }
            Ok(())
        });
        started.or(ErrorKind::Unknown, START).await??;
        self.faults.after(START, fault).await?;
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
        let fault = self.faults.before(STATUS, |fault| fault != Fault::Decline).await?;
        self.faults.after(STATUS, fault).await?;
        let found = self.records.run(|book| {
            let now = advance(&mut book.totals.now, &*self.clock);
            (book.by_reference(wanted), now)
        });
        let (check, now) = found.or(ErrorKind::Temporary, STATUS).await?;
        let check = check.ok_or_else(|| failed(ErrorKind::Temporary, STATUS, "no such check"))?;
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
}

impl IdentityCheck for SandboxIdentityCheck {
    fn start<'a>(&'a self, check: &'a IdentityCheckRequest) -> PortFuture<'a, StartedCheck> {
        Box::pin(self.start_check(check))
    }

    fn status<'a>(&'a self, reference: &'a str) -> PortFuture<'a, CheckStatus> {
        Box::pin(self.check_status(reference))
    }
}

fn has_expired(check: &CheckSummary, now: Timestamp) -> bool {
    check.answered.is_none() && now >= check.at.plus_ms(OPEN_FOR_MS)
}

#[cfg(test)]
mod tests;
