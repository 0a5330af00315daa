//! Signup of an agent without a wallet: `POST /signup`, `GET /signup-status`, and `/claim`, where the signed-in account
//! owner approves.
//!
//! Nothing is stored of a signup before that: its token and its claim URL carry MACs. The API key can be read with the
//! token until it is first used, and for ten minutes at most.

mod claim;
mod claim_page;
mod rate_limit;
pub mod waiters;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use purser_actors::answer::UserId;
use purser_actors::entity::api_key::{ApiKey, MAX_NAME_LEN};
use purser_actors::id::ApiKeyId;
use purser_actors::kernel::Entity as _;
use serde::{Deserialize, Serialize};

pub use self::rate_limit::SignupRateLimiter;
use super::agent_wallet::text;
use super::app::App;
use super::auth::ClientIp;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::query::Query;
use super::route::{TimeLimit, routes};
use super::schemas;
use crate::identity::api_key::{ClaimLink, Signup, SignupCodec};

/// Poll interval without a free waiter slot, in seconds.
const CROWDED_RETRY_S: u64 = 5;

type SharedState = State<Arc<App>>;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/signup" => post_signup {
        Public, unkeyed("each call is a signup of its own; an unclaimed one expires"), refuses [
            RateLimited, BodyMalformed, ParameterUnrecognized, ParameterInvalid,
        ]
    }
    GET "/signup-status" => get_signup_status {
        Public, without_head(), time_limit(TimeLimit::Poll), refuses [
            ParameterUnrecognized, ParameterMissing, ClaimTokenInvalid,
        ]
    }
    GET "/claim" => claim::get_claim { Public }
    POST "/claim" => claim::post_claim {
        Owner, unkeyed("a signup is claimed once"), confirmed(), refuses [
            OriginNotAllowed, TokenMissing, AccountFrozen, SignInRequired, ParameterUnrecognized, ParameterMissing,
            SignupNotFound, ParameterInvalid, ApiKeyLimitReached,
        ]
    }
}

/// Request of a signup. The body may be empty.
#[derive(Deserialize, Default)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct SignupRequest {
    /// Name that the agent gives itself. The page shows it, and the person may choose another one.
    #[cfg_attr(feature = "documents", schema(max_length = 80))]
    agent_name: Option<String>,
}

/// A signup that waits for approval.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SignupResponse {
    /// Page where a person approves the signup.
    claim_url: String,
    /// Token for `GET /signup-status`. Keep it secret.
    claim_token: String,
    /// Code that the page shows too.
    claim_code: String,
    /// Message to give to a person unchanged.
    message_for_human: String,
    /// Validity of the signup in seconds.
    expires_in: u64,
}

/// Request an API key
///
/// For an agent without a wallet. Give `message_for_human` to a person unchanged. The person opens `claim_url`,
/// compares `claim_code` and approves. That creates an API key for their account, which `GET /signup-status` returns.
/// Each address (IPv6 by /64) has a limit per minute and one per hour. The headers show the tighter one.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/signup", operation_id = "createSignup", tag = "API keys", request_body = inline(Option<SignupRequest>),
    responses((status = 200, description = "`claim_url`, `claim_token`, `claim_code`, `message_for_human`, `expires_in` (seconds).", body = SignupResponse),
        (status = 400, description = "Another member than `agent_name`, or a name that is not readable text."), (status = 408, description = "The body did not come."),
        (status = 413, description = "Too long."))))]
async fn post_signup(State(state): SharedState, ClientIp(ip): ClientIp, body: Body) -> Response {
    let budget = state.signup_limiter.count(ip, state.clock.now());
    let answer = match budget.allowed() {
        true => sign_up(&state, body).await,
        false => Err(ApiError::rate_limited(budget.wait_s())),
    };
    let mut response = answer.unwrap_or_else(ApiError::into_response);
    budget.write(response.headers_mut());
    response
}

async fn sign_up(state: &App, body: Body) -> Result<Response, ApiError> {
    let body = json::collect(body, state.config.server.max_body_bytes).await?;
    let request: SignupRequest = match body.is_empty() {
        true => SignupRequest::default(),
        false => json::deserialize(&body)?,
    };
    let agent = request.agent_name.map(|name| text("agent_name", &name, MAX_NAME_LEN));
    let agent = agent.transpose()?.unwrap_or_default();
    let signup = SignupCodec::start(
        state.clock.now(),
        state.config.signup.claim_ttl_seconds,
        &*state.entropy,
    );
    let (url, code) = (
        state.signups.url(&ClaimLink { signup, agent }),
        state.signups.code(signup),
    );
    Ok(json::private_ok(&SignupResponse {
        message_for_human: format!(
            "An agent asks for access to your account: {url} Approve it there if you asked for it and the page shows the code {code}."
        ),
        claim_url: url,
        claim_token: state.signups.token(signup).expose().to_owned(),
        claim_code: code.to_string(),
        expires_in: state.config.signup.claim_ttl_seconds,
    }))
}

/// An approved signup.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SignupStatusResponse {
    /// `claimed` in every case.
    status: schemas::ClaimedStatus,
    /// API key of the signup.
    api_key: String,
    /// Id of the API key.
    api_key_id: ApiKeyId,
    /// Name given by the account owner.
    name: String,
    /// Account that the key belongs to.
    user_id: UserId,
}

/// Wait for the approval of a signup
///
/// Waits up to a minute. 204: not yet, poll again. 200: the API key, which can be read until it is first used, for ten
/// minutes at most; exchange it with `agentAuth`. 401 and 410 are final.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/signup-status", operation_id = "getSignupStatus", tag = "API keys",
    params(("claim_token" = String, Query, description = "Of the signup.")),
    responses((status = 200, description = "`status` (`claimed`), `api_key`, `api_key_id`, `name`, `user_id`.", body = SignupStatusResponse),
        (status = 204, description = "Not approved yet. `Retry-After` is the time until the next poll, in seconds."),
        (status = 400, description = "No `claim_token`, or something else."),
        (status = 401, description = "The token is not valid (`terminal: true`)."),
        (status = 410, description = "Rejected, too late, or over (`terminal: true`)."))))]
async fn get_signup_status(State(state): SharedState, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["claim_token"])?;
    let signup = state
        .signups
        .parse_token(query.required("claim_token")?)
        .ok_or_else(|| {
            let error = "The claim token is not valid.";
            ApiError::new(ErrorCode::ClaimTokenInvalid, error)
                .hint("Begin again with POST /signup.")
                .terminal()
        })?;
    let Some(place) = state.signup_waiters.wait_for(signup.key) else {
        let result = state.signup_outcome(signup).await?;
        return Ok(result.unwrap_or_else(|| pending(CROWDED_RETRY_S)));
    };
    // An approval between the check and the wait has already woken this.
    let woken = place.woken();
    if let Some(result) = state.signup_outcome(signup).await? {
        return Ok(result);
    }
    let left_s = signup.expires_s.saturating_sub(state.clock.now().seconds());
    let wait = state.config.signup.poll().min(Duration::from_secs(left_s));
    tokio::select! {
        () = woken => {}
        () = tokio::time::sleep(wait) => {}
        () = state.hub.stopped() => {}
    }
    Ok(state.signup_outcome(signup).await?.unwrap_or_else(|| pending(1)))
}

fn pending(seconds: u64) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    json::private(response)
}

/// 410: the key will never become available.
fn no_longer_available(code: ErrorCode, error: &'static str) -> ApiError {
    ApiError::new(code, error).hint("Begin again with POST /signup.")
}

fn expired() -> ApiError {
    no_longer_available(ErrorCode::SignupExpired, "The signup was not approved in time.")
}

impl App {
    async fn signup_key(&self, signup: Signup) -> Result<Option<ApiKey>, ApiError> {
        let read = self.engine.api_key(&signup.key).await;
        read.map_err(|_| ApiError::internal())
    }

    /// The outcome of a signup. `None` while it is open.
    async fn signup_outcome(&self, signup: Signup) -> Result<Option<Response>, ApiError> {
        let now = self.clock.now();
        let Some(key) = self.signup_key(signup).await? else {
            return if signup.is_expired(now) {
                Err(expired())
            } else {
                Ok(None)
            };
        };
        if key.rejected_at.is_some() {
            let error = "The person rejected the signup.";
            return Err(
                no_longer_available(ErrorCode::SignupRejected, error).hint("Do not request access again unless asked.")
            );
        }
        if !key.is_revealable(now) {
            let error = "The API key was used, was revoked or is older than ten minutes: it is not shown again.";
            return Err(no_longer_available(ErrorCode::ApiKeyNoLongerAvailable, error));
        }
        Ok(Some(json::private_ok(&SignupStatusResponse {
            status: schemas::ClaimedStatus::Claimed,
            api_key: self.api_keys.text(signup.key).expose().to_owned(),
            api_key_id: signup.key,
            user_id: key.owner().into(),
            name: key.name,
        })))
    }
}
