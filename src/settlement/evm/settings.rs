//! What the port for Base is told. The configuration is parsed elsewhere, into this.

use purser_actors::money::Usdc;
use purser_chains::evm::blocks::{Finality, MAX_REORG};
use purser_chains::evm::key::EvmKey;
use purser_chains::evm::multicall::{GasSettings, MAX_GAS};
use purser_chains::evm::node::FeePolicy;
use purser_chains::evm::nonces::NonceSettings;
use purser_chains::evm::{Address, U256};
use purser_chains::rpc::EndpointSettings;

/// A gwei, in wei.
const GWEI: u128 = 1_000_000_000;

/// USDC of one chain: where it is, and what its EIP-712 domain contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// Of the contract.
    pub address: Address,
    /// `USD Coin` on Base, `USDC` on Base Sepolia.
    pub name: String,
    /// `2` on both.
    pub version: String,
}

/// Up to which amount a payment is final at which depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalityStep {
    /// The highest amount of this step.
    pub up_to: Usdc,
    /// When a payment of it counts as final.
    pub finality: Finality,
}

/// Everything that the port is told.
#[derive(Debug)]
pub struct BaseSettings {
    /// EIP-155: 8453 on Base, 84532 on Base Sepolia.
    pub chain_id: u64,
    /// USDC there.
    pub token: TokenSettings,
    /// In the order of preference, at least one. A proof that a payment can never land needs two.
    pub endpoints: Vec<EndpointSettings>,
    /// Signs transfers out of the treasury; its address is where payments go. Pays no gas.
    pub treasury: EvmKey,
    /// Sign transactions and pay for gas; at least one unless [`Self::by_others`], none of them the treasury's.
    pub gas_keys: Vec<EvmKey>,
    /// Others, facilitators, may send payments: no gas key is needed then. Default: no.
    pub is_facilitated: bool,
    /// The port does not open while a gas key has less than this, in wei. Default 0.0005 ether.
    pub gas_floor: U256,
    /// Bounds of prices, `max_fee` is the cap. Default: priority fee 0.001 to 1 gwei, at most 5 gwei in all.
    pub fees: FeePolicy,
    /// Gas limits.
    pub gas: GasSettings,
    /// Nonces of one key that are in use at a time. Default 16.
    pub max_in_flight: usize,
    /// The same bytes are sent again after this, in milliseconds. Default 4,000.
    pub resend_ms: u64,
    /// What has not landed is replaced at a price of 12.5 % more after this, in milliseconds. Default 12,000.
    pub replace_ms: u64,
    /// A gap of nonces is filled after this, in milliseconds. Default 10,000.
    pub gap_ms: u64,
    /// As [`NonceSettings::doubt_ms`].
    pub nonce_conflict_ms: u64,
    /// By rising amounts; the last one holds for all above it too. Default: one block on top up to 100 USDC, then `safe`.
    pub finality: Vec<FinalityStep>,
    /// What proofs rest on: a nonce that is used at this level is used for good, an authorization that ran out unused at this
    /// level never lands. Default `safe`.
    pub proof: Finality,
    /// How often the newest block is asked for, in milliseconds. Default 500.
    pub poll_ms: u64,
    /// How often each gas key looks at its nonces, in milliseconds. Default 1,000.
    pub tick_ms: u64,
    /// How long a transfer out of the treasury may land after it was signed, in seconds. Default 300.
    pub signed_s: u64,
    /// The first block to read where none was read yet; without it the newest one at the first opening. A payment that landed
    /// before it is not found.
    pub start_block: Option<u64>,
    /// Wallets beside the treasury whose transfers are kept from the first block that is read: managed wallets. See also
    /// [`super::BaseSettlement::keep`]. Default: none.
    pub wallets: Vec<Address>,
    /// Contracts that may deploy a wallet together with its payment (ERC-6492). Default: none, such payments are declined.
    pub erc6492_factories: Vec<Address>,
    /// A payer whose transactions have cost this much gas without settling within an hour, in wei, is declined until the hour
    /// is over. Default 0.0002 ether.
    pub lost_gas_max: U256,
}

impl BaseSettings {
    /// With the defaults.
    pub fn new(
        chain_id: u64,
        token: TokenSettings,
        endpoints: Vec<EndpointSettings>,
        treasury: EvmKey,
        gas_keys: Vec<EvmKey>,
    ) -> Self {
        let milliether = U256::from(GWEI) * U256::from(1_000_000);
        Self {
            chain_id,
            token,
            endpoints,
            treasury,
            gas_keys,
            is_facilitated: false,
            gas_floor: milliether / U256::from(2),
            fees: FeePolicy {
                min_priority_fee: GWEI / 1_000,
                max_priority_fee: GWEI,
                max_fee: 5 * GWEI,
            },
            gas: GasSettings::default(),
            max_in_flight: 16,
            resend_ms: 4_000,
            replace_ms: 12_000,
            gap_ms: 10_000,
            nonce_conflict_ms: 30_000,
            finality: vec![
                FinalityStep {
                    up_to: Usdc::from_atomic(100_000_000),
                    finality: Finality::Blocks(1),
                },
                FinalityStep {
                    up_to: Usdc::from_atomic(u64::MAX),
                    finality: Finality::Safe,
                },
            ],
            proof: Finality::Safe,
            poll_ms: 500,
            tick_ms: 1_000,
            signed_s: 300,
            start_block: None,
            wallets: Vec::new(),
            erc6492_factories: Vec::new(),
            lost_gas_max: milliether / U256::from(5),
        }
    }

    /// What is wrong with them, by the name of the setting.
    ///
    /// # Errors
    /// The first that is.
    pub fn check(&self) -> Result<(), SettingError> {
        let deep = |finality| matches!(finality, Finality::Blocks(depth) if depth > MAX_REORG as u64);
        let gas_keys: Vec<Address> = self.gas_keys.iter().map(EvmKey::address).collect();
        let twice = |(n, address): (usize, &Address)| gas_keys[..n].contains(address);
        let rising = self.finality.windows(2).all(|pair| pair[0].up_to < pair[1].up_to);
        let wrong = [
            ("endpoints", self.endpoints.is_empty(), "none is given"),
            ("gas_keys", gas_keys.is_empty() && !self.is_facilitated, "none is given"),
            ("gas_keys", gas_keys.iter().enumerate().any(twice), "one is given twice"),
            (
                "gas_keys",
                gas_keys.contains(&self.treasury.address()),
                "one is the treasury's",
            ),
            ("finality", self.finality.is_empty(), "no step is given"),
            ("finality", !rising, "the amounts do not rise"),
            (
                "finality",
                self.finality.iter().any(|step| deep(step.finality)),
                "more than 64 blocks",
            ),
            ("proof", deep(self.proof), "more than 64 blocks"),
            (
                "proof",
                self.proof == Finality::Confirmed,
                "a block that may be replaced proves nothing",
            ),
            ("max_fee", self.fees.max_fee == 0, "nothing can be sent"),
            (
                "max_priority_fee",
                self.fees.min_priority_fee > self.fees.max_priority_fee,
                "below the least",
            ),
            ("gas", self.gas.transaction > MAX_GAS, "above 16,000,000"),
            ("max_in_flight", self.max_in_flight == 0, "nothing can be sent"),
            ("signed_s", self.signed_s == 0, "nothing can be paid out"),
        ];
        match wrong.into_iter().find(|(_, wrong, _)| *wrong) {
            Some((setting, _, why)) => Err(SettingError { setting, reason: why }),
            None => Ok(()),
        }
    }

    /// When a payment of this amount is final.
    pub fn finality_of(&self, amount: Usdc) -> Finality {
        let step = self.finality.iter().find(|step| amount <= step.up_to);
        step.or(self.finality.last())
            .map_or(Finality::Finalized, |step| step.finality)
    }

    /// For the nonces of each gas key.
    pub(super) const fn nonces(&self) -> NonceSettings {
        NonceSettings {
            max_in_flight: self.max_in_flight,
            resend_ms: self.resend_ms,
            replace_ms: self.replace_ms,
            gap_ms: self.gap_ms,
            conflict_ms: self.nonce_conflict_ms,
            max_fee: self.fees.max_fee,
        }
    }
}

/// A setting that no port opens with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{setting}`: {reason}")]
pub struct SettingError {
    /// A field of [`BaseSettings`].
    pub setting: &'static str,
    /// Why.
    pub reason: &'static str,
}
