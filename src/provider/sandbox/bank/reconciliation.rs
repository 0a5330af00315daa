//! The bank's two lists: transfers that the service ordered, and deposits and returns.

use std::sync::Arc;

use purser_actors::currency::Currency;
use purser_actors::lost_order::FROM_ACCOUNT;
use purser_actors::money::Cents;
use purser_actors::port::{EntryKey, ProviderEntry, Timestamp};
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::SandboxBank;
use super::records::{BankRecord, BankRecords};
use crate::sandbox::lists::{ListedRecord, RecordList, entry};
use purser_sandbox::records::Records;

/// Transfers that the service ordered.
pub(crate) struct BankTransferList(pub(crate) Arc<SandboxBank>);

/// Deposits and returned transfers.
pub(crate) struct BankDepositList(pub(crate) Arc<SandboxBank>);

fn dollars(cents: u64) -> EntryAmount {
    EntryAmount::Cents(Cents::new(cents), Currency::USD)
}

fn transfer_entry(record: &BankRecord, now: Timestamp) -> Option<ProviderEntry> {
    match record {
        BankRecord::Transferred {
            key,
            cents,
            to_account,
            decline_reason: refused,
            due,
            ..
        } => {
            let product = if *to_account { "to_account" } else { FROM_ACCOUNT };
            let status = match refused {
                _ if *due > now => EntryStatus::Pending,
                None => EntryStatus::Completed,
                Some(_) => EntryStatus::Declined,
            };
            Some(entry(EntryKey::for_order(*key), product, dollars(*cents), status, *due))
        }
        _ => None,
    }
}

fn deposit_entry(record: &BankRecord) -> Option<ProviderEntry> {
    let (reference, cents, at, returns) = match record {
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
        _ => return None,
    };
    // The sandbox controls accept only valid references.
    let name = EntryKey::new(reference.clone())?;
    let product = if returns.is_some() { "return" } else { "deposit" };
    Some(ProviderEntry {
        returned_transfer: returns,
        ..entry(name, product, dollars(*cents), EntryStatus::Completed, *at)
    })
}

impl RecordList for BankTransferList {
    type Book = BankRecords;

    fn records(&self) -> &Records<BankRecords> {
        &self.0.records
    }

    fn listed(&self, _: &BankRecords, entry: &BankRecord) -> ListedRecord {
        transfer_entry(entry, self.0.clock.now()).into()
    }

    fn find(&self, book: &BankRecords, name: &EntryKey) -> Option<ProviderEntry> {
        transfer_entry(&book.find_request(name.order()?)?, self.0.clock.now())
    }
}

impl RecordList for BankDepositList {
    type Book = BankRecords;

    fn records(&self) -> &Records<BankRecords> {
        &self.0.records
    }

    fn listed(&self, _: &BankRecords, entry: &BankRecord) -> ListedRecord {
        deposit_entry(entry).into()
    }

    fn find(&self, book: &BankRecords, name: &EntryKey) -> Option<ProviderEntry> {
        deposit_entry(&book.received(name.as_str())?)
    }
}
