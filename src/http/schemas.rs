//! Response bodies for `/openapi.json` only. Describes what handlers write as text (amounts with exact digits,
//! challenges byte for byte).
//!
//! Clients tolerate new members, so the document leaves its objects open. The tests close them: a response with a
//! member that is not listed here fails.

mod account;
mod agent_wallet;
mod api_keys;
mod banking;
mod card_balance;
mod event_resources;
mod gift_cards;
mod identity;
mod intl_orders;
pub mod names;
mod payments;
mod payouts;
mod reloadable_cards;
pub mod statuses;
mod webhooks;
mod withdrawals;

use purser_actors::money::{Cents, Usdc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{Object, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::json::ExactNumber;
pub use account::{
    AccountBalance, AccountOverview, AnyCardWithDetails, AuthLinkResponse, BillingAddress, Card, CardDataResponse,
    CardDetails, CardList, CardListItem, CardPurchase, CardPurchaseResponse, CardTransaction, CardWithDetails,
    CreditedPurchase, Event, EventData, EventList, PurchasedCard, RefreshCardResponse,
};
pub use agent_wallet::{
    AddressBookEntry, AddressBookResult, AgentBalance, AgentBalances, AgentPaymentResult, AgentSpendLimit, AgentWallet,
    AgentWalletAddresses, AgentWalletCaps, CreateAgentWalletResult, DeleteAddressResult, GetAgentWalletResult,
    PaidCallResponse, PendingWalletPayment, SaveAddressResult, WalletPayment,
};
pub use api_keys::*;
pub use banking::*;
pub use card_balance::{
    CardTransactionsResponse, DepositAddress, TopUp, TopUpLeg, TopUpPurchase, TopUpPurchaseResponse,
};
pub use event_resources::{
    AccountResource, AgentWalletLimits, AgentWalletResource, ApiKeyResource, BankAccountResource,
    BankDestinationResource, BankTransferResource, BankingApplicationResource, BankingProfileResource,
    IdentityResource, IssuerLinkResource, PaymentRecipientResource, RefundResource, SessionResource,
    WalletPaymentResource,
};
pub use gift_cards::{GiftCard, GiftCardPurchase, GiftCardPurchaseResponse, GiftCardWithDetails, PurchasedGiftCard};
pub use identity::{CallbackReceived, KycLinkResponse, KycStatusResponse, OwnerCap, OwnerCaps};
pub use intl_orders::{
    CancelOrderResponse, IntlCard, IntlCardDetails, IntlCardOrder, IntlCardWithDetails, IntlOrderPurchase,
    IntlOrderPurchaseResponse,
};
pub use names::*;
pub use payments::{ListedPayment, Payment, PaymentList, PaymentReceipt, PaymentStatusResponse};
pub use reloadable_cards::{
    CardActionResponse, CardCharge, CardHistoryEntry, CreateReloadableCardResponse, CreatedReloadableCard,
    ReloadableCard, ReloadableCardWithDetails,
};
pub use withdrawals::{
    CreateWithdrawalResponse, CreatedWithdrawal, StatementLine, StatementResponse, Withdrawal, WithdrawalList,
    WithdrawalResponse, WithdrawalStatusResponse,
};

pub use payouts::{
    AppPaymentPurchase, AppPaymentPurchaseResponse, BankPaymentPurchase, BankPaymentPurchaseResponse, BankRecipient,
    BankRecipientDestination, BankRecipientList, DeletedPaymentRecipient, LateReturn, PaymentRecipient,
    PaymentRecipientList, Payout, PayoutDestination, PayoutList, PayoutStatusResponse, PurchasedAppPayment,
    PurchasedBankPayment, PushToCardPurchase, PushToCardPurchaseResponse, UpdatedPaymentRecipient,
};
pub use statuses::*;
pub use webhooks::*;

/// A decimal number with exactly its digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ExactDecimal(ExactNumber);

impl From<Cents> for ExactDecimal {
    fn from(cents: Cents) -> Self {
        Self(cents.into())
    }
}

impl From<Usdc> for ExactDecimal {
    fn from(usdc: Usdc) -> Self {
        Self(usdc.into())
    }
}

impl PartialSchema for ExactDecimal {
    fn schema() -> RefOr<Schema> {
        let number: Object = ObjectBuilder::new().schema_type(Type::Number).build();
        number.into()
    }
}

impl ToSchema for ExactDecimal {}

/// Every error except a 402. As `application/problem+json` with the members of RFC 9457.
#[derive(Deserialize, ToSchema)]
pub struct Error {
    /// `about:blank`, for RFC 9457 only.
    pub r#type: Option<String>,
    /// Name of the status, for RFC 9457 only.
    pub title: Option<String>,
    /// HTTP status, for RFC 9457 only.
    pub status: Option<u16>,
    /// Same as `error`, for RFC 9457 only.
    pub detail: Option<String>,
    /// Message for people, one sentence.
    pub error: String,
    /// Stable code for programs.
    #[schema(value_type = ErrorCodeName)]
    pub code: String,
    /// Parameter or header at fault.
    pub param: Option<String>,
    /// What the caller can do.
    pub hint: Option<String>,
    /// Distinguishes several reasons for one code. For a call to a route of this service: the code of its error.
    pub reason: Option<String>,
    /// HTTP status of the called server.
    pub seller_status: Option<u16>,
    /// Beginning of the server's body, at most 2,048 bytes of readable text. For a route of this service, its code,
    /// message and hint appear instead.
    pub seller_body: Option<String>,
    /// Names of missing parameters or preconditions.
    pub missing: Option<Vec<String>>,
    /// Message of the operator to a frozen account.
    pub frozen_message: Option<String>,
    /// Whether the same request can never succeed.
    pub terminal: bool,
    /// Id of the request, also in `Request-Id`.
    pub request_id: String,
    /// Delay before a retry, also in `Retry-After`.
    pub retry_after_seconds: Option<u64>,
}

/// Every error of a callable function.
#[derive(Deserialize, ToSchema)]
pub struct CallableError {
    /// Details of the error.
    #[schema(inline)]
    pub error: CallableErrorDetails,
    /// Message of the operator to a frozen account.
    pub frozen_message: Option<String>,
}

/// Error of a callable function, without its envelope.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallableErrorDetails {
    /// Stable code for programs.
    #[schema(value_type = ErrorCodeName)]
    pub code: String,
    /// Message for people, one sentence.
    pub message: String,
    /// HTTP status of the error.
    pub status: u16,
    /// Member or header at fault.
    pub param: Option<String>,
    /// What the caller can do.
    pub hint: Option<String>,
    /// Distinguishes several reasons for one code. For a call to a route of this service: the code of its error.
    pub reason: Option<String>,
    /// HTTP status of the called server.
    pub seller_status: Option<u16>,
    /// Beginning of the server's body, at most 2,048 bytes of readable text. For a route of this service, its code,
    /// message and hint appear instead.
    pub seller_body: Option<String>,
    /// Names of missing parameters or preconditions.
    pub missing: Option<Vec<String>>,
    /// Whether the same call can never succeed.
    pub terminal: bool,
    /// Id of the request, also in `Request-Id`.
    pub request_id: String,
    /// Delay before a retry, also in `Retry-After`.
    pub retry_after_seconds: Option<u64>,
}

/// Tokens of a session.
#[derive(Deserialize, ToSchema)]
pub struct Credentials {
    /// Token for `Authorization: Bearer`.
    pub id_token: String,
    /// Token for `POST /auth`, valid once.
    pub refresh_token: String,
    /// Lifetime of `id_token` in seconds, as text.
    pub expires_in: String,
}

/// Session of a wallet that signed in.
#[derive(Deserialize, ToSchema)]
pub struct SignInResponse {
    /// Tokens of the session.
    pub auth: Credentials,
    /// The wallet's address in lower case.
    pub user_id: String,
}

/// New tokens for a refresh token.
#[derive(Deserialize, ToSchema)]
pub struct TokenResponse {
    /// Token for `Authorization: Bearer`.
    pub id_token: String,
    /// Next refresh token.
    pub refresh_token: String,
    /// Lifetime of `id_token` in seconds, as text.
    pub expires_in: String,
    /// The wallet's address in lower case.
    pub user_id: String,
}

/// Public keys (RFC 7517).
#[derive(Deserialize, ToSchema)]
pub struct JsonWebKeySet {
    /// Newest key first.
    pub keys: Vec<JsonWebKey>,
}

/// An Ed25519 key (RFC 8037).
#[derive(Deserialize, ToSchema)]
pub struct JsonWebKey {
    /// `OKP` is the key type.
    pub kty: String,
    /// `Ed25519` is the curve.
    pub crv: String,
    /// `sig` is the key's use.
    pub r#use: String,
    /// `EdDSA` is the signature algorithm.
    pub alg: String,
    /// Id of the key in token headers.
    pub kid: String,
    /// Public key in base64url.
    pub x: String,
}

/// What to pay or sign. `PAYMENT-REQUIRED` has the same object without `code`, `reason` and older names.
#[derive(Deserialize, ToSchema)]
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
    #[schema(value_type = ErrorCodeName)]
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

/// The exchange rate of a quote.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotedExchangeRate {
    /// Currency of the amount (ISO 4217).
    pub currency: String,
    /// US dollars per unit.
    #[schema(value_type = ExactDecimal)]
    pub usd_per_unit: Value,
    /// Source of the rate.
    pub source: String,
    /// Time since when the rate is valid.
    pub as_of: String,
}

/// The requested resource.
#[derive(Deserialize, ToSchema)]
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
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaymentOffer {
    /// `exact` is the payment scheme.
    #[schema(value_type = PaymentScheme)]
    pub scheme: String,
    /// Network as a CAIP-2 name.
    #[schema(value_type = NetworkId)]
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
#[derive(Deserialize, ToSchema)]
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
    #[schema(value_type = ErrorCodeName)]
    pub code: String,
    /// `insufficient_funds`, or the chain's reason.
    pub error_reason: String,
    /// Message of the chain.
    pub error_message: String,
    /// Always the empty string.
    pub transaction: String,
    /// Network as a CAIP-2 name.
    #[schema(value_type = NetworkId)]
    pub network: String,
    /// Address of the payer.
    pub payer: String,
    /// What to do next.
    #[serde(rename = "x_service_guidance")]
    pub guidance: Option<String>,
}

/// A 402 of a paid route.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum PaymentRequiredResponse {
    /// Payment terms to choose from.
    Challenge(PaymentChallenge),
    /// A payment that failed.
    Failed(SettlementFailure),
}

/// A payment whose outcome is not known yet.
#[derive(Deserialize, ToSchema)]
pub struct PendingPayment {
    /// `settlement_pending` in every case.
    pub status: SettlementPendingStatus,
    /// Id for `GET /get-payment`.
    pub payment_id: String,
    /// URL to poll.
    pub status_url: String,
    /// Delay before the next poll.
    pub retry_after_seconds: u64,
}
