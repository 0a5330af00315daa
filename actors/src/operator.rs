//! Operators: roles and their permissions, operator tokens, and the audit log.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use purser_storage::codec::Stored;
use purser_storage::{Condition, Write};

use crate::credential::Credential;
use crate::id::{OperatorPasskeyId, OperatorSessionId, RequestId};
use crate::named_enum::named_enum;
use crate::time::Timestamp;

/// Role of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Role {
    /// Every permission, including tokens.
    Administrator,
    /// Orders, accounts and dead-lettered jobs.
    Operator,
    /// Reads everything and can freeze accounts.
    Support,
    /// Reads everything but what may be a secret of a customer, and changes nothing.
    ReadOnly,
}

/// Permission that an operator route requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Read any data without changing it.
    Read,
    /// Read whole URLs of webhook endpoints, which often carry secrets.
    ReadWebhookUrls,
    /// Freeze an account.
    FreezeAccounts,
    /// Write a note on a customer.
    WriteNotes,
    /// Change orders, unfreeze accounts, retry and resolve dead-lettered jobs, credit money.
    Operate,
    /// Create and revoke operator tokens.
    ManageTokens,
}

impl Role {
    /// Every role, from most to least permissions.
    pub const ALL: [Self; 4] = [Self::Administrator, Self::Operator, Self::Support, Self::ReadOnly];

    /// Name in API documents and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Administrator => "administrator",
            Self::Operator => "operator",
            Self::Support => "support",
            Self::ReadOnly => "read-only",
        }
    }

    /// Whether the role has the permission.
    pub const fn allows(self, task: Permission) -> bool {
        match task {
            Permission::Read => true,
            Permission::ReadWebhookUrls | Permission::FreezeAccounts | Permission::WriteNotes => {
                !matches!(self, Self::ReadOnly)
            }
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

/// Text that is not the name of a role.
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

/// Operator behind a request, and the request's id.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OperatorAction {
    /// Name of the operator's token.
    pub operator: String,
    /// Role of the operator's token.
    pub role: Role,
    /// Same as the response's `Request-Id` header.
    pub request_id: RequestId,
}

/// Position in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AuditPosition {
    /// Number from 1, without gaps.
    pub sequence: u64,
    /// SHA-256 of the previous row's bytes; zeros for the first.
    pub previous_hash: [u8; 32],
}

/// Names in the audit log for actions of the system; no operator token can have them.
pub mod system {
    /// A start of the service.
    pub const START: &str = "start";
    /// The job that finds reorged payments.
    pub const RECONCILIATION: &str = "reconciliation";
    /// Every system name.
    pub const NAMES: [&str; 2] = [START, RECONCILIATION];
}

impl AuditPosition {
    /// First position of a log.
    pub const FIRST: Self = Self {
        sequence: 1,
        previous_hash: [0; 32],
    };
}

/// Additional conditions and writes of an operator action: its part of the operator's daily total, or the approval by
/// another operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditExtras {
    /// Approving operator and the subject of its record, which comes before that of the action.
    pub approved_by: Option<(OperatorAction, String)>,
    /// Conditions for the batch.
    pub conditions: Vec<Condition>,
    /// Writes for the batch.
    pub writes: Vec<Write>,
}

/// An operator action with its position in the audit log, as state machines receive it. Only the engine assigns
/// positions, one at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedAction {
    /// Operator and request.
    pub act: OperatorAction,
    /// Position in the audit log.
    pub position: AuditPosition,
    /// Additional conditions and writes.
    pub extras: Box<AuditExtras>,
}

impl Deref for AuditedAction {
    type Target = OperatorAction;

    fn deref(&self) -> &OperatorAction {
        &self.act
    }
}

named_enum! {
    /// Action of an operator in the audit log. Records store the name, so a name never changes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AuditAction {
        /// Freeze an account.
        AccountFreeze = "account.freeze",
        /// Unfreeze an account.
        AccountUnfreeze = "account.unfreeze",
        /// Approve another operator's action.
        ApprovalApprove = "approval.approve",
        /// Reject an action that waits for approval.
        ApprovalReject = "approval.reject",
        /// Request an action above the operator's limit.
        ApprovalRequest = "approval.request",
        /// Claim a withdrawal from a card balance.
        CardWithdrawalClaim = "card_withdrawal.claim",
        /// Record what the issuer did in a lost history.
        CardWithdrawalClosedAtIssuer = "card_withdrawal.closed_at_issuer",
        /// Record that a withdrawal was paid.
        CardWithdrawalFulfil = "card_withdrawal.fulfil",
        /// Reject a withdrawal.
        CardWithdrawalReject = "card_withdrawal.reject",
        /// Release a claimed withdrawal.
        CardWithdrawalRelease = "card_withdrawal.release",
        /// Extend the lease of a claimed withdrawal.
        CardWithdrawalRenew = "card_withdrawal.renew",
        /// Accept a chain that replaced final blocks.
        ChainAccept = "chain.accept",
        /// Credit an incoming transfer.
        IncomingCredit = "incoming.credit",
        /// Record an incoming transfer as operator funds.
        IncomingOperatorFunds = "incoming.operator_funds",
        /// Return an incoming transfer.
        IncomingReturn = "incoming.return",
        /// Claim an international order.
        IntlOrderClaim = "intl_order.claim",
        /// Enter the ordered card.
        IntlOrderFulfil = "intl_order.fulfil",
        /// Reject an international order.
        IntlOrderReject = "intl_order.reject",
        /// Release a claimed order.
        IntlOrderRelease = "intl_order.release",
        /// Extend the lease of a claimed order.
        IntlOrderRenew = "intl_order.renew",
        /// Report a card's state at its issuer.
        IntlOrderReport = "intl_order.report",
        /// Credit the payment of a dead-lettered job.
        JobCredit = "job.credit",
        /// Close a withheld credit.
        JobKeep = "job.keep",
        /// Record the outcome of a dead-lettered job.
        JobResolve = "job.resolve",
        /// Retry a dead-lettered job.
        JobRetry = "job.retry",
        /// Close a product line.
        LineClose = "line.close",
        /// Open a product line.
        LineOpen = "line.open",
        /// Write a note on a customer.
        CustomerNote = "customer.note",
        /// Attribute an order of a lost history.
        OrderBook = "order.book",
        /// Add a passkey.
        PasskeyAdd = "passkey.add",
        /// Remove a passkey, with the sessions that it opened and the confirmations that it gave.
        PasskeyRemove = "passkey.remove",
        /// Approve a refund.
        RefundApprove = "refund.approve",
        /// Reject a refund.
        RefundReject = "refund.reject",
        /// Request a refund.
        RefundRequest = "refund.request",
        /// Confirm with a passkey, before money moves.
        SessionConfirm = "session.confirm",
        /// End a session of the desk.
        SessionEnd = "session.end",
        /// Sign in to the desk.
        SessionOpen = "session.open",
        /// Confirm credentials from before a restore.
        SuspendedConfirm = "suspended.confirm",
        /// Create an operator token.
        TokenCreate = "token.create",
        /// Revoke an operator token.
        TokenRevoke = "token.revoke",
        /// Attribute an outgoing transfer.
        TransferAttribute = "transfer.attribute",
        /// Redeliver events to a webhook endpoint.
        WebhookRedeliver = "webhook.redeliver",
    }
}

/// Record of an operator action: a row, written by the batch that executes the action. Each contains the hash of the
/// previous one, so none can be changed, inserted or removed without changing all later records.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AuditRecord {
    /// Position in the audit log.
    pub position: AuditPosition,
    /// Time of the action.
    pub at: Timestamp,
    /// Operator and request.
    pub act: OperatorAction,
    /// Name of the [`AuditAction`].
    pub action: String,
    /// Id, address or token name that the action is about.
    pub subject: String,
    /// The operator's note, if there is one.
    pub note: Option<String>,
}

impl Stored for AuditRecord {
    const SCHEMA: u16 = 240;
}

/// An operator token, stored by its hash.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OperatorToken {
    /// Name of the token: unique among those stored.
    pub name: String,
    /// Role of the token.
    pub role: Role,
    /// Time at which the token was issued.
    pub created_at: Timestamp,
    /// Whether the token is revoked.
    pub revoked: bool,
}

impl OperatorToken {
    /// Revision of its row while it is valid. A settings token has no row, which counts as this revision.
    pub(crate) const VALID: u64 = 0;

    /// Revision of its row: a batch that relies on the token fails once it is revoked.
    pub(crate) fn revision(&self) -> u64 {
        Self::VALID + u64::from(self.revoked)
    }
}

impl Stored for OperatorToken {
    const SCHEMA: u16 = 81;
}

/// A passkey of an operator, stored by the digest of its credential id. It acts for the operator token that vouched
/// for it: it has its name and role, and is worth nothing once that token is revoked.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OperatorPasskey {
    /// Id of the passkey.
    pub id: OperatorPasskeyId,
    /// Hash of the operator token.
    pub token: [u8; 32],
    /// Name chosen by the operator.
    pub name: String,
    /// What the authenticator gave.
    pub credential: Credential,
    /// Time at which it was added.
    pub created_at: Timestamp,
    /// Time of the last sign-in or confirmation.
    pub used_at: Option<Timestamp>,
}

impl Stored for OperatorPasskey {
    const SCHEMA: u16 = 282;
}

/// A session of an operator at the desk, stored by the hash of its cookie.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OperatorSession {
    /// Id of the session.
    pub id: OperatorSessionId,
    /// Hash of the operator token whose name and role the session has.
    pub token: [u8; 32],
    /// Passkey that opened it; `None` for the token itself.
    pub passkey: Option<OperatorPasskeyId>,
    /// Time at which it was opened.
    pub created_at: Timestamp,
    /// Time at which it ends by itself.
    pub expires_at: Timestamp,
    /// The latest confirmation by a passkey. The removal of that passkey removes it.
    pub confirmation: Option<OperatorConfirmation>,
}

/// A passkey of an operator has confirmed acts of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OperatorConfirmation {
    /// Passkey that confirmed.
    pub passkey: OperatorPasskeyId,
    /// End of the confirmation.
    pub until: Timestamp,
}

impl OperatorSession {
    /// Until when a passkey has confirmed, if it has and the time is not over.
    pub fn confirmed_until(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.confirmation.map(|confirmation| confirmation.until);
        until.filter(|until| now < *until)
    }
}

impl Stored for OperatorSession {
    const SCHEMA: u16 = 283;
}
