//! Settings. `config.toml` at the root holds every one with its comment and is compiled in as the defaults, so
//! the documentation of a setting and its default cannot drift apart.
//!
//! Four layers, later wins: the defaults, the operator's file, the environment (`PURSER_SECTION__KEY`), the
//! command line. A layer may only name what the defaults name; anything else stops the start with the name in
//! the message. Nothing here is a float: amounts and rates are decimal text.

mod check;
mod layers;
mod products;
mod proxies;
mod quiet;
mod rates;
mod reconciliation;
mod sections;
mod signup;
mod spending;
#[cfg(test)]
mod tests;
mod text;
mod versions;
mod webhooks;

pub use layers::{DEFAULTS, Sources};
pub use products::{Countries, Product, Products};
pub use proxies::{AddressRange, ForwardedBy, NotARange};
pub use rates::Rates;
pub use reconciliation::Reconciliation;
pub use sections::{
    Caps, Engine, Identity, Limits, Operator, OperatorToken, Outside, Outsiders, PayTo, Payment, Payouts, Provider,
    ProviderKind, Recovery, Sandbox, Server, Service, Storage, Stream,
};
pub use signup::Signup;
pub use spending::{AgentWallets, Outbound};
pub use versions::{Day, Retirement, Versions};
pub use webhooks::Webhooks;

use serde::Deserialize;

/// Settings that cannot be used. The message names the setting and where it came from.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A layer is not TOML at all.
    #[error("{origin} is not valid TOML: {reason}")]
    Syntax {
        /// Which layer.
        origin: String,
        /// The parser's words with line and column.
        reason: String,
    },
    /// A name the defaults do not have.
    #[error("{origin}: there is no setting `{key}`{hint}")]
    Unknown {
        /// Which layer.
        origin: String,
        /// The dotted name.
        key: String,
        /// `; did you mean …?` or nothing.
        hint: String,
    },
    /// A value of another type than the default.
    #[error("{origin}: `{key}` must be {wanted}")]
    Type {
        /// Which layer.
        origin: String,
        /// The dotted name.
        key: String,
        /// The type in words.
        wanted: &'static str,
    },
    /// Values that do not fit their setting.
    #[error("settings: {0}")]
    Value(String),
    /// A value that makes no sense, or is unsafe in this mode.
    #[error("`{key}`: {reason}")]
    Refused {
        /// The dotted name.
        key: &'static str,
        /// What to do.
        reason: String,
    },
}

/// What the process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Test money only; every answer says so.
    Sandbox,
    /// Real money: sandbox keys, ledgers and providers refuse to start.
    Production,
}

/// Everything that can be set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// See [`Mode`].
    pub mode: Mode,
    /// Root of everything durable.
    pub data_dir: std::path::PathBuf,
    /// The HTTP front.
    pub server: Server,
    /// The operator's own address.
    pub operator: Operator,
    /// Journal and snapshots.
    pub storage: Storage,
    /// Actors, admission, effects.
    pub engine: Engine,
    /// What is accepted as a payment.
    pub payment: Payment,
    /// Who moves the USDC.
    pub settlement: Provider,
    /// Who issues cards.
    pub providers: Outsiders,
    /// Tokens, sign-in, links.
    pub identity: Identity,
    /// Request ceilings.
    pub limits: Limits,
    /// Signups and API keys.
    pub signup: Signup,
    /// Purchase ceilings of an account.
    pub caps: Caps,
    /// WebSocket clients.
    pub stream: Stream,
    /// Managed wallets.
    pub agent_wallet: AgentWallets,
    /// Calls to URLs that others name.
    pub outbound: Outbound,
    /// How our books are held against others' lists.
    pub reconciliation: Reconciliation,
    /// Events that are posted to endpoints.
    pub webhooks: Webhooks,
    /// Rules of the payout rails.
    pub payouts: Payouts,
    /// Magic of the sandbox.
    pub sandbox: Sandbox,
    /// Where the service serves.
    pub service: Service,
    /// Routes on their way out.
    pub versions: Versions,
    /// What other currencies cost.
    pub rates: Rates,
    /// What is or will be sold.
    pub products: Products,
}

impl Config {
    /// Merges the layers, types the result and checks it.
    ///
    /// # Errors
    /// The first thing wrong, with the name of the setting; see [`ConfigError`].
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let merged = layers::merge(sources)?;
        let mut config: Self = merged
            .try_into()
            .map_err(|e: toml::de::Error| ConfigError::Value(e.message().to_owned()))?;
        config.products.resolve(&config.service.countries);
        check::check(&config)?;
        Ok(config)
    }

    /// Whether this is the sandbox.
    pub fn is_sandbox(&self) -> bool {
        self.mode == Mode::Sandbox
    }
}
