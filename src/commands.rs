//! The commands of the program: those that are clients of a running service are in [`purser_cli`], the others here.

pub mod config;
pub mod keys;
pub mod reconcile;
mod request_spans;
mod running_service;
pub mod serve;
pub mod serve_providers;
pub mod store_commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use purser_cli::{CliError, admin, call, listen, pay, recover, terminal, token, trigger, wallet};

pub use self::running_service::TokenArgs;

/// Sell prepaid cards, gift cards, payouts and bank payments to software agents for USDC (x402, MPP)
#[derive(Parser)]
#[command(
    name = "purser",
    version,
    arg_required_else_help = false,
    args_conflicts_with_subcommands = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::Args,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Args),
    Pay(pay::Args),
    Call(call::Args),
    Wallet(wallet::Args),
    Listen(listen::Args),
    Token(token::Args),
    Recover(recover::Args),
    Trigger(trigger::Args),
    Admin(admin::Args),
    Verify(store_commands::VerifyArgs),
    Reconcile(reconcile::ReconcileArgs),
    Backup(store_commands::BackupArgs),
    Restore(store_commands::RestoreArgs),
    Upgrade(store_commands::UpgradeArgs),
    Config(config::Args),
    Keys(keys::Args),
    ServeProviders(serve_providers::Args),
}

/// Runs the command of the process's arguments.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&CliError::Connection(format!("cannot start the runtime: {error}"))),
    };
    let done = runtime.block_on(async {
        match cli.command {
            None => serve::run(cli.serve).await,
            Some(Command::Serve(args)) => serve::run(args).await,
            Some(Command::Pay(args)) => pay::run(args).await,
            Some(Command::Call(args)) => call::run(args).await,
            Some(Command::Wallet(args)) => wallet::run(args).await,
            Some(Command::Listen(args)) => listen::run(args).await,
            Some(Command::Token(args)) => token::run(args).await,
            Some(Command::Recover(args)) => recover::run(args).await,
            Some(Command::Trigger(args)) => trigger::run(args).await,
            Some(Command::Admin(args)) => admin::run(args, serve::settings_of).await,
            Some(Command::Verify(args)) => store_commands::verify(args).await,
            Some(Command::Reconcile(args)) => reconcile::run(args).await,
            Some(Command::Backup(args)) => store_commands::backup(args).await,
            Some(Command::Restore(args)) => store_commands::restore(args).await,
            Some(Command::Upgrade(args)) => store_commands::upgrade(args).await,
            Some(Command::Config(args)) => config::run(&args),
            Some(Command::Keys(args)) => keys::run(&args),
            Some(Command::ServeProviders(args)) => serve_providers::run(args).await,
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &CliError) -> ExitCode {
    if !matches!(error, CliError::Closed) {
        print_error(error);
    }
    ExitCode::from(error.exit_status())
}

/// Prints to standard error why a command failed, one line per problem.
fn print_error(error: &CliError) {
    for line in error.to_string().lines() {
        terminal::progress(&format!("error: {line}"));
    }
}
