//! The archive of the ledger: index keys of its records, and the checkpoint stored with them.

use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::Timestamp;

use super::{Account, ChainLedger, LedgerRecord, ReplayKey, ScheduledEvent};
use crate::sandbox::archive::{ArchiveRecord, ArchiveState, RecordBuffer, name};

impl ArchiveRecord for LedgerRecord {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (records, used) = bincode::decode_from_slice::<Vec<Self>, _>(record, bincode::config::standard())
            .map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(records)
        } else {
            Err("trailing bytes".into())
        }
    }

    fn index_keys(&self) -> Vec<u64> {
        match self {
            Self::Transferred(transfer) | Self::TransferredInShared { transfer, .. } => {
                vec![key_hash(&transfer.key), transaction_hash(&transfer.transaction)]
            }
            Self::Reorged { key, .. } => vec![key_hash(key), reorg_key_hash(key)],
            _ => Vec::new(),
        }
    }

    fn is_counted(&self) -> bool {
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

/// The ledger's state, except settled transfers and values from the configuration.
#[derive(bincode::Encode, bincode::Decode)]
struct LedgerCheckpoint {
    secret: Option<[u8; 32]>,
    accounts: Vec<(Wallet, Account)>,
    /// Stored too: deriving a million of them would delay a start by half a minute.
    token_accounts: Vec<([u8; 32], Wallet)>,
    plans: Vec<(Timestamp, ScheduledEvent)>,
    minted: Usdc,
    now: Timestamp,
}

impl ArchiveState for ChainLedger {
    type Item = LedgerRecord;

    /// Cannot fail on records that the ledger itself made.
    fn apply(&mut self, record: &LedgerRecord) -> Result<(), String> {
        self.take(record)?;
        // All other records are complete.
        if record.transferred().is_some() || matches!(record, LedgerRecord::Reorged { .. }) {
            self.buffer.add(record.clone());
        }
        Ok(())
    }

    fn buffer(&mut self) -> &mut RecordBuffer<LedgerRecord> {
        &mut self.buffer
    }

    fn save(&self) -> Vec<u8> {
        let saved = LedgerCheckpoint {
            secret: self.secret,
            accounts: self
                .accounts
                .iter()
                .map(|(wallet, account)| (*wallet, *account))
                .collect(),
            token_accounts: self.token_accounts.iter().map(|(at, owner)| (*at, *owner)).collect(),
            plans: self.plans.iter().map(|((due, _), plan)| (*due, plan.clone())).collect(),
            minted: self.minted,
            now: self.now,
        };
        // Encoding plain data into memory has no failing case.
        bincode::encode_to_vec(&saved, bincode::config::standard()).unwrap_or_default()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), String> {
        let (saved, _) = bincode::decode_from_slice::<LedgerCheckpoint, _>(saved, bincode::config::standard())
            .map_err(|e| e.to_string())?;
        self.secret = saved.secret;
        self.accounts.extend(saved.accounts);
        self.token_accounts.extend(saved.token_accounts);
        let plans = saved.plans.into_iter().map(|(due, plan)| ((due, plan.key()), plan));
        self.plans = plans.collect();
        (self.minted, self.now) = (saved.minted, saved.now);
        Ok(())
    }

    fn weight(&self) -> usize {
        self.accounts.len() + self.plans.len()
    }
}
