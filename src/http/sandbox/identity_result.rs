//! `POST /sandbox/identity-result`: the simulated provider decides about a check as the desk wants it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use http::StatusCode;
use purser_actors::engine::Engine;
use purser_actors::id::Wallet;
use purser_actors::identity_verification::Status;
use purser_actors::port::Verdict;
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use crate::http::error::ApiError;
use crate::http::json;
use crate::provider::sandbox::identity_check::SandboxIdentityCheck;

/// Characters of a reason, at most.
const MAX_REASON_LEN: usize = 100;

/// How long the provider has to take a check on.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// What the route needs.
pub struct IdentityResultControl {
    /// Decides.
    pub identity: Arc<SandboxIdentityCheck>,
    /// Knows a holder's check.
    pub engine: Engine,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

/// The operation of this room.
#[derive(OpenApi)]
#[openapi(paths(post_identity_result))]
pub struct ApiDoc;

/// The route.
pub fn router(state: Arc<IdentityResultControl>) -> Router {
    Router::new()
        .route("/sandbox/identity-result", post(post_identity_result))
        .with_state(state)
}

/// Whose check, and what comes of it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct IdentityResultRequest {
    /// An address of either chain.
    wallet: String,
    /// Whether they are who they say.
    passed: bool,
    /// If not: the provider's word, `document_mismatch` if absent.
    reason: Option<String>,
    /// Whether a check is begun first where none is under way, as its owner does on the account page; false if absent.
    begin: Option<bool>,
}

/// What was decided.
#[derive(Serialize, ToSchema)]
struct IdentityResultResponse {
    /// The exact address.
    wallet: String,
    /// The provider's name of the check.
    reference: String,
    /// Whether it is on its way to the service, as a signed callback.
    decided: bool,
}

/// Decide a check of an identity, without the person
///
/// One that is under way; with `begin` it is begun first. The service learns the verdict as of any check: by the provider's signed callback, or when it asks.
#[utoipa::path(post, path = "/sandbox/identity-result", tag = "Sandbox", request_body = inline(IdentityResultRequest),
    responses((status = 200, description = "Decided.", body = inline(IdentityResultResponse)),
        (status = 409, description = "No check of this wallet waits for an answer, or its provider is elsewhere.")))]
async fn post_identity_result(
    State(desk): State<Arc<IdentityResultControl>>,
    body: Body,
) -> Result<Response, ApiError> {
    let wanted: IdentityResultRequest = json::read(body, desk.max_body_bytes, desk.body_timeout).await?;
    let wrong = |param, error| ApiError::parameter("parameter_invalid", param, error);
    let wallet: Wallet = wanted.wallet.parse().map_err(|_| wrong("wallet", "not an address"))?;
    let verdict = match (wanted.passed, wanted.reason) {
        (true, None) => Verdict::Passed,
        (true, Some(_)) => return Err(wrong("reason", "only of a check that fails")),
        (false, reason) => {
            let reason = reason.unwrap_or_else(|| "document_mismatch".to_owned());
            let plain = |b: u8| b.is_ascii_lowercase() || b == b'_';
            if !(1..=MAX_REASON_LEN).contains(&reason.len()) || !reason.bytes().all(plain) {
                return Err(wrong("reason", "lower-case letters and underscores, at most 100"));
            }
            Verdict::Failed { reason: reason.into() }
        }
    };
    let none = || {
        let error = "No check of this wallet waits for an answer.";
        ApiError::new(StatusCode::CONFLICT, "identity_check_not_open", error)
            .hint("Its owner begins one on the account page; `begin: true` does so here.")
    };
    if wanted.begin == Some(true) {
        // Refused for one that is verified already: then there is nothing to decide, as below.
        drop(desk.engine.request_identity_check(wallet).await);
        drop(tokio::time::timeout(START_TIMEOUT, desk.engine.await_identity_started(wallet)).await);
    }
    let known = desk.engine.identity(&wallet).await.map_err(|_| ApiError::internal())?;
    let Some(Status::InReview {
        started: Some(begun), ..
    }) = known.map(|identity| identity.status)
    else {
        return Err(none());
    };
    match desk.identity.set_result(&begun.reference, verdict).await {
        Ok(true) => Ok(json::ok(&IdentityResultResponse {
            wallet: wallet.address(),
            reference: begun.reference,
            decided: true,
        })),
        Ok(false) | Err(_) => Err(none()),
    }
}
