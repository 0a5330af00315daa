//! After an older backup was restored: what the chain knows and the store does not.
//!
//! Such a transfer paid for something that the lost history sold, or was under way when the backup was made. Its money
//! is on our treasury either way, so it is credited to whoever sent it before anything is served; the payment behind
//! it, presented again, then finds it credited and buys nothing twice.

use std::collections::BTreeSet;

use purser_actors::account::Deposit;
use purser_actors::engine::Restored;
use purser_actors::id::{Network, Wallet};
use purser_actors::kernel::{Kind, table};
use purser_actors::money::Usdc;
use purser_actors::payment::Payment;
use purser_actors::port::Timestamp;
use purser_storage::{Batch, CommitError, RestoreMark, Store, Write, codec};
use tokio::sync::oneshot;

use super::ServiceError;
use super::parts::World;
use crate::config::Config;
use crate::sandbox::keys::treasury;
use crate::verify::{ChainList, ChainTransfer};

/// Where it is written down that the deposits of a restore were credited.
const DONE: &str = "restore-credited";

/// What is still to be credited after a restore: nothing without one, and nothing once it was done.
///
/// # Errors
/// When the store or the chain cannot be read.
pub async fn due(store: &dyn Store, mark: Option<RestoreMark>, world: &World) -> Result<Vec<Deposit>, ServiceError> {
    let Some(mark) = mark else { return Ok(Vec::new()) };
    let done = store.read(&table::meta(DONE)).await?;
    if done.is_some_and(|row| *row.value == mark.restored_at_ms.to_be_bytes()) {
        return Ok(Vec::new());
    }
    unclaimed(store, world, mark.restored_at_ms).await
}

/// What the engine must know of a restore. Clocks differ a little, and what the lost history had signed can land for a
/// while: the span is that much wider at both ends.
pub fn restored(config: &Config, mark: Option<RestoreMark>, ahead_ms: u64) -> Option<Restored> {
    let quiet_ms = config.engine.restored_quiet_seconds.saturating_mul(1_000);
    mark.map(|mark| Restored {
        since: Timestamp(mark.backed_up_at_ms.saturating_sub(quiet_ms)),
        // By the service's time, which may be ahead of the chains'.
        until: Timestamp(mark.restored_at_ms).plus_ms(quiet_ms).plus_ms(ahead_ms),
        at: Timestamp(mark.restored_at_ms),
    })
}

/// Writes down that they were.
///
/// # Errors
/// When the store refuses.
pub async fn done(store: &dyn Store, mark: Option<RestoreMark>) -> Result<(), ServiceError> {
    let Some(mark) = mark else { return Ok(()) };
    let (key, value) = (table::meta(DONE), mark.restored_at_ms.to_be_bytes().to_vec());
    let batch = Batch {
        writes: vec![Write::Put {
            key,
            revision: 0,
            value,
        }],
        ..Batch::default()
    };
    let (told, committed) = oneshot::channel();
    store.commit(batch, Box::new(move |result| drop(told.send(result))));
    let committed = committed.await.unwrap_or(Err(CommitError::Stopped));
    committed
        .map(drop)
        .map_err(|e| ServiceError::Part("the restore mark", e.to_string()))
}

/// Rows and transfers read at once.
const PAGE: usize = 1_000;

/// Every transfer to our treasury up to the moment of the restore that no payment in the store claims. What came later
/// belongs to payments that this store knows.
///
/// # Errors
/// When the store or the chain cannot be read.
async fn unclaimed(store: &dyn Store, world: &World, restored_at_ms: u64) -> Result<Vec<Deposit>, ServiceError> {
    let known = claimed(store).await?;
    let transfers = moved(world).await?.received;
    Ok(transfers
        .into_iter()
        .filter(|t| t.at_ms <= restored_at_ms && !known.contains(&t.transaction))
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

/// What the sandbox's chains say was paid, and stayed.
///
/// # Errors
/// When a chain's file has stopped.
pub async fn moved(world: &World) -> Result<ChainList, ServiceError> {
    let failed = |e: String| ServiceError::Part("the sandbox's chains", e);
    let mut all = ChainList::default();
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
            for seen in page.into_iter().filter(|t| !t.dropped) {
                let wallet = |text: &str| {
                    text.parse::<Wallet>()
                        .map_err(|_| failed(format!("{text} is no address")))
                };
                let (from, to) = (wallet(&seen.from)?, wallet(&seen.to)?);
                let list = if seen.from == ours {
                    &mut all.left
                } else if seen.to == ours {
                    &mut all.received
                } else {
                    &mut all.elsewhere
                };
                list.push(ChainTransfer {
                    transaction: seen.id,
                    from,
                    to,
                    atomic: seen.amount,
                    at_ms: seen.at,
                });
            }
        }
    }
    Ok(all)
}
