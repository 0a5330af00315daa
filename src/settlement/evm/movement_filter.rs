//! Selects the transfers of a block that are stored as rows.

use std::collections::HashMap;

use purser_actors::money::Usdc;
use purser_actors::port::Timestamp;
use purser_chains::evm::blocks::{Block, Header};
use purser_chains::evm::node::BlockLogs;
use purser_chains::evm::usdc::{self, Movement, MovementKind};
use purser_chains::evm::{Address, B256};

use super::follower::FollowerActor;
use super::rows::{Key, MovementRow};

impl FollowerActor {
    /// Transfers to store: those of the treasury, of our wallets and of tracked payments, and cancellations by payers.
    pub(super) fn relevant_movements(
        &self,
        found: &BlockLogs,
    ) -> Result<Block<MovementRow>, usdc::UnpairedAuthorization> {
        let movements = usdc::movements(self.0.token.address(), &found.logs)?;
        let mut firsts: HashMap<B256, u64> = HashMap::new();
        for log in &found.logs {
            let first = firsts.entry(log.transaction).or_insert(log.log_index);
            *first = log.log_index.min(*first);
        }
        let mut kept = Vec::new();
        for movement in &movements {
            let Some(mut row) = self.row(&found.header, movement) else {
                continue;
            };
            let first = firsts.get(&movement.reference.transaction).copied();
            let index = row.log_index.saturating_sub(first.unwrap_or_default());
            row.index = u32::try_from(index).unwrap_or(u32::MAX);
            kept.push(row);
        }
        Ok(Block {
            header: found.header,
            rows: kept,
        })
    }

    fn row(&self, header: &Header, movement: &Movement) -> Option<MovementRow> {
        let ours =
            |address: &Address| *address == self.0.settings.treasury.address() || self.0.wallets.contains(address);
        let watched = |from: Address, nonce: B256| {
            let key = Key { from, nonce };
            self.0.owners.contains_key(&key) || self.0.watched.contains_key(&key)
        };
        let row = MovementRow {
            transaction: movement.reference.transaction.0,
            log_index: movement.reference.log_index,
            index: 0,
            block: header.number,
            block_hash: header.hash.0,
            from: [0; 20],
            to: [0; 20],
            value: Usdc::from_atomic(0),
            nonce: None,
            canceled: false,
            at: Timestamp(header.timestamp.saturating_mul(1_000)),
            reorged: false,
        };
        match movement.kind {
            MovementKind::Transfer {
                from,
                to,
                value,
                authorization,
            } => {
                let kept = ours(&from) || ours(&to) || authorization.is_some_and(|nonce| watched(from, nonce));
                // USDC's supply is far below 2^64.
                let value = Usdc::from_atomic(value.try_into().unwrap_or(u64::MAX));
                kept.then_some(MovementRow {
                    from: from.into_array(),
                    to: to.into_array(),
                    value,
                    nonce: authorization.map(|nonce| nonce.0),
                    ..row
                })
            }
            MovementKind::Canceled { authorizer, nonce } => Some(MovementRow {
                from: authorizer.into_array(),
                to: [0; 20],
                nonce: Some(nonce.0),
                canceled: true,
                ..row
            }),
        }
    }
}
