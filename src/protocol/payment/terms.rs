//! The terms of a payment: an amount of USDC, to one payee, on one network.
//!
//! Everything constant about a payee (addresses, EIP-712 domain, token account, JSON text) is computed when it is
//! built, at startup. Challenges and verification only read it.

use std::fmt::Write as _;
use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;

use super::chains::{BaseChain, Chains, SolanaChain};
use super::challenge::push_json_string;
use super::evm::{checksummed, domain_separator};
use super::solana::address::{Pubkey, associated_token_account, base58, constant, is_unowned};

/// USDC on Base mainnet.
pub const BASE_USDC: [u8; 20] = [
    0x83, 0x35, 0x89, 0xfc, 0xd6, 0xed, 0xb6, 0xe0, 0x8f, 0x4c, 0x7c, 0x32, 0xd4, 0xf7, 0x1b, 0x54, 0xbd, 0xa0, 0x29,
    0x13,
];

/// USDC on Base Sepolia.
pub const SEPOLIA_USDC: [u8; 20] = [
    0x03, 0x6c, 0xbd, 0x53, 0x84, 0x2c, 0x54, 0x26, 0x63, 0x4e, 0x79, 0x29, 0x54, 0x1e, 0xc2, 0x31, 0x8f, 0x3d, 0xcf,
    0x7e,
];

/// Address of the sandbox's test token on Base. No contract exists there: it is the last 20 bytes of the hash of the
/// token's name. Stock MPP clients sign under the name that they associate with an address, whatever the challenge
/// says. For an unknown address they do not sign at all.
pub const SANDBOX_USDC: [u8; 20] = [
    0x97, 0xdd, 0x8e, 0x33, 0x92, 0xed, 0xb7, 0xff, 0xb4, 0xaa, 0x1e, 0x4e, 0x8d, 0x65, 0x33, 0x14, 0xd1, 0xd2, 0x60,
    0x20,
];

/// Whether USDC can be sent to an address. The token rejects the zero address and its own. On Solana there are no keys
/// for either, for programs or for the chain's own accounts. What is sent to them never arrives or is lost. This is the
/// only rule for user-supplied recipient addresses.
pub fn can_own_usdc(address: &Wallet) -> bool {
    match address {
        Wallet::Evm(address) => {
            let asset = Chains::configured().base.token.asset;
            ![[0; 20], BASE_USDC, SANDBOX_USDC, asset].contains(address)
        }
        Wallet::Solana(address) => {
            ![SOLANA_USDC, Chains::configured().solana.mint].contains(address) && !is_unowned(address)
        }
    }
}

/// How signatures name a token on Base: name and version of its EIP-712 domain, and the contract that a challenge
/// names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub name: &'static str,
    pub version: &'static str,
    /// EIP-712 chain id, equal to the chain's own (EIP-155).
    pub chain_id: u64,
    /// Its contract in an x402 challenge, which also contains the name.
    pub asset: [u8; 20],
    /// Its contract in an MPP challenge, which contains no name.
    pub currency: [u8; 20],
}

impl Token {
    /// USDC on Base mainnet.
    pub const USDC: Self = Self {
        name: "USD Coin",
        version: "2",
        chain_id: BASE_CHAIN_ID,
        asset: BASE_USDC,
        currency: BASE_USDC,
    };
    /// USDC on Base Sepolia, where its name differs from mainnet.
    pub const SEPOLIA: Self = Self {
        name: "USDC",
        version: "2",
        chain_id: 84_532,
        asset: SEPOLIA_USDC,
        currency: SEPOLIA_USDC,
    };
    /// The sandbox's test money. A signature for it is worthless on the real chain: no contract there has both the name
    /// and the address.
    pub const SANDBOX: Self = Self {
        name: "Purser Sandbox USDC",
        version: "2",
        chain_id: BASE_CHAIN_ID,
        asset: BASE_USDC,
        currency: SANDBOX_USDC,
    };

    /// The token that an MPP challenge names.
    pub fn charged(currency: &[u8; 20]) -> Option<Self> {
        [Self::USDC, Self::SANDBOX, Self::SEPOLIA]
            .into_iter()
            .find(|token| token.currency == *currency)
    }

    /// EIP-712 domain separator of x402 payments.
    pub fn domain(&self) -> [u8; 32] {
        domain_separator(self.name, self.version, self.chain_id, &self.asset)
    }

    /// EIP-712 domain separator of MPP payments.
    pub fn mpp_domain(&self) -> [u8; 32] {
        domain_separator(self.name, self.version, self.chain_id, &self.currency)
    }
}

pub const BASE_CHAIN_ID: u64 = 8453;

/// USDC on Solana mainnet.
pub const SOLANA_USDC: Pubkey = constant(b"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v");

/// Receives USDC on Base.
#[derive(Debug)]
pub struct BasePayee {
    pub pay_to: [u8; 20],
    /// The token's contract.
    pub asset: [u8; 20],
    /// CAIP-2 name of the chain.
    pub caip2: &'static str,
    /// Chain id of EIP-155.
    pub chain_id: u64,
    /// EIP-712 name of the token: `USD Coin` on Base mainnet.
    pub name: String,
    /// EIP-712 version of the token.
    pub version: String,
    /// EIP-712 domain separator, computed from the four fields of the domain.
    pub domain_separator: [u8; 32],
    /// Domain separator of MPP payments.
    pub mpp_domain_separator: [u8; 32],
    /// Contracts that may deploy a wallet that pays before it exists (ERC-6492).
    pub erc6492_factories: Vec<[u8; 20]>,
    pub(super) json: PayeeJson,
    /// An MPP request from the end of the amount's digits on.
    pub(super) mpp: String,
}

impl BasePayee {
    /// Our address on Base mainnet, paid in its USDC.
    pub fn usdc(pay_to: [u8; 20]) -> Self {
        Self::on(&BaseChain::MAINNET, pay_to)
    }

    /// `pay_to` in the sandbox, paid in its test money.
    pub fn sandbox(pay_to: [u8; 20]) -> Self {
        Self::on(&BaseChain::SANDBOX, pay_to)
    }

    /// Our address on a chain, paid in its USDC.
    pub fn on(chain: &BaseChain, pay_to: [u8; 20]) -> Self {
        let BaseChain { caip2, token, .. } = *chain;
        let Token {
            name,
            version,
            chain_id,
            asset,
            currency,
        } = token;
        let mut extra = String::from("{\"name\":");
        push_json_string(&mut extra, name);
        extra.push_str(",\"version\":");
        push_json_string(&mut extra, version);
        let (charged, recipient) = (checksummed(&currency), checksummed(&pay_to));
        let json = PayeeJson::new(caip2, &checksummed(&asset), &recipient, extra);
        // Members in the order of RFC 8785: clients serialize them in that order.
        let mpp = format!(
            "\",\"currency\":\"{charged}\",\"methodDetails\":{{\"chainId\":{chain_id},\
             \"credentialTypes\":[\"authorization\"],\"decimals\":6}},\"recipient\":\"{recipient}\"}}"
        );
        Self {
            pay_to,
            asset,
            caip2,
            chain_id,
            name: name.to_owned(),
            version: version.to_owned(),
            domain_separator: token.domain(),
            mpp_domain_separator: token.mpp_domain(),
            erc6492_factories: Vec::new(),
            json,
            mpp,
        }
    }
}

impl BasePayee {
    /// Sets the allowed wallet factories (ERC-6492).
    #[must_use]
    pub fn with_factories(self, erc6492_factories: Vec<[u8; 20]>) -> Self {
        Self {
            erc6492_factories,
            ..self
        }
    }
}

/// Receives USDC on Solana.
#[derive(Debug)]
pub struct SolanaPayee {
    /// Owner of the token account that is paid.
    pub pay_to: Pubkey,
    pub mint: Pubkey,
    /// CAIP-2 name of the chain.
    pub caip2: &'static str,
    /// Our keys that co-sign and pay the fee, at least one. A challenge names one of them; a payment may use any.
    pub fee_payers: Vec<Pubkey>,
    /// The associated token account of `pay_to`.
    pub destination: Pubkey,
    /// If set, the payment must carry exactly this memo.
    pub memo: Option<String>,
    /// One per fee payer.
    pub(super) json: Vec<PayeeJson>,
}

impl SolanaPayee {
    /// Our address on Solana mainnet with one fee payer, paid in its USDC. `None` as for [`SolanaPayee::on`].
    pub fn usdc(pay_to: Pubkey, fee_payer: Pubkey, memo: Option<&str>) -> Option<Self> {
        Self::on(&SolanaChain::MAINNET, pay_to, &[fee_payer], memo)
    }

    /// Our address on a chain, paid in its USDC. `None` without a fee payer, or if no token account can be derived for
    /// the owner, which has a chance of about 2^-255.
    pub fn on(chain: &SolanaChain, pay_to: Pubkey, fee_payers: &[Pubkey], memo: Option<&str>) -> Option<Self> {
        let SolanaChain { caip2, mint, .. } = *chain;
        let destination = associated_token_account(&pay_to, &mint)?;
        let json = |fee_payer: &Pubkey| {
            let mut extra = format!("{{\"feePayer\":\"{}\"", base58(fee_payer));
            if let Some(memo) = memo {
                extra.push_str(",\"memo\":");
                push_json_string(&mut extra, memo);
            }
            PayeeJson::new(caip2, &base58(&mint), &base58(&pay_to), extra)
        };
        (!fee_payers.is_empty()).then(|| Self {
            pay_to,
            mint,
            caip2,
            fee_payers: fee_payers.to_vec(),
            destination,
            memo: memo.map(str::to_owned),
            json: fee_payers.iter().map(json).collect(),
        })
    }

    /// The text for this fee payer. An unknown fee payer gets the text of the first one.
    pub(super) fn json_for(&self, fee_payer: Option<&Pubkey>) -> Option<&PayeeJson> {
        let index = fee_payer.and_then(|key| self.fee_payers.iter().position(|own| own == key));
        self.json.get(index.unwrap_or(0))
    }
}

/// The constant text of an `accepts` entry.
#[derive(Debug)]
pub(super) struct PayeeJson {
    /// From the beginning to the amount's digits.
    pub(super) before: String,
    /// From the end of the amount's digits to the digits of `maxTimeoutSeconds`.
    pub(super) middle: String,
    /// From there to the end of `extra`, whose closing brace is left out because a blockhash may follow.
    pub(super) extra: String,
}

impl PayeeJson {
    fn new(caip2: &str, asset: &str, pay_to: &str, open_extra: String) -> Self {
        let before = format!("{{\"scheme\":\"exact\",\"network\":\"{caip2}\",\"amount\":\"");
        let middle = format!("\",\"asset\":\"{asset}\",\"payTo\":\"{pay_to}\",\"maxTimeoutSeconds\":");
        Self {
            before,
            middle,
            extra: format!(",\"extra\":{open_extra}"),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Payee {
    Base(Arc<BasePayee>),
    Solana(Arc<SolanaPayee>),
}

impl Payee {
    pub const fn network(&self) -> Network {
        match self {
            Self::Base(_) => Network::Base,
            Self::Solana(_) => Network::Solana,
        }
    }
}

/// A blockhash for Solana clients, so that they do not need a node.
#[derive(Debug)]
pub struct RecentBlockhash {
    pub blockhash: [u8; 32],
    /// Block height after which a transaction with this hash can no longer be executed.
    pub last_valid_block_height: u64,
    pub(super) json: String,
}

impl RecentBlockhash {
    /// From the values of `getLatestBlockhash`.
    pub fn new(blockhash: [u8; 32], last_valid_block_height: u64) -> Self {
        let mut json = String::with_capacity(120);
        // Writing to a String cannot fail.
        let _ = write!(
            json,
            ",\"recentBlockhash\":\"{}\",\"lastValidBlockHeight\":\"{last_valid_block_height}\"",
            base58(&blockhash)
        );
        Self {
            blockhash,
            last_valid_block_height,
            json,
        }
    }
}

/// One entry of `accepts`: pay this much to this payee.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Amount with fees.
    pub amount: Usdc,
    /// How long the price is valid, and how long a client makes its payment valid.
    pub max_timeout_seconds: u32,
    pub payee: Payee,
    /// A hint for Solana clients, not part of the terms. Ignored on Base.
    pub recent: Option<Arc<RecentBlockhash>>,
    /// The fee payer that a Solana challenge names; `None` names the first. A payment may use any of the service's fee
    /// payers.
    pub fee_payer: Option<Pubkey>,
}

impl Terms {
    /// These terms without a blockhash hint.
    pub const fn new(amount: Usdc, max_timeout_seconds: u32, payee: Payee) -> Self {
        Self {
            amount,
            max_timeout_seconds,
            payee,
            recent: None,
            fee_payer: None,
        }
    }

    /// Whether a challenge says the same of both. Payees and hints are made once and shared, so another one counts as
    /// different.
    pub fn is_same(&self, other: &Self) -> bool {
        let payee = match (&self.payee, &other.payee) {
            (Payee::Base(own), Payee::Base(other)) => Arc::ptr_eq(own, other),
            (Payee::Solana(own), Payee::Solana(other)) => Arc::ptr_eq(own, other),
            _ => false,
        };
        let recent = match (&self.recent, &other.recent) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (None, None) => true,
            _ => false,
        };
        let limits = (self.amount, self.max_timeout_seconds) == (other.amount, other.max_timeout_seconds);
        payee && recent && limits && self.fee_payer == other.fee_payer
    }

    /// CAIP-2 name of the chain.
    pub fn caip2(&self) -> &'static str {
        match &self.payee {
            Payee::Base(payee) => payee.caip2,
            Payee::Solana(payee) => payee.caip2,
        }
    }

    pub const fn network(&self) -> Network {
        self.payee.network()
    }
}
