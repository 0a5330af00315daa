//! The issuer's lists. One has all orders; a card in preparation is left out until it is ready, unless it is queried by
//! its key. The other has the money released by closed cards.

use std::sync::Arc;

use purser_actors::port::{
    BoxFuture, EntryKey, ErrorKind, ListCursor, ListPage, PortError, ProviderEntry, ProviderList, Timestamp,
};
use purser_actors::product::Currency;
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::issuer_card_ledger::{CardLedgers, CardRecord};
use super::issuer_records::CardOrderRecord;
use super::{ISSUE as LIST, SandboxIssuer};
use crate::sandbox::faults::failed;
use crate::sandbox::records::{RecordRows, SandboxRecord};
use crate::sandbox::store::DurablePromise;

/// Position of a sandbox list cursor.
pub(super) fn position(after: Option<&ListCursor>) -> Result<u64, PortError> {
    let wrong = || failed(ErrorKind::Permanent, LIST, "not a cursor of this list");
    after.map_or(Ok(0), |cursor| cursor.number().ok_or_else(wrong))
}

/// A page of records after a position: `list` maps each counted record, until it reports that there are no more for
/// now.
pub(super) fn page<T: SandboxRecord>(
    shelf: &RecordRows<T>,
    after: u64,
    limit: usize,
    mut list: impl FnMut(&T) -> ListedRecord,
) -> ListPage<ProviderEntry> {
    let (mut items, mut at) = (Vec::new(), after);
    shelf.scan(after, |number, record| {
        match list(record) {
            ListedRecord::NotYet => return false,
            ListedRecord::Nothing => {}
            ListedRecord::As(entry) => items.push(entry),
        }
        at = number + 1;
        items.len() < limit.max(1)
    });
    let next = (!items.is_empty()).then(|| ListCursor::from_number(at));
    ListPage { items, next }
}

/// Returns the value once it is durable.
pub(super) async fn await_durable<T>(value: T, durable: DurablePromise) -> Result<T, PortError> {
    durable.or(ErrorKind::Temporary, LIST).await.map(|()| value)
}

/// Entry of a record in a list.
pub(super) enum ListedRecord {
    As(ProviderEntry),
    Nothing,
    /// It becomes an entry later, so the list ends before it.
    NotYet,
}

/// In any status.
fn entry(order: &CardOrderRecord, now: Timestamp) -> ProviderEntry {
    let (standing, at) = match order.declined {
        Some(_) => (EntryStatus::Declined, order.at),
        None if order.ready_at <= now => (EntryStatus::Completed, order.ready_at),
        None => (EntryStatus::Pending, order.at),
    };
    ProviderEntry {
        name: EntryKey::for_order(order.key),
        product: "card".into(),
        amount: EntryAmount::Cents(order.amount, Currency::USD),
        returned_transfer: None,
        terms: None,
        status: standing,
        at,
    }
}

/// Listed once it is ready or declined.
fn listed(order: &CardOrderRecord, now: Timestamp) -> ListedRecord {
    match entry(order, now) {
        entry if entry.status == EntryStatus::Pending => ListedRecord::NotYet,
        entry => ListedRecord::As(entry),
    }
}

/// Total released amount of each closed card under the key of its order: one line per release.
pub struct PrepaidRemainderList(pub Arc<SandboxIssuer>);

impl PrepaidRemainderList {
    /// Entry of the card that this order created.
    fn remainder_entry(lives: &CardLedgers, order: &CardOrderRecord) -> Option<ProviderEntry> {
        let (released, at) = lives.of(order.clone()).released_total()?;
        Some(ProviderEntry {
            name: EntryKey::for_order(order.key),
            product: "remainder".into(),
            amount: EntryAmount::Cents(released, Currency::USD),
            returned_transfer: None,
            terms: None,
            status: EntryStatus::Completed,
            at,
        })
    }
}

impl ProviderList for PrepaidRemainderList {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ProviderEntry>, PortError>> {
        Box::pin(async move {
            let after = position(after)?;
            let (page, durable) = {
                let (book, lives) = (self.0.records.lock(), self.0.ledgers.lock());
                let shown = |event: &CardRecord| match event.releases_money() {
                    false => ListedRecord::Nothing,
                    true => book
                        .by_ref(&event.issuer_ref)
                        .and_then(|order| Self::remainder_entry(&lives, &order))
                        .map_or(ListedRecord::Nothing, ListedRecord::As),
                };
                (page(&lives.rows, after, limit, shown), lives.rows.barrier())
            };
            await_durable(page, durable).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ProviderEntry>, PortError>> {
        Box::pin(async move {
            let (found, durable) = {
                let (book, lives) = (self.0.records.lock(), self.0.ledgers.lock());
                let order = name.order().and_then(|key| book.order(key));
                let found = order.and_then(|order| Self::remainder_entry(&lives, &order));
                (found, lives.rows.barrier())
            };
            await_durable(found, durable).await
        })
    }
}

impl ProviderList for SandboxIssuer {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ProviderEntry>, PortError>> {
        Box::pin(async move {
            let after = position(after)?;
            let (page, durable) = {
                let mut book = self.records.lock();
                book.totals.now = book.totals.now.max(self.clock.now());
                let now = book.totals.now;
                let shown = |order: &CardOrderRecord| listed(order, now);
                (page(&book.rows, after, limit, shown), book.rows.barrier())
            };
            await_durable(page, durable).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ProviderEntry>, PortError>> {
        Box::pin(async move {
            let (found, durable) = {
                let mut book = self.records.lock();
                book.totals.now = book.totals.now.max(self.clock.now());
                let order = name.order().and_then(|key| book.order(key));
                let found = order.map(|order| entry(&order, book.totals.now));
                (found, book.rows.barrier())
            };
            await_durable(found, durable).await
        })
    }
}
