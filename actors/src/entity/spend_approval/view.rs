//! A spend approval as its owner and the agent see it.

use serde::Serialize;

use super::{ExceededLimit, RoutePurchase, SpendAct, SpendApproval, SpendLimit, SpendPayee, SpendUse, State, Status};
use crate::answer::{Address, ExactDecimal, Time};
use crate::id::{ApiKeyId, Network, SessionId, SpendApprovalId, WalletPaymentId};
use crate::kernel::StateMachine as _;
use crate::named_enum::named_enum;

named_enum! {
    /// What an agent does with the owner's money.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SpendKind {
        /// A call that the managed wallet pays for.
        X402 = "x402",
        /// A transfer from the managed wallet.
        Transfer = "transfer",
        /// A withdrawal from the account's balance.
        Withdrawal = "withdrawal",
        /// A withdrawal from the balance at the card issuer.
        CardBalanceWithdrawal = "card_balance_withdrawal",
        /// A transfer from the balance to the owner's bank account.
        BankTransfer = "bank_transfer",
        /// A payout from the balance to a bank account.
        BankPayout = "bank_payout",
    }
}

named_enum! {
    /// Why a spend counts as declined although the owner did not decline it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DeclineReason {
        /// The access of the agent that asked has ended: its API key was revoked, or the owner stopped all agents.
        AgentEnded = "agent_ended",
    }
}

/// A spend over a limit of the account owner, and the owner's decision.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = ApprovalResource))]
pub struct SpendApprovalView<'a> {
    /// `sap_…` is the id of the approval.
    pub approval_id: SpendApprovalId,
    /// `pending`, `approved`, `declined`, `expired` or `used`.
    pub status: State,
    /// `x402` for a paid call and `transfer` for a transfer of the managed wallet; `withdrawal`,
    /// `card_balance_withdrawal`, `bank_transfer` or `bank_payout` from a balance of the account.
    pub kind: SpendKind,
    /// Amount in US dollars.
    pub amount: ExactDecimal,
    /// `USDC` is the token; `USD` for a payment to a bank account.
    pub asset: &'static str,
    /// Network of the payee; null for a bank account.
    #[cfg_attr(feature = "documents", schema(required))]
    pub network: Option<Network>,
    /// Address of the payee; null for a bank account.
    #[cfg_attr(feature = "documents", schema(required))]
    pub pay_to: Option<Address>,
    /// Bank destination or bank account that receives it; null for an address.
    #[cfg_attr(feature = "documents", schema(required))]
    pub bank_payee_id: Option<String>,
    /// `host:port` of a paid call, or `route` for this service.
    #[cfg_attr(feature = "documents", schema(required))]
    pub host: Option<&'a str>,
    /// What it buys at a route of this service; null for anything else.
    #[cfg_attr(feature = "documents", schema(required))]
    pub purchase: Option<RoutePurchaseView<'a>>,
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
    /// `agent_ended`: the owner did not decline it, but its agent's API key was revoked, or all agents were stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decline_reason: Option<DeclineReason>,
    /// Id of what used the approval: a wallet payment, withdrawal, bank transfer or payout.
    #[cfg_attr(feature = "documents", schema(required))]
    pub used_by: Option<String>,
    /// Wallet payment that used the approval.
    #[cfg_attr(feature = "documents", schema(required))]
    pub wallet_payment_id: Option<WalletPaymentId>,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// What a call buys at a route of this service.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = RoutePurchase))]
pub struct RoutePurchaseView<'a> {
    /// Path of the route, such as `/get-card`.
    pub route: &'a str,
    /// Amount that it is for, as the agent wrote it.
    #[cfg_attr(feature = "documents", schema(required))]
    pub amount: Option<&'a str>,
    /// Currency of the amount, if the agent named one.
    #[cfg_attr(feature = "documents", schema(required))]
    pub currency: Option<&'a str>,
    /// Gift card that is bought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_id: Option<&'a str>,
    /// Country of the gift card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<&'a str>,
    /// Saved bank account that is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_id: Option<&'a str>,
    /// Saved recipient that is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient_id: Option<&'a str>,
}

impl<'a> From<&'a RoutePurchase> for RoutePurchaseView<'a> {
    fn from(purchase: &'a RoutePurchase) -> Self {
        Self {
            route: purchase.path(),
            amount: purchase.amount.as_deref(),
            currency: purchase.currency.as_deref(),
            product_id: purchase.named("product_id"),
            country: purchase.named("country"),
            destination_id: purchase.named("destination_id"),
            recipient_id: purchase.named("recipient_id"),
        }
    }
}

/// A limit that a spend exceeds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = ExceededLimit))]
pub struct ExceededLimitView {
    /// `per_call_usd`, `per_day_usd` or `merchant_per_day_usd` of the managed wallet, `balance_per_call_usd` or
    /// `balance_per_day_usd` of the account's balances, `api_key_per_call_usd` or `api_key_per_day_usd` of the API key.
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

impl From<&SpendAct> for SpendKind {
    fn from(act: &SpendAct) -> Self {
        match act {
            SpendAct::Transfer => Self::Transfer,
            SpendAct::PaidCall { .. } => Self::X402,
            SpendAct::Withdrawal => Self::Withdrawal,
            SpendAct::CardBalanceWithdrawal => Self::CardBalanceWithdrawal,
            SpendAct::BankTransfer => Self::BankTransfer,
            SpendAct::BankPayout => Self::BankPayout,
        }
    }
}

impl<'a> SpendApprovalView<'a> {
    pub(super) fn of(approval: &'a SpendApproval, id: &SpendApprovalId) -> Self {
        let terms = &approval.terms;
        let (wallet, bank_payee_id) = match terms.payee {
            SpendPayee::Wallet(to) => (Some(to), None),
            SpendPayee::BankDestination(id) => (None, Some(id.to_string())),
            SpendPayee::BankAccount(id) => (None, Some(id.to_string())),
        };
        let used_by = match approval.status {
            Status::Used(used_by) => Some(used_by),
            _ => None,
        };
        SpendApprovalView {
            approval_id: *id,
            status: approval.state(),
            kind: SpendKind::from(&terms.act),
            amount: terms.amount.into(),
            asset: if wallet.is_some() { "USDC" } else { "USD" },
            network: wallet.map(|to| to.network()),
            pay_to: wallet.map(Address::from),
            bank_payee_id,
            host: terms.act.host(),
            purchase: approval.purchase.as_ref().map(RoutePurchaseView::from),
            note: approval.note.as_deref(),
            limits: approval.exceeded.iter().map(ExceededLimitView::from).collect(),
            api_key_id: approval.agent.key,
            session_id: approval.agent.session,
            created_at: approval.requested_at.into(),
            expires_at: approval.expires_at.into(),
            decided_at: approval.decided_at.map(Time::from),
            decline_reason: (approval.status == Status::AgentEnded).then_some(DeclineReason::AgentEnded),
            used_by: used_by.map(|one| one.to_string()),
            wallet_payment_id: match used_by {
                Some(SpendUse::WalletPayment(id)) => Some(id),
                _ => None,
            },
            last_updated_at: approval.updated_at.into(),
        }
    }
}
