//! Limits on the queries of searches, and what is stored between them. No I/O.
//!
//! Anyone can send as many transactions that name a payer's token account as they pay for. Each is read once, for all
//! payments that are searched for and on all endpoints. All searches together have a limit on reads per second.

use std::collections::{HashMap, VecDeque};

use purser_chains::solana::Signature;
use purser_chains::solana::follow::Entry;
use purser_chains::solana::status::Commitment;

/// Pause between the first searches for one payment, in milliseconds.
const PAUSE_MS: u64 = 3_000;
/// Number of quick searches, during which payers wait. Afterwards each pause is 1.5 times the previous one while
/// nothing is found.
const QUICK_SEARCHES: u32 = 6;
/// Longest pause, in milliseconds.
const MAX_PAUSE_MS: u64 = 30_000;
/// Maximum number of pages of signatures that one search reads from one endpoint.
pub(super) const PAGES: usize = 2;
/// Maximum number of transactions and further pages that one search reads.
pub(super) const MAX_READS: usize = 50;
/// Number of reads that each payment is granted whatever other searches have used.
const GUARANTEED_READS: usize = 50;
/// Shared budget for one further read, in milliseconds.
const READ_MS: u64 = 100;
/// How far the shared budget may be overdrawn, in milliseconds.
const MAX_AHEAD_MS: u64 = 5_000;
/// Maximum number of payments stored during their search.
const MAX_PAYMENTS: usize = 10_000;
/// How long a payment without requests is stored, in milliseconds.
const PAYMENT_TTL_MS: u64 = 60_000;
/// Maximum number of stored transactions.
const MAX_TRANSACTIONS: usize = 50_000;

/// State of a payment that a facilitator or seller sends.
#[derive(Clone, Debug)]
pub(super) struct ExternalPayment {
    pub(super) last_valid_block_height: u64,
    pub(super) not_before_slot: u64,
    /// One scan per endpoint.
    pub(super) scans: Vec<HistoryScan>,
    /// A decision depends on this search: it must report if it ended before everything was read.
    pub(super) is_decisive: bool,
    next_ms: u64,
    pause_ms: u64,
    /// Number of searches that found nothing.
    misses: u32,
    reads: usize,
}

/// Progress of reading the account's list on one endpoint for one payment.
///
/// Each search begins with the newest transaction until the endpoint is past the payment's last block height. It ends
/// where an earlier search has read everything. Then one last scan reads everything that can be the payment, over as
/// many searches as it takes. Only that scan proves anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HistoryScan {
    /// The last entry read, and whether it is final: if so, the next page begins below it.
    last_read: Option<(Signature, bool)>,
    /// The newest final entry seen by this scan.
    newest_final: Option<Signature>,
    /// An earlier scan has read this entry and all older ones.
    until: Option<Signature>,
    /// The scan began when the endpoint was past the payment's last block height.
    is_last: bool,
    /// The endpoint lacks part of the account's history since the payment was created: it proves nothing.
    is_pruned: bool,
    /// The endpoint has shown that the payment is absent.
    is_absent: bool,
}

/// The result of a finished page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    More,
    /// Everything was read. `proves`: the payment is absent, if the endpoint's history reaches back far enough.
    End {
        proves: bool,
    },
    /// The list does not continue at the last position: nothing is proven.
    Broken,
}

/// The next step for a payment.
#[derive(Debug)]
pub(super) enum SearchStart {
    /// The last search was a moment ago.
    Wait,
    Search(ExternalPayment),
}

/// What is known of a transaction.
#[derive(Clone, Copy, Debug)]
enum KnownTransaction {
    /// Its signature proves that its message has this hash.
    Message([u8; 32]),
    /// Its content is not proven. These endpoints have shown that it is not one of the messages searched for.
    Unproven(u64),
}

/// Limits and stored results of all searches; see the module.
#[derive(Debug, Default)]
pub(in crate::solana) struct Searches {
    payments: HashMap<[u8; 32], ExternalPayment>,
    transactions: HashMap<Signature, KnownTransaction>,
    read_order: VecDeque<Signature>,
    /// Time until which the allowed reads are covered by the budget.
    budget_used_until_ms: u64,
}

impl HistoryScan {
    pub(super) const fn is_absent(&self) -> bool {
        self.is_absent
    }

    /// Whether the endpoint's position must be queried before the next page.
    pub(super) const fn needs_position(&self) -> bool {
        !self.is_last && !self.is_pruned
    }

    /// Starts a search.
    pub(super) fn start(&mut self, is_past: bool) {
        if self.is_last {
            return;
        }
        self.last_read = None;
        self.newest_final = None;
        if is_past && !self.is_pruned {
            self.is_last = true;
            self.until = None;
        }
    }

    pub(super) fn before(&self) -> Option<Signature> {
        self.last_read.map(|(id, _)| id)
    }

    pub(super) const fn until(&self) -> Option<Signature> {
        self.until
    }

    /// Skips an entry that is not the payment.
    pub(super) fn skip(&mut self, entry: &Entry) {
        let is_final = entry.level == Commitment::Finalized;
        self.last_read = Some((entry.id, is_final));
        if is_final {
            self.newest_final.get_or_insert(entry.id);
        }
    }

    /// Finishes a page in which every possible entry was checked.
    pub(super) fn finish_page(&mut self, page: &[Entry], not_before_slot: u64) -> Page {
        let end = match (page.last(), self.last_read) {
            (Some(last), _) => last.slot < not_before_slot,
            // A fork can remove an entry that is not final, and the list ends there.
            (None, Some((_, false))) => {
                self.last_read = None;
                self.newest_final = None;
                return Page::Broken;
            }
            (None, _) => true,
        };
        if !end {
            return Page::More;
        }
        let proves = self.is_last;
        if !proves {
            self.until = self.newest_final.or(self.until);
        }
        Page::End { proves }
    }

    /// Ends the last scan: the endpoint's history reaches back far enough, or does not.
    pub(super) fn finish(&mut self, is_kept: bool) {
        if is_kept {
            self.is_absent = true;
        } else {
            *self = Self {
                until: self.newest_final,
                is_pruned: true,
                ..Self::default()
            };
        }
    }
}

impl Searches {
    /// Requests a search for a payment. `ends` is its last block height and first slot, used if the payment is new
    /// here.
    pub(super) fn start(&mut self, payment: &[u8; 32], ends: (u64, u64), endpoints: usize, now_ms: u64) -> SearchStart {
        if self.payments.len() >= MAX_PAYMENTS {
            self.payments
                .retain(|_, foreign| foreign.next_ms.saturating_add(PAYMENT_TTL_MS) > now_ms);
        }
        let foreign = self.payments.entry(*payment).or_insert_with(|| ExternalPayment {
            last_valid_block_height: ends.0,
            not_before_slot: ends.1,
            scans: vec![HistoryScan::default(); endpoints],
            is_decisive: false,
            next_ms: 0,
            pause_ms: PAUSE_MS,
            misses: 0,
            reads: 0,
        });
        if now_ms < foreign.next_ms {
            return SearchStart::Wait;
        }
        foreign.next_ms = now_ms.saturating_add(foreign.pause_ms);
        let begun = foreign.clone();
        foreign.is_decisive = false;
        SearchStart::Search(begun)
    }

    /// Makes the next search due at once: a decision depends on its result.
    pub(in crate::solana) fn expedite(&mut self, payment: &[u8; 32]) {
        if let Some(foreign) = self.payments.get_mut(payment) {
            foreign.next_ms = 0;
            foreign.is_decisive = true;
        }
    }

    /// Number of endpoints that have shown the payment's absence.
    pub(super) fn absent(&self, payment: &[u8; 32]) -> usize {
        let walks = self.payments.get(payment).map(|foreign| foreign.scans.iter());
        walks.map_or(0, |walks| walks.filter(|walk| walk.is_absent).count())
    }

    /// Records a finished scan on one endpoint.
    pub(super) fn record_scan(&mut self, payment: &[u8; 32], endpoint: usize, walk: HistoryScan) {
        let walks = self.payments.get_mut(payment).map(|foreign| &mut foreign.scans);
        if let Some(known) = walks.and_then(|walks| walks.get_mut(endpoint)) {
            *known = walk;
        }
    }

    /// Ends a search. If it found nothing, the next one waits longer. `is_cut`: there was more to read.
    pub(super) fn finish(&mut self, payment: &[u8; 32], is_found: bool, is_cut: bool) {
        if let Some(foreign) = self.payments.get_mut(payment) {
            foreign.misses = foreign.misses.saturating_add(1);
            foreign.pause_ms = match is_found || is_cut || foreign.misses < QUICK_SEARCHES {
                true => PAUSE_MS,
                false => (foreign.pause_ms * 3 / 2).min(MAX_PAUSE_MS),
            };
        }
    }

    /// Whether one more transaction or page may be read for a payment.
    pub(super) fn may_read(&mut self, payment: &[u8; 32], now_ms: u64) -> bool {
        if let Some(foreign) = self.payments.get_mut(payment)
            && foreign.reads < GUARANTEED_READS
        {
            foreign.reads += 1;
            return true;
        }
        let paid_ms = self.budget_used_until_ms.max(now_ms);
        let may = paid_ms - now_ms < MAX_AHEAD_MS;
        if may {
            self.budget_used_until_ms = paid_ms + READ_MS;
        }
        may
    }

    /// Whether a known transaction is the payment, according to this endpoint; `None` if it must be read.
    pub(super) fn is_payment(&self, id: &Signature, payment: &[u8; 32], endpoint: usize) -> Option<bool> {
        match self.transactions.get(id)? {
            KnownTransaction::Message(hash) => Some(hash == payment),
            KnownTransaction::Unproven(by) => (by & bit(endpoint) != 0).then_some(false),
        }
    }

    /// Records a transaction that was read: its message, if the signature proves it; otherwise only this endpoint's
    /// claim.
    pub(super) fn record_read(&mut self, id: &Signature, message: Option<[u8; 32]>, endpoint: usize) {
        let by = match self.transactions.get(id) {
            Some(KnownTransaction::Unproven(by)) => *by,
            Some(KnownTransaction::Message(_)) => return,
            None => {
                self.read_order.push_back(*id);
                0
            }
        };
        let read = message.map_or(
            KnownTransaction::Unproven(by | bit(endpoint)),
            KnownTransaction::Message,
        );
        self.transactions.insert(*id, read);
        while self.read_order.len() > MAX_TRANSACTIONS {
            let oldest = self.read_order.pop_front();
            oldest.and_then(|id| self.transactions.remove(&id));
        }
    }
}

/// Endpoints after the 64th are not stored.
fn bit(endpoint: usize) -> u64 {
    u32::try_from(endpoint)
        .ok()
        .and_then(|n| 1_u64.checked_shl(n))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
