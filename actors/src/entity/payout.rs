//! A payout: money sent to a debit card, a bank account or the user of a payment app, once its payment has settled.
//!
//! ```text
//! awaiting-details --recipient's form--> queued --rail accepts--> in-process --rail pays--> complete
//!    `--30 days--> EXPIRED                 |                          |                         |
//!                                          |-- rail declines -> FAILED                          |
//!                                          |-- rail cancels --> CANCELLED                       |
//!                                          in-process, unclaimed 30 days --> RETURNED <--return in time--'
//! ```
//!
//! Only a push to card begins with the recipient's form. Before an unanswered form expires and is credited, the rail is
//! asked whether it has an order: a restored backup may be older than the order, and then the payout continues as
//! `queued`. EXPIRED, FAILED and CANCELLED credit the whole charge. RETURNED credits the amount less the rail's return
//! fee. `complete` is final once its return window has ended. A later return is a separate entity, a
//! [`LateReturn`](crate::entity::late_return::LateReturn).
//!
//! Rail events carry a sequence number: an older or repeated event changes nothing. If a rail pays after it had
//! declined and the payer was credited, the payout is recalled. If the recall fails, its job is dead-lettered.

mod job;
mod late_return;
mod machine;
mod product;
mod view;

pub use self::view::{PayoutProduct, PayoutView};
use purser_storage::codec::Stored;

use crate::currency::Currency;
use crate::id::{BankDestinationId, JobId, PaymentRecipientId, PayoutId, Wallet};
use crate::kernel::{Context, InvalidTransition, NewEntity};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::port::ExternalText;
use crate::port::Timestamp;
use crate::port::payouts::{AppPayee, BankDetails, PayoutRailStatus, PayoutStatusUpdate, Platform};
use crate::product::ProductLine;
use crate::quote::QuoteFacts;

pub use self::job::Job;
pub use self::product::{AppPaymentPurchase, BankPaymentPurchase, PushToCardPurchase};

/// The rail's terms when the payout was claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct RailTerms {
    /// Return window after completion, in milliseconds.
    pub returns_ms: u64,
    /// Fee that the rail deducts from a return.
    pub return_fee: Usdc,
    /// How long the recipient's form stays open, or an app payment can be claimed, in milliseconds.
    pub wait_ms: u64,
}

/// Recipient of the money.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum PayoutTarget {
    /// A debit card; its last four digits once the form is submitted.
    Card(Option<String>),
    /// A registered bank account.
    Bank(BankDestinationId, BankDetails),
    /// The user of a payment app.
    App(PaymentRecipientId, Platform, AppPayee),
}

/// The purchase as the claim fixed it.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct PayoutPlan {
    /// Recipient of the payout.
    pub target: PayoutTarget,
    /// Terms of the rail; see [`RailTerms`].
    pub terms: RailTerms,
    /// Facts of the quote that priced it.
    pub quoted: Option<QuoteFacts>,
}

/// State of a payout.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Payout {
    /// Account that paid for it.
    pub owner: Wallet,
    /// Charge paid for it.
    pub charge: Charge,
    /// Amount that the recipient gets.
    pub amount: Cents,
    /// Currency of that amount.
    pub currency: Currency,
    /// What the payer writes to the recipient, for a push to card.
    pub message: Option<String>,
    /// Recipient and terms of the rail.
    pub plan: PayoutPlan,
    /// Idempotency key at the rail: the id of the job that sends the order.
    pub key: JobId,
    /// Time of the purchase.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Highest sequence number of the rail's events.
    pub last_sequence: u64,
    /// Whether a payment that came too late is being recalled.
    pub recalling: bool,
    /// Whether the money returned after the return window: see [`crate::entity::late_return`].
    pub returned_late: bool,
    /// Status, from the order to the end of the payout.
    pub status: Status,
}

/// Status of a payout.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The recipient has not entered a card yet.
    AwaitingDetails,
    /// The order is sent to the rail.
    Queued,
    /// The rail accepted the order.
    InProcess,
    /// The rail paid the recipient.
    Complete {
        /// The rail's reference of the payment.
        reference: ExternalText,
        /// Whether the return window is still open.
        returnable: bool,
    },
    /// The rail declined the order.
    Failed {
        /// Reason given by the rail.
        reason: ExternalText,
    },
    /// The rail cancelled it before it was paid.
    Cancelled {
        /// Reason given by the rail.
        reason: ExternalText,
    },
    /// The recipient did not enter a card in time.
    Expired,
    /// The money was returned.
    Returned {
        /// Reason given by the rail.
        reason: ExternalText,
        /// Fee deducted from the return.
        return_fee: Usdc,
    },
}

/// Commands to a payout.
#[derive(Clone, Debug)]
pub enum Command {
    /// The recipient entered a card.
    SubmitDetails {
        /// Last four digits of the card.
        last4: String,
        /// Card number and expiry, sealed under the payout's id.
        sealed: Vec<u8>,
    },
    /// The rail reports the payout's status.
    RecordRailEvent(PayoutStatusUpdate),
    /// An operator records the outcome because the rail gives none. It has no sequence number: later rail events are
    /// applied as if it were absent.
    ResolveManually {
        /// Job that was to ask the rail.
        job: JobId,
        /// Outcome recorded by the operator.
        state: PayoutRailStatus,
    },
    /// The recipient's form expires if it is not submitted.
    Expire {
        /// Scheduled job that triggers it.
        job: JobId,
    },
    /// The return window has ended.
    CloseReturnWindow {
        /// Scheduled job that triggers it.
        job: JobId,
    },
    /// A recall has ended, or was not needed.
    RecordRecall {
        /// Job that requested the recall.
        job: JobId,
        /// Whether the money is back.
        done: bool,
    },
}

/// Events of a payout.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The payment for it settled.
    Ordered(Box<PayoutOrdered>),
    /// The form was submitted; the card's last four digits.
    DetailsSubmitted(String, Timestamp),
    /// The rail accepted the order.
    Accepted(Timestamp),
    /// The rail paid; its reference.
    Completed(ExternalText, Timestamp),
    /// The rail declined; its reason.
    Failed(ExternalText, Timestamp),
    /// The rail cancelled; its reason.
    Cancelled(ExternalText, Timestamp),
    /// The form expired unanswered.
    Expired(Timestamp),
    /// The money was returned: the rail's reason and its fee.
    Returned(ExternalText, Usdc, Timestamp),
    /// The return window ended.
    ReturnWindowClosed(Timestamp),
    /// Rail events up to this sequence number are known.
    RailSequenceAdvanced(u64),
    /// The rail paid after the payer was credited; a recall is in progress.
    PaidAfterCredit(Timestamp),
    /// The recall succeeded.
    RecallCompleted(Timestamp),
    /// The money was returned after the return window.
    ReturnedLate,
    /// The rail has an order that this history did not send: a restored backup is older than the order.
    FoundAtRail(Timestamp),
}

crate::state_machine! { Payout, Status, Event;
    states {
        AwaitingDetails = "awaiting-details", Queued = "queued", InProcess = "in-process", Complete = "complete",
        Returned = "returned", Failed = "failed", Cancelled = "cancelled", Expired = "expired",
    }
    events {
        Ordered (name_by_data: "awaiting-details", "queued") {
            - => AwaitingDetails: "settlement of a push-to-card payment",
            - => Queued: "settlement of the payment",
        }
        DetailsSubmitted "queued" { AwaitingDetails => Queued: "card from the recipient" }
        FoundAtRail "queued" { AwaitingDetails => Queued: "order found at the rail (after a restore)" }
        Accepted "in-process" { Queued => InProcess: "acceptance by the rail" }
        Completed "complete" { InProcess => Complete: "completion by the rail" }
        Failed "failed" { Queued | InProcess => Failed: "decline by the rail; charge credited" }
        Cancelled "cancelled" { Queued | InProcess => Cancelled: "cancellation by the rail; charge credited" }
        Expired "expired" { AwaitingDetails => Expired: "30 days without a card; charge credited" }
        Returned "returned" {
            InProcess => Returned: "30 days unclaimed; amount less return fee credited",
            Complete => Returned: "return within the return window; amount less return fee credited",
        }
        // Internal: nothing changes for the payer. A late return has its own event.
        ReturnWindowClosed - { Complete }
        RailSequenceAdvanced - { Queued | InProcess | Complete | Returned | Failed | Cancelled | Expired }
        PaidAfterCredit - { Complete | Returned | Failed | Cancelled | Expired }
        RecallCompleted - { Complete | Returned | Failed | Cancelled | Expired }
        ReturnedLate - { Complete }
    }
}

/// Name that an event announces if it depends on its data.
fn name_by_data(event: &Event) -> Option<&'static str> {
    match event {
        Event::Ordered(ordered) if matches!(ordered.plan.target, PayoutTarget::Card(_)) => Some("awaiting-details"),
        Event::Ordered(_) => Some("queued"),
        _ => None,
    }
}

/// Initial data of a payout.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
#[allow(missing_docs, reason = "the fields are those of the payout")]
pub struct PayoutOrdered {
    pub owner: Wallet,
    pub charge: Charge,
    pub amount: Cents,
    pub currency: Currency,
    pub message: Option<String>,
    pub plan: PayoutPlan,
    pub key: JobId,
    pub at: Timestamp,
}

/// Reason why a payout rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for Payout {
    const SCHEMA: u16 = 120;
}

impl Stored for Event {
    const SCHEMA: u16 = 121;
}

impl PayoutTarget {
    /// Product line of the rail.
    pub const fn line(&self) -> ProductLine {
        match self {
            Self::Card(_) => ProductLine::PushToCard,
            Self::Bank(..) => ProductLine::BankPayment,
            Self::App(..) => ProductLine::AppPayment,
        }
    }
}

impl Payout {
    /// First snapshot, for the batch of the payment that bought it.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
    pub fn order(id: PayoutId, ordered: PayoutOrdered, context: &Context) -> Result<NewEntity, InvalidTransition> {
        NewEntity::from_event::<Self>(&id, &Event::Ordered(Box::new(ordered)), context)
    }

    /// Expiry of the recipient's form, whether it is recorded yet or not.
    pub const fn expires_at(&self) -> Timestamp {
        self.created_at.plus_ms(self.plan.terms.wait_ms)
    }

    /// Whether the rail must still be asked to pay it.
    pub const fn is_pending(&self) -> bool {
        matches!(self.status, Status::Queued | Status::InProcess)
    }

    /// Whether the payer was credited, or is about to be.
    pub const fn is_credited(&self) -> bool {
        matches!(
            self.status,
            Status::Failed { .. } | Status::Cancelled { .. } | Status::Expired | Status::Returned { .. }
        )
    }

    /// Whether the payout may be recalled: it is unclaimed, or was paid too late.
    pub const fn is_recallable(&self) -> bool {
        self.recalling
            || matches!(
                (&self.plan.target, &self.status),
                (PayoutTarget::App(..), Status::InProcess)
            )
    }
}
