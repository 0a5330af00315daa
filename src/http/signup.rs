//! An agent without a wallet asks for an API key: `POST /signup`, `GET /signup-status`, and `/claim`, where a person who is
//! signed in says yes.
//!
//! Nothing is kept of a signup until then: its token and its page's address are MACs. The key that comes of it can be read
//! with the token until it is first used, and for ten minutes at most.

mod claim;
mod rate_limit;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use http::{HeaderValue, StatusCode, header};
use purser_actors::api_key::ApiKey;
use purser_actors::kernel::{Entity as _, JsonObject};
use serde::Deserialize;
use utoipa::OpenApi;

pub use self::rate_limit::SignupRateLimiter;
use super::auth::ClientIp;
use super::error::ApiError;
use super::json;
use super::login::LoginState;
use super::query::Query;
use super::schemas;
use crate::identity::api_key::{Signup, SignupCodec};
use crate::identity::signup_waiters::SignupWaiters;
use crate::stream::Hub;

/// When to ask again where there was no place to wait, in seconds.
const CROWDED_RETRY_S: u64 = 5;

/// What these routes need.
pub struct SignupState {
    /// Who may sign up how often.
    pub budgets: SignupRateLimiter,
    /// Makes and recognises signups.
    pub signups: SignupCodec,
    /// Where agents wait.
    pub signup_waiters: Arc<SignupWaiters>,
    /// Says when the service stops.
    pub hub: Arc<Hub>,
    /// The person's side, and the engine.
    pub login: Arc<LoginState>,
    /// How long a person has to say yes, in seconds.
    pub ttl_s: u64,
    /// How long an agent waits for it.
    pub poll: Duration,
    /// Largest body.
    pub max_body_bytes: usize,
}

type SharedState = State<Arc<SignupState>>;

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(post_signup, get_signup_status, claim::get_claim, claim::post_claim))]
pub struct ApiDoc;

/// The routes.
pub fn router(room: Arc<SignupState>) -> Router {
    Router::new()
        .route("/signup", post(post_signup))
        .route("/signup-status", get(get_signup_status))
        .route("/claim", get(claim::get_claim).post(claim::post_claim))
        .with_state(room)
}

/// It takes nothing so far.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EmptyRequest {}

/// Ask for an API key
///
/// For an agent without a wallet. Give `message_for_human` to a person unchanged: whoever opens `claim_url`, sees the same
/// `claim_code` there and says yes has made a key for their account, which `GET /signup-status` then hands out. Each address
/// (IPv6 by /64) has a budget by the minute and one by the hour; the headers show the tighter.
#[utoipa::path(post, path = "/signup", tag = "Identity",
    responses((status = 200, description = "`claim_url`, `claim_token`, `claim_code`, `message_for_human`, `expires_in` (seconds).", body = schemas::SignupResponse),
        (status = 400, description = "It takes no members."), (status = 408, description = "The body did not come."),
        (status = 413, description = "Too long.")))]
async fn post_signup(State(room): SharedState, ClientIp(ip): ClientIp, body: Body) -> Response {
    let budget = room.budgets.count(ip, room.login.clock.now());
    let answer = match budget.allowed() {
        true => sign_up(&room, body).await,
        false => Err(ApiError::rate_limited(budget.wait_s())),
    };
    let mut response = answer.unwrap_or_else(ApiError::into_response);
    budget.write(response.headers_mut());
    response
}

async fn sign_up(room: &SignupState, body: Body) -> Result<Response, ApiError> {
    let body = json::collect(body, room.max_body_bytes, room.login.body_timeout).await?;
    if !body.is_empty() {
        let EmptyRequest {} = json::deserialize(&body)?;
    }
    let signup = SignupCodec::start(room.login.clock.now(), room.ttl_s, &*room.login.entropy);
    let (url, code) = (room.signups.url(signup), room.signups.code(signup));
    let message = format!(
        "An agent asks for access to your account: {url} Approve it there if you asked for it and the page shows the code {code}."
    );
    let told = JsonObject::new()
        .text("claim_url", &url)
        .text("claim_token", room.signups.token(signup).expose())
        .text("claim_code", code)
        .text("message_for_human", message)
        .integer("expires_in", room.ttl_s);
    Ok(json::private(json::bytes_as_json(told.to_json())))
}

/// Wait until the person approves
///
/// Waits up to a minute. 204: not yet, ask again. 200: the API key, which stays readable until it is first used, for ten
/// minutes at most; exchange it with `agentAuth`. 401 and 410 are final.
#[utoipa::path(get, path = "/signup-status", tag = "Identity",
    params(("claim_token" = String, Query, description = "Of the signup.")),
    responses((status = 200, description = "`status` (`claimed`), `api_key`, `api_key_id`, `name`, `user_id`.", body = schemas::SignupStatusResponse),
        (status = 204, description = "Nobody has said yes so far; `Retry-After` says when to ask again."),
        (status = 400, description = "No `claim_token`, or something else."),
        (status = 401, description = "The token is not one of ours (`terminal: true`)."),
        (status = 410, description = "Too late, or over (`terminal: true`).")))]
async fn get_signup_status(State(room): SharedState, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["claim_token"])?;
    let signup = room
        .signups
        .parse_token(query.required("claim_token")?)
        .ok_or_else(|| {
            let error = "The claim token is not one of ours.";
            ApiError::new(StatusCode::UNAUTHORIZED, "claim_token_invalid", error)
                .hint("Begin again with POST /signup.")
                .terminal()
        })?;
    let Some(place) = room.signup_waiters.wait_for(signup.key) else {
        let told = room.outcome(signup).await?;
        return Ok(told.unwrap_or_else(|| pending(CROWDED_RETRY_S)));
    };
    // Whoever says yes between the look and the wait has woken this.
    let woken = place.woken();
    if let Some(told) = room.outcome(signup).await? {
        return Ok(told);
    }
    let left_s = signup.expires_s.saturating_sub(room.login.clock.now().seconds());
    let wait = room.poll.min(Duration::from_secs(left_s));
    tokio::select! {
        () = woken => {}
        () = tokio::time::sleep(wait) => {}
        () = room.hub.stopped() => {}
    }
    Ok(room.outcome(signup).await?.unwrap_or_else(|| pending(1)))
}

fn pending(seconds: u64) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    json::private(response)
}

/// 410: what can never come any more.
fn no_longer_available(code: &'static str, error: &'static str) -> ApiError {
    ApiError::new(StatusCode::GONE, code, error).hint("Begin again with POST /signup.")
}

fn expired() -> ApiError {
    no_longer_available("signup_expired", "Nobody said yes in time.")
}

impl SignupState {
    async fn key_of(&self, signup: Signup) -> Result<Option<ApiKey>, ApiError> {
        let read = self.login.engine.api_key(&signup.key).await;
        read.map_err(|_| ApiError::internal())
    }

    /// What has come of a signup; `None` while that is open.
    async fn outcome(&self, signup: Signup) -> Result<Option<Response>, ApiError> {
        let now = self.login.clock.now();
        let Some(key) = self.key_of(signup).await? else {
            return if signup.is_expired(now) {
                Err(expired())
            } else {
                Ok(None)
            };
        };
        if !key.is_revealable(now) {
            let error = "The API key was used, was revoked or is older than ten minutes: it is not shown again.";
            return Err(no_longer_available("api_key_no_longer_available", error));
        }
        let told = JsonObject::new()
            .text("status", "claimed")
            .text("api_key", self.login.api_keys.text(signup.key).expose())
            .text("api_key_id", signup.key)
            .text("name", &key.name)
            .text("user_id", key.owner().user_id());
        Ok(Some(json::private(json::bytes_as_json(told.to_json()))))
    }
}
