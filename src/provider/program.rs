//! The card program behind holders' balances: reloadable cards in plain, and as the engine may see them.

use std::sync::Arc;

use purser_actors::id::{CardId, EffectId};
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, CardOpening, CardProgram, CardWord, OpenCard, PortError, Reservation, ReserveBalance, Reserved, Said,
    Standing, SteerCard,
};

use super::{PlainCard, sealed};
use crate::secret::Secret;
use crate::vault::Vault;

/// What the program says of an order, the number still readable.
#[derive(Debug)]
pub enum PlainOpening {
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
        reason: Said,
    },
}

/// A card program, in plain. What it shares with [`CardProgram`] means the same.
pub trait Program: Send + Sync {
    /// See [`CardProgram::open`].
    fn open<'a>(&'a self, order: &'a OpenCard) -> BoxFuture<'a, Result<PlainOpening, PortError>>;

    /// See [`CardProgram::steer`].
    fn steer<'a>(&'a self, order: &'a SteerCard) -> BoxFuture<'a, Result<Standing, PortError>>;

    /// See [`CardProgram::told`].
    fn told(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardWord>, PortError>>;

    /// See [`CardProgram::reserve`].
    fn reserve<'a>(&'a self, order: &'a ReserveBalance) -> BoxFuture<'a, Result<Reservation, PortError>>;

    /// See [`CardProgram::reservation`].
    fn reservation(&self, key: EffectId) -> BoxFuture<'_, Result<Reserved, PortError>>;

    /// See [`CardProgram::end_reservation`].
    fn end_reservation(&self, key: EffectId, paid: bool) -> BoxFuture<'_, Result<(), PortError>>;

    /// The CVV, fetched through and never kept. `Permanent` for a card that is not this program's.
    fn cvv<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Secret<String>, PortError>>;

    /// What can still be spent with the card. `Permanent` for a card that is not this program's.
    fn available<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Cents, PortError>>;
}

/// A program as the engine may see it: what comes out is sealed.
pub struct VaultedProgram<P: ?Sized> {
    program: Arc<P>,
    vault: Arc<Vault>,
}

impl<P: Program + ?Sized> VaultedProgram<P> {
    /// Seals what `program` delivers with the vault's active key.
    pub const fn new(program: Arc<P>, vault: Arc<Vault>) -> Self {
        Self { program, vault }
    }

    async fn opened(&self, order: &OpenCard) -> Result<CardOpening, PortError> {
        let card: CardId = order.card;
        Ok(match self.program.open(order).await? {
            PlainOpening::Open(plain) => CardOpening::Open(sealed(&self.vault, card, plain)?),
            PlainOpening::Pending { retry_after_ms } => CardOpening::Pending { retry_after_ms },
            PlainOpening::Insufficient => CardOpening::Insufficient,
            PlainOpening::Declined { reason } => CardOpening::Declined { reason },
        })
    }
}

impl<P: Program + ?Sized> CardProgram for VaultedProgram<P> {
    fn open<'a>(&'a self, order: &'a OpenCard) -> BoxFuture<'a, Result<CardOpening, PortError>> {
        Box::pin(self.opened(order))
    }

    fn steer<'a>(&'a self, order: &'a SteerCard) -> BoxFuture<'a, Result<Standing, PortError>> {
        self.program.steer(order)
    }

    fn told(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardWord>, PortError>> {
        self.program.told(after, limit)
    }

    fn reserve<'a>(&'a self, order: &'a ReserveBalance) -> BoxFuture<'a, Result<Reservation, PortError>> {
        self.program.reserve(order)
    }

    fn reservation(&self, key: EffectId) -> BoxFuture<'_, Result<Reserved, PortError>> {
        self.program.reservation(key)
    }

    fn end_reservation(&self, key: EffectId, paid: bool) -> BoxFuture<'_, Result<(), PortError>> {
        self.program.end_reservation(key, paid)
    }
}
