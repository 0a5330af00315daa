//! Settings. `config.toml` at the root holds every one with its comment and is compiled in as the defaults, so
//! the documentation of a setting and its default cannot drift apart.
//!
//! Four layers, later wins: the defaults, the operator's file, the environment (`PURSER_SECTION__KEY`), the
//! command line. A layer may only name what the defaults name; anything else stops the start with the name in
//! the message. Nothing here is a float: amounts and rates are decimal text.

mod agent_wallet;
pub mod chains;
mod layers;
mod log;
mod products;
mod proxies;
mod rates;
mod reconciliation;
mod required_providers;
mod restore_pause;
mod sections;
mod signup;
#[cfg(test)]
mod tests;
mod text;
mod validate;
mod versions;
mod webhooks;

pub use agent_wallet::{AgentWalletConfig, Outbound};
pub use layers::{ConfigSources, DEFAULTS};
pub use log::{Log, LogFormat};
pub use products::{CountryList, ProductConfig, ProductsConfig};
pub use proxies::{ForwardedHeader, IpNetwork, ParseNetworkError};
pub use rates::Rates;
pub use reconciliation::Reconciliation;
pub use sections::{
    Availability, Caps, Engine, Identity, Limits, Operator, OperatorTokenConfig, PayTo, Payment, Payouts,
    RemoteProvider, RemoteProviders, Sandbox, Server, SettlementConfig, SettlementKind, SignatureRecovery, Storage,
    Stream,
};
pub use signup::Signup;
pub use versions::{DeprecatedRoute, SunsetDate, Versions};
pub use webhooks::Webhooks;

use std::borrow::Cow;
use std::fmt;

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
    #[error("{origin}: `{key}` must be {expected}")]
    Type {
        /// Which layer.
        origin: String,
        /// The dotted name.
        key: String,
        /// The type in words.
        expected: &'static str,
    },
    /// A value that does not fit its setting.
    #[error("`{key}`: {reason}")]
    Value {
        /// The dotted name.
        key: String,
        /// The parser's words.
        reason: String,
    },
    /// A value that makes no sense, or is unsafe in this mode.
    #[error("`{key}`: {reason}")]
    Rejected {
        /// The dotted name.
        key: Cow<'static, str>,
        /// What to do.
        reason: String,
    },
}

impl ConfigError {
    /// The setting, where one can be named.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Syntax { .. } => None,
            Self::Unknown { key, .. } | Self::Type { key, .. } | Self::Value { key, .. } => Some(key),
            Self::Rejected { key, .. } => Some(key),
        }
    }
}

/// Everything that is wrong with the settings, a line each.
#[derive(Debug)]
pub struct InvalidSetting(pub Vec<ConfigError>);

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for InvalidSetting {}

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
    pub settlement: SettlementConfig,
    /// Base and Solana.
    pub chains: chains::Chains,
    /// Who issues cards.
    pub providers: RemoteProviders,
    /// Tokens, sign-in, links.
    pub identity: Identity,
    /// How log lines look.
    pub log: Log,
    /// Request ceilings.
    pub limits: Limits,
    /// Signups and API keys.
    pub signup: Signup,
    /// Purchase ceilings of an account.
    pub caps: Caps,
    /// WebSocket clients.
    pub stream: Stream,
    /// Managed wallets.
    pub agent_wallet: AgentWalletConfig,
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
    pub availability: Availability,
    /// Routes on their way out.
    pub versions: Versions,
    /// What other currencies cost.
    pub rates: Rates,
    /// What is or will be sold.
    pub products: ProductsConfig,
}

impl Config {
    /// Merges the layers, types the result and checks it.
    ///
    /// # Errors
    /// All that is wrong, each with the name of its setting; see [`ConfigError`].
    pub fn load(sources: &ConfigSources) -> Result<Self, InvalidSetting> {
        let mut wrong = Vec::new();
        let mut merged = layers::merge(sources, &mut wrong);
        // Whatever cannot be read is looked past by its default, so that the rest can be.
        let mut config: Self = loop {
            match serde_path_to_error::deserialize(merged.clone()) {
                Ok(config) => break config,
                Err(error) => {
                    let key = error.path().to_string();
                    let error: toml::de::Error = error.into_inner();
                    let reason = error.message().to_owned();
                    let goes_on = layers::reset(&mut merged, &key);
                    wrong.push(ConfigError::Value { key, reason });
                    if !goes_on {
                        return Err(InvalidSetting(wrong));
                    }
                }
            }
        };
        config.products.resolve(&config.availability.countries);
        config.server.moves_on = config.is_sandbox() && !layers::is_set(sources, "server.listen");
        config.operator.moves_on = !layers::is_set(sources, "operator.listen");
        let mut found = validate::ConfigErrors::default();
        validate::check(&config, &mut found);
        let known = |key: &str| wrong.iter().any(|error| error.key() == Some(key));
        // Where a default was put in there is nothing to check, nor where another mode was meant.
        if !known("mode") {
            found.0.retain(|error| error.key().is_none_or(|key| !known(key)));
            wrong.append(&mut found.0);
        }
        match wrong.is_empty() {
            true => Ok(config),
            false => Err(InvalidSetting(wrong)),
        }
    }

    /// Settings of a test as they are read, whatever else production would want.
    #[cfg(test)]
    pub(crate) fn read_unchecked(sources: &ConfigSources) -> Self {
        let merged = layers::merge(sources, &mut Vec::new());
        merged.try_into().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Whether this is the sandbox.
    pub fn is_sandbox(&self) -> bool {
        self.mode == Mode::Sandbox
    }
}
