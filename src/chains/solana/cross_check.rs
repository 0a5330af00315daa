//! What several endpoints list alike. Pure.
//!
//! One endpoint alone makes nothing final: a transaction is final where two endpoints list it in the same slot with the same
//! success, and nothing before it is listed by one of them alone. The lists are compared as a whole, so that what one leaves out
//! is found by the other.

use std::collections::{BTreeMap, HashMap};

use super::follow::{Entry, Follower, Listing, OVERLAP_SLOTS, Row};
use super::status::Commitment;
use super::transaction::Signature;

/// Endpoints whose same answer counts as final, where there are as many.
pub const WITNESSES: usize = 2;
/// Most transactions that are named as disputed.
const MAX_DISPUTED: usize = 100;

/// How many endpoints must show the same, of so many.
pub const fn witnesses(endpoints: usize) -> usize {
    if endpoints < WITNESSES { 1 } else { WITNESSES }
}

/// What counts as final, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Everything up to this slot is listed alike; 0 for nothing.
    pub slot: u64,
    /// The listings that agree, by position.
    pub by: Vec<usize>,
    /// Transactions that are final, oldest first; also known ones.
    pub finals: Vec<Row>,
    /// Transactions that some listing shows otherwise than another one, in slots that both have as final. At most 100.
    pub disputed: Vec<Row>,
}

impl Agreement {
    /// One endpoint's word, where there is no other endpoint.
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

    /// What the two listings show alike that agree furthest; nothing with fewer than two.
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

    /// Whether further listings could not be of use: it goes beyond what is covered, and no listing has come much further.
    pub fn is_enough(&self, follower: &Follower, listings: &[Listing]) -> bool {
        let furthest = listings.iter().map(|listing| listing.history.finalized_slot).max();
        self.disputed.is_empty()
            && self.slot > follower.covered_slot()
            && furthest.is_none_or(|furthest| furthest <= self.slot.saturating_add(OVERLAP_SLOTS))
    }

    /// Whether the listings differ in nothing that both have as final.
    pub fn is_whole(&self) -> bool {
        !self.by.is_empty() && self.disputed.is_empty()
    }

    /// The first of its new final transactions, at least `most` if there are so many, whole slots only.
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

    /// Leaves out this slot and all behind it.
    pub fn end_before(&mut self, slot: u64) {
        self.slot = self.slot.min(slot.saturating_sub(1));
        self.finals.retain(|row| row.slot < slot);
    }
}

/// Two listings, compared.
struct Pair {
    slot: u64,
    finals: Vec<Row>,
    differences: Vec<Row>,
}

impl Pair {
    fn new(follower: &Follower, one: &Listing, other: &Listing) -> Self {
        // How far both have come: the lower of the two.
        let bound = one.history.finalized_slot.min(other.history.finalized_slot);
        let index = |listing: &Listing| -> HashMap<Signature, Entry> {
            let entries = listing.entries.iter().map(|entry| (entry.id, *entry));
            entries.collect()
        };
        let (in_one, in_other, known) = (index(one), index(other), follower.finals());
        let differs = |entry: &&Entry, listed: &HashMap<Signature, Entry>| {
            // Of the slot that bounds the pages a walk lists a part.
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
        // A node behind the same endpoint that is not as far.
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
