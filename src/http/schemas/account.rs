//! Schemas of an account: cards, payments, the balance, events.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    AccountStatus, CardAction, CardStatus, ExactDecimal, GiftCard, IntlCard, OwnerCaps, PrepaidCardType, ReloadableCard,
};

/// A card without its number.
#[derive(Serialize, ToSchema)]
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

/// A card of a page.
#[derive(Serialize, ToSchema)]
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

/// Balance of an account.
#[derive(Serialize, ToSchema)]
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

/// A page of events.
#[derive(Serialize, ToSchema)]
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
#[derive(Serialize, Deserialize, ToSchema)]
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
#[derive(Serialize, Deserialize, ToSchema)]
pub struct EventData {
    /// The resource after the event.
    #[schema(value_type = Object)]
    pub object: Value,
}
