//! A saved recipient of app payments, created by the first payment.
//!
//! ```text
//! - --first paid--> active <--owner--> archived
//!                     `-------owner------> deleted --paid again--> active
//! ```
//!
//! Its totals cover payments whose money was not returned. A payment counts from the purchase. It no longer counts once
//! it has failed, was cancelled or was returned, in time or late.
//!
//! An archived recipient is hidden from the list and keeps its history. A deleted one keeps only its totals, and is
//! active again when the same app user is paid again.

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::{ExactDecimal, Time};
use crate::currency::Currency;
use crate::id::{JobId, PaymentRecipientId, PayoutId, Wallet};
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _};
use crate::money::Cents;
use crate::port::Timestamp;
use crate::port::payouts::{AppPayee, Platform};

jobs! { PaymentRecipient:
    /// Save the recipient of an app payment.
    22 SaveRecipient(payout: PayoutId) = "save_recipient" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Subtract a returned payment from its recipient's totals.
    38 ReverseRecipientTotals(payout: PayoutId) = "reverse_recipient_totals" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}

/// State of a payment recipient.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct PaymentRecipient {
    /// Account whose list it is on.
    pub owner: Wallet,
    /// App of the recipient.
    pub platform: Platform,
    /// Recipient as last paid; `recipient` is the handle in the app.
    pub payee: AppPayee,
    /// Name chosen by the account owner.
    pub display_name: String,
    /// Number of payments so far, including returned ones.
    pub payments: u64,
    /// Sum of the payments without fees.
    pub total: Cents,
    /// Number of payments that failed, were cancelled or were returned at any time.
    pub returned_payments: u64,
    /// Sum of those payments.
    pub total_returned: Cents,
    /// Time of the first payment.
    pub created_at: Timestamp,
    /// Time of the last payment.
    pub paid_at: Timestamp,
    /// Whether the recipient is active, archived or deleted.
    pub status: Status,
}

/// Status of a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Shown in the list.
    Active,
    /// Hidden from the list.
    Archived,
    /// Removed from the list.
    Deleted,
}

/// Commands to a payment recipient.
#[derive(Clone, Debug)]
pub enum Command {
    /// A payment was made to it.
    RecordPayment {
        /// Job that reports it.
        job: JobId,
        /// Account that paid.
        owner: Wallet,
        /// App of the payment.
        platform: Platform,
        /// Recipient as named in the payment.
        payee: AppPayee,
        /// Amount without fees.
        amount: Cents,
    },
    /// A payment to it was returned.
    RecordReturn {
        /// Job that reports it.
        job: JobId,
        /// Amount of the payment.
        amount: Cents,
    },
    /// Renames, hides or shows the recipient; `None` leaves a value unchanged.
    Update {
        /// The new name.
        display_name: Option<String>,
        /// Whether it is hidden.
        archived: Option<bool>,
    },
    /// Removes it from the list.
    Delete,
}

/// Events of a payment recipient.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Created by the first payment.
    Saved {
        /// Account that paid.
        owner: Wallet,
        /// App of the payment.
        platform: Platform,
        /// Recipient as named in the payment.
        payee: AppPayee,
        /// Time of the event.
        at: Timestamp,
    },
    /// A payment was made to it.
    Paid {
        /// Recipient as named this time.
        payee: AppPayee,
        /// Amount without fees.
        amount: Cents,
        /// Time of the event.
        at: Timestamp,
    },
    /// A payment of this amount was returned.
    PaymentReturned(Cents),
    /// The owner renamed it.
    Renamed(String),
    /// The owner hid it.
    Archived,
    /// The owner showed it again.
    Unarchived,
    /// Removed from the list.
    Deleted,
}

/// A recipient of app payments, without the person's name and address.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = PaymentRecipientResource))]
pub struct PaymentRecipientView<'a> {
    /// `rcp_…` is the id of the recipient.
    pub recipient_id: PaymentRecipientId,
    /// Payment app of the recipient.
    pub platform: Platform,
    /// The name to show.
    pub display_name: &'a str,
    /// Status of the recipient.
    pub status: State,
    /// Whether the recipient is archived.
    pub archived: bool,
    /// Number of payouts, less those returned.
    pub payments_count: u64,
    /// Sum of these payouts in US dollars.
    pub total_amount: ExactDecimal,
    /// `USD` is the currency.
    pub currency: Currency,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last payout (RFC 3339).
    pub last_paid_at: Time,
}

crate::state_machine! { PaymentRecipient, Status, Event;
    states { Active = "active", Archived = "archived", Deleted = "deleted" }
    events {
        Saved "created" { - => Active: "first payment" }
        Paid "paid" { Active | Archived, Deleted => Active: "another payment" }
        PaymentReturned "payment_returned" { * }
        Renamed "renamed" { Active | Archived }
        Archived "archived" { Active => Archived: "archiving by the account owner" }
        Unarchived "unarchived" { Archived => Active: "restoring by the account owner" }
        Deleted "deleted" { Active | Archived => Deleted: "deletion by the account owner" }
    }
}

/// Reason why a payment recipient rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for PaymentRecipient {
    const SCHEMA: u16 = 125;
}

impl Stored for Event {
    const SCHEMA: u16 = 126;
}

impl PaymentRecipient {
    /// Number and sum of payments that were not returned. Pending payments count.
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
    const CREATED_BY_COMMAND: bool = true;

    type Id = PaymentRecipientId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = PaymentRecipientView<'a>;

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
                // Beyond any real amount of money; a total never blocks a payment.
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

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &PaymentRecipientId) -> PaymentRecipientView<'_> {
        let (payments_count, total) = self.net_totals();
        PaymentRecipientView {
            recipient_id: *id,
            platform: self.platform,
            display_name: &self.display_name,
            status: self.state(),
            archived: self.status == Status::Archived,
            payments_count,
            total_amount: total.into(),
            currency: Currency::USD,
            created_at: self.created_at.into(),
            last_paid_at: self.paid_at.into(),
        }
    }

    /// Reports that it is saved.
    fn outcome(&self) -> Option<()> {
        Some(())
    }
}
