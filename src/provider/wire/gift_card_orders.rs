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
    /// The catalog's id of the product.
    pub product_id: String,
    /// Country where the card is redeemed, ISO 3166-1 alpha-2.
    pub country: String,
    /// Amount in the product's currency.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Fee rate at which the card was offered. A catalog that has raised it since declines with `price_changed`.
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
    /// The order as a catalog reads it.
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

/// Result of an order. It repeats the order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GiftCardOrderResponse {
    /// The order as it was sent.
    pub order: GiftCardOrderRequest,
    /// Status of the order.
    #[serde(flatten)]
    pub state: GiftCardOrderStatus,
}

/// Status of a gift card order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum GiftCardOrderStatus {
    /// Recorded; query again with the same key after this time.
    Accepted {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// In preparation; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// The gift card exists. At least one of the three fields is present.
    Ready {
        /// Page that shows the card. Opening it is enough to spend the card.
        #[serde(default)]
        redemption_url: Option<SecretText>,
        /// Code to be entered at the brand.
        #[serde(default)]
        redemption_code: Option<SecretText>,
        /// PIN that the brand requires with the code.
        #[serde(default)]
        pin_code: Option<SecretText>,
    },
    /// Declined: no gift card exists under this key, and none ever will.
    Declined {
        /// `out_of_stock`, `price_changed`, `declined_by_brand`, or a reason of the catalog.
        reason: String,
    },
}

impl GiftCardOrderResponse {
    /// The wire form of the catalog's status.
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

    /// Reads the catalog's status.
    ///
    /// # Errors
    /// When it is about another order, or is ready without redemption data.
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
