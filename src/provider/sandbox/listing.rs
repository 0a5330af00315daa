//! The issuer's lists: of what it was ever ordered, where a card that is being made is left out until it is made, but for whoever
//! asks for it by its name; and of what it gave back of cards that have ended.

use std::sync::Arc;

use purser_actors::port::{BoxFuture, Cursor, Entry, EntryName, ErrorKind, Page, PortError, ProviderList, Timestamp};
use purser_actors::product::Currency;
use purser_actors::reconcile::{Money, Standing};

use super::book::Ordered;
use super::life::{Event, Lives};
use super::{SandboxIssuer, failed};
use crate::sandbox::archive::Shelf;
use crate::sandbox::archive::{Book, Item};
use crate::sandbox::record_log::Durable;

/// The place that a cursor of this sandbox means.
pub(super) fn place(after: Option<&Cursor>) -> Result<u64, PortError> {
    let wrong = || failed(ErrorKind::Permanent, "not a cursor of this list");
    after.map_or(Ok(0), |cursor| cursor.number().ok_or_else(wrong))
}

/// Behind a place, what `list` makes of the records that count, until it says that there is no more for now.
pub(super) fn page<T: Item>(
    shelf: &Shelf<T>,
    after: u64,
    limit: usize,
    mut list: impl FnMut(&T) -> Shown,
) -> Page<Entry> {
    let (mut items, mut at) = (Vec::new(), after);
    shelf.scan(after, |number, record| {
        match list(record) {
            Shown::NotYet => return false,
            Shown::Nothing => {}
            Shown::As(entry) => items.push(entry),
        }
        at = number + 1;
        items.len() < limit.max(1)
    });
    let next = (!items.is_empty()).then(|| Cursor::of_number(at));
    Page { items, next }
}

/// What is told once it is durable.
pub(super) async fn durably<T>(told: T, durable: Durable) -> Result<T, PortError> {
    let kept = durable.wait().await;
    kept.map(|()| told)
        .map_err(|e| failed(ErrorKind::Temporary, &e.to_string()))
}

/// What a record is on a list.
pub(super) enum Shown {
    /// An entry.
    As(Entry),
    /// None.
    Nothing,
    /// It will be one, and so the list ends before it.
    NotYet,
}

/// However it stands.
fn entry(order: &Ordered, now: Timestamp) -> Entry {
    let (standing, at) = match order.declined {
        Some(_) => (Standing::Refused, order.at),
        None if order.ready_at <= now => (Standing::Done, order.ready_at),
        None => (Standing::UnderWay, order.at),
    };
    Entry {
        name: EntryName::of(order.key),
        product: "card".into(),
        money: Money::Cents(order.amount, Currency::USD),
        returns: None,
        terms: None,
        standing,
        at,
    }
}

/// Once it is made, or declined.
fn listed(order: &Ordered, now: Timestamp) -> Shown {
    match entry(order, now) {
        entry if entry.standing == Standing::UnderWay => Shown::NotYet,
        entry => Shown::As(entry),
    }
}

/// What was given back of each card that has ended, all so far, under the key of its order: a line for each time.
pub struct Remainders(pub Arc<SandboxIssuer>);

impl Remainders {
    /// Of the card that this order made.
    fn given(lives: &Lives, order: &Ordered) -> Option<Entry> {
        let (released, at) = lives.of(order.clone()).given_back()?;
        Some(Entry {
            name: EntryName::of(order.key),
            product: "remainder".into(),
            money: Money::Cents(released, Currency::USD),
            returns: None,
            terms: None,
            standing: Standing::Done,
            at,
        })
    }
}

impl ProviderList for Remainders {
    fn entries<'a>(&'a self, after: Option<&'a Cursor>, limit: usize) -> BoxFuture<'a, Result<Page<Entry>, PortError>> {
        Box::pin(async move {
            let after = place(after)?;
            let (page, durable) = {
                let (book, lives) = (self.0.book.lock(), self.0.lives.lock());
                let shown = |event: &Event| match event.gives_back() {
                    false => Shown::Nothing,
                    true => book
                        .by_ref(&event.issuer_ref)
                        .and_then(|order| Self::given(&lives, &order))
                        .map_or(Shown::Nothing, Shown::As),
                };
                (page(&lives.shelf, after, limit, shown), self.0.lived.barrier())
            };
            durably(page, durable).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryName) -> BoxFuture<'a, Result<Option<Entry>, PortError>> {
        Box::pin(async move {
            let (found, durable) = {
                let (book, lives) = (self.0.book.lock(), self.0.lives.lock());
                let order = name.order().and_then(|key| book.order(key));
                let found = order.and_then(|order| Self::given(&lives, &order));
                (found, self.0.lived.barrier())
            };
            durably(found, durable).await
        })
    }
}

impl ProviderList for SandboxIssuer {
    fn entries<'a>(&'a self, after: Option<&'a Cursor>, limit: usize) -> BoxFuture<'a, Result<Page<Entry>, PortError>> {
        Box::pin(async move {
            let after = place(after)?;
            let (page, durable) = {
                let mut book = self.book.lock();
                book.now = book.now.max(self.clock.now());
                let now = book.now;
                let shown = |order: &Ordered| listed(order, now);
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
                let found = order.map(|order| entry(&order, book.now));
                (found, self.archive.barrier())
            };
            durably(found, durable).await
        })
    }
}
