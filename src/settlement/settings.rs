//! Resolved settings of the real chains, with keys read and presets filled in, for opening the settlement ports.
//! Nothing here queries a node; [`super::check`] does.

mod bridge;
mod facilitators;
mod factories;
mod keys;

use std::fmt::Display;
use std::time::Duration;

use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_chains::evm::blocks::Finality;
use purser_chains::evm::key::EvmKey;
use purser_chains::evm::node::FeePolicy;
use purser_chains::evm::{Address, U256};
use purser_chains::rpc::{EndpointSettings, EndpointUrl};
use purser_chains::solana::keypair::Keypair;

use super::facilitator::FacilitatorSettings;
use purser_config::chains::{BaseNetwork, Depth, Endpoint, FinalityStep, SolanaNetwork};
use purser_config::{Config, ConfigError, InvalidSetting};
use purser_protocol::payment::evm::parse_address;
use purser_protocol::payment::solana::address::{Pubkey, parse as parse_pubkey};
use purser_protocol::payment::{BaseChain, Chains, SolanaChain, Token};
use purser_protocol::sandbox_keys::reject_outside_sandbox;

pub use self::bridge::BridgeConfig;
pub use self::keys::parse_evm_key;

/// Minimum priority fee on Base: 0.001 gwei, in wei.
const MIN_PRIORITY_FEE: u128 = 1_000_000;

/// Configuration of the port for Base.
#[derive(Debug)]
pub struct BaseConfig {
    /// Chain id and token.
    pub chain: BaseChain,
    /// Endpoints in order of preference, at least one.
    pub endpoints: Vec<EndpointSettings>,
    /// Signs withdrawals. Its address receives the payments.
    pub treasury: EvmKey,
    /// Keys that sign transactions and pay for gas; may be empty if there is a facilitator.
    pub gas_keys: Vec<EvmKey>,
    /// Bounds of the gas price, in wei.
    pub fees: FeePolicy,
    /// Minimum balance of a gas key, in wei.
    pub gas_floor: U256,
    /// Finality by rising amounts; the last step also applies to all larger amounts.
    pub finality: Vec<(Usdc, Finality)>,
    /// Contracts that may deploy a wallet together with its payment (ERC-6492).
    pub erc6492_factories: Vec<Address>,
    /// Facilitators in order of preference.
    pub facilitators: Vec<FacilitatorSettings>,
}

/// Configuration of the port for Solana.
#[derive(Debug)]
pub struct SolanaConfig {
    /// Genesis hash and token.
    pub chain: SolanaChain,
    /// Endpoints in order of preference, at least one.
    pub endpoints: Vec<EndpointSettings>,
    /// Signs withdrawals. Its address owns the token account that receives payments.
    pub treasury: Keypair,
    /// Keys that co-sign payments and pay their fees; may be empty if there is a facilitator.
    pub fee_payers: Vec<Keypair>,
    /// Maximum priority fee of a payment, in lamports.
    pub max_priority_fee: u64,
    /// Minimum balance of a fee payer, in lamports.
    pub fee_payer_floor: u64,
    /// Maximum rent for the token account of a withdrawal's recipient, in lamports; 0 creates none.
    pub account_rent_max: u64,
    /// Finality by rising amounts; the last step also applies to all larger amounts. Never [`Depth::Safe`].
    pub finality: Vec<(Usdc, Depth)>,
    /// Facilitators in order of preference.
    pub facilitators: Vec<FacilitatorSettings>,
}

/// Configuration of both chains and of the bridge.
#[derive(Debug)]
pub struct RealChains {
    /// Configuration of Base.
    pub base: BaseConfig,
    /// Configuration of Solana.
    pub solana: SolanaConfig,
    /// Configuration of the bridge between them.
    pub bridge: BridgeConfig,
}

impl RealChains {
    /// Reads the keys that the settings name. `variable` reads an environment variable.
    ///
    /// # Errors
    /// Every invalid setting, by name. No text quotes a secret.
    pub fn resolve(config: &Config, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, InvalidSetting> {
        let mut reader = Reader {
            variable,
            errors: Vec::new(),
        };
        let (base, solana, bridge) = (reader.base(config), reader.solana(config), reader.bridge(config));
        match (base, solana, bridge, reader.errors.is_empty()) {
            (Some(base), Some(solana), Some(bridge), true) => Ok(Self { base, solana, bridge }),
            _ => Err(InvalidSetting(reader.errors)),
        }
    }

    /// Ids, names and tokens of both chains.
    pub const fn names(&self) -> Chains {
        Chains {
            base: self.base.chain,
            solana: self.solana.chain,
        }
    }
}

/// Ids, names and tokens of the configured real chains. Reads no key.
///
/// # Errors
/// Every invalid one of these settings.
pub fn names(config: &Config) -> Result<Chains, InvalidSetting> {
    let mut reader = Reader {
        variable: &|_| None,
        errors: Vec::new(),
    };
    match (
        reader.base_chain(config),
        reader.solana_chain(config),
        reader.errors.is_empty(),
    ) {
        (Some(base), Some(solana), true) => Ok(Chains { base, solana }),
        _ => Err(InvalidSetting(reader.errors)),
    }
}

struct Reader<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    errors: Vec<ConfigError>,
}

impl Reader<'_> {
    fn reject(&mut self, key: impl Into<String>, reason: impl Display) {
        self.errors.push(ConfigError::Rejected {
            key: key.into().into(),
            reason: reason.to_string(),
        });
    }

    fn base(&mut self, config: &Config) -> Option<BaseConfig> {
        let settings = &config.chains.base;
        let chain = self.base_chain(config);
        let endpoints = self.endpoints("chains.base.endpoints", &settings.endpoints);
        let treasury = self.evm_key("chains.base.treasury_key", &settings.treasury_key);
        let mut gas_keys: Vec<EvmKey> = Vec::new();
        for (n, location) in settings.gas_keys.iter().enumerate() {
            let key = format!("chains.base.gas_keys[{n}]");
            let Some(own) = self.evm_key(&key, location) else {
                continue;
            };
            let is_treasurys = treasury
                .as_ref()
                .is_some_and(|treasury| treasury.address() == own.address());
            if is_treasurys {
                self.reject(key, "is the treasury's key: gas is paid by another one");
            } else if gas_keys.iter().any(|other| other.address() == own.address()) {
                self.reject(key, format!("is named twice: {}", own.address()));
            } else {
                gas_keys.push(own);
            }
        }
        let facilitators = self.facilitators("chains.base.facilitators", &settings.facilitators);
        let treasury = treasury?;
        self.check_treasury_signer(
            "chains.base.treasury_key",
            config,
            Wallet::Evm(treasury.address().into()),
        );
        Some(BaseConfig {
            chain: chain?,
            endpoints,
            treasury,
            gas_keys,
            fees: FeePolicy {
                min_priority_fee: MIN_PRIORITY_FEE.min(settings.max_priority_fee_gwei),
                max_priority_fee: settings.max_priority_fee_gwei,
                max_fee: settings.max_fee_gwei,
            },
            gas_floor: U256::from(settings.gas_floor_eth),
            finality: steps(&settings.finality, |depth| match depth {
                Depth::Confirmed => Finality::Confirmed,
                Depth::Blocks(blocks) => Finality::Blocks(blocks),
                Depth::Safe => Finality::Safe,
                Depth::Finalized => Finality::Finalized,
            }),
            erc6492_factories: self.factories(&settings.erc6492_factories),
            facilitators,
        })
    }

    fn solana(&mut self, config: &Config) -> Option<SolanaConfig> {
        let settings = &config.chains.solana;
        let chain = self.solana_chain(config);
        let endpoints = self.endpoints("chains.solana.endpoints", &settings.endpoints);
        let treasury = self.keypair("chains.solana.treasury_key", &settings.treasury_key);
        let mut fee_payers: Vec<Keypair> = Vec::new();
        for (n, location) in settings.fee_payers.iter().enumerate() {
            let key = format!("chains.solana.fee_payers[{n}]");
            let Some(own) = self.keypair(&key, location) else {
                continue;
            };
            let address = Wallet::Solana(own.address()).address();
            let published = reject_outside_sandbox(false, [(key.as_str(), address.as_str())]);
            if let Err(error) = published {
                self.reject(key, error);
            } else if treasury
                .as_ref()
                .is_some_and(|treasury| treasury.address() == own.address())
            {
                self.reject(key, "is the treasury's key: fees are paid by another one");
            } else if fee_payers.iter().any(|other| other.address() == own.address()) {
                self.reject(key, format!("is named twice: {address}"));
            } else {
                fee_payers.push(own);
            }
        }
        let facilitators = self.facilitators("chains.solana.facilitators", &settings.facilitators);
        let treasury = treasury?;
        self.check_treasury_signer("chains.solana.treasury_key", config, Wallet::Solana(treasury.address()));
        Some(SolanaConfig {
            chain: chain?,
            endpoints,
            treasury,
            fee_payers,
            max_priority_fee: settings.max_priority_fee_lamports,
            fee_payer_floor: settings.fee_payer_floor_lamports,
            account_rent_max: settings.account_rent_max_lamports,
            finality: steps(&settings.finality, |depth| depth),
            facilitators,
        })
    }

    /// The key that signs withdrawals must own the address that receives payments.
    fn check_treasury_signer(&mut self, key: &str, config: &Config, signer: Wallet) {
        let pay_to = config.payment.pay_to.wallet(signer.network());
        if pay_to != Some(signer) {
            let network = signer.network().name();
            let reason = format!("is the key of {}, not of payment.pay_to.{network}", signer.address());
            self.reject(key, reason);
        }
    }

    fn base_chain(&mut self, config: &Config) -> Option<BaseChain> {
        let settings = &config.chains.base;
        let mut chain = match settings.network {
            BaseNetwork::Mainnet => BaseChain::MAINNET,
            BaseNetwork::Sepolia => BaseChain::SEPOLIA,
        };
        let Token {
            name,
            version,
            chain_id,
            asset,
            ..
        } = &mut chain.token;
        if !settings.usdc.is_empty() {
            let Some(usdc) = parse_address(&settings.usdc) else {
                self.reject("chains.base.usdc", "is not an address on Base");
                return None;
            };
            *asset = usdc;
        }
        if settings.chain_id != 0 && settings.chain_id != *chain_id {
            *chain_id = settings.chain_id;
            chain.caip2 = static_str(format!("eip155:{chain_id}"));
            chain.v1_name = "";
        }
        for (own, preset) in [(&settings.usdc_name, name), (&settings.usdc_version, version)] {
            if !own.is_empty() && own != preset {
                *preset = static_str(own.clone());
            }
        }
        chain.token.currency = chain.token.asset;
        let sandboxes = chain.token.name == Token::SANDBOX.name;
        if sandboxes {
            self.reject(
                "chains.base.usdc_name",
                "is the sandbox's token, which is worth nothing",
            );
        }
        Some(chain)
    }

    fn solana_chain(&mut self, config: &Config) -> Option<SolanaChain> {
        let settings = &config.chains.solana;
        let mut chain = match settings.network {
            SolanaNetwork::Mainnet => SolanaChain::MAINNET,
            SolanaNetwork::Devnet => SolanaChain::DEVNET,
        };
        if !settings.usdc_mint.is_empty() {
            let Some(mint) = parse_pubkey(&settings.usdc_mint) else {
                self.reject("chains.solana.usdc_mint", "is not an address on Solana");
                return None;
            };
            chain.mint = mint;
        }
        let own = &settings.genesis_hash;
        if !own.is_empty() && own != chain.genesis_hash {
            let hash: Option<Pubkey> = parse_pubkey(own);
            let reference = own.get(..32).filter(|_| hash.is_some());
            let Some(reference) = reference else {
                self.reject("chains.solana.genesis_hash", "is not 32 bytes in base58");
                return None;
            };
            chain.caip2 = static_str(format!("solana:{reference}"));
            chain.genesis_hash = static_str(own.clone());
            chain.v1_name = "";
        }
        Some(chain)
    }

    fn endpoints(&mut self, key: &str, nodes: &[Endpoint]) -> Vec<EndpointSettings> {
        let mut found: Vec<EndpointSettings> = Vec::new();
        for (n, node) in nodes.iter().enumerate() {
            let key = format!("{key}[{n}].url");
            let Some(text) = self.text(&key, &node.url) else {
                continue;
            };
            match EndpointUrl::parse(text.trim()) {
                Err(error) => self.reject(key, error),
                Ok(url) if found.iter().any(|other| other.url == url) => {
                    self.reject(key, format!("is named twice: {}", url.host()));
                }
                Ok(url) => found.push(EndpointSettings {
                    timeout: Duration::from_millis(node.timeout_ms),
                    rate: node.rate,
                    burst: node.burst,
                    ..EndpointSettings::new(url)
                }),
            }
        }
        found
    }
}

/// Highest amount and depth of each step.
fn steps<T>(finality: &[FinalityStep], depth: impl Fn(Depth) -> T) -> Vec<(Usdc, T)> {
    let all = Usdc::from_atomic(u64::MAX);
    let step = |step: &FinalityStep| (step.up_to_usd.unwrap_or(all), depth(step.depth));
    finality.iter().map(step).collect()
}

/// Chain names live as long as the process: settings are read once.
fn static_str(text: String) -> &'static str {
    text.leak()
}

#[cfg(test)]
mod tests;
