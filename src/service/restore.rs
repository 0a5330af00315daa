//! Recovery after an older backup was restored: what the engine must know of the lost period, and which transfers the
//! chains have executed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use purser_actors::answer::rfc3339;
use purser_actors::engine::{Engine, LostHistory, RestoreWindow};
use purser_actors::id::{Network, Wallet};
use purser_actors::kernel::table;
use purser_actors::port::{Clock as _, Entropy, ErrorKind, PortError, Timestamp};
use purser_storage::mutants::{self, Mutant};
use purser_storage::{Batch, CommitError, RestoreMarker, RowKey, Store, Write};
use tokio::sync::oneshot;

use super::ServiceError;
use super::dependencies::Dependencies;
use crate::config::Config;
use crate::config::DataDir;
use crate::revocations::{self, Entry, LogPosition, RevocationLog};
use crate::settlement::chain::{ChainParts, ListedTransfer};
use crate::system::SystemClock;
use crate::verify::{ChainList, ChainTransfer};

/// What the engine must know of a restore. The window is wider at both ends, because clocks differ slightly and signed
/// transactions of the lost history can still be executed for a while.
pub fn restore_window(config: &Config, mark: Option<RestoreMarker>, ahead_ms: u64) -> Option<RestoreWindow> {
    let quiet_ms = config.engine.restore_pause_seconds.saturating_mul(1_000);
    mark.map(|mark| RestoreWindow {
        since: Timestamp(mark.backed_up_at_ms.saturating_sub(quiet_ms)),
        // In the service's time, which may be ahead of the chains'.
        until: Timestamp(mark.restored_at_ms).plus_ms(quiet_ms).plus_ms(ahead_ms),
        at: Timestamp(mark.restored_at_ms),
    })
}

/// The period whose history a restore has lost, in the chains' clocks. A transfer in it without a ledger record may
/// have bought something. Nothing that was signed before the restore can be executed after the quiet period.
pub fn lost(config: &Config, mark: Option<RestoreMarker>) -> Option<LostHistory> {
    let quiet_ms = config.engine.restore_pause_seconds.saturating_mul(1_000);
    mark.map(|mark| LostHistory {
        since: Timestamp(mark.backed_up_at_ms),
        restored: Timestamp(mark.restored_at_ms),
        until: Timestamp(mark.restored_at_ms).plus_ms(quiet_ms),
    })
}

/// Key of the store's name, which the revocation log beside it also has.
const NAME: &str = "revocation-log";
/// Key of the position where the revocation log ended at the last check: at startup and at each backup.
const END: &str = "revocation-log-end";

/// The store's name in the revocation log beside it, if it has one yet.
async fn name_of(store: &dyn Store) -> Result<Option<String>, ServiceError> {
    let row = store.read(&table::meta(NAME)).await?;
    Ok(row.map(|row| String::from_utf8_lossy(&row.value).into_owned()))
}

async fn end_of(store: &dyn Store) -> Result<Option<LogPosition>, ServiceError> {
    let row = store.read(&table::meta(END)).await?;
    Ok(row.and_then(|row| LogPosition::from_bytes(&row.value)))
}

/// Persists the end position of the revocation log in the store, so that a backup shows which logs continue from it.
///
/// # Errors
/// When the store fails.
pub async fn persist_log_end(store: &dyn Store, end: LogPosition) -> Result<(), ServiceError> {
    put(store, table::meta(END), end.to_bytes().to_vec()).await
}

/// How much of the period after a restored store the log covers.
#[derive(Clone, Copy, Debug)]
pub enum LogCoverage<'a> {
    /// The log continues from the stored end position. The entries after it are complete.
    Complete(&'a [Entry]),
    /// There is no log, or it does not contain the stored position. Its entries may be incomplete.
    Partial(&'a [Entry]),
}

/// The log's coverage of the period after this store's state.
///
/// # Errors
/// When the store fails.
pub async fn log_coverage<'a>(
    store: &dyn Store,
    found: &'a revocations::LogContents,
) -> Result<LogCoverage<'a>, ServiceError> {
    let (name, end) = (name_of(store).await?, end_of(store).await?);
    let own = name.is_some_and(|name| found.store() == Some(&*name));
    let behind = end.filter(|_| own).and_then(|end| found.entries_after(end));
    Ok(behind.map_or(LogCoverage::Partial(&found.entries), LogCoverage::Complete))
}

/// Opens the revocation log, or creates one if the store has none to continue. After a restore, applies its revocations
/// again. Also returns the time from which nonces are accepted.
///
/// # Errors
/// When the log is corrupt or belongs to another store, or the store fails.
pub async fn revocations(
    engine: &Engine,
    store: &dyn Store,
    mark: Option<RestoreMarker>,
    data: &DataDir,
    entropy: &dyn Entropy,
) -> Result<(Arc<RevocationLog>, Timestamp), ServiceError> {
    let failed = |e: revocations::LogError| ServiceError::Component("the log of revocations", e.to_string());
    let path = data.revocations();
    let found = revocations::read(&path).map_err(failed)?;
    let name = name_of(store).await?;
    if let (Some(name), Some(other)) = (&name, found.store())
        && name != other
    {
        let error = format!("{} is of another store", path.display());
        return Err(ServiceError::Component("the log of revocations", error));
    }
    let known = log_coverage(store, &found).await?;
    let begun = match mark {
        Some(mark) => {
            log_paused_withdrawals(engine, mark).await?;
            reapply_revocations(engine, mark, known).await?
        }
        None => Timestamp(0),
    };
    // A store without a saved position is new, or was never restored. It trusts the log beside it.
    let goes_on = matches!(known, LogCoverage::Complete(_)) || (mark.is_none() && end_of(store).await?.is_none());
    let now = SystemClock.now().0;
    let log = match (goes_on, found.store()) {
        (true, _) | (false, None) => {
            if found.store().is_none() && name.is_some() && mark.is_none() {
                tracing::error!(file = %path.display(), "the log of revocations was gone and begins anew: a backup of before is restored without it");
            }
            let name = match name.as_deref().or(found.store()) {
                Some(name) => name.to_owned(),
                None => revocations::generate_store_name(entropy),
            };
            put(store, table::meta(NAME), name.clone().into_bytes()).await?;
            RevocationLog::open(&path, &found, &name, now).map_err(failed)?
        }
        (false, Some(name)) => {
            let aside = revocations::move_aside(&path, now).map_err(failed)?;
            tracing::error!(
                aside = %aside.display(),
                "the revocation log does not continue this store: it was renamed, and a new log begins"
            );
            RevocationLog::open(&path, &revocations::LogContents::default(), name, now).map_err(failed)?
        }
    };
    persist_log_end(store, log.end()).await?;
    if let Some(since) = engine.suspended_since() {
        tracing::warn!(
            since = %rfc3339(since),
            "API keys, sessions and operator tokens from before the restore are suspended until confirmed, and freezes made after the backup may not be known: no log of revocations went on from the backup"
        );
    }
    Ok((Arc::new(log), begun))
}

/// At the first start after a restore, logs which withdrawals are paused and for how long.
async fn log_paused_withdrawals(engine: &Engine, mark: RestoreMarker) -> Result<(), ServiceError> {
    if engine.has_started(Timestamp(mark.restored_at_ms)).await? {
        return Ok(());
    }
    let backed_up = rfc3339(Timestamp(mark.backed_up_at_ms));
    match engine.withdrawals_paused_until() {
        Some(until) => tracing::warn!(
            %backed_up,
            held_at_least_until = %rfc3339(until),
            "the store was restored: withdrawals, top-ups, payouts and payments of managed wallets that were not sent wait as `held_restored`, \
             until what the lost history signed can no longer settle and everything that was sent is in the ledger"
        ),
        None => tracing::warn!(%backed_up, "the store was restored: nothing is held"),
    }
    Ok(())
}

/// Applies a log's revocations again on the first start after a restore. If the log is incomplete, also suspends
/// everything from before. A log that is added later only revokes and freezes more. Returns the time of that first
/// start.
///
/// # Errors
/// When the log has no name, or the store fails.
pub async fn reapply_revocations(
    engine: &Engine,
    mark: RestoreMarker,
    log: LogCoverage<'_>,
) -> Result<Timestamp, ServiceError> {
    let restored = Timestamp(mark.restored_at_ms);
    match log {
        LogCoverage::Complete(_) if engine.has_started(restored).await? => {}
        LogCoverage::Complete(_) | LogCoverage::Partial(_) => replay(engine, log).await?,
    }
    let all = matches!(log, LogCoverage::Complete(_));
    Ok(engine.start_restored(restored, all).await?)
}

/// Applies revocations again and leaves each account in its last state. An incomplete log unfreezes nothing: the
/// account may have been frozen again since.
async fn replay(engine: &Engine, log: LogCoverage<'_>) -> Result<(), ServiceError> {
    let (LogCoverage::Complete(entries) | LogCoverage::Partial(entries)) = log;
    let thaws = matches!(log, LogCoverage::Complete(_));
    let (mut accounts, mut stops) = (BTreeMap::new(), BTreeMap::new());
    let wrong =
        |what: &str| ServiceError::Component("the log of revocations", format!("{what} is no name of anything"));
    for entry in entries {
        match entry {
            Entry::Session(id) => engine.end_session(id.parse().map_err(|_| wrong(id))?).await?,
            Entry::ApiKey(_) if mutants::is_enabled(Mutant::RevokedKeyAccepted) => {}
            Entry::ApiKey(id) => engine.end_api_key(id.parse().map_err(|_| wrong(id))?).await?,
            Entry::Passkey(id) => engine.end_passkey(id.parse().map_err(|_| wrong(id))?).await?,
            Entry::OperatorPasskey(digest) => {
                let mut bytes = [0; 32];
                hex::decode_to_slice(digest, &mut bytes).map_err(|_| wrong(digest))?;
                engine.end_operator_passkey(&bytes).await?;
            }
            Entry::OperatorToken(hash) => {
                let mut bytes = [0; 32];
                hex::decode_to_slice(hash, &mut bytes).map_err(|_| wrong(hash))?;
                engine.end_token(&bytes).await?;
            }
            Entry::Frozen { .. } if mutants::is_enabled(Mutant::FreezeNotReplayed) => {}
            Entry::Frozen { account, message } => drop(accounts.insert(account, Some(message.clone()))),
            Entry::Unfrozen { account } => drop(accounts.insert(account, None)),
            Entry::AccessEnded { account } => {
                let account = account.parse().map_err(|_| wrong(account))?;
                // A complete log has no entry from before the backup.
                engine.end_access(&account, thaws).await?;
            }
            Entry::AgentsStopped { account } => stops.entry(account).or_insert_with(Vec::new).push(true),
            Entry::AgentsResumed { account } => stops.entry(account).or_insert_with(Vec::new).push(false),
        }
    }
    accounts.retain(|_, message| thaws || message.is_some());
    for (account, message) in accounts {
        let wallet: Wallet = account.parse().map_err(|_| wrong(account))?;
        let set = engine.set_frozen(wallet, message, None).await;
        set.map_err(|denied| ServiceError::Component("the log of revocations", format!("{wallet}: {denied:?}")))?;
    }
    for (account, stops) in stops {
        let wallet: Wallet = account.parse().map_err(|_| wrong(account))?;
        // Also a stop that has ended: the access from before it has ended too.
        let was_stopped = stops.contains(&true).then_some(true);
        let is_resumed = (thaws && stops.last() == Some(&false)).then_some(false);
        for stopped in was_stopped.into_iter().chain(is_resumed) {
            let set = engine.set_agents_stopped(wallet, stopped).await;
            set.map_err(|denied| ServiceError::Component("the log of revocations", format!("{wallet}: {denied:?}")))?;
        }
    }
    if !entries.is_empty() {
        tracing::info!(entries = entries.len(), "what the log of revocations names is so again");
    }
    Ok(())
}

pub(super) async fn put(store: &dyn Store, key: RowKey, value: Vec<u8>) -> Result<(), ServiceError> {
    let batch = Batch {
        writes: vec![Write::Put {
            key,
            revision: 0,
            value,
        }],
        ..Batch::default()
    };
    let (sender, committed) = oneshot::channel();
    store.commit(batch, Box::new(move |result| drop(sender.send(result))));
    let committed = committed.await.unwrap_or(Err(CommitError::Stopped));
    committed
        .map(drop)
        .map_err(|e| ServiceError::Component("the store's name", e.to_string()))
}

/// Transfers per read.
const PAGE: usize = 1_000;

/// A chain that was just opened may not be readable yet. Its list is retried this often with this pause, for one minute
/// in total.
const LIST_ATTEMPTS: u32 = 120;
const LIST_RETRY: Duration = Duration::from_millis(500);

async fn first_page(chains: &ChainParts, network: Network) -> Result<Vec<ListedTransfer>, PortError> {
    for _ in 1..LIST_ATTEMPTS {
        match chains.transfers.transfers_after(network, 0, PAGE).await {
            Err(error) if error.kind == ErrorKind::Temporary => tokio::time::sleep(LIST_RETRY).await,
            page => return page,
        }
    }
    chains.transfers.transfers_after(network, 0, PAGE).await
}

/// Transfers that the chains list as executed and not reorged. Waits up to one minute for a chain that cannot be read
/// yet.
///
/// # Errors
/// When a chain's list cannot be read.
pub async fn outgoing_since(world: &Dependencies) -> Result<ChainList, ServiceError> {
    let chains = &world.chains;
    let mut all = ChainList::default();
    for network in Network::ALL {
        let ours = chains.treasury_of(network);
        let mut after = 0;
        loop {
            let page = match after {
                0 => first_page(chains, network).await,
                _ => chains.transfers.transfers_after(network, after, PAGE).await,
            };
            let page = page.map_err(|e| ServiceError::Component("the chains' lists of transfers", e.to_string()))?;
            let Some(last) = page.last() else { break };
            after = last.position;
            for seen in page.into_iter().filter(|t| !t.reorged) {
                let list = if seen.from == ours {
                    &mut all.sent
                } else if seen.to == ours {
                    &mut all.received
                } else {
                    &mut all.external
                };
                list.push(ChainTransfer {
                    transaction: seen.transaction,
                    index: seen.index,
                    from: seen.from,
                    to: seen.to,
                    atomic: seen.amount.atomic(),
                    at_ms: seen.at.0,
                    mark: seen.mark,
                });
            }
        }
    }
    Ok(all)
}
