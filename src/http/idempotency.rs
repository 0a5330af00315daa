//! `Idempotency-Key`: a state-changing POST that is sent again under the same key is answered, not repeated.
//!
//! The answer is written down by the batch of the command itself ([`purser_actors::kernel::memo`]), so there is never the
//! one without the other, whoever dies. A route takes it in two lines: the [`Key`] among its arguments, and
//! [`Key::once`] around its command. One function renders the answer, for the caller and for the record:
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

use std::future::Future;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use purser_actors::engine::{Denied, Engine, Once};
use purser_actors::kernel::memo::{Kept, Place, Told};
use purser_actors::kernel::{Entity, Memo, View, origin};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tracing::Instrument as _;
use zeroize::Zeroizing;

use super::caller::Claims;
use super::error::ApiError;
use super::json;
use crate::vault::Vault;

const HEADER: &str = "idempotency-key";
static REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Characters of a key, at most.
const LONGEST: usize = 255;

/// The request's `Idempotency-Key`, if it has one. 400 `idempotency_key_invalid` for one that cannot be a key.
#[derive(Clone, Debug)]
pub struct Key(Option<String>);

impl<S: Sync> FromRequestParts<S> for Key {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::read(&parts.headers)
    }
}

/// An answer as it is sent and remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// 200 or 202.
    pub status: StatusCode,
    /// A JSON object.
    pub body: String,
}

impl Reply {
    /// 200.
    pub fn ok(body: &View) -> Self {
        Self {
            status: StatusCode::OK,
            body: body.to_json(),
        }
    }

    /// 202.
    pub fn accepted(body: &View) -> Self {
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

/// Has the answer to a command remembered in the key's place. `answer` renders it as it is sent; what is not to be
/// remembered (400, 401, a frozen account, 429, 5xx) is recognised by its status.
pub fn memo<E: Entity>(
    place: Place,
    answer: impl Fn(Told<'_, E>) -> Result<Reply, ApiError> + Send + Sync + 'static,
) -> Memo<E> {
    Memo::new(place, move |told| keep(&answer(told)))
}

/// Has the key follow an entity, for an answer that is only known later. See [`Key::once_following`].
pub fn memo_of<E: Entity, F: Entity>(place: Place, id: F::Id) -> Memo<E>
where
    F::Id: Sync,
{
    use purser_actors::kernel::entity::EntityId as _;
    Memo::new(place, move |told: Told<'_, E>| {
        told.is_ok().then(|| Kept::Follow {
            kind: F::KIND as u8,
            id: id.key(),
        })
    })
}

/// As [`memo_of`] where the command was accepted; a refusal is remembered as `refused` renders it.
pub fn memo_following<E: Entity, F: Entity>(
    place: Place,
    id: F::Id,
    refused: impl Fn(&E::Rejection) -> ApiError + Send + Sync + 'static,
) -> Memo<E>
where
    F::Id: Sync,
{
    use purser_actors::kernel::entity::EntityId as _;
    Memo::new(place, move |told: Told<'_, E>| match told {
        Ok(_) => Some(Kept::Follow {
            kind: F::KIND as u8,
            id: id.key(),
        }),
        Err(rejection) => keep(&Err(refused(rejection))),
    })
}

fn keep(answer: &Result<Reply, ApiError>) -> Option<Kept> {
    match answer {
        Ok(reply) => Some(Kept::Answer {
            status: reply.status.as_u16(),
            body: reply.body.clone(),
        }),
        Err(error) if error.frozen_message.is_some() || error.status.is_server_error() => None,
        Err(error) if matches!(error.status.as_u16(), 400 | 401 | 429) => None,
        Err(error) => Some(Kept::Answer {
            status: error.status.as_u16(),
            body: error.to_record(),
        }),
    }
}

/// Whoever had too little money is remembered under the key, by the account or by what failed for it: the same request is answered
/// with that from then on, and money helps only under another key.
fn under_a_key(error: ApiError) -> ApiError {
    match &*error.code {
        "insufficient_balance" | "insufficient_card_balance" => error.for_good(),
        _ => error,
    }
}

/// The refusal of a command whose fate this request does not know, or that could not be taken now.
pub fn undecided<R>(denied: &Denied<R>) -> ApiError {
    match denied {
        // The key's record came to be in between: of an earlier request whose answer was lost.
        Denied::Used | Denied::Collision => in_progress(),
        Denied::Rejected(_) | Denied::Unavailable => {
            ApiError::unavailable("unavailable", "The engine could not answer now.", 1)
                .hint("Send the same request again with the same Idempotency-Key: it is executed at most once.")
        }
    }
}

impl Key {
    fn read(headers: &HeaderMap) -> Result<Self, ApiError> {
        let mut values = headers.get_all(HEADER).iter();
        let Some(value) = values.next() else {
            return Ok(Self(None));
        };
        let plain = |text: &&str| (1..=LONGEST).contains(&text.len()) && text.bytes().all(|b| matches!(b, b' '..=b'~'));
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
    pub async fn once<F>(
        self,
        engine: &Engine,
        claims: &Claims,
        route: &'static str,
        wanted: &(impl Serialize + Sync),
        run: impl FnOnce(Option<Place>) -> F + Send,
    ) -> Result<Response, ApiError>
    where
        F: Future<Output = Result<Reply, ApiError>> + Send + 'static,
    {
        let follow = |_| async { Err(ApiError::internal()) };
        self.once_following(engine, claims, route, wanted, run, follow).await
    }

    /// As [`Key::once`], for a command whose memo may say [`Kept::Follow`]: `follow` renders what has become of the
    /// entity whose key it gets.
    ///
    /// # Errors
    /// As [`Key::once`].
    pub async fn once_following<F, G>(
        self,
        engine: &Engine,
        claims: &Claims,
        route: &'static str,
        wanted: &(impl Serialize + Sync),
        run: impl FnOnce(Option<Place>) -> F + Send,
        follow: impl FnOnce(Vec<u8>) -> G + Send,
    ) -> Result<Response, ApiError>
    where
        F: Future<Output = Result<Reply, ApiError>> + Send + 'static,
        G: Future<Output = Result<Reply, ApiError>> + Send,
    {
        let Some(key) = self.0 else {
            return run(None).await.map(Reply::into_response);
        };
        let print = fingerprint(route, wanted)?;
        let once = engine.once(claims.wallet, &key, print).await;
        match once.map_err(|_| ApiError::internal())? {
            Once::New(turn) => {
                let work = run(Some(turn.place().clone()));
                // A task of its own: the key is taken for as long as the command runs, whoever listens.
                let work = async move {
                    let told = work.await;
                    drop(turn);
                    told
                };
                let told = tokio::spawn(origin::scope(origin::current(), work).in_current_span()).await;
                told.unwrap_or_else(|_| Err(ApiError::internal()))
                    .map(Reply::into_response)
                    .map_err(under_a_key)
            }
            Once::Known(Kept::Answer { status, body }) => Ok(replayed(again(status, body))),
            Once::Known(Kept::Follow { id, .. }) => Ok(replayed(follow(id).await.map_err(under_a_key))),
            Once::Running => Err(in_progress()),
            Once::Reused => Err(ApiError::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency_key_reused",
                "This Idempotency-Key was used for another request.",
            )
            .hint("Use a new key for a new request.")),
        }
    }
}

/// Digest of a route and of the canonical JSON of what it was asked: fields in the order of their type.
fn fingerprint(route: &str, wanted: &impl Serialize) -> Result<[u8; 32], ApiError> {
    let body = serde_json::to_vec(wanted).map_err(|_| ApiError::internal())?;
    let mut hash = Sha256::new();
    hash.update(route);
    hash.update([0]);
    hash.update(body);
    Ok(hash.finalize().into())
}

/// What a key stands for where the request holds what nobody may find out from the store by trying, such as the digits of an
/// account number that are not shown: a digest under a key of the vault's.
///
/// # Errors
/// 500, for no request that can be written down.
pub fn secret_print(vault: &Vault, wanted: &impl Serialize) -> Result<String, ApiError> {
    let body = serde_json::to_vec(wanted).map(Zeroizing::new);
    Ok(hex::encode(vault.digest(&body.map_err(|_| ApiError::internal())?)))
}

fn again(status: u16, body: String) -> Result<Reply, ApiError> {
    let status = StatusCode::from_u16(status).map_err(|_| ApiError::internal())?;
    if status.is_success() {
        return Ok(Reply { status, body });
    }
    Err(ApiError::of_record(status, &body))
}

fn replayed(answer: Result<Reply, ApiError>) -> Response {
    marked_replayed(answer.map_or_else(ApiError::into_response, Reply::into_response))
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(values: &[&[u8]]) -> Result<Key, ApiError> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, HeaderValue::from_bytes(value).unwrap());
        }
        Key::read(&headers)
    }

    // Aim (case 54): 1 to 255 ASCII characters are a key; none at all is no key; everything else is refused.
    #[test]
    fn case_54_what_can_be_a_key() {
        assert_eq!(read(&[]).unwrap().0, None);
        for good in ["k", "a key, with = signs", &"x".repeat(255)] {
            assert_eq!(read(&[good.as_bytes()]).unwrap().0.as_deref(), Some(good));
        }
        let long = "x".repeat(256);
        let bad: [&[&[u8]]; 5] = [
            &[b""],
            &[long.as_bytes()],
            &["ключ".as_bytes()],
            &[b"a", b"a"],
            &[b"a\tb"],
        ];
        for values in bad {
            assert_eq!(read(values).unwrap_err().code, "idempotency_key_invalid", "{values:?}");
        }
    }

    // Aim: a refusal is remembered with every field that it had, and what must not be remembered is not.
    #[test]
    fn a_refusal_comes_back_as_it_was() {
        let refusal = ApiError::new(StatusCode::CONFLICT, "not_cancellable", "Too late.")
            .param("card_id")
            .hint("Nothing to be done.");
        let Some(Kept::Answer { status, body }) = keep(&Err(refusal.clone())) else {
            panic!("it is remembered");
        };
        assert_eq!(again(status, body), Err(refusal));
        for passing in [
            ApiError::parameter("parameter_invalid", "x", "no"),
            ApiError::unauthorized("token_missing", "no"),
            ApiError::frozen("no"),
            ApiError::rate_limited(1),
            ApiError::unavailable("unavailable", "no", 1),
            ApiError::internal(),
        ] {
            assert_eq!(keep(&Err(passing)), None);
        }
    }

    // Aim: what is remembered is answered again to the same request, so it is terminal then, whatever mends it for another key.
    #[test]
    fn a_remembered_refusal_is_terminal() {
        let first = ApiError::forbidden("cap_exceeded", "no");
        let again = ApiError::of_record(first.status, &first.to_record());
        assert_eq!((first.terminal, again.terminal), (false, true));
    }

    // Aim (case 53): a key stands for its route and what was asked, not for how the body was written.
    #[test]
    fn case_53_the_fingerprint_is_of_route_and_body() {
        let print =
            |route, text: &str| fingerprint(route, &serde_json::from_str::<serde_json::Value>(text).unwrap()).unwrap();
        let first = print("/withdraw", r#"{"a":1,"b":2}"#);
        assert_eq!(first, print("/withdraw", r#"{ "b":2, "a":1 }"#));
        assert_ne!(first, print("/withdraw", r#"{"a":1,"b":3}"#));
        assert_ne!(first, print("/withdraws", r#"{"a":1,"b":2}"#));
    }
}
