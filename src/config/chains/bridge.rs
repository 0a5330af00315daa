//! Settings of the built-in bridge, Circle's CCTP v2.

use purser_chains::cctp::burn::FeeRate;
use serde::Deserialize;

use super::super::Config;
use super::super::found::ConfigErrors;
use super::super::provider_url::check_provider_url;
use super::{BaseNetwork, Chains, SolanaNetwork};

/// Highest fee limit in basis points. After a restore, a burn is matched to a top-up if it is at most 1 % larger.
const MAX_FEE_BPS: &str = "99";

/// When Iris attests a burn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BridgeFinality {
    /// Once it is finalized.
    Standard,
    /// Once it is confirmed.
    Fast,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bridge {
    pub finality: BridgeFinality,
    pub max_fee_bps: String,
    pub token_messenger: String,
    pub message_transmitter: String,
    pub iris_url: String,
    pub timeout_ms: u64,
}

impl Bridge {
    /// The fee limit; `None` if it is not a number of basis points or is above 99.
    pub fn max_fee(&self) -> Option<FeeRate> {
        let most = FeeRate::parse_basis_points(MAX_FEE_BPS);
        FeeRate::parse_basis_points(&self.max_fee_bps).filter(|rate| most.is_some_and(|most| *rate <= most))
    }
}

/// Whether top-ups use the built-in bridge: card balances are sold and no provider carries them.
pub fn is_used(config: &Config) -> bool {
    config.products.card_balance.available && config.providers.bridge.url.is_empty()
}

pub(super) fn check(config: &Config, found: &mut ConfigErrors) {
    let bridge = &config.chains.bridge;
    found.require(
        bridge.max_fee().is_some(),
        "chains.bridge.max_fee_bps",
        "must be basis points with at most four decimals, from 0 to 99",
    );
    found.require(bridge.timeout_ms > 0, "chains.bridge.timeout_ms", "must be at least 1");
    if is_used(config) {
        let Chains { base, solana, .. } = &config.chains;
        let is_pair = matches!(
            (base.network, solana.network),
            (BaseNetwork::Mainnet, SolanaNetwork::Mainnet) | (BaseNetwork::Sepolia, SolanaNetwork::Devnet)
        );
        found.require(
            is_pair,
            "chains.solana.network",
            "the bridge joins mainnet with mainnet and devnet with sepolia: match chains.base.network, or set \
             providers.bridge.url",
        );
        for (key, none, who) in [
            (
                "chains.base.gas_keys",
                base.gas_keys.is_empty(),
                "a gas key sends the bridge's mints",
            ),
            (
                "chains.solana.fee_payers",
                solana.fee_payers.is_empty(),
                "a fee payer pays for the bridge's burns",
            ),
        ] {
            found.require(!none, key, &format!("{who}: set one, or set providers.bridge.url"));
        }
    }
    if !bridge.iris_url.is_empty() {
        match reqwest::Url::parse(&bridge.iris_url) {
            Ok(url) => check_provider_url(&url, "chains.bridge.iris_url", found),
            Err(error) => found.require(false, "chains.bridge.iris_url", &error.to_string()),
        }
    }
}
