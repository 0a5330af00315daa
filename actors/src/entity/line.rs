//! Sale of a product line. An operator closes it until an operator opens it. It fails while its provider is down, until
//! the provider delivers again.
//!
//! ```text
//!        .--its provider fails--> failing --it delivers, or an operator opens it--.
//! open --+                           | an operator closes it                     +--> open
//!        `--an operator closes it--> closed --an operator opens it----------------'
//! ```
//!
//! It is owned by the system, not by an account: only operators can read it.

use std::fmt;
use std::str::FromStr;

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::Time;
use crate::id::Wallet;
use crate::kernel::{
    Context, Decision, Entity, EntityId, EntityKind, InvalidTransition, NamedState as _, StateMachine as _,
};
use crate::operator::{AuditAction, AuditedAction};
use crate::port::Timestamp;
use crate::product::ProductLine;

/// State of a product line.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LineState {
    /// Whether the line is sold.
    pub status: Status,
    /// Reason of the last change: an operator's note, or the provider's last error.
    pub reason: String,
    /// Operator who closed or opened it; `None` if the change was automatic.
    pub by: Option<String>,
    /// Time of the last change.
    pub since: Timestamp,
}

/// Sales status of a product line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The line is sold.
    Open,
    /// The provider is down.
    Failing,
    /// An operator closed it.
    Closed,
}

/// Commands to a product line.
#[derive(Clone, Debug)]
pub enum Command {
    /// The provider failed several times in a row.
    Fail {
        /// The provider's last error.
        error: String,
    },
    /// The provider delivered again.
    Recover,
    /// An operator closes the line.
    Close {
        /// The operator's note.
        reason: String,
        /// Operator action for the audit log.
        act: AuditedAction,
    },
    /// An operator opens the line, whatever the provider's state.
    Open {
        /// The operator's note.
        reason: String,
        /// Operator action for the audit log.
        act: AuditedAction,
    },
}

/// Events of a product line.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Closed automatically; the provider's last error.
    Failed(String, Timestamp),
    /// Opened automatically after its provider delivered again.
    Recovered(Timestamp),
    /// Closed by an operator; the note and the operator.
    Closed(String, String, Timestamp),
    /// Opened by an operator; the note and the operator.
    Opened(String, String, Timestamp),
}

/// Whether a product line is sold.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = LineResource))]
pub struct LineView<'a> {
    /// Identifier of the product.
    pub line: ProductLine,
    /// `open`, `failing` (its provider is down), or `closed` by an operator.
    pub status: State,
    /// Reason given by an operator, or the last error of the provider.
    pub reason: &'a str,
    /// Operator that closed or opened it.
    #[cfg_attr(feature = "documents", schema(required))]
    pub by: Option<&'a str>,
    /// Time of the last change (RFC 3339).
    pub since: Time,
}

crate::state_machine! { LineState, Status, Event;
    states { Open = "open", Failing = "failing", Closed = "closed" }
    events {
        Failed "closed" { - | Open => Failing: "several provider failures in a row" }
        Recovered "opened" { Failing => Open: "provider success" }
        Closed "closed" { - | Open | Failing => Closed: "close by an operator" }
        Opened "opened" { Failing | Closed => Open: "opening by an operator" }
    }
}

/// Reason why a product line rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The line already has this status.
    AlreadyInState(&'static str),
}

impl Stored for LineState {
    const SCHEMA: u16 = 360;
}

impl Stored for Event {
    const SCHEMA: u16 = 361;
}

/// Text that is not the name of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no product line")]
pub struct ParseLineError;

impl fmt::Display for ProductLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ProductLine {
    type Err = ParseLineError;

    fn from_str(text: &str) -> Result<Self, ParseLineError> {
        Self::ALL
            .into_iter()
            .find(|line| line.name() == text)
            .ok_or(ParseLineError)
    }
}

impl EntityId for ProductLine {
    fn key(&self) -> Vec<u8> {
        u128::from(*self as u8).to_be_bytes().to_vec()
    }

    fn from_key(key: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|line| EntityId::key(line) == key)
    }
}

impl Entity for LineState {
    const KIND: EntityKind = EntityKind::Line;
    const CREATED_BY_COMMAND: bool = true;
    const SYSTEM_OWNED: bool = true;

    type Id = ProductLine;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = LineView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &ProductLine,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let (now, done) = (context.now, Decision::answer(()));
        let status = this.map_or(Status::Open, |known| known.status);
        Ok(match (status, command) {
            (Status::Open, Command::Fail { error }) => done.event(Event::Failed(error, now)),
            (Status::Failing, Command::Recover) => done.event(Event::Recovered(now)),
            // A line that an operator closed stays closed, whatever the provider does.
            (Status::Failing | Status::Closed, Command::Fail { .. })
            | (Status::Open | Status::Closed, Command::Recover) => done,
            (Status::Open | Status::Failing, Command::Close { reason, act }) => done
                .audit(&act, AuditAction::LineClose, id, Some(reason.clone()), context)
                .event(Event::Closed(reason, act.operator.clone(), now)),
            (Status::Failing | Status::Closed, Command::Open { reason, act }) => done
                .audit(&act, AuditAction::LineOpen, id, Some(reason.clone()), context)
                .event(Event::Opened(reason, act.operator.clone(), now)),
            (Status::Closed, Command::Close { .. }) => return Err(Rejection::AlreadyInState(State::Closed.as_str())),
            (Status::Open, Command::Open { .. }) => return Err(Rejection::AlreadyInState(State::Open.as_str())),
        })
    }

    fn apply(this: Option<Self>, _: &ProductLine, event: &Event) -> Result<Self, InvalidTransition> {
        let before = this.as_ref().map_or(Status::Open, |known| known.status);
        let is = |status, reason: &str, by: Option<&String>, since: &Timestamp| Self {
            status,
            reason: reason.to_owned(),
            by: by.cloned(),
            since: *since,
        };
        match (before, event) {
            (Status::Open, Event::Failed(error, at)) => Ok(is(Status::Failing, error, None, at)),
            (Status::Failing, Event::Recovered(at)) => Ok(is(Status::Open, "", None, at)),
            (Status::Open | Status::Failing, Event::Closed(reason, by, at)) => {
                Ok(is(Status::Closed, reason, Some(by), at))
            }
            (Status::Failing | Status::Closed, Event::Opened(reason, by, at)) => {
                Ok(is(Status::Open, reason, Some(by), at))
            }
            (_, event) => Err(InvalidTransition::new(this.as_ref().map_or("-", Self::status), event)),
        }
    }

    fn owner(&self) -> Wallet {
        Wallet::SYSTEM
    }

    fn view(&self, id: &ProductLine) -> LineView<'_> {
        LineView {
            line: *id,
            status: self.state(),
            reason: &self.reason,
            by: self.by.as_deref(),
            since: self.since.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
