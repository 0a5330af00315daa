//! Settings of the port for Base. The configuration is parsed in another module, into these types.

use purser_actors::money::Usdc;
use purser_chains::evm::blocks::{Finality, MAX_REORG};
use purser_chains::evm::key::EvmKey;
use purser_chains::evm::multicall::{GasSettings, MAX_GAS};
use purser_chains::evm::node::FeePolicy;
use purser_chains::evm::nonces::NonceSettings;
use purser_chains::evm::{Address, U256};
use purser_chains::rpc::EndpointSettings;

/// One gwei, in wei.
const GWEI: u128 = 1_000_000_000;

/// The USDC contract of one chain, and the content of its EIP-712 domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// Address of the contract.
    pub address: Address,
    /// EIP-712 name: `USD Coin` on Base, `USDC` on Base Sepolia.
    pub name: String,
    /// EIP-712 version: `2` on both.
    pub version: String,
}

/// The finality depth up to an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalityStep {
    /// Highest amount of this step, inclusive.
    pub up_to: Usdc,
    /// When a payment up to this amount counts as final.
    pub finality: Finality,
}

/// All settings of the port.
#[derive(Debug)]
pub struct BaseSettings {
    /// EIP-155 chain id: 8453 on Base, 84532 on Base Sepolia.
    pub chain_id: u64,
    /// The USDC contract on this chain.
    pub token: TokenSettings,
    /// Endpoints in order of preference, at least one. A proof that a payment can never settle needs two.
    pub endpoints: Vec<EndpointSettings>,
    /// Signs transfers out of the treasury. Its address receives the payments. Pays no gas.
    pub treasury: EvmKey,
    /// Keys that sign transactions and pay for gas. At least one is needed unless [`Self::is_facilitated`]; none may be
    /// the treasury's.
    pub gas_keys: Vec<EvmKey>,
    /// Facilitators may send payments: no gas key is needed then. Default: no.
    pub is_facilitated: bool,
    /// The port does not open while a gas key has less than this, in wei. Default 0.0005 ether.
    pub gas_floor: U256,
    /// Bounds of gas prices; `max_fee` is the cap. Default: priority fee 0.001 to 1 gwei, at most 5 gwei in total.
    pub fees: FeePolicy,
    pub gas: GasSettings,
    /// Maximum number of nonces of one key in use at a time. Default 16.
    pub max_in_flight: usize,
    /// The same bytes are sent again after this, in milliseconds. Default 4,000.
    pub resend_ms: u64,
    /// A transaction that is not included is replaced at a price 12.5 % higher after this, in milliseconds. Default
    /// 12,000.
    pub replace_ms: u64,
    /// A gap of nonces is filled after this, in milliseconds. Default 10,000.
    pub gap_ms: u64,
    /// Same as [`NonceSettings::conflict_ms`].
    pub nonce_conflict_ms: u64,
    /// Finality by rising amounts; the last step also applies to all larger amounts. Default: one block on top up to
    /// 100 USDC, then `safe`.
    pub finality: Vec<FinalityStep>,
    /// The finality on which proofs rest. A nonce used at this level is used permanently; an authorization that expired
    /// unused at this level can never settle. Default `safe`.
    pub proof: Finality,
    /// How often the newest block is requested, in milliseconds. Default 500.
    pub poll_ms: u64,
    /// How often each gas key checks its nonces, in milliseconds. Default 1,000.
    pub tick_ms: u64,
    /// Validity of a signed transfer out of the treasury, in seconds. Default 300.
    pub signed_s: u64,
    /// First block to read on an empty store. By default the newest block at the first opening. Payments that settled
    /// before it are not found.
    pub start_block: Option<u64>,
    /// Wallets other than the treasury whose transfers are recorded from the first block that is read: managed wallets.
    /// See also [`super::BaseSettlement::track_wallets`]. Default: none.
    pub wallets: Vec<Address>,
    /// Contracts that may deploy a wallet together with its payment (ERC-6492). Default: none; such payments are
    /// declined.
    pub erc6492_factories: Vec<Address>,
    /// Gas limit for failed payments of one payer per hour, in wei. A payer above it is declined until the hour is
    /// over. Default 0.0002 ether.
    pub lost_gas_max: U256,
}

impl BaseSettings {
    /// Settings with the default values.
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

    /// Validates the settings.
    ///
    /// # Errors
    /// The first invalid setting, by name.
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
            Some((setting, _, reason)) => Err(SettingError { setting, reason }),
            None => Ok(()),
        }
    }

    /// The finality required for a payment of this amount.
    pub fn finality_of(&self, amount: Usdc) -> Finality {
        let step = self.finality.iter().find(|step| amount <= step.up_to);
        step.or(self.finality.last())
            .map_or(Finality::Finalized, |step| step.finality)
    }

    /// Nonce settings of each gas key.
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

/// A setting with which the port cannot open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{setting}`: {reason}")]
pub struct SettingError {
    /// The field of [`BaseSettings`].
    pub setting: &'static str,
    /// Why the value is invalid.
    pub reason: &'static str,
}
