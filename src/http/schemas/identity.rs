//! Schemas of the owner's settings: the identity check, the link to the card issuer, the daily caps.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{ExactDecimal, IdentityStatus};

/// Status of the identity check.
#[derive(Serialize, ToSchema)]
pub struct KycStatusResponse {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `none`, `in-review`, `verified` or `rejected`.
    pub status: IdentityStatus,
    /// Reason of the provider for a rejection.
    pub rejection_reason: Option<String>,
    /// Number of checks started so far.
    pub checks: u32,
    /// Time of the first check (RFC 3339).
    #[schema(required = false)]
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    #[schema(required = false)]
    pub last_updated_at: String,
}

/// Daily caps set by the owner, by product. Without a cap here, only the service's cap applies.
#[derive(Serialize, ToSchema)]
pub struct OwnerCaps {
    /// Cap on prepaid cards of both kinds.
    pub usa_prepaid_card: Option<OwnerCap>,
    /// Cap on gift cards.
    pub gift_card: Option<OwnerCap>,
    /// Cap on payouts to debit cards.
    pub push_to_card: Option<OwnerCap>,
    /// Cap on payouts to bank destinations.
    pub bank_payment: Option<OwnerCap>,
    /// Cap on payouts to payment apps.
    pub app_payment: Option<OwnerCap>,
    /// Cap on top-ups of the balance at the card issuer.
    pub card_balance: Option<OwnerCap>,
}

/// The owner's daily cap on one product.
#[derive(Serialize, ToSchema)]
pub struct OwnerCap {
    /// Maximum purchases per day.
    pub count_per_day: Option<u32>,
    /// Maximum US dollars per day, without fees.
    #[schema(value_type = Option<ExactDecimal>)]
    pub sum_per_day: Option<Value>,
}
