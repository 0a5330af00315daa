//! Gas spent for payers whose payment did not settle. It counts for an hour by the chain's clock, and is durable, so
//! that a restart does not forget which payers are declined.

use std::collections::HashMap;

use purser_chains::evm::{Address, U256};
use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, RowKey, Write};

use super::core::Core;
use super::rows::{self, RowError};

/// How long a loss counts, in seconds.
const WINDOW_S: u64 = 3_600;

/// Start of a payer's losses, and their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct LostGas {
    /// By the chain's clock, in seconds.
    since_s: u64,
    /// Wei as a big-endian number.
    wei: [u8; 32],
}

impl Stored for LostGas {
    const SCHEMA: u16 = 510;
}

impl LostGas {
    const fn wei(self) -> U256 {
        U256::from_be_bytes(self.wei)
    }

    const fn is_current(self, now_s: u64) -> bool {
        now_s < self.since_s.saturating_add(WINDOW_S)
    }
}

fn prefix() -> RowKey {
    rows::key(&[b"g"])
}

fn row_key(payer: &Address) -> RowKey {
    rows::key(&[b"g", payer.as_slice()])
}

impl Core {
    /// Zero before the first block was read: until then everything counts.
    fn chain_s(&self) -> u64 {
        self.view().tip().map_or(0, |tip| tip.timestamp)
    }

    /// Losses counted before the port was opened.
    pub(super) async fn load_losses(&self) -> Result<(), RowError> {
        let mut known = HashMap::new();
        for (key, value) in rows::scan_all(&*self.store, &prefix()).await? {
            let payer = key
                .last_chunk::<20>()
                .ok_or_else(|| RowError("the key of lost gas".into()))?;
            known.insert(Address::from(*payer), codec::decode::<LostGas>(&value)?);
        }
        *self.lost_gas.lock() = known;
        Ok(())
    }

    /// Records gas that was used for these payers without a settlement.
    pub(super) fn record_loss(&self, payers: &[Address], cost: U256) {
        let now_s = self.chain_s();
        let share = cost / U256::from(payers.len().max(1));
        let mut writes = Vec::new();
        let mut lost = self.lost_gas.lock();
        lost.retain(|payer, lost| {
            let counts = lost.is_current(now_s);
            if !counts {
                writes.push(Write::Delete { key: row_key(payer) });
            }
            counts
        });
        for payer in payers {
            let fresh = LostGas {
                since_s: now_s,
                wei: [0; 32],
            };
            let sum = lost.entry(*payer).or_insert(fresh);
            sum.wei = sum.wei().saturating_add(share).to_be_bytes();
            writes.push(rows::put(row_key(payer), codec::encode(sum)));
        }
        // Written in the order of counting.
        let batch = Batch {
            writes,
            ..Batch::default()
        };
        let on_commit = |result: Result<_, purser_storage::CommitError>| {
            if let Err(error) = result {
                tracing::error!(%error, "what a payer has cost could not be written: a restart forgets it");
            }
        };
        self.store.commit(batch, Box::new(on_commit));
    }

    /// Whether all payers together have cost too much gas within the last hour. A wallet with code is almost free to
    /// create, so a limit per payer alone does not limit the losses.
    pub(super) fn exceed_total_loss_limit(&self) -> bool {
        const LOST_BY_ALL: u64 = 5;
        let now_s = self.chain_s();
        let lost = self.lost_gas.lock();
        let recent = lost.values().filter(|lost| lost.is_current(now_s));
        let all = recent.fold(U256::ZERO, |all, one| all.saturating_add(one.wei()));
        all > self.settings.lost_gas_max.saturating_mul(U256::from(LOST_BY_ALL))
    }

    /// Whether a payer has cost too much gas within the last hour.
    pub(super) fn exceeds_loss_limit(&self, payer: &Address) -> bool {
        let now_s = self.chain_s();
        let lost = self.lost_gas.lock();
        lost.get(payer)
            .is_some_and(|lost| lost.is_current(now_s) && lost.wei() > self.settings.lost_gas_max)
    }
}
