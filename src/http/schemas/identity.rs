//! What only a person brings about: the check of an identity, the link to the card issuer, an owner's caps.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::ExactDecimal;

/// Where the check of an identity stands.
#[derive(Deserialize, ToSchema)]
pub struct KycStatusResponse {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `none`, `in-review`, `verified` or `rejected`.
    pub status: String,
    /// The provider's word, when it is rejected.
    pub rejection_reason: Option<String>,
    /// Checks begun so far.
    pub checks: u32,
    /// RFC 3339; of the first check.
    #[schema(required = false)]
    pub created_at: String,
    /// RFC 3339.
    #[schema(required = false)]
    pub last_updated_at: String,
}

/// A link behind which the owner verifies their identity.
#[derive(Deserialize, ToSchema)]
pub struct KycLinkResponse {
    /// To be given unchanged; good once.
    pub kyc_url: String,
    /// The wallet's address in lower case.
    pub user_id: String,
    /// Where the check stands now.
    pub status: String,
    /// Seconds.
    pub expires_in: u64,
}

/// A callback was taken.
#[derive(Deserialize, ToSchema)]
pub struct CallbackReceived {
    /// Always true.
    pub received: bool,
}

/// What an owner allows of each day, by budget; a budget that is not here is as wide as the service's.
#[derive(Deserialize, ToSchema)]
pub struct OwnerCaps {
    /// Prepaid cards of both kinds.
    pub usa_prepaid_card: Option<OwnerCap>,
    /// Gift cards.
    pub gift_card: Option<OwnerCap>,
    /// Payouts to debit cards.
    pub push_to_card: Option<OwnerCap>,
    /// Payouts to bank destinations.
    pub bank_payment: Option<OwnerCap>,
    /// Payouts to payment apps.
    pub app_payment: Option<OwnerCap>,
    /// Top-ups of the balance at the card issuer.
    pub card_balance: Option<OwnerCap>,
}

/// What an owner allows of one budget in a day.
#[derive(Deserialize, ToSchema)]
pub struct OwnerCap {
    /// Purchases.
    pub count_per_day: Option<u32>,
    /// Dollars, fees apart.
    #[schema(value_type = Option<ExactDecimal>)]
    pub sum_per_day: Option<Value>,
}
