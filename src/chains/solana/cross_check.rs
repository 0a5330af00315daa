//! Agreement between the listings of several endpoints. No I/O.
//!
//! One endpoint alone makes nothing final. A transaction is final if two endpoints list it in the same slot with the
//! same success. In addition, all earlier transactions in their lists must agree. Whole lists are compared, so that a
//! transaction omitted by one endpoint is found by the other.

use std::collections::{BTreeMap, HashMap};

use super::follow::{Entry, Follower, Listing, OVERLAP_SLOTS, Row};
use super::status::Commitment;
use super::transaction::Signature;

/// Number of endpoints that must agree for a result to be final, if that many are configured.
pub const WITNESSES: usize = 2;
/// Maximum number of transactions listed as disputed.
const MAX_DISPUTED: usize = 100;

/// Number of endpoints that must agree, out of `endpoints`.
pub const fn witnesses(endpoints: usize) -> usize {
    if endpoints < WITNESSES { 1 } else { WITNESSES }
}

/// The part of the listings that counts as final, and the endpoints that agree on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The listings agree up to this slot; 0 for none.
    pub slot: u64,
    /// Indexes of the listings that agree.
    pub by: Vec<usize>,
    /// Final transactions, oldest first, including known ones.
    pub finals: Vec<Row>,
    /// Transactions on which two listings differ, in slots that both have as final. At most 100.
    pub disputed: Vec<Row>,
}

impl Agreement {
    /// The result of a single endpoint, if there is no other.
    pub fn alone(listing: &Listing) -> Self {
        let finals = listing
            .entries
            .iter()
            .filter(|entry| entry.level == Commitment::Finalized);
        Self {
            slot: listing.history.finalized_slot,
            by: vec![0],
            finals: finals.map(Entry::row).collect(),
            disputed: Vec::new(),
        }
    }

    /// The agreement of the two listings that agree furthest; empty with fewer than two.
    pub fn from_listings(follower: &Follower, listings: &[Listing]) -> Self {
        let (mut best, mut disputed) = (Self::default(), BTreeMap::new());
        for (one, first) in listings.iter().enumerate() {
            for (other, second) in listings.iter().enumerate().skip(one + 1) {
                let pair = Pair::new(follower, first, second);
                disputed.extend(pair.differences.iter().map(|row| ((row.slot, row.id), *row)));
                if best.by.is_empty() || pair.slot > best.slot {
                    best.slot = pair.slot;
                    best.by = vec![one, other];
                    best.finals = pair.finals;
                }
            }
        }
        best.disputed = disputed.into_values().take(MAX_DISPUTED).collect();
        best
    }

    /// Whether further listings would not help: the agreement goes beyond the covered slot, and no listing goes much
    /// further.
    pub fn is_enough(&self, follower: &Follower, listings: &[Listing]) -> bool {
        let furthest = listings.iter().map(|listing| listing.history.finalized_slot).max();
        self.disputed.is_empty()
            && self.slot > follower.covered_slot()
            && furthest.is_none_or(|furthest| furthest <= self.slot.saturating_add(OVERLAP_SLOTS))
    }

    /// Whether the listings agree on everything that both have as final.
    pub fn is_whole(&self) -> bool {
        !self.by.is_empty() && self.disputed.is_empty()
    }

    /// The first new final transactions: at least `most` if available, in whole slots.
    pub fn first(&self, follower: &Follower, most: usize) -> Self {
        let (mut finals, known) = (self.finals.clone(), follower.finals());
        finals.retain(|row| !known.contains(&row.id));
        finals.sort_by_key(|row| row.slot);
        let after = finals.get(most.saturating_sub(1)).map(|last| last.slot);
        let next = after
            .and_then(|slot| finals.iter().find(|row| row.slot > slot))
            .copied();
        let mut first = Self { finals, ..self.clone() };
        if let Some(next) = next {
            first.end_before(next.slot);
        }
        first
    }

    /// Removes this slot and all later ones.
    pub fn end_before(&mut self, slot: u64) {
        self.slot = self.slot.min(slot.saturating_sub(1));
        self.finals.retain(|row| row.slot < slot);
    }
}

/// A comparison of two listings.
struct Pair {
    slot: u64,
    finals: Vec<Row>,
    differences: Vec<Row>,
}

impl Pair {
    fn new(follower: &Follower, one: &Listing, other: &Listing) -> Self {
        // The slot that both have reached: the lower of the two.
        let bound = one.history.finalized_slot.min(other.history.finalized_slot);
        let index = |listing: &Listing| -> HashMap<Signature, Entry> {
            let entries = listing.entries.iter().map(|entry| (entry.id, *entry));
            entries.collect()
        };
        let (in_one, in_other, known) = (index(one), index(other), follower.finals());
        let differs = |entry: &&Entry, listed: &HashMap<Signature, Entry>| {
            // A scan lists only a part of the slot that bounds the pages.
            let compared = entry.slot <= bound && follower.oldest_slot().is_none_or(|oldest| entry.slot > oldest);
            let alike = listed.get(&entry.id).is_some_and(|listed| listed.row() == entry.row());
            compared && !alike && !known.contains(&entry.id)
        };
        let mut differences: Vec<Row> = Vec::new();
        differences.extend(one.entries.iter().filter(|e| differs(e, &in_other)).map(Entry::row));
        differences.extend(other.entries.iter().filter(|e| differs(e, &in_one)).map(Entry::row));
        let alike = |entry: &&Entry| in_other.get(&entry.id).filter(|other| other.row() == entry.row());
        let is_final = |entry: &&Entry| {
            let both = alike(entry).map(|other| other.level.min(entry.level));
            both == Some(Commitment::Finalized)
        };
        let reached = one.entries.iter().filter(|entry| entry.slot <= bound);
        // Another node of the same endpoint may lag.
        let late = reached
            .clone()
            .filter(|e| alike(e).is_some() && !is_final(e) && !known.contains(&e.id));
        let stops = late
            .map(|entry| entry.slot)
            .chain(differences.iter().map(|row| row.slot));
        let slot = stops.min().map_or(bound, |stop| bound.min(stop.saturating_sub(1)));
        let finals = reached.filter(|entry| entry.slot <= slot && is_final(entry));
        Self {
            slot,
            finals: finals.map(Entry::row).collect(),
            differences,
        }
    }
}

#[cfg(test)]
mod tests;
