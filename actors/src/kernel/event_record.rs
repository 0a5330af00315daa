//! Journal record of an event: the event itself, for the fold that verifies the snapshots, and the envelope that
//! subscribers see, rendered once so that it never changes.

use std::fmt::Write as _;

use purser_storage::Event;
use purser_storage::codec::{self, DecodeError, Stored};

use crate::answer::moment;
pub use crate::answer::rfc3339;
use crate::id::{EventId, Wallet};
use crate::kernel::JsonObject;
use crate::port::Timestamp;

/// The contract's version, sent with every envelope and every response.
pub const API_VERSION: &str = "2026-11-20";

/// One event of one entity.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct EventRecord {
    /// [`crate::kernel::EntityKind`] as stored.
    pub kind: u8,
    /// The entity's id as in its row's key.
    pub id: Vec<u8>,
    /// The entity's revision after this event.
    pub revision: u64,
    /// Time of the decision.
    pub at: Timestamp,
    /// The entity's status after this event.
    pub status: String,
    /// Account that owns the entity.
    pub owner: Wallet,
    /// The encoded domain event.
    pub event: Vec<u8>,
    /// Envelope for subscribers, if the event is announced.
    pub announcement: Option<PublicEvent>,
}

impl Stored for EventRecord {
    const SCHEMA: u16 = 1;
}

/// An envelope without its sequence number, which only the commit knows.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct PublicEvent {
    /// Event type, as `<resource>.<change>`.
    pub kind: String,
    /// JSON object text.
    pub envelope: String,
}

/// `<resource>.<change>`, unless the change names another resource itself.
pub(crate) fn event_type(resource: &str, change: &str) -> String {
    if change.contains('.') {
        change.to_owned()
    } else {
        [resource, ".", change].concat()
    }
}

impl PublicEvent {
    pub(crate) fn new(
        id: EventId,
        resource: &str,
        change: &str,
        owner: &Wallet,
        at: Timestamp,
        before: Option<&JsonObject>,
        after: &JsonObject,
    ) -> Self {
        let kind = event_type(resource, change);
        let mut envelope = String::with_capacity(768);
        // Writing to a String cannot fail.
        let _ = write!(
            envelope,
            "{{\"id\":\"{id}\",\"type\":\"{kind}\",\"api_version\":\"{API_VERSION}\",\"created_at\":\"{}\",\"user_id\":\"{}\",\"data\":{{\"object\":",
            moment(at),
            owner.user_id()
        );
        after.write(&mut envelope);
        envelope.push_str("},\"previous\":");
        match before {
            Some(before) => before.write_changed(&mut envelope, after),
            None => envelope.push_str("{}"),
        }
        envelope.push('}');
        Self { kind, envelope }
    }

    /// Id of the event, which the envelope begins with.
    pub fn event_id(&self) -> Option<EventId> {
        let (id, _) = self.envelope.strip_prefix("{\"id\":\"")?.split_once('"')?;
        id.parse().ok()
    }

    /// The envelope with its sequence number, as subscribers get it.
    pub fn with_seq(&self, seq: u64) -> String {
        let mut out = String::with_capacity(self.envelope_bytes() + 32);
        self.write_with_seq(seq, &mut out);
        out
    }

    /// Appends what [`PublicEvent::with_seq`] returns.
    pub fn write_with_seq(&self, seq: u64, out: &mut String) {
        // The envelope is an object that is never empty, so the comma is always right. Writing to a String cannot fail.
        let _ = write!(out, "{{\"seq\":{seq},");
        out.push_str(&self.envelope[1..]);
    }

    /// Length of the envelope in bytes.
    pub fn envelope_bytes(&self) -> usize {
        self.envelope.len()
    }
}

impl EventRecord {
    /// As an event of the journal.
    pub(crate) fn into_event(self) -> Event {
        Event {
            subject: self.owner.key().into_boxed_slice(),
            payload: codec::encode(&self),
        }
    }

    /// Kind of the entity of a record, without reading the rest. `None` if the bytes are not a record.
    pub fn kind_of(payload: &[u8]) -> Option<u8> {
        codec::body_of::<Self>(payload)?.first().copied()
    }

    /// Reads a record from the journal.
    ///
    /// # Errors
    /// When the bytes are not a record.
    pub fn read(payload: &[u8]) -> Result<Self, DecodeError> {
        codec::decode(payload)
    }
}
