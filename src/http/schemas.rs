//! The bodies of answers, for `/openapi.json` alone: what is written as text elsewhere (amounts with their exact digits,
//! challenges byte for byte) is described here.
//!
//! Clients tolerate new members, so the document leaves its objects open. The tests close them: an answer with a member
//! that is not listed here fails there.

mod account;
mod agent_wallet;
mod api_keys;
mod banking;
mod card_balance;
mod gift_cards;
mod identity;
mod intl_orders;
mod payments;
mod payouts;
mod reloadable_cards;
mod webhooks;
mod withdrawals;

use serde::Deserialize;
use serde_json::Value;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{Object, RefOr};
use utoipa::{PartialSchema, ToSchema};

pub use account::{
    AccountBalance, AccountOverview, AuthLinkResponse, BillingAddress, Card, CardDataResponse, CardDetails, CardList,
    CardListItem, CardPurchase, CardPurchaseResponse, CardTransaction, CardWithDetails, CreditedPurchase, Event,
    EventData, EventList, PurchasedCard, RefreshCardResponse,
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
pub use gift_cards::{GiftCard, GiftCardPurchase, GiftCardPurchaseResponse, GiftCardWithDetails, PurchasedGiftCard};
pub use identity::{CallbackReceived, KycLinkResponse, KycStatusResponse, OwnerCap, OwnerCaps};
pub use intl_orders::{
    CancelOrderResponse, IntlCard, IntlCardDetails, IntlCardOrder, IntlCardWithDetails, IntlOrderPurchase,
    IntlOrderPurchaseResponse,
};
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
pub use webhooks::*;

/// A decimal number with exactly its digits.
pub struct ExactDecimal;

impl PartialSchema for ExactDecimal {
    fn schema() -> RefOr<Schema> {
        let number: Object = ObjectBuilder::new().schema_type(Type::Number).build();
        number.into()
    }
}

impl ToSchema for ExactDecimal {}

/// Every refusal but a 402. As `application/problem+json` also the members of RFC 9457.
#[derive(Deserialize, ToSchema)]
pub struct Error {
    /// `about:blank`; RFC 9457 only.
    pub r#type: Option<String>,
    /// The status in words; RFC 9457 only.
    pub title: Option<String>,
    /// The status; RFC 9457 only.
    pub status: Option<u16>,
    /// As `error`; RFC 9457 only.
    pub detail: Option<String>,
    /// For people, one sentence.
    pub error: String,
    /// For programs; stable.
    pub code: String,
    /// The parameter or header at fault.
    pub param: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Of several reasons for one code: which. Of a call to this service's own route: the code that it answered with.
    pub reason: Option<String>,
    /// Of a call made for the caller: the server's HTTP status.
    pub seller_status: Option<u16>,
    /// The beginning of the server's body, at most 2,048 bytes of readable text; of this service's own route its code, sentence and
    /// hint stand in its place.
    pub seller_body: Option<String>,
    /// What is lacking, by name.
    pub missing: Option<Vec<String>>,
    /// The operator's words to a frozen account.
    pub frozen_message: Option<String>,
    /// Whether the same request can never succeed.
    pub terminal: bool,
    /// Also in `Request-Id`.
    pub request_id: String,
    /// Also in `Retry-After`.
    pub retry_after_seconds: Option<u64>,
}

/// Every refusal of a callable function.
#[derive(Deserialize, ToSchema)]
pub struct CallableError {
    /// What was refused, and why.
    #[schema(inline)]
    pub error: CallableErrorDetails,
    /// The operator's words to a frozen account.
    pub frozen_message: Option<String>,
}

/// The inside of a callable function's refusal.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallableErrorDetails {
    /// For programs; stable.
    pub code: String,
    /// For people, one sentence.
    pub message: String,
    /// The HTTP status.
    pub status: u16,
    /// The member or header at fault.
    pub param: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Of several reasons for one code: which. Of a call to this service's own route: the code that it answered with.
    pub reason: Option<String>,
    /// Of a call made for the caller: the server's HTTP status.
    pub seller_status: Option<u16>,
    /// The beginning of the server's body, at most 2,048 bytes of readable text; of this service's own route its code, sentence and
    /// hint stand in its place.
    pub seller_body: Option<String>,
    /// What is lacking, by name.
    pub missing: Option<Vec<String>>,
    /// Whether the same call can never succeed.
    pub terminal: bool,
    /// Also in `Request-Id`.
    pub request_id: String,
    /// Also in `Retry-After`.
    pub retry_after_seconds: Option<u64>,
}

/// Tokens of a session.
#[derive(Deserialize, ToSchema)]
pub struct Credentials {
    /// For `Authorization: Bearer`.
    pub id_token: String,
    /// For `POST /auth`; good once.
    pub refresh_token: String,
    /// Seconds that `id_token` lives, as text.
    pub expires_in: String,
}

/// A wallet that signed in.
#[derive(Deserialize, ToSchema)]
pub struct SignInResponse {
    /// Its tokens.
    pub auth: Credentials,
    /// The wallet's address in lower case.
    pub user_id: String,
}

/// The tokens that follow a refresh token.
#[derive(Deserialize, ToSchema)]
pub struct TokenResponse {
    /// For `Authorization: Bearer`.
    pub id_token: String,
    /// The next one.
    pub refresh_token: String,
    /// Seconds that `id_token` lives, as text.
    pub expires_in: String,
    /// The wallet's address in lower case.
    pub user_id: String,
}

/// Public keys (RFC 7517).
#[derive(Deserialize, ToSchema)]
pub struct JsonWebKeySet {
    /// Newest first.
    pub keys: Vec<JsonWebKey>,
}

/// An Ed25519 key (RFC 8037).
#[derive(Deserialize, ToSchema)]
pub struct JsonWebKey {
    /// `OKP`.
    pub kty: String,
    /// `Ed25519`.
    pub crv: String,
    /// `sig`.
    pub r#use: String,
    /// `EdDSA`.
    pub alg: String,
    /// Names it in a token's header.
    pub kid: String,
    /// The key, base64url.
    pub x: String,
}

/// What is to be paid or signed. `PAYMENT-REQUIRED` holds the same object without `code`, `reason` and older names.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaymentChallenge {
    /// False: paid or signed, the same request succeeds.
    pub terminal: bool,
    /// As in the header `Request-Id`.
    #[serde(rename = "request_id")]
    pub request_id: String,
    /// 2.
    #[serde(rename = "x402Version")]
    pub x402_version: u8,
    /// Why: `Payment required`, or the reason of a refusal.
    pub error: String,
    /// For programs; stable.
    pub code: String,
    /// Of a sign-in: why the proof was refused.
    pub reason: Option<String>,
    /// Type of the problem in the Machine Payments Protocol (RFC 9457).
    pub r#type: Option<String>,
    /// The type in words.
    pub title: Option<String>,
    /// 402.
    pub status: Option<u16>,
    /// What is wrong, for people.
    pub detail: Option<String>,
    /// Id of the challenge in `WWW-Authenticate`.
    pub challenge_id: Option<String>,
    /// How the amount was converted, when it is not in US dollars.
    pub exchange_rate: Option<Box<QuotedExchangeRate>>,
    /// What was asked for.
    pub resource: ChallengeResource,
    /// The terms, of which one is chosen.
    pub accepts: Vec<PaymentOffer>,
    /// By name, such as `sign-in-with-x`.
    pub extensions: Option<Value>,
}

/// The exchange rate of a quote.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuotedExchangeRate {
    /// ISO 4217, of the amount.
    pub currency: String,
    /// US dollars of one unit.
    #[schema(value_type = ExactDecimal)]
    pub usd_per_unit: Value,
    /// Who made the table.
    pub source: String,
    /// Since when it holds.
    pub as_of: String,
}

/// What was asked for.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChallengeResource {
    /// The URL with its query.
    pub url: String,
    /// One sentence.
    pub description: String,
    /// Of the answer.
    pub mime_type: String,
}

/// Terms of x402 v2 with the names of v1 beside them.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaymentOffer {
    /// `exact`.
    pub scheme: String,
    /// CAIP-2.
    pub network: String,
    /// Atomic USDC, fees included.
    pub amount: String,
    /// The token.
    pub asset: String,
    /// Who is paid.
    pub pay_to: String,
    /// Seconds that the price holds.
    pub max_timeout_seconds: u32,
    /// What the network needs besides.
    pub extra: Value,
    /// As `amount`.
    pub max_amount_required: String,
    /// The URL with its query.
    pub resource: String,
    /// One sentence.
    pub description: String,
    /// Of the answer.
    pub mime_type: String,
}

/// A payment that could not settle. Nothing was charged so far.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettlementFailure {
    /// False: the same request may succeed.
    pub terminal: bool,
    /// As in the header `Request-Id`.
    #[serde(rename = "request_id")]
    pub request_id: String,
    /// False.
    pub success: bool,
    /// For people, one sentence.
    pub error: String,
    /// `settlement_failed`.
    pub code: String,
    /// `insufficient_funds`, or the chain's reason.
    pub error_reason: String,
    /// The chain's words.
    pub error_message: String,
    /// Empty.
    pub transaction: String,
    /// CAIP-2.
    pub network: String,
    /// Who wanted to pay.
    pub payer: String,
    /// What to do now.
    #[serde(rename = "x_service_guidance")]
    pub guidance: Option<String>,
}

/// A 402 of a paid route.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum PaymentRequiredResponse {
    /// Pay one of these.
    Challenge(PaymentChallenge),
    /// A payment came, and failed.
    Failed(SettlementFailure),
}

/// A payment whose outcome is not known yet.
#[derive(Deserialize, ToSchema)]
pub struct PendingPayment {
    /// `settlement_pending`.
    pub status: String,
    /// For `GET /get-payment`.
    pub payment_id: String,
    /// Where to ask.
    pub status_url: String,
    /// When to ask.
    pub retry_after_seconds: u64,
}
