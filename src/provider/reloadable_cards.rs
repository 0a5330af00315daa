//! Reloadable cards on card balances: the plain side of the provider, and the adapter that seals card data for the
//! engine.

use std::sync::Arc;

use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, CardActionRequest, CardEvent, CardSnapshot, ExternalText, HoldRequest, HoldResult, HoldStatus,
    OpenCardRequest, OpenCardResult, PortError, ReloadableCardProvider,
};

use super::{PlainCard, sealed};
use crate::secret::Secret;
use crate::vault::Vault;

/// Status of an order, with a readable card number.
#[derive(Debug)]
pub enum PlainOpenResult {
    /// The card is open and loaded.
    Open(PlainCard),
    /// Accepted; query again with the same key after this time.
    Pending { retry_after_ms: u64 },
    /// Declined: the balance is too low.
    Insufficient,
    /// Declined for another reason.
    Declined {
        /// The issuer's reason.
        reason: ExternalText,
    },
}

/// A provider of reloadable cards, with unsealed data. Methods shared with [`ReloadableCardProvider`] behave the same.
pub trait ReloadableCardApi: Send + Sync {
    /// Same contract as [`ReloadableCardProvider::open`].
    fn open<'a>(&'a self, order: &'a OpenCardRequest) -> BoxFuture<'a, Result<PlainOpenResult, PortError>>;

    /// Same contract as [`ReloadableCardProvider::apply_action`].
    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>>;

    /// Same contract as [`ReloadableCardProvider::events_after`].
    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>>;

    /// Same contract as [`ReloadableCardProvider::hold`].
    fn hold<'a>(&'a self, order: &'a HoldRequest) -> BoxFuture<'a, Result<HoldResult, PortError>>;

    /// Same contract as [`ReloadableCardProvider::hold_status`].
    fn hold_status(&self, key: JobId) -> BoxFuture<'_, Result<HoldStatus, PortError>>;

    /// Same contract as [`ReloadableCardProvider::settle_hold`].
    fn settle_hold(&self, key: JobId, paid: bool) -> BoxFuture<'_, Result<(), PortError>>;

    /// The CVV, passed through and never stored. `Permanent` for a card that this provider does not have.
    fn cvv<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Secret<String>, PortError>>;

    /// Amount that can still be spent with the card. `Permanent` for a card that this provider does not have.
    fn available<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Cents, PortError>>;
}

/// Implements [`ReloadableCardProvider`] for the engine: seals the card data that the provider returns.
pub struct SealingReloadableCards<P: ?Sized> {
    reloadable_cards: Arc<P>,
    vault: Arc<Vault>,
}

impl<P: ReloadableCardApi + ?Sized> SealingReloadableCards<P> {
    /// Seals card data of `reloadable_cards` with the vault's active key.
    pub const fn new(reloadable_cards: Arc<P>, vault: Arc<Vault>) -> Self {
        Self {
            reloadable_cards,
            vault,
        }
    }

    async fn opened(&self, order: &OpenCardRequest) -> Result<OpenCardResult, PortError> {
        let card: CardId = order.card;
        Ok(match self.reloadable_cards.open(order).await? {
            PlainOpenResult::Open(plain) => OpenCardResult::Open(sealed(&self.vault, card, plain)?),
            PlainOpenResult::Pending { retry_after_ms } => OpenCardResult::Pending { retry_after_ms },
            PlainOpenResult::Insufficient => OpenCardResult::InsufficientBalance,
            PlainOpenResult::Declined { reason } => OpenCardResult::Declined { reason },
        })
    }
}

impl<P: ReloadableCardApi + ?Sized> ReloadableCardProvider for SealingReloadableCards<P> {
    fn open<'a>(&'a self, order: &'a OpenCardRequest) -> BoxFuture<'a, Result<OpenCardResult, PortError>> {
        Box::pin(self.opened(order))
    }

    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        self.reloadable_cards.apply_action(order)
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>> {
        self.reloadable_cards.events_after(after, limit)
    }

    fn hold<'a>(&'a self, order: &'a HoldRequest) -> BoxFuture<'a, Result<HoldResult, PortError>> {
        self.reloadable_cards.hold(order)
    }

    fn hold_status(&self, key: JobId) -> BoxFuture<'_, Result<HoldStatus, PortError>> {
        self.reloadable_cards.hold_status(key)
    }

    fn settle_hold(&self, key: JobId, paid: bool) -> BoxFuture<'_, Result<(), PortError>> {
        self.reloadable_cards.settle_hold(key, paid)
    }
}
