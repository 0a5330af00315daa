//! Journal record of an event: the event itself, for the fold that verifies the snapshots, and what subscribers see of
//! it. That is stored as it was then (`kernel/stored_view.rs`) and rendered when it is asked for, to the same bytes each time.
//! Whose event it is, the journal says beside the record.

use std::borrow::Cow;
use std::fmt::Write as _;

use purser_storage::Event;
use purser_storage::codec::{self, DecodeError, Packed};
use serde::Serialize;

use crate::answer::moment;
pub use crate::answer::rfc3339;
use crate::id::{EventId, ShardId, Wallet};
use crate::kernel::Context;
use crate::kernel::event_actor::{self, EventActor};
use crate::kernel::stored_view::{Reader, StoredView, put_bytes, put_number, with_text, without_member};
use crate::kernel::words;
use crate::port::Timestamp;

/// The contract's version, sent with every envelope and every response.
pub const API_VERSION: &str = "2026-11-20";

/// One event of one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// An envelope without its sequence number, which only the commit knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicEvent {
    /// Event type, as `<resource>.<change>`.
    pub kind: String,
    /// Id of the event.
    pub id: EventId,
    /// The contract's version when the event happened.
    api_version: Cow<'static, str>,
    at: Timestamp,
    owner: Wallet,
    /// The object, what its changed members were before, and who caused it, if a request did.
    views: Vec<u8>,
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
    /// An event that shows this object.
    pub fn new(id: EventId, kind: String, owner: Wallet, at: Timestamp, object: &impl Serialize) -> Self {
        let context = Context::new(at, 0, ShardId::of_id(0));
        Self::of_change(id, kind, owner, &context, None, &StoredView::of(object))
    }

    pub(crate) fn of_change(
        id: EventId,
        kind: String,
        owner: Wallet,
        context: &Context,
        before: Option<&StoredView>,
        after: &StoredView,
    ) -> Self {
        let mut views = Vec::with_capacity(256);
        after.write(&mut views);
        match before {
            Some(before) => before.write_changed(&mut views, after),
            None => StoredView::write_empty(&mut views),
        }
        if let Some(actor) = context.actor() {
            StoredView::of(actor).write(&mut views);
        }
        Self {
            kind,
            id,
            api_version: API_VERSION.into(),
            at: context.now,
            owner,
            views,
        }
    }

    /// The envelope with its sequence number, as subscribers get it.
    pub fn with_seq(&self, seq: u64) -> String {
        let mut out = String::with_capacity(self.expected_bytes());
        self.write_with_seq(seq, &mut out);
        out
    }

    /// Appends what [`PublicEvent::with_seq`] returns.
    pub fn write_with_seq(&self, seq: u64, out: &mut String) {
        let Self {
            kind,
            id,
            api_version,
            at,
            owner,
            views,
        } = self;
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "{{\"seq\":{seq},\"id\":\"{id}\",\"type\":\"{kind}\",\"api_version\":\"{api_version}\",\"created_at\":\"{}\",\"user_id\":\"{}\",\"data\":{{\"object\":",
            moment(*at),
            owner.user_id()
        );
        let mut views = Reader(views);
        let begin = out.len();
        let object = views.object(out);
        let end = out.len();
        out.push_str("},\"previous\":");
        let previous = views.object(out);
        let mut shown = object.and(previous);
        out.push_str(",\"actor\":");
        if views.0.is_empty() {
            let mut actor = String::with_capacity(96);
            event_actor::write_derived(kind, out.get(begin..end).unwrap_or_default(), &mut actor);
            out.push_str(&actor);
        } else {
            shown = shown.and(views.object(out));
        }
        out.push('}');
        debug_assert!(shown.is_some(), "they were checked when they were read");
    }

    /// The same event without this member of its object. `None` if its bytes cannot be read.
    #[must_use]
    pub fn without_member(self, member: &str) -> Option<Self> {
        let views = without_member(&self.views, 0, member)?;
        Some(Self { views, ..self })
    }

    /// The same event with another text in this member of its object.
    #[must_use]
    pub fn with_text(self, member: &str, change: impl Fn(&str) -> String) -> Option<Self> {
        let views = with_text(&self.views, 0, member, change)?;
        Some(Self { views, ..self })
    }

    /// The same event without what this member of its object was before.
    #[must_use]
    pub fn without_previous(self, member: &str) -> Option<Self> {
        let views = without_member(&self.views, 1, member)?;
        Some(Self { views, ..self })
    }

    /// Where the actor begins in the views. `None` if no request caused the event: then the actor follows from the event.
    fn actor_start(&self) -> Option<usize> {
        let (mut views, mut skipped) = (Reader(&self.views), String::with_capacity(self.expected_bytes()));
        views.object(&mut skipped)?;
        views.object(&mut skipped)?;
        (!views.0.is_empty()).then(|| self.views.len() - views.0.len())
    }

    /// Whether a request caused it.
    pub fn is_of_request(&self) -> bool {
        self.actor_start().is_some()
    }

    /// JSON text of the actor, if a request caused it.
    pub fn request_actor(&self) -> Option<String> {
        let mut json = String::with_capacity(160);
        Reader(self.views.get(self.actor_start()?..)?).object(&mut json)?;
        Some(json)
    }

    /// The same event of a request with another actor.
    #[must_use]
    pub fn with_actor(mut self, actor: &EventActor) -> Option<Self> {
        self.views.truncate(self.actor_start()?);
        StoredView::of(actor).write(&mut self.views);
        Some(self)
    }

    /// About the length of the envelope in bytes.
    pub fn expected_bytes(&self) -> usize {
        400 + self.views.len() * 4
    }
}

impl EventRecord {
    /// As an event of the journal.
    pub fn to_event(&self) -> Event {
        Event {
            subject: self.owner.key().into_boxed_slice(),
            payload: codec::pack(self),
        }
    }

    /// Kind of the entity of a record, without reading the rest. `None` if the bytes are not a record.
    pub fn kind_of(payload: &[u8]) -> Option<u8> {
        codec::body_of::<Self>(payload)?.first().copied()
    }

    /// Reads a record from subject and payload of an event of the journal.
    ///
    /// # Errors
    /// When the bytes are not a record, or the subject is no account.
    pub fn read(subject: &[u8], payload: &[u8]) -> Result<Self, DecodeError> {
        let body = codec::unpack::<Self>(payload)?;
        let malformed = |what: &str| DecodeError::Malformed(what.to_owned());
        let owner = Wallet::from_key(subject).ok_or_else(|| malformed("the subject is no account"))?;
        Self::read_body(owner, body).ok_or_else(|| malformed("no record"))
    }

    /// `None` if the body is not one that `write_body` can have written.
    fn read_body(owner: Wallet, body: &[u8]) -> Option<Self> {
        let mut from = Reader(body);
        let mut record = Self {
            kind: from.byte()?,
            id: from.bytes()?.to_vec(),
            revision: from.number()?,
            at: Timestamp(from.number()?),
            status: take_word(&mut from)?.into_owned(),
            owner,
            event: from.bytes()?.to_vec(),
            announcement: None,
        };
        if from.0.is_empty() {
            return Some(record);
        }
        let kind = take_word(&mut from)?.into_owned();
        let api_version = take_word(&mut from)?;
        let id = EventId(u128::from_be_bytes(from.array()?));
        let views = from.0.to_vec();
        let mut scratch = String::with_capacity(views.len() * 4);
        from.object(&mut scratch)?;
        from.object(&mut scratch)?;
        if !from.0.is_empty() {
            from.object(&mut scratch)?;
        }
        record.announcement = from.0.is_empty().then_some(PublicEvent {
            kind,
            id,
            api_version,
            at: record.at,
            owner,
            views,
        });
        record.announcement.is_some().then_some(record)
    }
}

impl Packed for EventRecord {
    /// 1 had the JSON text of the envelope, 750 the owner.
    const SCHEMA: u16 = 751;

    fn write_body(&self, out: &mut Vec<u8>) {
        out.push(self.kind);
        put_bytes(out, &self.id);
        put_number(out, self.revision);
        put_number(out, self.at.0);
        put_word(out, &self.status);
        put_bytes(out, &self.event);
        if let Some(announced) = &self.announcement {
            put_word(out, &announced.kind);
            put_word(out, &announced.api_version);
            out.extend_from_slice(&announced.id.0.to_be_bytes());
            out.extend_from_slice(&announced.views);
        }
    }
}

/// The number of a word plus one, or 0 and the text.
fn put_word(out: &mut Vec<u8>, text: &str) {
    match words::number_of(text) {
        Some(number) => put_number(out, number + 1),
        None => {
            out.push(0);
            put_bytes(out, text.as_bytes());
        }
    }
}

fn take_word(from: &mut Reader<'_>) -> Option<Cow<'static, str>> {
    match from.number()? {
        0 => Some(Cow::Owned(from.text()?.to_owned())),
        number => words::word(number - 1).map(Cow::Borrowed),
    }
}
