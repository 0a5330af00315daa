//! Lists of the providers' orders for reconciliation: pages of the numbered records of a `RecordBook`.

use std::sync::Arc;

use purser_actors::port::{
    EntryKey, ErrorKind, ListCursor, ListPage, PortFuture, ProviderEntry, ProviderList, Timestamp,
};
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use purser_sandbox::faults::failed;
use purser_sandbox::records::{RecordBook, RecordFields, Records};

const LIST: &str = "list";

/// What a list shows for a record.
pub(super) enum ListedRecord {
    As(ProviderEntry),
    Nothing,
    /// It becomes an entry later, so the list ends before it.
    NotYet,
}

impl From<Option<ProviderEntry>> for ListedRecord {
    fn from(entry: Option<ProviderEntry>) -> Self {
        entry.map_or(Self::Nothing, Self::As)
    }
}

/// An entry without returned transfer and terms.
pub(super) fn entry(
    name: EntryKey,
    product: &str,
    amount: EntryAmount,
    status: EntryStatus,
    at: Timestamp,
) -> ProviderEntry {
    ProviderEntry {
        name,
        product: product.into(),
        amount,
        returned_transfer: None,
        terms: None,
        status,
        at,
    }
}

/// Status of an order that is declined at once or ready later, and the time of its last change.
pub(super) const fn prepared(
    is_declined: bool,
    at: Timestamp,
    ready_at: Timestamp,
    now: Timestamp,
) -> (EntryStatus, Timestamp) {
    match is_declined {
        true => (EntryStatus::Declined, at),
        false if ready_at.0 <= now.0 => (EntryStatus::Completed, ready_at),
        false => (EntryStatus::Pending, at),
    }
}

/// A list over the records of one book.
pub(super) trait RecordList: Send + Sync + 'static {
    type Book: RecordBook + Send;

    fn records(&self) -> &Records<Self::Book>;

    /// Brings the provider's time and its events up to date.
    fn update(&self, book: &mut Self::Book) {
        let _ = book;
    }

    /// What is shown for a numbered record.
    fn listed(&self, book: &Self::Book, record: &<Self::Book as RecordFields>::Record) -> ListedRecord;

    /// The entry of this name, in any status.
    fn find(&self, book: &Self::Book, name: &EntryKey) -> Option<ProviderEntry>;
}

/// The list as reconciliation reads it.
pub(super) struct Listed<L>(pub(super) Arc<L>);

impl<L: RecordList> Listed<L> {
    fn page(&self, book: &L::Book, after: u64, limit: usize) -> ListPage<ProviderEntry> {
        let (mut items, mut at) = (Vec::new(), after);
        book.rows().scan(after, |number, record| {
            match self.0.listed(book, record) {
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
}

impl<L: RecordList> ProviderList for Listed<L> {
    fn entries<'a>(&'a self, after: Option<&'a ListCursor>, limit: usize) -> PortFuture<'a, ListPage<ProviderEntry>> {
        Box::pin(async move {
            let wrong = || failed(ErrorKind::Permanent, LIST, "not a cursor of this list");
            let after = after.map_or(Ok(0), |cursor| cursor.number().ok_or_else(wrong))?;
            let page = self.0.records().run(|book| {
                self.0.update(book);
                self.page(book, after, limit)
            });
            page.or(ErrorKind::Temporary, LIST).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> PortFuture<'a, Option<ProviderEntry>> {
        Box::pin(async move {
            let found = self.0.records().run(|book| {
                self.0.update(book);
                self.0.find(book, name)
            });
            found.or(ErrorKind::Temporary, LIST).await
        })
    }
}
