//! A spend approval as its owner and the agent see it.

use serde::Serialize;

use super::{ExceededLimit, SpendApproval, SpendLimit, State, Status};
use crate::answer::{Address, ExactDecimal, Time};
use crate::entity::wallet_payment::{PaymentMethod, WalletPaymentKind};
use crate::id::{ApiKeyId, Network, SessionId, SpendApprovalId, WalletPaymentId};
use crate::kernel::StateMachine as _;

/// A spend over a limit of the account owner, and the owner's decision.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = ApprovalResource))]
pub struct SpendApprovalView<'a> {
    /// `sap_…` is the id of the approval.
    pub approval_id: SpendApprovalId,
    /// `pending`, `approved`, `declined`, `expired` or `used`.
    pub status: State,
    /// `x402` for a paid call, `transfer` for a transfer.
    pub kind: WalletPaymentKind,
    /// Amount in US dollars.
    pub amount: ExactDecimal,
    /// `USDC` is the token.
    pub asset: &'static str,
    /// Network of the payee.
    pub network: Network,
    /// Address of the payee.
    pub pay_to: Address,
    /// `host:port` of a paid call, or `route` for this service.
    #[cfg_attr(feature = "documents", schema(required))]
    pub host: Option<&'a str>,
    /// Note of the agent.
    #[cfg_attr(feature = "documents", schema(required))]
    pub note: Option<&'a str>,
    /// Limits that the spend exceeds.
    pub limits: Vec<ExceededLimitView>,
    /// API key of the agent; null if the wallet signed in.
    #[cfg_attr(feature = "documents", schema(required))]
    pub api_key_id: Option<ApiKeyId>,
    /// Session of the agent.
    #[cfg_attr(feature = "documents", schema(required))]
    pub session_id: Option<SessionId>,
    /// Time of the request (RFC 3339).
    pub created_at: Time,
    /// End of the wait for the owner, or of the approval (RFC 3339).
    pub expires_at: Time,
    /// Time of the owner's decision (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    pub decided_at: Option<Time>,
    /// Spend that used the approval.
    #[cfg_attr(feature = "documents", schema(required))]
    pub wallet_payment_id: Option<WalletPaymentId>,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// A limit that a spend exceeds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = ExceededLimit))]
pub struct ExceededLimitView {
    /// `per_call_usd` or `per_day_usd` of the managed wallet, `api_key_per_call_usd` or `api_key_per_day_usd` of the
    /// API key.
    pub limit: SpendLimit,
    /// Value of the limit in US dollars.
    pub cap_usd: ExactDecimal,
    /// What was left of it when the agent asked.
    pub left_usd: ExactDecimal,
}

impl From<&ExceededLimit> for ExceededLimitView {
    fn from(exceeded: &ExceededLimit) -> Self {
        Self {
            limit: exceeded.limit,
            cap_usd: exceeded.cap.into(),
            left_usd: exceeded.left.into(),
        }
    }
}

impl<'a> SpendApprovalView<'a> {
    pub(super) fn of(approval: &'a SpendApproval, id: &SpendApprovalId) -> Self {
        let (kind, host) = match &approval.terms.method {
            PaymentMethod::Transfer => (WalletPaymentKind::Transfer, None),
            PaymentMethod::PaidCall { host } => (WalletPaymentKind::X402, Some(host.as_str())),
        };
        SpendApprovalView {
            approval_id: *id,
            status: approval.state(),
            kind,
            amount: approval.terms.amount.into(),
            asset: "USDC",
            network: approval.terms.to.network(),
            pay_to: approval.terms.to.into(),
            host,
            note: approval.note.as_deref(),
            limits: approval.exceeded.iter().map(ExceededLimitView::from).collect(),
            api_key_id: approval.agent.key,
            session_id: approval.agent.session,
            created_at: approval.requested_at.into(),
            expires_at: approval.expires_at.into(),
            decided_at: approval.decided_at.map(Time::from),
            wallet_payment_id: match approval.status {
                Status::Used(payment) => Some(payment),
                _ => None,
            },
            last_updated_at: approval.updated_at.into(),
        }
    }
}
