//! Transfers of the treasury and of other wallets, from the rows. The chain is not queried here.

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    ChainMovement, Finality, ListCursor, ListPage, OutgoingTransfer, PortError, PortFuture, Timestamp, TreasuryList,
};
use purser_storage::codec;

use super::BaseSettlement;
use super::rows::{self, Key, MovementRow, RowError};
use crate::errors::temporary;

/// Maximum number of rows per read.
const READ_PAGE_ROWS: usize = 1_000;

/// A transfer that the follower has stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTransfer {
    /// Position in the list, from 1. It never changes: a transfer that a reorg restores gets another one.
    pub position: u64,
    pub transaction: String,
    /// Same as [`ChainMovement::index`].
    pub index: u32,
    pub from: [u8; 20],
    pub to: [u8; 20],
    /// Amount of the transfer.
    pub amount: Usdc,
    /// Time by the chain's clock.
    pub at: Timestamp,
    /// Whether a reorg removed the transfer.
    pub reorged: bool,
    /// Same as [`ChainMovement::fingerprint`].
    pub mark: [u8; 32],
}

impl BaseSettlement {
    /// Transfers of the treasury and of the tracked wallets after a position (0 is the beginning), at most `limit`.
    ///
    /// # Errors
    /// `Temporary` when the store cannot be read.
    pub async fn stored_transfers(&self, after: u64, limit: usize) -> Result<Vec<StoredTransfer>, PortError> {
        if let Some(why) = self.core.stall_reason() {
            return Err(temporary("kept", why));
        }
        let (mut kept, mut place) = (Vec::new(), after);
        while kept.len() < limit.max(1) {
            let read = self.read_movements(place, READ_PAGE_ROWS).await;
            let read = read.map_err(|error| temporary("kept", error))?;
            let Some((last, _)) = read.last() else { break };
            place = last + 1;
            let transfers = read.into_iter().filter(|(_, row)| !row.canceled);
            kept.extend(transfers.map(|(at, row)| row.stored_transfer(at + 1)));
        }
        kept.truncate(limit.max(1));
        Ok(kept)
    }

    /// Transfers from a position on, at most `limit`, with their positions.
    async fn read_movements(&self, place: u64, limit: usize) -> Result<Vec<(u64, MovementRow)>, RowError> {
        let after = place.checked_sub(1).map(rows::movement);
        let prefix = rows::movements();
        let found = self.core.store.scan(&prefix, after.as_deref(), limit).await?;
        let mut read = Vec::new();
        for (key, row) in found {
            let place = rows::last_number(&key).ok_or_else(|| RowError("the key of a movement".into()))?;
            read.push((place, codec::decode(&row.value)?));
        }
        Ok(read)
    }

    /// Outgoing transfers of a wallet in a span of time, without those removed by a reorg.
    pub(super) async fn outgoing_from(
        &self,
        from: [u8; 20],
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<OutgoingTransfer>, PortError> {
        let (mut left, mut place) = (Vec::new(), 0);
        loop {
            let page = self.read_movements(place, READ_PAGE_ROWS).await;
            let page = page.map_err(|error| temporary("outgoing transfers", error))?;
            let Some((last, _)) = page.last() else { break };
            place = last + 1;
            let own = page.iter().map(|(_, row)| row).filter(|row| {
                row.is_effective() && row.from == from && row.to != from && (since..=until).contains(&row.at)
            });
            left.extend(own.map(MovementRow::outgoing_transfer));
        }
        // A transfer restored by a reorg has a higher position than later ones.
        left.sort_by_key(|transfer| transfer.at);
        Ok(left)
    }

    async fn page(&self, after: u64, limit: usize) -> Result<ListPage<ChainMovement>, RowError> {
        let treasury = self.core.treasury();
        let (mut items, mut place) = (Vec::new(), after);
        loop {
            let read = self.read_movements(place, READ_PAGE_ROWS).await?;
            if read.is_empty() {
                let next = (!items.is_empty()).then(|| ListCursor::from_number(place));
                return Ok(ListPage { items, next });
            }
            for (at, row) in read {
                place = at + 1;
                items.extend(row.movement(treasury));
                if items.len() >= limit {
                    let next = Some(ListCursor::from_number(place));
                    return Ok(ListPage { items, next });
                }
            }
        }
    }

    async fn of_transaction(&self, transaction: [u8; 32]) -> Result<Vec<MovementRow>, RowError> {
        let store = &*self.core.store;
        let mut found = Vec::new();
        for (_, place) in rows::scan_all(store, &rows::of_transaction(&transaction)).await? {
            let place = rows::last_number(&place).ok_or_else(|| RowError("the place of a movement".into()))?;
            found.extend(rows::read::<MovementRow>(store, &rows::movement(place)).await?);
        }
        Ok(found)
    }
}

impl MovementRow {
    fn stored_transfer(&self, position: u64) -> StoredTransfer {
        StoredTransfer {
            position,
            transaction: self.transaction(),
            index: self.index,
            from: self.from,
            to: self.to,
            amount: self.value,
            at: self.at,
            reorged: self.reorged,
            mark: self.mark(),
        }
    }
}

fn hash_of(transaction: &str) -> Option<[u8; 32]> {
    let bytes = hex::decode(transaction.strip_prefix("0x")?).ok()?;
    bytes.try_into().ok()
}

impl TreasuryList for BaseSettlement {
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> PortFuture<'a, ListPage<ChainMovement>> {
        Box::pin(async move {
            if network != Network::Base {
                return Err(temporary("movements", "the port for Base knows Base alone"));
            }
            if let Some(why) = self.core.stall_reason() {
                return Err(temporary("movements", why));
            }
            let after = match after {
                None => 0,
                Some(cursor) => cursor
                    .number()
                    .ok_or_else(|| temporary("movements", "not a cursor of this chain"))?,
            };
            let page = self.page(after, limit.max(1)).await;
            page.map_err(|error| temporary("movements", error))
        })
    }

    fn in_transaction<'a>(&'a self, network: Network, transaction: &'a str) -> PortFuture<'a, Vec<ChainMovement>> {
        Box::pin(async move {
            if network != Network::Base {
                return Err(temporary("in transaction", "the port for Base knows Base alone"));
            }
            let Some(transaction) = hash_of(transaction) else {
                return Ok(Vec::new());
            };
            let found = self.of_transaction(transaction).await;
            let found = found.map_err(|error| temporary("in transaction", error))?;
            let treasury = self.core.treasury();
            Ok(found.iter().filter_map(|row| row.movement(treasury)).collect())
        })
    }

    fn find_by_authorization<'a>(
        &'a self,
        network: Network,
        payer: Option<&'a Wallet>,
        mark: &'a [u8; 32],
    ) -> PortFuture<'a, Option<ChainMovement>> {
        Box::pin(async move {
            let treasury = self.core.treasury();
            let from = match payer {
                None => treasury,
                Some(Wallet::Evm(payer)) => *payer,
                Some(Wallet::Solana(_)) => return Ok(None),
            };
            if network != Network::Base {
                return Err(temporary("authorized", "the port for Base knows Base alone"));
            }
            let key = Key {
                from: from.into(),
                nonce: (*mark).into(),
            };
            let found = self.core.used(&key).await;
            let found = found.map_err(|error| temporary("authorized", error))?;
            Ok(found.and_then(|row| row.movement(treasury)))
        })
    }

    fn movement_finality<'a>(&'a self, network: Network, moved: &'a ChainMovement) -> PortFuture<'a, Finality> {
        const MOVEMENT_FINALITY: &str = "movement finality";
        Box::pin(async move {
            if network != Network::Base {
                return Err(temporary(MOVEMENT_FINALITY, "the port for Base knows Base alone"));
            }
            let Some(transaction) = hash_of(&moved.transaction) else {
                return Ok(Finality::Confirmed);
            };
            // Taken before the rows are read: a depth may be understated, never overstated.
            let view = self.core.view();
            let found = self.of_transaction(transaction).await;
            let found = found.map_err(|error| temporary(MOVEMENT_FINALITY, error))?;
            let treasury = self.core.treasury();
            let own = |row: &&MovementRow| row.movement(treasury).is_some_and(|shown| shown == *moved);
            let is_final = |row: &MovementRow| self.core.is_final(&view, row, row.value);
            Ok(match found.iter().find(own).is_some_and(is_final) {
                true => Finality::Final,
                false => Finality::Confirmed,
            })
        })
    }
}
