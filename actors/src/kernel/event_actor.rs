//! Who caused an event. Of a request by a session or an operator, it is stored with the event. Of anything else, it
//! follows from the event's type and object when the envelope is rendered, so that a paid call stores nothing for it.

use serde::{Deserialize, Serialize};

use crate::id::{ApiKeyId, PaymentId, SessionId};

/// Who or what caused an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventActorType {
    /// The wallet signed in.
    Wallet,
    /// A payment of the wallet.
    Payment,
    /// An API key.
    ApiKey,
    /// A passkey of the account owner.
    Passkey,
    /// A person of the service.
    Operator,
    /// The provider of the product: card issuer, gift-card catalog, bank, payout rail, identity check.
    Provider,
    /// A shop that charges a card.
    Merchant,
    /// The recipient of a payout.
    Recipient,
    /// The chain.
    Chain,
    /// The service itself: its jobs and timers.
    Service,
}

/// Who or what caused an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct EventActor {
    /// What opened the session of the request: `wallet`, `payment`, `api_key` or `passkey`. Without a session: the
    /// `payment` or `api_key` that began it, the `wallet` that signed for a recovery, an `operator`, the `provider` of the
    /// product, a `merchant`, the `recipient` of a payout, the `chain`, or the `service` itself.
    pub r#type: EventActorType,
    /// `ses_…` is the id of the session, if a request of a session caused it. An agent sees this and the following members
    /// of its own requests only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Whether a person did it, at a page of the service.
    pub in_browser: bool,
    /// The payment that opened the session, or that bought the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<PaymentId>,
    /// The API key that opened the session, or whose event it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_id: Option<ApiKeyId>,
    /// Name of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_name: Option<String>,
}

impl EventActor {
    /// An operator. The account's events don't say which.
    pub const fn operator() -> Self {
        Self {
            r#type: EventActorType::Operator,
            session_id: None,
            in_browser: false,
            payment_id: None,
            api_key_id: None,
            api_key_name: None,
        }
    }
}

/// Appends the actor of an event that no request caused. `object` is the JSON text of the event's object.
pub(crate) fn write_derived(kind: &str, object: &str, out: &mut String) {
    let actor = of_type(kind).unwrap_or(EventActorType::Service);
    let actor = match kind {
        // Only a push to card waits for its recipient. The others begin with their payment.
        "payout.queued" if member(object, "product") == Some("push_to_card") => EventActorType::Recipient,
        // A payout that the account owner orders from the balance has none.
        "payout.queued" if member(object, "payment_id").is_none() => EventActorType::Service,
        _ => actor,
    };
    out.push_str("{\"type\":\"");
    out.push_str(name(actor));
    out.push_str("\",\"in_browser\":false");
    let mut copy = |from: &str, to: &str| {
        if let Some(text) = member(object, from) {
            for part in [",\"", to, "\":\"", text, "\""] {
                out.push_str(part);
            }
        }
    };
    match actor {
        EventActorType::Payment => copy("payment_id", "payment_id"),
        EventActorType::ApiKey => {
            copy("api_key_id", "api_key_id");
            copy("name", "api_key_name");
        }
        _ => {}
    }
    out.push('}');
}

/// The JSON text of a string member, without its quotes. A quote inside of a string is escaped, so that the name and its
/// quotes are found only where a member begins. Objects inside of the object come after these members.
fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let begin = object.find(&["\"", name, "\":\""].concat())? + name.len() + 4;
    let rest = object.get(begin..)?;
    let mut escaped = false;
    let end = rest.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    rest.get(..end)
}

const fn name(actor: EventActorType) -> &'static str {
    match actor {
        EventActorType::Wallet => "wallet",
        EventActorType::Payment => "payment",
        EventActorType::ApiKey => "api_key",
        EventActorType::Passkey => "passkey",
        EventActorType::Operator => "operator",
        EventActorType::Provider => "provider",
        EventActorType::Merchant => "merchant",
        EventActorType::Recipient => "recipient",
        EventActorType::Chain => "chain",
        EventActorType::Service => "service",
    }
}

/// Who causes events of a type when no request does. `None`: the type is not listed here. What only requests cause is
/// the service's without one: a job continues what a request began.
pub(crate) fn of_type(kind: &str) -> Option<EventActorType> {
    let (resource, change) = kind.split_once('.')?;
    Some(match (resource, change) {
        ("card", "pending")
        | ("gift_card", "processing")
        | ("intl_order", "queued")
        | ("payout", "awaiting-details" | "queued")
        | ("top_up", "paid")
        | ("payment", "settled")
        | ("payment_recipient", "created" | "paid") => EventActorType::Payment,

        ("api_key", "active") => EventActorType::ApiKey,

        // The wallet signs for it, without a session.
        ("recovery", "requested" | "completed") => EventActorType::Wallet,

        (
            "card" | "intl_order" | "reloadable_card",
            "charged" | "charge_settled" | "charge_refunded" | "charge_declined",
        ) => EventActorType::Merchant,

        // A person makes international cards, and carries out what is asked of them.
        (
            "intl_order",
            "claimed" | "ready" | "rejected" | "paused" | "resumed" | "closed" | "request_ended" | "remainder_released",
        )
        | ("card_withdrawal", "claimed" | "complete" | "rejected")
        | ("late_return", "kept")
        | ("payment", "resolved")
        | ("refund", "approved") => EventActorType::Operator,

        ("card", "ready" | "failed" | "paused" | "resumed" | "closed" | "refreshed" | "remainder_released")
        | ("reloadable_card", "open" | "failed" | "paused" | "resumed" | "closed")
        | ("gift_card", "completed" | "failed")
        | ("payout", "in-process" | "complete" | "failed" | "cancelled" | "returned")
        | ("late_return", "received")
        | ("payment_recipient", "payment_returned")
        | ("top_up", "credited")
        | ("card_withdrawal", "queued" | "failed" | "hold_released")
        | ("bank_account", "open" | "rejected")
        | ("bank_transfer", "pending" | "complete" | "failed" | "returned")
        | ("banking_application", "incomplete" | "approved" | "rejected")
        | ("identity", "in-review" | "verified" | "rejected")
        | ("issuer_link", "linked" | "declined" | "unlinked") => EventActorType::Provider,

        ("payment", "declined" | "refused" | "reversed")
        | ("balance", "reversed")
        | ("wallet_payment", "settled")
        | ("withdrawal", "complete") => EventActorType::Chain,

        // An operator's freeze is a request. Without one, the reconciliation froze the account after a reorg.
        ("account", "created" | "caps_updated" | "frozen" | "unfrozen" | "agents_stopped" | "agents_resumed")
        | ("agent_wallet", "created" | "caps_updated" | "address_saved" | "address_deleted" | "spend_refused")
        | ("api_key", "issued" | "rejected" | "revoked" | "limits_updated")
        | ("approval", "requested" | "approved" | "declined" | "expired" | "used")
        | ("balance", "credited" | "debited" | "held" | "released" | "withdrawn")
        | ("bank_account", "pending")
        | ("bank_destination", "registered" | "renamed" | "removed")
        | ("banking_application", "submitted")
        | ("banking_profile", "created")
        | (
            "card" | "intl_order" | "reloadable_card",
            "pause_requested" | "resume_requested" | "close_requested" | "details_viewed" | "expired",
        )
        | ("card", "refresh_requested")
        | ("card_withdrawal", "pending")
        | ("gift_card", "details_viewed")
        | ("intl_order", "cancelled" | "overdue")
        | ("issuer_link", "requested")
        | ("late_return", "credited")
        | ("passkey", "added" | "renamed" | "removed")
        | ("payment", "fulfilled" | "credited" | "released" | "unknown")
        | ("payment_recipient", "renamed" | "archived" | "unarchived" | "deleted")
        | ("payout", "expired")
        | ("recovery", "ready" | "cancelled" | "expired")
        | ("refund", "credited")
        | ("reloadable_card", "creating")
        | ("session", "agent_announced" | "confirmed" | "revoked")
        | ("top_up", "bridging" | "delivered" | "failed")
        | ("wallet_payment", "signed" | "pending" | "sent" | "unsettled" | "failed")
        | (
            "webhook",
            "registered"
            | "secret_rotated"
            | "enabled"
            | "disabled"
            | "failing"
            | "recovered"
            | "deleted"
            | "redelivery_requested"
            | "test",
        )
        | ("withdrawal", "pending" | "sent" | "failed") => EventActorType::Service,

        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn derived(kind: &str, object: &str) -> String {
        let mut out = String::new();
        write_derived(kind, object, &mut out);
        out
    }

    // Checks: the names are those that serde writes.
    #[test]
    fn actor_names_are_those_of_stored_actors() {
        use EventActorType as Actor;
        for actor in [
            Actor::Wallet,
            Actor::Payment,
            Actor::ApiKey,
            Actor::Passkey,
            Actor::Operator,
            Actor::Provider,
            Actor::Merchant,
            Actor::Recipient,
            Actor::Chain,
            Actor::Service,
        ] {
            assert_eq!(serde_json::to_value(actor).unwrap(), name(actor));
        }
    }

    // Checks: a purchase names its payment, a key itself, a payout by its product; and no text is taken for a member.
    #[test]
    fn derived_actor_has_what_its_object_says() {
        let card = r#"{"card_id":"card_1","label":"\"payment_id\":\"pay_9\"","payment_id":"pay_1"}"#;
        let payment = r#"{"type":"payment","in_browser":false,"payment_id":"pay_1"}"#;
        assert_eq!(derived("card.pending", card), payment);
        assert_eq!(derived("card.ready", card), r#"{"type":"provider","in_browser":false}"#);
        let key = r#"{"api_key_id":"key_1","name":"a \"b\" \\"}"#;
        let named = r#"{"type":"api_key","in_browser":false,"api_key_id":"key_1","api_key_name":"a \"b\" \\"}"#;
        assert_eq!(derived("api_key.active", key), named);
        for (object, actor) in [
            (
                r#"{"product":"push_to_card","payment_id":"pay_1"}"#,
                r#"{"type":"recipient","in_browser":false}"#,
            ),
            (r#"{"product":"bank_payment","payment_id":"pay_1"}"#, payment),
            (
                r#"{"product":"bank_payment","payment_id":null}"#,
                r#"{"type":"service","in_browser":false}"#,
            ),
        ] {
            assert_eq!(derived("payout.queued", object), actor);
        }
        assert_eq!(derived("unheard.of", "{}"), r#"{"type":"service","in_browser":false}"#);
    }
}
