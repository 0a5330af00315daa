//! What the engine needs of the outside, as traits. `src` implements them; nothing here does I/O.

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

use sha2::{Digest, Sha256};

use crate::id::{CardId, JobId, Network, Wallet};
use crate::money::{Cents, Usdc};

pub use bridge::{AttestationStatus, AttestedMessage, Bridge, BridgeTransfer, MintResult, SignedBurn, SignedMint};
pub use card_activity::{CardActivity, CardTransaction, ChargeChange, TransactionStatus};
pub use card_balances::{CardBalances, CardDeposit};
pub use custody::{PaidHttpClient, SealedHttpPart, SealedKeys, WalletSigner};
pub use external_text::ExternalText;
pub use gift_cards::{GiftCardOffer, GiftCardOrderResult, GiftCardProvider, GiftCardRequest};
pub use identity::{
    CheckStatus, IdentityCheck, IdentityCheckRequest, IssuerAccountResult, IssuerAccounts, StartedCheck, Verdict,
};
pub use outgoing_transfer::{AttributedTransfer, OutgoingTransfer, TransferName};
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

/// A boxed future, so that ports are objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Whole seconds since the epoch.
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Later by so many milliseconds; stops at the end of time.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// Milliseconds of a day (UTC).
pub const DAY_MS: u64 = 86_400_000;

/// The same time of the day so many calendar months later (UTC), on the last day of a month that is too short.
pub const fn add_months(at: Timestamp, months: u64) -> Timestamp {
    // Days from the civil calendar's 0000-03-01, where a year ends with February; eras of 400 years are all alike.
    let days = at.0 / DAY_MS + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5;
    let later = (era * 400 + year_of_era) * 12 + month + months;
    let (year, month) = (later / 12, later % 12);
    let first = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5;
    // February is the last month here; the year that follows decides whether it has 29 days.
    let leap = (year + 1) % 4 == 0 && ((year + 1) % 100 != 0 || (year + 1) % 400 == 0);
    let length = match month {
        11 if leap => 29,
        11 => 28,
        1 | 3 | 6 | 8 => 30,
        _ => 31,
    };
    let day = if day < length { day } else { length - 1 };
    Timestamp((first + day - 719_468) * DAY_MS + at.0 % DAY_MS)
}

/// The first moment after a month of the calendar (UTC), 1 to 12: when a card with that expiry ends.
pub const fn month_end(year: u16, month: u8) -> Timestamp {
    add_months(Timestamp(0), (year as u64).saturating_sub(1970) * 12 + month as u64)
}

/// The wall clock.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Randomness for ids and jitter.
pub trait Entropy: Send + Sync {
    /// 128 random bits, unpredictable to outsiders.
    fn random(&self) -> u128;
}

/// What an error of a port means for money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum ErrorKind {
    /// It did not happen and never will.
    Permanent,
    /// It did not happen; a later try may succeed.
    Temporary,
    /// It may have happened. Never treated as failed without proof.
    Unknown,
}

/// A failed call of a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {}", redact(.message))]
pub struct PortError {
    /// See [`ErrorKind`].
    pub kind: ErrorKind,
    /// Which call.
    pub operation: &'static str,
    /// For the operator; never shown to a client. It may be somebody else's words: what is printed of it is [`masked`].
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
    /// The payer.
    pub from: [u8; 20],
    /// The recipient.
    pub to: [u8; 20],
    /// How much.
    pub value: Usdc,
    /// Not valid at or before this second.
    pub valid_after: u64,
    /// Not valid at or after this second.
    pub valid_before: u64,
    /// Used once per payer on chain.
    pub nonce: [u8; 32],
    /// By a key: r, s, v with low s and v 27 or 28. By a contract wallet: whatever it takes.
    pub signature: EvmSignature,
}

/// A payment on Solana.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SolanaTransfer {
    /// The wire transaction as the payer sent it, at most 1,232 bytes; slot 0 (the fee payer's) is ours to sign.
    pub transaction: Vec<u8>,
    /// SHA-256 of the message bytes.
    pub message_hash: [u8; 32],
    /// Authority of the transfer.
    pub payer: [u8; 32],
    /// How much.
    pub value: Usdc,
    /// The transaction can land only while this hash is recent.
    pub blockhash: [u8; 32],
}

impl Authorization {
    /// Whose money.
    pub const fn payer(&self) -> Wallet {
        match self {
            Self::Evm(a) => Wallet::Evm(a.from),
            Self::Solana(t) => Wallet::Solana(t.payer),
        }
    }

    /// How much.
    pub const fn value(&self) -> Usdc {
        match self {
            Self::Evm(a) => a.value,
            Self::Solana(t) => t.value,
        }
    }

    /// Where.
    pub const fn network(&self) -> Network {
        match self {
            Self::Evm(_) => Network::Base,
            Self::Solana(_) => Network::Solana,
        }
    }

    /// What makes this payment this payment, however it is encoded or signed again: (network, asset, payer, nonce)
    /// on Base, where the asset is always USDC; the message hash on Solana.
    pub fn claim_key(&self) -> [u8; 32] {
        claim_key(&self.payer(), &self.fingerprint())
    }
}

/// See [`Authorization::claim_key`]: of who paid, and of what a chain shows of it ([`Authorization::mark`]).
pub fn claim_key(payer: &Wallet, mark: &[u8; 32]) -> [u8; 32] {
    let mut hash = Sha256::new();
    match payer {
        Wallet::Evm(from) => {
            hash.update(b"eip155:8453/usdc");
            hash.update(from);
        }
        Wallet::Solana(_) => hash.update(b"solana/message"),
    }
    hash.update(mark);
    hash.finalize().into()
}

/// An order to a card issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueCardRequest {
    /// Idempotency key: the same key never makes a second card.
    pub key: JobId,
    /// Our id of the card.
    pub card: CardId,
    /// To be loaded.
    pub amount: Cents,
}

/// What the issuer says of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssueResult {
    /// The card exists.
    Ready(IssuedCard),
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: no card exists and none will.
    Declined {
        /// The issuer's word for it.
        reason: ExternalText,
    },
}

/// A card as the engine may know it: the number is sealed, the CVV is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedCard {
    /// The issuer's name of the card.
    pub issuer_ref: String,
    /// Last four digits.
    pub last4: String,
    /// 1 to 12.
    pub exp_month: u8,
    /// Four digits.
    pub exp_year: u16,
    /// Number and expiry, encrypted by the vault.
    pub sealed: Vec<u8>,
}

/// Destroys the keys of what was sealed for a while.
pub trait KeyShredder: Send + Sync {
    /// Destroys the key of this record, so that no copy of it can be opened any more. Once more is no error.
    fn shred<'a>(&'a self, record: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>>;
}

/// Issues cards.
pub trait CardIssuer: Send + Sync {
    /// Orders a card or asks after an order; the key makes them the same call.
    fn issue<'a>(&'a self, order: &'a IssueCardRequest) -> BoxFuture<'a, Result<IssueResult, PortError>>;

    /// How a card stands, by the issuer's name of it. `Permanent` for a card that is not this issuer's.
    fn card_snapshot<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<CardSnapshot, PortError>>;

    /// Does what its holder wants of a card, if it still can be done, and says how the card stands. `Permanent` for a card
    /// that is not this issuer's.
    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>>;

    /// What became of cards since, oldest first, at most `limit`: charges come when nobody asks, and so does what was left
    /// on a card that has ended.
    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>>;
}
