//! The rails' list of what they were ever ordered: a line for each word that was said of an order, so that one whose state
//! changes comes again.

use purser_actors::id::EffectId;
use purser_actors::port::{BoxFuture, Cursor, Entry, EntryName, Page, PortError, ProviderList};
use purser_actors::reconcile::{Money, Standing};

use super::super::listing::{Shown, durably, page, place};
use super::SandboxRails;
use super::book::{RailBook, Record, Words};

impl Words {
    const fn standing(self) -> Standing {
        match self {
            Self::InProcess => Standing::UnderWay,
            Self::Complete => Standing::Done,
            Self::Failed | Self::Cancelled => Standing::Refused,
            Self::Returned => Standing::Returned,
        }
    }
}

/// As it stands now; `None` for what was taken back before it was ordered.
fn entry(book: &RailBook, key: EffectId) -> Option<Entry> {
    let (order, word) = (book.order(key)?, book.latest(key)?);
    Some(Entry {
        name: EntryName::of(key),
        product: order.line.name().into(),
        money: Money::Cents(order.amount, order.currency),
        returns: None,
        terms: None,
        standing: word.says.standing(),
        at: word.at,
    })
}

impl ProviderList for SandboxRails {
    fn entries<'a>(&'a self, after: Option<&'a Cursor>, limit: usize) -> BoxFuture<'a, Result<Page<Entry>, PortError>> {
        Box::pin(async move {
            let after = place(after)?;
            let (page, durable) = {
                let mut book = self.book.lock();
                let durable = self.speak(&mut book);
                let shown = |record: &Record| match record {
                    Record::Word(word) => entry(&book, word.key).map_or(Shown::Nothing, Shown::As),
                    Record::Ordered(_) | Record::Recalled(_) => Shown::Nothing,
                };
                (page(book.words(), after, limit, shown), durable)
            };
            durably(page, durable).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryName) -> BoxFuture<'a, Result<Option<Entry>, PortError>> {
        Box::pin(async move {
            let (found, durable) = {
                let mut book = self.book.lock();
                let durable = self.speak(&mut book);
                (name.order().and_then(|key| entry(&book, key)), durable)
            };
            durably(found, durable).await
        })
    }
}
