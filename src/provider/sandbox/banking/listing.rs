//! The bank's two lists: what it was told to move, and what came in or back.

use std::sync::Arc;

use purser_actors::lost_order::FROM_ACCOUNT;
use purser_actors::money::Cents;
use purser_actors::port::{BoxFuture, Cursor, EntryName, Page, PortError, ProviderList, Timestamp};
use purser_actors::product::Currency;
use purser_actors::reconcile::{Money, Standing};

use super::SandboxBank;
use super::book::{BankBook, Entry};
use crate::provider::sandbox::listing::{Shown, durably, page, place};

type Listed = purser_actors::port::Entry;

/// What the bank was told to move.
pub struct BankMoves(pub Arc<SandboxBank>);

/// What came in at the bank, and what it gave back.
pub struct BankReceipts(pub Arc<SandboxBank>);

fn dollars(cents: u64) -> Money {
    Money::Cents(Cents::new(cents), Currency::USD)
}

fn moved(entry: &Entry, now: Timestamp) -> Shown {
    match entry {
        Entry::Moved {
            key,
            cents,
            to_account,
            refused,
            due,
            ..
        } => Shown::As(Listed {
            name: EntryName::of(*key),
            product: if *to_account { "to_account" } else { FROM_ACCOUNT }.into(),
            money: dollars(*cents),
            returns: None,
            terms: None,
            standing: match refused {
                _ if *due > now => Standing::UnderWay,
                None => Standing::Done,
                Some(_) => Standing::Refused,
            },
            at: *due,
        }),
        _ => Shown::Nothing,
    }
}

fn received(entry: &Entry, _: Timestamp) -> Shown {
    let (reference, cents, at, returns) = match entry {
        Entry::CameIn {
            reference, cents, at, ..
        } => (reference, cents, at, None),
        Entry::CameBack {
            reference,
            cents,
            at,
            transfer,
            ..
        } => (reference, cents, at, Some(*transfer)),
        _ => return Shown::Nothing,
    };
    // The desk gives no name that is none.
    EntryName::new(reference.clone()).map_or(Shown::Nothing, |name| {
        Shown::As(Listed {
            name,
            product: if returns.is_some() { "return" } else { "deposit" }.into(),
            money: dollars(*cents),
            returns,
            terms: None,
            standing: Standing::Done,
            at: *at,
        })
    })
}

impl SandboxBank {
    async fn listed(
        &self,
        after: Option<&Cursor>,
        limit: usize,
        shown: impl Fn(&Entry, Timestamp) -> Shown + Send,
    ) -> Result<Page<Listed>, PortError> {
        let (after, now) = (place(after)?, self.clock.now());
        let (page, durable) = {
            let book = self.book.lock();
            let page = page(&book.shelf, after, limit, |entry| shown(entry, now));
            (page, self.archive.barrier())
        };
        durably(page, durable).await
    }

    async fn one(
        &self,
        find: impl FnOnce(&BankBook) -> Option<Entry> + Send,
        shown: impl Fn(&Entry, Timestamp) -> Shown + Send,
    ) -> Result<Option<Listed>, PortError> {
        let (found, durable) = {
            let book = self.book.lock();
            (find(&book), self.archive.barrier())
        };
        let found = durably(found, durable).await?;
        Ok(match found.map(|entry| shown(&entry, self.clock.now())) {
            Some(Shown::As(entry)) => Some(entry),
            _ => None,
        })
    }
}

impl ProviderList for BankMoves {
    fn entries<'a>(
        &'a self,
        after: Option<&'a Cursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Page<Listed>, PortError>> {
        Box::pin(self.0.listed(after, limit, moved))
    }

    fn entry<'a>(&'a self, name: &'a EntryName) -> BoxFuture<'a, Result<Option<Listed>, PortError>> {
        Box::pin(self.0.one(|book| book.asked(name.order()?), moved))
    }
}

impl ProviderList for BankReceipts {
    fn entries<'a>(
        &'a self,
        after: Option<&'a Cursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Page<Listed>, PortError>> {
        Box::pin(self.0.listed(after, limit, received))
    }

    fn entry<'a>(&'a self, name: &'a EntryName) -> BoxFuture<'a, Result<Option<Listed>, PortError>> {
        Box::pin(self.0.one(|book| book.received(name.as_str()), received))
    }
}
