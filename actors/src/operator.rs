//! Whoever acts for the house: what a role may do, the tokens that say who it is, and the record of what was done.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use purser_storage::codec::Stored;
use purser_storage::{Condition, Write};

use crate::id::RequestId;
use crate::port::Timestamp;

/// What somebody is trusted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Role {
    /// Everything, tokens included.
    Administrator,
    /// Orders, accounts and stuck work.
    Operator,
    /// Looks, and freezes what looks wrong.
    Support,
    /// Looks.
    ReadOnly,
}

/// What a route at the operator's address does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Shows something.
    Read,
    /// Freezes an account.
    FreezeAccounts,
    /// Changes orders, lets accounts go, tries and resolves stuck work, gives money back.
    Operate,
    /// Makes and ends tokens.
    ManageTokens,
}

impl Role {
    /// Every role, the most trusted first.
    pub const ALL: [Self; 4] = [Self::Administrator, Self::Operator, Self::Support, Self::ReadOnly];

    /// On the wire and in the settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Administrator => "administrator",
            Self::Operator => "operator",
            Self::Support => "support",
            Self::ReadOnly => "read-only",
        }
    }

    /// Whether it is trusted with that.
    pub const fn allows(self, task: Permission) -> bool {
        match task {
            Permission::Read => true,
            Permission::FreezeAccounts => !matches!(self, Self::ReadOnly),
            Permission::Operate => matches!(self, Self::Administrator | Self::Operator),
            Permission::ManageTokens => matches!(self, Self::Administrator),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Text that names no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a role is administrator, operator, support or read-only")]
pub struct ParseRoleError;

impl FromStr for Role {
    type Err = ParseRoleError;

    fn from_str(text: &str) -> Result<Self, ParseRoleError> {
        Self::ALL
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or(ParseRoleError)
    }
}

/// Who asks for something, and by which request.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OperatorAction {
    /// The token's name.
    pub operator: String,
    /// The token's role.
    pub role: Role,
    /// As in the answer's `Request-Id`.
    pub request_id: RequestId,
}

/// A place in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AuditPosition {
    /// From 1, without a gap.
    pub sequence: u64,
    /// SHA-256 of the bytes of the row before; zeros for the first.
    pub previous_hash: [u8; 32],
}

/// Whom the log names where the house itself acts; no token is called so.
pub mod system {
    /// A start of the service.
    pub const START: &str = "start";
    /// What finds a payment that its chain has taken back.
    pub const RECONCILIATION: &str = "reconciliation";
    /// Both.
    pub const NAMES: [&str; 2] = [START, RECONCILIATION];
}

impl AuditPosition {
    /// The first of a log.
    pub const FIRST: Self = Self {
        sequence: 1,
        previous_hash: [0; 32],
    };
}

/// What an act brings with it besides what it does: that it counts among what one operator has given alone, or that another has
/// approved it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditExtras {
    /// Who approved it, and the approval's id: written down before the act.
    pub approved_by: Option<(OperatorAction, String)>,
    /// What must hold.
    pub conditions: Vec<Condition>,
    /// Rows of its own.
    pub writes: Vec<Write>,
}

/// An act with its place in the audit log: what a state machine is asked by an operator. Only the engine gives places, one
/// at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedAction {
    /// Who.
    pub act: OperatorAction,
    /// Behind which others.
    pub position: AuditPosition,
    /// What comes with it.
    pub extras: Box<AuditExtras>,
}

impl Deref for AuditedAction {
    type Target = OperatorAction;

    fn deref(&self) -> &OperatorAction {
        &self.act
    }
}

/// What somebody did: a row, written by the batch that does it. Each names the hash of the one before, so that none can be
/// changed, put in or taken out without all behind it.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AuditRecord {
    /// Behind which others.
    pub position: AuditPosition,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub act: OperatorAction,
    /// What, for example `intl_order.claim`.
    pub action: String,
    /// To which: an id, an address, a token's name.
    pub subject: String,
    /// In their own words, where they gave any.
    pub note: Option<String>,
}

impl Stored for AuditRecord {
    const SCHEMA: u16 = 240;
}

/// A token by its hash: whose it is, and what it opens.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OperatorToken {
    /// Who carries it: unique among those that are stored.
    pub name: String,
    /// What it is trusted with.
    pub role: Role,
    /// Since when.
    pub created_at: Timestamp,
    /// Opens nothing any more.
    pub revoked: bool,
}

impl Stored for OperatorToken {
    const SCHEMA: u16 = 81;
}
