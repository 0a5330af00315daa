//! The rails' list of what they were ever ordered: a line for each word that was said of an order, so that one whose state
//! changes comes again.

use purser_actors::id::JobId;
use purser_actors::port::{BoxFuture, EntryKey, ListCursor, ListPage, PortError, ProviderEntry, ProviderList};
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::super::issuer_reconciliation::{ListedRecord, durably, page, place};
use super::SandboxPayouts;
use super::records::{PayoutEventKind, PayoutRecord, PayoutRecords};

impl PayoutEventKind {
    const fn standing(self) -> EntryStatus {
        match self {
            Self::InProcess => EntryStatus::Pending,
            Self::Complete => EntryStatus::Completed,
            Self::Failed | Self::Cancelled => EntryStatus::Declined,
            Self::Returned => EntryStatus::Returned,
        }
    }
}

/// As it stands now; `None` for what was taken back before it was ordered.
fn entry(book: &PayoutRecords, key: JobId) -> Option<ProviderEntry> {
    let (order, word) = (book.order(key)?, book.latest(key)?);
    Some(ProviderEntry {
        name: EntryKey::of(key),
        product: order.line.name().into(),
        money: EntryAmount::Cents(order.amount, order.currency),
        returns: None,
        terms: None,
        standing: word.says.standing(),
        at: word.at,
    })
}

impl ProviderList for SandboxPayouts {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ProviderEntry>, PortError>> {
        Box::pin(async move {
            let after = place(after)?;
            let (page, durable) = {
                let mut book = self.book.lock();
                let durable = self.speak(&mut book);
                let shown = |record: &PayoutRecord| match record {
                    PayoutRecord::Word(word) => entry(&book, word.key).map_or(ListedRecord::Nothing, ListedRecord::As),
                    PayoutRecord::Ordered(_) | PayoutRecord::Recalled(_) => ListedRecord::Nothing,
                };
                (page(book.words(), after, limit, shown), durable)
            };
            durably(page, durable).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ProviderEntry>, PortError>> {
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
