//! A saved recipient of app payments: there once it was first paid.
//!
//! ```text
//! - --first paid--> active <--owner--> archived
//!                     `-------owner------> deleted --paid again--> active
//! ```
//!
//! Its totals are of the payments whose money did not come back: one counts from the moment it is bought, and no more once
//! it has failed, was stopped or was returned, in time or late.
//!
//! Archiving hides it from the list and keeps its history. A deleted one keeps only its totals, and comes back when the
//! same user of the app is paid again.

use purser_storage::codec::Stored;

use crate::id::{JobId, PaymentRecipientId, Wallet};
use crate::kernel::entity::Transition;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject};
use crate::money::Cents;
use crate::port::Timestamp;
use crate::product::{AppPayee, Platform};

/// A recipient's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct PaymentRecipient {
    /// Whose list it is on.
    pub owner: Wallet,
    /// Of which app.
    pub platform: Platform,
    /// Who, as last paid; `recipient` is what the app knows them by.
    pub payee: AppPayee,
    /// What its owner calls it.
    pub display_name: String,
    /// Payments to it so far, those that came back included.
    pub payments: u64,
    /// Their sum, fees apart.
    pub total: Cents,
    /// How many of them came back: they failed, were stopped, or were returned, whenever that was.
    pub returned_payments: u64,
    /// The sum of those.
    pub total_returned: Cents,
    /// When it was first paid.
    pub created_at: Timestamp,
    /// When it was last paid.
    pub paid_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// Where a recipient stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// On the list.
    Active,
    /// Hidden.
    Archived,
    /// Off the list.
    Deleted,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// It was paid.
    RecordPayment {
        /// The effect that says so.
        job: JobId,
        /// By whom.
        owner: Wallet,
        /// Through which app.
        platform: Platform,
        /// Who.
        payee: AppPayee,
        /// How much.
        amount: Cents,
    },
    /// The money of a payment to it came back.
    RecordReturn {
        /// The effect that says so.
        job: JobId,
        /// How much had been paid.
        amount: Cents,
    },
    /// Call it something else, hide it, or show it again; what is `None` stays as it is.
    Update {
        /// The new name.
        display_name: Option<String>,
        /// Hidden or not.
        archived: Option<bool>,
    },
    /// Take it off the list.
    Delete,
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// First paid.
    Saved {
        /// By whom.
        owner: Wallet,
        /// Through which app.
        platform: Platform,
        /// Who.
        payee: AppPayee,
        /// When.
        at: Timestamp,
    },
    /// Paid.
    Paid {
        /// Who, as named this time.
        payee: AppPayee,
        /// How much.
        amount: Cents,
        /// When.
        at: Timestamp,
    },
    /// A payment came back, of so much.
    PaymentReturned(Cents),
    /// Has another name.
    Renamed(String),
    /// Hidden.
    Archived,
    /// Shown again.
    Unarchived,
    /// Off the list.
    Deleted,
}

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for PaymentRecipient {
    const SCHEMA: u16 = 125;
}

impl Stored for Event {
    const SCHEMA: u16 = 126;
}

impl PaymentRecipient {
    /// Payments to it that did not come back, and their sum. What is on its way counts.
    pub fn net_totals(&self) -> (u64, Cents) {
        let total = self.total.checked_sub(self.total_returned).unwrap_or(Cents::ZERO);
        (self.payments.saturating_sub(self.returned_payments), total)
    }

    fn update(&self, display_name: Option<String>, archived: Option<bool>) -> Decision<Self> {
        let decided = Decision::answer(());
        let decided = match display_name {
            Some(name) if name != self.display_name => decided.event(Event::Renamed(name)),
            _ => decided,
        };
        match (archived, self.status) {
            (Some(true), Status::Active) => decided.event(Event::Archived),
            (Some(false), Status::Archived) => decided.event(Event::Unarchived),
            _ => decided,
        }
    }
}

impl Entity for PaymentRecipient {
    const KIND: EntityKind = EntityKind::PaymentRecipient;
    const EVENT_NAMES: &'static [&'static str] = &[
        "saved",
        "paid",
        "payment_came_back",
        "renamed",
        "archived",
        "restored",
        "deleted",
    ];
    const TRANSITIONS: &'static [Transition] = &[
        ("-", "first paid", "active"),
        ("active", "owner archives", "archived"),
        ("archived", "owner restores", "active"),
        ("active", "owner deletes", "deleted"),
        ("archived", "owner deletes", "deleted"),
        ("deleted", "paid again", "active"),
    ];
    const CREATED_BY_COMMAND: bool = true;

    type Id = PaymentRecipientId;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();

    fn decide(
        this: Option<&Self>,
        id: &PaymentRecipientId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        match (this, command) {
            (
                this,
                Command::RecordPayment {
                    job: effect,
                    owner,
                    platform,
                    payee,
                    amount,
                },
            ) => {
                let (decided, at) = (Decision::answer(()).completes_job(effect), context.now);
                let paid = Event::Paid {
                    payee: payee.clone(),
                    amount,
                    at,
                };
                let decided = match this {
                    Some(_) => decided,
                    None => decided
                        .event(Event::Saved {
                            owner,
                            platform,
                            payee,
                            at,
                        })
                        .index_for_owner(&owner, EntityKind::PaymentRecipient, id.0, context),
                };
                Ok(decided.event(paid))
            }
            (Some(_), Command::RecordReturn { job: effect, amount }) => Ok(Decision::answer(())
                .completes_job(effect)
                .event(Event::PaymentReturned(amount))),
            (Some(recipient), Command::Update { display_name, archived }) if recipient.status != Status::Deleted => {
                Ok(recipient.update(display_name, archived))
            }
            (Some(recipient), Command::Delete) if recipient.status != Status::Deleted => {
                Ok(Decision::answer(()).event(Event::Deleted))
            }
            (this, _) => Err(Rejection(this.map_or("-", Self::status))),
        }
    }

    fn apply(this: Option<Self>, _: &PaymentRecipientId, event: &Event) -> Result<Self, InvalidTransition> {
        let status = this.as_ref().map_or("-", Self::status);
        let broken = || InvalidTransition::new(status, event);
        let Some(recipient) = this else {
            let Event::Saved {
                owner,
                platform,
                payee,
                at,
            } = event
            else {
                return Err(broken());
            };
            return Ok(Self {
                owner: *owner,
                platform: *platform,
                display_name: format!("{} {}", payee.first_name, payee.last_name),
                payee: payee.clone(),
                payments: 0,
                total: Cents::ZERO,
                returned_payments: 0,
                total_returned: Cents::ZERO,
                created_at: *at,
                paid_at: *at,
                status: Status::Active,
            });
        };
        match (recipient.status, event) {
            (status, Event::Paid { payee, amount, at }) => Ok(Self {
                payee: payee.clone(),
                payments: recipient.payments.saturating_add(1),
                // Far beyond all money there is; a total never stops a payment.
                total: recipient.total.checked_add(*amount).unwrap_or(recipient.total),
                paid_at: *at,
                status: match status {
                    Status::Archived => Status::Archived,
                    Status::Active | Status::Deleted => Status::Active,
                },
                ..recipient
            }),
            (_, Event::PaymentReturned(amount)) => Ok(Self {
                returned_payments: recipient.returned_payments.saturating_add(1),
                total_returned: recipient
                    .total_returned
                    .checked_add(*amount)
                    .unwrap_or(recipient.total_returned),
                ..recipient
            }),
            (Status::Active | Status::Archived, Event::Renamed(name)) => Ok(Self {
                display_name: name.clone(),
                ..recipient
            }),
            (Status::Active, Event::Archived) => Ok(Self {
                status: Status::Archived,
                ..recipient
            }),
            (Status::Archived, Event::Unarchived) => Ok(Self {
                status: Status::Active,
                ..recipient
            }),
            (Status::Active | Status::Archived, Event::Deleted) => Ok(Self {
                status: Status::Deleted,
                ..recipient
            }),
            _ => Err(broken()),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Active => "active",
            Status::Archived => "archived",
            Status::Deleted => "deleted",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn event_name(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Saved { .. } => "saved",
            Event::Paid { .. } => "paid",
            Event::PaymentReturned(_) => "payment_came_back",
            Event::Renamed(_) => "renamed",
            Event::Archived => "archived",
            Event::Unarchived => "restored",
            Event::Deleted => "deleted",
        })
    }

    fn view(&self, id: &PaymentRecipientId) -> JsonObject {
        JsonObject::new()
            .text("recipient_id", id)
            .text("platform", self.platform.name())
            .text("display_name", &self.display_name)
            .text("status", self.status())
            .boolean("archived", self.status == Status::Archived)
            .integer("payments_count", self.net_totals().0)
            .number("total_amount", self.net_totals().1.decimal())
            .text("currency", "USD")
            .time("created_at", self.created_at)
            .time("last_paid_at", self.paid_at)
    }

    /// That it is saved.
    fn outcome(&self) -> Option<()> {
        Some(())
    }
}
