//! The client of remote providers, called over HTTP with the protocol of [`super::wire`]. The definitions of the
//! providers make their types from it.

use std::time::Duration;

use purser_actors::id::JobId;
use purser_actors::port::{ErrorKind, ExternalText, PortError};
pub(super) use reqwest::Method;
use reqwest::{Client, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::wire::{ErrorCode, ErrorResponse, KEY_HEADER, MalformedResponse, VERSION};
use purser_host::secret::Secret;

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
        let http = purser_host::outbound::client()
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
    pub(super) const fn is_configured(&self) -> bool {
        self.0.is_some()
    }

    /// Begins a call. `places` are the values of the parameters in `path`.
    ///
    /// # Errors
    /// `Temporary` if the settings name no such provider.
    pub(super) fn call(
        &self,
        method: Method,
        operation: &'static str,
        path: &str,
        places: &[(&str, String)],
    ) -> Result<RemoteCall, PortError> {
        let refused = |what| Err(failed(ErrorKind::Temporary, operation, what));
        let Some((http, endpoint)) = &self.0 else {
            return refused("the settings name no provider for this");
        };
        let mut url = endpoint.base_url.clone();
        // Segments are escaped one by one: no provider reference reaches another path.
        let segments = path.split('/').filter(|segment| !segment.is_empty()).map(|segment| {
            let named = |(name, _): &&(&str, String)| segment.strip_prefix('{') == Some(&format!("{name}}}"));
            places.iter().find(named).map_or(segment, |(_, value)| value.as_str())
        });
        match url.path_segments_mut() {
            Ok(mut all) => all.pop_if_empty().push(VERSION).extend(segments),
            Err(()) => return refused("the provider's URL takes no path"),
        };
        let reads = method == Method::GET;
        let request = http.request(method, url).bearer_auth(endpoint.token.expose_secret());
        Ok(RemoteCall {
            operation,
            reads,
            request,
            has_body: false,
        })
    }
}

/// A call to be sent.
pub(super) struct RemoteCall {
    operation: &'static str,
    /// Whether it changes nothing.
    reads: bool,
    request: reqwest::RequestBuilder,
    has_body: bool,
}

impl RemoteCall {
    pub(super) fn key(self, key: JobId) -> Self {
        let request = self.request.header(KEY_HEADER, key.to_string());
        Self { request, ..self }
    }

    pub(super) fn query(self, query: &impl Serialize) -> Self {
        let request = self.request.query(query);
        Self { request, ..self }
    }

    pub(super) fn body(self, body: &impl Serialize) -> Self {
        let request = self.request.json(body);
        Self {
            request,
            has_body: true,
            ..self
        }
    }

    /// Sends it. A read request changes nothing, so that every failure of it is `Temporary` unless the provider returns
    /// an error of its own. Without a readable response the outcome of any other is `Unknown`, unless the provider was
    /// never reached.
    pub(super) async fn send<T: DeserializeOwned>(self) -> Result<T, PortError> {
        let (operation, reads) = (self.operation, self.reads);
        let request = match reads || self.has_body {
            true => self.request,
            false => self.request.json(&serde_json::json!({})),
        };
        send(operation, request).await.map_err(|failure| match failure {
            // An order cannot be missing: a provider that answers `not_found` has not understood the path.
            RemoteError::Response(ErrorCode::NotFound, error) if !reads => PortError {
                kind: ErrorKind::Temporary,
                ..error
            },
            RemoteError::Response(_, error) | RemoteError::NoResponse(error) => match error.kind {
                ErrorKind::Unknown if reads => PortError {
                    kind: ErrorKind::Temporary,
                    ..error
                },
                _ => error,
            },
        })
    }
}

async fn send<T: DeserializeOwned>(operation: &'static str, asked: reqwest::RequestBuilder) -> Result<T, RemoteError> {
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

/// Why there is no response.
enum RemoteError {
    /// The provider returned an error.
    Response(ErrorCode, PortError),
    /// The response is lost or unreadable.
    NoResponse(PortError),
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

pub(super) fn failed(kind: ErrorKind, operation: &'static str, message: &str) -> PortError {
    PortError {
        kind,
        operation,
        message: ExternalText::from(message).to_string(),
    }
}

/// Checks that a response repeats what its request named.
///
/// # Errors
/// `Unknown`: a response to a different request says nothing about this one.
pub(super) fn same(operation: &'static str, repeated: bool) -> Result<(), PortError> {
    let other = MalformedResponse("it is about something else");
    value(operation, if repeated { Ok(()) } else { Err(other) })
}

/// What a response says.
///
/// # Errors
/// `Unknown` if it is malformed.
pub(super) fn value<T>(operation: &'static str, read: Result<T, impl Into<MalformedResponse>>) -> Result<T, PortError> {
    read.map_err(|what| failed(ErrorKind::Unknown, operation, &what.into().to_string()))
}
