//! An endpoint: a URL of an account's owner that the account's events are posted to.
//!
//! ```text
//! active --410, or only failures for five days--> disabled --its URL is registered again--> active
//!    |                                               |
//!    `--------------owner deletes it-----------------'--> DELETED
//! ```
//!
//! Its secrets lie in the vault, one record each; here are their names alone. Registering its URL again makes a new secret,
//! and for a while those before it sign too, so that a receiver can change over without losing an event. Whether it answers
//! is told by the deliveries ([`crate::webhook_delivery`]), and only when that changes.

mod machine;

use purser_storage::codec::Stored;

use crate::id::{CardId, JobId, SessionId, Wallet};
use crate::kernel::table;
use crate::operator::AuditedAction;
use crate::port::Timestamp;

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WebhookEndpoint {
    /// Whose.
    pub owner: Wallet,
    /// Where events are posted to.
    pub url: String,
    /// Types such as `card.ready` or `card.*`; empty for all.
    pub types: Vec<String>,
    /// When it was first registered.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Events from here on are for it: since it was registered, or was disabled and registered again.
    pub since: Timestamp,
    /// Which session registered it last.
    pub session: SessionId,
    /// What signs, the newest first; never empty but when it is deleted.
    pub secrets: Vec<SecretRef>,
    /// Whether it answers.
    pub health: EndpointHealth,
    /// Where it stands.
    pub status: Status,
}

/// A secret, by its record in the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SecretRef {
    /// The record.
    pub record: u128,
    /// Signs until then; `None` for the one that stands.
    pub until: Option<Timestamp>,
}

impl SecretRef {
    /// The record's row.
    pub fn row(&self) -> purser_storage::RowKey {
        table::vault(CardId(self.record))
    }

    /// Whether it still signs.
    pub fn signs(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// Whether an endpoint answers, by the last try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum EndpointHealth {
    /// Nobody knows yet.
    Unknown,
    /// It does.
    Healthy,
    /// It does not.
    Failing {
        /// Since then, every time.
        since: Timestamp,
        /// Its owner was told.
        warned: bool,
    },
}

/// Why an endpoint is posted to no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum DisabledReason {
    /// It answered 410.
    Gone,
    /// It has only failed for too long.
    Failing,
}

impl DisabledReason {
    /// On the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Failing => "failing",
        }
    }
}

/// Where an endpoint stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Events are posted to it.
    Active,
    /// None are, until its URL is registered again.
    Disabled(DisabledReason),
    /// Never again.
    Deleted,
}

/// When an endpoint that only fails is spoken of, and when it is given up; in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureThresholds {
    /// Its owner is told after so long.
    pub warn_ms: u64,
    /// It is disabled after so long.
    pub disable_ms: u64,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The owner registers its URL, for the first time or again: there is a new secret, and a test event.
    Register {
        /// Whose.
        owner: Wallet,
        /// Where.
        url: String,
        /// What it wants to hear of.
        types: Vec<String>,
        /// The new secret's record.
        record: u128,
        /// The new secret, sealed for that record.
        sealed: Vec<u8>,
        /// How long the secrets before it go on signing, in milliseconds.
        overlap_ms: u64,
        /// Whose session registers it.
        session: SessionId,
    },
    /// A try was answered with 2xx.
    RecordSuccess,
    /// A try was not.
    RecordFailure {
        /// It said 410.
        gone: bool,
        /// How long that may go on.
        thresholds: FailureThresholds,
    },
    /// Somebody wants what it has not received.
    RequestRedelivery {
        /// Of events since then.
        since: Timestamp,
        /// Up to this sequence.
        upto: u64,
        /// The operator who wants it, if it is not its owner.
        by: Option<AuditedAction>,
    },
    /// All of that was asked for.
    RecordRedelivered {
        /// The effect that did it.
        job: JobId,
    },
    /// The owner wants it gone.
    Delete,
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Registered for the first time.
    Registered {
        /// Whose.
        owner: Wallet,
        /// Where.
        url: String,
        /// What it wants to hear of.
        types: Vec<String>,
        /// The secret's record.
        record: u128,
        /// Whose session registered it.
        session: SessionId,
        /// When.
        at: Timestamp,
    },
    /// Registered again: another secret signs.
    SecretRotated {
        /// What it wants to hear of now.
        types: Vec<String>,
        /// The new secret's record.
        record: u128,
        /// Those before it sign until then.
        until: Timestamp,
        /// Whose session registered it.
        session: SessionId,
        /// When.
        at: Timestamp,
    },
    /// A disabled one is posted to again.
    Enabled(Timestamp),
    /// Something to try it with: it alone is told.
    TestSent(Timestamp),
    /// It answers; whether its owner was told that it did not.
    Recovered(bool, Timestamp),
    /// It does not answer any more.
    Failing(Timestamp),
    /// Its owner is told that it only fails.
    OwnerWarned(Timestamp),
    /// What it has not received is asked for again.
    RedeliveryRequested(Timestamp),
    /// Given up.
    Disabled(DisabledReason, Timestamp),
    /// Gone.
    Deleted(Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// This state takes no such command.
    InvalidState(&'static str),
}

impl Stored for WebhookEndpoint {
    const SCHEMA: u16 = 230;
}

impl Stored for Event {
    const SCHEMA: u16 = 231;
}

impl WebhookEndpoint {
    /// Secrets that may sign at once. Beyond it the oldest ends early, which only happens to who registers one URL this often
    /// in a day.
    pub const MAX_SECRETS: usize = 8;

    /// Whether it wants to hear of events of a type that happened then.
    pub fn matches(&self, kind: &str, at: Timestamp) -> bool {
        self.status == Status::Active && self.since <= at && matches_filter(&self.types, kind)
    }

    /// What signs now, the newest first.
    pub fn signing(&self, now: Timestamp) -> impl Iterator<Item = &SecretRef> {
        self.secrets.iter().filter(move |secret| secret.signs(now))
    }
}

/// Whether a list of types has this one, by its name or by a pattern, in which `*` stands for any characters; an empty list
/// has all.
pub fn matches_filter(types: &[String], kind: &str) -> bool {
    types.is_empty()
        || types
            .iter()
            .any(|wanted| matches_pattern(wanted.as_bytes(), kind.as_bytes()))
}

/// Whether a name has the form of a pattern, in which `*` stands for any characters. Each star takes as little as it can
/// and more only when the rest does not fit, so the time is that of the two lengths multiplied, at most.
fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Behind the last star, and the first character that it has not taken yet.
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                p += 1;
                star = Some((p, n));
            }
            Some(c) if *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => {
                let Some((behind, taken)) = star else { return false };
                star = Some((behind, taken + 1));
                (p, n) = (behind, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}
