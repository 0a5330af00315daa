//! A difference between our books and somebody else's list: found by reconciliation, told once when it opens and once when
//! it is gone, and never forgotten in between.
//!
//! ```text
//! open --both agree again--> resolved
//!   ^------found again----------'
//! ```
//!
//! A payment that its chain has taken back is pursued from the batch that opens the difference: if the chain shows that it
//! never can land again, its loss is booked.
//!
//! It is the house's, not a holder's: nobody can sign in as its owner, and only operators read what it tells.

use purser_storage::codec::Stored;
use sha2::{Digest, Sha256};

use crate::id::{DiscrepancyId, JobId, PaymentId, Wallet};
use crate::kernel::entity::Transition;
use crate::kernel::job::Job;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, table};
use crate::port::Timestamp;
use crate::reconciliation::{DiscrepancyKind, EntryKind, ReconciliationSource};

/// What differs: ids, states and amounts, no secret.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct DiscrepancyDetails {
    /// Against whose list.
    pub source: ReconciliationSource,
    /// What kind of thing.
    pub entry_kind: EntryKind,
    /// Its name there: an order's idempotency key, or a transaction.
    pub key: String,
    /// Our id of it, if it is in our books.
    pub subject: Option<String>,
    /// How it differs.
    pub kind: DiscrepancyKind,
    /// State and amount in our books.
    pub internal: Option<String>,
    /// The same on the other list.
    pub external: Option<String>,
}

impl DiscrepancyDetails {
    /// The payment, if it is one that we count on and that its chain does not show.
    pub fn is_reorged_payment(&self) -> Option<PaymentId> {
        let missing = self.kind == DiscrepancyKind::MissingDeposit;
        self.subject.as_ref().filter(|_| missing)?.parse().ok()
    }
}

/// A difference's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Discrepancy {
    /// What differs, or last did.
    pub details: DiscrepancyDetails,
    /// Since when it is open, or last was.
    pub opened_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// Where a difference stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The lists differ.
    Open,
    /// They do not any more.
    Resolved,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The lists differ.
    Report(Box<DiscrepancyDetails>),
    /// They do not.
    Resolve,
    /// Nothing more comes of what was taken back.
    CloseReorg {
        /// The effect that found it so.
        job: JobId,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Found.
    Opened(Box<DiscrepancyDetails>, Timestamp),
    /// Found to be something else than before.
    Updated(Box<DiscrepancyDetails>, Timestamp),
    /// Gone.
    Resolved(Timestamp),
}

impl Stored for Discrepancy {
    const SCHEMA: u16 = 260;
}

impl Stored for Event {
    const SCHEMA: u16 = 261;
}

impl DiscrepancyId {
    /// Of a thing on a list: always the same.
    pub fn for_entry(source: ReconciliationSource, key: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"difference");
        hash.update([0]);
        hash.update(source.name());
        hash.update([0]);
        hash.update(key);
        let hash = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&hash[..16]);
        Self(u128::from_be_bytes(first))
    }
}

impl Entity for Discrepancy {
    const KIND: EntityKind = EntityKind::Discrepancy;
    const TRANSITIONS: &'static [Transition] = &[
        ("-", "reconciliation finds it", "open"),
        ("open", "both lists agree", "resolved"),
        ("resolved", "reconciliation finds it again", "open"),
    ];
    const EVENT_NAMES: &'static [&'static str] = &["opened", "changed", "resolved"];
    const CREATED_BY_COMMAND: bool = true;
    const SYSTEM_OWNED: bool = true;

    type Id = DiscrepancyId;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Rejection = ();
    type Outcome = ();

    fn decide(
        this: Option<&Self>,
        id: &DiscrepancyId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, ()> {
        let (now, decision) = (context.now, Decision::answer(()));
        let open = this.filter(|known| known.status == Status::Open);
        let pursued = |decision: Decision<Self>, found: &DiscrepancyDetails| match found.is_reorged_payment() {
            Some(_) => decision.enqueue(Job::ConfirmReorg(*id), context),
            None => decision,
        };
        Ok(match (open, command) {
            // The row says which kind it is, so that those that are open are counted without a look at each.
            (None, Command::Report(found)) => pursued(decision, &found)
                .put_new(table::open_discrepancy(now, *id), vec![found.kind as u8])
                .event(Event::Opened(found, now)),
            // What was told of it stands until it is another kind of difference: amounts under way are no news.
            (Some(known), Command::Report(found)) if known.details.kind != found.kind => pursued(decision, &found)
                .put(table::open_discrepancy(known.opened_at, *id), vec![found.kind as u8])
                .event(Event::Updated(found, now)),
            (Some(known), Command::Resolve) => decision
                .delete(table::open_discrepancy(known.opened_at, *id))
                .event(Event::Resolved(now)),
            (_, Command::CloseReorg { job: effect }) => decision.completes_job(effect),
            (Some(_), Command::Report(_)) | (None, Command::Resolve) => decision,
        })
    }

    fn apply(this: Option<Self>, _: &DiscrepancyId, event: &Event) -> Result<Self, InvalidTransition> {
        let before = this.as_ref().map(|known| known.status);
        match (this, event) {
            (this, Event::Opened(found, at)) if this.as_ref().is_none_or(|known| known.status == Status::Resolved) => {
                Ok(Self {
                    details: (**found).clone(),
                    opened_at: *at,
                    updated_at: *at,
                    status: Status::Open,
                })
            }
            (Some(known), Event::Updated(found, at)) if before == Some(Status::Open) => Ok(Self {
                details: (**found).clone(),
                updated_at: *at,
                ..known
            }),
            (Some(known), Event::Resolved(at)) if before == Some(Status::Open) => Ok(Self {
                updated_at: *at,
                status: Status::Resolved,
                ..known
            }),
            (this, event) => Err(InvalidTransition::new(this.as_ref().map_or("-", Self::status), event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Open => "open",
            Status::Resolved => "resolved",
        }
    }

    fn owner(&self) -> Wallet {
        Wallet::SYSTEM
    }

    fn event_name(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Opened(..) => "opened",
            Event::Updated(..) => "changed",
            Event::Resolved(_) => "resolved",
        })
    }

    fn view(&self, id: &DiscrepancyId) -> JsonObject {
        let found = &self.details;
        JsonObject::new()
            .text("discrepancy_id", id)
            .text("kind", found.kind.name())
            .text("source", found.source.name())
            .text("key", &found.key)
            .optional_text("subject", found.subject.as_deref())
            .optional_text("internal", found.internal.as_deref())
            .optional_text("external", found.external.as_deref())
            .text("status", self.status())
            .time("opened_at", self.opened_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
