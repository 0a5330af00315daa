//! Orders of gift cards on the wire: `POST /v1/gift-card-orders`.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Amount, Hidden, Text, Unreadable};
use crate::provider::gift_cards::{GiftAnswer, OrderGiftCard, Redemption};

/// An order for one gift card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GiftOrder {
    /// Which product.
    pub product_id: String,
    /// Where its holder redeems it, ISO 3166-1 alpha-2.
    pub country: String,
    /// In the product's currency.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
    /// At which it was offered. A catalog that has raised it since declines with `price_changed`.
    #[schema(value_type = String)]
    pub fee_rate: Text<Decimal>,
}

impl From<&OrderGiftCard> for GiftOrder {
    fn from(order: &OrderGiftCard) -> Self {
        Self {
            product_id: order.product_id.clone(),
            country: order.country.clone(),
            amount: Text(Amount(order.amount)),
            fee_rate: Text(order.fee_rate),
        }
    }
}

impl GiftOrder {
    /// As a catalog reads it.
    pub fn read(self, key: purser_actors::id::EffectId) -> OrderGiftCard {
        OrderGiftCard {
            key,
            product_id: self.product_id,
            country: self.country,
            amount: self.amount.0.0,
            fee_rate: self.fee_rate.0,
        }
    }
}

/// What became of an order. It names the order again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GiftOrderAnswer {
    /// The order.
    pub order: GiftOrder,
    /// Where it stands.
    #[serde(flatten)]
    pub state: GiftState,
}

/// Where an order of a gift card stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum GiftState {
    /// Taken down; ask again with the same key after this time.
    Accepted {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Being made; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// It exists. At least one of the three is there.
    Ready {
        /// A page to open. Whoever opens it may spend the card.
        #[serde(default)]
        redemption_url: Option<Hidden>,
        /// To be typed at the brand's.
        #[serde(default)]
        redemption_code: Option<Hidden>,
        /// Asked for with the code.
        #[serde(default)]
        pin_code: Option<Hidden>,
    },
    /// Definitely refused: there is no gift card under this key and never will be.
    Declined {
        /// `out_of_stock`, `price_changed`, `declined_by_brand`, or the catalog's own word.
        reason: String,
    },
}

impl GiftOrderAnswer {
    /// As the catalog says it.
    pub fn of(order: GiftOrder, said: GiftAnswer) -> Self {
        let state = match said {
            GiftAnswer::Accepted { retry_after_ms } => GiftState::Accepted { retry_after_ms },
            GiftAnswer::Pending { retry_after_ms } => GiftState::Pending { retry_after_ms },
            GiftAnswer::Ready(redemption) => GiftState::Ready {
                redemption_url: redemption.redemption_url.map(Hidden),
                redemption_code: redemption.redemption_code.map(Hidden),
                pin_code: redemption.pin_code.map(Hidden),
            },
            GiftAnswer::Declined { reason } => GiftState::Declined {
                reason: reason.to_string(),
            },
        };
        Self { order, state }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another order, or is ready with nothing to redeem.
    pub fn read(self, order: &GiftOrder) -> Result<GiftAnswer, Unreadable> {
        if self.order != *order {
            return Err(Unreadable("it is about another order"));
        }
        Ok(match self.state {
            GiftState::Accepted { retry_after_ms } => GiftAnswer::Accepted { retry_after_ms },
            GiftState::Pending { retry_after_ms } => GiftAnswer::Pending { retry_after_ms },
            GiftState::Ready {
                redemption_url: None,
                redemption_code: None,
                pin_code: None,
            } => return Err(Unreadable("there is nothing to redeem")),
            GiftState::Ready {
                redemption_url,
                redemption_code,
                pin_code,
            } => GiftAnswer::Ready(Redemption {
                redemption_url: redemption_url.map(|hidden| hidden.0),
                redemption_code: redemption_code.map(|hidden| hidden.0),
                pin_code: pin_code.map(|hidden| hidden.0),
            }),
            GiftState::Declined { reason } => GiftAnswer::Declined { reason: reason.into() },
        })
    }
}
