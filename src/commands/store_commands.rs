//! `purser verify`, `purser backup`, `purser restore`, `purser upgrade`: commands for the data directory. While a service
//! runs on it, the first two call the service (`running_service.rs`); the others require that it is stopped.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use purser_actors::answer::rfc3339;
use purser_actors::id::DocumentId;
use purser_actors::port::{Clock as _, Timestamp};
use purser_storage::{JournalStore, OpenError, RestoreMarker, Store};

use super::TokenArgs;
use super::running_service::RunningService;
use super::serve;
use crate::cli::{CliError, terminal};
use crate::config::{Config, DataDir};
use crate::revocations;
use crate::service::copies::documents_of;
use crate::service::restore::{LogCoverage, log_coverage, outgoing_since, persist_log_end};
use crate::service::store_version::{self, MIGRATIONS, STORE_VERSION};
use crate::service::{ServiceError, dependencies};
use crate::system::SystemClock;
use crate::vault::document_backup;
use crate::verify::VerifyReport;

/// Check the ledger, journal and snapshots; exits 1 if there is a problem
///
/// Checks postings, snapshots, events, outcomes and the sandbox chain's own list. Beside a running server, as of one
/// sequence number. Balances are in USDC, in JSON in millionths of one. Positive amounts are owed to Purser,
/// negative ones are owed or earned by it.
#[derive(Clone, Debug, clap::Args)]
pub struct VerifyArgs {
    /// Location of the data
    #[command(flatten)]
    pub serve: serve::Args,
    /// Operator token for a running server
    #[command(flatten)]
    pub token: TokenArgs,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Write a verified backup of the store and documents; keys are not included
///
/// Account owners' documents, sealed, go to FILE.documents. Store a copy of *.keys separately. The server may be
/// running.
#[derive(Clone, Debug, clap::Args)]
pub struct BackupArgs {
    /// Location of the data
    #[command(flatten)]
    pub serve: serve::Args,
    /// Operator token for a running server
    #[command(flatten)]
    pub token: TokenArgs,
    /// File to write
    pub file: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// Create a store from a backup; the data directory must be empty
///
/// Also reads FILE.documents if it exists. Prints what the first start will do and what only an operator can decide.
#[derive(Clone, Debug, clap::Args)]
pub struct RestoreArgs {
    /// Location of the new data directory
    #[command(flatten)]
    pub serve: serve::Args,
    /// Backup to restore
    pub file: PathBuf,
}

/// Migrate a store of an older version; the server must be stopped
///
/// Run `purser backup` with the older version first. An interrupted upgrade is completed by the next.
#[derive(Clone, Debug, clap::Args)]
pub struct UpgradeArgs {
    /// Location of the data
    #[command(flatten)]
    pub serve: serve::Args,
}

/// The store of a data directory, or the service that has it open.
pub(super) enum StoreAccess {
    /// No other process has it open.
    Store(Arc<JournalStore>, DataDir),
    /// A service runs on it.
    Service(RunningService),
}

/// How often the store is tried while a process has it open and does not answer: for five seconds.
const LOCK_ATTEMPTS: u32 = 25;
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Opens the store, or finds the service that runs on it. A killed service keeps its lock for a moment, and a starting
/// one does not answer yet: both are waited for.
pub(super) async fn open_or_connect(config: &Config, token: &TokenArgs) -> Result<StoreAccess, CliError> {
    let mut attempts_left = LOCK_ATTEMPTS;
    loop {
        match attempt(config).await? {
            Ok((store, data)) => return Ok(StoreAccess::Store(store, data)),
            Err(ServiceError::Open(OpenError::Locked(_))) => {}
            Err(error) => return Err(failed(error)),
        }
        let silent = match RunningService::of(config, token) {
            Ok(running) if running.accepts_connections().await => return Ok(StoreAccess::Service(running)),
            Ok(running) => running.silence(config),
            Err(error) => error,
        };
        if attempts_left == 0 {
            return Err(silent);
        }
        attempts_left -= 1;
        tokio::time::sleep(LOCK_POLL_INTERVAL).await;
    }
}

async fn open(config: &Config) -> Result<(Arc<JournalStore>, DataDir), CliError> {
    attempt(config).await?.map_err(failed)
}

type Opened = (Arc<JournalStore>, DataDir);

async fn attempt(config: &Config) -> Result<Result<Opened, ServiceError>, CliError> {
    let (store, data) = match open_any_version(config)? {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    if let Err(error) = store_version::check(&*store, STORE_VERSION).await {
        store.close();
        return Ok(Err(error.into()));
    }
    Ok(Ok((store, data)))
}

fn open_any_version(config: &Config) -> Result<Result<Opened, ServiceError>, CliError> {
    if !config.data_dir.join("store").is_dir() {
        return Err(CliError::Usage(format!(
            "there is no store in {}",
            config.data_dir.display()
        )));
    }
    let data = DataDir::create(&config.data_dir).map_err(failed)?;
    Ok(dependencies::open_store(config, &data).map(|store| (store, data)))
}

pub(super) fn failed(error: impl std::fmt::Display) -> CliError {
    CliError::Connection(error.to_string())
}

/// Runs `purser verify`.
///
/// # Errors
/// When the store cannot be opened, or there are problems.
pub async fn verify(args: VerifyArgs) -> Result<(), CliError> {
    let config = args.serve.settings()?;
    let (report, history) = match open_or_connect(&config, &args.token).await? {
        StoreAccess::Store(store, data) => {
            let as_store: Arc<dyn Store> = store.clone();
            let world = dependencies::open_dependencies(&config, &data, &as_store)
                .await
                .map_err(failed)?;
            let chain = outgoing_since(&world).await.map_err(failed)?;
            let report = crate::verify::verify(&*as_store, Some(&chain)).await.map_err(failed)?;
            world.close().await;
            store.close();
            (report, History::Checked)
        }
        StoreAccess::Service(running) => (running.verify(&config).await?, History::Unchecked),
    };
    if args.json {
        let mut shown = serde_json::to_value(&report).map_err(failed)?;
        if history == History::Unchecked {
            shown["events"] = serde_json::Value::Null;
        }
        terminal::json(&shown, true)?;
    } else {
        print(&report, history)?;
    }
    match report.problems.len() {
        0 => Ok(()),
        1 => Err(failed("1 problem found")),
        n => Err(failed(format!("{n} problems found"))),
    }
}

/// Whether the journal's events were checked too. The copy of a running server's store has none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum History {
    Checked,
    Unchecked,
}

fn print(report: &VerifyReport, history: History) -> Result<(), CliError> {
    let entities: Vec<String> = report.entities.iter().map(|(name, n)| format!("{n} {name}")).collect();
    terminal::result(&format!("entities     {}", entities.join(", ")))?;
    match history {
        History::Checked => terminal::result(&format!("events       {}", report.events))?,
        History::Unchecked => terminal::result("events       not checked (server is running)")?,
    }
    terminal::result(&format!("ledger       {} transactions", report.transactions))?;
    terminal::result(&format!("audit log    {} entries", report.audit_entries))?;
    for (place, atomic) in &report.balances {
        terminal::result(&format!("balance      {place}: {} USDC", dollars(*atomic)))?;
    }
    for (status, n) in &report.payments {
        terminal::result(&format!("payments     {status}: {n}"))?;
    }
    terminal::result(&format!("jobs         {} pending", report.pending_jobs))?;
    terminal::result(&format!("jobs         {} scheduled", report.scheduled_jobs))?;
    terminal::result(&format!(
        "transfers    {} without a payment",
        report.unclaimed_transfers
    ))?;
    if report.unlisted_payments > 0 {
        let (n, verb) = match report.unlisted_payments {
            1 => ("1 payment".to_owned(), "is"),
            n => (format!("{n} payments"), "are"),
        };
        terminal::result(&format!("not final    {n} that {verb} not on the chain's list yet"))?;
    }
    for finding in &report.problems {
        terminal::result(&format!("PROBLEM      {finding}"))?;
    }
    if report.problems.is_empty() {
        terminal::result("No problems found.")?;
    }
    Ok(())
}

/// Atomic USDC (a million per USDC) as a decimal with at least two places. Positive is owned or owed to the service, negative is owed or earned
/// by it.
fn dollars(atomic: i128) -> String {
    let sign = if atomic < 0 { "-" } else { "" };
    let atomic = atomic.unsigned_abs();
    let decimal = format!("{sign}{}.{:06}", atomic / 1_000_000, atomic % 1_000_000);
    let significant = decimal.trim_end_matches('0').len();
    // "….00": four of the six places can be left out.
    decimal
        .get(..significant.max(decimal.len() - 4))
        .unwrap_or(&decimal)
        .to_owned()
}

/// Runs `purser backup`.
///
/// # Errors
/// When a file exists and `--force` is not set, the store cannot be opened, a file cannot be written, or a document is
/// missing. In the last case the backup contains everything else.
pub async fn backup(args: BackupArgs) -> Result<(), CliError> {
    let papers = document_backup::documents_path(&args.file);
    let there = [&args.file, &papers]
        .into_iter()
        .find(|file| file.symlink_metadata().is_ok());
    if let Some(file) = there.filter(|_| !args.force) {
        let file = file.display();
        return Err(CliError::Usage(format!(
            "{file} already exists; use --force to overwrite it"
        )));
    }
    let config = args.serve.settings()?;
    let (store, data) = match open_or_connect(&config, &args.token).await? {
        StoreAccess::Store(store, data) => (store, data),
        StoreAccess::Service(running) => return running.backup(&config, &args.file).await,
    };
    persist_log_position(&*store, &data).await?;
    let seq = store.backup(&args.file).map_err(failed)?;
    let named = documents_of(&*store).await.map_err(failed)?;
    store.close();
    let (file, with) = (args.file.display(), papers.display());
    terminal::result(&format!("Backed up to {file} (sequence {seq})"))?;
    if named.is_empty() {
        // A file of an earlier backup does not belong to this one.
        return match std::fs::remove_file(&papers) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        };
    }
    let missing = document_backup::save(&data.documents(), &named, &papers).map_err(failed)?;
    terminal::result(&format!(
        "Backed up {} to {with}",
        documents(named.len() - missing.len())
    ))?;
    check_documents(&missing, &data)
}

/// Records in the store where its revocation log ends, so that a restore can tell which logs continue it. An unreadable
/// log does not prevent a backup: the backup then has the position of the last start.
async fn persist_log_position(store: &dyn Store, data: &DataDir) -> Result<(), CliError> {
    let log = data.revocations();
    let found = match revocations::read(&log) {
        Ok(found) => found,
        Err(error) => {
            terminal::progress(&format!("the log of revocations cannot be read: {error}"));
            return Ok(());
        }
    };
    match log_coverage(store, &found).await.map_err(failed)? {
        LogCoverage::Complete(_) => persist_log_end(store, found.end()).await.map_err(failed),
        LogCoverage::Partial(_) => Ok(()),
    }
}

/// Formats a number of documents.
pub(super) fn documents(n: usize) -> String {
    match n {
        1 => "1 document".to_owned(),
        n => format!("{n} documents"),
    }
}

pub(super) fn check_documents(missing: &[DocumentId], data: &DataDir) -> Result<(), CliError> {
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let directory = data.documents();
    Err(failed(format!(
        "all but {}, missing here: {}. Put what is missing into {}",
        documents(names.len()),
        names.join(", "),
        directory.display()
    )))
}

/// Runs `purser upgrade`.
///
/// # Errors
/// When there is no store or it is in use, when it has a newer version or no version, or when a step fails.
pub async fn upgrade(args: UpgradeArgs) -> Result<(), CliError> {
    let config = args.serve.settings()?;
    let (store, _) = open_any_version(&config)?.map_err(failed)?;
    let began = store_version::upgrade(&*store, STORE_VERSION, MIGRATIONS).await;
    store.close();
    terminal::result(&match began.map_err(failed)? {
        None => "The store is empty. There is nothing to upgrade.".to_owned(),
        Some(STORE_VERSION) => format!("The store has version {STORE_VERSION} already."),
        Some(began) => format!("Upgraded the store from version {began} to {STORE_VERSION}."),
    })
}

/// Runs `purser restore`.
///
/// # Errors
/// When there is a store already, or the backup is corrupt: then nothing is restored. When documents are missing: they
/// are named, and everything else is restored.
pub async fn restore(args: RestoreArgs) -> Result<(), CliError> {
    let config = args.serve.settings()?;
    let kept = std::fs::read_dir(config.data_dir.join("store"));
    if kept.is_ok_and(|mut kept| kept.next().is_some()) {
        let full = config.data_dir.display();
        return Err(CliError::Usage(format!(
            "there is a store in {full} already; name another directory with --data"
        )));
    }
    let papers = document_backup::documents_path(&args.file);
    if papers.exists() {
        document_backup::check(&papers).map_err(failed)?;
    }
    store_version::check_backup(&args.file, STORE_VERSION)
        .map_err(|error| failed(format!("{}: {error}", args.file.display())))?;
    let store = DataDir::at(&config.data_dir).store();
    let made = ensure_absent(&[store.clone(), DataDir::at(&config.data_dir).sandbox()]);
    let mark = DataDir::create(&config.data_dir).map_err(failed).and_then(|_| {
        JournalStore::restore(&args.file, &store, SystemClock.now().0)
            .map_err(|error| failed(format!("{}: {error}", args.file.display())))
    });
    let mark = mark.inspect_err(|_| {
        // A rejected restore leaves no trace; a directory that is not empty is not removed.
        for folder in &made {
            let _ = std::fs::remove_dir(folder);
        }
    })?;
    let data = DataDir::at(&config.data_dir);
    terminal::result(&format!("restored up to sequence {}", mark.seq))?;
    if !data.vault_keys().exists() && config.identity.vault_key_file.as_os_str().is_empty() {
        let to = config.data_dir.display();
        terminal::progress(&format!(
            "keys are in no backup: before the service starts, copy *.keys from the data directory that was backed up into {to}"
        ));
    }
    let (store, _) = open(&config).await?;
    let named = documents_of(&*store).await.map_err(failed)?;
    let found = revocations::read(&data.revocations()).map_err(failed)?;
    let known = log_coverage(&*store, &found).await.map_err(failed)?;
    store.close();
    print_restore_summary(&mark, &data, known)?;
    let missing = document_backup::load(&papers, &data.documents(), &named).map_err(failed)?;
    check_documents(&missing, &data)
}

/// Describes what the first start does after a restore, and what only an operator can decide afterwards.
fn print_restore_summary(mark: &RestoreMarker, data: &DataDir, known: LogCoverage<'_>) -> Result<(), CliError> {
    let at = |ms: u64| rfc3339(Timestamp(ms));
    let log = data.revocations();
    terminal::result(&format!(
        "the backup was made at {}; what happened from then to {} is not in it",
        at(mark.backed_up_at_ms),
        at(mark.restored_at_ms)
    ))?;
    terminal::result(&match known {
        LogCoverage::Complete(entries) => format!(
            "{} continues the backup: the first start revokes again each session, API key and operator token that it lists since then \
             ({} lines), and freezes or unfreezes each account as its last line says",
            log.display(),
            entries.len()
        ),
        LogCoverage::Partial(_) if !log.exists() => format!(
            "{} is missing: copy the newest one there before the first start. Without a log that continues the backup, each earlier \
             session, API key and operator token is suspended until confirmed (`purser admin confirm`), and freezes made after the \
             backup are lost",
            log.display(),
        ),
        LogCoverage::Partial(entries) => format!(
            "{} does not continue the backup ({} lines): from the first start on, each earlier session, API key and operator token is \
             suspended until confirmed (`purser admin confirm`). What the file lists is revoked, and accounts that it or the backup \
             leaves frozen are frozen. A freeze that is in neither is lost. To have the lost server's log replayed, copy it there before \
             the first start",
            log.display(),
            entries.len()
        ),
    })?;
    for line in [
        "transfers to the treasury since the backup: the first start looks up at the providers what they bought, adopts cards and \
         gift cards that exist, and credits the rest. Older and uncertain ones (a top-up that may have been sent, the price of an \
         international card that an operator may have created) wait for a decision in `purser admin incoming list`",
        "international cards that the backup has as ordered: an operator may have created them, so account owners cannot cancel them \
         until an operator has checked and released them (`purser admin intl-orders list`, `claim`, `release`)",
        "transfers out of the treasury, and bank transfers paid from balances: nothing new is sent until those of the lost history \
         are in the ledger (`purser admin dead-letters`)",
        "lost: what operators decided, sent or entered since the backup, sign-ups and sign-ins, saved recipients, endpoints and settings; \
         `purser admin reconciliation` lists what providers have",
        "as in the backup: the limits of owners. One that was lowered since is the old one again, and nothing has the new one",
    ] {
        terminal::result(line)?;
    }
    Ok(())
}

/// The missing directories on the way to these, innermost first.
fn ensure_absent(folders: &[PathBuf]) -> Vec<PathBuf> {
    let way = folders.iter().flat_map(|folder| folder.ancestors());
    let absent = way.filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let mut absent: Vec<PathBuf> = absent.map(Path::to_owned).collect();
    absent.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    absent
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: every significant digit of an atomic amount is in its decimal, which has at least two places.
    #[test]
    fn atomic_amounts_are_shown_in_usdc() {
        let shown = [0, 1, -1_360_000, 65_570_000, 1_000_000, -10].map(dollars);
        assert_eq!(shown, ["0.00", "0.000001", "-1.36", "65.57", "1.00", "-0.00001"]);
    }
}
