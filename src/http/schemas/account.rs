//! What belongs to an account: cards, payments, the balance, events.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    Credentials, ExactDecimal, GiftCard, GiftCardWithDetails, IntlCard, IntlCardWithDetails, OwnerCaps, ReloadableCard,
    ReloadableCardWithDetails,
};

/// A paid call that was settled.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum CardPurchaseResponse {
    /// The card is on its way.
    Bought(CardPurchase),
    /// It could not be delivered: the charge is on the balance.
    Credited(CreditedPurchase),
}

/// A card bought.
#[derive(Deserialize, ToSchema)]
pub struct CardPurchase {
    /// For the call that paid first; a replay gets none.
    pub auth: Option<Credentials>,
    /// The payer's address in lower case.
    pub user_id: String,
    /// For `GET /get-card-data`.
    pub card_id: String,
    /// `pending`.
    pub status: String,
    /// The card as it was bought.
    pub card: PurchasedCard,
    /// For `GET /get-payment`.
    pub payment_id: String,
}

/// A card as it was bought.
#[derive(Deserialize, ToSchema)]
pub struct PurchasedCard {
    /// Its id.
    pub card_id: String,
    /// Dollars loaded.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// `US`.
    pub country: String,
    /// `pending`.
    pub status: String,
    /// RFC 3339.
    pub created_at: String,
}

/// A charge that became a credit.
#[derive(Deserialize, ToSchema)]
pub struct CreditedPurchase {
    /// `credited`.
    pub status: String,
    /// The payer's address in lower case.
    pub user_id: String,
    /// For `GET /get-payment`.
    pub payment_id: String,
    /// USDC.
    #[schema(value_type = ExactDecimal)]
    pub credited_amount: Value,
    /// For people.
    pub note: String,
}

/// A card without its number.
#[derive(Deserialize, ToSchema)]
pub struct Card {
    /// Its id.
    pub card_id: String,
    /// `pending`, `ready`, `paused`, `failed`, `closed` or `expired`.
    pub status: String,
    /// As `status`.
    pub state: String,
    /// `Non-Reloadable U.S.`.
    pub card_type: String,
    /// Dollars loaded.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// Dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Dollars of it that were fees.
    #[schema(value_type = ExactDecimal)]
    pub fees_paid: Value,
    /// Dollars left on it, by the newest word of whoever made it.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// Dollars credited to the account's balance: the whole charge of a card that failed, else what was left at its end less what a
    /// refund had given.
    #[schema(value_type = ExactDecimal)]
    pub credited_usd_amount: Value,
    /// `US`.
    pub country: String,
    /// Of the number, once there is one.
    #[schema(required)]
    pub last4: Option<String>,
    /// `pause`, `resume` or `close`, while whoever made it is asked for it.
    #[schema(required)]
    pub pending_action: Option<String>,
    /// Of a failed card.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// What paid for it.
    pub payment_id: String,
    /// Whether the issuer is being asked for news of it.
    pub refreshing: bool,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// One card, with its number while it is ready or paused.
#[derive(Deserialize, ToSchema)]
pub struct CardWithDetails {
    /// Its id.
    pub card_id: String,
    /// `pending`, `ready`, `paused`, `failed`, `closed` or `expired`.
    pub status: String,
    /// As `status`.
    pub state: String,
    /// `Non-Reloadable U.S.`.
    pub card_type: String,
    /// Dollars loaded.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// Dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Dollars of it that were fees.
    #[schema(value_type = ExactDecimal)]
    pub fees_paid: Value,
    /// Dollars left on it, by the newest word of whoever made it.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// Dollars credited to the account's balance: the whole charge of a card that failed, else what was left at its end less what a
    /// refund had given.
    #[schema(value_type = ExactDecimal)]
    pub credited_usd_amount: Value,
    /// `US`.
    pub country: String,
    /// Of the number, once there is one.
    #[schema(required)]
    pub last4: Option<String>,
    /// `pause`, `resume` or `close`, while whoever made it is asked for it.
    #[schema(required)]
    pub pending_action: Option<String>,
    /// Of a failed card.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// What paid for it.
    pub payment_id: String,
    /// Whether the issuer is being asked for news of it.
    pub refreshing: bool,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
    /// What it was charged, newest first, refused charges too: at most 20.
    pub transactions: Vec<CardTransaction>,
    /// While it is ready or paused.
    pub card_details: Option<CardDetails>,
}

/// A charge of a card, taken or refused.
#[derive(Deserialize, ToSchema)]
pub struct CardTransaction {
    /// `txn_000001` for example: the issuer's name of it.
    pub transaction_id: String,
    /// In the merchant's own words: text, never markup.
    pub merchant: String,
    /// Dollars.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// `pending`, `settled`, `declined` or `refunded`.
    pub status: String,
    /// Of a declined one: the issuer's word for why.
    #[schema(required)]
    pub decline_reason: Option<String>,
    /// RFC 3339.
    pub at: String,
}

/// The issuer is being asked.
#[derive(Deserialize, ToSchema)]
pub struct RefreshCardResponse {
    /// Always true.
    pub success: bool,
    /// For people.
    pub message: String,
}

/// What is needed to use a card.
#[derive(Deserialize, ToSchema)]
pub struct CardDetails {
    /// 16 digits.
    pub card_number: String,
    /// 1 to 12.
    pub exp_month: u8,
    /// Four digits.
    pub exp_year: u16,
    /// 3 digits.
    pub cvv: String,
    /// Dollars left.
    #[schema(value_type = ExactDecimal)]
    pub available_balance: Value,
    /// For shops that ask for it.
    pub billing_address: BillingAddress,
}

/// The address that a card is billed to.
#[derive(Deserialize, ToSchema)]
pub struct BillingAddress {
    /// Street.
    pub line1: String,
    /// City.
    pub city: String,
    /// Two letters.
    pub state: String,
    /// Five digits.
    pub postal_code: String,
    /// `US`.
    pub country: String,
}

/// A page of cards.
#[derive(Deserialize, ToSchema)]
pub struct CardList {
    /// Oldest first, all of one type.
    pub cards: Vec<CardListItem>,
    /// Whether more follow.
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

/// One card or a page of them.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum CardDataResponse {
    /// With `card_id`.
    Prepaid(Box<CardWithDetails>),
    /// With that of a gift card.
    Gift(Box<GiftCardWithDetails>),
    /// With that of an international card.
    International(Box<IntlCardWithDetails>),
    /// With that of a reloadable card.
    Reloadable(Box<ReloadableCardWithDetails>),
    /// Without.
    Page(CardList),
}

/// An account's money.
#[derive(Deserialize, ToSchema)]
pub struct AccountBalance {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `active` or `frozen`.
    pub status: String,
    /// Dollars.
    #[schema(value_type = ExactDecimal)]
    pub balance: Value,
    /// Dollars that can be spent.
    #[schema(value_type = ExactDecimal)]
    pub available: Value,
    /// Dollars held.
    #[schema(value_type = ExactDecimal)]
    pub held: Value,
    /// Dollars ever credited.
    #[schema(value_type = ExactDecimal)]
    pub total_deposits: Value,
    /// RFC 3339.
    pub created_at: String,
    /// The owner's own daily caps, if any are set.
    pub owner_caps: Option<OwnerCaps>,
}

/// What the account page shows first.
#[derive(Deserialize, ToSchema)]
pub struct AccountOverview {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `active` or `frozen`.
    pub status: String,
    /// Dollars.
    #[schema(value_type = ExactDecimal)]
    pub balance: Value,
    /// Dollars that can be spent.
    #[schema(value_type = ExactDecimal)]
    pub available: Value,
    /// Dollars held.
    #[schema(value_type = ExactDecimal)]
    pub held: Value,
    /// Dollars ever credited.
    #[schema(value_type = ExactDecimal)]
    pub total_deposits: Value,
    /// RFC 3339.
    pub created_at: String,
    /// The owner's own daily caps, if any are set.
    pub owner_caps: Option<OwnerCaps>,
    /// The last event that this state includes.
    pub seq: u64,
    /// Of all kinds, newest first, at most 50.
    pub cards: Vec<CardListItem>,
}

/// A login link for a person.
#[derive(Deserialize, ToSchema)]
pub struct AuthLinkResponse {
    /// To be given unchanged; good once.
    pub auth_url: String,
    /// The wallet's address in lower case.
    pub user_id: String,
    /// Seconds.
    pub expires_in: u64,
}

/// A page of events.
#[derive(Deserialize, ToSchema)]
pub struct EventList {
    /// In the order they happened, or the newest first.
    pub events: Vec<Event>,
    /// Whether more follow.
    pub has_more: bool,
    /// Pass as `after` for the next page; not with `order=desc`.
    pub next_after: Option<u64>,
    /// With `order=desc`, if more follow: pass as `before` for the next page.
    pub next_before: Option<u64>,
}

/// The envelope of an event.
#[derive(Deserialize, ToSchema)]
pub struct Event {
    /// Its place among the account's events: it grows with each, and is what to resume after.
    pub seq: u64,
    /// Its id.
    pub id: String,
    /// `<resource>.<change>`.
    pub r#type: String,
    /// The contract's version when it happened.
    pub api_version: String,
    /// RFC 3339.
    pub created_at: String,
    /// Whose.
    pub user_id: String,
    /// What it is about.
    pub data: EventData,
    /// What the changed members of the resource were before.
    #[schema(value_type = Object)]
    pub previous: Value,
}

/// What an event is about.
#[derive(Deserialize, ToSchema)]
pub struct EventData {
    /// The resource after the event.
    #[schema(value_type = Object)]
    pub object: Value,
}
