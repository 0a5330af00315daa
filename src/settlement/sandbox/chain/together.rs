//! Transactions that move money more than once, and transfers that nobody authorized as a payment is: the chains have both, and what
//! comes of them is tried here.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{ChainMovement, Decline, Timestamp};

use super::super::ledger::{ChainTransfer, LedgerRecord, ReplayKey};
use super::super::{evm, svm};
use super::{ChainState, SandboxChain};

/// Whatever lands shares a transaction, while there is one.
#[derive(Default)]
pub(super) struct Together {
    /// Asked first, so that settling waits for no other lock.
    is_open: AtomicBool,
    open: Mutex<Option<Open>>,
}

/// A transaction that moves money more than once.
#[derive(Default)]
struct Open {
    /// Its id and time, once something has landed in it.
    begun: Option<(String, Timestamp)>,
    /// The place of what lands next.
    next: u32,
}

/// A transfer that needs no authorization.
#[derive(Clone, Copy)]
pub(crate) struct Plain {
    pub(crate) from: Wallet,
    pub(crate) to: Wallet,
    pub(crate) amount: Usdc,
}

impl SandboxChain {
    /// Whatever lands from now on lands in one transaction, if the chain gives its id; or each in its own again.
    pub(crate) fn gather(&self, together: bool) {
        *self.together.open.lock() = together.then(Open::default);
        self.together.is_open.store(together, Ordering::Release);
    }

    /// Gives a transfer its transaction, time and place. One that must be alone stays so.
    pub(super) fn placed(&self, alone: ChainTransfer, shares: bool) -> (ChainTransfer, u32) {
        if !shares || !self.together.is_open.load(Ordering::Acquire) {
            return (alone, 0);
        }
        let mut open = self.together.open.lock();
        let Some(open) = open.as_mut() else { return (alone, 0) };
        let index = open.next;
        open.next += 1;
        let begun = || (alone.transaction.clone(), alone.at);
        let (transaction, at) = open.begun.get_or_insert_with(begun).clone();
        let shared = ChainTransfer {
            transaction,
            at,
            ..alone
        };
        (shared, index)
    }

    /// Moves money without an authorization, if it is there.
    pub(crate) fn transfer_plain(
        &self,
        state: &ChainState,
        now: Timestamp,
        plain: Plain,
    ) -> (Vec<LedgerRecord>, Option<Decline>) {
        let Plain { from, to, amount } = plain;
        let mut key = ReplayKey {
            payer: from,
            nonce: [0; 32],
        };
        let transaction = match self.network {
            Network::Base => evm::transaction_id(&key, "its sender", state.ledger.landed()),
            Network::Solana => svm::plain_id(&from, state.ledger.landed()),
        };
        let alone = ChainTransfer {
            transaction,
            key,
            to,
            amount,
            at: now,
        };
        let (transfer, index) = self.placed(alone, true);
        key.nonce = ChainMovement::plain_mark(&transfer.transaction, index);
        match state.ledger.transfer_beside(&ChainTransfer { key, ..transfer }, index) {
            Ok(records) => (records, None),
            Err(declined) => (Vec::new(), Some(declined)),
        }
    }
}
