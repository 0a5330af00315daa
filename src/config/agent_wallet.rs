//! Settings of agent wallets and of the calls that they pay for.

#![allow(
    missing_docs,
    reason = "config.toml, compiled in beside this, holds the comment of every setting"
)]

use std::time::Duration;

use purser_actors::entity::agent_wallet::WalletCaps;
use purser_actors::money::Cents;
use serde::Deserialize;

use super::text;
use purser_host::outbound::address_policy::AddressPolicy;
use purser_host::outbound::client::CallLimits;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentWalletConfig {
    #[serde(deserialize_with = "text::cents")]
    pub default_per_call_cap_usd: Cents,
    #[serde(deserialize_with = "text::cents")]
    pub default_daily_cap_usd: Cents,
    #[serde(deserialize_with = "text::cap")]
    pub max_calls_per_minute: u32,
}

impl AgentWalletConfig {
    /// Rate limit of an account's wallet payments and transfers.
    pub fn rate_limit(&self, of_service: &super::Limits) -> super::Limits {
        super::Limits {
            requests_per_window: self.max_calls_per_minute,
            window_seconds: 60,
            payments_per_window: 0,
            max_tracked_callers: of_service.max_tracked_callers,
        }
    }

    /// Caps of a new wallet until its owner sets others.
    pub fn default_caps(&self) -> WalletCaps {
        WalletCaps {
            per_call: self.default_per_call_cap_usd,
            per_day: (self.default_daily_cap_usd > Cents::ZERO).then_some(self.default_daily_cap_usd),
            approvals: false,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outbound {
    pub allowed_ports: Vec<u16>,
    pub allowed_hosts: Vec<String>,
    pub connect_timeout_ms: u64,
    pub response_timeout_ms: u64,
    pub max_response_body_bytes: usize,
    pub max_response_header_bytes: usize,
}

impl Outbound {
    pub fn policy(&self) -> AddressPolicy {
        AddressPolicy::new(&self.allowed_ports, &self.allowed_hosts)
    }

    pub const fn limits(&self) -> CallLimits {
        CallLimits {
            connect: Duration::from_millis(self.connect_timeout_ms),
            total: Duration::from_millis(self.response_timeout_ms),
            body_bytes: self.max_response_body_bytes,
            header_bytes: self.max_response_header_bytes,
        }
    }
}
