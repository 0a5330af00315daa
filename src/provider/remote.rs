//! Remote providers, called over HTTP with the protocol of [`super::wire`]. One type per port; each implements the
//! port's plain side, as the sandbox's providers do.

pub mod banking;
pub mod bridge;
pub mod cards;
pub mod gift_cards;
pub mod identity;
pub mod payouts;
pub mod reconciliation;
pub mod reference_data;
pub mod reloadable_cards;

use std::time::Duration;

use purser_actors::id::JobId;
use purser_actors::port::{ErrorKind, ExternalText, PortError};
use reqwest::{Client, Method, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::wire::{ErrorCode, ErrorResponse, KEY_HEADER, MalformedResponse};
use crate::secret::Secret;

/// Maximum size of a response body: a page of the catalog.
const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;

/// Address of a provider, and our credentials there.
#[derive(Clone, Debug)]
pub struct RemoteEndpoint {
    /// Base of all paths. HTTPS unless it is on this machine.
    pub base_url: Url,
    /// Sent with every call, and only to this provider: redirects are not followed.
    pub token: Secret<String>,
    /// A response that takes longer counts as lost.
    pub timeout: Duration,
}

/// Client of one provider. `None` if the settings do not name it.
#[derive(Clone)]
pub struct RemoteClient(Option<(Client, RemoteEndpoint)>);

impl RemoteClient {
    /// Connects on first use.
    ///
    /// # Errors
    /// When TLS cannot be set up on this machine.
    pub fn new(endpoint: RemoteEndpoint) -> Result<Self, String> {
        let http = crate::outbound::client()
            .no_proxy()
            .timeout(endpoint.timeout)
            .build()
            .map_err(|e| e.to_string())?;
        Ok(Self(Some((http, endpoint))))
    }

    /// A provider that the settings do not name: every call fails as `Temporary`.
    pub const fn unconfigured() -> Self {
        Self(None)
    }

    /// Whether the settings name it. Otherwise it has no events.
    const fn is_configured(&self) -> bool {
        self.0.is_some()
    }

    /// Sends a read request. It changes nothing, so every failure is `Temporary` unless the provider returns an error
    /// of its own.
    async fn get<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        path: &[&str],
        query: &impl Serialize,
    ) -> Result<T, PortError> {
        let asked = self.request(Method::GET, operation, path)?.query(query);
        self.send(operation, asked).await.map_err(|failure| {
            let error = failure.into_error();
            let kind = match error.kind {
                ErrorKind::Unknown => ErrorKind::Temporary,
                kind => kind,
            };
            PortError { kind, ..error }
        })
    }

    /// Sends an order. Without a readable response the outcome is `Unknown`, unless the provider was never reached.
    async fn post<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        path: &[&str],
        key: Option<JobId>,
        body: &impl Serialize,
    ) -> Result<T, PortError> {
        let mut asked = self.request(Method::POST, operation, path)?.json(body);
        if let Some(key) = key {
            asked = asked.header(KEY_HEADER, key.to_string());
        }
        // An order cannot be missing: a provider that answers `not_found` has not understood the path.
        self.send(operation, asked).await.map_err(|failure| match failure {
            RemoteError::Response(ErrorCode::NotFound, error) => PortError {
                kind: ErrorKind::Temporary,
                ..error
            },
            failure => failure.into_error(),
        })
    }

    fn request(
        &self,
        method: Method,
        operation: &'static str,
        path: &[&str],
    ) -> Result<reqwest::RequestBuilder, PortError> {
        let Some((http, endpoint)) = &self.0 else {
            return Err(failed(
                ErrorKind::Temporary,
                operation,
                "the settings name no provider for this",
            ));
        };
        let mut url = endpoint.base_url.clone();
        // Segments are escaped one by one: no provider reference reaches another path.
        match url.path_segments_mut() {
            Ok(mut segments) => segments.pop_if_empty().push("v1").extend(path),
            Err(()) => {
                return Err(failed(
                    ErrorKind::Temporary,
                    operation,
                    "the provider's URL takes no path",
                ));
            }
        };
        Ok(http.request(method, url).bearer_auth(endpoint.token.expose_secret()))
    }

    async fn send<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        asked: reqwest::RequestBuilder,
    ) -> Result<T, RemoteError> {
        let lost = |kind, what: &str| RemoteError::NoResponse(failed(kind, operation, what));
        let answer = asked.send().await.map_err(|error| {
            // Without a connection nothing was sent, so nothing was done.
            let kind = match error.is_connect() || error.is_builder() {
                true => ErrorKind::Temporary,
                false => ErrorKind::Unknown,
            };
            lost(kind, &error_text(&error))
        })?;
        let status = answer.status();
        let body = read(answer).await.map_err(|what| lost(ErrorKind::Unknown, &what))?;
        if status == StatusCode::OK {
            return serde_json::from_slice(&body).map_err(|error| {
                // The position of the error, never the content: the body may hold a card number.
                let (line, column) = (error.line(), error.column());
                let what = format!("the answer is not of the protocol (line {line}, column {column})");
                lost(ErrorKind::Unknown, &what)
            });
        }
        // Only an error in the protocol's form, with the status of its code, is definite.
        match serde_json::from_slice::<ErrorResponse>(&body) {
            Ok(ErrorResponse { error }) if error.code.status() == status.as_u16() => {
                let said = failed(error.code.kind(), operation, &error.message);
                Err(RemoteError::Response(error.code, said))
            }
            _ => {
                let what = format!("status {status} without a refusal of the protocol");
                Err(lost(ErrorKind::Unknown, &what))
            }
        }
    }
}

/// Why there is no response.
enum RemoteError {
    /// The provider returned an error.
    Response(ErrorCode, PortError),
    /// The response is lost or unreadable.
    NoResponse(PortError),
}

impl RemoteError {
    fn into_error(self) -> PortError {
        match self {
            Self::Response(_, error) | Self::NoResponse(error) => error,
        }
    }
}

async fn read(mut answer: Response) -> Result<zeroize::Zeroizing<Vec<u8>>, String> {
    let mut body = zeroize::Zeroizing::new(Vec::new());
    while let Some(chunk) = answer.chunk().await.map_err(|e| error_text(&e))? {
        if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
            return Err("the answer is larger than any of the protocol".into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// An error with its causes, which reqwest's `Display` omits, and without the URL, whose path may contain references.
fn error_text(error: &reqwest::Error) -> String {
    use std::error::Error as _;
    let mut text = match (error.is_timeout(), error.is_connect()) {
        (true, _) => "no answer in time".to_owned(),
        (false, true) => "no connection".to_owned(),
        (false, false) => "the connection broke".to_owned(),
    };
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}

fn failed(kind: ErrorKind, operation: &'static str, message: &str) -> PortError {
    PortError {
        kind,
        operation,
        message: ExternalText::from(message).to_string(),
    }
}

/// A response to a different request leaves the outcome unknown.
fn unreadable(operation: &'static str) -> impl FnOnce(MalformedResponse) -> PortError {
    move |what| failed(ErrorKind::Unknown, operation, &what.to_string())
}
