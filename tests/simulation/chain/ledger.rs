//! What a chain knows: what has landed, what is coming, and what never lands any more.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use purser::verify::ChainTransfer;
use purser_actors::id::{TopUpId, Wallet, WithdrawalId};
use purser_actors::port::PreparedTransaction;

use crate::seller::WALLET_PAYMENT;
use crate::top_ups::FORWARD;
use crate::withdrawals::fault_plan_of;

#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) transfers: BTreeMap<u32, ChainTransfer>,
    /// The same by the order in which they landed: a list is read on behind a place.
    settled_order: Vec<u32>,
    /// When a transfer that was sent will land, and as what.
    pub(super) scheduled: BTreeMap<u32, (u64, ChainTransfer)>,
    /// Never lands any more: the chain has said so.
    pub(super) expired: BTreeSet<u32>,
    /// What was sent, by payment.
    pub(super) sent: BTreeMap<u32, Vec<u8>>,
    calls: BTreeMap<(u32, &'static str), usize>,
    prepared: u64,
    /// Payments that it has said no to.
    pub(super) declined: BTreeSet<u32>,
    /// Which withdrawal a transfer on Solana was signed for.
    pub(crate) withdrawals: BTreeMap<u32, WithdrawalId>,
    /// What a list of transfers shows of each besides.
    pub(super) marks: BTreeMap<u32, [u8; 32]>,
    /// Which top-up a transfer on Base was signed for.
    pub(crate) forwards: BTreeMap<u32, TopUpId>,
}

impl Ledger {
    /// Lets land what is due.
    pub(crate) fn settle(&mut self, now_ms: u64) {
        let due = self.scheduled.iter().filter(|(_, (at, _))| *at <= now_ms);
        let mut due: Vec<(u64, u32)> = due.map(|(n, (at, _))| (*at, *n)).collect();
        due.sort_unstable();
        for (_, n) in due {
            let Some((_, transfer)) = self.scheduled.remove(&n) else {
                continue;
            };
            if let Entry::Vacant(free) = self.transfers.entry(n) {
                free.insert(transfer);
                self.settled_order.push(n);
            }
        }
    }

    /// Everything that has landed, in that order.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (u32, &ChainTransfer)> {
        self.settled_order.iter().map(|n| (*n, &self.transfers[n]))
    }

    /// Whether a response ever reported this payment as declined or impossible.
    pub(crate) fn has_declined(&self, payment: u32) -> bool {
        self.declined.contains(&payment)
    }

    /// What a list shows of a transfer besides: what it was signed with.
    pub(crate) fn mark(&self, payment: u32) -> [u8; 32] {
        self.marks.get(&payment).copied().unwrap_or_default()
    }

    /// Whether a managed wallet has sent it.
    pub(crate) fn is_from_agent_wallet(&self, transaction: &str) -> bool {
        let mut all = self.transfers.range(WALLET_PAYMENT..);
        all.any(|(_, transfer)| transfer.transaction == transaction)
    }

    /// What was sent, as it was sent first.
    pub(crate) fn sent(&self) -> BTreeMap<u32, Vec<u8>> {
        self.sent.clone()
    }

    /// A lost history's preparations are prepared anew, because their bytes are lost.
    pub(crate) fn recall(&mut self, sent: &BTreeMap<u32, Vec<u8>>) {
        self.sent.clone_from(sent);
    }

    pub(crate) fn was_sent(&self, payment: u32) -> bool {
        self.sent.contains_key(&payment)
    }

    /// Atomic USDC that have left an address, or are about to.
    pub(crate) fn total_outgoing(&mut self, from: &Wallet, now_ms: u64) -> u64 {
        self.settle(now_ms);
        let coming = self.scheduled.values().map(|(_, transfer)| transfer);
        let all = self.transfers.values().chain(coming);
        all.filter(|t| t.from == *from).map(|t| t.atomic).sum()
    }

    /// Other bytes every time, as a fresh block hash makes them.
    pub(super) fn prepare(&mut self, n: u32) -> PreparedTransaction {
        self.prepared += 1;
        PreparedTransaction {
            bytes: [n.to_be_bytes().as_slice(), &self.prepared.to_be_bytes()].concat(),
            transaction: String::new(),
        }
    }

    pub(super) fn count(&mut self, n: u32, call: &'static str) -> usize {
        // What is signed again is another transfer, and goes on where the last one was.
        let n = if n >= FORWARD { fault_plan_of(n) } else { n };
        let calls = self.calls.entry((n, call)).or_default();
        *calls += 1;
        *calls - 1
    }
}
