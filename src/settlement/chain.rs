//! Service-side traits of the chains: balances of wallets, signatures of contract wallets, recent blockhashes, chain time, fee
//! payers, and the list of transfers that `purser verify` reads. The sandbox and the real chains implement them. The engine's ports are in `purser_actors::port`.

use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{BoxFuture, Decline, EvmAuthorization, PortError, Settlement, Timestamp, TreasuryList};

use crate::payment::Chains;
use crate::payment::solana::address::Pubkey;

/// What wallets hold.
pub trait Holdings: Send + Sync {
    /// The USDC of a wallet on its chain, in the newest state known; zero for one without a token account.
    ///
    /// # Errors
    /// `Temporary` when the chain cannot be read.
    fn holds<'a>(&'a self, wallet: &'a Wallet) -> BoxFuture<'a, Result<Usdc, PortError>>;
}

/// A blockhash of Solana. A transaction with it can land in about 150 blocks (60 s) from the one that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blockhash {
    /// The hash.
    pub hash: [u8; 32],
    /// The last block height at which a transaction with it may land.
    pub last_valid_block_height: u64,
    /// How long ago it was read from the chain, in milliseconds.
    pub age_ms: u64,
}

impl Blockhash {
    /// Maximum age of a blockhash that is handed out: more than half of its life is left.
    pub const MAX_AGE_MS: u64 = 25_000;

    /// Whether a payment that is signed with it now has time to land.
    pub const fn is_fresh(&self) -> bool {
        self.age_ms <= Self::MAX_AGE_MS
    }
}

/// Where recent blockhashes come from. Answers from memory: nothing is read from the chain.
pub trait BlockhashSource: Send + Sync {
    /// The newest one; `None` before the first was read.
    fn newest(&self) -> Option<Blockhash>;
}

/// The chains' own time, which decides what has expired there.
pub trait ChainTime: Send + Sync {
    /// The time of the newest block known of this network, at least that of any earlier call.
    ///
    /// # Errors
    /// `Temporary` before the first block was read.
    fn now_on(&self, network: Network) -> Result<Timestamp, PortError>;
}

/// A transfer of USDC as a chain lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTransfer {
    /// Its position in the list, from 1: the cursor for the next page. It never changes.
    pub position: u64,
    /// The transaction.
    pub transaction: String,
    /// Which of the transfers in it, from 0.
    pub index: u32,
    /// Who paid.
    pub from: Wallet,
    /// Who received; the owner of the token account on Solana.
    pub to: Wallet,
    /// How much.
    pub amount: Usdc,
    /// When, by the chain's clock.
    pub at: Timestamp,
    /// A reorganisation removed it again.
    pub reorged: bool,
    /// By what the chain shows what was signed for it, where the list knows that: see [`purser_actors::port::Movement::mark`].
    pub mark: Option<[u8; 32]>,
}

/// Transfers to and from our treasury, and any others that the chain's follower stores.
pub trait TransferList: Send + Sync {
    /// Those behind a position (0 is the beginning), in the order of their positions, at most `limit`.
    ///
    /// # Errors
    /// `Temporary` when the list cannot be read.
    fn transfers_after(
        &self,
        network: Network,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<ListedTransfer>, PortError>>;
}

/// The chain's verification of a signature that the payer's key has not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// The payer is a contract and accepts it (ERC-1271), or is deployed with this payment (ERC-6492). Its balance may be too low.
    Accepted,
    /// The payer is a contract and does not accept it.
    NotAccepted,
    /// The payer is no contract: only its key can sign.
    NotAContract,
    /// The chain rejects the payment before it asks the contract.
    Declined(Decline),
}

/// Verifies the signatures of contract wallets, before a claim.
pub trait ContractWallets: Send + Sync {
    /// Whether the payer accepts the signature. Answers within about 2 s, from memory or by one read of the chain; by two reads
    /// for a payment that is on the chain already.
    ///
    /// # Errors
    /// `Temporary` when the chain does not answer in time.
    fn accepts<'a>(&'a self, signed: &'a EvmAuthorization) -> BoxFuture<'a, Result<Acceptance, PortError>>;
}

/// Keys that co-sign payments on Solana and pay their fees: our own, and those of facilitators.
pub trait FeePayers: Send + Sync {
    /// All that are accepted now: a payment with any of these can be settled. Facilitators' change while the service runs; none is
    /// known before the first facilitator has answered.
    fn all(&self) -> Arc<[Pubkey]>;

    /// The one for the next challenge: of our own the one with the fewest transactions in flight, of equals the first. `None` if
    /// there is none.
    fn choose(&self) -> Option<Pubkey>;
}

/// Wallets of ours beside the treasury: managed wallets.
pub trait OwnWallets: Send + Sync {
    /// Keeps this wallet's transfers from the next block on. Those that are open when the chains are opened are kept from then.
    fn track(&self, wallet: &Wallet);
}

/// Both chains as the service uses them.
#[derive(Clone)]
pub struct ChainParts {
    /// Moves the USDC.
    pub settlement: Arc<dyn Settlement>,
    /// What moved to and from the treasury, for reconciliation.
    pub treasury: Arc<dyn TreasuryList>,
    /// What wallets hold.
    pub holdings: Arc<dyn Holdings>,
    /// Blockhashes for challenges and for managed wallets.
    pub blockhashes: Arc<dyn BlockhashSource>,
    /// The chains' time.
    pub time: Arc<dyn ChainTime>,
    /// Every transfer, for `purser verify`.
    pub transfers: Arc<dyn TransferList>,
    /// Who pays fees on Solana.
    pub fee_payers: Arc<dyn FeePayers>,
    /// Is told of managed wallets.
    pub own_wallets: Arc<dyn OwnWallets>,
    /// Verifies the signatures of contract wallets on Base.
    pub contract_wallets: Arc<dyn ContractWallets>,
    /// Their ids, names and tokens.
    pub names: Chains,
    /// Our treasury on Base.
    pub base_treasury: Wallet,
    /// Owner of our treasury's token account on Solana.
    pub solana_treasury: Wallet,
}

impl ChainParts {
    /// Our treasury on a network: where payments go and withdrawals come from. On Solana the owner, not its token account.
    pub const fn treasury_of(&self, network: Network) -> Wallet {
        match network {
            Network::Base => self.base_treasury,
            Network::Solana => self.solana_treasury,
        }
    }
}
