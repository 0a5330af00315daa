//! How much is asked of the endpoints by searches, and what is remembered between them. No I/O.
//!
//! Strangers can send as many transactions that name a payer's token account as they pay for. Each is read once, however many
//! payments are searched for and on however many endpoints, and all searches together read so many in a second.

use std::collections::{HashMap, VecDeque};

use purser_chains::solana::Signature;
use purser_chains::solana::follow::Entry;
use purser_chains::solana::status::Commitment;

/// Between the first searches for one payment, in milliseconds.
const PAUSE_MS: u64 = 3_000;
/// So many of them: payers wait meanwhile. From then on, while nothing is found, each pause is half as long again.
const QUICK_SEARCHES: u32 = 6;
/// The longest pause, in milliseconds.
const MAX_PAUSE_MS: u64 = 30_000;
/// Pages of signatures that one search reads of one endpoint.
pub(super) const PAGES: usize = 2;
/// Transactions and further pages that one search reads.
pub(super) const MAX_READS: usize = 50;
/// Those that a payment may have read whatever others have used.
const GUARANTEED_READS: usize = 50;
/// What all searches together take for one read beyond that, in milliseconds.
const READ_MS: u64 = 100;
/// How far they may be ahead of that, in milliseconds.
const MAX_AHEAD_MS: u64 = 5_000;
/// Payments that are remembered while they are searched for.
const MAX_PAYMENTS: usize = 10_000;
/// A payment that nobody asks for is remembered for so long, in milliseconds.
const PAYMENT_TTL_MS: u64 = 60_000;
/// Transactions that are remembered.
const MAX_TRANSACTIONS: usize = 50_000;

/// What is remembered of a payment that somebody else sends.
#[derive(Clone, Debug)]
pub(super) struct ExternalPayment {
    pub(super) last_valid_block_height: u64,
    pub(super) not_before_slot: u64,
    /// Of each endpoint.
    pub(super) scans: Vec<HistoryScan>,
    /// A decision waits for what this search finds: one that ends before all was read has to say so.
    pub(super) is_decisive: bool,
    next_ms: u64,
    pause_ms: u64,
    /// Searches that found nothing.
    misses: u32,
    reads: usize,
}

/// How far the account's list of one endpoint was read for one payment.
///
/// Until the endpoint is past the payment's last block height each search begins with the newest transaction and ends with what an earlier one
/// has read to the end. Then one walk goes through all that can be the payment, over as many searches as it takes: only that proves
/// anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HistoryScan {
    /// What was read last, and whether it is final: then the next page begins below it.
    last_read: Option<(Signature, bool)>,
    /// The newest final one that this walk has seen.
    newest_final: Option<Signature>,
    /// Everything from this one on was read by an earlier walk.
    until: Option<Signature>,
    /// It began when the endpoint was past the payment's last block height.
    is_last: bool,
    /// The endpoint does not have the account's history since the payment was made: it proves nothing.
    is_pruned: bool,
    /// The endpoint has shown that the payment is not there.
    is_absent: bool,
}

/// What the end of a page means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    More,
    /// All is read. `proves`: so the payment is not there, if the endpoint's history reaches so far.
    End {
        proves: bool,
    },
    /// The list does not go on where it stood: nothing is known.
    Broken,
}

/// What to do for a payment now.
#[derive(Debug)]
pub(super) enum SearchStart {
    /// It was searched for a moment ago.
    Wait,
    Search(ExternalPayment),
}

/// What a transaction is.
#[derive(Clone, Copy, Debug)]
enum KnownTransaction {
    /// Its message has this hash, by its signature.
    Message([u8; 32]),
    /// Nothing proves what it is. These endpoints have shown that it is no message that is searched for.
    Unproven(u64),
}

/// See the module.
#[derive(Debug, Default)]
pub(in crate::settlement::solana) struct Searches {
    payments: HashMap<[u8; 32], ExternalPayment>,
    transactions: HashMap<Signature, KnownTransaction>,
    read_order: VecDeque<Signature>,
    /// Until when the reads that were allowed are paid for.
    budget_used_until_ms: u64,
}

impl HistoryScan {
    pub(super) const fn is_absent(&self) -> bool {
        self.is_absent
    }

    /// Whether to ask how far the endpoint is before the next page.
    pub(super) const fn needs_position(&self) -> bool {
        !self.is_last && !self.is_pruned
    }

    /// A search begins.
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

    /// It is not the payment.
    pub(super) fn skip(&mut self, entry: &Entry) {
        let is_final = entry.level == Commitment::Finalized;
        self.last_read = Some((entry.id, is_final));
        if is_final {
            self.newest_final.get_or_insert(entry.id);
        }
    }

    /// All of a page that can be the payment was passed.
    pub(super) fn finish_page(&mut self, page: &[Entry], not_before_slot: u64) -> Page {
        let end = match (page.last(), self.last_read) {
            (Some(last), _) => last.slot < not_before_slot,
            // A fork can remove what was not final, and the list ends there.
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

    /// The last walk has ended, and the endpoint's history reaches so far or does not.
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
    /// A payment is asked for; `ends`: its last block height and first slot, if it is new here.
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

    /// The next search is made at once: what it finds decides.
    pub(in crate::settlement::solana) fn expedite(&mut self, payment: &[u8; 32]) {
        if let Some(foreign) = self.payments.get_mut(payment) {
            foreign.next_ms = 0;
            foreign.is_decisive = true;
        }
    }

    /// How many endpoints have shown that it is not there.
    pub(super) fn absent(&self, payment: &[u8; 32]) -> usize {
        let walks = self.payments.get(payment).map(|foreign| foreign.scans.iter());
        walks.map_or(0, |walks| walks.filter(|walk| walk.is_absent).count())
    }

    /// A search on one endpoint is over.
    pub(super) fn record_scan(&mut self, payment: &[u8; 32], endpoint: usize, walk: HistoryScan) {
        let walks = self.payments.get_mut(payment).map(|foreign| &mut foreign.scans);
        if let Some(known) = walks.and_then(|walks| walks.get_mut(endpoint)) {
            *known = walk;
        }
    }

    /// A search is over. One that found nothing by the end waits longer for the next; `is_cut`: there was more to read.
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

    /// Whether a transaction that was read is the payment, as far as this endpoint is concerned; `None` if it is to be read.
    pub(super) fn is_payment(&self, id: &Signature, payment: &[u8; 32], endpoint: usize) -> Option<bool> {
        match self.transactions.get(id)? {
            KnownTransaction::Message(hash) => Some(hash == payment),
            KnownTransaction::Unproven(by) => (by & bit(endpoint) != 0).then_some(false),
        }
    }

    /// A transaction was read: its message, if its signature proves it; else this endpoint has shown something.
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

/// Endpoints beyond the 64th remember nothing.
fn bit(endpoint: usize) -> u64 {
    u32::try_from(endpoint)
        .ok()
        .and_then(|n| 1_u64.checked_shl(n))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
