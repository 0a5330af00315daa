//! The rails' list of all orders: one line per event of an order, so that an order is listed again when its status
//! changes.

use purser_actors::id::JobId;
use purser_actors::port::{EntryKey, ProviderEntry};
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::super::lists::{ListedRecord, RecordList, entry};
use super::SandboxPayouts;
use super::records::{PayoutEventKind, PayoutRecord, PayoutRecords};
use purser_sandbox::records::Records;

impl PayoutEventKind {
    const fn entry_status(self) -> EntryStatus {
        match self {
            Self::InProcess => EntryStatus::Pending,
            Self::Complete => EntryStatus::Completed,
            Self::Failed | Self::Cancelled => EntryStatus::Declined,
            Self::Returned => EntryStatus::Returned,
        }
    }
}

/// Current entry; `None` for a payout that was recalled before it was ordered.
fn payout_entry(book: &PayoutRecords, key: JobId) -> Option<ProviderEntry> {
    let (order, word) = (book.order(key)?, book.latest(key)?);
    let amount = EntryAmount::Cents(order.amount, order.currency);
    let (name, status) = (EntryKey::for_order(key), word.kind.entry_status());
    Some(entry(name, order.line.name(), amount, status, word.at))
}

impl RecordList for SandboxPayouts {
    type Book = PayoutRecords;

    fn records(&self) -> &Records<PayoutRecords> {
        &self.records
    }

    fn update(&self, book: &mut PayoutRecords) {
        self.emit_due_events(book);
    }

    fn listed(&self, book: &PayoutRecords, record: &PayoutRecord) -> ListedRecord {
        match record {
            PayoutRecord::Event(word) => payout_entry(book, word.key).into(),
            PayoutRecord::Ordered(_) | PayoutRecord::Recalled(_) => ListedRecord::Nothing,
        }
    }

    fn find(&self, book: &PayoutRecords, name: &EntryKey) -> Option<ProviderEntry> {
        payout_entry(book, name.order()?)
    }
}
