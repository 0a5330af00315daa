//! An account owner's account at the bank. An on-ramp receives money for the balance; an off-ramp holds dollars from
//! the balance.
//!
//! ```text
//! - --requested--> pending --bank--> open
//!                     `-----bank--> REJECTED
//! ```

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::Time;
use crate::currency::Currency;
use crate::id::{BankAccountId, JobId, Wallet};
use crate::jobs::{Credits, JobPolicy, LineDependency, OperatorPolicy, Outcomes, Queue, jobs};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _};
use crate::port::Timestamp;
use crate::port::banking::{AccountNumbers, AccountType, OpenAccountResult};

jobs! { BankAccount:
    /// Open an account at the bank.
    30 OpenBankAccount(id: BankAccountId) = "open_bank_account" => JobPolicy {
        line: LineDependency::None,
        outgoing: None,
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::NotCompleted,
            credits: Credits::Never,
            credit_needs_proof: true,
            absence_is_definitive: false,
            pending_means_not_completed: false,
        }),
    };
}

/// State of a bank account.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankAccount {
    /// Account that owns it.
    pub owner: Wallet,
    /// The bank's reference of the customer, from the approved application.
    pub customer: String,
    /// On-ramp or off-ramp.
    pub account_type: AccountType,
    /// Label chosen by the account owner.
    pub label: Option<String>,
    /// Time of the request.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Whether the bank has opened the account.
    pub status: Status,
}

/// Status of a bank account.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The bank is opening it; the job that follows it.
    Pending(JobId),
    /// Transfers are possible.
    Open(AccountNumbers),
    /// Rejected with the bank's reason.
    Rejected(String),
}

/// Commands to a bank account.
#[derive(Clone, Debug)]
pub enum Command {
    /// Requests the account.
    Request {
        /// Account that owns it.
        owner: Wallet,
        /// The bank's reference of the customer.
        customer: String,
        /// On-ramp or off-ramp.
        account_type: AccountType,
        /// Label chosen by the account owner.
        label: Option<String>,
    },
    /// The bank reports the result.
    RecordResult {
        /// Job that sent the request.
        job: JobId,
        /// Result of the request.
        result: OpenAccountResult,
    },
}

/// Events of a bank account.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Requested by the account owner.
    Requested(Box<BankAccount>),
    /// The bank opened it.
    Opened(AccountNumbers, Timestamp),
    /// The bank rejected it.
    Rejected(String, Timestamp),
}

/// A bank account, without its number.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = BankAccountResource))]
pub struct BankAccountView<'a> {
    /// `ba_…` is the id of the account.
    pub account_id: BankAccountId,
    /// Type of the account.
    pub r#type: AccountType,
    /// `pending`, `open` or `rejected`.
    pub status: State,
    /// The owner's own name for it.
    #[cfg_attr(feature = "documents", schema(required))]
    pub label: Option<&'a str>,
    /// `USD` is the currency.
    pub currency: Currency,
    /// Name of the bank, once open.
    #[cfg_attr(feature = "documents", schema(required))]
    pub bank_name: Option<&'a str>,
    /// Last four digits of the account number, once open.
    #[cfg_attr(feature = "documents", schema(required))]
    pub account_number_last4: Option<&'a str>,
    /// Reason of the rejection.
    #[cfg_attr(feature = "documents", schema(required))]
    pub failure_reason: Option<&'a str>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

crate::state_machine! { BankAccount, Status, Event;
    states { Pending = "pending", Open = "open", Rejected = "rejected" }
    events {
        Requested "pending" { - => Pending: "request by the account owner" }
        Opened "open" { Pending => Open: "opening by the bank" }
        Rejected "rejected" { Pending => Rejected: "rejection by the bank" }
    }
}

/// Reason why a bank account rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for BankAccount {
    const SCHEMA: u16 = 154;
}

impl Stored for Event {
    const SCHEMA: u16 = 155;
}

impl Entity for BankAccount {
    const KIND: EntityKind = EntityKind::BankAccount;
    const CREATED_BY_COMMAND: bool = true;

    type Id = BankAccountId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = BankAccountView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &BankAccountId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let done = Decision::answer(());
        match (this.map(|this| &this.status), command) {
            (
                None,
                Command::Request {
                    owner,
                    customer,
                    account_type: ramp,
                    label,
                },
            ) => {
                let key = JobId(context.id());
                let account = Self {
                    owner,
                    customer,
                    account_type: ramp,
                    label,
                    created_at: context.now,
                    updated_at: context.now,
                    status: Status::Pending(key),
                };
                Ok(done
                    .index_for_owner(&owner, EntityKind::BankAccount, id.0, context)
                    .event(Event::Requested(Box::new(account)))
                    .enqueue_as(key, Job::OpenBankAccount(*id), context))
            }
            (
                Some(Status::Pending(key)),
                Command::RecordResult {
                    job: effect,
                    result: opening,
                },
            ) if *key == effect => Ok(done.completes_job(effect).event(match opening.truncated() {
                OpenAccountResult::Open(at) => Event::Opened(at, context.now),
                OpenAccountResult::Rejected { reason } => Event::Rejected(reason, context.now),
            })),
            (_, _) => Err(Rejection(this.map_or("-", Self::status))),
        }
    }

    fn apply(this: Option<Self>, _: &BankAccountId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(account) = this else {
            return match event {
                Event::Requested(account) => Ok((**account).clone()),
                event => Err(InvalidTransition::new("-", event)),
            };
        };
        let (status, at) = match (&account.status, event) {
            (Status::Pending(_), Event::Opened(coordinates, at)) => (Status::Open(coordinates.clone()), *at),
            (Status::Pending(_), Event::Rejected(reason, at)) => (Status::Rejected(reason.clone()), *at),
            (_, event) => return Err(InvalidTransition::new(account.status(), event)),
        };
        Ok(Self {
            status,
            updated_at: at,
            ..account
        })
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    /// Leaves out the full account number, which is returned only on request.
    fn view(&self, id: &BankAccountId) -> BankAccountView<'_> {
        let (at, reason) = match &self.status {
            Status::Open(at) => (Some(at), None),
            Status::Rejected(reason) => (None, Some(reason.as_str())),
            Status::Pending(_) => (None, None),
        };
        BankAccountView {
            account_id: *id,
            r#type: self.account_type,
            status: self.state(),
            label: self.label.as_deref(),
            currency: Currency::USD,
            bank_name: at.map(|at| at.bank_name.as_str()),
            account_number_last4: at.map(|at| last4(&at.account_number)),
            failure_reason: reason,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}

fn last4(number: &str) -> &str {
    let begin = number.char_indices().rev().nth(3).map_or(0, |(at, _)| at);
    number.get(begin..).unwrap_or_default()
}
