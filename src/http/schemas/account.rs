//! Schemas of an account: cards, payments, the balance, events.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    AccountStatus, CardAction, CardStatus, CardTransactionStatus, Credentials, CreditedStatus, ExactDecimal, GiftCard,
    GiftCardWithDetails, IntlCard, IntlCardWithDetails, OwnerCaps, PendingStatus, PrepaidCardType, ReloadableCard,
    ReloadableCardWithDetails,
};

/// Response of a paid call that was settled.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum CardPurchaseResponse {
    /// The card was bought.
    Bought(CardPurchase),
    /// The card could not be delivered, and the charge was credited to the balance.
    Credited(CreditedPurchase),
}

/// A purchased card with the payment.
#[derive(Deserialize, ToSchema)]
pub struct CardPurchase {
    /// Tokens, only for the call that paid first. Replays have none.
    pub auth: Option<Credentials>,
    /// The payer's address in lower case.
    pub user_id: String,
    /// Id for `GET /get-card-data`.
    pub card_id: String,
    /// Status of the card at purchase.
    pub status: PendingStatus,
    /// The card as purchased.
    pub card: PurchasedCard,
    /// Id for `GET /get-payment`.
    pub payment_id: String,
}

/// A card as purchased.
#[derive(Deserialize, ToSchema)]
pub struct PurchasedCard {
    /// Id of the card.
    pub card_id: String,
    /// US dollars loaded on the card.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// `US` is the country of the card.
    pub country: String,
    /// Status of the card at purchase.
    pub status: PendingStatus,
    /// Creation time (RFC 3339).
    pub created_at: String,
}

/// A charge that was credited to the balance.
#[derive(Deserialize, ToSchema)]
pub struct CreditedPurchase {
    /// `credited` in every case.
    pub status: CreditedStatus,
    /// The payer's address in lower case.
    pub user_id: String,
    /// Id for `GET /get-payment`.
    pub payment_id: String,
    /// Credited amount in USDC.
    #[schema(value_type = ExactDecimal)]
    pub credited_amount: Value,
    /// Explanation for people.
    pub note: String,
}

/// A card without its number.
#[derive(Deserialize, ToSchema)]
pub struct Card {
    /// Id of the card.
    pub card_id: String,
    /// `pending`, `ready`, `paused`, `failed`, `closed` or `expired`.
    pub status: CardStatus,
    /// Same as `status`.
    pub state: CardStatus,
    /// `Non-Reloadable U.S.` is the card type.
    pub card_type: PrepaidCardType,
    /// US dollars loaded on the card.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// US dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Fees in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub fees_paid: Value,
    /// Remaining US dollars, as the issuer last reported.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// US dollars credited to the account's balance: the full charge of a failed card, otherwise the remainder at its
    /// end, less earlier refunds.
    #[schema(value_type = ExactDecimal)]
    pub credited_usd_amount: Value,
    /// `US` is the country of the card.
    pub country: String,
    /// Last four digits of the card number, once known.
    #[schema(required)]
    pub last4: Option<String>,
    /// `pause`, `resume` or `close` while the issuer has not answered that action.
    #[schema(required)]
    pub pending_action: Option<CardAction>,
    /// Reason of a failed card.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// Payment that bought the card.
    pub payment_id: String,
    /// Whether a refresh is in progress.
    pub refreshing: bool,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// A card, with its number while it is ready or paused.
#[derive(Deserialize, ToSchema)]
pub struct CardWithDetails {
    /// Id of the card.
    pub card_id: String,
    /// `pending`, `ready`, `paused`, `failed`, `closed` or `expired`.
    pub status: CardStatus,
    /// Same as `status`.
    pub state: CardStatus,
    /// `Non-Reloadable U.S.` is the card type.
    pub card_type: PrepaidCardType,
    /// US dollars loaded on the card.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// US dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Fees in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub fees_paid: Value,
    /// Remaining US dollars, as the issuer last reported.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// US dollars credited to the account's balance: the full charge of a failed card, otherwise the remainder at its
    /// end, less earlier refunds.
    #[schema(value_type = ExactDecimal)]
    pub credited_usd_amount: Value,
    /// `US` is the country of the card.
    pub country: String,
    /// Last four digits of the card number, once known.
    #[schema(required)]
    pub last4: Option<String>,
    /// `pause`, `resume` or `close` while the issuer has not answered that action.
    #[schema(required)]
    pub pending_action: Option<CardAction>,
    /// Reason of a failed card.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// Payment that bought the card.
    pub payment_id: String,
    /// Whether a refresh is in progress.
    pub refreshing: bool,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
    /// Transactions of the card, newest first, including declined ones: at most 20.
    pub transactions: Vec<CardTransaction>,
    /// Card details while the card is ready or paused.
    pub card_details: Option<CardDetails>,
}

/// A charge of a card, approved or declined.
#[derive(Deserialize, ToSchema)]
pub struct CardTransaction {
    /// `txn_000001` for example. The issuer's id of the transaction.
    pub transaction_id: String,
    /// Name of the merchant: external text, never markup.
    pub merchant: String,
    /// Amount in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// `pending`, `settled`, `declined` or `refunded`.
    pub status: CardTransactionStatus,
    /// Reason of a declined charge, as the issuer reports it.
    #[schema(required)]
    pub decline_reason: Option<String>,
    /// Time of the charge (RFC 3339).
    pub at: String,
}

/// A refresh that was started.
#[derive(Deserialize, ToSchema)]
pub struct RefreshCardResponse {
    /// Always true on success.
    pub success: bool,
    /// Message for people.
    pub message: String,
}

/// Details to pay with a card.
#[derive(Deserialize, ToSchema)]
pub struct CardDetails {
    /// Card number, 16 digits.
    pub card_number: String,
    /// Expiry month, 1 to 12.
    pub exp_month: u8,
    /// Expiry year, four digits.
    pub exp_year: u16,
    /// Card verification value, 3 digits.
    pub cvv: String,
    /// Remaining US dollars.
    #[schema(value_type = ExactDecimal)]
    pub available_balance: Value,
    /// Billing address for merchants.
    pub billing_address: BillingAddress,
}

/// Billing address of a card.
#[derive(Deserialize, ToSchema)]
pub struct BillingAddress {
    /// Street and number.
    pub line1: String,
    /// City of the address.
    pub city: String,
    /// State, two letters.
    pub state: String,
    /// Postal code, five digits.
    pub postal_code: String,
    /// `US` is the country.
    pub country: String,
}

/// A page of cards.
#[derive(Deserialize, ToSchema)]
pub struct CardList {
    /// Oldest first, all of one type.
    pub cards: Vec<CardListItem>,
    /// Whether more cards follow.
    pub has_more: bool,
}

/// A card of a page.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum CardListItem {
    /// A prepaid card.
    Prepaid(Card),
    /// A gift card.
    Gift(GiftCard),
    /// An international card.
    International(IntlCard),
    /// A reloadable card.
    Reloadable(ReloadableCard),
}

/// A card with what only its own request shows.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum AnyCardWithDetails {
    /// A prepaid card.
    Prepaid(Box<CardWithDetails>),
    /// A gift card.
    Gift(Box<GiftCardWithDetails>),
    /// An international card.
    International(Box<IntlCardWithDetails>),
    /// A reloadable card.
    Reloadable(Box<ReloadableCardWithDetails>),
}

/// One card, or a page of cards.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum CardDataResponse {
    /// The card of `card_id`.
    One(AnyCardWithDetails),
    /// A page, without `card_id`.
    Page(CardList),
}

/// Balance of an account.
#[derive(Deserialize, ToSchema)]
pub struct AccountBalance {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `active` or `frozen`.
    pub status: AccountStatus,
    /// Balance in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub balance: Value,
    /// Part of the balance that can be spent.
    #[schema(value_type = ExactDecimal)]
    pub available: Value,
    /// Part of the balance that is on hold.
    #[schema(value_type = ExactDecimal)]
    pub held: Value,
    /// Total of all credits in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub total_deposits: Value,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Daily caps set by the owner, if any.
    pub owner_caps: Option<OwnerCaps>,
}

/// Account data for the account page.
#[derive(Deserialize, ToSchema)]
pub struct AccountOverview {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `active` or `frozen`.
    pub status: AccountStatus,
    /// Balance in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub balance: Value,
    /// Part of the balance that can be spent.
    #[schema(value_type = ExactDecimal)]
    pub available: Value,
    /// Part of the balance that is on hold.
    #[schema(value_type = ExactDecimal)]
    pub held: Value,
    /// Total of all credits in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub total_deposits: Value,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Daily caps set by the owner, if any.
    pub owner_caps: Option<OwnerCaps>,
    /// Sequence number of the last event that is included.
    pub seq: u64,
    /// Cards of all kinds, newest first, at most 50.
    pub cards: Vec<CardListItem>,
}

/// A login link for a person.
#[derive(Deserialize, ToSchema)]
pub struct AuthLinkResponse {
    /// URL to give to a person unchanged. It can be opened once.
    pub auth_url: String,
    /// The wallet's address in lower case.
    pub user_id: String,
    /// Validity of the link in seconds.
    pub expires_in: u64,
}

/// A page of events.
#[derive(Deserialize, ToSchema)]
pub struct EventList {
    /// In the order they happened, or newest first.
    pub events: Vec<Event>,
    /// Whether more events follow.
    pub has_more: bool,
    /// Pass as `after` for the next page; absent with `order=desc`.
    pub next_after: Option<u64>,
    /// Pass as `before` for the next page; only with `order=desc`.
    pub next_before: Option<u64>,
}

/// The envelope of an event.
#[derive(Deserialize, ToSchema)]
pub struct Event {
    /// Sequence number among the account's events. Resume after it.
    pub seq: u64,
    /// Id of the event.
    pub id: String,
    /// `<resource>.<change>` is the event type.
    pub r#type: String,
    /// Version of the contract at the time of the event.
    pub api_version: String,
    /// Time of the event (RFC 3339).
    pub created_at: String,
    /// Wallet address of the account in lower case.
    pub user_id: String,
    /// Resource of the event.
    pub data: EventData,
    /// Earlier values of the changed members.
    #[schema(value_type = Object)]
    pub previous: Value,
}

/// Resource of an event.
#[derive(Deserialize, ToSchema)]
pub struct EventData {
    /// The resource after the event.
    #[schema(value_type = Object)]
    pub object: Value,
}
