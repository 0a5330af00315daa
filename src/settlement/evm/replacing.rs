//! Persists what the follower has read: blocks on top, and replaced blocks.

use purser_chains::evm::blocks::{Block, Change, Header};
use purser_storage::{Write, codec};

use super::core::{Counters, Outcome};
use super::follower::{FollowerActor, FollowerState};
use super::gas_key;
use super::rows::{self, BlockRow, Key, MovementRow, RowError};

impl FollowerActor {
    pub(super) async fn apply(&self, reading: &mut FollowerState, change: Change<MovementRow>) -> Result<(), RowError> {
        match change {
            Change::Extended(block) => self.replace(reading, Vec::new(), vec![block]).await,
            Change::Reorganized { removed, added } => {
                let depth = removed.len();
                let lowest = removed.last().map(|header| header.number);
                self.replace(reading, removed, added).await?;
                tracing::warn!(from = lowest, depth, "blocks of Base were replaced");
                Counters::add(&self.0.counters.reorganizations, 1);
                Ok(())
            }
        }
    }

    /// Persists a change, then notifies the waiting callers. `removed`: newest first; `added`: oldest first.
    pub(super) async fn replace(
        &self,
        reading: &mut FollowerState,
        removed: Vec<Header>,
        added: Vec<Block<MovementRow>>,
    ) -> Result<(), RowError> {
        let mut writes = Vec::new();
        for header in &removed {
            self.remove(header, &mut writes).await?;
        }
        let mut keys = Vec::new();
        for block in &added {
            let first = reading.next_movement;
            for row in &block.rows {
                let place = reading.next_movement.to_be_bytes().to_vec();
                writes.push(rows::put(rows::movement(reading.next_movement), codec::encode(row)));
                writes.push(rows::put(rows::named(&row.reference()), place.clone()));
                if let Some(nonce) = row.nonce {
                    let key = Key {
                        from: row.from.into(),
                        nonce: nonce.into(),
                    };
                    writes.push(rows::put(rows::used(&key), place));
                    keys.push(key);
                }
                reading.next_movement += 1;
            }
            let row = BlockRow::new(&block.header, first, reading.next_movement);
            writes.push(rows::put(rows::block(block.header.number), codec::encode(&row)));
        }
        let needed = reading.oldest_needed();
        let old = reading.oldest..needed;
        writes.extend(old.map(|number| Write::Delete {
            key: rows::block(number),
        }));
        writes.extend(reading.cursor());
        rows::commit(&*self.0.store, writes).await?;
        reading.oldest = reading.oldest.max(needed);
        self.0.publish(reading.view.clone());
        if let Some(lowest) = removed.last() {
            for actor in self.0.actors.iter() {
                drop(actor.cast(gas_key::Message::Reorganized(lowest.number)));
            }
        }
        if let Some(tip) = reading.view.tip().filter(|tip| tip.number % 100 == 0) {
            self.0.purge_expired(tip.timestamp);
        }
        for key in keys {
            self.0.notify(&key, &Outcome::Settled);
        }
        Ok(())
    }

    /// Marks the transfers of a block as removed. Their positions are not used again, so that readers of the list miss
    /// nothing.
    async fn remove(&self, header: &Header, writes: &mut Vec<Write>) -> Result<(), RowError> {
        let store = &*self.0.store;
        let block: Option<BlockRow> = rows::read(store, &rows::block(header.number)).await?;
        let Some(block) = block.filter(|block| block.header().hash == header.hash) else {
            return Err(RowError(format!("the row of block {} is not there", header.number)));
        };
        for place in block.first..block.end {
            let row: Option<MovementRow> = rows::read(store, &rows::movement(place)).await?;
            let row = row.ok_or_else(|| RowError(format!("movement {place} is not there")))?;
            writes.extend(mark_reorged(place, row));
        }
        writes.push(Write::Delete {
            key: rows::block(header.number),
        });
        Ok(())
    }
}

/// Marks the transfer at this position as removed.
pub(super) fn mark_reorged(place: u64, row: MovementRow) -> Vec<Write> {
    let mut writes = vec![Write::Delete {
        key: rows::named(&row.reference()),
    }];
    if let Some(nonce) = row.nonce {
        let used = Key {
            from: row.from.into(),
            nonce: nonce.into(),
        };
        writes.push(Write::Delete { key: rows::used(&used) });
    }
    let row = MovementRow { reorged: true, ..row };
    writes.push(rows::put(rows::movement(place), codec::encode(&row)));
    writes
}
