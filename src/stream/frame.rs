//! The JSON of the stream, both ways.

use std::borrow::Cow;

use purser_storage::{Seq, StoredEvent};
use serde::Deserialize;

/// What a client may say.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum ClientFrame {
    /// Its credential, as the first message.
    Auth {
        /// An `id_token`.
        token: String,
    },
    /// What it wants; again to want something else.
    Subscribe {
        /// The last sequence it has; absent for everything from now on.
        after: Option<Seq>,
        /// Event types; absent or empty for all.
        #[serde(default)]
        types: Vec<String>,
    },
    /// Answer to our ping; needs nothing.
    Pong {},
}

/// Which event types are wanted: exact names, or a resource with `.*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(Vec<String>);

/// Names in one filter, at most.
const MAX_TYPES: usize = 64;

#[derive(Deserialize)]
struct TypeOnly<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
}

impl Filter {
    /// From a list of names; `None` if there are too many or one is not a name.
    pub fn new(types: Vec<String>) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'-' | b'*');
        let named = |t: &String| !t.is_empty() && t.len() <= 64 && t.bytes().all(plain);
        (types.len() <= MAX_TYPES && types.iter().all(named)).then_some(Self(types))
    }

    /// From the comma-separated form of the query.
    pub fn from_query(text: &str) -> Option<Self> {
        Self::new(text.split(',').filter(|t| !t.is_empty()).map(str::to_owned).collect())
    }

    /// Whether an event is wanted.
    pub fn wants(&self, payload: &[u8]) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let Ok(event) = serde_json::from_slice::<TypeOnly<'_>>(payload) else {
            return false;
        };
        self.0.iter().any(|wanted| match wanted.strip_suffix(".*") {
            Some(resource) => event.r#type.split('.').next() == Some(resource),
            None => *wanted == event.r#type,
        })
    }
}

/// The envelope as the caller sees it: the stored one with its sequence in front. `None` when what is stored is
/// not an object, which no writer of ours stores.
pub fn render_event(event: &StoredEvent) -> Option<String> {
    let rest = std::str::from_utf8(&event.payload).ok()?.strip_prefix('{')?;
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    Some(format!("{{\"seq\":{}{comma}{rest}", event.seq))
}

/// A frame around an envelope.
pub(super) fn event_frame(event: &StoredEvent) -> Option<String> {
    render_event(event).map(|envelope| format!("{{\"type\":\"event\",\"event\":{envelope}}}"))
}

/// Tells the client to go on waiting.
pub(super) const PING: &str = "{\"type\":\"ping\"}";

/// About a message that was not understood; the stream goes on.
pub(super) fn error_frame(code: &'static str, error: &'static str) -> String {
    format!("{{\"type\":\"error\",\"code\":\"{code}\",\"error\":\"{error}\"}}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Aim: the sequence enters the stored envelope without touching a byte of it.
    #[test]
    fn the_sequence_enters_the_envelope() {
        let event = |payload: &str| StoredEvent {
            seq: 7,
            subject: [][..].into(),
            payload: payload.as_bytes().into(),
        };
        assert_eq!(
            render_event(&event(r#"{"id":"evt_1"}"#)).unwrap(),
            r#"{"seq":7,"id":"evt_1"}"#
        );
        assert_eq!(render_event(&event("{}")).unwrap(), r#"{"seq":7}"#);
        assert_eq!(render_event(&event("[]")), None);
    }

    // Aim: a filter is a list of exact types or whole resources; none means all.
    #[test]
    fn a_filter_names_types_or_resources() {
        let wants = |types: &str, event: &str| {
            Filter::from_query(types)
                .unwrap()
                .wants(format!("{{\"id\":\"x\",\"type\":\"{event}\"}}").as_bytes())
        };
        assert!(wants("", "card.ready"));
        assert!(wants("card.ready,payment.settled", "payment.settled"));
        assert!(wants("card.*", "card.ready"));
        assert!(!wants("card.*", "cardboard.ready"));
        assert!(!wants("card", "card.ready"));
        assert_eq!(Filter::from_query("card.ready;drop"), None);
        assert_eq!(Filter::new(vec!["a".into(); 65]), None);
    }

    // Aim: client messages are read strictly.
    #[test]
    fn client_messages_are_strict() {
        let read = |text| serde_json::from_str::<ClientFrame>(text).ok();
        assert_eq!(
            read(r#"{"type":"auth","token":"t"}"#),
            Some(ClientFrame::Auth { token: "t".into() })
        );
        let all = ClientFrame::Subscribe {
            after: None,
            types: vec![],
        };
        assert_eq!(read(r#"{"type":"subscribe"}"#), Some(all));
        assert_eq!(read(r#"{"type":"subscribe","after":-1}"#), None);
        assert_eq!(read(r#"{"type":"subscribe","afer":1}"#), None);
        assert_eq!(read(r#"{"type":"shout"}"#), None);
    }
}
