//! The treasury's transfers on the sandbox's chains, page by page, for reconciliation.

use purser_actors::id::{Network, Wallet};
use purser_actors::port::{ChainMovement, Finality, ListCursor, ListPage, PortFuture, TreasuryList};

use super::ledger::{ChainTransfer, SettledTransfer};
use super::{SandboxSettlement, SandboxStoreError, temporary};
use crate::keys::treasury;

/// Maximum number of transfers per read of the chain's history.
const READ_PAGE: usize = 1_000;

/// A transfer from the treasury's view; `None` if the treasury is not involved.
fn movement(ours: Wallet, (transfer, index): (ChainTransfer, u32)) -> Option<ChainMovement> {
    let from = transfer.key.payer;
    let other = match (from == ours, transfer.to == ours) {
        (true, false) => transfer.to,
        (false, true) => from,
        _ => return None,
    };
    Some(ChainMovement {
        transaction: transfer.transaction,
        index,
        incoming: other == from,
        counterparty: other,
        amount: transfer.amount,
        at: transfer.at,
        fingerprint: transfer.key.nonce,
    })
}

fn treasury_movement(ours: Wallet, landed: SettledTransfer) -> Option<ChainMovement> {
    (!landed.reorged)
        .then(|| movement(ours, (landed.transfer, landed.index)))
        .flatten()
}

impl SandboxSettlement {
    async fn page(
        &self,
        network: Network,
        after: u64,
        limit: usize,
    ) -> Result<ListPage<ChainMovement>, SandboxStoreError> {
        let ours = treasury(network);
        let (mut items, mut at) = (Vec::new(), after);
        loop {
            let read = self.chain(network).read(|state, _| state.ledger.history(at, READ_PAGE));
            let read = read.await?;
            if read.is_empty() {
                let next = (!items.is_empty()).then(|| ListCursor::from_number(at));
                return Ok(ListPage { items, next });
            }
            for (place, landed) in read {
                at = place + 1;
                items.extend(treasury_movement(ours, landed));
                if items.len() >= limit {
                    let next = Some(ListCursor::from_number(at));
                    return Ok(ListPage { items, next });
                }
            }
        }
    }
}

impl TreasuryList for SandboxSettlement {
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> PortFuture<'a, ListPage<ChainMovement>> {
        Box::pin(async move {
            let after = match after {
                None => 0,
                Some(cursor) => cursor
                    .number()
                    .ok_or_else(|| temporary("movements", "not a cursor of this chain"))?,
            };
            let page = self.page(network, after, limit.max(1)).await;
            page.map_err(|error| temporary("movements", &error.to_string()))
        })
    }

    fn in_transaction<'a>(&'a self, network: Network, transaction: &'a str) -> PortFuture<'a, Vec<ChainMovement>> {
        Box::pin(async move {
            let ours = treasury(network);
            let found = self
                .chain(network)
                .read(|state, _| state.ledger.in_transaction(transaction));
            let found = found
                .await
                .map_err(|error| temporary("in transaction", &error.to_string()))?;
            Ok(found
                .into_iter()
                .filter_map(|landed| treasury_movement(ours, landed))
                .collect())
        })
    }

    fn movement_finality<'a>(&'a self, network: Network, moved: &'a ChainMovement) -> PortFuture<'a, Finality> {
        Box::pin(async move {
            let found = self.chain(network).read(|state, now| {
                let landed = state.ledger.in_transaction(&moved.transaction);
                let own = landed.iter().find(|one| one.index == moved.index && !one.reorged);
                own.map_or(Finality::Confirmed, |one| state.finality(now, &one.transfer))
            });
            found
                .await
                .map_err(|error| temporary("movement finality", &error.to_string()))
        })
    }
}
