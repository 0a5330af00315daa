//! Follower of one token account. Turns pages of signatures, newest first, into rows, oldest first. It does no I/O:
//! pages are the input; changes and the next request are the output.
//!
//! No transaction is skipped. A scan is accepted only if it reaches the known rows. Every scan lists the last finalised
//! slots again, because a node may index a transaction later than its neighbours. A row below `finalized` is reported
//! as reorged once its slot is finalised without it.
//!
//! With several endpoints, each one is scanned separately ([`Follower::read`]). [`super::cross_check`] determines where
//! they agree, and only that part becomes final ([`Follower::take`]).

use std::collections::{HashMap, HashSet, VecDeque};

use super::cross_check::Agreement;

use super::status::Commitment;
use super::transaction::Signature;

/// Maximum number of signatures in a page (`getSignaturesForAddress`).
pub const PAGE_LIMIT: usize = 1000;

/// Number of finalised slots that every scan lists again.
pub const OVERLAP_SLOTS: u64 = 150;

/// Maximum number of signatures in one scan. Each takes about 120 bytes of memory.
pub const MAX_SCAN_SIGNATURES: usize = 1_000_000;

/// A signature in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: Signature,
    /// Slot of the transaction's block.
    pub slot: u64,
    /// Commitment of the block as shown in the page; at least `confirmed`.
    pub level: Commitment,
    /// Whether the transaction was executed without effects.
    pub failed: bool,
}

/// A transaction that the follower knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: Signature,
    /// Slot of the transaction's block.
    pub slot: u64,
    /// Whether the transaction was executed without effects.
    pub failed: bool,
}

/// The next page to request, at commitment `confirmed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Only signatures older than this one.
    pub before: Option<Signature>,
    /// Only signatures newer than this one.
    pub until: Option<Signature>,
    /// Maximum number of signatures to return.
    pub limit: usize,
}

/// A change found by a scan. Changes of one kind are in chain order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A fork removed this transaction before it was final.
    Reorged(Row),
    /// A transaction that was not known before.
    New(Row),
    /// A known transaction whose slot or effects differ: it must be read again.
    Updated {
        /// The row before the change.
        from: Row,
        /// The row after the change.
        to: Row,
    },
    /// This transaction is final.
    Final(Row),
}

impl Entry {
    /// The row without its commitment.
    pub const fn row(&self) -> Row {
        Row {
            id: self.id,
            slot: self.slot,
            failed: self.failed,
        }
    }
}

/// What one endpoint lists from the overlap up to its newest transaction: the result of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The endpoint's history, read before its pages.
    pub history: History,
    /// Entries, oldest first.
    pub entries: Vec<Entry>,
}

/// The next step after a page, for one endpoint of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Request this page, from the same endpoint.
    More(PageRequest),
    /// The scan is complete. No state has changed yet.
    Done(Listing),
}

/// The next step after a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Request this page, from the same endpoint.
    More(PageRequest),
    /// The scan is complete. The caller persists the changes and [`Follower::cursor`] together.
    Done(Vec<Change>),
}

/// Why a scan is discarded. No state has changed; the next scan should use another endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// The page does not continue the previous one: slots or their order contradict it.
    #[error("the endpoint's pages of signatures contradict each other")]
    Inconsistent,
    /// The endpoint does not list a known final transaction: its history is incomplete or on another chain.
    #[error("the endpoint does not list a finalised transaction")]
    Gap,
    /// More than [`MAX_SCAN_SIGNATURES`] signatures.
    #[error("too many signatures since the cursor")]
    TooMany,
    /// A page was given without a scan in progress.
    #[error("no walk is in progress")]
    NoScan,
}

/// The range of an endpoint's history. Read from the endpoint before the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// First slot with blocks at the endpoint.
    pub first_available_slot: u64,
    /// Last slot that the endpoint has finalised.
    pub finalized_slot: u64,
}

/// State needed to continue after a restart: final rows of the overlap, and rows that are not final yet. Oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Every transaction up to this finalised slot is known.
    pub covered_slot: u64,
    /// Finalised rows of the last [`OVERLAP_SLOTS`], at least the last two.
    pub finalized: Vec<Row>,
    /// Rows that are not final.
    pub pending: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Scan {
    history: History,
    until: Option<Signature>,
    /// Whether the pages reached the oldest known row.
    reached_known: bool,
    /// Entries, newest first.
    entries: Vec<Entry>,
}

/// Follows one token account; see the module.
#[derive(Clone, Debug)]
pub struct Follower {
    /// Transactions in earlier slots are ignored.
    from_slot: u64,
    covered_slot: u64,
    finalized: VecDeque<Row>,
    pending: Vec<Row>,
    scan: Option<Scan>,
}

impl Follower {
    /// Follows the account from a slot; 0 reads its whole history.
    pub fn new(from_slot: u64) -> Self {
        Self::resume(from_slot, Cursor::default())
    }

    /// Continues after a restart.
    pub fn resume(from_slot: u64, cursor: Cursor) -> Self {
        Self {
            from_slot,
            covered_slot: cursor.covered_slot,
            finalized: cursor.finalized.into(),
            pending: cursor.pending,
            scan: None,
        }
    }

    /// The state to persist.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            covered_slot: self.covered_slot,
            finalized: self.finalized.iter().copied().collect(),
            pending: self.pending.clone(),
        }
    }

    /// Rows that are not final, oldest first.
    pub fn pending(&self) -> &[Row] {
        &self.pending
    }

    /// Starts a scan at an endpoint with this history. A scan in progress is discarded.
    ///
    /// # Errors
    /// [`FollowError::Gap`] if the endpoint has pruned slots that are not covered yet.
    pub fn start(&mut self, history: History) -> Result<PageRequest, FollowError> {
        self.scan = None;
        if history.first_available_slot > self.covered_slot.max(self.from_slot) {
            return Err(FollowError::Gap);
        }
        // The oldest row of the overlap only bounds the pages. The next row proves that they reach far enough.
        let until = (self.finalized.len() >= 2).then(|| self.finalized[0].id);
        self.scan = Some(Scan {
            history,
            until,
            reached_known: false,
            entries: Vec::new(),
        });
        Ok(PageRequest {
            before: None,
            until,
            limit: PAGE_LIMIT,
        })
    }

    /// Processes the requested page when there is only one endpoint.
    ///
    /// # Errors
    /// See [`FollowError`]. The scan is then discarded.
    pub fn page(&mut self, page: &[Entry]) -> Result<Step, FollowError> {
        Ok(match self.read(page)? {
            Reading::More(request) => Step::More(request),
            Reading::Done(listing) => {
                let agreement = Agreement::alone(&listing);
                Step::Done(self.take(&[listing], &agreement))
            }
        })
    }

    /// Processes the requested page of one endpoint of several. Known rows do not change.
    ///
    /// # Errors
    /// See [`FollowError`]. The scan is then discarded.
    pub fn read(&mut self, page: &[Entry]) -> Result<Reading, FollowError> {
        let mut walk = self.scan.take().ok_or(FollowError::NoScan)?;
        let oldest_known = self.finalized.front();
        let mut reached = false;
        for entry in page {
            if walk
                .entries
                .last()
                .is_some_and(|last| last.slot < entry.slot || last.id == entry.id)
            {
                return Err(FollowError::Inconsistent);
            }
            let known = oldest_known.is_some_and(|row| row.slot > entry.slot || row.id == entry.id);
            if known || entry.slot < self.from_slot {
                reached = true;
                walk.reached_known = oldest_known.is_some_and(|row| row.id == entry.id);
                break;
            }
            walk.entries.push(*entry);
        }
        if walk.entries.len() > MAX_SCAN_SIGNATURES {
            return Err(FollowError::TooMany);
        }
        // A page that is short but not empty may be followed by more: nodes combine several history stores.
        if !reached && let Some(last) = page.last() {
            let request = PageRequest {
                before: Some(last.id),
                until: walk.until,
                limit: PAGE_LIMIT,
            };
            self.scan = Some(walk);
            return Ok(Reading::More(request));
        }
        self.finish(walk).map(Reading::Done)
    }

    fn finish(&self, walk: Scan) -> Result<Listing, FollowError> {
        let listed: HashMap<Signature, &Entry> = walk.entries.iter().map(|entry| (entry.id, entry)).collect();
        if listed.len() != walk.entries.len() {
            return Err(FollowError::Inconsistent);
        }
        // Every final row must be listed in its slot if the endpoint has reached that slot and not pruned it. The
        // oldest row only appears if it did not bound the pages.
        let missing = |row: &Row| match listed.get(&row.id) {
            Some(entry) => entry.slot != row.slot,
            None => row.slot <= walk.history.finalized_slot && row.slot >= walk.history.first_available_slot,
        };
        let skipped = usize::from(walk.reached_known || walk.until.is_some());
        if self.finalized.iter().skip(skipped).any(missing) {
            return Err(FollowError::Gap);
        }
        let mut entries = walk.entries;
        entries.reverse();
        Ok(Listing {
            history: walk.history,
            entries,
        })
    }

    /// Applies the listings of the scans, and the part of them that counts as final. If listings differ, an earlier one
    /// in the slice takes precedence.
    pub fn take(&mut self, listings: &[Listing], agreement: &Agreement) -> Vec<Change> {
        let visible = visible(listings, agreement);
        let shown: HashSet<Signature> = visible.iter().map(|row| row.id).collect();
        let mut changes = self.remove_reorged(agreement.slot, &shown);
        let mut known: HashMap<Signature, Row> = self.pending.drain(..).map(|row| (row.id, row)).collect();
        let finals = self.finals();
        let becomes_final: HashSet<Signature> = agreement.finals.iter().map(|row| row.id).collect();
        let mut newly_final = Vec::new();
        for row in visible.into_iter().filter(|row| !finals.contains(&row.id)) {
            match known.remove(&row.id) {
                None => changes.push(Change::New(row)),
                Some(from) if from != row => changes.push(Change::Updated { from, to: row }),
                Some(_) => {}
            }
            if becomes_final.contains(&row.id) {
                newly_final.push(row);
            } else {
                self.pending.push(row);
            }
        }
        // Neither listed nor refuted: the endpoint is behind.
        self.pending.extend(known.into_values());
        self.pending.sort_by_key(|row| row.slot);
        changes.extend(newly_final.iter().map(|row| Change::Final(*row)));
        self.advance(newly_final);
        self.covered_slot = self.covered_slot.max(agreement.slot);
        changes
    }

    /// Every transaction up to this final slot is known.
    pub const fn covered_slot(&self) -> u64 {
        self.covered_slot
    }

    /// The final rows that scans list again.
    pub(super) fn finals(&self) -> HashSet<Signature> {
        self.finalized.iter().map(|row| row.id).collect()
    }

    /// Slot of the oldest final row, which bounds the pages. A scan may list some of the other rows in that slot.
    pub(super) fn oldest_slot(&self) -> Option<u64> {
        self.finalized.front().map(|row| row.slot)
    }

    /// Removes pending rows whose slot is final without them.
    fn remove_reorged(&mut self, slot: u64, shown: &HashSet<Signature>) -> Vec<Change> {
        let gone = |row: &Row| row.slot <= slot && !shown.contains(&row.id);
        let changes = self.pending.iter().filter(|row| gone(row));
        let changes = changes.map(|row| Change::Reorged(*row)).collect();
        self.pending.retain(|row| !gone(row));
        changes
    }

    fn advance(&mut self, newly_final: Vec<Row>) {
        self.finalized.extend(newly_final);
        // A late row may be older than its neighbours. The sort is stable, so the order within a slot is preserved.
        self.finalized.make_contiguous().sort_by_key(|row| row.slot);
        let newest = self.finalized.back().map_or(0, |row| row.slot);
        let pending = self.pending.first().map_or(u64::MAX, |row| row.slot);
        while self.finalized.len() > 2
            && self.finalized[1].slot.saturating_add(OVERLAP_SLOTS) < newest
            && self.finalized[1].slot < pending
        {
            self.finalized.pop_front();
        }
    }
}

/// The rows that the listings show, oldest first. Final rows are as the agreeing listings have them; all others are as
/// the first listing has them.
fn visible(listings: &[Listing], agreement: &Agreement) -> Vec<Row> {
    let mut seen = HashSet::new();
    let mut rows = Vec::new();
    let others = (0..listings.len()).filter(|position| !agreement.by.contains(position));
    for position in agreement.by.iter().copied().chain(others) {
        let (listing, agrees) = (&listings[position], agreement.by.contains(&position));
        let entries = listing
            .entries
            .iter()
            .filter(|entry| agrees || entry.slot > agreement.slot);
        rows.extend(entries.map(Entry::row).filter(|row| seen.insert(row.id)));
    }
    if listings.len() > 1 {
        rows.sort_by_key(|row| row.slot);
    }
    rows
}

#[cfg(test)]
mod tests;
