//! JSON-RPC 2.0 over several endpoints of one chain.

mod clock;
mod endpoint;
mod http;
mod pool;
#[cfg(test)]
pub(crate) mod script;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;

pub use clock::SystemClock;
pub use endpoint::{EndpointSettings, EndpointStatus};
pub use http::HttpTransport;
pub use pool::{EndpointAnswer, RpcPool};

/// A boxed future, so that transports and clocks can be trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Maximum size of an endpoint's text in an error, in bytes.
pub(crate) const MAX_TEXT_LEN: usize = 512;

/// The URL of an endpoint. Userinfo, path and query may be secrets: only scheme and host are printed.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointUrl(reqwest::Url);

impl EndpointUrl {
    /// Parses an `http` or `https` URL with a host.
    ///
    /// # Errors
    /// The error text never contains the URL.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let url = reqwest::Url::parse(text).map_err(|_| SettingsError::Url)?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(SettingsError::Url);
        }
        Ok(Self(url))
    }

    /// Host, and the port unless it is the scheme's default.
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    pub(crate) const fn url(&self) -> &reqwest::Url {
        &self.0
    }
}

impl fmt::Display for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.0.scheme(), self.host())
    }
}

impl fmt::Debug for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A pool that cannot be built from its settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Not an `http` or `https` URL with a host.
    #[error("an endpoint is not an http or https URL")]
    Url,
    /// A pool needs at least one endpoint.
    #[error("no endpoint is configured")]
    Empty,
    /// The same URL twice: two responses of one node prove no more than one.
    #[error("the endpoint {host} is configured twice")]
    Duplicate {
        /// Host of the URL.
        host: String,
    },
    /// A limit is zero.
    #[error("`{limit}` of the endpoint {host} must not be zero")]
    Zero {
        /// Host of the URL.
        host: String,
        /// Name of the limit.
        limit: &'static str,
    },
}

/// Why a call has no result. The request may have been executed in every case except [`RpcError::Rpc`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RpcError {
    /// No connection, a broken one, or an HTTP error status.
    #[error("endpoint unreachable: {0}")]
    Unreachable(String),
    /// No complete response within the endpoint's timeout.
    #[error("endpoint timed out")]
    Timeout,
    /// The rate limit of the endpoint, or ours.
    #[error("rate limited, retry after {} ms", retry_after.as_millis())]
    RateLimited {
        /// Time until the next call may succeed.
        retry_after: Duration,
    },
    /// The endpoint processed the call and responded with a JSON-RPC error object.
    #[error("rpc error {code}: {message}")]
    Rpc {
        /// Error code sent by the endpoint.
        code: i64,
        /// Error message, at most 512 bytes.
        message: String,
        /// Error data. For a reverted call on Base, the revert data in hexadecimal. `Null` if absent.
        data: Value,
    },
    /// Not a JSON-RPC response to this call, or larger than the limit.
    #[error("malformed response: {0}")]
    MalformedResponse(String),
}

impl RpcError {
    /// Whether another endpoint may succeed. False only for errors explained by the chain's state or the call itself.
    pub fn is_endpoint_fault(&self) -> bool {
        match self {
            // Some nodes report a revert as an internal error, with its data.
            Self::Rpc { code: -32603, data, .. } => data.is_null(),
            // Method missing, internal error, block or slot not available here, resource limit, node lagging.
            Self::Rpc { code, .. } => matches!(*code, -32601 | -32603 | -32001 | -32004 | -32005 | -32014 | -32016),
            _ => true,
        }
    }
}

/// One call of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub method: &'static str,
    /// Parameters: an array or an object.
    pub params: Value,
}

/// An HTTP response, complete and within the size limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// HTTP status code.
    pub status: u16,
    /// `Retry-After`, if it was given in seconds.
    pub retry_after: Option<Duration>,
    /// Body, within the size limit of the request.
    pub body: Vec<u8>,
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// No connection or a broken one; the text never contains the URL.
    #[error("{0}")]
    Unreachable(String),
    /// Not complete within the timeout.
    #[error("timed out")]
    Timeout,
    /// The body exceeds the limit.
    #[error("response is larger than the limit")]
    TooLarge,
}

/// Posts JSON to an endpoint. Tests script the responses.
pub trait Transport: Send + Sync {
    /// One POST with `content-type: application/json`.
    fn post<'a>(
        &'a self,
        url: &'a EndpointUrl,
        body: Vec<u8>,
        timeout: Duration,
        max_response_bytes: usize,
    ) -> BoxFuture<'a, Result<Response, TransportError>>;
}

/// Time for rate limits and health.
pub trait Clock: Send + Sync {
    /// Milliseconds since a fixed moment; never goes back.
    fn now_ms(&self) -> u64;

    /// Returns after this duration.
    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()>;
}

/// At most `MAX_TEXT_LEN` bytes, cut at a character, without control characters.
pub(crate) fn bounded(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT_LEN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end]
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
