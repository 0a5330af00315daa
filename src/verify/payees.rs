//! Payees of an account: recipients of app payments and bank destinations. They have no balance. Their snapshots agree
//! with their events, and the rows of payable destinations agree with the destinations.

use std::collections::BTreeSet;

use purser_actors::entity::bank_destination::{self, BankDestination, DestinationType};
use purser_actors::entity::payment_recipient::{self, PaymentRecipient};
use purser_actors::id::{BankDestinationId, PaymentRecipientId};
use purser_actors::kernel::{EntityKind, table};
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::{StoreContents, VerifyReport, each_row};

/// A snapshot of either kind.
#[derive(Clone, Debug)]
pub(crate) struct PayeeSnapshot {
    pub(crate) name: String,
    pub(crate) revision: u64,
    /// Status name in events.
    pub(crate) status: &'static str,
    /// Whether its number is in the vault.
    pub(crate) sealed: bool,
    /// The row by which it can be paid, while it can.
    payable: Option<Vec<u8>>,
}

/// Reads a snapshot; `None` for another kind.
pub(crate) fn read(kind: u8, id: u128, row: &Row) -> Option<Result<PayeeSnapshot, DecodeError>> {
    if kind == EntityKind::PaymentRecipient as u8 {
        let read = codec::decode(&row.value).map(|saved: PaymentRecipient| PayeeSnapshot {
            name: PaymentRecipientId(id).to_string(),
            revision: row.revision,
            status: match saved.status {
                payment_recipient::Status::Active => "active",
                payment_recipient::Status::Archived => "archived",
                payment_recipient::Status::Deleted => "deleted",
            },
            sealed: false,
            payable: None,
        });
        return Some(read);
    }
    if kind == EntityKind::BankDestination as u8 {
        let read = codec::decode(&row.value).map(|saved: BankDestination| {
            let payable = saved.active && saved.scheme == DestinationType::FiatUs;
            PayeeSnapshot {
                name: BankDestinationId(id).to_string(),
                revision: row.revision,
                status: if saved.active { "active" } else { "removed" },
                sealed: saved.active,
                payable: payable.then(|| table::payable_destination(&saved.owner, BankDestinationId(id)).to_vec()),
            }
        });
        return Some(read);
    }
    None
}

/// The status after an event: the inner `None` leaves it unchanged. The outer `None` means another kind.
pub(crate) fn fold(kind: u8, event: &[u8], status: &str) -> Option<Result<Option<&'static str>, DecodeError>> {
    if kind == EntityKind::PaymentRecipient as u8 {
        return Some(codec::decode(event).map(|event| match event {
            payment_recipient::Event::Saved { .. } | payment_recipient::Event::Unarchived => Some("active"),
            payment_recipient::Event::Paid { .. } if status == "deleted" => Some("active"),
            payment_recipient::Event::Paid { .. }
            | payment_recipient::Event::PaymentReturned(_)
            | payment_recipient::Event::Renamed(_) => None,
            payment_recipient::Event::Archived => Some("archived"),
            payment_recipient::Event::Deleted => Some("deleted"),
        }));
    }
    if kind == EntityKind::BankDestination as u8 {
        return Some(codec::decode(event).map(|event| match event {
            bank_destination::Event::Registered(_) => Some("active"),
            bank_destination::Event::Renamed(_) => None,
            bank_destination::Event::Removed(_) => Some("removed"),
        }));
    }
    None
}

/// Every payable destination has its row, and every row has its destination.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn check(
    store: &dyn Store,
    contents: &StoreContents,
    report: &mut VerifyReport,
) -> Result<(), StoreError> {
    let wanted: BTreeSet<&Vec<u8>> = contents.payees.values().filter_map(|s| s.payable.as_ref()).collect();
    let mut there = BTreeSet::new();
    each_row(store, &[table::PAYABLE_DESTINATION], |key, _| {
        there.insert(key.to_vec());
    })
    .await?;
    for row in there.iter().filter(|row| !wanted.contains(row)) {
        report.report(
            "destination.index_mismatch",
            hex::encode(row),
            "there is no such payable destination",
        );
    }
    for row in wanted.iter().filter(|row| !there.contains(**row)) {
        report.report(
            "destination.index_mismatch",
            hex::encode(row),
            "a payable destination has no row",
        );
    }
    Ok(())
}
