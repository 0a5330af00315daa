//! What others write down of the money that we ask them to move, for reconciliation: their lists only read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{BoxFuture, PortError, Said, Timestamp};
use crate::id::{EffectId, Network, Wallet};
use crate::money::{Cents, Usdc};
use crate::product::Currency;
use crate::reconcile::{Source, Standing};

/// A place in somebody's list: where the next page begins. Only whoever gave it knows what it means.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Cursor(String);

impl Cursor {
    /// Bytes at most.
    pub const LONGEST: usize = 200;

    /// `None` for what is too long, or no visible ASCII.
    pub fn new(text: String) -> Option<Self> {
        let good = (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        good.then_some(Self(text))
    }

    /// For lists whose places are numbers.
    pub fn of_number(number: u64) -> Self {
        Self(number.to_string())
    }

    /// Reverses [`Cursor::of_number`].
    pub fn number(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// In the list's own order.
    pub items: Vec<T>,
    /// Where the next page begins; `None` at the end so far, and only there.
    pub next: Option<Cursor>,
}

/// An order as whoever took it lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The idempotency key that it was ordered under.
    pub key: EffectId,
    /// The maker's word for what was ordered.
    pub product: Said,
    /// How much.
    pub amount: Cents,
    /// In which currency.
    pub currency: Currency,
    /// What came of it; never [`Standing::NotAsked`].
    pub standing: Standing,
    /// When that last changed, by the maker's clock.
    pub at: Timestamp,
}

/// Everything that a provider was ever asked for.
pub trait ProviderList: Send + Sync {
    /// The entries behind a cursor, or from the first on, at most `limit`. The order stays as it is, but that an entry
    /// which changes comes again behind all others. What is not decided yet may be left out.
    fn entries<'a>(&'a self, after: Option<&'a Cursor>, limit: usize) -> BoxFuture<'a, Result<Page<Entry>, PortError>>;

    /// The entry of one key, as it stands now.
    fn entry(&self, key: EffectId) -> BoxFuture<'_, Result<Option<Entry>, PortError>>;
}

/// A transfer of USDC to or from our treasury, as a chain shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// The chain's id of it.
    pub transaction: String,
    /// Whether it came to us.
    pub incoming: bool,
    /// Who paid us, or whom we paid.
    pub other: Wallet,
    /// How much.
    pub amount: Usdc,
    /// When, by the chain's clock.
    pub at: Timestamp,
    /// What its authorization is recognised by: see [`super::Authorization::mark`].
    pub mark: [u8; 32],
}

/// What the chains show of our treasury. What a reorganisation removed is not shown.
pub trait TreasuryList: Send + Sync {
    /// Transfers behind a cursor, or from the first on, oldest first, at most `limit`.
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a Cursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Page<Movement>, PortError>>;

    /// One of them by its transaction.
    fn movement<'a>(
        &'a self,
        network: Network,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<Option<Movement>, PortError>>;
}

/// Everybody's lists. What is not here is not reconciled.
#[derive(Clone, Default)]
pub struct Lists {
    /// Of both chains.
    pub treasury: Option<Arc<dyn TreasuryList>>,
    /// Of providers.
    pub providers: BTreeMap<Source, Arc<dyn ProviderList>>,
}
