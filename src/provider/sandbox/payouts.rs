//! The sandbox's payout rails: orders that are idempotent by key and synced before each
//! response, events that occur on schedule whether or not they are queried, and amounts that force an outcome.
//!
//! No card or account number is stored, nor a digest of one.

mod bins;
pub mod faults;
mod orders;
mod reconciliation;
mod records;

use std::sync::Arc;

use purser_actors::currency::Country;
use purser_actors::id::{JobId, PayoutId};
use purser_actors::port::payouts::{PayoutEvent, PayoutStatusUpdate, RecallResult};
use purser_actors::port::{Clock, ErrorKind, PortError, PortFuture, Timestamp};

use self::records::{PayoutEventRecord, PayoutRecord, PayoutRecords};
use crate::payouts::{PayoutApi, PayoutOrder};
use purser_host::secret::Secret;
use purser_sandbox::clock::advance;
use purser_sandbox::faults::{FaultTexts, Faults};
use purser_sandbox::records::{RecordBook as _, Records};
use purser_sandbox::store::{SandboxStore, SandboxStoreError, Table};

pub use self::records::PayoutEventKind;

const TEXTS: FaultTexts = FaultTexts {
    unreachable: "the rails are unreachable",
    malformed: "the answer is not a rail's answer",
};

/// How the sandbox's rails behave.
#[derive(Clone, Copy, Debug)]
pub struct SandboxPayoutSettings {
    /// Time from the order until the money is paid, in milliseconds.
    pub paid_after_ms: u64,
    /// The same for the slow magic amount.
    pub slow_paid_after_ms: u64,
    /// Time from payment until the magic amounts are returned, in milliseconds.
    pub returned_after_ms: u64,
    /// Duration of a call that times out, in milliseconds.
    pub timeout_after_ms: u64,
}

impl Default for SandboxPayoutSettings {
    fn default() -> Self {
        Self {
            paid_after_ms: 1_500,
            slow_paid_after_ms: 10_000,
            returned_after_ms: 2_000,
            timeout_after_ms: 1_000,
        }
    }
}

pub struct SandboxPayouts {
    settings: SandboxPayoutSettings,
    clock: Arc<dyn Clock>,
    records: Records<PayoutRecords>,
    pub faults: Faults,
}

/// Summary of the rails.
#[derive(Clone, Debug)]
pub struct SandboxPayoutSummary {
    pub orders: usize,
    pub events: u64,
    pub recalled: usize,
}

impl SandboxPayouts {
    /// Opens its tables of the store.
    ///
    /// # Errors
    /// When its rows cannot be read.
    pub fn open(
        store: &SandboxStore,
        settings: SandboxPayoutSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SandboxStoreError> {
        Ok(Self {
            settings,
            clock,
            records: Records::open(store, Table::Payouts)?,
            faults: Faults::new(TEXTS, settings.timeout_after_ms),
        })
    }

    /// Totals and faults, after they are durable.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn state(&self) -> Result<SandboxPayoutSummary, SandboxStoreError> {
        let state = self.records.run(|book| {
            self.emit_due_events(book);
            SandboxPayoutSummary {
                orders: book.totals.orders,
                events: book.rows.numbered(),
                recalled: book.totals.recalled,
            }
        });
        state.wait().await
    }

    /// Emits a payout event now, as the next one or with an explicit sequence. False for a payout that was not ordered
    /// here.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn emit_event(
        &self,
        payout: PayoutId,
        says: PayoutEventKind,
        sequence: Option<u64>,
    ) -> Result<bool, SandboxStoreError> {
        let emitted = self.records.run(|book| {
            let at = self.emit_due_events(book);
            let Some(order) = book.order_of(payout) else {
                return false;
            };
            let sequence = sequence.unwrap_or(book.latest(order.key).map_or(1, |word| word.sequence + 1));
            book.append(&[PayoutRecord::Event(PayoutEventRecord {
                at,
                key: order.key,
                payout,
                sequence,
                kind: says,
            })]);
            true
        });
        emitted.wait().await
    }

    /// Emits every event that is due, in the order of their times. Returns the rails' time.
    fn emit_due_events(&self, book: &mut PayoutRecords) -> Timestamp {
        let now = advance(&mut book.totals.now, &*self.clock);
        while let Some(word) = book.due() {
            book.append(&[PayoutRecord::Event(word)]);
        }
        now
    }

    async fn read(&self, after: u64, limit: usize) -> Result<Vec<PayoutEvent>, PortError> {
        const CALL: &str = "payout events";
        self.faults.before(CALL, faults::affects_event_reads).await?;
        let page = self.records.run(|book| {
            self.emit_due_events(book);
            book.events_after(after, limit)
        });
        page.or(ErrorKind::Temporary, CALL).await
    }
}

impl PayoutApi for SandboxPayouts {
    fn send(&self, order: PayoutOrder) -> PortFuture<'_, PayoutStatusUpdate> {
        Box::pin(self.place_order(order))
    }

    fn find(&self, key: JobId) -> PortFuture<'_, Option<PayoutStatusUpdate>> {
        Box::pin(self.find_order(key))
    }

    fn recall(&self, key: JobId, payout: PayoutId) -> PortFuture<'_, RecallResult> {
        Box::pin(self.recall_order(key, payout))
    }

    fn card_country<'a>(&'a self, number: &'a Secret<String>) -> PortFuture<'a, Option<Country>> {
        let country = number.expose_secret().get(..9).and_then(bins::country);
        Box::pin(std::future::ready(Ok(country)))
    }

    fn events_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<PayoutEvent>> {
        Box::pin(self.read(after, limit))
    }
}

#[cfg(test)]
mod tests;
