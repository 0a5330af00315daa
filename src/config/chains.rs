//! Settings of the real chains. They name the location of secrets and never contain them. `purser-settlement` reads the
//! secrets.

#![allow(
    missing_docs,
    reason = "config.toml, compiled in beside this, holds the comment of every setting"
)]

mod bridge;

use std::path::PathBuf;

use purser_actors::money::Usdc;
use rust_decimal::Decimal;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

pub use self::bridge::{Bridge, BridgeFinality, is_used as bridge_is_used};
use super::found::ConfigErrors;
use super::{Config, SettlementKind, text};
use purser_host::secret::Secret;

/// Maximum finality depth in blocks or slots: the chain followers store this many.
const MAX_FINALITY_BLOCKS: u64 = 64;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chains {
    pub base: Base,
    pub solana: Solana,
    pub bridge: Bridge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BaseNetwork {
    Mainnet,
    Sepolia,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SolanaNetwork {
    Mainnet,
    Devnet,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    pub network: BaseNetwork,
    pub chain_id: u64,
    pub usdc: String,
    pub usdc_name: String,
    pub usdc_version: String,
    pub endpoints: Vec<Endpoint>,
    pub treasury_key: Location,
    pub gas_keys: Vec<Location>,
    /// Converted to wei.
    #[serde(deserialize_with = "gwei")]
    pub max_fee_gwei: u128,
    /// Converted to wei.
    #[serde(deserialize_with = "gwei")]
    pub max_priority_fee_gwei: u128,
    /// Converted to wei.
    #[serde(deserialize_with = "ether")]
    pub gas_floor_eth: u128,
    pub finality: Vec<FinalityStep>,
    pub erc6492_factories: Vec<String>,
    pub facilitators: Vec<Facilitator>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Solana {
    pub network: SolanaNetwork,
    pub genesis_hash: String,
    pub usdc_mint: String,
    pub endpoints: Vec<Endpoint>,
    pub treasury_key: Location,
    pub fee_payers: Vec<Location>,
    pub max_priority_fee_lamports: u64,
    pub fee_payer_floor_lamports: u64,
    pub account_rent_max_lamports: u64,
    pub finality: Vec<FinalityStep>,
    pub facilitators: Vec<Facilitator>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub url: Location,
    #[serde(default = "rate")]
    pub rate: u32,
    #[serde(default = "burst")]
    pub burst: u32,
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u64,
}

const fn rate() -> u32 {
    25
}

const fn burst() -> u32 {
    50
}

const fn timeout_ms() -> u64 {
    5_000
}

/// A facilitator's timeout is longer than a node's: it waits for the chain.
const fn facilitator_timeout_ms() -> u64 {
    30_000
}

/// How we authenticate to a facilitator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FacilitatorAuth {
    #[default]
    None,
    /// A fixed value of `Authorization`.
    Header,
    /// A JWT of Coinbase's CDP for each call.
    Cdp,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facilitator {
    pub url: String,
    #[serde(default)]
    pub auth: FacilitatorAuth,
    #[serde(default)]
    pub key_id: String,
    #[serde(default)]
    pub secret: Location,
    #[serde(default = "facilitator_timeout_ms")]
    pub timeout_ms: u64,
}

/// Location of a secret: `file:` and a path, `env:` and the name of a variable, or the value itself. Debug output never
/// contains the value.
#[derive(Clone, Debug, Default)]
pub enum Location {
    #[default]
    Unset,
    /// In a file that only its owner may read.
    File(PathBuf),
    /// In an environment variable.
    Env(String),
    /// Written into the settings.
    Inline(Secret<String>),
}

impl Location {
    pub const fn is_set(&self) -> bool {
        !matches!(self, Self::Unset)
    }

    /// Whether the settings name a location instead of the value itself.
    pub const fn is_indirect(&self) -> bool {
        matches!(self, Self::File(_) | Self::Env(_))
    }
}

impl<'de> Deserialize<'de> for Location {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Ok(if text.is_empty() {
            Self::Unset
        } else if let Some(path) = text.strip_prefix("file:") {
            Self::File(path.into())
        } else if let Some(name) = text.strip_prefix("env:") {
            Self::Env(name.to_owned())
        } else {
            Self::Inline(Secret::new(text))
        })
    }
}

/// Depth from which a transfer is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Confirmed,
    /// Number of blocks (slots on Solana) on top.
    Blocks(u64),
    Safe,
    Finalized,
}

impl<'de> Deserialize<'de> for Depth {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        match (text.as_str(), text.parse()) {
            ("confirmed", _) => Ok(Self::Confirmed),
            ("safe", _) => Ok(Self::Safe),
            ("finalized", _) => Ok(Self::Finalized),
            (_, Ok(blocks @ 1..=MAX_FINALITY_BLOCKS)) => Ok(Self::Blocks(blocks)),
            _ => Err(D::Error::custom(format!(
                "{text:?} is none of: confirmed, safe, finalized, a number of blocks from 1 to {MAX_FINALITY_BLOCKS}"
            ))),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinalityStep {
    /// `None`: all amounts above the other steps.
    #[serde(default, deserialize_with = "optional_bound_usd")]
    pub up_to_usd: Option<Usdc>,
    pub depth: Depth,
}

fn optional_bound_usd<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Usdc>, D::Error> {
    text::usdc(from).map(Some)
}

/// Decimal text in units of 10^9 or 10^18 wei, as wei.
fn wei<'de, D: Deserializer<'de>>(from: D, places: u32) -> Result<u128, D::Error> {
    let text = String::deserialize(from)?;
    let wrong = || {
        D::Error::custom(format!(
            "{text:?} is not a plain decimal of at most {places} places, or too large"
        ))
    };
    let amount = Decimal::from_str_exact(&text).map_err(|_| wrong())?.normalize();
    if amount.is_sign_negative() || amount.scale() > places {
        return Err(wrong());
    }
    let digits = u128::try_from(amount.mantissa()).map_err(|_| wrong())?;
    let rest = 10_u128.checked_pow(places - amount.scale()).ok_or_else(wrong)?;
    digits.checked_mul(rest).ok_or_else(wrong)
}

fn gwei<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
    wei(from, 9)
}

fn ether<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
    wei(from, 18)
}

/// Checks that need neither a secret nor a node. Skipped unless `settlement.kind` is `chains`.
pub(super) fn check(config: &Config, found: &mut ConfigErrors) {
    if config.settlement.kind != SettlementKind::Chains {
        return;
    }
    bridge::check(config, found);
    let Chains { base, solana, .. } = &config.chains;
    let both = [
        (
            "chains.base",
            &base.endpoints,
            &base.treasury_key,
            &base.finality,
            &base.facilitators,
        ),
        (
            "chains.solana",
            &solana.endpoints,
            &solana.treasury_key,
            &solana.finality,
            &solana.facilitators,
        ),
    ];
    for (section, nodes, treasury, finality, facilitators) in both {
        let key = |setting: &str| format!("{section}.{setting}");
        endpoints(&key("endpoints"), nodes, found);
        secret(&key("treasury_key"), treasury, found);
        steps(&key("finality"), finality, found);
        for (n, facilitator) in facilitators.iter().enumerate() {
            facilitator_fits(&format!("{section}.facilitators[{n}]"), facilitator, found);
        }
    }
    let keys = [
        ("chains.base.gas_keys", &base.gas_keys, base.facilitators.is_empty()),
        (
            "chains.solana.fee_payers",
            &solana.fee_payers,
            solana.facilitators.is_empty(),
        ),
    ];
    for (key, own, alone) in keys {
        found.require(
            !own.is_empty() || !alone,
            key,
            "set at least one key or one facilitator to pay for transactions",
        );
        for (n, location) in own.iter().enumerate() {
            secret(&format!("{key}[{n}]"), location, found);
        }
    }
    found.require(base.max_fee_gwei > 0, "chains.base.max_fee_gwei", "must be above zero");
    found.require(
        base.max_priority_fee_gwei <= base.max_fee_gwei,
        "chains.base.max_priority_fee_gwei",
        "must be at most chains.base.max_fee_gwei",
    );
    found.require(
        solana.finality.iter().all(|step| step.depth != Depth::Safe),
        "chains.solana.finality",
        "Solana has no level `safe`: take confirmed, a number of slots, or finalized",
    );
}

fn endpoints(key: &str, nodes: &[Endpoint], found: &mut ConfigErrors) {
    found.require(
        !nodes.is_empty(),
        key.to_owned(),
        "name at least one JSON-RPC endpoint, preferably three",
    );
    for (n, node) in nodes.iter().enumerate() {
        let is_good = node.url.is_set() && node.rate > 0 && node.burst > 0 && node.timeout_ms > 0;
        found.require(
            is_good,
            format!("{key}[{n}]"),
            "needs a url (https://…, file:… or env:…), and rate, burst and timeout_ms above zero",
        );
    }
}

fn secret(key: &str, location: &Location, found: &mut ConfigErrors) {
    found.require(
        location.is_indirect(),
        key.to_owned(),
        "name where the key is, as file:<path> (mode 0600) or env:<variable>; keys are not written into settings",
    );
}

/// The steps in order cover all amounts, and a larger amount never needs less depth.
fn steps(key: &str, finality: &[FinalityStep], found: &mut ConfigErrors) {
    let bounds: Vec<_> = finality.iter().map(|step| step.up_to_usd).collect();
    let rising = bounds.windows(2).all(|pair| match pair {
        [Some(one), Some(next)] => one < next,
        [one, _] => one.is_some(),
        _ => true,
    });
    found.require(
        rising && bounds.last().is_some_and(Option::is_none),
        key.to_owned(),
        "up_to_usd must rise from step to step, and the last step must have none: it holds for every higher amount",
    );
}

fn facilitator_fits(key: &str, facilitator: &Facilitator, found: &mut ConfigErrors) {
    match reqwest::Url::parse(&facilitator.url) {
        Ok(url) => super::provider_url::check_provider_url(&url, &format!("{key}.url"), found),
        Err(error) => found.require(false, format!("{key}.url"), &error.to_string()),
    }
    let (secret, id) = (facilitator.secret.is_indirect(), !facilitator.key_id.is_empty());
    let fits = match facilitator.auth {
        FacilitatorAuth::None => !facilitator.secret.is_set() && !id,
        FacilitatorAuth::Header => secret && !id,
        FacilitatorAuth::Cdp => secret && id,
    };
    found.require(
        fits,
        format!("{key}.auth"),
        "`none` has no secret, `header` a secret, `cdp` a secret and a key_id; the secret is named as file:… or env:…",
    );
    found.require(
        facilitator.timeout_ms > 0,
        format!("{key}.timeout_ms"),
        "must be at least 1",
    );
}

#[cfg(test)]
mod tests;
