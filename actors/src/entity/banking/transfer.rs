//! A transfer between an account owner's balance and their account at the bank.
//!
//! ```text
//! - --received from outside, credited--------------------------------------> COMPLETE
//! - --debited from balance----> pending --bank moved it--------------------> COMPLETE --returned, credited--> RETURNED
//!                                  `------bank declines, credited----------> FAILED
//! - --requested from account--> pending --bank moved it, credited----------> COMPLETE
//!                                  `------bank declines--------------------> FAILED
//! ```
//!
//! The id of an incoming transfer is derived from the bank's reference, so a repeated report is still one transfer. An
//! outgoing amount leaves the balance in the batch that opens the transfer. It is credited again only if the bank
//! declines definitely, or returns it, which can be days after the transfer. The bank account stays open, so there is
//! no return window. Fees that the bank deducts from a return are not credited.

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::{ExactDecimal, Time};
use crate::currency::Currency;
use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::id::{BankAccountId, BankTransferId, JobId, Wallet};
use crate::jobs::{Credits, JobPolicy, LineDependency, OperatorPolicy, Outcomes, OutgoingPurpose, Queue, jobs};
use crate::kernel::{Context, Decision, Entity, EntityId, EntityKind, InvalidTransition, NewEntity, StateMachine as _};
use crate::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction};
use crate::money::{Cents, Usdc};
use crate::port::Timestamp;
use crate::port::banking::BankTransferResult;

jobs! { BankTransfer:
    /// Execute a transfer at the bank.
    31 ExecuteBankTransfer(id: BankTransferId) = "execute_bank_transfer" => JobPolicy {
        line: LineDependency::None,
        outgoing: Some(|key| BankTransferId::from_key(key).map(OutgoingPurpose::BankTransfer)),
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::Either,
            credits: Credits::ByDirection,
            credit_needs_proof: true,
            absence_is_definitive: false,
            pending_means_not_completed: false,
        }),
    };
}

/// Direction of the money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum TransferDirection {
    /// From outside, over an on-ramp, to the balance.
    Incoming,
    /// From the balance to the bank account.
    ToAccount,
    /// From the bank account to the balance.
    ToBalance,
}

impl TransferDirection {
    /// Name in API responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Incoming => "incoming",
            Self::ToAccount => "to_account",
            Self::ToBalance => "to_balance",
        }
    }
}

crate::answer::serialize_as_name!(TransferDirection);

/// State of a bank transfer.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankTransfer {
    /// Account that owns it.
    pub owner: Wallet,
    /// Account at the bank.
    pub account: BankAccountId,
    /// Direction of the money.
    pub direction: TransferDirection,
    /// Amount in US cents.
    pub cents: Cents,
    /// The same amount in USDC, as posted.
    pub amount: Usdc,
    /// Sender as the bank reports it, or else the owner's note.
    pub note: Option<String>,
    /// Time when the transfer began.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Whether the bank has executed the transfer.
    pub status: Status,
}

/// Status of a bank transfer.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Sent to the bank. The id of the job is the idempotency key and has the transfer's number.
    Pending(JobId),
    /// Executed; the bank's reference.
    Complete(String),
    /// Declined permanently; the bank's reason.
    Failed(String),
    /// Moved to the bank account, and returned.
    Returned(ReturnDetails),
}

/// Money that the bank returned.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ReturnDetails {
    /// The bank's reference of the return; the same reference is the same money.
    pub reference: String,
    /// Returned amount; never more than was moved.
    pub amount: Usdc,
}

/// Initial data of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferRequest {
    /// Account that owns it.
    pub owner: Wallet,
    /// Account at the bank.
    pub account: BankAccountId,
    /// Amount in US cents.
    pub cents: Cents,
    /// The same amount in USDC.
    pub amount: Usdc,
    /// Note of the sender or of the order; see [`BankTransfer::note`].
    pub note: Option<String>,
}

impl TransferRequest {
    fn into_transfer(self, way: TransferDirection, status: Status, at: Timestamp) -> BankTransfer {
        BankTransfer {
            owner: self.owner,
            account: self.account,
            direction: way,
            cents: self.cents,
            amount: self.amount,
            note: self.note,
            created_at: at,
            updated_at: at,
            status,
        }
    }
}

/// Commands to a bank transfer.
#[derive(Clone, Debug)]
pub enum Command {
    /// A transfer from outside was received; the bank's reference.
    RecordDeposit(TransferRequest, String),
    /// Transfer from the account at the bank to the balance.
    Request(TransferRequest),
    /// The bank returns it from the account that it was moved to.
    RecordReturn(BankAccountId, ReturnDetails),
    /// The bank reports the outcome.
    RecordResult {
        /// Job that sent the request.
        job: JobId,
        /// Outcome of the transfer.
        result: BankTransferResult,
    },
}

/// Events of a bank transfer.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The transfer was opened or received.
    Started(Box<BankTransfer>),
    /// The bank executed it.
    Completed(String, Timestamp),
    /// The bank declined it.
    Failed(String, Timestamp),
    /// The bank returned it.
    Returned(ReturnDetails, Timestamp),
}

/// A transfer between the owner's bank account and the balance.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = BankTransferResource))]
pub struct BankTransferView<'a> {
    /// `btr_…` is the id of the transfer.
    pub transaction_id: BankTransferId,
    /// `transfer` in every case.
    pub r#type: BankTransactionType,
    /// Direction of the transfer.
    pub direction: TransferDirection,
    /// `pending`, `complete`, `failed` or `returned`.
    pub status: State,
    /// Amount in US dollars.
    pub amount: ExactDecimal,
    /// `USD` is the currency.
    pub currency: Currency,
    /// `ba_…` is the id of the bank account.
    pub account_id: BankAccountId,
    /// The owner's note.
    #[cfg_attr(feature = "documents", schema(required))]
    pub note: Option<&'a str>,
    /// The bank's reference, once complete.
    #[cfg_attr(feature = "documents", schema(required))]
    pub reference: Option<&'a str>,
    /// Reason of the failure.
    #[cfg_attr(feature = "documents", schema(required))]
    pub failure_reason: Option<&'a str>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
    /// What the bank returned in US dollars. Only for `returned`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned_amount: Option<ExactDecimal>,
}

/// Type of a bank transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub enum BankTransactionType {
    /// Between the balance and an own bank account.
    #[serde(rename = "transfer")]
    Transfer,
    /// To a bank destination.
    #[serde(rename = "payout")]
    Payout,
}

crate::state_machine! { BankTransfer, Status, Event;
    states { Pending = "pending", Complete = "complete", Failed = "failed", Returned = "returned" }
    events {
        Started (name_by_data: "complete", "pending") {
            - => Complete: "incoming bank transfer; credited",
            - => Pending: "debit of the balance, or request to debit the bank account",
        }
        Completed "complete" { Pending => Complete: "execution by the bank" }
        Failed "failed" { Pending => Failed: "decline by the bank; debited amount credited" }
        Returned "returned" { Complete => Returned: "return from the bank account; credited" }
    }
}

/// Name that an event announces if it depends on its data.
fn name_by_data(event: &Event) -> Option<&'static str> {
    match event {
        Event::Started(transfer) => Some(transfer.status()),
        _ => None,
    }
}

/// Reason why a bank transfer rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for BankTransfer {
    const SCHEMA: u16 = 156;
}

impl Stored for Event {
    const SCHEMA: u16 = 157;
}

const BANK: LedgerAccount = LedgerAccount::Provider(LedgerProvider::Banking);

impl BankTransfer {
    /// First snapshot of a transfer from the balance, for the batch of the account that is debited.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
    pub fn from_balance(
        id: BankTransferId,
        wanted: TransferRequest,
        key: JobId,
        context: &Context,
    ) -> Result<NewEntity, InvalidTransition> {
        let begun = wanted.into_transfer(TransferDirection::ToAccount, Status::Pending(key), context.now);
        NewEntity::from_event::<Self>(&id, &Event::Started(Box::new(begun)), context)
    }

    /// Posts the amount to suspense and starts its credit.
    fn credit(&self, id: BankTransferId, decision: Decision<Self>, context: &Context) -> Decision<Self> {
        self.credit_amount(self.amount, id, decision, context)
    }

    fn credit_amount(
        &self,
        amount: Usdc,
        id: BankTransferId,
        decision: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        let booked = LedgerTransaction::new(context.now, id).post(BANK, LedgerAccount::Suspense, amount);
        let credit = account::Job::CreditAccount {
            account: self.owner,
            amount,
            cause: CreditCause::BankTransfer(id),
        };
        decision.post_ledger(&booked, context).enqueue(credit, context)
    }

    fn can_return(&self, account: BankAccountId, back: &ReturnDetails) -> bool {
        self.direction == TransferDirection::ToAccount
            && self.account == account
            && back.amount > Usdc::ZERO
            && back.amount <= self.amount
    }

    fn apply_result(
        &self,
        id: BankTransferId,
        moved: BankTransferResult,
        decision: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        match moved.truncated() {
            BankTransferResult::Complete { reference } => {
                let decision = decision.event(Event::Completed(reference, context.now));
                match self.direction {
                    TransferDirection::ToBalance => self.credit(id, decision, context),
                    TransferDirection::Incoming | TransferDirection::ToAccount => decision,
                }
            }
            BankTransferResult::Failed { reason } => {
                let decision = decision.event(Event::Failed(reason, context.now));
                match self.direction {
                    TransferDirection::ToAccount => self.credit(id, decision, context),
                    TransferDirection::Incoming | TransferDirection::ToBalance => decision,
                }
            }
        }
    }
}

impl Entity for BankTransfer {
    const KIND: EntityKind = EntityKind::BankTransfer;
    const CREATED_BY_COMMAND: bool = true;

    type Id = BankTransferId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = BankTransferView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &BankTransferId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let done = Decision::answer(());
        match (this.map(|this| (this, &this.status)), command) {
            (None, Command::RecordDeposit(wanted, reference)) => {
                let owner = wanted.owner;
                let arrived =
                    wanted.into_transfer(TransferDirection::Incoming, Status::Complete(reference), context.now);
                let decision = done.index_for_owner(&owner, EntityKind::BankTransfer, id.0, context);
                let decision = arrived.credit(*id, decision, context);
                Ok(decision.event(Event::Started(Box::new(arrived))))
            }
            // A repeated report by the bank. The same reference with another amount is not a repetition.
            (Some((known, _)), Command::RecordDeposit(wanted, _))
                if known.direction == TransferDirection::Incoming
                    && known.account == wanted.account
                    && known.amount == wanted.amount =>
            {
                Ok(done)
            }
            (None, Command::Request(wanted)) => {
                let (owner, key) = (wanted.owner, JobId(id.0));
                let begun = wanted.into_transfer(TransferDirection::ToBalance, Status::Pending(key), context.now);
                Ok(done
                    .index_for_owner(&owner, EntityKind::BankTransfer, id.0, context)
                    .event(Event::Started(Box::new(begun)))
                    .enqueue_as(key, Job::ExecuteBankTransfer(*id), context))
            }
            (Some((transfer, Status::Pending(key))), Command::RecordResult { job, result: moved }) if *key == job => {
                Ok(transfer.apply_result(*id, moved, done.completes_job(job), context))
            }
            (Some((transfer, Status::Complete(_))), Command::RecordReturn(account, back))
                if transfer.can_return(account, &back) =>
            {
                let decision = transfer.credit_amount(back.amount, *id, done, context);
                Ok(decision.event(Event::Returned(back, context.now)))
            }
            // The returned amount was moved, although the bank's confirmation has not reached us. It is not requested
            // any more.
            (Some((transfer, Status::Pending(key))), Command::RecordReturn(account, back))
                if transfer.can_return(account, &back) =>
            {
                let decision = transfer.credit_amount(back.amount, *id, done.completes_job(*key), context);
                let completed = Event::Completed(back.reference.clone(), context.now);
                Ok(decision.event(completed).event(Event::Returned(back, context.now)))
            }
            // A repeated report by the bank.
            (Some((_, Status::Returned(known))), Command::RecordReturn(_, back)) if *known == back => Ok(done),
            (_, _) => Err(Rejection(this.map_or("-", Self::status))),
        }
    }

    fn apply(this: Option<Self>, _: &BankTransferId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(transfer) = this else {
            return match event {
                Event::Started(transfer) => Ok((**transfer).clone()),
                event => Err(InvalidTransition::new("-", event)),
            };
        };
        let (status, at) = match (&transfer.status, event) {
            (Status::Pending(_), Event::Completed(reference, at)) => (Status::Complete(reference.clone()), *at),
            (Status::Pending(_), Event::Failed(reason, at)) => (Status::Failed(reason.clone()), *at),
            (Status::Complete(_), Event::Returned(back, at)) => (Status::Returned(back.clone()), *at),
            (_, event) => return Err(InvalidTransition::new(transfer.status(), event)),
        };
        Ok(Self {
            status,
            updated_at: at,
            ..transfer
        })
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &BankTransferId) -> BankTransferView<'_> {
        let (reference, reason) = match &self.status {
            Status::Complete(reference) => (Some(reference.as_str()), None),
            Status::Failed(reason) => (None, Some(reason.as_str())),
            Status::Returned(back) => (Some(back.reference.as_str()), None),
            Status::Pending(_) => (None, None),
        };
        let returned = match &self.status {
            Status::Returned(back) => Some(back.amount.into()),
            _ => None,
        };
        BankTransferView {
            transaction_id: *id,
            r#type: BankTransactionType::Transfer,
            direction: self.direction,
            status: self.state(),
            amount: self.amount.into(),
            currency: Currency::USD,
            account_id: self.account,
            note: self.note.as_deref(),
            reference,
            failure_reason: reason,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
            returned_amount: returned,
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
