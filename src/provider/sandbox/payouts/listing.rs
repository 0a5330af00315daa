//! The rails' list of what they were ever ordered: a line for each word that was said of an order, so that one whose state
//! changes comes again.

use purser_actors::id::EffectId;
use purser_actors::port::{BoxFuture, Cursor, Entry, ErrorKind, Page, PortError, ProviderList};
use purser_actors::reconcile::Standing;

use super::super::listing::{Shown, page, place};
use super::book::{RailBook, Record, Words};
use super::{SandboxRails, failed};

const CALL: &str = "list";

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
        key,
        product: order.line.name().into(),
        amount: order.amount,
        currency: order.currency,
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
            let kept = durable.wait().await;
            kept.map(|()| page)
                .map_err(|e| failed(CALL, ErrorKind::Temporary, &e.to_string()))
        })
    }

    fn entry(&self, key: EffectId) -> BoxFuture<'_, Result<Option<Entry>, PortError>> {
        Box::pin(async move {
            let (found, durable) = {
                let mut book = self.book.lock();
                let durable = self.speak(&mut book);
                (entry(&book, key), durable)
            };
            let kept = durable.wait().await;
            kept.map(|()| found)
                .map_err(|e| failed(CALL, ErrorKind::Temporary, &e.to_string()))
        })
    }
}
