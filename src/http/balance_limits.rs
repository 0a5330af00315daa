//! Limits on what agents take out of the balances of an account: `POST /account/balance-limits`, for the owner's page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use purser_actors::answer::ExactDecimal;
use purser_actors::entity::account::BalanceLimits;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::app::App;
use super::error::ApiError;
use super::json;
use super::key_limits::amount;
use super::overview::BalanceLimitsOverview;
use super::owner::{account_operation_error, is_raised, owner};
use super::passkeys::require_confirmed;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;

type SharedState = State<Arc<App>>;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/account/balance-limits" => post_balance_limits { Owner, unkeyed("sets the given values"), confirmed_raise() }
}

/// Request of `POST /account/balance-limits`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct SetBalanceLimitsRequest {
    /// US dollars per withdrawal, payout or transfer; null or absent for no limit.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    per_call_usd: Option<Box<RawValue>>,
    /// US dollars per day (UTC), of all agents together; null or absent for no limit.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    per_day_usd: Option<Box<RawValue>>,
    /// Whether what is over a limit waits for the owner's approval. By default it is refused.
    approvals: Option<bool>,
}

/// The limits after an action.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct BalanceLimitsAnswer {
    /// As in `GET /account`.
    agents_on_balance: BalanceLimitsOverview,
}

/// Set the limits on what agents take out of the account
///
/// Withdrawals from the balance and from the card balance, and payouts and transfers to banks, by the tokens of agents.
/// All limits at once. 0 forbids it. What is done on our own pages is not limited. With `approvals` a call over one of
/// these limits, or over a limit of its API key, is answered with a 202 and waits for the owner's approval.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/balance-limits", operation_id = "setBalanceLimits", tag = "Account pages", request_body = inline(SetBalanceLimitsRequest),
    responses((status = 200, description = "Set.", body = BalanceLimitsAnswer),
        (status = 400, description = "A field is no such amount: `param` names it."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment or an API key, or frozen."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."),
        (status = 503, description = "Not now."))))]
async fn post_balance_limits(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(&app, &headers).await?;
    let request: SetBalanceLimitsRequest = app.body(body).await?;
    let limits = BalanceLimits {
        per_call: amount("per_call_usd", request.per_call_usd.as_deref())?,
        per_day: amount("per_day_usd", request.per_day_usd.as_deref())?,
        approvals: request.approvals.unwrap_or(false),
    };
    let account = app.engine.account(&claims.wallet).await;
    let account = account.map_err(|_| ApiError::internal())?;
    let old = account.map(|account| account.balance_limits).unwrap_or_default();
    if is_raised(old.per_call, limits.per_call) || is_raised(old.per_day, limits.per_day) {
        require_confirmed(&app, &claims).await?;
    }
    let set = app.engine.set_balance_limits(claims.wallet, limits).await;
    set.map_err(account_operation_error)?;
    let agents_on_balance = app.balance_limits_of(&claims.wallet, limits).await?;
    Ok(json::private_ok(&BalanceLimitsAnswer { agents_on_balance }))
}

impl BalanceLimitsOverview {
    /// The limits with what agents have taken today.
    pub(super) fn new(limits: BalanceLimits, taken: ExactDecimal) -> Self {
        Self {
            per_call_usd: limits.per_call.map(ExactDecimal::from),
            per_day_usd: limits.per_day.map(ExactDecimal::from),
            approvals: limits.approvals,
            taken_today_usd: taken,
        }
    }
}
