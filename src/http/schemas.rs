//! Response bodies for `/openapi.json` only. Describes what handlers write as text (amounts with exact digits,
//! challenges byte for byte).
//!
//! Clients tolerate new members, so the document leaves its objects open. The tests close them: a response with a
//! member that is not listed here fails.

mod account;
mod agent_wallet;
mod api_keys;
mod banking;
mod identity;
#[cfg(feature = "documents")]
pub mod names;
mod payments;
mod payouts;
mod views;

use serde::Serialize;
use serde_json::Value;

pub use account::*;
pub use agent_wallet::*;
pub use api_keys::*;
pub use banking::*;
pub use identity::*;
#[cfg(feature = "documents")]
pub use names::*;
pub use payments::*;
pub use payouts::*;
pub use views::*;

pub use crate::checkout::{PayoutDestination, QuotedExchangeRate};
pub use crate::statuses::{self, *};
pub use purser_actors::answer::ExactDecimal;

pub type Error = crate::edge::error::Error<'static>;
pub type CallableError = crate::edge::error::CallableError<'static>;

/// What to pay or sign. `PAYMENT-REQUIRED` has the same object without `code`, `reason` and older names.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PaymentChallenge {
    /// Always false: once it is paid or signed, the same request succeeds.
    pub terminal: bool,
    /// Id of the request, also in `Request-Id`.
    #[serde(rename = "request_id")]
    pub request_id: String,
    /// 2.
    #[serde(rename = "x402Version")]
    pub x402_version: u8,
    /// `Payment required`, or the reason of an error.
    pub error: String,
    /// Stable code for programs.
    #[cfg_attr(feature = "documents", schema(value_type = ChallengeCode))]
    pub code: String,
    /// Reason why a sign-in proof was rejected.
    pub reason: Option<String>,
    /// Problem type of the Machine Payments Protocol (RFC 9457).
    pub r#type: Option<String>,
    /// Title of the problem type.
    pub title: Option<String>,
    /// 402.
    pub status: Option<u16>,
    /// Explanation of the problem.
    pub detail: Option<String>,
    /// Id of the challenge in `WWW-Authenticate`.
    pub challenge_id: Option<String>,
    /// Conversion of the amount, if it is not in US dollars.
    pub exchange_rate: Option<Box<QuotedExchangeRate>>,
    /// The requested resource.
    pub resource: ChallengeResource,
    /// Payment terms. Choose one.
    pub accepts: Vec<PaymentOffer>,
    /// Extensions by name, such as `sign-in-with-x`.
    pub extensions: Option<Value>,
}

/// The requested resource.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChallengeResource {
    /// URL with its query.
    pub url: String,
    /// Description in one sentence.
    pub description: String,
    /// Media type of the response.
    pub mime_type: String,
}

/// Payment terms of x402 v2, with the member names of v1 besides.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PaymentOffer {
    /// `exact` is the payment scheme.
    #[cfg_attr(feature = "documents", schema(value_type = PaymentScheme))]
    pub scheme: String,
    /// Network as a CAIP-2 name.
    #[cfg_attr(feature = "documents", schema(value_type = NetworkId))]
    pub network: String,
    /// Amount in atomic USDC, fees included.
    pub amount: String,
    /// Token to pay with.
    pub asset: String,
    /// Address of the payee.
    pub pay_to: String,
    /// Seconds that the price is valid.
    pub max_timeout_seconds: u32,
    /// Parameters specific to the network.
    pub extra: Value,
    /// Same as `amount`.
    pub max_amount_required: String,
    /// URL with its query.
    pub resource: String,
    /// Description in one sentence.
    pub description: String,
    /// Media type of the response.
    pub mime_type: String,
}

/// A payment that could not settle. Nothing was charged so far.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SettlementFailure {
    /// Always false: the same request may succeed.
    pub terminal: bool,
    /// Id of the request, also in `Request-Id`.
    #[serde(rename = "request_id")]
    pub request_id: String,
    /// Always false on failure.
    pub success: bool,
    /// Message for people, one sentence.
    pub error: String,
    /// `settlement_failed` is the stable code.
    #[cfg_attr(feature = "documents", schema(value_type = SettlementFailureCode))]
    pub code: String,
    /// `insufficient_funds`, or the chain's reason.
    pub error_reason: String,
    /// Message of the chain.
    pub error_message: String,
    /// Always the empty string.
    pub transaction: String,
    /// Network as a CAIP-2 name.
    #[cfg_attr(feature = "documents", schema(value_type = NetworkId))]
    pub network: String,
    /// Address of the payer.
    pub payer: String,
    /// What to do next.
    #[serde(rename = "x_service_guidance")]
    pub guidance: Option<String>,
}

/// A 402 of a paid route.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum PaymentRequiredResponse {
    /// Payment terms to choose from.
    Challenge(PaymentChallenge),
    /// A payment that failed.
    Failed(SettlementFailure),
}
