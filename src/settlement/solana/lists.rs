//! The treasury's transfers as read by the follower. The reconciliation list only has final ones, so that an entry
//! never disappears. Outgoing transfers are reported as soon as they are seen.

use std::time::Duration;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    ChainMovement, Finality, ListCursor, ListPage, OutgoingTransfer, PortError, PortFuture, Timestamp, TreasuryList,
};
use purser_chains::solana::address::{base58, parse_base58};

use super::SolanaSettlement;
use super::rows::{MovementRow, RowError};
use super::search::outgoing_transfer;
use crate::errors::temporary;

/// Interval between checks whether the chain was read meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a list waits for the follower.
const FOLLOWER_TIMEOUT: Duration = Duration::from_secs(5);

fn movement(moved: MovementRow) -> ChainMovement {
    ChainMovement {
        transaction: base58(&moved.transaction),
        index: moved.index,
        incoming: moved.incoming,
        counterparty: Wallet::Solana(moved.other),
        amount: Usdc::from_atomic(moved.atomic),
        at: moved.at,
        fingerprint: moved.mark,
    }
}

impl SolanaSettlement {
    /// Waits until everything that was on the chain at this time is listed. An old time only needs what is final; a
    /// recent time needs a new read of the chain.
    async fn wait_until_covered(&self, until: Timestamp, operation: &'static str) -> Result<(), PortError> {
        let (asked, asked_ms) = (self.clock.now(), self.timer.now_ms());
        let needed = until.plus_ms(self.pace.settled_after_ms).min(asked);
        loop {
            if self
                .treasury_history
                .lock()
                .covered_at()
                .is_some_and(|covered| covered >= needed)
            {
                return Ok(());
            }
            let waited = self.timer.now_ms().saturating_sub(asked_ms);
            if u128::from(waited) >= FOLLOWER_TIMEOUT.as_millis() {
                return Err(temporary(operation, "the chain was not read far enough yet"));
            }
            self.timer.sleep(POLL_INTERVAL).await;
        }
    }

    /// Same contract as [`purser_actors::port::Settlement::outgoing_transfers`].
    pub(super) async fn outgoing_from_treasury(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<OutgoingTransfer>, PortError> {
        const OPERATION: &str = "outgoing transfers";
        self.wait_until_covered(until, OPERATION).await?;
        // Read first: a transfer that becomes final in between is in both.
        let mut seen = self.pending_movements().await.map_err(|e| temporary(OPERATION, e))?;
        let mut left = self
            .rows
            .outgoing_movements(since, until)
            .await
            .map_err(|e| temporary(OPERATION, e))?;
        seen.retain(|moved| {
            let name = |other: &MovementRow| (other.transaction, other.index) == (moved.transaction, moved.index);
            !moved.incoming && (since..=until).contains(&moved.at) && !left.iter().any(name)
        });
        left.append(&mut seen);
        left.sort_by_key(|moved| moved.at);
        Ok(left.iter().map(outgoing_transfer).collect())
    }

    /// Final transfers of the treasury after a position (0 is the beginning), with their positions, at most `limit`. A
    /// position never changes.
    ///
    /// # Errors
    /// `Temporary` when the rows cannot be read.
    pub async fn movements_after(&self, after: u64, limit: usize) -> Result<Vec<(u64, ChainMovement)>, PortError> {
        let page = self.rows.movements(after, limit).await;
        let page = page.map_err(|e| temporary("movements", e))?;
        Ok(page
            .into_iter()
            .map(|(position, moved)| (position, movement(moved)))
            .collect())
    }

    /// Same contract as [`purser_actors::port::Settlement::sent_by`].
    pub(super) async fn outgoing_from(
        &self,
        from: &Wallet,
        since: Timestamp,
    ) -> Result<Vec<OutgoingTransfer>, PortError> {
        let Wallet::Solana(from) = from else {
            return Ok(Vec::new());
        };
        match *from == self.treasury() {
            true => self.outgoing_from_treasury(since, Timestamp(u64::MAX)).await,
            false => self.outgoing_from_wallet(from, since).await,
        }
    }
}

impl TreasuryList for SolanaSettlement {
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> PortFuture<'a, ListPage<ChainMovement>> {
        const MOVEMENTS: &str = "movements";
        Box::pin(async move {
            if network != Network::Solana {
                return Err(temporary(MOVEMENTS, "not a list of this network"));
            }
            let after = match after {
                None => 0,
                Some(cursor) => cursor
                    .number()
                    .ok_or_else(|| temporary(MOVEMENTS, "not a cursor of this list"))?,
            };
            self.require_up_to_date(MOVEMENTS)?;
            let page = self.movements_after(after, limit.max(1)).await?;
            let next = page.last().map(|(position, _)| ListCursor::from_number(*position));
            let items = page.into_iter().map(|(_, moved)| moved).collect();
            Ok(ListPage { items, next })
        })
    }

    fn in_transaction<'a>(&'a self, network: Network, transaction: &'a str) -> PortFuture<'a, Vec<ChainMovement>> {
        const IN_TRANSACTION: &str = "in transaction";
        Box::pin(async move {
            if network != Network::Solana {
                return Err(temporary(IN_TRANSACTION, "not a list of this network"));
            }
            let Some(transaction) = parse_base58(transaction) else {
                return Ok(Vec::new());
            };
            let found = self.rows.in_transaction(&transaction).await;
            let found = found.map_err(|error: RowError| temporary(IN_TRANSACTION, error))?;
            Ok(found.into_iter().map(movement).collect())
        })
    }

    fn movement_finality<'a>(&'a self, network: Network, moved: &'a ChainMovement) -> PortFuture<'a, Finality> {
        Box::pin(async move {
            // The list only contains final transfers.
            let listed = self.in_transaction(network, &moved.transaction).await?;
            Ok(match listed.contains(moved) {
                true => Finality::Final,
                false => Finality::Confirmed,
            })
        })
    }
}
