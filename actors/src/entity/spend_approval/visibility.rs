//! Whose a request is: what one agent asked for over a limit, and what was refused to it, is not another agent's to see.
//! Neither are another API key and its sessions, whose request caused an event, the owner's passkeys, nor the URL of a webhook endpoint,
//! which often carries a secret. The account owner sees all.

use serde::Deserialize;

use crate::entity::session::AuthMethod;
use crate::entity::webhook::url_origin;
use crate::id::ApiKeyId;
use crate::kernel::event_actor::{EventActor, EventActorType};
use crate::kernel::event_record::PublicEvent;

/// Member of a managed wallet's view: the latest spend that a limit refused, whichever agent asked.
const LAST_REFUSED: &str = "last_refused_spend";
/// Member of a webhook endpoint's view.
const URL: &str = "url";
/// Beginnings of the types of events about one agent (its requests, its API key, its sessions), or about the owner alone.
const OF_ONE: [&str; 4] = ["approval.", "api_key.", "session.", "passkey."];
/// Type of the event of such a spend.
const SPEND_REFUSED: &str = "agent_wallet.spend_refused";

/// Whether the holder of these credentials sees what an agent with this API key asked for; without a key, the wallet asked.
pub fn sees_request_of(reader: AuthMethod, key: Option<ApiKeyId>) -> bool {
    match reader {
        AuthMethod::Wallet | AuthMethod::Passkey(_) => true,
        AuthMethod::Key(own) => key == Some(own),
        // It asks for withdrawals to the wallet itself only; `GET /get-approval` shows those of its own session.
        AuthMethod::Payment(_) => false,
    }
}

/// Whether the holder of these credentials sees the event: it is about no request, key or session of another agent, and no
/// passkey. `None` for a session that is not known.
pub fn sees_event(reader: Option<AuthMethod>, event: &PublicEvent) -> bool {
    let is_of_one = event.kind == SPEND_REFUSED || OF_ONE.iter().any(|of| event.kind.starts_with(of));
    !is_of_one
        || reader
            .is_some_and(|reader| reader.is_owner() || key_of(event).is_some_and(|key| sees_request_of(reader, key)))
}

/// Whether everybody who may read the account sees this event, and sees it as it is.
pub fn is_same_for_all(event: &PublicEvent) -> bool {
    let of_one = OF_ONE.iter().chain(&["agent_wallet.", "webhook."]);
    !of_one.into_iter().any(|of| event.kind.starts_with(of)) && !event.is_of_request()
}

/// The event with the kind of its caller only, unless the reader was the caller: sessions, keys and payments of others are
/// left out.
fn without_caller(reader: Option<AuthMethod>, event: PublicEvent) -> Option<PublicEvent> {
    #[derive(Deserialize)]
    struct Caller {
        r#type: EventActorType,
        in_browser: bool,
        payment_id: Option<String>,
        api_key_id: Option<String>,
    }
    let Some(json) = event.request_actor() else {
        return Some(event);
    };
    let caller: Caller = serde_json::from_str(&json).ok()?;
    let is_reader = match reader {
        Some(AuthMethod::Key(own)) => caller.api_key_id == Some(own.to_string()),
        Some(AuthMethod::Payment(own)) => caller.payment_id == Some(own.to_string()),
        _ => false,
    };
    if is_reader {
        return Some(event);
    }
    event.with_actor(&EventActor {
        r#type: caller.r#type,
        session_id: None,
        in_browser: caller.in_browser,
        payment_id: None,
        api_key_id: None,
        api_key_name: None,
    })
}

/// The event without what follows the host in the URL of a webhook endpoint. `None` if it cannot be read.
pub fn without_webhook_url(event: PublicEvent) -> Option<PublicEvent> {
    match event.kind.starts_with("webhook.") {
        true => event.with_text(URL, url_origin),
        false => Some(event),
    }
}

/// The event as the holder of these credentials sees it. `None` if they don't.
pub fn as_seen_by(reader: Option<AuthMethod>, event: PublicEvent) -> Option<PublicEvent> {
    if reader.is_some_and(AuthMethod::is_owner) {
        return Some(event);
    }
    if !sees_event(reader, &event) {
        return None;
    }
    let event = without_caller(reader, event)?;
    match event.kind.as_str() {
        SPEND_REFUSED => event.without_previous(LAST_REFUSED),
        kind if kind.starts_with("agent_wallet.") => event.without_member(LAST_REFUSED),
        // Also to the agent that registered it: `GET /get-webhook` shows agents their own in full.
        _ => without_webhook_url(event),
    }
}

/// API key of the agent whose request the event is about, if it has one. `None` if that cannot be read.
fn key_of(event: &PublicEvent) -> Option<Option<ApiKeyId>> {
    #[derive(Deserialize)]
    struct Envelope {
        data: Data,
    }
    #[derive(Deserialize)]
    struct Data {
        object: Object,
    }
    #[derive(Deserialize)]
    struct Object {
        api_key_id: Option<String>,
        last_refused_spend: Option<Refused>,
    }
    #[derive(Deserialize)]
    struct Refused {
        api_key_id: Option<String>,
    }
    let Envelope { data } = serde_json::from_str(&event.with_seq(0)).ok()?;
    let key = match data.object.last_refused_spend {
        Some(refused) => refused.api_key_id,
        None => data.object.api_key_id,
    };
    key.map(|text| text.parse::<ApiKeyId>()).transpose().ok()
}
