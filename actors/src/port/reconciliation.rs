//! What others write down of the money that we ask them to move, for reconciliation: their lists only read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{BoxFuture, ExternalText, Finality, PortError, Timestamp};
use crate::id::{BankTransferId, JobId, Network, Wallet};
use crate::money::Usdc;
use crate::product::Country;
use crate::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};

/// A place in somebody's list: where the next page begins. Only whoever gave it knows what it means.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ListCursor(String);

impl ListCursor {
    /// Bytes at most.
    pub const MAX_LEN: usize = 200;

    /// `None` for what is too long, or no visible ASCII.
    pub fn new(text: String) -> Option<Self> {
        let good = (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        good.then_some(Self(text))
    }

    /// For lists whose places are numbers.
    pub fn from_number(number: u64) -> Self {
        Self(number.to_string())
    }

    /// Reverses [`Cursor::of_number`].
    pub fn number(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl fmt::Display for ListCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage<T> {
    /// In the list's own order.
    pub items: Vec<T>,
    /// Where the next page begins; `None` at the end so far, and only there.
    pub next: Option<ListCursor>,
}

/// The name of something on a list: what the list's [`crate::reconcile::Flow`] says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryKey(String);

impl EntryKey {
    /// Bytes at most.
    pub const MAX_LEN: usize = 200;

    /// `None` for what is empty, too long, or has control characters.
    pub fn new(text: String) -> Option<Self> {
        let good = (1..=Self::MAX_LEN).contains(&text.len()) && !text.chars().any(char::is_control);
        good.then_some(Self(text))
    }

    /// Of an order.
    pub fn for_order(key: JobId) -> Self {
        Self(key.to_string())
    }

    /// The key of the order that it is the name of; `None` for what none of ours can be.
    pub fn order(&self) -> Option<JobId> {
        self.0.parse().ok()
    }

    /// As the list has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a gift card was ordered with besides its product and amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiftTerms {
    /// Where it is redeemed.
    pub country: Country,
    /// The catalog's fee rate, as decimal text.
    pub fee_rate: String,
}

/// Something as a provider lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderEntry {
    /// Its name: an order's is the idempotency key that it was ordered under.
    pub name: EntryKey,
    /// The provider's word for what it is.
    pub product: ExternalText,
    /// Of a gift card: where it is redeemed and at which fee it was ordered, where the list says so.
    pub terms: Option<GiftTerms>,
    /// How much.
    pub amount: EntryAmount,
    /// Of money that comes back: the move that it is the return of.
    pub returned_transfer: Option<BankTransferId>,
    /// What came of it; never [`Standing::NotAsked`].
    pub status: EntryStatus,
    /// When that last changed, by the provider's clock.
    pub at: Timestamp,
}

/// Everything of one kind that a provider ever had to do with us.
pub trait ProviderList: Send + Sync {
    /// The entries behind a cursor, or from the first on, at most `limit`. The order stays as it is, but that an entry
    /// which changes comes again behind all others. What is not decided yet may be left out.
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ProviderEntry>, PortError>>;

    /// The entry of one name, as it stands now.
    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ProviderEntry>, PortError>>;
}

/// A transfer of USDC to or from our treasury, as a chain shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainMovement {
    /// The chain's id of the transaction.
    pub transaction: String,
    /// Which transfer in it. On Base the place of its log among the logs of the transaction, from 0 (not of the block: a
    /// reorganisation changes that). On Solana its place among the instructions of the transaction that move our money, inner ones
    /// included, from 0. With the transaction it is the name of the transfer, always the same.
    pub index: u32,
    /// Whether it came to us.
    pub incoming: bool,
    /// Who paid us, or whom we paid.
    pub counterparty: Wallet,
    /// How much.
    pub amount: Usdc,
    /// When, by the chain's clock.
    pub at: Timestamp,
    /// What its authorization is recognised by: see [`super::Authorization::mark`]. Of a transfer that nobody authorized so, such
    /// as a plain ERC-20 `transfer`, or on Solana a transfer by a transaction that no fee payer of ours has signed, this is
    /// [`Movement::plain_mark`].
    pub fingerprint: [u8; 32],
}

impl ChainMovement {
    /// The mark of a transfer without an authorization that a payment could be: its own, and no other's.
    pub fn plain_fingerprint(transaction: &str, index: u32) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"plain transfer");
        hash.update([0]);
        hash.update(transaction);
        hash.update([0]);
        hash.update(index.to_be_bytes());
        hash.finalize().into()
    }

    /// Its name on the chain's list: the transaction, and where that moved our money more than once, the place in it.
    pub fn key(&self) -> String {
        key_of(&self.transaction, self.index)
    }
}

/// See [`Movement::key`]: the name that is stored. Its first transfer has the name of the transaction.
pub(crate) fn key_of(transaction: &str, index: u32) -> String {
    match index {
        0 => transaction.to_owned(),
        index => format!("{transaction}#{index}"),
    }
}

/// What the chains show of our treasury. What a reorganisation removed is not shown.
pub trait TreasuryList: Send + Sync {
    /// Transfers behind a cursor, or from the first on, oldest first, at most `limit`.
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ChainMovement>, PortError>>;

    /// All of them in one transaction, by index: a hash alone says no more. Empty for a transaction that is not there.
    fn in_transaction<'a>(
        &'a self,
        network: Network,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ChainMovement>, PortError>>;

    /// The transfer that used an authorization, in whatever transaction; `None` if there is none that stayed, and from a list that
    /// cannot be asked so. `payer`: whose authorization it is, `None` for our treasury's. `mark`: see [`super::Authorization::mark`].
    fn find_by_authorization<'a>(
        &'a self,
        _network: Network,
        _payer: Option<&'a Wallet>,
        _mark: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<Option<ChainMovement>, PortError>> {
        Box::pin(async { Ok(None) })
    }

    /// How sure the chain is of a transfer that it lists, by the port's settings for its amount. [`Finality::Seen`] also for one
    /// that is not listed any more.
    fn movement_finality<'a>(
        &'a self,
        network: Network,
        moved: &'a ChainMovement,
    ) -> BoxFuture<'a, Result<Finality, PortError>>;
}

/// Everybody's lists. What is not here is not reconciled.
#[derive(Clone, Default)]
pub struct ReconciliationLists {
    /// Of both chains.
    pub treasury: Option<Arc<dyn TreasuryList>>,
    /// Of providers.
    pub providers: BTreeMap<ReconciliationSource, Arc<dyn ProviderList>>,
}
