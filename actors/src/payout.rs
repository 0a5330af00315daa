//! A payout: money sent to a debit card, a bank account or the user of a payment app, once its payment has settled.
//!
//! ```text
//! awaiting-details --recipient's form--> queued --rail accepts--> in-process --rail pays--> complete
//!    `--30 days--> EXPIRED                 |                          |                         |
//!                                          |-- rail says no --> FAILED                          |
//!                                          |-- rail stops it --> CANCELLED                      |
//!                                          in-process, unclaimed 30 days --> RETURNED <--comes back in time
//! ```
//!
//! Only a push to card begins with the form. Before its end of time credits it, the rail is asked whether it was ever
//! ordered: a restored backup may be older than the order, which then goes on as `queued`. EXPIRED, FAILED and CANCELLED
//! credit the whole charge, RETURNED the amount less the rail's return fee. `complete` is final once its return window has
//! ended; what comes back later is an entity of its own, a [`LateReturn`](crate::late_return::LateReturn).
//!
//! What a rail says carries a sequence: an older word, or the same one again, changes nothing. A rail that says yes
//! after it said no, when the payer has been credited, is asked to take the money back; if it cannot, that is stuck too.

mod late_return;
mod machine;
mod view;

use purser_storage::codec::Stored;

use crate::id::{BankDestinationId, JobId, PaymentRecipientId, PayoutId, Wallet};
use crate::kernel::{Context, InvalidTransition, NewEntity};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::port::payouts::{PayoutRailStatus, PayoutStatusUpdate};
use crate::port::{ExternalText, Timestamp};
use crate::product::{AppPayee, Currency, Platform, ProductLine};
use crate::quote::QuoteFacts;

/// What may be known of a bank account outside the vault.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankDetails {
    /// What its owner calls it.
    pub name: String,
    /// The bank.
    pub bank_name: String,
    /// Whose account.
    pub account_holder_name: String,
    /// Last four characters of the account number.
    pub last4: String,
    /// ABA routing number, nine digits with their checksum right.
    pub routing_number: String,
}

impl Stored for BankDetails {
    const SCHEMA: u16 = 122;
}

/// The rail's rules as they were when the payout was claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct RailTerms {
    /// How long after completion money may come back, in milliseconds.
    pub returns_ms: u64,
    /// Kept of what comes back.
    pub return_fee: Usdc,
    /// How long the recipient's form stays open, or a payment to an app unclaimed, in milliseconds.
    pub wait_ms: u64,
}

/// Who gets the money.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum PayoutTarget {
    /// A debit card; its last four digits once the form is done.
    Card(Option<String>),
    /// A registered bank account.
    Bank(BankDestinationId, BankDetails),
    /// The user of a payment app.
    App(PaymentRecipientId, Platform, AppPayee),
}

/// What is bought: everything that the claim knew.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct PayoutPlan {
    /// Who.
    pub target: PayoutTarget,
    /// See [`Terms`].
    pub terms: RailTerms,
    /// What its price was made from.
    pub quoted: Option<QuoteFacts>,
}

/// A payout's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Payout {
    /// Who paid for it.
    pub owner: Wallet,
    /// What it cost.
    pub charge: Charge,
    /// What the recipient gets.
    pub amount: Cents,
    /// In which currency.
    pub currency: Currency,
    /// To whom, and by which rules.
    pub plan: PayoutPlan,
    /// Towards the rail, the idempotency key: the id of the effect that sends it.
    pub key: JobId,
    /// When it was bought.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The highest sequence that the rail has told of it.
    pub last_sequence: u64,
    /// Whether money that was paid too late is being taken back.
    pub recalling: bool,
    /// Whether its money came back after its return window: see [`crate::late_return`].
    pub returned_late: bool,
    /// Where it stands.
    pub status: Status,
}

/// Where a payout stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The recipient has not given the card yet.
    AwaitingDetails,
    /// Ordered at the rail.
    Queued,
    /// The rail has it.
    InProcess,
    /// Paid.
    Complete {
        /// The rail's name of the payment.
        reference: ExternalText,
        /// Whether it can still come back.
        returnable: bool,
    },
    /// Refused by the rail.
    Failed {
        /// The rail's word.
        reason: ExternalText,
    },
    /// Stopped before it was paid.
    Cancelled {
        /// The rail's word.
        reason: ExternalText,
    },
    /// The recipient never gave a card.
    Expired,
    /// The money came back.
    Returned {
        /// The rail's word.
        reason: ExternalText,
        /// Kept of it.
        return_fee: Usdc,
    },
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The recipient has given a card.
    SubmitDetails {
        /// Last four digits.
        last4: String,
        /// Number and expiry, sealed under the payout's id.
        sealed: Vec<u8>,
    },
    /// The rail says where it stands.
    RecordRailEvent(PayoutStatusUpdate),
    /// The rail says nothing, and an operator knows what came of it. It takes no place among the rail's words: whatever the
    /// rail says later counts as it would have.
    ResolveManually {
        /// The effect that the rail was to be asked by.
        job: JobId,
        /// What came of it.
        state: PayoutRailStatus,
    },
    /// The form's time is over, if nobody has filled it in.
    Expire {
        /// The timer that says so.
        job: JobId,
    },
    /// The return window is over.
    CloseReturnWindow {
        /// The timer that says so.
        job: JobId,
    },
    /// The rail was asked for the money, or did not need to be.
    RecordRecall {
        /// The effect that asked.
        job: JobId,
        /// Whether it is ours again.
        done: bool,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Bought.
    Ordered(Box<PayoutOrdered>),
    /// The form is done: the card's last four digits.
    DetailsSubmitted(String, Timestamp),
    /// The rail has it.
    Accepted(Timestamp),
    /// Paid; the rail's name of it.
    Completed(ExternalText, Timestamp),
    /// Refused; the rail's word.
    Failed(ExternalText, Timestamp),
    /// Stopped; the rail's word.
    Cancelled(ExternalText, Timestamp),
    /// Nobody filled the form in.
    Expired(Timestamp),
    /// The money came back; the rail's word, and what it keeps.
    Returned(ExternalText, Usdc, Timestamp),
    /// The return window is over.
    ReturnWindowClosed(Timestamp),
    /// The rail's words up to this sequence are known.
    RailSequenceAdvanced(u64),
    /// Paid after the payer was credited: it is being taken back.
    PaidAfterCredit(Timestamp),
    /// It was taken back.
    RecallCompleted(Timestamp),
    /// The money came back after the return window.
    ReturnedLate,
    /// The rail has an order for it that this history did not send: a restored backup is older than the order.
    FoundAtRail(Timestamp),
}

/// What a payout begins with.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
#[allow(missing_docs, reason = "the fields are those of the payout")]
pub struct PayoutOrdered {
    pub owner: Wallet,
    pub charge: Charge,
    pub amount: Cents,
    pub currency: Currency,
    pub plan: PayoutPlan,
    pub key: JobId,
    pub at: Timestamp,
}

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for Payout {
    const SCHEMA: u16 = 120;
}

impl Stored for Event {
    const SCHEMA: u16 = 121;
}

impl PayoutTarget {
    /// The rail.
    pub const fn line(&self) -> ProductLine {
        match self {
            Self::Card(_) => ProductLine::PushToCard,
            Self::Bank(..) => ProductLine::BankPayment,
            Self::App(..) => ProductLine::AppPayment,
        }
    }
}

impl Payout {
    /// The first snapshot, for the batch of the payment that bought it.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn order(id: PayoutId, ordered: PayoutOrdered, context: &Context) -> Result<NewEntity, InvalidTransition> {
        NewEntity::from_event::<Self>(&id, &Event::Ordered(Box::new(ordered)), context)
    }

    /// When the recipient's form closes, whether anybody has noticed or not.
    pub const fn expires_at(&self) -> Timestamp {
        self.created_at.plus_ms(self.plan.terms.wait_ms)
    }

    /// Whether its rail must still be asked to pay it.
    pub const fn is_pending(&self) -> bool {
        matches!(self.status, Status::Queued | Status::InProcess)
    }

    /// Whether the payer's money has gone back, or is about to.
    pub const fn is_credited(&self) -> bool {
        matches!(
            self.status,
            Status::Failed { .. } | Status::Cancelled { .. } | Status::Expired | Status::Returned { .. }
        )
    }

    /// Whether the rail is to be asked for the money: nobody has claimed it, or it was paid too late.
    pub const fn is_recallable(&self) -> bool {
        self.recalling
            || matches!(
                (&self.plan.target, &self.status),
                (PayoutTarget::App(..), Status::InProcess)
            )
    }
}
