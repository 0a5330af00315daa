//! Port of the gift card catalog.

use super::{ExternalText, PortFuture};
use crate::currency::{Country, Currency};
use crate::id::{CardId, JobId};
use crate::money::Cents;
use crate::quote::QuoteFacts;

/// Whether the catalog accepts an order now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GiftCardOffer {
    /// Can be ordered at this fee rate.
    Available {
        /// Fraction of the amount, as decimal text.
        fee_rate: String,
    },
    /// Sold out, removed from the catalog, or not offered in this amount, currency or country.
    Unavailable,
}

/// Order at the catalog; never changes.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct GiftCardOrder {
    /// Id of the product in the catalog.
    pub product: String,
    /// Amount in the product's currency.
    pub amount: Cents,
    /// Currency of the product.
    pub currency: Currency,
    /// Country where it will be redeemed.
    pub country: Country,
    /// The catalog's fee rate when the stock was checked, as decimal text. The catalog declines the order if it has
    /// raised the rate since.
    pub fee_rate: String,
    /// Facts that priced it for the payer. The fee is ours; the catalog is owed the card's value.
    pub quoted: Box<QuoteFacts>,
}

/// An order of one gift card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiftCardRequest {
    /// Idempotency key: the same key never makes a second gift card.
    pub key: JobId,
    /// Our id of the gift card.
    pub card: CardId,
    /// Product, amount and terms.
    pub order: GiftCardOrder,
}

/// The catalog's response to an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GiftCardOrderResult {
    /// The gift card is issued.
    Ready {
        /// How to redeem it, sealed by the vault.
        sealed: Vec<u8>,
    },
    /// Accepted. Send the same key again after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// A definite no: no gift card exists under this key and none will.
    Declined {
        /// The catalog's reason.
        reason: ExternalText,
    },
}

/// Sells gift cards.
pub trait GiftCardProvider: Send + Sync {
    /// Current stock and price. Reserves nothing.
    fn offer<'a>(
        &'a self,
        product: &'a str,
        currency: Currency,
        country: Country,
        amount: Cents,
    ) -> PortFuture<'a, GiftCardOffer>;

    /// Orders a gift card, or queries an order that has the same key.
    fn order<'a>(&'a self, order: &'a GiftCardRequest) -> PortFuture<'a, GiftCardOrderResult>;
}
