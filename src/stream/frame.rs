//! The JSON of the stream, both ways.

use purser_actors::kernel::record::{Announcement, Record};
use purser_storage::{Seq, StoredEvent};
use serde::Deserialize;

/// What a client may say.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum ClientFrame {
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

    /// Whether events of a type are wanted.
    pub fn wants(&self, kind: &str) -> bool {
        purser_actors::webhook::wants(&self.0, kind)
    }
}

/// An event that its account's subscribers are told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Its place in the one order: the cursor to resume from.
    pub seq: Seq,
    announcement: Announcement,
}

impl Announced {
    /// What a stored event announces; `None` for the steps on the way that nobody is told of.
    pub fn read(event: &StoredEvent) -> Option<Self> {
        match Record::read(&event.payload) {
            Ok(record) => record.announcement.map(|announcement| Self {
                seq: event.seq,
                announcement,
            }),
            Err(error) => {
                tracing::error!(seq = event.seq, %error, "a stored event cannot be read");
                None
            }
        }
    }

    /// Its type, for filters.
    pub fn kind(&self) -> &str {
        &self.announcement.kind
    }

    /// The envelope with its sequence.
    pub fn to_json(&self) -> String {
        self.announcement.with_seq(self.seq)
    }
}

/// A frame around an envelope.
pub(super) fn event_frame(event: &Announced) -> String {
    format!("{{\"type\":\"event\",\"event\":{}}}", event.to_json())
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
        let announcement = Announcement {
            kind: "card.ready".into(),
            envelope: r#"{"id":"evt_1"}"#.into(),
        };
        let event = Announced { seq: 7, announcement };
        assert_eq!(event.to_json(), r#"{"seq":7,"id":"evt_1"}"#);
    }

    // Aim: a filter is a list of exact types or whole resources; none means all.
    #[test]
    fn a_filter_names_types_or_resources() {
        let wants = |types: &str, event: &str| Filter::from_query(types).unwrap().wants(event);
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
