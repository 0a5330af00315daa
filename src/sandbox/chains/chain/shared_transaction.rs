//! Transactions with several transfers, and plain transfers without a payment authorization. Real chains have both, so
//! the sandbox makes them testable.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{ChainMovement, Decline, Timestamp};

use super::super::ledger::{ChainTransfer, LedgerRecord, ReplayKey};
use super::super::{evm, svm};
use super::{ChainState, SandboxChain};

/// The open transaction that all further transfers share, if there is one.
#[derive(Default)]
pub(super) struct SharedTransaction {
    /// Read first, so that settling waits for no other lock.
    is_open: AtomicBool,
    open: Mutex<Option<OpenTransaction>>,
}

/// A transaction with several transfers.
#[derive(Default)]
struct OpenTransaction {
    /// Its id and time, after the first transfer.
    started: Option<(String, Timestamp)>,
    /// Index of the next transfer.
    next_index: u32,
}

/// A transfer that needs no authorization.
#[derive(Clone, Copy)]
pub(crate) struct PlainTransfer {
    pub(crate) from: Wallet,
    pub(crate) to: Wallet,
    pub(crate) amount: Usdc,
}

impl SandboxChain {
    /// Starts or stops sharing one transaction for all further transfers whose id the chain assigns.
    pub(crate) fn set_shared_transaction(&self, together: bool) {
        *self.shared_transaction.open.lock() = together.then(OpenTransaction::default);
        self.shared_transaction.is_open.store(together, Ordering::Release);
    }

    /// Assigns transaction, time and index to a transfer. One that must be alone stays alone.
    pub(super) fn assign_position(&self, alone: ChainTransfer, shares: bool) -> (ChainTransfer, u32) {
        if !shares || !self.shared_transaction.is_open.load(Ordering::Acquire) {
            return (alone, 0);
        }
        let mut open = self.shared_transaction.open.lock();
        let Some(open) = open.as_mut() else { return (alone, 0) };
        let index = open.next_index;
        open.next_index += 1;
        let begun = || (alone.transaction.clone(), alone.at);
        let (transaction, at) = open.started.get_or_insert_with(begun).clone();
        let shared = ChainTransfer {
            transaction,
            at,
            ..alone
        };
        (shared, index)
    }

    /// Moves funds without an authorization, if the balance covers them.
    pub(crate) fn transfer_plain(
        &self,
        state: &ChainState,
        now: Timestamp,
        plain: PlainTransfer,
    ) -> (Vec<LedgerRecord>, Option<Decline>) {
        let PlainTransfer { from, to, amount } = plain;
        let mut key = ReplayKey {
            payer: from,
            nonce: [0; 32],
        };
        let transaction = match self.network {
            Network::Base => evm::transaction_id(&key, "its sender", state.ledger.settled_count()),
            Network::Solana => svm::plain_id(&from, state.ledger.settled_count()),
        };
        let alone = ChainTransfer {
            transaction,
            key,
            to,
            amount,
            at: now,
        };
        let (transfer, index) = self.assign_position(alone, true);
        key.nonce = ChainMovement::plain_fingerprint(&transfer.transaction, index);
        match state
            .ledger
            .transfer_in_shared(&ChainTransfer { key, ..transfer }, index)
        {
            Ok(records) => (records, None),
            Err(declined) => (Vec::new(), Some(declined)),
        }
    }
}
