//! Two lists: all orders, one line for each change of an order; and the balance of each card, one line for each change.

use std::sync::Arc;

use purser_actors::currency::Currency;
use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{EntryKey, ProviderEntry, Timestamp};
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::SandboxReloadableCards;
use super::records::{ReloadableCardRecord, ReloadableCardRecords};
use crate::sandbox::card_balances::SandboxCardBalances;
use crate::sandbox::lists::{ListedRecord, RecordList, entry};
use purser_sandbox::records::Records;

/// Orders of cards, and holds.
pub(crate) struct ReloadableCardList(pub(crate) Arc<SandboxReloadableCards<SandboxCardBalances>>);

/// Remaining balance of each card, under the key of its order.
pub(crate) struct ReloadableCardBalanceList(pub(crate) Arc<SandboxReloadableCards<SandboxCardBalances>>);

fn listed(key: JobId, product: &'static str, (snapshot, amount): (EntryStatus, Cents), at: Timestamp) -> ProviderEntry {
    let amount = EntryAmount::Cents(amount, Currency::USD);
    entry(EntryKey::for_order(key), product, amount, snapshot, at)
}

/// Current entry of an order.
fn order(book: &ReloadableCardRecords, key: JobId) -> Option<ProviderEntry> {
    let mut statuses = book.records_of(key).into_iter().filter_map(|entry| match entry {
        ReloadableCardRecord::Opened(opened) => {
            Some(listed(key, "card", (EntryStatus::Completed, opened.amount), opened.at))
        }
        ReloadableCardRecord::Declined { card, amount, at, .. } => {
            let product = if card { "card" } else { "reservation" };
            Some(listed(key, product, (EntryStatus::Declined, amount), at))
        }
        ReloadableCardRecord::HoldCreated { amount, at, .. } => {
            Some(listed(key, "reservation", (EntryStatus::Held, amount), at))
        }
        ReloadableCardRecord::HoldSettled {
            amount,
            captured: paid,
            at,
            ..
        } => {
            let snapshot = if paid {
                EntryStatus::Completed
            } else {
                EntryStatus::Returned
            };
            Some(listed(key, "reservation", (snapshot, amount), at))
        }
        ReloadableCardRecord::StateChanged { .. }
        | ReloadableCardRecord::Charged { .. }
        | ReloadableCardRecord::ChargeUpdated { .. } => None,
    });
    statuses.next_back()
}

/// Current entry of a card's balance.
fn balance(book: &ReloadableCardRecords, card: CardId) -> Option<ProviderEntry> {
    let file = book.card(card)?;
    let left = (EntryStatus::Completed, file.available);
    Some(listed(file.opened.key, "balance", left, file.changed_at))
}

impl RecordList for ReloadableCardList {
    type Book = ReloadableCardRecords;

    fn records(&self) -> &Records<ReloadableCardRecords> {
        &self.0.records
    }

    fn listed(&self, book: &ReloadableCardRecords, entry: &ReloadableCardRecord) -> ListedRecord {
        match entry {
            ReloadableCardRecord::Opened(opened) => order(book, opened.key).into(),
            ReloadableCardRecord::Declined { key, .. }
            | ReloadableCardRecord::HoldCreated { key, .. }
            | ReloadableCardRecord::HoldSettled { key, .. } => order(book, *key).into(),
            ReloadableCardRecord::StateChanged { .. }
            | ReloadableCardRecord::Charged { .. }
            | ReloadableCardRecord::ChargeUpdated { .. } => ListedRecord::Nothing,
        }
    }

    fn find(&self, book: &ReloadableCardRecords, name: &EntryKey) -> Option<ProviderEntry> {
        order(book, name.order()?)
    }
}

impl RecordList for ReloadableCardBalanceList {
    type Book = ReloadableCardRecords;

    fn records(&self) -> &Records<ReloadableCardRecords> {
        &self.0.records
    }

    fn listed(&self, book: &ReloadableCardRecords, entry: &ReloadableCardRecord) -> ListedRecord {
        match entry {
            ReloadableCardRecord::Opened(opened) => balance(book, opened.card).into(),
            ReloadableCardRecord::StateChanged { card, .. }
            | ReloadableCardRecord::Charged { card, .. }
            | ReloadableCardRecord::ChargeUpdated { card, .. } => balance(book, *card).into(),
            _ => ListedRecord::Nothing,
        }
    }

    fn find(&self, book: &ReloadableCardRecords, name: &EntryKey) -> Option<ProviderEntry> {
        let opened = book
            .records_of(name.order()?)
            .into_iter()
            .find_map(|entry| match entry {
                ReloadableCardRecord::Opened(opened) => Some(opened.card),
                _ => None,
            });
        balance(book, opened?)
    }
}
