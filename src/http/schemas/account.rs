//! Schemas of an account: cards, payments, the balance, events.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Card, ExactDecimal, GiftCard, IntlCard, ReloadableCard};

/// A card of a page.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
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

/// A card of a list, with what became of the payment that bought it.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum ListedCard {
    /// A prepaid card.
    Prepaid(ListedUsaCard),
    /// A gift card.
    Gift(ListedGiftCard),
    /// An international card.
    International(ListedIntlCard),
    /// A reloadable card, which is loaded from the card balance.
    Reloadable(ReloadableCard),
}

/// A prepaid card of a list.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ListedUsaCard {
    #[serde(flatten)]
    pub card: Card,
    #[serde(flatten)]
    pub payment: CardPaymentChanges,
}

/// A gift card of a list.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ListedGiftCard {
    #[serde(flatten)]
    pub card: GiftCard,
    #[serde(flatten)]
    pub payment: CardPaymentChanges,
}

/// An international card of a list.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ListedIntlCard {
    #[serde(flatten)]
    pub card: IntlCard,
    #[serde(flatten)]
    pub payment: CardPaymentChanges,
}

/// What became of the payment that bought a card. The card's own status does not show it.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct CardPaymentChanges {
    /// `true` if the chain reversed the payment. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub payment_reversed: bool,
    /// US dollars that operators refunded to the account's balance, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub refunded_usd_amount: Option<ExactDecimal>,
}

/// A page of events.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
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
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
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
    #[cfg_attr(feature = "documents", schema(value_type = Object))]
    pub previous: Value,
    /// Who or what caused the event.
    #[cfg_attr(feature = "documents", schema(value_type = purser_actors::kernel::event_actor::EventActor))]
    pub actor: Value,
}

/// Resource of an event.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct EventData {
    /// The resource after the event.
    #[cfg_attr(feature = "documents", schema(value_type = Object))]
    pub object: Value,
}
