//! What the bank side keeps of holders: snapshots agree with their events.

use std::collections::BTreeMap;

use purser_actors::banking::profile::Profile;
use purser_actors::id::Wallet;
use purser_actors::kernel::Kind;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

/// A snapshot of any of its kinds.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// For people.
    pub(crate) name: String,
    /// Of the snapshot.
    pub(crate) revision: u64,
    /// As events name it.
    pub(crate) status: &'static str,
}

/// Of all wallets, by kind and key.
pub(crate) type Bank = BTreeMap<(u8, Vec<u8>), Kept>;

/// Reads a snapshot; `None` for another kind.
pub(super) fn read(kind: u8, id: &[u8], row: &Row) -> Option<Result<Kept, DecodeError>> {
    (kind == Kind::Profile as u8).then(|| {
        codec::decode(&row.value).map(|_: Profile| Kept {
            name: Wallet::from_key(id).map_or_else(|| hex::encode(id), |wallet| wallet.address()),
            revision: row.revision,
            status: "open",
        })
    })
}

/// The status after an event, `None` in it where it stays as it is; `None` for another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    use purser_actors::banking::profile::Event;
    (kind == Kind::Profile as u8).then(|| codec::decode(event).map(|Event::Created(_)| Some("open")))
}
