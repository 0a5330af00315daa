//! A discrepancy between our records and an external list, found by reconciliation. It is announced once when it opens
//! and once when it is resolved.
//!
//! ```text
//! open --lists agree again-> resolved
//!   ^------found again--------'
//! ```
//!
//! If it is a reorged payment, the batch that opens the discrepancy also starts a job. If the chain shows that the
//! payment can never settle again, its loss is posted.
//!
//! It is owned by the system, not by an account: no client can sign in as its owner, and only operators can read it.

use purser_storage::codec::Stored;
use sha2::{Digest, Sha256};

use serde::Serialize;

use crate::answer::Time;
use crate::id::{DiscrepancyId, JobId, PaymentId, Wallet};
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::port::Timestamp;
use crate::reconciliation::{DiscrepancyKind, EntryKind, ReconciliationSource};

jobs! { Discrepancy:
    /// Check whether a reorged payment can settle again; if it never can, post the loss.
    44 ConfirmReorg(id: DiscrepancyId) = "confirm_reorg" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}

/// Facts of a discrepancy: ids, statuses and amounts, no secret.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct DiscrepancyDetails {
    /// External list that it was found in.
    pub source: ReconciliationSource,
    /// Kind of entry.
    pub entry_kind: EntryKind,
    /// Key in that list: an order's idempotency key, or a transaction.
    pub key: String,
    /// Our id of it, if we have a record.
    pub subject: Option<String>,
    /// Kind of discrepancy.
    pub kind: DiscrepancyKind,
    /// Status and amount in our records.
    pub internal: Option<String>,
    /// Status and amount in the external list.
    pub external: Option<String>,
}

impl DiscrepancyDetails {
    /// The payment, if the chain does not show one that we rely on.
    pub fn is_reorged_payment(&self) -> Option<PaymentId> {
        let missing = self.kind == DiscrepancyKind::MissingDeposit;
        self.subject.as_ref().filter(|_| missing)?.parse().ok()
    }
}

/// State of a discrepancy.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Discrepancy {
    /// Facts as last found.
    pub details: DiscrepancyDetails,
    /// Time since which it is open, or when it was last opened.
    pub opened_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Whether the discrepancy still exists.
    pub status: Status,
}

/// Status of a discrepancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The lists differ.
    Open,
    /// The lists agree again.
    Resolved,
}

/// Commands to a discrepancy.
#[derive(Clone, Debug)]
pub enum Command {
    /// Reports that the lists differ.
    Report(Box<DiscrepancyDetails>),
    /// Reports that the lists agree.
    Resolve,
    /// The reorged payment needs no further job.
    CloseReorg {
        /// Job that determined this.
        job: JobId,
    },
}

/// Events of a discrepancy.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// It was found.
    Opened(Box<DiscrepancyDetails>, Timestamp),
    /// It is now of another kind.
    Updated(Box<DiscrepancyDetails>, Timestamp),
    /// The lists agree again.
    Resolved(Timestamp),
}

/// A mismatch between the ledger and an external source.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = Discrepancy))]
pub struct DiscrepancyView<'a> {
    /// Id of the discrepancy.
    pub discrepancy_id: DiscrepancyId,
    /// Kind of the discrepancy.
    pub kind: DiscrepancyKind,
    /// Source of the external record.
    pub source: ReconciliationSource,
    /// Id of the entry at the source.
    pub key: &'a str,
    /// Id of our resource.
    #[cfg_attr(feature = "documents", schema(required))]
    pub subject: Option<&'a str>,
    /// Value in the ledger.
    #[cfg_attr(feature = "documents", schema(required))]
    pub internal: Option<&'a str>,
    /// Value at the source.
    #[cfg_attr(feature = "documents", schema(required))]
    pub external: Option<&'a str>,
    /// `open`; `resolved` if that happened while the list was read.
    pub status: State,
    /// Time of detection (RFC 3339).
    pub opened_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

crate::state_machine! { Discrepancy, Status, Event;
    states { Open = "open", Resolved = "resolved" }
    events {
        Opened "opened" {
            - => Open: "detection by reconciliation",
            Resolved => Open: "repeated detection by reconciliation",
        }
        Updated "updated" { Open }
        Resolved "resolved" { Open => Resolved: "agreement of both lists" }
    }
}

impl Stored for Discrepancy {
    const SCHEMA: u16 = 260;
}

impl Stored for Event {
    const SCHEMA: u16 = 261;
}

impl DiscrepancyId {
    /// Id derived from source and key; always the same for an entry.
    pub fn for_entry(source: ReconciliationSource, key: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"difference");
        hash.update([0]);
        hash.update(source.id_label());
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
    const CREATED_BY_COMMAND: bool = true;
    const SYSTEM_OWNED: bool = true;

    type Id = DiscrepancyId;
    type Command = Command;
    type Reply = ();
    type Rejection = ();
    type Outcome = ();
    type View<'a> = DiscrepancyView<'a>;

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
            // The value is the kind, so that open discrepancies are counted without reading each.
            (None, Command::Report(found)) => pursued(decision, &found)
                .put_new(table::open_discrepancy(now, *id), vec![found.kind as u8])
                .event(Event::Opened(found, now)),
            // The announced facts stay until the kind changes: amounts in progress are no news.
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

    fn owner(&self) -> Wallet {
        Wallet::SYSTEM
    }

    fn view(&self, id: &DiscrepancyId) -> DiscrepancyView<'_> {
        let found = &self.details;
        DiscrepancyView {
            discrepancy_id: *id,
            kind: found.kind,
            source: found.source,
            key: &found.key,
            subject: found.subject.as_deref(),
            internal: found.internal.as_deref(),
            external: found.external.as_deref(),
            status: self.state(),
            opened_at: self.opened_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
