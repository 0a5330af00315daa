//! What agents take out of the balances of an account, for its routes: what the agent asks for, and the answer if it may
//! not do that now.

use purser_actors::engine::{AgentSpend, Engine, SpendDenied};
use purser_actors::entity::agent_wallet::refusal_of;
use purser_actors::entity::spend_approval::{SpendAct, SpendAgent, SpendPayee, SpendTerms};
use purser_actors::money::Usdc;

use super::agent_wallet;
use super::agent_wallet::payments::ApprovalRequired;
use super::approvals::{self, ApprovalRequiredResponse, approval_id};
use super::auth::{AuthClaims, TokenError};
use super::callable;
use super::error::ApiError;
use super::idempotency::RecordedReply;
use super::withdrawals::WithdrawalAnswer;

/// What a call takes from a balance.
pub(super) struct BalanceCall<'a> {
    pub(super) payee: SpendPayee,
    pub(super) amount: Usdc,
    pub(super) act: SpendAct,
    pub(super) note: Option<String>,
    /// Approval that the call names.
    pub(super) approval: Option<&'a str>,
}

/// What the agent asks for, by the owner's limits and approvals; `None` for the owner at one of our pages, who has confirmed
/// it there.
///
/// # Errors
/// 404 `approval_not_found` for an approval id that is none.
pub(super) fn agent_spend(claims: &AuthClaims, call: BalanceCall<'_>) -> Result<Option<AgentSpend>, ApiError> {
    if claims.is_owner_at_page() {
        return Ok(None);
    }
    // Also of a token for a payment that was sent with the key's token: it is the same agent.
    let key = claims.key;
    Ok(Some(AgentSpend {
        terms: SpendTerms {
            payee: call.payee,
            amount: call.amount,
            act: call.act,
            call: [0; 32],
            key,
        },
        note: call.note,
        purchase: None,
        agent: SpendAgent {
            session: Some(claims.session),
            key,
        },
        approval: call.approval.map(approval_id).transpose()?,
    }))
}

/// Form of the answer.
#[derive(Clone, Copy)]
pub(super) enum AnswerForm {
    /// Of a route: members in snake case.
    Route,
    /// Of a callable function: `result` with members in camel case.
    Callable,
}

/// The answer to a spend that the owner's limits do not allow now. It is not recorded: nothing was held or taken.
///
/// # Errors
/// 403 `policy_filtered`, and the errors of approvals.
pub(super) async fn denied(
    engine: &Engine,
    public_url: &str,
    why: &SpendDenied,
    form: AnswerForm,
) -> Result<RecordedReply, ApiError> {
    let id = match why {
        SpendDenied::AccessEnded => return Err(TokenError::Revoked.into()),
        SpendDenied::OverLimit(over) => return Err(agent_wallet::payment_error(&refusal_of(over))),
        SpendDenied::NotApproved(why) => match approvals::pending(why) {
            Some(id) => id,
            None => return Err(approvals::not_approved(why)),
        },
    };
    let approval = engine.spend_approval(&id).await;
    let approval = approval
        .map_err(|_| ApiError::internal())?
        .ok_or_else(ApiError::internal)?;
    Ok(match form {
        AnswerForm::Route => {
            let waits = ApprovalRequiredResponse::of(id, &approval, public_url);
            RecordedReply::accepted(&WithdrawalAnswer::ApprovalRequired(Box::new(waits)))
        }
        AnswerForm::Callable => callable::accepted(&ApprovalRequired::of(id, &approval, public_url)),
    })
}
