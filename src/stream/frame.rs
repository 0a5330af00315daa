//! JSON frames of the stream, in both directions.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, OnceLock};

use axum::extract::ws::Utf8Bytes;
use purser_actors::entity::session::AuthMethod;
use purser_actors::entity::spend_approval::{as_seen_by, is_same_for_all, without_webhook_url};
use purser_actors::kernel::event_record::{EventRecord, PublicEvent};
use purser_storage::{Cursor, StoredEvent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message from the client.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum ClientMessage {
    /// The credential, as the first message.
    Auth { token: String },
    /// Starts a subscription; sent again, replaces it.
    Subscribe {
        /// The last sequence that the client has; absent to receive only new events.
        after: Option<Cursor>,
        /// Event types; absent or empty for all.
        #[serde(default)]
        types: Vec<String>,
    },
    /// Response to our ping; not required.
    Pong {},
}

impl ClientMessage {
    /// Parses a client message.
    ///
    /// # Errors
    /// What is wrong with it, in words for the client.
    pub fn read(text: &str) -> Result<Self, ProtocolError> {
        serde_json::from_str(text).map_err(|_| ProtocolError::about(text))
    }
}

/// Reports to a client that its message was ignored; its subscription continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "error")]
pub struct ProtocolError {
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'static str>,
    error: Cow<'static, str>,
}

impl ProtocolError {
    fn new(code: &'static str, param: Option<&'static str>, error: impl Into<Cow<'static, str>>) -> Self {
        let error = error.into();
        Self { code, param, error }
    }

    /// Explains why a message could not be parsed.
    fn about(text: &str) -> Self {
        let Ok(Value::Object(said)) = serde_json::from_str(text) else {
            return Self::new("message_malformed", None, "A message is a JSON object, sent as text.");
        };
        let invalid = |param, error| Self::new("message_invalid", Some(param), error);
        let is_text = |value: &Value| value.is_string();
        match said.get("type").and_then(Value::as_str) {
            Some("auth") if !said.get("token").is_some_and(is_text) => {
                invalid("token", "`token` is an id_token, a text.")
            }
            Some("subscribe")
                if said
                    .get("after")
                    .is_some_and(|after| !after.is_null() && !after.is_u64()) =>
            {
                invalid("after", "`after` is the last `seq` you have, a whole number.")
            }
            Some("subscribe")
                if said
                    .get("types")
                    .is_some_and(|t| !t.as_array().is_some_and(|t| t.iter().all(is_text))) =>
            {
                invalid("types", "`types` is a list of names such as card.ready or card.*.")
            }
            Some("auth" | "subscribe" | "pong") => {
                let error =
                    "`auth` takes `token`, `subscribe` takes `after` and `types`, `pong` takes nothing; each once.";
                Self::new("message_invalid", None, error)
            }
            _ => invalid("type", "`type` is one of: auth, subscribe, pong."),
        }
    }

    /// The client has already authenticated.
    pub(super) fn already_authenticated() -> Self {
        Self::new("already_authenticated", None, "This stream has its credential.")
    }

    /// The filter is invalid.
    pub(super) fn of_types(why: &FilterError) -> Self {
        Self::new("types_invalid", Some("types"), why.to_string())
    }

    /// The cursor is ahead of all events.
    pub(super) fn cursor_ahead() -> Self {
        Self::new("cursor_ahead", Some("after"), AHEAD)
    }

    pub(super) fn to_json(&self) -> String {
        // Text always serializes.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Message for a cursor that no event of the account can have had.
pub const AHEAD: &str =
    "No event of this account is that new: the cursor is from another server, or the server's data was deleted.";

/// The event types to deliver: names, in which `*` stands for any characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter(Vec<String>);

/// Most names in one filter.
const MAX_TYPES: usize = 64;

/// Why a list is not a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// There are more than 64 names, or one is longer than 64 characters or has characters other than `a-z 0-9 _ . -
    /// *`.
    #[error(
        "`types` is a list of at most 64 names such as card.ready, of at most 64 characters; * stands for any part of one."
    )]
    Malformed,
    /// A name that matches no existing type: the client would wait in vain.
    #[error("`types`: no event has a type like {0}; /asyncapi.json lists them all.")]
    Unknown(String),
}

impl EventFilter {
    /// From a list of names, each of which must match an existing type.
    ///
    /// # Errors
    /// [`FilterError`].
    pub fn new(types: Vec<String>) -> Result<Self, FilterError> {
        static KNOWN: LazyLock<Vec<String>> = LazyLock::new(purser_actors::engine::event_types);
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'-' | b'*');
        let named = |t: &String| !t.is_empty() && t.len() <= 64 && t.bytes().all(plain);
        if types.len() > MAX_TYPES || !types.iter().all(named) {
            return Err(FilterError::Malformed);
        }
        let fits = |name: &String| {
            let name = std::slice::from_ref(name);
            KNOWN
                .iter()
                .any(|kind| purser_actors::entity::webhook::matches_filter(name, kind))
        };
        match types.iter().find(|name| !fits(name)) {
            Some(unknown) => Err(FilterError::Unknown(unknown.clone())),
            None => Ok(Self(types)),
        }
    }

    /// From the comma-separated form of the query.
    ///
    /// # Errors
    /// [`FilterError`].
    pub fn from_query(text: &str) -> Result<Self, FilterError> {
        Self::new(text.split(',').filter(|t| !t.is_empty()).map(str::to_owned).collect())
    }

    /// Whether events of every type are delivered.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether events of a type are delivered.
    pub fn matches(&self, kind: &str) -> bool {
        purser_actors::entity::webhook::matches_filter(&self.0, kind)
    }
}

/// An event that is delivered to its account's subscribers.
#[derive(Clone, Debug)]
pub struct StreamEvent {
    /// Cursor to resume from.
    pub seq: Cursor,
    announcement: PublicEvent,
    /// Written when the first subscriber needs it.
    frame: OnceLock<Utf8Bytes>,
    /// Whether agents see it as the owner does. Read when the first agent needs it.
    is_same_for_all: OnceLock<bool>,
}

impl StreamEvent {
    fn new(seq: Cursor, announcement: PublicEvent) -> Self {
        Self {
            seq,
            announcement,
            frame: OnceLock::new(),
            is_same_for_all: OnceLock::new(),
        }
    }

    /// The public form of a stored event; `None` for internal steps.
    pub fn read(event: &StoredEvent) -> Option<Self> {
        match EventRecord::read(&event.subject, &event.payload) {
            Ok(record) => record
                .announcement
                .map(|announcement| Self::new(event.cursor, announcement)),
            Err(error) => {
                tracing::error!(seq = event.seq, %error, "a stored event cannot be read");
                None
            }
        }
    }

    /// The event as the holder of these credentials sees it; `None` if it is about another agent's request.
    pub fn seen_by(self, reader: AuthMethod) -> Option<Self> {
        let announcement = as_seen_by(Some(reader), self.announcement)?;
        Some(Self::new(self.seq, announcement))
    }

    /// The event without what follows the host in the URL of a webhook endpoint.
    pub fn without_webhook_url(self) -> Option<Self> {
        let announcement = without_webhook_url(self.announcement)?;
        Some(Self::new(self.seq, announcement))
    }

    /// The same of an event that others read too. What the owner sees, and what all see as it is, stays shared, with its
    /// frame.
    pub(super) fn shared_with(event: &Arc<Self>, reader: AuthMethod) -> Option<Arc<Self>> {
        let is_same = || {
            *event
                .is_same_for_all
                .get_or_init(|| is_same_for_all(&event.announcement))
        };
        match reader.is_owner() || is_same() {
            true => Some(Arc::clone(event)),
            false => (**event).clone().seen_by(reader).map(Arc::new),
        }
    }

    /// Event type, for filters.
    pub fn kind(&self) -> &str {
        &self.announcement.kind
    }

    /// The envelope with its sequence.
    pub fn to_json(&self) -> String {
        self.announcement.with_seq(self.seq)
    }
}

/// A stored event in the queues of its account's subscribers. They share it, so that it is read once and its frame is
/// written once, however many pages are open.
#[derive(Debug)]
pub struct QueuedEvent {
    pub stored: StoredEvent,
    read: OnceLock<Option<Arc<StreamEvent>>>,
}

impl QueuedEvent {
    pub(super) fn new(stored: StoredEvent) -> Arc<Self> {
        Arc::new(Self {
            stored,
            read: OnceLock::new(),
        })
    }

    /// The public form; `None` for internal steps.
    pub(super) fn public(&self) -> Option<&Arc<StreamEvent>> {
        let read = || StreamEvent::read(&self.stored).map(Arc::new);
        self.read.get_or_init(read).as_ref()
    }
}

impl PartialEq for QueuedEvent {
    fn eq(&self, other: &Self) -> bool {
        self.stored == other.stored
    }
}

impl Eq for QueuedEvent {}

pub(super) fn event_frame(event: &StreamEvent) -> Utf8Bytes {
    let write = || {
        let mut frame = String::with_capacity(event.announcement.expected_bytes());
        frame.push_str("{\"type\":\"event\",\"event\":");
        event.announcement.write_with_seq(event.seq, &mut frame);
        frame.push('}');
        frame.into()
    };
    event.frame.get_or_init(write).clone()
}

/// Keeps the connection alive. After a subscription, `cursor` confirms that the client has received all its events up
/// to there. The client can resume from it even if no event matched its filter.
pub(super) fn ping_frame(cursor: Option<Cursor>) -> String {
    match cursor {
        Some(cursor) => format!("{{\"type\":\"ping\",\"cursor\":{cursor}}}"),
        None => "{\"type\":\"ping\"}".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use purser_actors::id::{EventId, Wallet};
    use purser_actors::port::Timestamp;

    use super::*;

    // Checks: the sequence begins the envelope and changes no other byte of it.
    #[test]
    fn the_sequence_enters_the_envelope() {
        let announcement = PublicEvent::new(EventId(1), "card.ready".into(), Wallet::SYSTEM, Timestamp(0), &());
        let text = |seq| StreamEvent::new(seq, announcement.clone()).to_json();
        assert!(text(7).starts_with(r#"{"seq":7,"id":"evt_00000000000000000000000000000001","type":"card.ready","#));
        assert_eq!(text(7).replacen("{\"seq\":7,", "{\"seq\":8,", 1), text(8));
    }

    // Checks: a filter is a list of exact types or whole resources; an empty filter means all.
    #[test]
    fn a_filter_names_types_or_resources() {
        let wants = |types: &str, event: &str| EventFilter::from_query(types).unwrap().matches(event);
        assert!(wants("", "card.ready"));
        assert!(wants("card.ready,payment.settled", "payment.settled"));
        assert!(wants("card.*", "card.ready"));
        assert!(!wants("card.*", "cardboard.ready"));
        assert!(wants("*", "card.ready") && wants("*.failed", "payout.failed"));
        assert!(!wants("*.failed", "payout.failed_twice"));
        assert!(wants("p*t.re*d", "payout.returned") && !wants("p*t.re*d", "payout.paid"));
        for list in ["card.ready;drop", "Card.ready", &"a,".repeat(65), &"a".repeat(65)] {
            assert_eq!(EventFilter::from_query(list), Err(FilterError::Malformed), "{list}");
        }
        for name in ["card", "card.redy", "cards.*", "*.redy"] {
            let list = format!("card.*,{name}");
            assert_eq!(
                EventFilter::from_query(&list),
                Err(FilterError::Unknown(name.to_owned()))
            );
        }
    }

    // Checks: client messages are parsed strictly.
    #[test]
    fn client_messages_are_strict() {
        let read = |text| serde_json::from_str::<ClientMessage>(text).ok();
        assert_eq!(
            read(r#"{"type":"auth","token":"t"}"#),
            Some(ClientMessage::Auth { token: "t".into() })
        );
        let all = ClientMessage::Subscribe {
            after: None,
            types: vec![],
        };
        assert_eq!(read(r#"{"type":"subscribe"}"#), Some(all));
        assert_eq!(read(r#"{"type":"subscribe","after":-1}"#), None);
        assert_eq!(read(r#"{"type":"subscribe","afer":1}"#), None);
        assert_eq!(read(r#"{"type":"shout"}"#), None);
    }

    // Checks: the error for an invalid client message names the invalid part.
    #[test]
    fn error_names_the_invalid_part() {
        for (text, code, param) in [
            ("", "message_malformed", None),
            ("[1]", "message_malformed", None),
            ("{}", "message_invalid", Some("type")),
            (r#"{"type":7}"#, "message_invalid", Some("type")),
            (r#"{"type":"auth","token":7}"#, "message_invalid", Some("token")),
            (r#"{"type":"subscribe","after":-1}"#, "message_invalid", Some("after")),
            (r#"{"type":"subscribe","after":"7"}"#, "message_invalid", Some("after")),
            (
                r#"{"type":"subscribe","types":"card.*"}"#,
                "message_invalid",
                Some("types"),
            ),
            (r#"{"type":"subscribe","types":[7]}"#, "message_invalid", Some("types")),
            (r#"{"type":"subscribe","afer":1}"#, "message_invalid", None),
            (r#"{"type":"subscribe","after":1,"after":2}"#, "message_invalid", None),
            (r#"{"type":"pong","x":1}"#, "message_invalid", None),
        ] {
            let complaint = ClientMessage::read(text).unwrap_err();
            assert_eq!((complaint.code, complaint.param), (code, param), "{text}");
        }
        let ahead = ProtocolError::cursor_ahead().to_json();
        assert_eq!(
            ahead,
            r#"{"type":"error","code":"cursor_ahead","param":"after","error":"No event of this account is that new: the cursor is from another server, or the server's data was deleted."}"#
        );
    }
}
