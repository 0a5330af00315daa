//! What the fake chain shows of wallets: which can receive transfers, the treasury's balance, and outgoing transfers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{BoxFuture, ErrorKind, OutgoingTransfer, PortError, Timestamp};

use super::ports::error;

pub(crate) struct FakeHoldings {
    sent: Mutex<Vec<(Wallet, OutgoingTransfer)>>,
    sent_by_calls: AtomicU64,
    closed: AtomicBool,
    treasury: AtomicU64,
}

impl Default for FakeHoldings {
    fn default() -> Self {
        Self {
            sent: Mutex::default(),
            sent_by_calls: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            treasury: AtomicU64::new(u64::MAX),
        }
    }
}

impl FakeHoldings {
    /// Adds an outgoing transfer that this engine did not send.
    pub(crate) fn send(&self, from: Wallet, transfer: OutgoingTransfer) {
        self.sent.lock().push((from, transfer));
    }

    /// Number of queries for a wallet's outgoing transfers.
    pub(crate) fn sent_by_calls(&self) -> u64 {
        self.sent_by_calls.load(Ordering::SeqCst)
    }

    /// Sets whether addresses have accounts.
    pub(crate) fn close_accounts(&self, closed: bool) {
        self.closed.store(closed, Ordering::SeqCst);
    }

    /// Sets the treasury's balance on both chains.
    pub(crate) fn treasury(&self, holds: Usdc) {
        self.treasury.store(holds.atomic(), Ordering::SeqCst);
    }

    pub(super) fn can_receive(&self) -> BoxFuture<'_, Result<bool, PortError>> {
        Box::pin(std::future::ready(Ok(!self.closed.load(Ordering::SeqCst))))
    }

    pub(super) fn treasury_holds(&self) -> BoxFuture<'_, Result<Usdc, PortError>> {
        let holds = Usdc::from_atomic(self.treasury.load(Ordering::SeqCst));
        Box::pin(std::future::ready(Ok(holds)))
    }

    pub(super) fn sent_by(
        &self,
        from: &Wallet,
        since: Timestamp,
        silent: bool,
    ) -> BoxFuture<'static, Result<Vec<OutgoingTransfer>, PortError>> {
        self.sent_by_calls.fetch_add(1, Ordering::SeqCst);
        if silent {
            return Box::pin(std::future::ready(Err(error(ErrorKind::Temporary, "sent by"))));
        }
        let sent = self.sent.lock().clone().into_iter();
        let sent = sent.filter(|(payer, transfer)| payer == from && transfer.at >= since);
        let sent = sent.map(|(_, transfer)| transfer).collect();
        Box::pin(std::future::ready(Ok(sent)))
    }
}
