//! Settings. `config.toml` at the root has every setting with its comment and is compiled in as the defaults, so a
//! setting's documentation and its default can't drift apart.
//!
//! Four layers, later wins: the defaults, the operator's file, the environment (`PURSER_SECTION__KEY`), the command
//! line. A layer may only name what the defaults name; any other name prevents the start with an error that names it.
//! Nothing here is a float: amounts and rates are decimal text.

mod agent_wallet;
pub mod chains;
mod data_dir;
mod found;
mod layers;
mod log;
mod products;
mod provider_url;
mod proxies;
mod rates;
mod reconciliation;
mod required_providers;
mod restore_pause;
mod sections;
mod signup;
pub mod suggest;
#[cfg(test)]
mod tests;
mod text;
mod validate;
mod versions;
mod webhooks;

pub use agent_wallet::{AgentWalletConfig, Outbound};
pub use data_dir::{DataDir, DataDirError};
pub use layers::{ConfigSources, DEFAULTS};
pub use log::{Log, LogFormat};
pub use products::{CountryList, ProductConfig, ProductsConfig, RemoteProvider, RemoteProviders};
pub use proxies::{ForwardedHeader, IpNetwork, ParseNetworkError};
pub use rates::{RateTable, Rates};
pub use reconciliation::Reconciliation;
pub use sections::{
    Availability, Caps, Engine, Identity, Limits, Operator, OperatorTokenConfig, PayTo, Payment, Payouts, Sandbox,
    Server, SettlementConfig, SettlementKind, SignatureRecovery, Storage, Stream,
};
pub use signup::Signup;
pub use versions::{DeprecatedRoute, SunsetDate, Versions};
pub use webhooks::Webhooks;

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;

/// Invalid settings. The message names the setting and its origin.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A layer is not valid TOML.
    #[error("{origin} is not valid TOML: {reason}")]
    Syntax {
        origin: String,
        /// The parser's message with line and column.
        reason: String,
    },
    /// A name that the defaults do not have.
    #[error("{origin}: there is no setting `{key}`{hint}")]
    Unknown {
        origin: String,
        /// The dotted name.
        key: String,
        /// `; did you mean …?` or nothing.
        hint: String,
    },
    /// The value's type differs from the default's.
    #[error("{origin}: `{key}` must be {expected}")]
    Type {
        origin: String,
        /// The dotted name.
        key: String,
        expected: &'static str,
    },
    /// A value that does not fit its setting.
    #[error("`{key}`: {reason}")]
    Value {
        /// The dotted name.
        key: String,
        /// The parser's message.
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

/// All problems of the settings, one per line.
#[derive(Debug)]
pub struct InvalidSetting(pub Vec<ConfigError>);

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for InvalidSetting {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Test money only; every response contains a notice.
    Sandbox,
    /// Real money: sandbox keys, ledgers and providers prevent the start.
    Production,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub mode: Mode,
    /// Root of all durable data.
    pub data_dir: std::path::PathBuf,
    /// The public HTTP server.
    pub server: Server,
    /// The operator API's server.
    pub operator: Operator,
    pub storage: Storage,
    /// Actors, admission, jobs.
    pub engine: Engine,
    pub payment: Payment,
    /// Settlement of USDC payments.
    pub settlement: SettlementConfig,
    pub chains: chains::Chains,
    pub providers: RemoteProviders,
    /// Tokens, sign-in, links.
    pub identity: Identity,
    pub log: Log,
    pub limits: Limits,
    pub signup: Signup,
    /// Purchase caps of an account.
    pub caps: Caps,
    pub stream: Stream,
    pub agent_wallet: AgentWalletConfig,
    /// Calls to URLs that clients name.
    pub outbound: Outbound,
    /// Comparison of our ledger with the lists of chains and providers.
    pub reconciliation: Reconciliation,
    pub webhooks: Webhooks,
    /// Rules of the payout rails.
    pub payouts: Payouts,
    pub sandbox: Sandbox,
    /// Countries and regions where the service is available.
    pub availability: Availability,
    pub versions: Versions,
    pub rates: Rates,
    pub products: ProductsConfig,
}

impl Config {
    /// Merges the layers, types the result and checks it.
    ///
    /// # Errors
    /// All problems, each with the name of its setting; see [`ConfigError`].
    pub fn load(sources: &ConfigSources) -> Result<Self, InvalidSetting> {
        let mut wrong = Vec::new();
        let mut merged = layers::merge(sources, &mut wrong);
        // An unreadable value is replaced by its default, so that the rest can be checked.
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
        let mut found = found::ConfigErrors::default();
        validate::check(&config, &mut found);
        let known = |key: &str| wrong.iter().any(|error| error.key() == Some(key));
        // Replaced values need no check, and neither does anything when the mode itself is unreadable.
        if !known("mode") {
            found.0.retain(|error| error.key().is_none_or(|key| !known(key)));
            wrong.append(&mut found.0);
        }
        match wrong.is_empty() {
            true => Ok(config),
            false => Err(InvalidSetting(wrong)),
        }
    }

    /// The settings as they are read, without the checks of [`Config::load`]: for tests of what is built from them.
    ///
    /// # Errors
    /// For the first value that cannot be read.
    pub fn read_unchecked(sources: &ConfigSources) -> Result<Self, toml::de::Error> {
        layers::merge(sources, &mut Vec::new()).try_into()
    }

    pub fn is_sandbox(&self) -> bool {
        self.mode == Mode::Sandbox
    }
}
