//! `POST /sandbox/identity-result`: decides the result of a simulated identity check.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::entity::identity_verification::Status;
use purser_actors::id::Wallet;
use purser_actors::port::Verdict;
use serde::{Deserialize, Serialize};

use super::SandboxApp;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::route::routes;

/// Limit in characters.
const MAX_REASON_LEN: usize = 100;

/// How long the provider has to start a check.
const START_TIMEOUT: Duration = Duration::from_secs(5);

routes! { pub static ROUTES: Arc<SandboxApp>, openapi;
    POST "/sandbox/identity-result" => post_identity_result { Sandbox, control(), refuses [ProviderIsRemote] }
}

/// Check and its result.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct IdentityResultRequest {
    /// Wallet address on either chain.
    wallet: String,
    /// Whether the check passes.
    passed: bool,
    /// Reason of a failed check, `document_mismatch` by default.
    reason: Option<String>,
    /// Whether to start a check if none is open, as its owner would on the account page. False by default.
    begin: Option<bool>,
}

/// A check with its result.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct IdentityResultResponse {
    /// Exact wallet address.
    wallet: String,
    /// Provider's id of the check.
    reference: String,
    /// Whether the result is on its way to the service, as a signed callback.
    decided: bool,
}

/// Decide an identity check without a person
///
/// Decides the open check; with `begin` one is started first. The service learns the result as for any check: from the
/// provider's signed callback or by polling.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/identity-result", operation_id = "setSandboxIdentityResult", tag = "Sandbox", request_body = inline(IdentityResultRequest),
    responses((status = 200, description = "Decided.", body = inline(IdentityResultResponse)),
        (status = 409, description = "This wallet has no open check, or the provider is remote."))))]
async fn post_identity_result(State(controls): State<Arc<SandboxApp>>, body: Body) -> Result<Response, ApiError> {
    let request: IdentityResultRequest = controls.shared.body(body).await?;
    let wrong = |param, error| ApiError::parameter(ErrorCode::ParameterInvalid, param, error);
    let wallet: Wallet = request.wallet.parse().map_err(|_| wrong("wallet", "not an address"))?;
    let verdict = match (request.passed, request.reason) {
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
        ApiError::new(ErrorCode::IdentityCheckNotOpen, error)
            .hint("Its owner begins one on the account page; `begin: true` does so here.")
    };
    if request.begin == Some(true) {
        // Rejected if the wallet is already verified. Then there is no check to decide, as below.
        drop(controls.engine.request_identity_check(wallet).await);
        drop(tokio::time::timeout(START_TIMEOUT, controls.engine.await_identity_started(wallet)).await);
    }
    let known = controls
        .engine
        .identity(&wallet)
        .await
        .map_err(|_| ApiError::internal())?;
    let Some(Status::InReview {
        started: Some(begun), ..
    }) = known.map(|identity| identity.status)
    else {
        return Err(none());
    };
    match controls
        .shared
        .providers
        .identity_check
        .set_result(&begun.reference, verdict)
        .await
    {
        Ok(true) => Ok(json::ok(&IdentityResultResponse {
            wallet: wallet.address(),
            reference: begun.reference,
            decided: true,
        })),
        Ok(false) | Err(_) => Err(none()),
    }
}
