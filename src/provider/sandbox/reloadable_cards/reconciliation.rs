//! Two lists: all orders, one line for each change of an order; and the balance of each card, one line for each change.

use std::sync::Arc;

use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{BoxFuture, EntryKey, ListCursor, ListPage, PortError, ProviderList, Timestamp};
use purser_actors::product::Currency;
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::SandboxReloadableCards;
use super::records::{ReloadableCardRecord, ReloadableCardRecords};
use crate::provider::sandbox::card_balances::SandboxCardBalances;
use crate::provider::sandbox::issuer_reconciliation::{ListedRecord, await_durable, page, position};

type ListFuture = purser_actors::port::ProviderEntry;

/// Orders of cards, and holds.
pub struct ReloadableCardList(pub Arc<SandboxReloadableCards<SandboxCardBalances>>);

/// Remaining balance of each card, under the key of its order.
pub struct ReloadableCardBalanceList(pub Arc<SandboxReloadableCards<SandboxCardBalances>>);

fn listed(key: JobId, product: &'static str, (standing, amount): (EntryStatus, Cents), at: Timestamp) -> ListFuture {
    ListFuture {
        name: EntryKey::for_order(key),
        product: product.into(),
        amount: EntryAmount::Cents(amount, Currency::USD),
        returned_transfer: None,
        terms: None,
        status: standing,
        at,
    }
}

/// Current entry of an order.
fn order(book: &ReloadableCardRecords, key: JobId) -> Option<ListFuture> {
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
            let standing = if paid {
                EntryStatus::Completed
            } else {
                EntryStatus::Returned
            };
            Some(listed(key, "reservation", (standing, amount), at))
        }
        ReloadableCardRecord::StateChanged { .. }
        | ReloadableCardRecord::Charged { .. }
        | ReloadableCardRecord::ChargeUpdated { .. } => None,
    });
    statuses.next_back()
}

/// Current entry of a card's balance.
fn balance(book: &ReloadableCardRecords, card: CardId) -> Option<ListFuture> {
    let file = book.card(card)?;
    let left = (EntryStatus::Completed, file.available);
    Some(listed(file.opened.key, "balance", left, file.changed_at))
}

fn listed_record(entry: Option<ListFuture>) -> ListedRecord {
    entry.map_or(ListedRecord::Nothing, ListedRecord::As)
}

impl SandboxReloadableCards<SandboxCardBalances> {
    async fn listed(
        &self,
        after: Option<&ListCursor>,
        limit: usize,
        list: impl Fn(&ReloadableCardRecords, &ReloadableCardRecord) -> ListedRecord + Send,
    ) -> Result<ListPage<ListFuture>, PortError> {
        let after = position(after)?;
        let (page, durable) = {
            let book = self.records.lock();
            let page = page(&book.rows, after, limit, |entry| list(&book, entry));
            (page, book.rows.barrier())
        };
        await_durable(page, durable).await
    }

    async fn one(
        &self,
        find: impl FnOnce(&ReloadableCardRecords) -> Option<ListFuture> + Send,
    ) -> Result<Option<ListFuture>, PortError> {
        let (found, durable) = {
            let book = self.records.lock();
            (find(&book), book.rows.barrier())
        };
        await_durable(found, durable).await
    }
}

impl ProviderList for ReloadableCardList {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ListFuture>, PortError>> {
        let list = |book: &ReloadableCardRecords, entry: &ReloadableCardRecord| match entry {
            ReloadableCardRecord::Opened(opened) => listed_record(order(book, opened.key)),
            ReloadableCardRecord::Declined { key, .. }
            | ReloadableCardRecord::HoldCreated { key, .. }
            | ReloadableCardRecord::HoldSettled { key, .. } => listed_record(order(book, *key)),
            ReloadableCardRecord::StateChanged { .. }
            | ReloadableCardRecord::Charged { .. }
            | ReloadableCardRecord::ChargeUpdated { .. } => ListedRecord::Nothing,
        };
        Box::pin(self.0.listed(after, limit, list))
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ListFuture>, PortError>> {
        Box::pin(self.0.one(|book| order(book, name.order()?)))
    }
}

impl ProviderList for ReloadableCardBalanceList {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ListFuture>, PortError>> {
        let list = |book: &ReloadableCardRecords, entry: &ReloadableCardRecord| match entry {
            ReloadableCardRecord::Opened(opened) => listed_record(balance(book, opened.card)),
            ReloadableCardRecord::StateChanged { card, .. }
            | ReloadableCardRecord::Charged { card, .. }
            | ReloadableCardRecord::ChargeUpdated { card, .. } => listed_record(balance(book, *card)),
            _ => ListedRecord::Nothing,
        };
        Box::pin(self.0.listed(after, limit, list))
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ListFuture>, PortError>> {
        Box::pin(self.0.one(|book| {
            let key = name.order()?;
            let opened = book.records_of(key).into_iter().find_map(|entry| match entry {
                ReloadableCardRecord::Opened(opened) => Some(opened.card),
                _ => None,
            });
            balance(book, opened?)
        }))
    }
}
