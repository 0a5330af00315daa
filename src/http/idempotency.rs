//! `Idempotency-Key`: a state-changing POST that is sent again under the same key is answered, not repeated.
//!
//! The answer is written down by the batch of the command itself ([`purser_actors::kernel::idempotency`]), so there is never the
//! one without the other, whoever dies. A route takes it in two lines: the [`IdempotencyKey`] among its arguments, and
//! [`IdempotencyKey::run`] around its command. One function renders the answer, for the caller and for the record:
//!
//! ```text
//! async fn cancel(State(orders): Shared, Holder(claims), key: Key, body: Body) -> Result<Response, ApiError> {
//!     let wanted: Cancel = orders.body(body).await?;       // 400: not recorded
//!     active(&orders.engine, &claims).await?;              // 403 frozen: not recorded
//!     let id = own_order(&orders, &claims, &wanted).await?; // 404, 403: not recorded; here only what no command changes
//!     let engine = orders.engine.clone();
//!     key.once(&orders.engine, &claims, "/cancel-intl-order", &wanted, move |place| async move {
//!         let memo = place.map(|place| memo(place, move |told| cancelled(id, told.map(drop))));
//!         match engine.cancel_order(id, memo).await {       // `Family::ask_recorded` inside
//!             Ok(()) => cancelled(id, Ok(())),
//!             Err(Denied::Rejected(why)) => cancelled(id, Err(&why)),
//!             Err(denied) => Err(undecided(denied)),
//!         }
//!     })
//!     .await
//! }
//!
//! fn cancelled(id: CardId, told: Result<(), &Rejection>) -> Result<Reply, ApiError> { … }
//! ```

mod recorders;

use std::borrow::Cow;
use std::future::Future;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use purser_actors::engine::{Engine, KeyState, OperationError};
use purser_actors::kernel::idempotency::{IdempotencySlot, RecordedResponse};
use purser_actors::kernel::{JsonObject, request_context};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tracing::Instrument as _;
use zeroize::Zeroizing;

use super::account::authenticated_account;
use super::auth::{AuthClaims, BearerAuth, RequestExtensions};
use super::error::ApiError;
use super::json;
use crate::vault::Vault;

use self::recorders::to_recorded_response;
pub use self::recorders::{entity_recorder, recorder, recorder_of};

const HEADER: &str = "idempotency-key";
static REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Characters of a key, at most.
const MAX_KEY_LEN: usize = 255;
/// Bytes of a fingerprint that are its route's.
const ROUTE_FINGERPRINT_BYTES: usize = 16;

/// Knows what keys were used with; among the extensions of every request, for the [`IdempotencyKey`] of those routes that take one.
#[derive(Clone)]
pub struct UsedKeys(pub Engine);

/// The request's `Idempotency-Key`, if it has one. 400 `idempotency_key_invalid` for one that cannot be a key.
#[derive(Clone, Debug)]
pub struct IdempotencyKey(Option<String>);

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let key = Self::read(&parts.headers)?;
        let used = parts.extensions.get::<UsedKeys>().cloned();
        let asked = parts.extensions.get::<RequestExtensions>();
        if let (Some(text), Some(UsedKeys(engine)), Some(BearerAuth::Valid(claims))) =
            (&key.0, used, asked.map(|asked| asked.bearer.clone()))
        {
            check_route(
                &engine,
                &claims,
                text,
                route_of(&parts.method, parts.uri.path()).as_ref(),
            )
            .await?;
        }
        Ok(key)
    }
}

/// The name that separates a route's uses of keys from another's.
pub fn route_of<'a>(method: &Method, path: &'a str) -> Cow<'a, str> {
    match *method {
        Method::POST => Cow::Borrowed(path),
        _ => Cow::Owned(format!("{method} {path}")),
    }
}

/// A key that was used on another route is refused whatever this request names, before its body is even read. A frozen account learns
/// nothing else.
///
/// # Errors
/// 422 `idempotency_key_reused`.
async fn check_route(engine: &Engine, claims: &AuthClaims, key: &str, route: &str) -> Result<(), ApiError> {
    let used = engine.key_used(claims.wallet, key).await;
    let used = used.map_err(|_| ApiError::internal())?;
    let is_elsewhere = used.is_some_and(|print| !print.starts_with(&route_fingerprint(route)));
    if is_elsewhere && authenticated_account(engine, claims).await.is_ok() {
        return Err(reused());
    }
    Ok(())
}

/// An answer as it is sent and remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedReply {
    /// 200 or 202.
    pub status: StatusCode,
    /// A JSON object.
    pub body: String,
}

impl RecordedReply {
    /// 200.
    pub fn ok(body: &JsonObject) -> Self {
        Self {
            status: StatusCode::OK,
            body: body.to_json(),
        }
    }

    /// 202.
    pub fn accepted(body: &JsonObject) -> Self {
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

/// The refusal of a command whose fate this request does not know, or that could not be taken now.
pub fn in_progress_response<R>(denied: &OperationError<R>) -> ApiError {
    match denied {
        // The key's record came to be in between: of an earlier request whose answer was lost.
        OperationError::AlreadyUsed => in_progress(),
        OperationError::Specific(never) => match *never {},
        OperationError::Rejected(_) | OperationError::Unavailable => {
            ApiError::unavailable("service_unavailable", "The engine could not answer now.", 1)
                .hint("Send the same request again with the same Idempotency-Key: it is executed at most once.")
        }
    }
}

/// What a key whose command follows an entity is answered with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplaySource {
    /// With what has become of the entity.
    CurrentState,
    /// With what was said the first time.
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
                "idempotency_key_invalid",
                "Idempotency-Key",
                "The Idempotency-Key must be one value of 1 to 255 ASCII characters.",
            )),
        }
    }

    /// Runs a command at most once under this key, which is the account's own. `wanted` is the body as it was
    /// understood: with the route it is what the key stands for. The command goes on if the caller goes away.
    ///
    /// # Errors
    /// 409 `idempotency_key_in_progress`, 422 `idempotency_key_reused`, and whatever the command answers or answered.
    pub async fn run<F>(
        self,
        engine: &Engine,
        claims: &AuthClaims,
        route: &'static str,
        wanted: &(impl Serialize + Sync),
        run: impl FnOnce(Option<IdempotencySlot>) -> F + Send,
    ) -> Result<Response, ApiError>
    where
        F: Future<Output = Result<RecordedReply, ApiError>> + Send + 'static,
    {
        let follow = |_| async { Err(ApiError::internal()) };
        self.run_following(engine, claims, route, wanted, run, follow).await
    }

    /// As [`IdempotencyKey::run`], for a command whose memo may say [`RecordedResponse::EntityRef`]: `follow` renders what has become of the
    /// entity whose key it gets. For answers that hold what is stored nowhere in clear.
    ///
    /// # Errors
    /// As [`IdempotencyKey::run`].
    pub async fn run_following<F, G>(
        self,
        engine: &Engine,
        claims: &AuthClaims,
        route: &'static str,
        wanted: &(impl Serialize + Sync),
        run: impl FnOnce(Option<IdempotencySlot>) -> F + Send,
        follow: impl FnOnce(Vec<u8>) -> G + Send,
    ) -> Result<Response, ApiError>
    where
        F: Future<Output = Result<RecordedReply, ApiError>> + Send + 'static,
        G: Future<Output = Result<RecordedReply, ApiError>> + Send,
    {
        let plain = ReplaySource::CurrentState;
        self.execute(engine, claims, (route, plain), wanted, run, follow).await
    }

    /// As [`IdempotencyKey::run_following`] until there is an answer: once one was given, that is what the key is answered with, whatever
    /// becomes of the entity. Only where the process died before it was, the entity is followed.
    ///
    /// # Errors
    /// As [`IdempotencyKey::run`].
    pub async fn run_following_until_recorded<F, G>(
        self,
        engine: &Engine,
        claims: &AuthClaims,
        route: &'static str,
        wanted: &(impl Serialize + Sync),
        run: impl FnOnce(Option<IdempotencySlot>) -> F + Send,
        follow: impl FnOnce(Vec<u8>) -> G + Send,
    ) -> Result<Response, ApiError>
    where
        F: Future<Output = Result<RecordedReply, ApiError>> + Send + 'static,
        G: Future<Output = Result<RecordedReply, ApiError>> + Send,
    {
        let kept = ReplaySource::FirstResponse;
        self.execute(engine, claims, (route, kept), wanted, run, follow).await
    }

    async fn execute<F, G>(
        self,
        engine: &Engine,
        claims: &AuthClaims,
        (route, answered): (&'static str, ReplaySource),
        wanted: &(impl Serialize + Sync),
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
        let print = fingerprint(route, wanted)?;
        let once = engine.acquire_key(claims.wallet, &key, print).await;
        match once.map_err(|_| ApiError::internal())? {
            KeyState::Acquired(turn) => {
                let work = run(Some(turn.slot().clone()));
                // A task of its own: the key is taken for as long as the command runs, whoever listens.
                let writer = engine.clone();
                let work = async move {
                    let told = work.await;
                    if answered == ReplaySource::FirstResponse
                        && let Some(kept) = to_recorded_response(&told)
                        && let Err(error) = writer.record_response(turn.slot(), kept).await
                    {
                        tracing::warn!(%error, "an answer could not be recorded under its key");
                    }
                    drop(turn);
                    told
                };
                let told = tokio::spawn(
                    request_context::with_request(request_context::current_request(), work).in_current_span(),
                )
                .await;
                match told.unwrap_or_else(|_| Err(ApiError::internal())) {
                    Ok(reply) => Ok(reply.into_response()),
                    // What was remembered is said the first time as it is said from then on.
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
        StatusCode::UNPROCESSABLE_ENTITY,
        "idempotency_key_reused",
        "This Idempotency-Key was used for another request.",
    )
    .hint("Use a new key for a new request.")
}

/// Digest of a route and of the canonical JSON of what it was asked: fields in the order of their type. It begins with that of the
/// route alone.
fn fingerprint(route: &str, wanted: &impl Serialize) -> Result<[u8; 32], ApiError> {
    let body = serde_json::to_vec(wanted).map_err(|_| ApiError::internal())?;
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

/// What a key stands for where the request holds what nobody may find out from the store by trying, such as the digits of an
/// account number that are not shown: a digest under a key of the vault's.
///
/// # Errors
/// 500, for no request that can be written down.
pub fn keyed_fingerprint(vault: &Vault, wanted: &impl Serialize) -> Result<String, ApiError> {
    let body = serde_json::to_vec(wanted).map(Zeroizing::new);
    Ok(hex::encode(vault.digest(&body.map_err(|_| ApiError::internal())?)))
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

/// With `Idempotency-Replayed`: what was asked for had been done before.
pub fn marked_replayed(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(&REPLAYED, HeaderValue::from_static("true"));
    response
}

fn in_progress() -> ApiError {
    ApiError::new(
        StatusCode::CONFLICT,
        "idempotency_key_in_progress",
        "The first request with this Idempotency-Key is still running.",
    )
    .hint("Wait, then send it again with the same key.")
    .retry_after(1)
}

#[cfg(test)]
mod tests;
