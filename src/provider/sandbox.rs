//! The sandbox's card issuer: idempotent by key, with its own file that is synced before each response, realistic
//! delays and documented magic amounts.
//!
//! Card numbers and CVVs are not in the file: they are derived from the order's key, with a test prefix that no bank
//! has. The key follows from the card's id, so the id is enough to derive them. These cards have no value.

pub mod all;
pub mod bank;
pub mod bridge;
pub mod card_balances;
mod card_charges;
mod card_numbers;
pub mod fault_rules;
pub mod gift_cards;
pub mod identity_check;
pub mod issuer_accounts;
mod issuer_card_ledger;
pub mod issuer_faults;
pub mod issuer_reconciliation;
mod issuer_records;
pub mod merchants;
pub mod payouts;
pub mod rates;
pub mod reloadable_cards;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, CardActionRequest, CardEvent, CardSnapshot, Clock, ErrorKind, IssueCardRequest, PortError, Timestamp,
};

pub use self::card_charges::CardCharge;
use self::issuer_card_ledger::CardLedgers;
use self::issuer_faults::{IssuerFault, IssuerFaultRule, IssuerFaults, MagicOutcome, magic_of};
use self::issuer_records::{CardOrderRecord, IssuerRecords};
use super::{BillingAddress, CardIssuerApi, PlainCard, PlainIssueResult};
use crate::sandbox::archive::{Archive, ArchiveState as _};
use crate::sandbox::record_log::{DurablePromise, LogError};
use crate::secret::Secret;

const KIND: [u8; 8] = *b"SBXISS01";
const LEDGER_KIND: [u8; 8] = *b"SBXLIF01";
/// Maximum delay after which the engine is asked to retry.
const MAX_RETRY_AFTER_MS: u64 = 5_000;

/// How the sandbox issuer behaves.
#[derive(Clone, Copy, Debug)]
pub struct IssuerSettings {
    /// Time from the order until the card is ready, in milliseconds.
    pub ready_after_ms: u64,
    /// The same for the slow magic amount.
    pub slow_ready_after_ms: u64,
    /// Duration of a call that times out, in milliseconds.
    pub timeout_after_ms: u64,
}

impl Default for IssuerSettings {
    fn default() -> Self {
        Self {
            ready_after_ms: 2_000,
            slow_ready_after_ms: 10_000,
            timeout_after_ms: 1_000,
        }
    }
}

/// A simulated issuer.
pub struct SandboxIssuer {
    settings: IssuerSettings,
    clock: Arc<dyn Clock>,
    records: Mutex<IssuerRecords>,
    archive: Archive,
    ledgers: Mutex<CardLedgers>,
    ledger_archive: Archive,
    faults: IssuerFaults,
}

/// Summary of the issuer.
#[derive(Clone, Debug)]
pub struct SandboxIssuerSummary {
    /// Cards that are ready or in preparation.
    pub cards: usize,
    pub declined: usize,
    /// Cents loaded on all cards.
    pub loaded: Cents,
    /// Faults that wait for a call.
    pub rules: Vec<IssuerFaultRule>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
}

/// A new order's outcome under the lock.
enum OrderResult {
    InjectedFault,
    Conflict,
    Existing(CardOrderRecord),
    Created(CardOrderRecord),
}

impl SandboxIssuer {
    /// Opens or creates `issuer.cards` and `issuer.lives` in the directory, which must exist.
    ///
    /// # Errors
    /// When the disk fails, another process has the file, or it is corrupt before its tail.
    pub fn open(directory: &Path, settings: IssuerSettings, clock: Arc<dyn Clock>) -> Result<Self, LogError> {
        let mut book = IssuerRecords::default();
        let archive = Archive::open(&directory.join("issuer.cards"), KIND, &mut book)?;
        let mut lives = CardLedgers::default();
        let lived = Archive::open(&directory.join("issuer.lives"), LEDGER_KIND, &mut lives)?;
        Ok(Self {
            settings,
            clock,
            records: Mutex::new(book),
            archive,
            ledgers: Mutex::new(lives),
            ledger_archive: lived,
            faults: IssuerFaults::default(),
        })
    }

    pub fn add_fault(&self, rule: IssuerFaultRule) {
        self.faults.add(rule);
    }

    pub fn clear_faults(&self) {
        self.faults.clear();
    }

    /// Totals and faults, after they are durable.
    ///
    /// # Errors
    /// When the issuer's log has stopped.
    pub async fn state(&self) -> Result<SandboxIssuerSummary, LogError> {
        let (state, durable) = {
            let book = self.records.lock();
            let state = SandboxIssuerSummary {
                cards: book.cards,
                declined: book.declined,
                loaded: Cents::new(book.loaded),
                rules: self.faults.rules(),
                faults_injected: self.faults.injected(),
            };
            (state, self.archive.barrier())
        };
        durable.wait().await.map(|()| state)
    }

    async fn place_order(&self, order: &IssueCardRequest) -> Result<PlainIssueResult, PortError> {
        let fault = self.faults.take(|_| true);
        self.before(fault.as_ref()).await?;
        let magic = match fault {
            Some(IssuerFault::Decline) => Some(MagicOutcome::Declined),
            _ => magic_of(order.amount),
        };
        let (taken, now, durable) = {
            let mut book = self.records.lock();
            book.now = book.now.max(self.clock.now());
            let now = book.now;
            let taken = self.decide(&mut book, order, magic, now);
            let durable = match &taken {
                OrderResult::Created(new) => self.persist(&mut book, new),
                _ => self.archive.barrier(),
            };
            (taken, now, durable)
        };
        durable
            .wait()
            .await
            .map_err(|e| failed(ErrorKind::Unknown, &e.to_string()))?;
        let (known, fresh) = match taken {
            OrderResult::InjectedFault => {
                return Err(failed(
                    ErrorKind::Temporary,
                    "the sandbox issuer is busy (magic amount)",
                ));
            }
            OrderResult::Conflict => {
                return Err(failed(
                    ErrorKind::Permanent,
                    "this key belongs to an order with another content",
                ));
            }
            OrderResult::Existing(known) => (known, false),
            OrderResult::Created(known) => (known, true),
        };
        if fault == Some(IssuerFault::Timeout) || (fresh && magic == Some(MagicOutcome::TimeoutAfterSuccess)) {
            tokio::time::sleep(Duration::from_millis(self.settings.timeout_after_ms)).await;
            return Err(failed(ErrorKind::Unknown, "no answer in time"));
        }
        issue_result(&known, now)
    }

    /// Adds a new order to the records and the log.
    fn persist(&self, book: &mut IssuerRecords, order: &CardOrderRecord) -> DurablePromise {
        if self.archive.has_failed() || book.apply(order).is_err() {
            return DurablePromise::broken();
        }
        // Encoding plain data into memory cannot fail.
        let record = bincode::encode_to_vec(order, bincode::config::standard()).unwrap_or_default();
        self.archive.append(book, record)
    }

    fn decide(
        &self,
        book: &mut IssuerRecords,
        order: &IssueCardRequest,
        magic: Option<MagicOutcome>,
        now: Timestamp,
    ) -> OrderResult {
        if let Some(known) = book.order(order.key) {
            let same = known.card == order.card && known.amount == order.amount;
            return if same {
                OrderResult::Existing(known)
            } else {
                OrderResult::Conflict
            };
        }
        if magic == Some(MagicOutcome::TwoTemporaryErrors) {
            let stumbles = book.faults.entry(order.key).or_default();
            *stumbles += 1;
            if *stumbles <= 2 {
                return OrderResult::InjectedFault;
            }
            book.faults.remove(&order.key);
        }
        let delay = match magic {
            Some(MagicOutcome::Slow) => self.settings.slow_ready_after_ms,
            _ => self.settings.ready_after_ms,
        };
        let mut attempt = 0;
        while book.is_number_used(card_numbers::account_part(order.key, attempt)) {
            attempt += 1;
        }
        OrderResult::Created(CardOrderRecord {
            key: order.key,
            card: order.card,
            amount: order.amount,
            at: now,
            ready_at: now.plus_ms(delay),
            declined: (magic == Some(MagicOutcome::Declined)).then(|| "card_program_declined".into()),
            attempt,
        })
    }

    /// The effect of a fault before the issuer has read the request.
    async fn before(&self, fault: Option<&IssuerFault>) -> Result<(), PortError> {
        match fault {
            Some(IssuerFault::Unreachable) => Err(failed(ErrorKind::Temporary, "the sandbox issuer is unreachable")),
            // A malformed response reveals nothing about the outcome.
            Some(IssuerFault::MalformedResponse) => {
                Err(failed(ErrorKind::Unknown, "the answer is not an issuer's answer"))
            }
            Some(IssuerFault::Slow { ms }) => {
                tokio::time::sleep(Duration::from_millis(*ms)).await;
                Ok(())
            }
            Some(IssuerFault::Timeout | IssuerFault::Decline) | None => Ok(()),
        }
    }

    /// A ready card by the issuer's reference.
    async fn find(&self, operation: &'static str, issuer_ref: &str) -> Result<CardOrderRecord, PortError> {
        let fault = self.faults.take(|fault| fault != IssuerFault::Decline);
        self.before(fault.as_ref()).await?;
        let (found, durable) = {
            let mut book = self.records.lock();
            book.now = book.now.max(self.clock.now());
            let known = book.by_ref(issuer_ref);
            (known.filter(|o| o.ready_at <= book.now), self.archive.barrier())
        };
        durable
            .wait()
            .await
            .map_err(|e| failed(ErrorKind::Temporary, &e.to_string()))?;
        let message = "no such card".into();
        found.ok_or(PortError {
            kind: ErrorKind::Permanent,
            operation,
            message,
        })
    }
}

/// The billing address of the sandbox's prepaid cards.
pub fn billing_address() -> BillingAddress {
    BillingAddress {
        line1: "101 Sandbox Street".into(),
        city: "San Francisco".into(),
        state: "CA".into(),
        postal_code: "94105".into(),
        country: "US".into(),
    }
}

impl CardIssuerApi for SandboxIssuer {
    fn billing_address(&self) -> BoxFuture<'_, Result<BillingAddress, PortError>> {
        Box::pin(async { Ok(billing_address()) })
    }

    fn issue<'a>(&'a self, order: &'a IssueCardRequest) -> BoxFuture<'a, Result<PlainIssueResult, PortError>> {
        Box::pin(self.place_order(order))
    }

    fn cvv<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Secret<String>, PortError>> {
        Box::pin(async move {
            let known = self.find("cvv", issuer_ref).await?;
            Ok(card_numbers::cvv(known.key))
        })
    }

    fn available_balance<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Cents, PortError>> {
        Box::pin(async move {
            let known = self.find("available_balance", issuer_ref).await?;
            Ok(self.card_status(known).await?.activity.available)
        })
    }

    fn card_snapshot<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        Box::pin(async move {
            let known = self.find("standing", issuer_ref).await?;
            self.card_status(known).await
        })
    }

    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        Box::pin(self.run_card_action(order))
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>> {
        Box::pin(self.read_events(after, limit))
    }
}

fn issue_result(known: &CardOrderRecord, now: Timestamp) -> Result<PlainIssueResult, PortError> {
    if let Some(reason) = &known.declined {
        return Ok(PlainIssueResult::Declined {
            reason: reason.as_str().into(),
        });
    }
    let wait = known.ready_at.0.saturating_sub(now.0);
    if wait > 0 {
        return Ok(PlainIssueResult::Pending {
            retry_after_ms: wait.min(MAX_RETRY_AFTER_MS),
        });
    }
    let (exp_year, exp_month) = card_numbers::expiry(known.at);
    Ok(PlainIssueResult::Ready {
        card: PlainCard {
            issuer_ref: card_numbers::issuer_ref(known.key),
            number: card_numbers::number(known.key, known.attempt),
            exp_month,
            exp_year,
        },
    })
}

fn failed(kind: ErrorKind, message: &str) -> PortError {
    PortError {
        kind,
        operation: "issue",
        message: message.into(),
    }
}

#[cfg(test)]
mod tests;
