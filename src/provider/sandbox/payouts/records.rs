//! Records of the sandbox's rails: orders with their scheduled events, and all emitted events in order.

use purser_actors::currency::Currency;
use purser_actors::id::{JobId, PayoutId};
use purser_actors::money::Cents;
use purser_actors::port::Timestamp;
use purser_actors::port::payouts::{PayoutEvent, PayoutRailStatus, PayoutStatusUpdate};
use purser_actors::product::ProductLine;
use purser_storage::codec::Stored;

use purser_sandbox::record_book;
use purser_sandbox::records::{RecordBook, SandboxRecord, key_name, name};
use purser_sandbox::state::{StoredMap, StoredValue};

/// Maximum delay after which the caller is asked to retry, in milliseconds.
const RETRY_MS: u64 = 1_000;

/// Events of a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum PayoutEventKind {
    /// Money is on its way.
    InProcess,
    Complete,
    Failed,
    Cancelled,
    Returned,
}

impl PayoutEventKind {
    fn state(self, key: JobId) -> PayoutRailStatus {
        match self {
            Self::InProcess => PayoutRailStatus::InProcess {
                retry_after_ms: RETRY_MS,
            },
            // Half of the key: enough to find the order at the rail, not enough to order with.
            Self::Complete => PayoutRailStatus::Complete {
                reference: format!("sbx_pay_{:016x}", key.0 >> 64).into(),
            },
            Self::Failed => PayoutRailStatus::Failed {
                reason: "declined_by_rail".into(),
            },
            Self::Cancelled => PayoutRailStatus::Cancelled {
                reason: "stopped_by_rail".into(),
            },
            Self::Returned => PayoutRailStatus::Returned {
                reason: "returned_by_recipient".into(),
            },
        }
    }
}

/// An event of one payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) struct PayoutEventRecord {
    /// Time at which it was or will be emitted.
    pub(super) at: Timestamp,
    pub(super) key: JobId,
    pub(super) payout: PayoutId,
    pub(super) sequence: u64,
    pub(super) kind: PayoutEventKind,
}

impl PayoutEventRecord {
    pub(super) fn status_update(&self) -> PayoutStatusUpdate {
        PayoutStatusUpdate {
            sequence: self.sequence,
            status: self.kind.state(self.key),
        }
    }
}

/// An accepted order.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) struct PayoutOrderRecord {
    pub(super) key: JobId,
    pub(super) payout: PayoutId,
    pub(super) line: ProductLine,
    pub(super) amount: Cents,
    pub(super) currency: Currency,
    /// Digest of the whole request.
    pub(super) digest: [u8; 32],
    pub(super) at: Timestamp,
    /// Whether a payment after a decline cannot be recalled.
    pub(super) not_recallable: bool,
    /// Whether the rail pays after it declined.
    pub(super) paid_after_decline: bool,
    /// Events that are not due yet.
    pub(super) scheduled_events: Vec<PayoutEventRecord>,
}

/// A stored record.
#[derive(Clone, Debug, bincode::Encode, bincode::Decode)]
pub(crate) enum PayoutRecord {
    Ordered(PayoutOrderRecord),
    Event(PayoutEventRecord),
    /// The payout was recalled: its scheduled events are dropped.
    Recalled(JobId),
}

impl Stored for PayoutRecord {
    const SCHEMA: u16 = 709;
}

impl SandboxRecord for PayoutRecord {
    fn names(&self) -> Vec<u64> {
        match self {
            Self::Ordered(order) => vec![key_name(order.key), by_payout(order.payout)],
            Self::Event(word) => vec![key_name(word.key)],
            Self::Recalled(key) => vec![key_name(*key)],
        }
    }

    fn is_numbered(&self) -> bool {
        matches!(self, Self::Event(_))
    }
}

fn by_payout(payout: PayoutId) -> u64 {
    name(&[b"payout", &payout.0.to_be_bytes()])
}

/// Time of an event, and its order among events of the same time.
type DueKey = (Timestamp, u64);

#[derive(Debug, Default, bincode::Encode, bincode::Decode)]
pub(crate) struct PayoutTotals {
    pub(super) orders: usize,
    pub(super) recalled: usize,
    /// Number of events ever scheduled, which orders events of the same time.
    planned: u64,
    /// The rails' time never runs backwards.
    pub(super) now: Timestamp,
}

impl Stored for PayoutTotals {
    const SCHEMA: u16 = 710;
}

impl Stored for PayoutEventRecord {
    const SCHEMA: u16 = 726;
}

record_book! {
    pub(crate) struct PayoutRecords of PayoutRecord {
        pub(super) totals: StoredValue<PayoutTotals>,
        /// Events that are not due yet.
        scheduled_events: StoredMap<DueKey, PayoutEventRecord>,
    }
}

impl RecordBook for PayoutRecords {
    fn apply(&mut self, record: &PayoutRecord) -> Result<(), String> {
        match record {
            PayoutRecord::Ordered(order) => {
                self.totals.now = self.totals.now.max(order.at);
                self.totals.orders += 1;
                for word in &order.scheduled_events {
                    self.totals.planned += 1;
                    self.scheduled_events.insert((word.at, self.totals.planned), *word);
                }
            }
            // Events of the sandbox controls were never scheduled.
            PayoutRecord::Event(word) => {
                let planned = self.scheduled_events.iter().find(|(_, to_come)| *to_come == word);
                if let Some(due) = planned.map(|(due, _)| *due) {
                    self.scheduled_events.remove(&due);
                }
            }
            PayoutRecord::Recalled(key) => {
                self.totals.recalled += 1;
                self.scheduled_events.retain(|_, word| word.key != *key);
            }
        }
        Ok(())
    }
}

impl PayoutRecords {
    /// The next event that is due.
    pub(super) fn due(&self) -> Option<PayoutEventRecord> {
        let (due, word) = self.scheduled_events.first_key_value()?;
        (due.0 <= self.totals.now).then_some(*word)
    }

    pub(super) fn order(&self, key: JobId) -> Option<PayoutOrderRecord> {
        self.near(key_name(key)).find(|order| order.key == key)
    }

    pub(super) fn order_of(&self, payout: PayoutId) -> Option<PayoutOrderRecord> {
        self.near(by_payout(payout)).find(|order| order.payout == payout)
    }

    fn near(&self, name: u64) -> impl Iterator<Item = PayoutOrderRecord> {
        let found = self.rows.find(name).into_iter();
        found.filter_map(|record| match record {
            PayoutRecord::Ordered(order) => Some(order),
            PayoutRecord::Event(_) | PayoutRecord::Recalled(_) => None,
        })
    }

    /// All events of an order, oldest first.
    pub(super) fn events_of(&self, key: JobId) -> Vec<PayoutEventRecord> {
        let found = self.rows.find(key_name(key)).into_iter();
        let words = found.filter_map(|record| match record {
            PayoutRecord::Event(word) if word.key == key => Some(word),
            _ => None,
        });
        let mut said: Vec<PayoutEventRecord> = words.collect();
        // A repetition at the same moment counts once.
        said.dedup();
        said
    }

    /// The event with the highest sequence. It is authoritative, whatever was reported last.
    pub(super) fn latest(&self, key: JobId) -> Option<PayoutEventRecord> {
        self.events_of(key).into_iter().max_by_key(|word| word.sequence)
    }

    pub(super) fn is_recalled(&self, key: JobId) -> bool {
        let mut found = self.rows.find(key_name(key)).into_iter();
        found.any(|record| matches!(record, PayoutRecord::Recalled(recalled) if recalled == key))
    }

    /// Events after this number.
    pub(super) fn events_after(&self, after: u64, limit: usize) -> Vec<PayoutEvent> {
        let mut page = Vec::new();
        self.rows.scan(after, |number, record| {
            if let PayoutRecord::Event(word) = record {
                page.push(PayoutEvent {
                    position: number + 1,
                    payout: word.payout,
                    update: word.status_update(),
                });
            }
            page.len() < limit
        });
        page
    }
}
