//! Whose a request is: what one agent asked for over a limit, and what was refused to it, is not another agent's to see.
//! Neither are another API key and its sessions, the owner's passkeys, nor the URL of a webhook endpoint, which often carries a secret. The
//! account owner sees all.

use serde::Deserialize;

use crate::entity::session::AuthMethod;
use crate::id::ApiKeyId;
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

/// Whether everybody who may read the account sees events of this type, and sees them as they are.
pub fn is_same_for_all(kind: &str) -> bool {
    let of_one = OF_ONE.iter().chain(&["agent_wallet.", "webhook."]);
    !of_one.into_iter().any(|of| kind.starts_with(of))
}

/// Scheme and host of a URL. Path, query and user name may carry secrets.
fn origin_of(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}")
}

/// The event as the holder of these credentials sees it. `None` if they don't.
pub fn as_seen_by(reader: Option<AuthMethod>, event: PublicEvent) -> Option<PublicEvent> {
    if is_same_for_all(&event.kind) {
        return Some(event);
    }
    if !sees_event(reader, &event) {
        return None;
    }
    match event.kind.as_str() {
        _ if reader.is_some_and(AuthMethod::is_owner) => Some(event),
        SPEND_REFUSED => event.without_previous(LAST_REFUSED),
        kind if kind.starts_with("agent_wallet.") => event.without_member(LAST_REFUSED),
        // Also to the agent that registered it: `GET /get-webhook` shows agents their own in full.
        kind if kind.starts_with("webhook.") => event.with_text(URL, origin_of),
        _ => Some(event),
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

#[cfg(test)]
mod tests {
    use super::origin_of;

    // Checks: nothing of a URL but its scheme, host and port.
    #[test]
    fn agents_see_the_origin_of_a_url_only() {
        for (url, origin) in [
            ("https://hooks.example/T0/B0/secret?key=1#x", "https://hooks.example"),
            ("http://127.0.0.1:9000/a", "http://127.0.0.1:9000"),
            ("https://user:secret@hooks.example", "https://hooks.example"),
            ("https://hooks.example?key=a@b", "https://hooks.example"),
            ("https://[2001:db8::1]:8443/x", "https://[2001:db8::1]:8443"),
        ] {
            assert_eq!(origin_of(url), origin);
        }
    }
}
