//! The card program behind holders' balances: reloadable cards in plain, and as the engine may see them.

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

/// What the program says of an order, the number still readable.
#[derive(Debug)]
pub enum PlainOpenResult {
    /// The card is open and loaded.
    Open(PlainCard),
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: the balance is less.
    Insufficient,
    /// Definitely refused for another reason.
    Declined {
        /// The issuer's word for it.
        reason: ExternalText,
    },
}

/// A card program, in plain. What it shares with [`ReloadableCardProvider`] means the same.
pub trait ReloadableCardApi: Send + Sync {
    /// See [`ReloadableCardProvider::open`].
    fn open<'a>(&'a self, order: &'a OpenCardRequest) -> BoxFuture<'a, Result<PlainOpenResult, PortError>>;

    /// See [`ReloadableCardProvider::apply_action`].
    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>>;

    /// See [`ReloadableCardProvider::events_after`].
    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>>;

    /// See [`ReloadableCardProvider::hold`].
    fn hold<'a>(&'a self, order: &'a HoldRequest) -> BoxFuture<'a, Result<HoldResult, PortError>>;

    /// See [`ReloadableCardProvider::hold_status`].
    fn hold_status(&self, key: JobId) -> BoxFuture<'_, Result<HoldStatus, PortError>>;

    /// See [`ReloadableCardProvider::settle_hold`].
    fn settle_hold(&self, key: JobId, paid: bool) -> BoxFuture<'_, Result<(), PortError>>;

    /// The CVV, fetched through and never kept. `Permanent` for a card that is not this program's.
    fn cvv<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Secret<String>, PortError>>;

    /// What can still be spent with the card. `Permanent` for a card that is not this program's.
    fn available<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Cents, PortError>>;
}

/// A program as the engine may see it: what comes out is sealed.
pub struct SealingReloadableCards<P: ?Sized> {
    reloadable_cards: Arc<P>,
    vault: Arc<Vault>,
}

impl<P: ReloadableCardApi + ?Sized> SealingReloadableCards<P> {
    /// Seals what `program` delivers with the vault's active key.
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
