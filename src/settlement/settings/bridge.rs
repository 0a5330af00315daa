//! Configuration of the built-in bridge.

use std::time::Duration;

use purser_chains::cctp::{Deployment, MAINNET, TESTNET, THRESHOLD_FAST, THRESHOLD_STANDARD};

use super::Reader;
use crate::cctp::CctpSettings;
use purser_config::Config;
use purser_config::chains::{BaseNetwork, BridgeFinality, bridge_is_used};
use purser_protocol::payment::evm::parse_address;

/// Configuration of the bridge; see the module.
#[derive(Clone, Debug)]
pub struct BridgeConfig {
    /// Whether top-ups use the bridge.
    pub used: bool,
    /// Contracts, finality and fee limit.
    pub cctp: CctpSettings,
    /// Base URL of Iris.
    pub iris: String,
    /// Timeout of a request to Iris.
    pub timeout: Duration,
}

impl Reader<'_> {
    pub(super) fn bridge(&mut self, config: &Config) -> Option<BridgeConfig> {
        let (settings, used) = (&config.chains.bridge, bridge_is_used(config));
        let mut deployment: Deployment = match config.chains.base.network {
            BaseNetwork::Mainnet => MAINNET,
            BaseNetwork::Sepolia => TESTNET,
        };
        let own = [
            (
                "chains.bridge.token_messenger",
                &settings.token_messenger,
                &mut deployment.token_messenger,
            ),
            (
                "chains.bridge.message_transmitter",
                &settings.message_transmitter,
                &mut deployment.message_transmitter,
            ),
        ];
        for (key, text, address) in own {
            match parse_address(text) {
                _ if text.is_empty() => {}
                Some(own) => *address = own,
                None => self.reject(key, "is not an address on Base"),
            }
        }
        let Some(max_fee) = settings.max_fee() else {
            self.reject("chains.bridge.max_fee_bps", "must be basis points from 0 to 99");
            return None;
        };
        let own = &settings.iris_url;
        Some(BridgeConfig {
            used,
            iris: if own.is_empty() {
                deployment.iris.to_owned()
            } else {
                own.clone()
            },
            timeout: Duration::from_millis(settings.timeout_ms),
            cctp: CctpSettings {
                deployment,
                min_finality_threshold: match settings.finality {
                    BridgeFinality::Standard => THRESHOLD_STANDARD,
                    BridgeFinality::Fast => THRESHOLD_FAST,
                },
                max_fee,
            },
        })
    }
}
