//! Deposits that the sandbox's issuer has observed, by address.

use purser_actors::port::Timestamp;
use purser_storage::codec::Stored;

use purser_sandbox::record_book;
use purser_sandbox::records::{RecordBook, SandboxRecord, name};
use purser_sandbox::state::StoredValue;

/// A stored record.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) enum BalanceRecord {
    /// The chain was read up to this position.
    Cursor(u64),
    /// USDC reached an address.
    Deposit {
        address: [u8; 20],
        transaction: String,
        atomic: u64,
        at: Timestamp,
    },
}

impl BalanceRecord {
    const fn address(&self) -> Option<&[u8; 20]> {
        match self {
            Self::Cursor(_) => None,
            Self::Deposit { address, .. } => Some(address),
        }
    }
}

impl Stored for BalanceRecord {
    const SCHEMA: u16 = 715;
}

impl SandboxRecord for BalanceRecord {
    fn names(&self) -> Vec<u64> {
        self.address().map(by_address).into_iter().collect()
    }

    fn is_numbered(&self) -> bool {
        self.address().is_some()
    }
}

fn by_address(address: &[u8; 20]) -> u64 {
    name(&[b"address", address])
}

/// Position up to which the chain was read.
#[derive(Debug, Default, bincode::Encode, bincode::Decode)]
pub(super) struct ScanPosition(pub(super) u64);

impl Stored for ScanPosition {
    const SCHEMA: u16 = 716;
}

record_book! {
    pub(super) struct BalanceRecords of BalanceRecord {
        pub(super) position: StoredValue<ScanPosition>,
    }
}

impl BalanceRecords {
    /// All records of an address, oldest first.
    pub(super) fn of(&self, address: &[u8; 20]) -> Vec<BalanceRecord> {
        let mut found = self.rows.find(by_address(address));
        found.retain(|entry| entry.address() == Some(address));
        found
    }
}

impl RecordBook for BalanceRecords {
    fn apply(&mut self, entry: &BalanceRecord) -> Result<(), String> {
        if let BalanceRecord::Cursor(position) = entry {
            self.position.0 = self.position.0.max(*position);
        }
        Ok(())
    }
}
