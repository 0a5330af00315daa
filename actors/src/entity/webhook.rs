//! A webhook endpoint: a URL to which an account's events are posted.
//!
//! ```text
//! active --410, or only failures for five days--> disabled --its URL is registered again--> active
//!    |                                               |
//!    `--------------owner deletes it-----------------'--> DELETED
//! ```
//!
//! The secrets are in the vault, one record each; this entity has only their record ids. Registering the URL again
//! creates a new secret. For an overlap period the previous secrets sign too, so a receiver can switch without losing
//! an event. The deliveries report whether the endpoint responds ([`crate::entity::webhook_delivery`]), and only when that
//! changes.

mod job;
mod machine;
mod view;

pub use self::view::{WebhookView, url_origin};
use purser_storage::codec::Stored;

use crate::id::{CardId, JobId, SessionId, Wallet};
use crate::kernel::table;
use crate::operator::AuditedAction;
use crate::port::Timestamp;

pub use self::job::Job;

/// State of a webhook endpoint.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WebhookEndpoint {
    /// Account that owns it.
    pub owner: Wallet,
    /// URL that events are posted to.
    pub url: String,
    /// Event types such as `card.ready` or `card.*`; empty for all.
    pub types: Vec<String>,
    /// Time of the first registration.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Start of the events for this endpoint: it was registered, or disabled and registered again, at this time.
    pub since: Timestamp,
    /// Session that registered it last.
    pub session: SessionId,
    /// Secrets that sign, newest first; empty only after deletion.
    pub secrets: Vec<SecretRef>,
    /// Health by the last attempt.
    pub health: EndpointHealth,
    /// Whether the endpoint receives events.
    pub status: Status,
}

/// A signing secret, by its record in the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SecretRef {
    /// Id of the vault record.
    pub record: u128,
    /// Signs until this time; `None` for the current secret.
    pub until: Option<Timestamp>,
}

impl SecretRef {
    /// Row of the vault record.
    pub fn row(&self) -> purser_storage::RowKey {
        table::vault(CardId(self.record))
    }

    /// Whether it still signs at `now`.
    pub fn signs(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// Health of an endpoint, by the last attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum EndpointHealth {
    /// No attempt was made yet.
    Unknown,
    /// The last attempt succeeded.
    Healthy,
    /// The last attempt failed.
    Failing {
        /// Time since which every attempt has failed.
        since: Timestamp,
        /// Whether the owner was notified.
        warned: bool,
    },
}

/// Reason why an endpoint was disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum DisabledReason {
    /// It responded with 410.
    Gone,
    /// It failed for too long.
    Failing,
}

impl DisabledReason {
    /// Name in API documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Failing => "failing",
        }
    }
}

crate::answer::serialize_as_name!(DisabledReason);

/// Status of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Events are posted to it.
    Active,
    /// No events are posted until its URL is registered again.
    Disabled(DisabledReason),
    /// Deleted permanently; a new registration creates another endpoint.
    Deleted,
}

/// Durations of failure before the owner is notified and the endpoint is disabled, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureThresholds {
    /// The owner is notified after this duration.
    pub warn_ms: u64,
    /// The endpoint is disabled after this duration.
    pub disable_ms: u64,
}

/// Commands to a webhook endpoint.
#[derive(Clone, Debug)]
pub enum Command {
    /// The owner registers the URL, for the first time or again: this creates a new secret and a test event.
    Register {
        /// Account that owns it.
        owner: Wallet,
        /// URL that events are posted to.
        url: String,
        /// Event types to deliver; empty for all.
        types: Vec<String>,
        /// Vault record of the new secret.
        record: u128,
        /// The new secret, sealed for that record.
        sealed: Vec<u8>,
        /// How long the previous secrets still sign, in milliseconds.
        overlap_ms: u64,
        /// Session that registers it.
        session: SessionId,
    },
    /// An attempt succeeded with 2xx.
    RecordSuccess,
    /// An attempt failed.
    RecordFailure {
        /// Whether the response was 410.
        gone: bool,
        /// Durations before notification and disabling.
        thresholds: FailureThresholds,
    },
    /// The owner or an operator requests redelivery of what was not received.
    RequestRedelivery {
        /// Events since this time are redelivered.
        since: Timestamp,
        /// Last sequence number to redeliver.
        upto: u64,
        /// Operator action, if the request does not come from the owner.
        by: Option<AuditedAction>,
    },
    /// Every redelivery was requested.
    RecordRedelivered {
        /// Job that requested them.
        job: JobId,
    },
    /// The owner deletes the endpoint.
    Delete,
}

/// Events of a webhook endpoint.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Registered for the first time.
    Registered {
        /// Account that owns it.
        owner: Wallet,
        /// URL that events are posted to.
        url: String,
        /// Event types to deliver; empty for all.
        types: Vec<String>,
        /// Vault record of the secret.
        record: u128,
        /// Session that registered it.
        session: SessionId,
        /// Time of the event.
        at: Timestamp,
    },
    /// Registered again: a new secret signs.
    SecretRotated {
        /// Event types to deliver from now on.
        types: Vec<String>,
        /// Vault record of the new secret.
        record: u128,
        /// End of the overlap: the previous secrets sign until then.
        until: Timestamp,
        /// Session that registered it.
        session: SessionId,
        /// Time of the event.
        at: Timestamp,
    },
    /// A disabled endpoint is active again.
    Enabled(Timestamp),
    /// A test event, delivered to this endpoint only.
    TestSent(Timestamp),
    /// It responds again; whether its owner had been notified of the failure.
    Recovered(bool, Timestamp),
    /// Attempts fail from now on.
    Failing(Timestamp),
    /// The owner was notified of the failure.
    OwnerWarned(Timestamp),
    /// Redelivery of missed events was requested.
    RedeliveryRequested(Timestamp),
    /// The endpoint was disabled.
    Disabled(DisabledReason, Timestamp),
    /// The endpoint was deleted.
    Deleted(Timestamp),
}

crate::state_machine! { WebhookEndpoint, Status, Event;
    states { Active = "active", Disabled = "disabled", Deleted = "deleted" }
    events {
        Registered "registered" { - => Active: "registration by the account owner" }
        SecretRotated "secret_rotated" { Active | Disabled }
        Enabled "enabled" { Disabled => Active: "new registration of its URL" }
        TestSent "test" { Active }
        Recovered (name_by_data: "recovered") { Active }
        // A single failed attempt is not announced.
        Failing - { Active }
        OwnerWarned "failing" { Active }
        RedeliveryRequested "redelivery_requested" { Active }
        Disabled "disabled" { Active => Disabled: "410 response, or failures beyond the limit" }
        Deleted "deleted" { Active | Disabled => Deleted: "deletion by the account owner" }
    }
}

/// Name that an event announces if it depends on its data.
fn name_by_data(event: &Event) -> Option<&'static str> {
    match event {
        Event::Recovered(true, _) => Some("recovered"),
        _ => None,
    }
}

/// Reason why a webhook endpoint rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The current state does not allow the command.
    InvalidState(&'static str),
}

impl Stored for WebhookEndpoint {
    const SCHEMA: u16 = 230;
}

impl Stored for Event {
    const SCHEMA: u16 = 231;
}

impl WebhookEndpoint {
    /// Maximum number of secrets that sign at once. Beyond it the oldest ends early, which needs this many
    /// registrations of one URL in a day.
    pub const MAX_SECRETS: usize = 8;

    /// Whether the endpoint gets events of this type and time.
    pub fn matches(&self, kind: &str, at: Timestamp) -> bool {
        self.status == Status::Active && self.since <= at && matches_filter(&self.types, kind)
    }

    /// Secrets that sign at `now`, newest first.
    pub fn signing(&self, now: Timestamp) -> impl Iterator<Item = &SecretRef> {
        self.secrets.iter().filter(move |secret| secret.signs(now))
    }
}

/// Whether a list of types matches this one, by name or by pattern; `*` matches any characters. An empty list matches
/// all.
pub fn matches_filter(types: &[String], kind: &str) -> bool {
    types.is_empty()
        || types
            .iter()
            .any(|wanted| matches_pattern(wanted.as_bytes(), kind.as_bytes()))
}

/// Whether a name matches a pattern in which `*` matches any characters. Each star takes as few characters as possible
/// and more only if the rest does not match, so the time is at most the product of the two lengths.
fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Position after the last star, and the first character that it has not matched yet.
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
