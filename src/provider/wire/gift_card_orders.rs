//! Orders of gift cards on the wire: `POST /v1/gift-card-orders`.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DecimalAmount, MalformedResponse, SecretText, TextValue};
use crate::provider::gift_cards::RedemptionDetails;

/// An order for one gift card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GiftCardOrderRequest {
    /// Which product.
    pub product_id: String,
    /// Where its holder redeems it, ISO 3166-1 alpha-2.
    pub country: String,
    /// In the product's currency.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// At which it was offered. A catalog that has raised it since declines with `price_changed`.
    #[schema(value_type = String)]
    pub fee_rate: TextValue<Decimal>,
}

impl From<&crate::provider::gift_cards::GiftCardOrderRequest> for GiftCardOrderRequest {
    fn from(order: &crate::provider::gift_cards::GiftCardOrderRequest) -> Self {
        Self {
            product_id: order.product_id.clone(),
            country: order.country.clone(),
            amount: TextValue(DecimalAmount(order.amount)),
            fee_rate: TextValue(order.fee_rate),
        }
    }
}

impl GiftCardOrderRequest {
    /// As a catalog reads it.
    pub fn read(self, key: purser_actors::id::JobId) -> crate::provider::gift_cards::GiftCardOrderRequest {
        crate::provider::gift_cards::GiftCardOrderRequest {
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
pub struct GiftCardOrderResponse {
    /// The order.
    pub order: GiftCardOrderRequest,
    /// Where it stands.
    #[serde(flatten)]
    pub state: GiftCardOrderStatus,
}

/// Where an order of a gift card stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum GiftCardOrderStatus {
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
        redemption_url: Option<SecretText>,
        /// To be typed at the brand's.
        #[serde(default)]
        redemption_code: Option<SecretText>,
        /// Asked for with the code.
        #[serde(default)]
        pin_code: Option<SecretText>,
    },
    /// Definitely refused: there is no gift card under this key and never will be.
    Declined {
        /// `out_of_stock`, `price_changed`, `declined_by_brand`, or the catalog's own word.
        reason: String,
    },
}

impl GiftCardOrderResponse {
    /// As the catalog says it.
    pub fn of(order: GiftCardOrderRequest, said: crate::provider::gift_cards::GiftCardOrderStatus) -> Self {
        let state = match said {
            crate::provider::gift_cards::GiftCardOrderStatus::Accepted { retry_after_ms } => {
                GiftCardOrderStatus::Accepted { retry_after_ms }
            }
            crate::provider::gift_cards::GiftCardOrderStatus::Pending { retry_after_ms } => {
                GiftCardOrderStatus::Pending { retry_after_ms }
            }
            crate::provider::gift_cards::GiftCardOrderStatus::Ready(redemption) => GiftCardOrderStatus::Ready {
                redemption_url: redemption.redemption_url.map(SecretText),
                redemption_code: redemption.redemption_code.map(SecretText),
                pin_code: redemption.pin_code.map(SecretText),
            },
            crate::provider::gift_cards::GiftCardOrderStatus::Declined { reason } => GiftCardOrderStatus::Declined {
                reason: reason.to_string(),
            },
        };
        Self { order, state }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another order, or is ready with nothing to redeem.
    pub fn read(
        self,
        order: &GiftCardOrderRequest,
    ) -> Result<crate::provider::gift_cards::GiftCardOrderStatus, MalformedResponse> {
        if self.order != *order {
            return Err(MalformedResponse("it is about another order"));
        }
        Ok(match self.state {
            GiftCardOrderStatus::Accepted { retry_after_ms } => {
                crate::provider::gift_cards::GiftCardOrderStatus::Accepted { retry_after_ms }
            }
            GiftCardOrderStatus::Pending { retry_after_ms } => {
                crate::provider::gift_cards::GiftCardOrderStatus::Pending { retry_after_ms }
            }
            GiftCardOrderStatus::Ready {
                redemption_url: None,
                redemption_code: None,
                pin_code: None,
            } => return Err(MalformedResponse("there is nothing to redeem")),
            GiftCardOrderStatus::Ready {
                redemption_url,
                redemption_code,
                pin_code,
            } => crate::provider::gift_cards::GiftCardOrderStatus::Ready(RedemptionDetails {
                redemption_url: redemption_url.map(|hidden| hidden.0),
                redemption_code: redemption_code.map(|hidden| hidden.0),
                pin_code: pin_code.map(|hidden| hidden.0),
            }),
            GiftCardOrderStatus::Declined { reason } => {
                crate::provider::gift_cards::GiftCardOrderStatus::Declined { reason: reason.into() }
            }
        })
    }
}
