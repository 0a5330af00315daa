//! `purser verify`, `purser backup`, `purser restore`: the data directory while no service runs on it.

use std::path::PathBuf;
use std::sync::Arc;

use purser_actors::port::Clock as _;
use purser_storage::{JournalStore, Store};

use super::serve;
use super::{CliError, terminal};
use crate::config::Config;
use crate::service::restore::moved;
use crate::service::{DataDir, parts};
use crate::system::SystemClock;
use crate::verify::Report;

/// Prove the books: postings, snapshots, events, outcomes and the sandbox chain's own list. Exit status 1 if anything differs
#[derive(Clone, Debug, clap::Args)]
pub struct VerifyArgs {
    /// Where the data is
    #[command(flatten)]
    pub serve: serve::Args,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Write a verified backup of the store to one file. Keys are not in it: keep *.keys apart
#[derive(Clone, Debug, clap::Args)]
pub struct BackupArgs {
    /// Where the data is
    #[command(flatten)]
    pub serve: serve::Args,
    /// The file to write
    pub file: PathBuf,
    /// Replace a file that is there already
    #[arg(long)]
    pub force: bool,
}

/// Make a store from a backup. The data directory must not have one
#[derive(Clone, Debug, clap::Args)]
pub struct RestoreArgs {
    /// Where the data is to be
    #[command(flatten)]
    pub serve: serve::Args,
    /// The backup
    pub file: PathBuf,
}

pub(super) fn open(config: &Config) -> Result<(Arc<JournalStore>, DataDir), CliError> {
    if !config.data_dir.join("store").is_dir() {
        return Err(CliError::Usage(format!(
            "there is no store in {}",
            config.data_dir.display()
        )));
    }
    let data = DataDir::create(&config.data_dir).map_err(failed)?;
    let store = parts::open_store(config, &data).map_err(failed)?;
    Ok((store, data))
}

pub(super) fn failed(error: impl std::fmt::Display) -> CliError {
    CliError::Connection(error.to_string())
}

/// Runs `purser verify`.
///
/// # Errors
/// When the store cannot be opened, or the books are not right.
pub async fn verify(args: VerifyArgs) -> Result<(), CliError> {
    let config = args.serve.settings()?;
    let (store, data) = open(&config)?;
    let as_store: Arc<dyn Store> = store.clone();
    let world = parts::open_world(&config, &data, &*as_store).await.map_err(failed)?;
    let chain = moved(&world).await.map_err(failed)?;
    let report = crate::verify::verify(&*as_store, Some(&chain)).await.map_err(failed)?;
    drop(as_store);
    store.close();
    if args.json {
        terminal::json(&serde_json::to_value(&report).map_err(failed)?, true)?;
    } else {
        print(&report)?;
    }
    match report.findings.len() {
        0 => Ok(()),
        1 => Err(failed("the books are not right: 1 finding")),
        n => Err(failed(format!("the books are not right: {n} findings"))),
    }
}

fn print(report: &Report) -> Result<(), CliError> {
    let entities: Vec<String> = report.entities.iter().map(|(name, n)| format!("{n} {name}")).collect();
    terminal::result(&format!("read      {}", entities.join(", ")))?;
    terminal::result(&format!("folded    {} events", report.events))?;
    terminal::result(&format!("summed    {} ledger transactions", report.transactions))?;
    for (place, atomic) in &report.balances {
        terminal::result(&format!("balance   {place}: {atomic} atomic USDC"))?;
    }
    for (status, n) in &report.payments {
        terminal::result(&format!("payments  {status}: {n}"))?;
    }
    terminal::result(&format!("in flight {} effects", report.open_effects))?;
    terminal::result(&format!(
        "on chain  {} transfers that no payment claims",
        report.unclaimed_transfers
    ))?;
    for finding in &report.findings {
        terminal::result(&format!("WRONG     {finding}"))?;
    }
    if report.findings.is_empty() {
        terminal::result("The books are right.")?;
    }
    Ok(())
}

/// Runs `purser backup`.
///
/// # Errors
/// When the file is there and `--force` is not, the store cannot be opened or the file cannot be written.
pub async fn backup(args: BackupArgs) -> Result<(), CliError> {
    if !args.force && args.file.symlink_metadata().is_ok() {
        let file = args.file.display();
        return Err(CliError::Usage(format!("{file} is there already; --force replaces it")));
    }
    let config = args.serve.settings()?;
    let (store, _) = open(&config)?;
    let seq = store.backup(&args.file).map_err(failed)?;
    store.close();
    terminal::result(&format!(
        "{} holds everything up to sequence {seq}",
        args.file.display()
    ))
}

/// Runs `purser restore`.
///
/// # Errors
/// When there is a store already, or the backup is damaged.
pub async fn restore(args: RestoreArgs) -> Result<(), CliError> {
    let config = args.serve.settings()?;
    let data = DataDir::create(&config.data_dir).map_err(failed)?;
    let mark = JournalStore::restore(&args.file, &data.store(), SystemClock.now().0).map_err(failed)?;
    terminal::result(&format!("restored up to sequence {}", mark.seq))
}
