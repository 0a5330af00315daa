//! The rails' list of all orders: one line per event of an order, so that an order is listed again when its status
//! changes.

use purser_actors::id::JobId;
use purser_actors::port::{BoxFuture, EntryKey, ListCursor, ListPage, PortError, ProviderEntry, ProviderList};
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::super::issuer_reconciliation::{ListedRecord, await_durable, page, position};
use super::SandboxPayouts;
use super::records::{PayoutEventKind, PayoutRecord, PayoutRecords};

impl PayoutEventKind {
    const fn entry_status(self) -> EntryStatus {
        match self {
            Self::InProcess => EntryStatus::Pending,
            Self::Complete => EntryStatus::Completed,
            Self::Failed | Self::Cancelled => EntryStatus::Declined,
            Self::Returned => EntryStatus::Returned,
        }
    }
}

/// Current entry; `None` for a payout that was recalled before it was ordered.
fn entry(book: &PayoutRecords, key: JobId) -> Option<ProviderEntry> {
    let (order, word) = (book.order(key)?, book.latest(key)?);
    Some(ProviderEntry {
        name: EntryKey::for_order(key),
        product: order.line.name().into(),
        amount: EntryAmount::Cents(order.amount, order.currency),
        returned_transfer: None,
        terms: None,
        status: word.kind.entry_status(),
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
            let after = position(after)?;
            let (page, durable) = {
                let mut book = self.records.lock();
                let durable = self.emit_due_events(&mut book);
                let shown = |record: &PayoutRecord| match record {
                    PayoutRecord::Event(word) => entry(&book, word.key).map_or(ListedRecord::Nothing, ListedRecord::As),
                    PayoutRecord::Ordered(_) | PayoutRecord::Recalled(_) => ListedRecord::Nothing,
                };
                (page(&book.rows, after, limit, shown), durable)
            };
            await_durable(page, durable).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ProviderEntry>, PortError>> {
        Box::pin(async move {
            let (found, durable) = {
                let mut book = self.records.lock();
                let durable = self.emit_due_events(&mut book);
                (name.order().and_then(|key| entry(&book, key)), durable)
            };
            await_durable(found, durable).await
        })
    }
}
