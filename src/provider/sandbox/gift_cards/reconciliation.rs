//! The catalog's list of all orders. A gift card in preparation is left out until it is ready, unless it is queried by
//! its key.

use purser_actors::port::{EntryKey, ProviderEntry, Timestamp};
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::super::lists::{ListedRecord, RecordList, entry, prepared};
use super::SandboxGiftCards;
use super::records::{GiftCardOrderRecord, GiftCardRecord, GiftCardRecords};
use purser_sandbox::clock::advance;
use purser_sandbox::records::Records;

impl SandboxGiftCards {
    /// Listed once it is ready or declined.
    fn listed_order(&self, order: &GiftCardOrderRecord, now: Timestamp) -> ListedRecord {
        match self.list_entry(order, now) {
            Some(entry) if entry.status == EntryStatus::Pending => ListedRecord::NotYet,
            shown => shown.into(),
        }
    }

    /// In any status.
    fn list_entry(&self, order: &GiftCardOrderRecord, now: Timestamp) -> Option<ProviderEntry> {
        let (status, at) = prepared(order.declined.is_some(), order.at, order.ready_at, now);
        // The currency of a product that is no longer in the catalog is not known.
        let product = self.catalog.get(&order.product);
        let currency = product.and_then(|listed| listed.product.currency.parse().ok())?;
        let amount = EntryAmount::Cents(order.amount, currency);
        Some(ProviderEntry {
            terms: order.terms(),
            ..entry(EntryKey::for_order(order.key), &order.product, amount, status, at)
        })
    }
}

impl RecordList for SandboxGiftCards {
    type Book = GiftCardRecords;

    fn records(&self) -> &Records<GiftCardRecords> {
        &self.records
    }

    fn update(&self, book: &mut GiftCardRecords) {
        advance(&mut book.totals.now, &*self.clock);
    }

    fn listed(&self, book: &GiftCardRecords, record: &GiftCardRecord) -> ListedRecord {
        match record {
            GiftCardRecord::Ordered(order) => self.listed_order(order, book.totals.now),
            GiftCardRecord::Stock { .. } | GiftCardRecord::Price { .. } => ListedRecord::Nothing,
        }
    }

    fn find(&self, book: &GiftCardRecords, name: &EntryKey) -> Option<ProviderEntry> {
        self.list_entry(&book.order(name.order()?)?, book.totals.now)
    }
}
