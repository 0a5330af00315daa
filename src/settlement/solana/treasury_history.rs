//! The follower's current knowledge of the treasury's transactions, shared with the rest of the port.

use std::collections::{BTreeSet, HashMap};

use purser_actors::port::Timestamp;
use purser_chains::solana::Signature;
use purser_chains::solana::follow::{Entry, Row};
use purser_chains::solana::node::movements::ChainTransaction;

use super::rows::{CursorRow, MovementRow, RowError, Rows, TransactionRow};

/// Transactions of the treasury that are not final, and the progress of reading; see the module.
#[derive(Debug, Default)]
pub(super) struct TreasuryHistory {
    cursor: Option<CursorRow>,
    pending: HashMap<Signature, PendingTransaction>,
}

/// A transaction as one endpoint shows it; `None` if it could not be parsed.
#[derive(Clone, Debug)]
pub(super) struct EndpointView {
    pub(super) endpoint: usize,
    pub(super) transaction: Option<ChainTransaction>,
}

/// The transfers of a transaction, and the endpoint that shows them.
#[derive(Clone, Debug)]
pub(super) struct ReadTransaction {
    pub(super) movements: Vec<MovementRow>,
    pub(super) view: Option<EndpointView>,
}

/// A transaction that is not final.
#[derive(Clone, Debug)]
struct PendingTransaction {
    row: TransactionRow,
    /// Its transfers, once they were read.
    read: Option<ReadTransaction>,
    /// Endpoints that list it with this slot and success.
    listed_by: BTreeSet<usize>,
}

impl TreasuryHistory {
    pub(super) async fn load(rows: &Rows) -> Result<Self, RowError> {
        let mut followed = Self {
            cursor: rows.cursor().await?.map(|(place, _)| place),
            ..Self::default()
        };
        for seen in rows.pending().await? {
            followed.add_pending(seen.into(), None);
        }
        Ok(followed)
    }

    /// Whether the first followed slot is durable. Payments that settle before that slot are never listed.
    pub(super) const fn has_started(&self) -> bool {
        self.cursor.is_some()
    }

    /// Everything up to this final slot is listed; 0 before the first read.
    pub(super) fn covered_slot(&self) -> u64 {
        self.cursor.as_ref().map_or(0, |place| place.covered_slot)
    }

    /// When the last complete read began.
    pub(super) fn covered_at(&self) -> Option<Timestamp> {
        self.cursor.as_ref().map(|place| place.covered_at)
    }

    pub(super) fn set_cursor(&mut self, place: CursorRow) {
        self.cursor = Some(place);
    }

    /// Adds a transaction that is not final.
    pub(super) fn add_pending(&mut self, row: Row, read: Option<ReadTransaction>) {
        let waiting = PendingTransaction {
            row: row.into(),
            read,
            listed_by: BTreeSet::new(),
        };
        drop(self.pending.insert(row.id, waiting));
    }

    /// Removes a transaction that is final or no longer on the chain.
    pub(super) fn forget(&mut self, id: &Signature) {
        drop(self.pending.remove(id));
    }

    /// Records an endpoint's current listing.
    pub(super) fn record_listing(&mut self, endpoint: usize, entries: &[Entry]) {
        if self.pending.is_empty() {
            return;
        }
        for entry in entries {
            let Some(waiting) = self.pending.get_mut(&entry.id) else {
                continue;
            };
            match Row::from(waiting.row) == entry.row() {
                true => waiting.listed_by.insert(endpoint),
                false => waiting.listed_by.remove(&endpoint),
            };
        }
    }

    /// A transaction that is seen and not final, and the number of endpoints that list it alike.
    pub(super) fn pending(&self, id: &Signature) -> Option<(TransactionRow, usize)> {
        let waiting = self.pending.get(id)?;
        Some((waiting.row, waiting.listed_by.len()))
    }

    /// The transfers of this transaction in this slot, if they were read.
    pub(super) fn read_of(&self, row: &Row) -> Option<ReadTransaction> {
        let waiting = self.pending.get(&row.id)?;
        let read = waiting.read.clone();
        read.filter(|_| Row::from(waiting.row) == *row)
    }

    /// Discards the reading of a transaction.
    pub(super) fn discard_read(&mut self, id: &Signature) {
        if let Some(waiting) = self.pending.get_mut(id) {
            waiting.read = None;
        }
    }

    /// Executed transactions that are not final, with their transfers if they were read.
    pub(super) fn pending_movements(&self) -> Vec<(Row, Option<Vec<MovementRow>>)> {
        let good = self.pending.values().filter(|waiting| !waiting.row.failed);
        good.map(|waiting| {
            let moved = waiting.read.as_ref().map(|read| read.movements.clone());
            (waiting.row.into(), moved)
        })
        .collect()
    }
}
