//! What the follower knows, for everybody else.

use std::collections::{BTreeSet, HashMap};

use purser_actors::port::Timestamp;
use purser_chains::solana::Signature;
use purser_chains::solana::follow::{Entry, Row};
use purser_chains::solana::node::movements::ChainTransaction;

use super::rows::{Moved, Place, RowError, Rows, Seen};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Followed {
    place: Option<Place>,
    pending: HashMap<Signature, Waiting>,
}

/// What one endpoint shows of a transaction; `None` if that is not understood here.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) endpoint: usize,
    pub(super) found: Option<ChainTransaction>,
}

/// What a transaction moves, and which endpoint shows that.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) moved: Vec<Moved>,
    pub(super) shown: Option<Shown>,
}

/// A transaction that is not final.
#[derive(Clone, Debug)]
struct Waiting {
    seen: Seen,
    /// What it moves, once that was read.
    read: Option<Read>,
    /// Endpoints that list it so.
    listed_by: BTreeSet<usize>,
}

impl Followed {
    pub(super) async fn read(rows: &Rows) -> Result<Self, RowError> {
        let mut followed = Self {
            place: rows.place().await?.map(|(place, _)| place),
            ..Self::default()
        };
        for seen in rows.pending().await? {
            followed.see(seen.into(), None);
        }
        Ok(followed)
    }

    /// Whether it is durable from which slot on the chain is followed. A payment that lands before that is never listed.
    pub(super) const fn has_begun(&self) -> bool {
        self.place.is_some()
    }

    /// Everything up to this final slot is listed; 0 before the first reading.
    pub(super) fn covered_slot(&self) -> u64 {
        self.place.as_ref().map_or(0, |place| place.covered_slot)
    }

    /// When the last complete reading began.
    pub(super) fn covered_at(&self) -> Option<Timestamp> {
        self.place.as_ref().map(|place| place.covered_at)
    }

    pub(super) fn reached(&mut self, place: Place) {
        self.place = Some(place);
    }

    /// A transaction is there and not final.
    pub(super) fn see(&mut self, row: Row, read: Option<Read>) {
        let waiting = Waiting {
            seen: row.into(),
            read,
            listed_by: BTreeSet::new(),
        };
        drop(self.pending.insert(row.id, waiting));
    }

    /// A transaction is final, or not there any more.
    pub(super) fn forget(&mut self, id: &Signature) {
        drop(self.pending.remove(id));
    }

    /// What an endpoint lists now.
    pub(super) fn list(&mut self, endpoint: usize, entries: &[Entry]) {
        if self.pending.is_empty() {
            return;
        }
        for entry in entries {
            let Some(waiting) = self.pending.get_mut(&entry.id) else {
                continue;
            };
            match Row::from(waiting.seen) == entry.row() {
                true => waiting.listed_by.insert(endpoint),
                false => waiting.listed_by.remove(&endpoint),
            };
        }
    }

    /// A transaction that is seen and not final, and how many endpoints list it alike.
    pub(super) fn pending(&self, id: &Signature) -> Option<(Seen, usize)> {
        let waiting = self.pending.get(id)?;
        Some((waiting.seen, waiting.listed_by.len()))
    }

    /// What this transaction moved as it was seen in this slot, if that was read.
    pub(super) fn read_of(&self, row: &Row) -> Option<Read> {
        let waiting = self.pending.get(&row.id)?;
        let read = waiting.read.clone();
        read.filter(|_| Row::from(waiting.seen) == *row)
    }

    /// What was read of a transaction does not count.
    pub(super) fn unread(&mut self, id: &Signature) {
        if let Some(waiting) = self.pending.get_mut(id) {
            waiting.read = None;
        }
    }

    /// Transactions that are not final and take effect, with what they move if that was read.
    pub(super) fn waiting(&self) -> Vec<(Row, Option<Vec<Moved>>)> {
        let good = self.pending.values().filter(|waiting| !waiting.seen.failed);
        good.map(|waiting| {
            let moved = waiting.read.as_ref().map(|read| read.moved.clone());
            (waiting.seen.into(), moved)
        })
        .collect()
    }
}
