//! Whom an account can pay: recipients of app payments and bank destinations. No money stands on them; their snapshots
//! agree with their events, and the rows by which a destination can be paid with the destinations.

use std::collections::BTreeSet;

use purser_actors::destination::{self, Destination, Scheme};
use purser_actors::id::{DestinationId, RecipientId};
use purser_actors::kernel::{Kind, table};
use purser_actors::recipient::{self, Recipient};
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::{Contents, Report, each_row};

/// A snapshot of either kind.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    /// Its id.
    pub(crate) name: String,
    /// Of the snapshot.
    pub(crate) revision: u64,
    /// As events name it.
    pub(crate) status: &'static str,
    /// Whether its number lies in the vault.
    pub(crate) sealed: bool,
    /// The row by which it can be paid, while it can.
    payable: Option<Vec<u8>>,
}

/// Reads a snapshot; `None` for another kind.
pub(crate) fn read(kind: u8, id: u128, row: &Row) -> Option<Result<Saved, DecodeError>> {
    if kind == Kind::Recipient as u8 {
        let read = codec::decode(&row.value).map(|saved: Recipient| Saved {
            name: RecipientId(id).to_string(),
            revision: row.revision,
            status: match saved.status {
                recipient::Status::Active => "active",
                recipient::Status::Archived => "archived",
                recipient::Status::Deleted => "deleted",
            },
            sealed: false,
            payable: None,
        });
        return Some(read);
    }
    if kind == Kind::Destination as u8 {
        let read = codec::decode(&row.value).map(|saved: Destination| {
            let payable = saved.active && saved.scheme == Scheme::FiatUs;
            Saved {
                name: DestinationId(id).to_string(),
                revision: row.revision,
                status: if saved.active { "active" } else { "removed" },
                sealed: saved.active,
                payable: payable.then(|| table::destination(&saved.owner, DestinationId(id)).to_vec()),
            }
        });
        return Some(read);
    }
    None
}

/// The status after an event, `None` in it where it stays as it is; `None` for another kind.
pub(crate) fn fold(kind: u8, event: &[u8], status: &str) -> Option<Result<Option<&'static str>, DecodeError>> {
    if kind == Kind::Recipient as u8 {
        return Some(codec::decode(event).map(|event| match event {
            recipient::Event::Saved { .. } | recipient::Event::Restored => Some("active"),
            recipient::Event::Paid { .. } if status == "deleted" => Some("active"),
            recipient::Event::Paid { .. } | recipient::Event::CameBack(_) | recipient::Event::Renamed(_) => None,
            recipient::Event::Archived => Some("archived"),
            recipient::Event::Deleted => Some("deleted"),
        }));
    }
    if kind == Kind::Destination as u8 {
        return Some(codec::decode(event).map(|event| match event {
            destination::Event::Registered(_) => Some("active"),
            destination::Event::Renamed(_) => None,
            destination::Event::Removed(_) => Some("removed"),
        }));
    }
    None
}

/// Every destination that can be paid has its row, and no row is without its destination.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn check(store: &dyn Store, contents: &Contents, report: &mut Report) -> Result<(), StoreError> {
    let wanted: BTreeSet<&Vec<u8>> = contents.saved.values().filter_map(|s| s.payable.as_ref()).collect();
    let mut there = BTreeSet::new();
    each_row(store, &[table::DESTINATION], |key, _| {
        there.insert(key.to_vec());
    })
    .await?;
    for row in there.iter().filter(|row| !wanted.contains(row)) {
        report.find(
            "destination.row",
            hex::encode(row),
            "there is no such payable destination",
        );
    }
    for row in wanted.iter().filter(|row| !there.contains(**row)) {
        report.find("destination.row", hex::encode(row), "a payable destination has no row");
    }
    Ok(())
}
