//! After an older backup was restored: what the chain knows and the store does not.
//!
//! Such a transfer paid for something that the lost history sold, or was under way when the backup was made. Its money
//! is on our treasury either way, so it is credited to whoever sent it before anything is served; the payment behind
//! it, presented again, then finds it credited and buys nothing twice.

use std::collections::BTreeSet;

use purser_actors::account::Deposit;
use purser_actors::id::{Network, Wallet};
use purser_actors::kernel::{Kind, table};
use purser_actors::money::Usdc;
use purser_actors::payment::Payment;
use purser_storage::{Store, codec};

use super::ServiceError;
use super::parts::World;
use crate::sandbox::keys::treasury;
use crate::verify::ChainTransfer;

/// Rows and transfers read at once.
const PAGE: usize = 1_000;

/// Every transfer to our treasury that no payment in the store claims.
///
/// # Errors
/// When the store or the chain cannot be read.
pub async fn unclaimed(store: &dyn Store, world: &World) -> Result<Vec<Deposit>, ServiceError> {
    let known = claimed(store).await?;
    let transfers = received(world).await?;
    Ok(transfers
        .into_iter()
        .filter(|t| !known.contains(&t.transaction))
        .map(|t| Deposit {
            from: t.from,
            amount: Usdc::from_atomic(t.atomic),
            transaction: t.transaction,
        })
        .collect())
}

async fn claimed(store: &dyn Store) -> Result<BTreeSet<String>, ServiceError> {
    let mut known = BTreeSet::new();
    let mut after = None;
    loop {
        let page = store
            .scan(&[table::ENTITY, Kind::Payment as u8], after.as_deref(), PAGE)
            .await?;
        for (_, row) in &page {
            let payment: Payment =
                codec::decode(&row.value).map_err(|e| ServiceError::Part("a stored payment", e.to_string()))?;
            known.extend(payment.transaction().map(str::to_owned));
        }
        match page.into_iter().last() {
            Some((key, _)) => after = Some(key),
            None => return Ok(known),
        }
    }
}

/// What the sandbox's chains say was paid to us and stayed.
///
/// # Errors
/// When a chain's file has stopped.
pub async fn received(world: &World) -> Result<Vec<ChainTransfer>, ServiceError> {
    let failed = |e: String| ServiceError::Part("the sandbox's chains", e);
    let mut all = Vec::new();
    for network in Network::ALL {
        let ours = treasury(network).address();
        let mut after = 0;
        loop {
            let page = world
                .settlement
                .transfers(network, after, PAGE)
                .await
                .map_err(|e| failed(e.to_string()))?;
            let Some(last) = page.last() else { break };
            after = last.position;
            for seen in page.into_iter().filter(|t| t.to == ours && !t.dropped) {
                let from: Wallet = seen.from.parse().map_err(|_| failed("a sender is no address".into()))?;
                all.push(ChainTransfer {
                    transaction: seen.id,
                    from,
                    atomic: seen.amount,
                });
            }
        }
    }
    Ok(all)
}
