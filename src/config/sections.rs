//! Typed settings sections. `config.toml` explains each setting; the units and types are here.

#![allow(
    missing_docs,
    reason = "config.toml, compiled in beside this, holds the comment of every setting"
)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use purser_actors::engine::PayoutSettings;
use purser_actors::entity::payout::RailTerms;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::{Cents, Usdc};
use purser_actors::operator::Role;
use purser_actors::product::{DailyCap, ProductLine};
use serde::Deserialize;

use purser_host::outbound::address_policy::AddressPolicy;

use super::agent_wallet::Outbound;
use super::chains::Location;
use super::proxies::{ForwardedHeader, IpNetwork};
use super::text;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    pub listen: SocketAddr,
    /// `listen` was not set, in the sandbox: if its port is taken, the next free one is used.
    #[serde(skip)]
    pub moves_on: bool,
    pub public_url: String,
    pub contact: String,
    pub max_body_bytes: usize,
    pub max_url_bytes: usize,
    pub max_header_bytes: usize,
    pub max_connections: u32,
    pub header_timeout_ms: u64,
    pub body_timeout_ms: u64,
    pub request_timeout_ms: u64,
    pub graceful_stop_seconds: u64,
    pub trusted_proxies: Vec<IpNetwork>,
    pub forwarded_header: ForwardedHeader,
}

impl Server {
    /// Base of published URLs, without a trailing slash. `bound` is the socket's real address; `listen` may be port 0.
    pub fn public_url(&self, bound: SocketAddr) -> String {
        if !self.public_url.is_empty() {
            return self.public_url.clone();
        }
        if bound.ip().is_unspecified() {
            return format!("http://localhost:{}", bound.port());
        }
        format!("http://{bound}")
    }

    /// Where account owners reach the operator, if the operator has said so.
    pub fn contact(&self) -> Option<&str> {
        Some(self.contact.as_str()).filter(|contact| !contact.is_empty())
    }

    pub fn body_timeout(&self) -> Duration {
        Duration::from_millis(self.body_timeout_ms)
    }

    pub fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }

    pub fn header_timeout(&self) -> Duration {
        Duration::from_millis(self.header_timeout_ms)
    }

    pub fn graceful_stop(&self) -> Duration {
        Duration::from_secs(self.graceful_stop_seconds)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    #[serde(deserialize_with = "text::address")]
    pub listen: Option<SocketAddr>,
    /// `listen` was not set: if its port is taken, the next free one is used.
    #[serde(skip)]
    pub moves_on: bool,
    pub allow_remote: bool,
    pub tokens: Vec<OperatorTokenConfig>,
    pub lease_seconds: u64,
    #[serde(deserialize_with = "text::usdc")]
    pub alone_max_usd: Usdc,
    #[serde(deserialize_with = "text::usdc")]
    pub alone_day_max_usd: Usdc,
    pub approval_open_hours: u64,
    pub webhook_url: String,
    pub webhook_allow_internal: bool,
    pub webhook_secret: Location,
}

impl Operator {
    /// Addresses that the operators' webhook may have. It has any port, because only the operator names it.
    pub fn webhook_policy(&self, outbound: &Outbound) -> AddressPolicy {
        let url: http::Uri = self.webhook_url.parse().unwrap_or_default();
        let web_port = if url.scheme_str() == Some("http") { 80 } else { 443 };
        let port = url.port_u16().unwrap_or(web_port);
        let mut listed = outbound.allowed_hosts.clone();
        if let Some(host) = url.host().filter(|_| self.webhook_allow_internal) {
            listed.push(format!("{host}:{port}"));
        }
        AddressPolicy::new(&[port], &listed)
    }
}

/// An operator with access to `/admin`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatorTokenConfig {
    pub name: String,
    #[serde(deserialize_with = "text::parsed")]
    pub role: Role,
    #[serde(deserialize_with = "text::sha256")]
    pub sha256: [u8; 32],
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    pub segment_bytes: u64,
    pub sync_spacing_ms: u64,
    pub snapshot_cache_bytes: u64,
    pub apply_bytes: u64,
    pub apply_interval_ms: u64,
    pub retention_days: u32,
    pub retention_bytes: u64,
    pub max_lag_bytes: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    pub max_active_entities: usize,
    pub passivate_after_ms: u64,
    pub max_paid_calls_in_flight: usize,
    pub max_paid_calls_per_payer: usize,
    pub settlement_timeout_ms: u64,
    pub response_timeout_ms: u64,
    pub initial_backoff_ms: u64,
    pub max_backoff_ms: u64,
    pub max_attempts: u32,
    pub chain_poll_interval_ms: u64,
    pub line_failures: u32,
    pub line_try_every_seconds: u64,
    pub late_after_minutes: u64,
    pub issuer_credit_timeout_seconds: u64,
    pub restore_pause_seconds: u64,
}

/// Library that recovers the signer of a payment on Base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SignatureRecovery {
    Secp256k1,
    K256,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payment {
    pub quote_ttl_seconds: u64,
    pub signature_recovery: SignatureRecovery,
    pub pay_to: PayTo,
}

/// The recipient on each network. The text is unchanged because challenges repeat an address exactly as configured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayTo {
    pub base: String,
    pub solana: String,
}

impl PayTo {
    /// The address as configured.
    pub fn text(&self, network: Network) -> &str {
        match network {
            Network::Base => &self.base,
            Network::Solana => &self.solana,
        }
    }

    /// As an address; `None` if it is not an address of that network.
    pub fn wallet(&self, network: Network) -> Option<Wallet> {
        self.text(network)
            .parse::<Wallet>()
            .ok()
            .filter(|w| w.network() == network)
    }
}

/// Implementation of settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettlementKind {
    Sandbox,
    Chains,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettlementConfig {
    pub kind: SettlementKind,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    pub issuer: String,
    pub audience: String,
    pub refresh_token_idle_seconds: u64,
    pub browser_session_seconds: u64,
    pub signing_key_file: PathBuf,
    pub vault_key_file: PathBuf,
    pub payment_token_can_read_cards: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    #[serde(deserialize_with = "text::cap")]
    pub requests_per_window: u32,
    pub window_seconds: u32,
    #[serde(deserialize_with = "text::cap")]
    pub payments_per_window: u32,
    pub max_tracked_callers: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    pub cards_per_day: u32,
    #[serde(deserialize_with = "text::cents")]
    pub card_usd_per_day: Cents,
    pub gift_cards_per_day: u32,
    #[serde(deserialize_with = "text::cents")]
    pub gift_card_usd_per_day: Cents,
    pub push_to_card_per_day: u32,
    #[serde(deserialize_with = "text::cents")]
    pub push_to_card_usd_per_day: Cents,
    pub bank_payments_per_day: u32,
    #[serde(deserialize_with = "text::cents")]
    pub bank_payment_usd_per_day: Cents,
    pub app_payments_per_day: u32,
    #[serde(deserialize_with = "text::cents")]
    pub app_payment_usd_per_day: Cents,
    pub top_ups_per_day: u32,
    #[serde(deserialize_with = "text::cents")]
    pub top_up_usd_per_day: Cents,
}

impl Caps {
    /// The caps for the engine. If neither limit of a cap is set, there is no cap; if one is set, the other is
    /// unlimited.
    pub fn daily_caps(&self) -> purser_actors::product::DailyCaps {
        let all = [
            (ProductLine::UsaCard, self.cards_per_day, self.card_usd_per_day),
            (
                ProductLine::GiftCard,
                self.gift_cards_per_day,
                self.gift_card_usd_per_day,
            ),
            (
                ProductLine::PushToCard,
                self.push_to_card_per_day,
                self.push_to_card_usd_per_day,
            ),
            (
                ProductLine::BankPayment,
                self.bank_payments_per_day,
                self.bank_payment_usd_per_day,
            ),
            (
                ProductLine::AppPayment,
                self.app_payments_per_day,
                self.app_payment_usd_per_day,
            ),
            (ProductLine::CardBalance, self.top_ups_per_day, self.top_up_usd_per_day),
        ];
        let set = all
            .into_iter()
            .filter(|(_, count, sum)| *count > 0 || *sum > Cents::ZERO);
        set.fold(purser_actors::product::DailyCaps::NONE, |caps, (line, count, sum)| {
            let count = if count == 0 { u32::MAX } else { count };
            let sum = if sum == Cents::ZERO { Cents::new(u64::MAX) } else { sum };
            caps.with(line, DailyCap { count, sum })
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    pub max_connections: usize,
    pub max_per_account: usize,
    pub auth_timeout_ms: u64,
    pub ping_interval_ms: u64,
    pub send_timeout_ms: u64,
    pub close_grace_ms: u64,
    pub buffer_bytes: usize,
    pub max_message_bytes: usize,
    #[serde(deserialize_with = "text::cap")]
    pub messages_per_minute: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    #[serde(deserialize_with = "text::usdc")]
    pub initial_balance_usdc: Usdc,
    pub card_issue_delay_ms: u64,
    pub gift_card_delay_ms: u64,
    pub identity_check_delay_ms: u64,
    pub payout_delay_ms: u64,
    pub settlement_delay_ms: u64,
    pub fee_payers: usize,
    pub final_ms: u64,
    pub bank_delay_ms: u64,
    pub attestation_delay_ms: u64,
    pub issuer_credit_delay_ms: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payouts {
    pub recipient_form_ttl_seconds: u64,
    pub unclaimed_ttl_seconds: u64,
    pub card_return_window_seconds: u64,
    pub bank_return_window_seconds: u64,
    pub app_return_window_seconds: u64,
    pub provider_poll_interval_seconds: u64,
    #[serde(deserialize_with = "text::usdc")]
    pub card_return_fee_usd: Usdc,
    #[serde(deserialize_with = "text::usdc")]
    pub bank_return_fee_usd: Usdc,
    #[serde(deserialize_with = "text::usdc")]
    pub app_return_fee_usd: Usdc,
}

impl Payouts {
    /// The rules of each rail.
    pub fn engine_settings(&self, timeout_ms: u64, told_every_ms: u64) -> PayoutSettings {
        let terms = |returns: u64, return_fee, wait: u64| RailTerms {
            returns_ms: returns.saturating_mul(1_000),
            return_fee,
            wait_ms: wait.saturating_mul(1_000),
        };
        PayoutSettings {
            push_to_card: terms(
                self.card_return_window_seconds,
                self.card_return_fee_usd,
                self.recipient_form_ttl_seconds,
            ),
            bank_payment: terms(self.bank_return_window_seconds, self.bank_return_fee_usd, 0),
            app_payment: terms(
                self.app_return_window_seconds,
                self.app_return_fee_usd,
                self.unclaimed_ttl_seconds,
            ),
            timeout_ms,
            poll_interval_ms: told_every_ms,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Availability {
    pub countries: Vec<String>,
}
