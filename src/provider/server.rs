//! Server side of the protocol of [`super::wire`]: serves a provider's plain ports over HTTP, for `purser
//! serve-providers` and for providers that are built in Rust.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::{FromRequest as _, Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter};
use axum::{Json, RequestExt as _, Router};
use purser_actors::id::JobId;
use purser_actors::port::{ErrorKind, PortError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Providers;
use super::wire::{ErrorCode, ErrorDetails, ErrorResponse, KEY_HEADER, MalformedResponse, VERSION};
use purser_host::secret::Secret;

/// Maximum body size, except for uploads of documents.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Every route of the protocol, for callers that present `token`.
pub fn router(providers: &Providers, token: Secret<String>) -> Router {
    Router::new()
        .nest(&format!("/{VERSION}"), super::routes(providers))
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
pub(super) struct ProtocolErrorResponse(ErrorResponse);

impl ProtocolErrorResponse {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
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

/// Why a call has no value.
pub(super) type Failure = ProtocolErrorResponse;

/// Future of a handler's response.
type Answered = Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send>>;

/// There is no such resource.
pub(super) fn missing(message: &str) -> Failure {
    Failure::new(ErrorCode::NotFound, message)
}

/// A response with a value.
pub(super) fn reply<T: Serialize>(value: T) -> Response {
    Json(value).into_response()
}

/// The route of one operation.
pub(super) fn on<H>(method: &str, handler: H) -> MethodRouter
where
    H: FnOnce(Request) -> Answered + Clone + Send + Sync + 'static,
{
    let method = match method {
        "GET" => MethodFilter::GET,
        _ => MethodFilter::POST,
    };
    axum::routing::on(method, handler)
}

/// A call that arrived.
pub(super) struct Call {
    /// Parameters in the path, decoded.
    places: HashMap<String, String>,
    reads: bool,
    request: Request,
}

impl Call {
    pub(super) async fn read(mut request: Request) -> Self {
        let places = request.extract_parts::<Path<HashMap<String, String>>>().await;
        Self {
            places: places.map(|Path(places)| places).unwrap_or_default(),
            reads: request.method() != Method::POST,
            request,
        }
    }

    /// A parameter in the path.
    pub(super) fn at(&self, name: &str) -> Result<String, Failure> {
        let value = self.places.get(name).cloned();
        value.ok_or_else(|| Failure::new(ErrorCode::InvalidRequest, "the path is not of the protocol"))
    }

    /// The `Idempotency-Key` of a call that changes something.
    pub(super) fn key(&self) -> Result<JobId, Failure> {
        let mut said = self.request.headers().get_all(KEY_HEADER).iter();
        let one = said.next().and_then(|value| value.to_str().ok()?.parse().ok());
        match (one, said.next()) {
            (Some(key), None) => Ok(key),
            _ => Err(Failure::new(
                ErrorCode::InvalidRequest,
                "this takes one Idempotency-Key: job_ and 32 hex digits",
            )),
        }
    }

    /// The parameters behind the path.
    pub(super) async fn query<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let read = axum::extract::Query::<T>::try_from_uri(self.request.uri());
        read.map(|axum::extract::Query(query)| query)
            .map_err(|_| Failure::new(ErrorCode::InvalidRequest, "the parameters are not of the protocol"))
    }

    /// The JSON body.
    pub(super) async fn body<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let read = Json::<T>::from_request(std::mem::take(&mut self.request), &()).await;
        // No position and no content: the body may hold a card number.
        read.map(|Json(body)| body)
            .map_err(|_| Failure::new(ErrorCode::InvalidRequest, "the body is not of the protocol"))
    }

    /// The provider's error. `Permanent` of a read call by name means that there is no such resource.
    pub(super) fn failed(&self, error: PortError) -> Failure {
        match error.kind {
            ErrorKind::Permanent if self.reads && !self.places.is_empty() => {
                Failure::new(ErrorCode::NotFound, error.message)
            }
            _ => error.into(),
        }
    }
}
