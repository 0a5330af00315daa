//! A holder's account at the bank: an on-ramp, where money comes in for the balance, or an off-ramp, which keeps dollars
//! that came from it.
//!
//! ```text
//! - --asked--> opening --bank--> open
//!                 `------bank--> REFUSED
//! ```

use purser_storage::codec::Stored;

use crate::id::{BankAccountId, EffectId, Wallet};
use crate::kernel::effect::Work;
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View};
use crate::port::Timestamp;
use crate::port::banking::{Coordinates, Opening, Ramp};

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankAccount {
    /// Whose.
    pub owner: Wallet,
    /// The bank's name of the customer, from the approved application.
    pub customer: String,
    /// What it is for.
    pub ramp: Ramp,
    /// What its holder calls it.
    pub label: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// Where an account stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The bank is opening it. The effect that follows it.
    Opening(EffectId),
    /// Money can move.
    Open(Coordinates),
    /// There is none; the bank's word.
    Refused(String),
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// Open it.
    Open {
        /// Whose.
        owner: Wallet,
        /// The bank's name of the customer.
        customer: String,
        /// What for.
        ramp: Ramp,
        /// What its holder calls it.
        label: Option<String>,
    },
    /// The bank's word.
    Opened {
        /// The effect that asked.
        effect: EffectId,
        /// It.
        opening: Opening,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Asked for.
    Asked(Box<BankAccount>),
    /// Open.
    Opened(Coordinates, Timestamp),
    /// Refused.
    Refused(String, Timestamp),
}

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for BankAccount {
    const SCHEMA: u16 = 154;
}

impl Stored for Event {
    const SCHEMA: u16 = 155;
}

impl Entity for BankAccount {
    const KIND: Kind = Kind::BankAccount;
    const CHANGES: &'static [&'static str] = &["opening", "open", "refused"];
    const MOVES: &'static [Move] = &[
        ("-", "asked", "opening"),
        ("opening", "bank opens it", "open"),
        ("opening", "bank definitely refuses", "refused"),
    ];
    const SELF_BORN: bool = true;

    type Id = BankAccountId;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Rejection = Rejection;
    type Outcome = ();

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
                Command::Open {
                    owner,
                    customer,
                    ramp,
                    label,
                },
            ) => {
                let key = EffectId(context.id());
                let account = Self {
                    owner,
                    customer,
                    ramp,
                    label,
                    created_at: context.now,
                    updated_at: context.now,
                    status: Status::Opening(key),
                };
                Ok(done
                    .owned(&owner, Kind::BankAccount, id.0, context)
                    .event(Event::Asked(Box::new(account)))
                    .then_as(key, Work::OpenBankAccount(*id), context))
            }
            (Some(Status::Opening(key)), Command::Opened { effect, opening }) if *key == effect => {
                Ok(done.completes(effect).event(match opening.shortened() {
                    Opening::Open(at) => Event::Opened(at, context.now),
                    Opening::Refused { reason } => Event::Refused(reason, context.now),
                }))
            }
            (_, _) => Err(Rejection(this.map_or("-", Self::status))),
        }
    }

    fn apply(this: Option<Self>, _: &BankAccountId, event: &Event) -> Result<Self, OutOfOrder> {
        let Some(account) = this else {
            return match event {
                Event::Asked(account) => Ok((**account).clone()),
                event => Err(OutOfOrder::new("-", event)),
            };
        };
        let (status, at) = match (&account.status, event) {
            (Status::Opening(_), Event::Opened(coordinates, at)) => (Status::Open(coordinates.clone()), *at),
            (Status::Opening(_), Event::Refused(reason, at)) => (Status::Refused(reason.clone()), *at),
            (_, event) => return Err(OutOfOrder::new(account.status(), event)),
        };
        Ok(Self {
            status,
            updated_at: at,
            ..account
        })
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Opening(_) => "opening",
            Status::Open(_) => "open",
            Status::Refused(_) => "refused",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Asked(_) => "opening",
            Event::Opened(..) => "open",
            Event::Refused(..) => "refused",
        })
    }

    /// Without the account's whole number: that is for who asks for it.
    fn view(&self, id: &BankAccountId) -> View {
        let (at, reason) = match &self.status {
            Status::Open(at) => (Some(at), None),
            Status::Refused(reason) => (None, Some(reason)),
            Status::Opening(_) => (None, None),
        };
        let last4 = at.map(|at| last4(&at.account_number));
        View::new()
            .text("account_id", id)
            .text("type", self.ramp.name())
            .text("status", self.status())
            .maybe("label", self.label.as_ref())
            .text("currency", "USD")
            .maybe("bank_name", at.map(|at| &at.bank_name))
            .maybe("account_number_last4", last4)
            .maybe("failure_reason", reason)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}

fn last4(number: &str) -> String {
    let skipped = number.chars().count().saturating_sub(4);
    number.chars().skip(skipped).collect()
}
