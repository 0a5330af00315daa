//! The card program's two lists: what was ordered of it, a line for each thing that became of an order; and what is left on
//! each card, a line for each change.

use std::sync::Arc;

use purser_actors::id::{CardId, EffectId};
use purser_actors::money::Cents;
use purser_actors::port::{BoxFuture, Cursor, EntryName, Page, PortError, ProviderList, Timestamp};
use purser_actors::product::Currency;
use purser_actors::reconcile::{Money, Standing};

use super::SandboxProgram;
use super::book::{Entry, ProgramBook};
use crate::provider::sandbox::balances::SandboxBalances;
use crate::provider::sandbox::listing::{Shown, durably, page, place};

type Listed = purser_actors::port::Entry;

/// Cards that were ordered, and what was set aside.
pub struct ProgramOrders(pub Arc<SandboxProgram<SandboxBalances>>);

/// What is left on each card, under the key of its order.
pub struct ProgramBalances(pub Arc<SandboxProgram<SandboxBalances>>);

fn listed(key: EffectId, product: &'static str, (standing, amount): (Standing, Cents), at: Timestamp) -> Listed {
    Listed {
        name: EntryName::of(key),
        product: product.into(),
        money: Money::Cents(amount, Currency::USD),
        returns: None,
        terms: None,
        standing,
        at,
    }
}

/// An order as it stands now.
fn order(book: &ProgramBook, key: EffectId) -> Option<Listed> {
    let mut stands = book.under(key).into_iter().filter_map(|entry| match entry {
        Entry::Opened(opened) => Some(listed(key, "card", (Standing::Done, opened.amount), opened.at)),
        Entry::Refused { card, amount, at, .. } => {
            let product = if card { "card" } else { "reservation" };
            Some(listed(key, product, (Standing::Refused, amount), at))
        }
        Entry::Reserved { amount, at, .. } => Some(listed(key, "reservation", (Standing::Held, amount), at)),
        Entry::Ended { amount, paid, at, .. } => {
            let standing = if paid { Standing::Done } else { Standing::Returned };
            Some(listed(key, "reservation", (standing, amount), at))
        }
        Entry::Moved { .. } | Entry::Charged { .. } | Entry::Became { .. } => None,
    });
    stands.next_back()
}

/// A card's balance as it stands now.
fn balance(book: &ProgramBook, card: CardId) -> Option<Listed> {
    let file = book.card(card)?;
    let left = (Standing::Done, file.left);
    Some(listed(file.opened.key, "balance", left, file.changed_at))
}

fn shown(entry: Option<Listed>) -> Shown {
    entry.map_or(Shown::Nothing, Shown::As)
}

impl SandboxProgram<SandboxBalances> {
    async fn listed(
        &self,
        after: Option<&Cursor>,
        limit: usize,
        list: impl Fn(&ProgramBook, &Entry) -> Shown + Send,
    ) -> Result<Page<Listed>, PortError> {
        let after = place(after)?;
        let (page, durable) = {
            let book = self.book.lock();
            let page = page(&book.shelf, after, limit, |entry| list(&book, entry));
            (page, self.archive.barrier())
        };
        durably(page, durable).await
    }

    async fn one(&self, find: impl FnOnce(&ProgramBook) -> Option<Listed> + Send) -> Result<Option<Listed>, PortError> {
        let (found, durable) = {
            let book = self.book.lock();
            (find(&book), self.archive.barrier())
        };
        durably(found, durable).await
    }
}

impl ProviderList for ProgramOrders {
    fn entries<'a>(
        &'a self,
        after: Option<&'a Cursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Page<Listed>, PortError>> {
        let list = |book: &ProgramBook, entry: &Entry| match entry {
            Entry::Opened(opened) => shown(order(book, opened.key)),
            Entry::Refused { key, .. } | Entry::Reserved { key, .. } | Entry::Ended { key, .. } => {
                shown(order(book, *key))
            }
            Entry::Moved { .. } | Entry::Charged { .. } | Entry::Became { .. } => Shown::Nothing,
        };
        Box::pin(self.0.listed(after, limit, list))
    }

    fn entry<'a>(&'a self, name: &'a EntryName) -> BoxFuture<'a, Result<Option<Listed>, PortError>> {
        Box::pin(self.0.one(|book| order(book, name.order()?)))
    }
}

impl ProviderList for ProgramBalances {
    fn entries<'a>(
        &'a self,
        after: Option<&'a Cursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Page<Listed>, PortError>> {
        let list = |book: &ProgramBook, entry: &Entry| match entry {
            Entry::Opened(opened) => shown(balance(book, opened.card)),
            Entry::Moved { card, .. } | Entry::Charged { card, .. } | Entry::Became { card, .. } => {
                shown(balance(book, *card))
            }
            _ => Shown::Nothing,
        };
        Box::pin(self.0.listed(after, limit, list))
    }

    fn entry<'a>(&'a self, name: &'a EntryName) -> BoxFuture<'a, Result<Option<Listed>, PortError>> {
        Box::pin(self.0.one(|book| {
            let key = name.order()?;
            let opened = book.under(key).into_iter().find_map(|entry| match entry {
                Entry::Opened(opened) => Some(opened.card),
                _ => None,
            });
            balance(book, opened?)
        }))
    }
}
