//! Server side of the protocol of [`super::wire`]: serves a provider's plain ports over HTTP, for `purser
//! serve-providers` and for providers that are built in Rust.

mod banking;
mod bridge;
mod cards;
mod gift_cards;
mod identity;
mod payouts;
mod reconciliation;
mod reference_data;
mod reloadable_cards;

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use purser_actors::id::JobId;
use purser_actors::port::{ErrorKind, PortError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::{IntoParams, OpenApi};

use super::Providers;
use super::wire::{ErrorCode, ErrorDetails, ErrorResponse, KEY_HEADER, MalformedResponse};
use crate::secret::Secret;

/// The version of the protocol; it is the first segment of every path.
pub const VERSION: &str = "v1";
/// Maximum number of events in one response.
const MAX_EVENTS_PER_PAGE: usize = 1_000;
/// Maximum body size, except for uploads of documents.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Every route of the protocol, for callers that present `token`.
pub fn router(providers: &Providers, token: Secret<String>) -> Router {
    let routes = Router::new()
        .merge(cards::router(providers))
        .merge(gift_cards::router(providers))
        .merge(payouts::router(providers))
        .merge(identity::router(providers))
        .merge(reloadable_cards::router(providers))
        .merge(banking::router(providers))
        .merge(bridge::router(providers))
        .merge(reference_data::router(providers))
        .merge(reconciliation::router(providers));
    Router::new()
        .nest(&format!("/{VERSION}"), routes)
        .fallback(async || {
            ProtocolErrorResponse::new(ErrorCode::InvalidRequest, "there is no such path in the protocol")
        })
        .layer(from_fn_with_state(Arc::new(token), authorized))
        .layer(axum::extract::DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(map_response(async |mut answer: Response| {
            let no_store = HeaderValue::from_static("no-store");
            answer.headers_mut().insert(header::CACHE_CONTROL, no_store);
            answer
        }))
}

/// The protocol's OpenAPI 3.1 document.
///
/// # Errors
/// Never for documents that utoipa generates.
pub fn document() -> Result<serde_json::Value, serde_json::Error> {
    #[derive(OpenApi)]
    #[openapi(
        info(
            title = "Purser provider protocol",
            version = "1",
            description = "What Purser asks of those who make what it sells. The same Idempotency-Key asks again and never \
                does a second thing. A definite answer is a 200 that names the order again; any other answer leaves the outcome open \
                unless it is a refusal in the form below with its code's own status. Amounts and rates are decimal text, \
                moments are Unix milliseconds."
        ),
        components(schemas(ErrorResponse)),
        tags(
            (name = "Cards", description = "Prepaid cards."),
            (name = "Gift cards", description = "The gift card catalog and its orders."),
            (name = "Payouts", description = "Payouts to debit cards, bank accounts and payment apps."),
            (name = "Identity", description = "Identity checks."),
            (name = "Issuer accounts", description = "Accounts at the card issuer and their deposits."),
            (name = "Reloadable cards", description = "Reloadable cards and holds on the balances that they spend."),
            (name = "Banking", description = "Applications, accounts and transfers at the bank."),
            (name = "Bridge", description = "Burns, attestations and mints of USDC."),
            (name = "Reference data", description = "Exchange rates and merchants."),
            (name = "Reconciliation", description = "Everything that the provider did, for comparison.")
        )
    )]
    struct ProtocolApiDoc;

    let mut api = ProtocolApiDoc::openapi();
    for part in [
        cards::document(),
        gift_cards::document(),
        payouts::document(),
        identity::document(),
        reloadable_cards::document(),
        banking::document(),
        bridge::document(),
        reference_data::document(),
        reconciliation::document(),
    ] {
        api.merge(part);
    }
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    api.components
        .get_or_insert_default()
        .add_security_scheme("bearer", bearer);
    api.security = Some(vec![SecurityRequirement::new("bearer", [""; 0])]);
    let mut document = serde_json::to_value(&api)?;
    describe_errors(&mut document);
    Ok(document)
}

/// Adds every error code to every operation.
fn describe_errors(document: &mut serde_json::Value) {
    let paths = document["paths"].as_object_mut();
    let operations = paths.into_iter().flat_map(|paths| paths.values_mut());
    let operations = operations.filter_map(|path| path.as_object_mut());
    for operation in operations.flat_map(|methods| methods.values_mut()) {
        for code in ErrorCode::ALL {
            let name = serde_json::to_value(code).unwrap_or_default();
            operation["responses"][code.status().to_string()] = serde_json::json!({
                "description": format!("Code `{}`.", name.as_str().unwrap_or_default()),
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ErrorResponse" } } },
            });
        }
    }
}

async fn authorized(State(token): State<Arc<Secret<String>>>, request: Request, next: Next) -> Response {
    let said = request.headers().get(header::AUTHORIZATION);
    let said = said.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    match said {
        Some(said) if same(said, token.expose_secret().as_bytes()) => next.run(request).await,
        _ => ProtocolErrorResponse::new(ErrorCode::Unauthorized, "the bearer's secret is wrong").into_response(),
    }
}

/// Compares in constant time.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

/// An error response of the protocol.
#[derive(Debug)]
struct ProtocolErrorResponse(ErrorResponse);

impl ProtocolErrorResponse {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(ErrorResponse {
            error: ErrorDetails { code, message },
        })
    }
}

impl From<PortError> for ProtocolErrorResponse {
    fn from(error: PortError) -> Self {
        Self::new(ErrorCode::of(error.kind), error.message)
    }
}

impl From<MalformedResponse> for ProtocolErrorResponse {
    fn from(error: MalformedResponse) -> Self {
        Self::new(ErrorCode::InvalidRequest, format!("this is not {}", error.0))
    }
}

impl IntoResponse for ProtocolErrorResponse {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.error.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(self.0)).into_response()
    }
}

/// A response or a protocol error.
type ProtocolResult<T> = Result<Json<T>, ProtocolErrorResponse>;

fn ok<T: Serialize>(said: T) -> ProtocolResult<T> {
    Ok(Json(said))
}

/// Maps `Permanent` to `not_found`, for ports where it only means that the resource does not exist.
fn not_found(error: PortError) -> ProtocolErrorResponse {
    match error.kind {
        ErrorKind::Permanent => ProtocolErrorResponse::new(ErrorCode::NotFound, error.message),
        _ => error.into(),
    }
}

/// The `Idempotency-Key` header of a call that changes something.
struct IdempotencyKeyHeader(JobId);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKeyHeader {
    type Rejection = ProtocolErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ProtocolErrorResponse> {
        key(&parts.headers).map(Self)
    }
}

fn key(headers: &HeaderMap) -> Result<JobId, ProtocolErrorResponse> {
    let mut said = headers.get_all(KEY_HEADER).iter();
    let one = said.next().and_then(|value| value.to_str().ok()?.parse().ok());
    match (one, said.next()) {
        (Some(key), None) => Ok(key),
        _ => Err(ProtocolErrorResponse::new(
            ErrorCode::InvalidRequest,
            "this takes one Idempotency-Key: job_ and 32 hex digits",
        )),
    }
}

/// Query parameters of event lists.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct AfterParam {
    /// Return only events after this position; 0 for all.
    after: u64,
    /// Maximum number of events, at most 1,000.
    limit: usize,
}

/// A JSON body of the protocol.
struct ProtocolBody<T>(T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for ProtocolBody<T> {
    type Rejection = ProtocolErrorResponse;

    async fn from_request(request: Request, state: &S) -> Result<Self, ProtocolErrorResponse> {
        let read = Json::<T>::from_request(request, state).await;
        // The position of the error, never the content.
        read.map(|Json(body)| Self(body))
            .map_err(|_| ProtocolErrorResponse::new(ErrorCode::InvalidRequest, "the body is not of the protocol"))
    }
}

/// Query parameters of the protocol.
struct ProtocolQuery<T>(T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for ProtocolQuery<T> {
    type Rejection = ProtocolErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProtocolErrorResponse> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        read.map(|axum::extract::Query(query)| Self(query)).map_err(|_| {
            ProtocolErrorResponse::new(ErrorCode::InvalidRequest, "the parameters are not of the protocol")
        })
    }
}
