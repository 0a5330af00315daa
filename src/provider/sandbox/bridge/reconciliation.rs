//! The bridge's list of transfers, each from the observed burn until the mint.

use purser_actors::money::Usdc;
use purser_actors::port::{EntryKey, ProviderEntry};
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::records::{BridgeRecord, BridgeRecordKind, BridgeRecords};
use super::{SandboxBridge, has, signed_of};
use crate::sandbox::lists::{ListedRecord, RecordList, entry};
use purser_sandbox::records::Records;

/// Current entry of a bridge transfer; `None` before its burn was observed.
fn bridge_entry(book: &BridgeRecords, transaction: &str) -> Option<ProviderEntry> {
    let known = book.of(transaction);
    let signed = signed_of(&known)?;
    let last = known.iter().rev();
    let mut changes = last.filter(|noted| {
        matches!(
            noted.kind,
            BridgeRecordKind::BurnObserved | BridgeRecordKind::Minted | BridgeRecordKind::Blocked
        )
    });
    let at = changes.next()?.at;
    let status = if has(&known, &BridgeRecordKind::Minted) {
        EntryStatus::Completed
    } else if has(&known, &BridgeRecordKind::Blocked) {
        EntryStatus::Declined
    } else {
        EntryStatus::Held
    };
    let name = EntryKey::new(transaction.to_owned())?;
    let amount = EntryAmount::Usdc(Usdc::from_atomic(signed.burned.saturating_sub(signed.fee)));
    Some(entry(name, "bridge_transfer", amount, status, at))
}

impl RecordList for SandboxBridge {
    type Book = BridgeRecords;

    fn records(&self) -> &Records<BridgeRecords> {
        &self.records
    }

    fn listed(&self, book: &BridgeRecords, noted: &BridgeRecord) -> ListedRecord {
        bridge_entry(book, &noted.transaction).into()
    }

    fn find(&self, book: &BridgeRecords, name: &EntryKey) -> Option<ProviderEntry> {
        bridge_entry(book, name.as_str())
    }
}
