//! The sandbox's card issuer: idempotent by key, with records that are synced before each response, realistic
//! delays and documented magic amounts.
//!
//! Card numbers and CVVs are not stored: they are derived from the order's key, with a test prefix that no bank
//! has. The key follows from the card's id, so the id is enough to derive them. These cards have no value.

pub mod all;
pub mod bank;
pub mod bridge;
pub mod card_balances;
mod card_charges;
mod card_numbers;
pub mod control;
pub mod gift_cards;
pub mod identity_check;
pub mod issuer_accounts;
mod issuer_card_ledger;
pub mod issuer_faults;
mod issuer_reconciliation;
mod issuer_records;
mod lists;
mod magic;
pub mod merchants;
pub mod payouts;
pub mod rates;
pub mod reloadable_cards;

use std::sync::Arc;

use purser_actors::money::Cents;
use purser_actors::port::{
    CardActionRequest, CardEvent, CardSnapshot, Clock, ErrorKind, IssueCardRequest, PortError, PortFuture, Timestamp,
};

pub use self::card_charges::CardCharge;
use self::issuer_card_ledger::CardLedgers;
use self::issuer_faults::MagicOutcome;
use self::issuer_records::{CardOrderRecord, IssuerRecords};
use super::{BillingAddress, CardIssuerApi, PlainCard, PlainIssueResult};
use purser_host::secret::Secret;
use purser_sandbox::clock::advance;
use purser_sandbox::faults::{Fault, FaultTexts, Faults, OrderResult, failed};
use purser_sandbox::records::{RecordBook as _, Records};
use purser_sandbox::store::{SandboxStore, SandboxStoreError, Table};

const TEXTS: FaultTexts = FaultTexts {
    unreachable: "the sandbox issuer is unreachable",
    malformed: "the answer is not an issuer's answer",
};
/// Operation in errors of most calls.
const ISSUE: &str = "issue";
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
    records: Records<IssuerRecords>,
    ledgers: Records<CardLedgers>,
    pub faults: Faults,
}

/// Summary of the issuer.
#[derive(Clone, Debug)]
pub struct SandboxIssuerSummary {
    /// Cards that are ready or in preparation.
    pub cards: usize,
    pub declined: usize,
    /// Cents loaded on all cards.
    pub loaded: Cents,
}

impl SandboxIssuer {
    /// Opens its tables of the store.
    ///
    /// # Errors
    /// When its rows cannot be read.
    pub fn open(
        store: &SandboxStore,
        settings: IssuerSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SandboxStoreError> {
        Ok(Self {
            settings,
            clock,
            records: Records::open(store, Table::Cards)?,
            ledgers: Records::open(store, Table::CardLedgers)?,
            faults: Faults::new(TEXTS, settings.timeout_after_ms),
        })
    }

    /// Totals and faults, after they are durable.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn state(&self) -> Result<SandboxIssuerSummary, SandboxStoreError> {
        let state = self.records.run(|book| SandboxIssuerSummary {
            cards: book.totals.cards,
            declined: book.totals.declined,
            loaded: Cents::new(book.totals.loaded),
        });
        state.wait().await
    }

    async fn place_order(&self, order: &IssueCardRequest) -> Result<PlainIssueResult, PortError> {
        let fault = self.faults.before(ISSUE, |_| true).await?;
        let magic = match fault {
            Some(Fault::Decline) => Some(MagicOutcome::Declined),
            _ => MagicOutcome::of(order.amount),
        };
        let taken = self.records.run(|book| {
            let now = advance(&mut book.totals.now, &*self.clock);
            let taken = self.decide(book, order, magic, now);
            if let OrderResult::Created(new) = &taken {
                book.append(std::slice::from_ref(new));
            }
            (taken, now)
        });
        let (taken, now) = taken.or(ErrorKind::Unknown, ISSUE).await?;
        let (known, fresh) = taken.order(ISSUE, "the sandbox issuer is busy (magic amount)")?;
        self.faults.after(ISSUE, fault).await?;
        if fresh && magic == Some(MagicOutcome::TimeoutAfterSuccess) {
            return self.faults.time_out(ISSUE).await;
        }
        issue_result(&known, now)
    }

    fn decide(
        &self,
        book: &IssuerRecords,
        order: &IssueCardRequest,
        magic: Option<MagicOutcome>,
        now: Timestamp,
    ) -> OrderResult<CardOrderRecord> {
        if let Some(known) = book.order(order.key) {
            let same = known.card == order.card && known.amount == order.amount;
            return if same {
                OrderResult::Existing(known)
            } else {
                OrderResult::Conflict
            };
        }
        if magic == Some(MagicOutcome::TwoTemporaryErrors) && self.faults.fails_temporarily(order.key) {
            return OrderResult::Busy;
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

    /// A ready card by the issuer's reference.
    async fn find(&self, operation: &'static str, issuer_ref: &str) -> Result<CardOrderRecord, PortError> {
        self.faults.before(ISSUE, |fault| fault != Fault::Decline).await?;
        let found = self.records.run(|book| {
            let now = advance(&mut book.totals.now, &*self.clock);
            book.by_ref(issuer_ref).filter(|order| order.ready_at <= now)
        });
        let found = found.or(ErrorKind::Temporary, ISSUE).await?;
        found.ok_or_else(|| failed(ErrorKind::Permanent, operation, "no such card"))
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
    fn billing_address(&self) -> PortFuture<'_, BillingAddress> {
        Box::pin(async { Ok(billing_address()) })
    }

    fn issue<'a>(&'a self, order: &'a IssueCardRequest) -> PortFuture<'a, PlainIssueResult> {
        Box::pin(self.place_order(order))
    }

    fn cvv<'a>(&'a self, issuer_ref: &'a str) -> PortFuture<'a, Secret<String>> {
        Box::pin(async move {
            let known = self.find("cvv", issuer_ref).await?;
            Ok(card_numbers::cvv(known.key))
        })
    }

    fn available_balance<'a>(&'a self, issuer_ref: &'a str) -> PortFuture<'a, Cents> {
        Box::pin(async move {
            let known = self.find("available_balance", issuer_ref).await?;
            Ok(self.card_status(known).await?.activity.available)
        })
    }

    fn card_snapshot<'a>(&'a self, issuer_ref: &'a str) -> PortFuture<'a, CardSnapshot> {
        Box::pin(async move {
            let known = self.find("standing", issuer_ref).await?;
            self.card_status(known).await
        })
    }

    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> PortFuture<'a, CardSnapshot> {
        Box::pin(self.run_card_action(order))
    }

    fn events_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<CardEvent>> {
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

#[cfg(test)]
mod tests;
