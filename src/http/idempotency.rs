//! `Idempotency-Key`: a state-changing POST that is sent again with the same key is answered from the record, not
//! repeated.
//!
//! The batch of the command itself records the response ([`purser_actors::kernel::idempotency`]), so a crash can't
//! separate the two. A route needs two lines: the [`IdempotencyKey`] extractor, and [`IdempotencyKey::run`] around its
//! command. One function renders the response, for the caller and for the record:
//!
//! ```text
//! async fn cancel(State(app): SharedState, BearerClaims(claims), key: IdempotencyKey, body: Body) -> … {
//!     let request: CancelOrderRequest = app.body(body).await?; // 400: not recorded
//!     refuse_frozen(&app.engine, &claims).await?;      // 403 frozen: not recorded
//!     let id = load_owned(&app, &claims, &request).await?;     // 404, 403: not recorded; only fixed properties
//!     let engine = app.engine.clone();
//!     key.run(&app.engine, &claims, "/cancel-intl-order", &request, move |slot| async move {
//!         let recorder = slot.map(|slot| recorder(slot, move |result| cancelled(id, result.map(drop))));
//!         match engine.cancel_order(id, recorder).await {   // records in the same batch
//!             Ok(()) => cancelled(id, Ok(())),
//!             Err(OperationError::Rejected(why)) => cancelled(id, Err(&why)),
//!             Err(denied) => Err(in_progress_response(&denied)),
//!         }
//!     })
//!     .await
//! }
//!
//! fn cancelled(id: CardId, result: Result<(), &Rejection>) -> Result<RecordedReply, ApiError> { … }
//! ```

mod recorders;

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use purser_actors::engine::{Engine, KeyState, OperationError};
use purser_actors::kernel::idempotency::{IdempotencySlot, RecordedResponse};
use purser_actors::kernel::{request_context, to_json};
use serde::Serialize;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::account::refuse_frozen;
use super::app::App;
use super::auth::{AuthClaims, BearerAuth, RequestExtensions};
use super::error::{ApiError, ErrorCode};
use super::headers::marked_replayed;
use super::json;
use crate::vault::Vault;

use self::recorders::to_recorded_response;
pub use self::recorders::{entity_recorder, recorder, recorder_of};

const HEADER: &str = "idempotency-key";
/// Limit in characters.
const MAX_KEY_LEN: usize = 255;
/// Bytes of a fingerprint that identify the route.
const ROUTE_FINGERPRINT_BYTES: usize = 16;

/// Extractor: the `Idempotency-Key` of the request, if any. Rejects a malformed key with 400 `idempotency_key_invalid`.
#[derive(Clone, Debug)]
pub struct IdempotencyKey(Option<String>);

impl FromRequestParts<Arc<App>> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let key = Self::read(&parts.headers)?;
        let asked = parts.extensions.get::<RequestExtensions>();
        if let (Some(text), Some(BearerAuth::Valid(claims))) = (&key.0, asked.map(|asked| &asked.bearer)) {
            let route = route_of(&parts.method, parts.uri.path());
            check_route(&app.engine, claims, text, &route).await?;
        }
        Ok(key)
    }
}

/// The name of a route for its keys. Two methods of one path have separate names.
pub fn route_of<'a>(method: &Method, path: &'a str) -> Cow<'a, str> {
    match *method {
        Method::POST => Cow::Borrowed(path),
        _ => Cow::Owned(format!("{method} {path}")),
    }
}

/// Rejects a key that was used on another route, before the body is read and whatever the request names. A frozen
/// account gets only its own error.
///
/// # Errors
/// 422 `idempotency_key_reused`.
async fn check_route(engine: &Engine, claims: &AuthClaims, key: &str, route: &str) -> Result<(), ApiError> {
    let used = engine.key_used(claims.wallet, key).await;
    let used = used.map_err(|_| ApiError::internal())?;
    let is_elsewhere = used.is_some_and(|print| !print.starts_with(&route_fingerprint(route)));
    if is_elsewhere && refuse_frozen(engine, claims).await.is_ok() {
        return Err(reused());
    }
    Ok(())
}

/// A response, as sent and recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedReply {
    /// 200 or 202.
    pub status: StatusCode,
    /// A JSON object.
    pub body: String,
}

impl RecordedReply {
    pub fn ok(body: &impl Serialize) -> Self {
        Self {
            status: StatusCode::OK,
            body: to_json(body),
        }
    }

    pub fn accepted(body: &impl Serialize) -> Self {
        Self {
            status: StatusCode::ACCEPTED,
            ..Self::ok(body)
        }
    }

    fn into_response(self) -> Response {
        let mut response = json::private(json::bytes_as_json(self.body));
        *response.status_mut() = self.status;
        response
    }
}

/// The error for a command with an unknown outcome, or one that could not run now.
pub fn in_progress_response<R>(denied: &OperationError<R>) -> ApiError {
    match denied {
        // An earlier request recorded the key in between, and its response was lost.
        OperationError::AlreadyUsed => in_progress(),
        OperationError::Specific(never) => match *never {},
        OperationError::Rejected(_) | OperationError::Unavailable => {
            ApiError::unavailable(ErrorCode::ServiceUnavailable, "The engine could not answer now.", 1)
                .hint("Send the same request again with the same Idempotency-Key: it is executed at most once.")
        }
    }
}

/// What replays of a key answer, for a command that follows an entity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplaySource {
    /// The current state of the entity.
    CurrentState,
    /// The first response.
    FirstResponse,
}

impl IdempotencyKey {
    fn read(headers: &HeaderMap) -> Result<Self, ApiError> {
        let mut values = headers.get_all(HEADER).iter();
        let Some(value) = values.next() else {
            return Ok(Self(None));
        };
        let plain =
            |text: &&str| (1..=MAX_KEY_LEN).contains(&text.len()) && text.bytes().all(|b| matches!(b, b' '..=b'~'));
        let text = value.to_str().ok().filter(plain);
        match (text, values.next()) {
            (Some(text), None) => Ok(Self(Some(text.to_owned()))),
            _ => Err(ApiError::parameter(
                ErrorCode::IdempotencyKeyInvalid,
                "Idempotency-Key",
                "The Idempotency-Key must be one value of 1 to 255 ASCII characters.",
            )),
        }
    }

    /// Runs a command at most once under this key. Keys belong to the account. `request` is the parsed body: with the
    /// route it forms the fingerprint. The command continues if the caller disconnects.
    ///
    /// # Errors
    /// 409 `idempotency_key_in_progress`, 422 `idempotency_key_reused`, and any error of the command, now or recorded.
    pub async fn run<F>(
        self,
        engine: &Engine,
        claims: &AuthClaims,
        route: &'static str,
        request: &(impl Serialize + Sync),
        run: impl FnOnce(Option<IdempotencySlot>) -> F + Send,
    ) -> Result<Response, ApiError>
    where
        F: Future<Output = Result<RecordedReply, ApiError>> + Send + 'static,
    {
        let follow = |_| async { Err(ApiError::internal()) };
        self.run_following(engine, claims, route, request, run, follow).await
    }

    /// As [`IdempotencyKey::run`], for a command that may record a [`RecordedResponse::EntityRef`]. `follow` renders
    /// the current state of that entity, given its key. For responses with secrets that are not stored in plain text.
    ///
    /// # Errors
    /// As [`IdempotencyKey::run`].
    pub async fn run_following<F, G>(
        self,
        engine: &Engine,
        claims: &AuthClaims,
        route: &'static str,
        request: &(impl Serialize + Sync),
        run: impl FnOnce(Option<IdempotencySlot>) -> F + Send,
        follow: impl FnOnce(Vec<u8>) -> G + Send,
    ) -> Result<Response, ApiError>
    where
        F: Future<Output = Result<RecordedReply, ApiError>> + Send + 'static,
        G: Future<Output = Result<RecordedReply, ApiError>> + Send,
    {
        let plain = ReplaySource::CurrentState;
        self.execute(engine, claims, (route, plain), request, run, follow).await
    }

    /// As [`IdempotencyKey::run_following`] until there is a response. After that, replays get that response, whatever
    /// happens to the entity. The entity is followed only if the process died before the first response.
    ///
    /// # Errors
    /// As [`IdempotencyKey::run`].
    pub async fn run_following_until_recorded<F, G>(
        self,
        engine: &Engine,
        claims: &AuthClaims,
        route: &'static str,
        request: &(impl Serialize + Sync),
        run: impl FnOnce(Option<IdempotencySlot>) -> F + Send,
        follow: impl FnOnce(Vec<u8>) -> G + Send,
    ) -> Result<Response, ApiError>
    where
        F: Future<Output = Result<RecordedReply, ApiError>> + Send + 'static,
        G: Future<Output = Result<RecordedReply, ApiError>> + Send,
    {
        let kept = ReplaySource::FirstResponse;
        self.execute(engine, claims, (route, kept), request, run, follow).await
    }

    async fn execute<F, G>(
        self,
        engine: &Engine,
        claims: &AuthClaims,
        (route, answered): (&'static str, ReplaySource),
        request: &(impl Serialize + Sync),
        run: impl FnOnce(Option<IdempotencySlot>) -> F + Send,
        follow: impl FnOnce(Vec<u8>) -> G + Send,
    ) -> Result<Response, ApiError>
    where
        F: Future<Output = Result<RecordedReply, ApiError>> + Send + 'static,
        G: Future<Output = Result<RecordedReply, ApiError>> + Send,
    {
        let Some(key) = self.0 else {
            return run(None).await.map(RecordedReply::into_response);
        };
        let print = fingerprint(route, request)?;
        let once = engine.acquire_key(claims.wallet, &key, print).await;
        match once.map_err(|_| ApiError::internal())? {
            KeyState::Acquired(turn) => {
                let work = run(Some(turn.slot().clone()));
                // A task of its own: the key stays in use while the command runs, even if the caller disconnects.
                let writer = engine.clone();
                let work = async move {
                    let result = work.await;
                    if answered == ReplaySource::FirstResponse
                        && let Some(kept) = to_recorded_response(&result)
                        && let Err(error) = writer.record_response(turn.slot(), kept).await
                    {
                        tracing::warn!(%error, "an answer could not be recorded under its key");
                    }
                    drop(turn);
                    result
                };
                let result = tokio::spawn(request_context::continue_request(work)).await;
                match result.unwrap_or_else(|_| Err(ApiError::internal())) {
                    Ok(reply) => Ok(reply.into_response()),
                    // The first response has the same form as its later replays.
                    Err(error)
                        if engine
                            .key_used(claims.wallet, &key)
                            .await
                            .is_ok_and(|used| used == Some(print)) =>
                    {
                        Err(error.with_key())
                    }
                    Err(error) => Err(error),
                }
            }
            KeyState::Replay(RecordedResponse::Body { status, body }) => Ok(replayed(replay(status, body))),
            KeyState::Replay(RecordedResponse::EntityRef { id, .. }) => {
                Ok(replayed(follow(id).await.map_err(ApiError::with_key)))
            }
            KeyState::InProgress => Err(in_progress()),
            KeyState::Mismatch => Err(reused()),
        }
    }
}

fn reused() -> ApiError {
    ApiError::new(
        ErrorCode::IdempotencyKeyReused,
        "This Idempotency-Key was used for another request.",
    )
    .hint("Use a new key for a new request.")
}

/// Digest of a route and the canonical JSON of its parsed request, with fields in declaration order. It begins with the
/// digest of the route alone.
fn fingerprint(route: &str, request: &impl Serialize) -> Result<[u8; 32], ApiError> {
    let body = serde_json::to_vec(request).map_err(|_| ApiError::internal())?;
    let mut print = [0; 32];
    let (of_route, of_body) = print.split_at_mut(ROUTE_FINGERPRINT_BYTES);
    of_route.copy_from_slice(&route_fingerprint(route));
    let whole = Sha256::new().chain_update(route).chain_update([0]).chain_update(body);
    of_body.copy_from_slice(&whole.finalize()[..32 - ROUTE_FINGERPRINT_BYTES]);
    Ok(print)
}

fn route_fingerprint(route: &str) -> [u8; ROUTE_FINGERPRINT_BYTES] {
    let digest = Sha256::digest(route);
    digest.first_chunk().copied().unwrap_or_default()
}

/// A fingerprint keyed by the vault, for requests with secrets such as an account number. A plain digest in the store
/// would allow guessing their digits.
///
/// # Errors
/// 500 if the request can't be serialized. That never happens.
pub fn keyed_fingerprint(vault: &Vault, request: &impl Serialize) -> Result<String, ApiError> {
    keyed_digest(vault, request).map(hex::encode)
}

/// The digest of [`keyed_fingerprint`].
///
/// # Errors
/// As [`keyed_fingerprint`].
pub fn keyed_digest(vault: &Vault, request: &impl Serialize) -> Result<[u8; 32], ApiError> {
    let body = serde_json::to_vec(request).map(Zeroizing::new);
    Ok(vault.digest(&body.map_err(|_| ApiError::internal())?))
}

fn replay(status: u16, body: String) -> Result<RecordedReply, ApiError> {
    let status = StatusCode::from_u16(status).map_err(|_| ApiError::internal())?;
    if status.is_success() {
        return Ok(RecordedReply { status, body });
    }
    Err(ApiError::of_record(status, &body))
}

fn replayed(answer: Result<RecordedReply, ApiError>) -> Response {
    marked_replayed(answer.map_or_else(ApiError::into_response, RecordedReply::into_response))
}

fn in_progress() -> ApiError {
    ApiError::new(
        ErrorCode::IdempotencyKeyInProgress,
        "The first request with this Idempotency-Key is still running.",
    )
    .hint("Wait, then send it again with the same key.")
    .retry_after(1)
}

#[cfg(test)]
mod tests;
