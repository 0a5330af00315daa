//! External records for reconciliation: providers' and chains' lists of the money that we ask them to move. Reads only.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{ExternalText, Finality, PortFuture, Timestamp};
use crate::currency::Country;
use crate::id::{BankTransferId, JobId, Network, Wallet};
use crate::money::Usdc;
use crate::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};

/// A position in an external list, where the next page starts. Only the list that issued it can interpret it.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ListCursor(String);

impl ListCursor {
    /// Largest length in bytes.
    pub const MAX_LEN: usize = 200;

    /// `None` if the text is too long or has characters other than visible ASCII.
    pub fn new(text: String) -> Option<Self> {
        let good = (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        good.then_some(Self(text))
    }

    /// For lists whose positions are numbers.
    pub fn from_number(number: u64) -> Self {
        Self(number.to_string())
    }

    /// Number behind a cursor of [`ListCursor::from_number`]; `None` for any other cursor.
    pub fn number(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl fmt::Display for ListCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage<T> {
    /// In the list's own order.
    pub items: Vec<T>,
    /// Start of the next page. `None` only at the current end of the list.
    pub next: Option<ListCursor>,
}

/// Identifies an entry on a list. The list's [`crate::reconciliation::EntryKind`] defines its format.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryKey(String);

impl EntryKey {
    /// Largest length in bytes.
    pub const MAX_LEN: usize = 200;

    /// `None` if the text is empty, too long, or has control characters.
    pub fn new(text: String) -> Option<Self> {
        let good = (1..=Self::MAX_LEN).contains(&text.len()) && !text.chars().any(char::is_control);
        good.then_some(Self(text))
    }

    /// Key of the entry of an order.
    pub fn for_order(key: JobId) -> Self {
        Self(key.to_string())
    }

    /// The idempotency key of the order, if this names one of our orders.
    pub fn order(&self) -> Option<JobId> {
        self.0.parse().ok()
    }

    /// The text as the list has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Terms of a gift card order besides product and amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiftTerms {
    /// Country where the card is redeemed.
    pub country: Country,
    /// The catalog's fee rate, as decimal text.
    pub fee_rate: String,
}

/// An entry of a provider's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderEntry {
    /// Identifies the entry. For an order: the idempotency key that it was placed under.
    pub name: EntryKey,
    /// The provider's name of the product.
    pub product: ExternalText,
    /// For a gift card: country and fee rate of the order, if the list has them.
    pub terms: Option<GiftTerms>,
    /// Amount and currency or token.
    pub amount: EntryAmount,
    /// For a return: the transfer that was returned.
    pub returned_transfer: Option<BankTransferId>,
    /// Current status; never [`EntryStatus::NotSubmitted`].
    pub status: EntryStatus,
    /// Time of the latest status change, by the provider's clock.
    pub at: Timestamp,
}

/// A provider's complete list of one entry kind.
pub trait ProviderList: Send + Sync {
    /// Entries after a cursor, or from the first, at most `limit`. The order is stable, except that a changed entry
    /// appears again behind all others. Undecided entries may be missing.
    fn entries<'a>(&'a self, after: Option<&'a ListCursor>, limit: usize) -> PortFuture<'a, ListPage<ProviderEntry>>;

    /// The entry with this key, in its current status.
    fn entry<'a>(&'a self, name: &'a EntryKey) -> PortFuture<'a, Option<ProviderEntry>>;
}

/// A USDC transfer to or from our treasury, as a chain shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainMovement {
    /// The chain's transaction id.
    pub transaction: String,
    /// Index of the transfer in its transaction, from 0. Base: the position of its log among the logs of the
    /// transaction. Not among those of the block, because a reorg changes that. Solana: the position among the
    /// transaction's instructions that move our money, inner instructions included. Transaction and index together are
    /// the transfer's stable name.
    pub index: u32,
    /// True if the treasury received it, false if it paid it.
    pub incoming: bool,
    /// Wallet that paid us, or that we paid.
    pub counterparty: Wallet,
    /// Transferred amount in USDC.
    pub amount: Usdc,
    /// Time by the chain's clock.
    pub at: Timestamp,
    /// Identifies the payment authorization: see [`super::Authorization::fingerprint`]. For a transfer without one this
    /// is [`ChainMovement::plain_fingerprint`]. Examples are a plain ERC-20 `transfer`, and on Solana a transaction
    /// that none of our fee payers has signed.
    pub fingerprint: [u8; 32],
}

impl ChainMovement {
    /// Fingerprint of a transfer without a payment authorization. Unique to this transfer.
    pub fn plain_fingerprint(transaction: &str, index: u32) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"plain transfer");
        hash.update([0]);
        hash.update(transaction);
        hash.update([0]);
        hash.update(index.to_be_bytes());
        hash.finalize().into()
    }

    /// Key on the chain's list: the transaction, with the index if the transaction moved our money more than once.
    pub fn key(&self) -> String {
        key_of(&self.transaction, self.index)
    }
}

/// The stored form of [`ChainMovement::key`]. The first transfer of a transaction has the transaction's name.
pub(crate) fn key_of(transaction: &str, index: u32) -> String {
    match index {
        0 => transaction.to_owned(),
        index => format!("{transaction}#{index}"),
    }
}

/// The chains' lists of our treasury's transfers. Reorged transfers are not listed.
pub trait TreasuryList: Send + Sync {
    /// Transfers after a cursor, or from the first, oldest first, at most `limit`.
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> PortFuture<'a, ListPage<ChainMovement>>;

    /// All transfers in one transaction, by index, since a hash alone is ambiguous. Empty for a transaction that is not
    /// there.
    fn in_transaction<'a>(&'a self, network: Network, transaction: &'a str) -> PortFuture<'a, Vec<ChainMovement>>;

    /// The transfer that used an authorization, in any transaction. `None` if none is on the chain, or if the list
    /// cannot search by authorization. `payer` owns the authorization; `None` for our treasury. `fingerprint`: see
    /// [`super::Authorization::fingerprint`].
    fn find_by_authorization<'a>(
        &'a self,
        _network: Network,
        _payer: Option<&'a Wallet>,
        _fingerprint: &'a [u8; 32],
    ) -> PortFuture<'a, Option<ChainMovement>> {
        Box::pin(async { Ok(None) })
    }

    /// Finality of a listed transfer, by the port's settings for its amount. [`Finality::Confirmed`] also for a
    /// transfer that is no longer listed.
    fn movement_finality<'a>(&'a self, network: Network, moved: &'a ChainMovement) -> PortFuture<'a, Finality>;
}

/// All external lists. A source without a list is not reconciled.
#[derive(Clone, Default)]
pub struct ReconciliationLists {
    /// Treasury transfers on both chains.
    pub treasury: Option<Arc<dyn TreasuryList>>,
    /// Providers, by source.
    pub providers: BTreeMap<ReconciliationSource, Arc<dyn ProviderList>>,
}
