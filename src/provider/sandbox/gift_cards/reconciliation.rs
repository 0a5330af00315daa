//! The catalog's list of all orders. A gift card in preparation is left out until it is ready, unless it is queried by
//! its key.

use purser_actors::port::{
    BoxFuture, EntryKey, ListCursor, ListPage, PortError, ProviderEntry, ProviderList, Timestamp,
};
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::super::issuer_reconciliation::{ListedRecord, await_durable, page, position};
use super::SandboxGiftCards;
use super::records::{GiftCardOrderRecord, GiftCardRecord};

impl SandboxGiftCards {
    /// Listed once it is ready or declined.
    fn listed(&self, order: &GiftCardOrderRecord, now: Timestamp) -> ListedRecord {
        match self.list_entry(order, now) {
            ListedRecord::As(entry) if entry.status == EntryStatus::Pending => ListedRecord::NotYet,
            shown => shown,
        }
    }

    /// In any status.
    fn list_entry(&self, order: &GiftCardOrderRecord, now: Timestamp) -> ListedRecord {
        let (standing, at) = match order.declined {
            Some(_) => (EntryStatus::Declined, order.at),
            None if order.ready_at <= now => (EntryStatus::Completed, order.ready_at),
            None => (EntryStatus::Pending, order.at),
        };
        // The currency of a product that is no longer in the catalog is not known.
        let product = self.catalog.get(&order.product);
        let Some(currency) = product.and_then(|listed| listed.product.currency.parse().ok()) else {
            return ListedRecord::Nothing;
        };
        ListedRecord::As(ProviderEntry {
            name: EntryKey::for_order(order.key),
            product: order.product.as_str().into(),
            amount: EntryAmount::Cents(order.amount, currency),
            returned_transfer: None,
            terms: order.terms(),
            status: standing,
            at,
        })
    }
}

impl ProviderList for SandboxGiftCards {
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
                let shown = |record: &GiftCardRecord| match record {
                    GiftCardRecord::Ordered(order) => self.listed(order, now),
                    GiftCardRecord::Stock { .. } | GiftCardRecord::Price { .. } => ListedRecord::Nothing,
                };
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
                let found = order.map(|order| self.list_entry(&order, book.totals.now));
                (found, book.rows.barrier())
            };
            Ok(match await_durable(found, durable).await? {
                Some(ListedRecord::As(entry)) => Some(entry),
                _ => None,
            })
        })
    }
}
