//! The `purser` binary: one command line over the library.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use purser::cli::{self, CliError};

/// A call makes hundreds of small allocations on one thread and frees many of them on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Sells prepaid cards, gift cards, payouts and bank payments to software agents, paid call by call in USDC (x402 or MPP). Without
/// a command: serve
#[derive(Parser)]
#[command(name = "purser", version, arg_required_else_help = false)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: cli::serve::Args,
}

#[derive(Subcommand)]
enum Command {
    Serve(cli::serve::Args),
    Pay(cli::pay::Args),
    Wallet(cli::wallet::Args),
    Listen(cli::listen::Args),
    Token(cli::token::Args),
    Trigger(cli::trigger::Args),
    Admin(cli::admin::Args),
    Verify(cli::store::VerifyArgs),
    Reconcile(cli::reconcile::ReconcileArgs),
    Backup(cli::store::BackupArgs),
    Restore(cli::store::RestoreArgs),
    Config(cli::config::Args),
    Provider(cli::provider::Args),
}

fn main() -> ExitCode {
    purser::system::use_small_pages();
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&CliError::Connection(format!("cannot start the runtime: {error}"))),
    };
    let done = runtime.block_on(async {
        match cli.command {
            None => cli::serve::run(cli.serve).await,
            Some(Command::Serve(args)) => cli::serve::run(args).await,
            Some(Command::Pay(args)) => cli::pay::run(args).await,
            Some(Command::Wallet(args)) => cli::wallet::run(args).await,
            Some(Command::Listen(args)) => cli::listen::run(args).await,
            Some(Command::Token(args)) => cli::token::run(args).await,
            Some(Command::Trigger(args)) => cli::trigger::run(args).await,
            Some(Command::Admin(args)) => cli::admin::run(args).await,
            Some(Command::Verify(args)) => cli::store::verify(args).await,
            Some(Command::Reconcile(args)) => cli::reconcile::run(args).await,
            Some(Command::Backup(args)) => cli::store::backup(args).await,
            Some(Command::Restore(args)) => cli::store::restore(args).await,
            Some(Command::Config(args)) => cli::config::run(&args),
            Some(Command::Provider(args)) => cli::provider::run(args).await,
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &CliError) -> ExitCode {
    cli::complain(error);
    ExitCode::from(error.exit_status())
}
