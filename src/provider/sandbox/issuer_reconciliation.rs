//! The issuer's lists. One has all orders; a card in preparation is left out until it is ready, unless it is queried by
//! its key. The other has the money released by closed cards.

use std::sync::Arc;

use purser_actors::currency::Currency;
use purser_actors::port::{EntryKey, ProviderEntry, Timestamp};
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::SandboxIssuer;
use super::issuer_card_ledger::{CardLedgers, CardRecord};
use super::issuer_records::{CardOrderRecord, IssuerRecords};
use super::lists::{ListedRecord, RecordList, entry, prepared};
use purser_sandbox::clock::advance;
use purser_sandbox::records::Records;

/// In any status.
fn order_entry(order: &CardOrderRecord, now: Timestamp) -> ProviderEntry {
    let (status, at) = prepared(order.declined.is_some(), order.at, order.ready_at, now);
    let amount = EntryAmount::Cents(order.amount, Currency::USD);
    entry(EntryKey::for_order(order.key), "card", amount, status, at)
}

/// Listed once it is ready or declined.
fn listed(order: &CardOrderRecord, now: Timestamp) -> ListedRecord {
    match order_entry(order, now) {
        entry if entry.status == EntryStatus::Pending => ListedRecord::NotYet,
        entry => ListedRecord::As(entry),
    }
}

/// Total released amount of each closed card under the key of its order: one line per release.
pub(super) struct PrepaidRemainderList(pub(super) Arc<SandboxIssuer>);

impl PrepaidRemainderList {
    /// Entry of the card that this order created.
    fn remainder_entry(lives: &CardLedgers, order: &CardOrderRecord) -> Option<ProviderEntry> {
        let (released, at) = lives.of(order.clone()).released_total()?;
        let name = EntryKey::for_order(order.key);
        let released = EntryAmount::Cents(released, Currency::USD);
        Some(entry(name, "remainder", released, EntryStatus::Completed, at))
    }
}

impl RecordList for PrepaidRemainderList {
    type Book = CardLedgers;

    fn records(&self) -> &Records<CardLedgers> {
        &self.0.ledgers
    }

    fn listed(&self, lives: &CardLedgers, event: &CardRecord) -> ListedRecord {
        if !event.releases_money() {
            return ListedRecord::Nothing;
        }
        let order = self.0.records.lock().by_ref(&event.issuer_ref);
        order.and_then(|order| Self::remainder_entry(lives, &order)).into()
    }

    fn find(&self, lives: &CardLedgers, name: &EntryKey) -> Option<ProviderEntry> {
        let order = self.0.records.lock().order(name.order()?)?;
        Self::remainder_entry(lives, &order)
    }
}

impl RecordList for SandboxIssuer {
    type Book = IssuerRecords;

    fn records(&self) -> &Records<IssuerRecords> {
        &self.records
    }

    fn update(&self, book: &mut IssuerRecords) {
        advance(&mut book.totals.now, &*self.clock);
    }

    fn listed(&self, book: &IssuerRecords, order: &CardOrderRecord) -> ListedRecord {
        listed(order, book.totals.now)
    }

    fn find(&self, book: &IssuerRecords, name: &EntryKey) -> Option<ProviderEntry> {
        Some(order_entry(&book.order(name.order()?)?, book.totals.now))
    }
}
