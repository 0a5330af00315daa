//! Service-side traits of the chains: wallet balances, contract wallet signatures, recent blockhashes, chain time, fee
//! payers, and the list of transfers for `purser verify`. The sandbox and the real chains implement them. The engine's
//! ports are in `purser_actors::port`.

use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Decline, EvmAuthorization, PortError, PortFuture, Settlement, Timestamp, TreasuryList};

use purser_protocol::payment::Chains;
use purser_protocol::payment::solana::address::Pubkey;

/// Balances of wallets.
pub trait Holdings: Send + Sync {
    /// The USDC of a wallet on its chain, in the newest state known; zero for one without a token account.
    ///
    /// # Errors
    /// `Temporary` when the chain cannot be read.
    fn holds<'a>(&'a self, wallet: &'a Wallet) -> PortFuture<'a, Usdc>;
}

/// A recent blockhash of Solana. A transaction with it can execute in about 150 blocks (60 s) from the block that it
/// names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blockhash {
    pub hash: [u8; 32],
    /// Last block height at which a transaction with it can execute.
    pub last_valid_block_height: u64,
    /// A transaction with it cannot have executed before this slot.
    pub not_before_slot: u64,
    /// How long ago it was read from the chain, in milliseconds.
    pub age_ms: u64,
}

impl Blockhash {
    /// Maximum age of a blockhash given to clients: more than half of its validity is left.
    pub const MAX_AGE_MS: u64 = 25_000;

    /// Whether a payment signed with it now has time to settle.
    pub const fn is_fresh(&self) -> bool {
        self.age_ms <= Self::MAX_AGE_MS
    }
}

/// Source of recent blockhashes. Answers from memory: nothing is read from the chain.
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
    /// Position in the list, from 1: the cursor for the next page. It never changes.
    pub position: u64,
    pub transaction: String,
    /// Index among the transfers of the transaction, from 0.
    pub index: u32,
    /// The paying wallet.
    pub from: Wallet,
    /// The receiving wallet; on Solana the owner of the token account.
    pub to: Wallet,
    /// Amount of the transfer.
    pub amount: Usdc,
    /// Time by the chain's clock.
    pub at: Timestamp,
    /// Whether a reorg removed the transfer.
    pub reorged: bool,
    /// Evidence that links the transfer to a signed payment, if the list has it: see
    /// [`purser_actors::port::ChainMovement::fingerprint`].
    pub mark: Option<[u8; 32]>,
}

/// Transfers to and from our treasury, and all others that the chain's follower stores.
pub trait TransferList: Send + Sync {
    /// Transfers after a position (0 is the beginning), in the order of their positions, at most `limit`.
    ///
    /// # Errors
    /// `Temporary` when the list cannot be read.
    fn transfers_after(&self, network: Network, after: u64, limit: usize) -> PortFuture<'_, Vec<ListedTransfer>>;
}

/// The chain's verification of a signature that was not made by the payer's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// The payer is a contract and accepts it (ERC-1271), or is deployed with this payment (ERC-6492). Its balance may
    /// be too low.
    Accepted,
    /// The payer is a contract and does not accept it.
    NotAccepted,
    /// The payer is not a contract: only its key can sign.
    NotAContract,
    /// The chain declines the payment before it calls the contract.
    Declined(Decline),
}

/// Verifies the signatures of contract wallets, before a claim.
pub trait ContractWallets: Send + Sync {
    /// Whether the payer accepts the signature. Answers within about 2 s, from memory or by one read of the chain. A
    /// payment that is already on the chain takes two reads.
    ///
    /// # Errors
    /// `Temporary` when the chain does not respond in time.
    fn accepts<'a>(&'a self, signed: &'a EvmAuthorization) -> PortFuture<'a, Acceptance>;
}

/// Keys that co-sign payments on Solana and pay their fees: our own, and those of facilitators.
pub trait FeePayers: Send + Sync {
    /// All fee payers accepted now: a payment with any of them can be settled. Facilitators' fee payers change at
    /// runtime, and none is known before the first facilitator has responded.
    fn all(&self) -> Arc<[Pubkey]>;

    /// The fee payer for the next challenge: our key with the fewest transactions in flight, and of equals the first.
    /// `None` if there is none.
    fn choose(&self) -> Option<Pubkey>;
}

/// Our wallets other than the treasury: managed wallets.
pub trait OwnWallets: Send + Sync {
    /// Records this wallet's transfers from the next block on. Wallets known when the chains are opened are recorded
    /// from then.
    fn track(&self, wallet: &Wallet);
}

/// Both chains as the service uses them.
#[derive(Clone)]
pub struct ChainParts {
    /// Port that settles payments and sends transfers.
    pub settlement: Arc<dyn Settlement>,
    /// Transfers to and from the treasury, for reconciliation.
    pub treasury: Arc<dyn TreasuryList>,
    /// Balances of wallets.
    pub holdings: Arc<dyn Holdings>,
    /// Blockhashes for challenges and for managed wallets.
    pub blockhashes: Arc<dyn BlockhashSource>,
    /// Time of each chain.
    pub time: Arc<dyn ChainTime>,
    /// Every transfer, for `purser verify`.
    pub transfers: Arc<dyn TransferList>,
    /// Who pays fees on Solana.
    pub fee_payers: Arc<dyn FeePayers>,
    /// Records transfers of managed wallets.
    pub own_wallets: Arc<dyn OwnWallets>,
    /// Verifies the signatures of contract wallets on Base.
    pub contract_wallets: Arc<dyn ContractWallets>,
    /// Ids, names and tokens of the networks.
    pub names: Chains,
    /// Our treasury on Base.
    pub base_treasury: Wallet,
    /// Owner of our treasury's token account on Solana.
    pub solana_treasury: Wallet,
}

impl ChainParts {
    /// Our treasury on a network, which receives payments and sends withdrawals. On Solana the owner, not its token
    /// account.
    pub const fn treasury_of(&self, network: Network) -> Wallet {
        match network {
            Network::Base => self.base_treasury,
            Network::Solana => self.solana_treasury,
        }
    }
}
