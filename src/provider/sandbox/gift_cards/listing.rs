//! The catalog's list of what it was ever ordered. A gift card that is being made is left out until it is made, but for whoever asks
//! for it by its name.

use purser_actors::port::{BoxFuture, Cursor, Entry, EntryName, Page, PortError, ProviderList, Timestamp};
use purser_actors::reconcile::{Money, Standing};

use super::super::listing::{Shown, durably, page, place};
use super::SandboxGiftCards;
use super::book::{Ordered, Record};
use crate::sandbox::archive::Book as _;

impl SandboxGiftCards {
    /// Once it is made, or declined.
    fn listed(&self, order: &Ordered, now: Timestamp) -> Shown {
        match self.stands(order, now) {
            Shown::As(entry) if entry.standing == Standing::UnderWay => Shown::NotYet,
            shown => shown,
        }
    }

    /// However it stands.
    fn stands(&self, order: &Ordered, now: Timestamp) -> Shown {
        let (standing, at) = match order.declined {
            Some(_) => (Standing::Refused, order.at),
            None if order.ready_at <= now => (Standing::Done, order.ready_at),
            None => (Standing::UnderWay, order.at),
        };
        // Of a product that is not in the list any more, its currency is not known.
        let product = self.catalog.get(&order.product);
        let Some(currency) = product.and_then(|listed| listed.product.currency.parse().ok()) else {
            return Shown::Nothing;
        };
        Shown::As(Entry {
            name: EntryName::of(order.key),
            product: order.product.as_str().into(),
            money: Money::Cents(order.amount, currency),
            returns: None,
            terms: order.terms(),
            standing,
            at,
        })
    }
}

impl ProviderList for SandboxGiftCards {
    fn entries<'a>(&'a self, after: Option<&'a Cursor>, limit: usize) -> BoxFuture<'a, Result<Page<Entry>, PortError>> {
        Box::pin(async move {
            let after = place(after)?;
            let (page, durable) = {
                let mut book = self.book.lock();
                book.now = book.now.max(self.clock.now());
                let now = book.now;
                let shown = |record: &Record| match record {
                    Record::Ordered(order) => self.listed(order, now),
                    Record::Stock { .. } | Record::Price { .. } => Shown::Nothing,
                };
                (page(book.shelf(), after, limit, shown), self.archive.barrier())
            };
            durably(page, durable).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryName) -> BoxFuture<'a, Result<Option<Entry>, PortError>> {
        Box::pin(async move {
            let (found, durable) = {
                let mut book = self.book.lock();
                book.now = book.now.max(self.clock.now());
                let order = name.order().and_then(|key| book.order(key));
                let found = order.map(|order| self.stands(&order, book.now));
                (found, self.archive.barrier())
            };
            Ok(match durably(found, durable).await? {
                Some(Shown::As(entry)) => Some(entry),
                _ => None,
            })
        })
    }
}
