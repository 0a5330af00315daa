//! How the ledger is stored: the names of its records, and its state.

use purser_storage::codec::Stored;

use super::{Account, ChainLedger, ChainTotals, LedgerRecord, Owner, ReplayKey, ScheduledEvent};
use crate::records::{RecordBook, RecordFields, RecordRows, SandboxRecord, name};
use crate::state::StateField;

impl Stored for LedgerRecord {
    const SCHEMA: u16 = 700;
}

impl Stored for Account {
    const SCHEMA: u16 = 701;
}

impl Stored for Owner {
    const SCHEMA: u16 = 702;
}

impl Stored for ChainTotals {
    const SCHEMA: u16 = 724;
}

impl Stored for ScheduledEvent {
    const SCHEMA: u16 = 725;
}

impl SandboxRecord for LedgerRecord {
    fn names(&self) -> Vec<u64> {
        match self {
            Self::Transferred(transfer) | Self::TransferredInShared { transfer, .. } => {
                vec![key_hash(&transfer.key), transaction_hash(&transfer.transaction)]
            }
            Self::Reorged { key, .. } => vec![key_hash(key), reorg_key_hash(key)],
            _ => Vec::new(),
        }
    }

    fn is_numbered(&self) -> bool {
        self.transferred().is_some()
    }
}

pub(super) fn key_hash(key: &ReplayKey) -> u64 {
    name(&[b"key", &key.payer.key(), &key.nonce])
}

pub(super) fn reorg_key_hash(key: &ReplayKey) -> u64 {
    name(&[b"drop", &key.payer.key(), &key.nonce])
}

pub(super) fn transaction_hash(transaction: &str) -> u64 {
    name(&[b"transaction", transaction.as_bytes()])
}

impl RecordBook for ChainLedger {
    fn apply(&mut self, record: &LedgerRecord) -> Result<(), String> {
        self.take(record)
    }
}

impl RecordFields for ChainLedger {
    type Record = LedgerRecord;

    fn rows(&self) -> &RecordRows<LedgerRecord> {
        &self.rows
    }

    fn rows_mut(&mut self) -> &mut RecordRows<LedgerRecord> {
        &mut self.rows
    }

    fn fields(&mut self) -> Vec<&mut dyn StateField> {
        vec![
            &mut self.totals,
            &mut self.accounts,
            &mut self.token_accounts,
            &mut self.plans,
        ]
    }
}
