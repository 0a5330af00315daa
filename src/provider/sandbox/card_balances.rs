//! Card balances at the sandbox's card issuer. USDC sent to a deposit address on the sandbox's Base counts in that
//! address's balance. The issuer scans the chain on each query and records deposits, synced before each
//! response.

pub mod deposit_watcher;
mod records;

use std::sync::Arc;

use parking_lot::Mutex;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{CardBalances, CardDeposit, Clock, ErrorKind, PortError, PortFuture, Timestamp};

use self::deposit_watcher::{DepositSource, IncomingUsdc};
use self::records::{BalanceRecord, BalanceRecords};
use crate::CardBalanceReader;
use purser_sandbox::keys::treasury;
use purser_sandbox::records::{RecordBook as _, Records};
use purser_sandbox::store::{SandboxStore, SandboxStoreError, Table};

/// Transfers read from the chain at once. They are stored as one batch, whose size is limited.
const PAGE: usize = 500;
/// A deposit of exactly this amount is never credited.
pub const NEVER_CREDITED: Cents = Cents::new(2_109);

/// A simulated issuer of card balances.
pub struct SandboxCardBalances {
    chain: Arc<dyn DepositSource>,
    clock: Arc<dyn Clock>,
    credit_after_ms: u64,
    records: Records<BalanceRecords>,
    faults: Mutex<BalanceFaults>,
    /// Serializes scans of the chain.
    scan_lock: tokio::sync::Mutex<()>,
}

/// Faults set by the sandbox controls. Held in memory: a restart clears them.
#[derive(Clone, Copy, Debug, Default)]
struct BalanceFaults {
    holds_credits: bool,
    unreachable: u32,
}

impl SandboxCardBalances {
    /// Opens its tables of the store. A deposit counts `credit_after_ms` after
    /// it reached the chain.
    ///
    /// # Errors
    /// When its rows cannot be read.
    pub fn open(
        store: &SandboxStore,
        chain: Arc<dyn DepositSource>,
        clock: Arc<dyn Clock>,
        credit_after_ms: u64,
    ) -> Result<Self, SandboxStoreError> {
        Ok(Self {
            chain,
            clock,
            credit_after_ms,
            records: Records::open(store, Table::CardBalances)?,
            faults: Mutex::default(),
            scan_lock: tokio::sync::Mutex::default(),
        })
    }

    /// Stops or resumes crediting.
    pub fn hold_credits(&self, held: bool) {
        self.faults.lock().holds_credits = held;
    }

    /// Lets this number of calls fail without a response.
    pub fn set_unreachable(&self, times: u32) {
        self.faults.lock().unreachable = times;
    }

    fn check_reachable(&self) -> Result<(), PortError> {
        let mut active = self.faults.lock();
        if active.unreachable == 0 {
            return Ok(());
        }
        active.unreachable -= 1;
        Err(failed(ErrorKind::Temporary, "the sandbox issuer is unreachable"))
    }

    /// Records the deposits that reached Base since the last scan.
    async fn scan_deposits(&self) -> Result<(), PortError> {
        let _one = self.scan_lock.lock().await;
        let stopped = |e: SandboxStoreError| failed(ErrorKind::Temporary, &e.to_string());
        let Wallet::Evm(ours) = treasury(Network::Base) else {
            return Ok(());
        };
        loop {
            let from = self.records.lock().position.0;
            let page = self.chain.deposits_after(from, PAGE).await?;
            let Some(last) = page.last().map(|seen| seen.position) else {
                return Ok(());
            };
            let arrived = page.into_iter().filter(|seen| seen.to != ours).map(arrival);
            let entries: Vec<_> = arrived.chain([BalanceRecord::Cursor(last)]).collect();
            let stored = self.records.run(|book| book.append(&entries));
            stored.wait().await.map_err(stopped)?;
        }
    }

    /// Whether a deposit counts now.
    fn counts(&self, atomic: u64, at: Timestamp) -> bool {
        Usdc::from_cents(NEVER_CREDITED) != Ok(Usdc::from_atomic(atomic))
            && !self.faults.lock().holds_credits
            && self.clock.now() >= at.plus_ms(self.credit_after_ms)
    }

    async fn counted(&self, address: &[u8; 20]) -> Result<Usdc, PortError> {
        self.check_reachable()?;
        self.scan_deposits().await?;
        let found = self.records.lock().of(address);
        let counted = found.into_iter().filter_map(|entry| match entry {
            BalanceRecord::Deposit { atomic, at, .. } if self.counts(atomic, at) => Some(atomic),
            _ => None,
        });
        Ok(Usdc::from_atomic(counted.fold(0, u64::saturating_add)))
    }

    async fn credited(&self, deposit: &CardDeposit) -> Result<bool, PortError> {
        self.check_reachable()?;
        self.scan_deposits().await?;
        let found = self.records.lock().of(&deposit.address);
        Ok(found.into_iter().any(|entry| match entry {
            BalanceRecord::Deposit {
                transaction,
                atomic,
                at,
                ..
            } => transaction == deposit.transaction && atomic == deposit.amount.atomic() && self.counts(atomic, at),
            BalanceRecord::Cursor(_) => false,
        }))
    }
}

impl CardBalances for SandboxCardBalances {
    fn is_credited<'a>(&'a self, deposit: &'a CardDeposit) -> PortFuture<'a, bool> {
        Box::pin(self.credited(deposit))
    }
}

impl CardBalanceReader for SandboxCardBalances {
    fn balance<'a>(&'a self, address: &'a [u8; 20]) -> PortFuture<'a, Usdc> {
        Box::pin(self.counted(address))
    }
}

fn arrival(seen: IncomingUsdc) -> BalanceRecord {
    BalanceRecord::Deposit {
        address: seen.to,
        transaction: seen.transaction,
        atomic: seen.amount.atomic(),
        at: seen.at,
    }
}

fn failed(kind: ErrorKind, message: &str) -> PortError {
    PortError {
        kind,
        operation: "card balance",
        message: message.into(),
    }
}
