//! The sandbox's payout rails: orders that are idempotent by key, in their own file that is synced before each
//! response, events that occur on schedule whether or not they are queried, and amounts that force an outcome.
//!
//! No card or account number is in the file, nor a digest of one.

mod bins;
pub mod faults;
mod orders;
mod reconciliation;
mod records;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::id::{JobId, PayoutId};
use purser_actors::port::payouts::{PayoutEvent, PayoutStatusUpdate, RecallResult};
use purser_actors::port::{BoxFuture, Clock, ErrorKind, PortError};
use purser_actors::product::Country;

use self::faults::PayoutFault;
use self::records::{PayoutEventRecord, PayoutRecord, PayoutRecords};
use super::fault_rules::{FaultRule, FaultRules};
use crate::provider::payouts::{PayoutApi, PlainPayout};
use crate::sandbox::records::RecordBook as _;
use crate::sandbox::store::{DurablePromise, SandboxStore, SandboxStoreError, Table};
use crate::secret::Secret;

pub use self::records::PayoutEventKind;

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
    records: Mutex<PayoutRecords>,
    faults: FaultRules<PayoutFault>,
}

/// Summary of the rails.
#[derive(Clone, Debug)]
pub struct SandboxPayoutSummary {
    pub orders: usize,
    pub events: u64,
    pub recalled: usize,
    /// Faults that wait for a call.
    pub rules: Vec<FaultRule<PayoutFault>>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
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
        let book = PayoutRecords::default().open(store, Table::Payouts)?;
        Ok(Self {
            settings,
            clock,
            records: Mutex::new(book),
            faults: FaultRules::default(),
        })
    }

    pub fn add_fault(&self, fault: PayoutFault, remaining: Option<u32>) {
        self.faults.add(FaultRule { fault, remaining });
    }

    pub fn clear_faults(&self) {
        self.faults.clear();
    }

    /// Totals and faults, after they are durable.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn state(&self) -> Result<SandboxPayoutSummary, SandboxStoreError> {
        let (state, durable) = {
            let mut book = self.records.lock();
            let durable = self.emit_due_events(&mut book);
            let state = SandboxPayoutSummary {
                orders: book.totals.orders,
                events: book.rows.numbered(),
                recalled: book.totals.recalled,
                rules: self.faults.pending(),
                faults_injected: self.faults.injected(),
            };
            (state, durable)
        };
        durable.wait().await.map(|()| state)
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
        let durable = {
            let mut book = self.records.lock();
            drop(self.emit_due_events(&mut book));
            let Some(order) = book.order_of(payout) else {
                return Ok(false);
            };
            let sequence = sequence.unwrap_or(book.latest(order.key).map_or(1, |word| word.sequence + 1));
            let at = book.totals.now;
            book.append(&[PayoutRecord::Event(PayoutEventRecord {
                at,
                key: order.key,
                payout,
                sequence,
                kind: says,
            })])
        };
        durable.wait().await.map(|()| true)
    }

    /// Emits every event that is due, in the order of their times.
    fn emit_due_events(&self, book: &mut PayoutRecords) -> DurablePromise {
        book.totals.now = book.totals.now.max(self.clock.now());
        let mut durable = book.rows.barrier();
        while let Some(word) = book.due() {
            durable = book.append(&[PayoutRecord::Event(word)]);
        }
        durable
    }

    /// The effect of a fault before the rails have read the request.
    async fn before(&self, operation: &'static str, fault: Option<PayoutFault>) -> Result<(), PortError> {
        match fault {
            Some(PayoutFault::Unreachable) => Err(failed(operation, ErrorKind::Temporary, "the rails are unreachable")),
            // A malformed response reveals nothing about the outcome.
            Some(PayoutFault::MalformedResponse) => Err(failed(
                operation,
                ErrorKind::Unknown,
                "the answer is not a rail's answer",
            )),
            Some(PayoutFault::Slow { ms }) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn read(&self, after: u64, limit: usize) -> Result<Vec<PayoutEvent>, PortError> {
        const CALL: &str = "payout events";
        self.before(CALL, self.faults.take(PayoutFault::affects_event_reads))
            .await?;
        let (page, durable) = {
            let mut book = self.records.lock();
            let durable = self.emit_due_events(&mut book);
            (book.events_after(after, limit), durable)
        };
        let stopped = |e: SandboxStoreError| failed(CALL, ErrorKind::Temporary, &e.to_string());
        durable.wait().await.map_err(stopped)?;
        Ok(page)
    }
}

fn failed(operation: &'static str, kind: ErrorKind, message: &str) -> PortError {
    PortError {
        kind,
        operation,
        message: message.to_owned(),
    }
}

impl PayoutApi for SandboxPayouts {
    fn send(&self, order: PlainPayout) -> BoxFuture<'_, Result<PayoutStatusUpdate, PortError>> {
        Box::pin(self.place_order(order))
    }

    fn find(&self, key: JobId) -> BoxFuture<'_, Result<Option<PayoutStatusUpdate>, PortError>> {
        Box::pin(self.find_order(key))
    }

    fn recall(&self, key: JobId, payout: PayoutId) -> BoxFuture<'_, Result<RecallResult, PortError>> {
        Box::pin(self.recall_order(key, payout))
    }

    fn card_country<'a>(&'a self, number: &'a Secret<String>) -> BoxFuture<'a, Result<Option<Country>, PortError>> {
        let country = number.expose_secret().get(..9).and_then(bins::country);
        Box::pin(std::future::ready(Ok(country)))
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<PayoutEvent>, PortError>> {
        Box::pin(self.read(after, limit))
    }
}

#[cfg(test)]
mod tests;
