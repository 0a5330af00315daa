//! The bank's two lists: transfers that the service ordered, and deposits and returns.

use std::sync::Arc;

use purser_actors::lost_order::FROM_ACCOUNT;
use purser_actors::money::Cents;
use purser_actors::port::{BoxFuture, EntryKey, ListCursor, ListPage, PortError, ProviderList, Timestamp};
use purser_actors::product::Currency;
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::SandboxBank;
use super::records::{BankRecord, BankRecords};
use crate::provider::sandbox::issuer_reconciliation::{ListedRecord, await_durable, page, position};

type ListFuture = purser_actors::port::ProviderEntry;

/// Transfers that the service ordered.
pub struct BankTransferList(pub Arc<SandboxBank>);

/// Deposits and returned transfers.
pub struct BankDepositList(pub Arc<SandboxBank>);

fn dollars(cents: u64) -> EntryAmount {
    EntryAmount::Cents(Cents::new(cents), Currency::USD)
}

fn transfer_entry(entry: &BankRecord, now: Timestamp) -> ListedRecord {
    match entry {
        BankRecord::Transferred {
            key,
            cents,
            to_account,
            decline_reason: refused,
            due,
            ..
        } => ListedRecord::As(ListFuture {
            name: EntryKey::for_order(*key),
            product: if *to_account { "to_account" } else { FROM_ACCOUNT }.into(),
            amount: dollars(*cents),
            returned_transfer: None,
            terms: None,
            status: match refused {
                _ if *due > now => EntryStatus::Pending,
                None => EntryStatus::Completed,
                Some(_) => EntryStatus::Declined,
            },
            at: *due,
        }),
        _ => ListedRecord::Nothing,
    }
}

fn deposit_entry(entry: &BankRecord, _: Timestamp) -> ListedRecord {
    let (reference, cents, at, returns) = match entry {
        BankRecord::Deposited {
            reference, cents, at, ..
        } => (reference, cents, at, None),
        BankRecord::Returned {
            reference,
            cents,
            at,
            transfer,
            ..
        } => (reference, cents, at, Some(*transfer)),
        _ => return ListedRecord::Nothing,
    };
    // The sandbox controls accept only valid references.
    EntryKey::new(reference.clone()).map_or(ListedRecord::Nothing, |name| {
        ListedRecord::As(ListFuture {
            name,
            product: if returns.is_some() { "return" } else { "deposit" }.into(),
            amount: dollars(*cents),
            returned_transfer: returns,
            terms: None,
            status: EntryStatus::Completed,
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
        let (after, now) = (position(after)?, self.clock.now());
        let (page, durable) = {
            let book = self.records.lock();
            let page = page(&book.rows, after, limit, |entry| shown(entry, now));
            (page, book.rows.barrier())
        };
        await_durable(page, durable).await
    }

    async fn one(
        &self,
        find: impl FnOnce(&BankRecords) -> Option<BankRecord> + Send,
        shown: impl Fn(&BankRecord, Timestamp) -> ListedRecord + Send,
    ) -> Result<Option<ListFuture>, PortError> {
        let (found, durable) = {
            let book = self.records.lock();
            (find(&book), book.rows.barrier())
        };
        let found = await_durable(found, durable).await?;
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
        Box::pin(self.0.listed(after, limit, transfer_entry))
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ListFuture>, PortError>> {
        Box::pin(self.0.one(|book| book.find_request(name.order()?), transfer_entry))
    }
}

impl ProviderList for BankDepositList {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ListFuture>, PortError>> {
        Box::pin(self.0.listed(after, limit, deposit_entry))
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ListFuture>, PortError>> {
        Box::pin(self.0.one(|book| book.received(name.as_str()), deposit_entry))
    }
}
