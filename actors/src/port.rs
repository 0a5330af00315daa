//! Ports: the traits through which the engine reaches providers and chains. Implemented in `src/`: by `purser-settlement`,
//! by the providers' adapters and by the sandbox. No I/O here.

pub mod banking;
mod bridge;
mod card_activity;
mod card_balances;
mod custody;
mod external_text;
mod gift_cards;
mod identity;
mod outgoing_transfer;
pub mod payouts;
mod reconciliation;
mod redact;
mod reloadable_cards;
mod settlement;
mod signature;
mod webhooks;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::id::{CardId, JobId, Network, Wallet};
use crate::money::{Cents, Usdc};
pub use crate::time::{DAY_MS, Timestamp, add_months, month_end};

pub use bridge::{AttestationStatus, AttestedMessage, Bridge, BridgeTransfer, MintResult, SignedBurn, SignedMint};
pub use card_activity::{CardActivity, CardTransaction, ChargeChange, TransactionStatus};
pub use card_balances::{CardBalances, CardDeposit};
pub use custody::{
    CallFailure, PaidHttpClient, SealedHttpPart, SealedKeys, ServerResponse, WalletAddresses, WalletSigner,
};
pub use external_text::ExternalText;
pub use gift_cards::{GiftCardOffer, GiftCardOrder, GiftCardOrderResult, GiftCardProvider, GiftCardRequest};
pub use identity::{
    CheckStatus, IdentityCheck, IdentityCheckRequest, IssuerAccountResult, IssuerAccounts, StartedCheck, Verdict,
};
pub use outgoing_transfer::{AttributedTransfer, OutgoingTransfer};
pub(crate) use reconciliation::key_of;
pub use reconciliation::{
    ChainMovement, EntryKey, GiftTerms, ListCursor, ListPage, ProviderEntry, ProviderList, ReconciliationLists,
    TreasuryList,
};
pub use redact::redact;
pub use reloadable_cards::{
    CardAction, CardActionRequest, CardEvent, CardSnapshot, CardState, HoldRequest, HoldResult, HoldStatus,
    OpenCardRequest, OpenCardResult, ReloadableCardProvider,
};
pub use settlement::{
    ChainStatus, ChainTransactionStatus, Decline, Finality, OutgoingTransferRequest, Preparation, PreparedTransaction,
    Settlement, SubmitResult,
};
pub use signature::EvmSignature;
pub use webhooks::{WebhookPostError, WebhookPostRequest, WebhookResponse, WebhookSender};

/// The ports that the engine is started with: providers, chains and the vault.
#[derive(Clone)]
pub struct Ports {
    /// Settles USDC payments and transfers.
    pub settlement: Arc<dyn Settlement>,
    /// Issues prepaid cards.
    pub issuer: Arc<dyn CardIssuer>,
    /// Sells gift cards.
    pub gift_cards: Arc<dyn GiftCardProvider>,
    /// Destroys the keys of CVVs.
    pub shredder: Arc<dyn KeyShredder>,
    /// Provider that verifies the identity of account owners.
    pub identity_check: Arc<dyn IdentityCheck>,
    /// Keeps the owners' accounts at the card issuer.
    pub issuer_accounts: Arc<dyn IssuerAccounts>,
    /// Rails that send payouts to cards, bank accounts and apps.
    pub payout_rails: Arc<dyn payouts::PayoutRails>,
    /// Reports credits to card balances.
    pub card_balances: Arc<dyn CardBalances>,
    /// Keeps reloadable cards and debits card balances.
    pub reloadable_cards: Arc<dyn ReloadableCardProvider>,
    /// Transfers USDC from Solana to Base.
    pub bridge: Arc<dyn Bridge>,
    /// Signs with the keys of agent wallets.
    pub wallet_signer: Arc<dyn WalletSigner>,
    /// Makes the paid calls of agent wallets.
    pub paid_http: Arc<dyn PaidHttpClient>,
    /// Keeps customers' bank accounts.
    pub bank: Arc<dyn banking::Bank>,
    /// Posts webhook events.
    pub webhooks: Arc<dyn WebhookSender>,
}

/// A boxed future, which keeps the port traits dyn-compatible.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a call of a port returns.
pub type PortFuture<'a, T> = BoxFuture<'a, Result<T, PortError>>;

/// The wall clock.
pub trait Clock: Send + Sync {
    /// Current time by this clock.
    fn now(&self) -> Timestamp;
}

/// Randomness for ids and jitter.
pub trait Entropy: Send + Sync {
    /// 128 unpredictable random bits.
    fn random(&self) -> u128;
}

/// What a port error means for the money involved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum ErrorKind {
    /// The operation did not happen and never will.
    Permanent,
    /// The operation did not happen. A later attempt may succeed.
    Temporary,
    /// The operation may have happened. Never treated as failed without proof.
    Unknown,
}

/// A failed call of a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {}", redact(.message))]
pub struct PortError {
    /// What the error means for the money involved.
    pub kind: ErrorKind,
    /// Name of the call that failed.
    pub operation: &'static str,
    /// For the operator; never shown to a client. May contain external text, so it is printed through
    /// [`redact()`].
    pub message: String,
}

/// A signed USDC payment whose form and signature have been verified.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Authorization {
    /// EIP-3009 `transferWithAuthorization` on Base.
    Evm(EvmAuthorization),
    /// A partially signed Solana transaction with one USDC `TransferChecked`.
    Solana(SolanaTransfer),
}

/// The signed fields of EIP-3009, times in Unix seconds.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct EvmAuthorization {
    /// Address of the payer.
    pub from: [u8; 20],
    /// Address of the payee.
    pub to: [u8; 20],
    /// Amount that the signature authorizes, in USDC.
    pub value: Usdc,
    /// Not valid at or before this second.
    pub valid_after: u64,
    /// Not valid at or after this second.
    pub valid_before: u64,
    /// The contract accepts each nonce once per payer.
    pub nonce: [u8; 32],
    /// A key's signature is r, s, v with low s and v 27 or 28. A contract wallet defines its own format.
    pub signature: EvmSignature,
}

/// A payment on Solana.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SolanaTransfer {
    /// The wire transaction as the payer sent it, at most 1,232 bytes. Slot 0 (the fee payer) is for our signature.
    pub transaction: Vec<u8>,
    /// SHA-256 of the message bytes.
    pub message_hash: [u8; 32],
    /// Authority of the token transfer.
    pub payer: [u8; 32],
    /// Amount that the signature authorizes, in USDC.
    pub value: Usdc,
    /// The transaction can only execute while this blockhash is recent.
    pub blockhash: [u8; 32],
    /// The transaction cannot have executed before this slot: by our own nodes, when we signed it. 0 if that is not
    /// known. The chain's history from here on is enough to prove that the transaction is not in it.
    pub not_before_slot: u64,
}

impl Authorization {
    /// Wallet that pays.
    pub const fn payer(&self) -> Wallet {
        match self {
            Self::Evm(a) => Wallet::Evm(a.from),
            Self::Solana(t) => Wallet::Solana(t.payer),
        }
    }

    /// Amount that the signature authorizes, in USDC.
    pub const fn value(&self) -> Usdc {
        match self {
            Self::Evm(a) => a.value,
            Self::Solana(t) => t.value,
        }
    }

    /// Chain on which the payment settles.
    pub const fn network(&self) -> Network {
        match self {
            Self::Evm(_) => Network::Base,
            Self::Solana(_) => Network::Solana,
        }
    }

    /// Identifies the payment, however it is encoded or signed again. Base: (network, asset, payer, nonce), where the
    /// asset is always USDC. Solana: the message hash.
    pub fn claim_key(&self) -> [u8; 32] {
        claim_key(&self.payer(), &self.fingerprint())
    }
}

/// [`Authorization::claim_key`] from the payer and from what the chain shows of the payment
/// ([`Authorization::fingerprint`]).
pub fn claim_key(payer: &Wallet, fingerprint: &[u8; 32]) -> [u8; 32] {
    let mut hash = Sha256::new();
    match payer {
        Wallet::Evm(from) => {
            hash.update(b"eip155:8453/usdc");
            hash.update(from);
        }
        Wallet::Solana(_) => hash.update(b"solana/message"),
    }
    hash.update(fingerprint);
    hash.finalize().into()
}

/// An order to a card issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueCardRequest {
    /// Idempotency key: the issuer never makes a second card for it.
    pub key: JobId,
    /// Our id of the card.
    pub card: CardId,
    /// Amount to load.
    pub amount: Cents,
}

/// The issuer's response to an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssueResult {
    /// The card is issued.
    Ready(IssuedCard),
    /// Accepted. Send the same key again after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// A definite no: no card exists and none will.
    Declined {
        /// The issuer's reason.
        reason: ExternalText,
    },
}

/// A card as the engine knows it: the number is sealed and the CVV is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedCard {
    /// The issuer's id of the card.
    pub issuer_ref: String,
    /// Last four digits.
    pub last4: String,
    /// 1 to 12.
    pub exp_month: u8,
    /// Expiry year with four digits.
    pub exp_year: u16,
    /// Number and expiry, sealed by the vault.
    pub sealed: Vec<u8>,
}

/// Destroys the keys of sealed records (crypto-shredding).
pub trait KeyShredder: Send + Sync {
    /// Destroys the key of this record, so that no copy of it can be opened any more. A repeated call is no error.
    fn shred<'a>(&'a self, record: &'a [u8]) -> PortFuture<'a, ()>;
}

/// Card issuer of prepaid cards. Orders are idempotent by their key.
pub trait CardIssuer: Send + Sync {
    /// Orders a card, or queries an order that has the same key.
    fn issue<'a>(&'a self, order: &'a IssueCardRequest) -> PortFuture<'a, IssueResult>;

    /// Fetches a card's current state by the issuer's id. `Permanent` for a card of another issuer.
    fn card_snapshot<'a>(&'a self, issuer_ref: &'a str) -> PortFuture<'a, CardSnapshot>;

    /// Applies the account owner's action to a card where it is still possible, and returns the card's state.
    /// `Permanent` for a card of another issuer.
    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> PortFuture<'a, CardSnapshot>;

    /// Card events after a position, oldest first, at most `limit`. Transactions occur without a request from us, and
    /// so do releases of what was left on an ended card.
    fn events_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<CardEvent>>;
}
