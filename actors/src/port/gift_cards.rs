//! What the engine needs of a catalog of gift cards.

use super::{BoxFuture, ExternalText, PortError};
use crate::gift_card::GiftCardOrder;
use crate::id::{CardId, JobId};
use crate::money::Cents;
use crate::product::{Country, Currency};

/// What the catalog would take now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GiftCardOffer {
    /// It could be ordered at this fee rate, as decimal text.
    Available {
        /// Fraction of the amount.
        fee_rate: String,
    },
    /// Sold out, gone from the catalog, or not in this amount, currency or country.
    Unavailable,
}

/// An order of one gift card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiftCardRequest {
    /// Idempotency key: the same key never makes a second gift card.
    pub key: JobId,
    /// Our id of it.
    pub card: CardId,
    /// What.
    pub order: GiftCardOrder,
}

/// What the catalog says of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GiftCardOrderResult {
    /// The gift card exists.
    Ready {
        /// How to redeem it, sealed by the vault.
        sealed: Vec<u8>,
    },
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: no gift card exists under this key and none will.
    Declined {
        /// The catalog's word for it.
        reason: ExternalText,
    },
}

/// Sells gift cards.
pub trait GiftCardProvider: Send + Sync {
    /// Stock and price at this moment. It reserves nothing.
    fn offer<'a>(
        &'a self,
        product: &'a str,
        currency: Currency,
        country: Country,
        amount: Cents,
    ) -> BoxFuture<'a, Result<GiftCardOffer, PortError>>;

    /// Orders a gift card or asks after an order; the key makes them the same call.
    fn order<'a>(&'a self, order: &'a GiftCardRequest) -> BoxFuture<'a, Result<GiftCardOrderResult, PortError>>;
}
