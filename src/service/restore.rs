//! After an older backup was restored: what the engine must know of the time that was lost, and what the chains have moved.

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::engine::{Engine, Lost, Restored};
use purser_actors::id::{Network, Wallet};
use purser_actors::kernel::record::rfc3339;
use purser_actors::kernel::table;
use purser_actors::port::{Clock as _, Entropy, Timestamp};
use purser_storage::planted::{self, Bug};
use purser_storage::{Batch, CommitError, RestoreMark, RowKey, Store, Write};
use tokio::sync::oneshot;

use super::parts::World;
use super::{DataDir, ServiceError};
use crate::config::Config;
use crate::revocations::{self, Entry, RevocationLog};
use crate::sandbox::keys::treasury;
use crate::system::SystemClock;
use crate::verify::{ChainList, ChainTransfer};

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

/// The time of which a restore has lost the history, by the chains' clocks: what landed in it and is in no book may have bought
/// something. Nothing that was signed before the restore can land once the quiet time is over.
pub fn lost(config: &Config, mark: Option<RestoreMark>) -> Option<Lost> {
    let quiet_ms = config.engine.restored_quiet_seconds.saturating_mul(1_000);
    mark.map(|mark| Lost {
        since: Timestamp(mark.backed_up_at_ms),
        restored: Timestamp(mark.restored_at_ms),
        until: Timestamp(mark.restored_at_ms).plus_ms(quiet_ms),
    })
}

/// Where the store keeps its name, which the log of revocations beside it has too.
const NAME: &str = "revocation-log";

/// The name that a store has in the log of revocations beside it, if it has one yet.
///
/// # Errors
/// When the store cannot be read.
pub async fn name_of(store: &dyn Store) -> Result<Option<String>, ServiceError> {
    let row = store.read(&table::meta(NAME)).await?;
    Ok(row.map(|row| String::from_utf8_lossy(&row.value).into_owned()))
}

/// Opens the log of revocations, begins one where there is none, and after a restore ends again what it says was ended. Also says
/// from when on nonces are ours.
///
/// # Errors
/// When the log is damaged or of another store, or the store fails.
pub async fn revocations(
    engine: &Engine,
    store: &dyn Store,
    mark: Option<RestoreMark>,
    data: &DataDir,
    entropy: &dyn Entropy,
) -> Result<(Arc<RevocationLog>, Timestamp), ServiceError> {
    let failed = |e: revocations::LogError| ServiceError::Part("the log of revocations", e.to_string());
    let path = data.revocations();
    let found = revocations::read(&path).map_err(failed)?;
    let known = name_of(store).await?;
    let name = match (&known, found.store()) {
        (Some(known), Some(other)) if known != other => {
            let error = format!("{} is of another store", path.display());
            return Err(ServiceError::Part("the log of revocations", error));
        }
        (Some(name), _) => name.clone(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => revocations::new_name(entropy),
    };
    let log = RevocationLog::open(&path, &found, &name, SystemClock.now().0).map_err(failed)?;
    if known.is_none() {
        put(store, table::meta(NAME), name.clone().into_bytes()).await?;
    } else if found.store().is_none() && mark.is_none() {
        tracing::error!(file = %path.display(), "the log of revocations was gone and begins anew: a backup of before is restored without it");
    }
    let Some(mark) = mark else {
        return Ok((Arc::new(log), Timestamp(0)));
    };
    let covered = known.is_some() && found.covers(&name, mark.backed_up_at_ms);
    let begun = begin(engine, mark, covered.then_some(&*found.entries)).await?;
    if let Some(since) = engine.suspended_since() {
        tracing::warn!(
            since = %rfc3339(since),
            "API keys, sessions and operators' tokens of before the restore are suspended until confirmed, and freezes made after the backup are not known: the log of revocations was not there"
        );
    }
    Ok((Arc::new(log), begun))
}

/// Ends again what a log says was ended, on the first start after a restore; without one, everything of before is suspended. Says
/// when that start was.
///
/// # Errors
/// When the log names nothing, or the store fails.
pub async fn begin(engine: &Engine, mark: RestoreMark, log: Option<&[Entry]>) -> Result<Timestamp, ServiceError> {
    let restored = Timestamp(mark.restored_at_ms);
    if let Some(entries) = log
        && !engine.has_begun(restored).await?
    {
        replay(engine, entries).await?;
    }
    Ok(engine.begin_restored(restored, log.is_some()).await?)
}

/// Ends again what was ended, and leaves each account as it was last left.
async fn replay(engine: &Engine, entries: &[Entry]) -> Result<(), ServiceError> {
    let mut accounts = BTreeMap::new();
    let wrong = |what: &str| ServiceError::Part("the log of revocations", format!("{what} is no name of anything"));
    for entry in entries {
        match entry {
            Entry::Session(id) => engine.end_session(id.parse().map_err(|_| wrong(id))?).await?,
            Entry::ApiKey(_) if planted::is(Bug::KeyRevived) => {}
            Entry::ApiKey(id) => engine.end_api_key(id.parse().map_err(|_| wrong(id))?).await?,
            Entry::OperatorToken(hash) => {
                let mut bytes = [0; 32];
                hex::decode_to_slice(hash, &mut bytes).map_err(|_| wrong(hash))?;
                engine.end_token(&bytes).await?;
            }
            Entry::Frozen { .. } if planted::is(Bug::FreezeForgotten) => {}
            Entry::Frozen { account, message } => drop(accounts.insert(account, Some(message.clone()))),
            Entry::Unfrozen { account } => drop(accounts.insert(account, None)),
        }
    }
    for (account, message) in accounts {
        let wallet: Wallet = account.parse().map_err(|_| wrong(account))?;
        let set = engine.set_frozen(wallet, message, None).await;
        set.map_err(|denied| ServiceError::Part("the log of revocations", format!("{wallet}: {denied:?}")))?;
    }
    tracing::info!(
        entries = entries.len(),
        "what was revoked or frozen since the backup is so again"
    );
    Ok(())
}

async fn put(store: &dyn Store, key: RowKey, value: Vec<u8>) -> Result<(), ServiceError> {
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
        .map_err(|e| ServiceError::Part("the store's name", e.to_string()))
}

/// Transfers read at once.
const PAGE: usize = 1_000;

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
                    index: 0,
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
