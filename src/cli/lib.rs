//! Client commands (`purser wallet`, `pay`, `call`, `token`, `recover`, `listen`, `trigger`) and operator commands (`purser admin`).
//!
//! Results go to standard output, progress and errors to standard error, so that results can be piped. A payment is
//! signed only after its price was compared with `--max-usd`.

pub mod admin;
pub mod call;
pub mod http_client;
pub mod listen;
pub mod pay;
pub mod recover;
mod session;
pub mod terminal;
mod tls;
pub mod token;
pub mod trigger;
pub mod wallet;

use std::path::PathBuf;
use std::pin::Pin;

use purser_protocol::wallet::WalletError;

pub use self::http_client::ServerArgs;
pub use self::tls::TlsArgs;

/// A command that runs. Its body is compiled here, not where it is awaited.
pub type Running = Pin<Box<dyn Future<Output = Result<(), CliError>> + Send>>;

/// How the owner of a payment learns its outcome later.
const NEXT_STEP: &str = "Later, get a token with `purser token` and read GET /list-payments";

/// Why a command failed. The text is for the person at the terminal.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// An invalid argument.
    #[error("{0}")]
    Usage(String),
    /// A problem with the wallet, or with the challenge that it should answer.
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// The price is above `--max-usd`; nothing was signed.
    #[error("the price is {price} USD, above --max-usd {max}: nothing was signed")]
    TooExpensive {
        /// Price in dollars.
        price: String,
        /// Limit in dollars.
        max: String,
    },
    /// The server returned an error.
    #[error("the server answered {status}: {what}")]
    Rejected {
        /// Status of the HTTP response.
        status: u16,
        /// The server's error text.
        what: String,
    },
    /// The server cannot be reached, or its response is invalid.
    #[error("{0}")]
    Connection(String),
    /// A payment was sent and its outcome is unknown.
    #[error("the payment was sent and its outcome is not known yet: {}. {}", .0.trim_end_matches('.'), NEXT_STEP)]
    OutcomeUnknown(String),
    /// A payment was signed, and the server could not send it after all retries.
    #[error("the payment could not be settled, and nothing was charged: {0}")]
    Unsent(String),
    /// A payment was made, and the result could not be confirmed.
    #[error("the purchase is paid and complete; whether the card is ready could not be read: {0}")]
    NotObserved(String),
    /// A payment was made and the product cannot be delivered.
    #[error("{0}")]
    NotDelivered(String),
    /// The account's owner must approve the call first; nothing was done.
    #[error(
        "{id} waits for the account's owner, until {until}. Once it is approved, run the same command with --idempotency-key {key} within 15 minutes. With --wait this command waits for that"
    )]
    ApprovalRequired {
        /// Id of the approval.
        id: String,
        /// End of the wait.
        until: String,
        /// Idempotency-Key of the call.
        key: String,
    },
    /// The account's owner did not approve the call.
    #[error("{0}")]
    NotApproved(String),
    /// Nothing was found.
    #[error("{0}")]
    NotFound(String),
    /// Standard output was closed by its reader, such as `head`. No error is printed.
    #[error("standard output was closed")]
    Closed,
    /// A file or terminal error.
    #[error("{what}: {source}")]
    Io {
        /// File or device.
        what: String,
        /// Error of the system.
        source: std::io::Error,
    },
}

impl CliError {
    /// Exit status of the process: 2 for wrong usage or a local rejection, 3 when a payment was sent and the outcome of
    /// the payment or product is unknown, 4 when the account's owner must approve a call first, 1 otherwise.
    pub const fn exit_status(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::TooExpensive { .. } => 2,
            Self::OutcomeUnknown(_) | Self::NotObserved(_) => 3,
            Self::ApprovalRequired { .. } => 4,
            _ => 1,
        }
    }

    /// Whether the account is frozen or its agents are stopped. The server's error text begins with its code.
    fn is_frozen(&self) -> bool {
        matches!(self, Self::Rejected { status: 403, what } if what.starts_with("account_frozen") || what.starts_with("agents_stopped"))
    }

    /// Whether a retry may succeed soon: the server cannot be reached, is starting or stopping, or is overloaded.
    const fn is_transient(&self) -> bool {
        match self {
            Self::Connection(_) => true,
            Self::Rejected { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}

/// Location of the wallet file.
#[derive(Clone, Debug, clap::Args)]
pub struct WalletArgs {
    /// Wallet file, created on first use. Default: .purser/wallet.json in the home directory
    #[arg(long, value_name = "FILE", env = "PURSER_WALLET")]
    pub wallet: Option<PathBuf>,
}

impl WalletArgs {
    fn path(&self) -> Result<PathBuf, CliError> {
        if let Some(path) = &self.wallet {
            return Ok(path.clone());
        }
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let home =
            home.ok_or_else(|| CliError::Usage("there is no home folder; name a file with --wallet".to_owned()))?;
        Ok(home.join(".purser").join("wallet.json"))
    }
}

/// A network by its short name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum NetworkArg {
    /// USDC on Base
    Base,
    /// USDC on Solana
    Solana,
}

impl From<NetworkArg> for purser_actors::id::Network {
    fn from(network: NetworkArg) -> Self {
        match network {
            NetworkArg::Base => Self::Base,
            NetworkArg::Solana => Self::Solana,
        }
    }
}
