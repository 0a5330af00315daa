//! The bank's two lists: what it was told to move, and what came in or back.

use std::sync::Arc;

use purser_actors::lost_order::FROM_ACCOUNT;
use purser_actors::money::Cents;
use purser_actors::port::{BoxFuture, EntryKey, ListCursor, ListPage, PortError, ProviderList, Timestamp};
use purser_actors::product::Currency;
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::SandboxBank;
use super::records::{BankRecord, BankRecords};
use crate::provider::sandbox::issuer_reconciliation::{ListedRecord, durably, page, place};

type ListFuture = purser_actors::port::ProviderEntry;

/// What the bank was told to move.
pub struct BankTransferList(pub Arc<SandboxBank>);

/// What came in at the bank, and what it gave back.
pub struct BankDepositList(pub Arc<SandboxBank>);

fn dollars(cents: u64) -> EntryAmount {
    EntryAmount::Cents(Cents::new(cents), Currency::USD)
}

fn moved(entry: &BankRecord, now: Timestamp) -> ListedRecord {
    match entry {
        BankRecord::Moved {
            key,
            cents,
            to_account,
            refused,
            due,
            ..
        } => ListedRecord::As(ListFuture {
            name: EntryKey::of(*key),
            product: if *to_account { "to_account" } else { FROM_ACCOUNT }.into(),
            money: dollars(*cents),
            returns: None,
            terms: None,
            standing: match refused {
                _ if *due > now => EntryStatus::Pending,
                None => EntryStatus::Completed,
                Some(_) => EntryStatus::Declined,
            },
            at: *due,
        }),
        _ => ListedRecord::Nothing,
    }
}

fn received(entry: &BankRecord, _: Timestamp) -> ListedRecord {
    let (reference, cents, at, returns) = match entry {
        BankRecord::CameIn {
            reference, cents, at, ..
        } => (reference, cents, at, None),
        BankRecord::CameBack {
            reference,
            cents,
            at,
            transfer,
            ..
        } => (reference, cents, at, Some(*transfer)),
        _ => return ListedRecord::Nothing,
    };
    // The desk gives no name that is none.
    EntryKey::new(reference.clone()).map_or(ListedRecord::Nothing, |name| {
        ListedRecord::As(ListFuture {
            name,
            product: if returns.is_some() { "return" } else { "deposit" }.into(),
            money: dollars(*cents),
            returns,
            terms: None,
            standing: EntryStatus::Completed,
            at: *at,
        })
    })
}

impl SandboxBank {
    async fn listed(
        &self,
        after: Option<&ListCursor>,
        limit: usize,
        shown: impl Fn(&BankRecord, Timestamp) -> ListedRecord + Send,
    ) -> Result<ListPage<ListFuture>, PortError> {
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
        find: impl FnOnce(&BankRecords) -> Option<BankRecord> + Send,
        shown: impl Fn(&BankRecord, Timestamp) -> ListedRecord + Send,
    ) -> Result<Option<ListFuture>, PortError> {
        let (found, durable) = {
            let book = self.book.lock();
            (find(&book), self.archive.barrier())
        };
        let found = durably(found, durable).await?;
        Ok(match found.map(|entry| shown(&entry, self.clock.now())) {
            Some(ListedRecord::As(entry)) => Some(entry),
            _ => None,
        })
    }
}

impl ProviderList for BankTransferList {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ListFuture>, PortError>> {
        Box::pin(self.0.listed(after, limit, moved))
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ListFuture>, PortError>> {
        Box::pin(self.0.one(|book| book.asked(name.order()?), moved))
    }
}

impl ProviderList for BankDepositList {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ListFuture>, PortError>> {
        Box::pin(self.0.listed(after, limit, received))
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ListFuture>, PortError>> {
        Box::pin(self.0.one(|book| book.received(name.as_str()), received))
    }
}
