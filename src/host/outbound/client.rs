//! One outgoing call on behalf of a user, with limits on its destination, duration and response size.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method};

use super::address_policy::{AddressPolicy, AllowedUrl, BlockedUrl};
use super::resolver::{DnsLookup, FilteringResolver, SystemDns, is_blocked};

/// How long to wait for the start of a body when only the status matters.
const EXCERPT_WITHIN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// Until the connection is established, TLS included.
    pub connect: Duration,
    /// From the first byte sent to the last byte read.
    pub total: Duration,
    /// Bytes of the response body.
    pub body_bytes: usize,
    /// Bytes of the response's header names and values.
    pub header_bytes: usize,
}

/// Calls hosts that users name.
pub struct OutboundClient {
    policy: AddressPolicy,
    filtered: reqwest::Client,
    /// For allowlisted hosts.
    allowlisted: reqwest::Client,
    limits: CallLimits,
}

#[derive(Clone, Debug)]
pub struct OutboundRequest {
    pub method: Method,
    /// Besides those that HTTP needs.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// JSON, if there is any.
    pub body: Option<Vec<u8>>,
}

/// A complete response.
#[derive(Clone, Debug)]
pub struct OutboundResponse {
    /// The HTTP status, redirects included: none is followed.
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// Blocked by the address filter, before or after the name was resolved. Nothing was sent.
    #[error("{0}")]
    Blocked(#[from] BlockedUrl),
    /// No connection: nothing was sent.
    #[error("it cannot be reached")]
    Unreachable,
    /// The connection broke, or the response is not HTTP. The request may have arrived.
    #[error("the connection broke off")]
    Disconnected,
    /// No complete response in time. The request may have arrived.
    #[error("no whole answer in time")]
    Timeout,
    /// The response is larger than allowed. The request has arrived.
    #[error("its answer is too large")]
    TooLarge,
}

impl OutboundClient {
    /// With the machine's resolver.
    ///
    /// # Errors
    /// When the HTTP client cannot be created.
    pub fn new(policy: AddressPolicy, limits: CallLimits) -> Result<Self, reqwest::Error> {
        Self::with_lookup(policy, limits, Arc::new(SystemDns))
    }

    /// With another resolver.
    ///
    /// # Errors
    /// As [`OutboundClient::new`].
    pub fn with_lookup(
        policy: AddressPolicy,
        limits: CallLimits,
        lookup: Arc<impl DnsLookup>,
    ) -> Result<Self, reqwest::Error> {
        let plain = || {
            super::client()
                .no_proxy()
                .referer(false)
                .connect_timeout(limits.connect)
                .timeout(limits.total)
                // Every call is checked separately: connections are never reused.
                .pool_max_idle_per_host(0)
        };
        Ok(Self {
            policy,
            filtered: plain().dns_resolver(Arc::new(FilteringResolver::new(lookup))).build()?,
            allowlisted: plain().build()?,
            limits,
        })
    }

    /// Checks the text of a URL without calling it.
    ///
    /// # Errors
    /// [`BlockedUrl`].
    pub fn check_url(&self, url: &str) -> Result<AllowedUrl, BlockedUrl> {
        self.policy.check_url(url)
    }

    /// Sends the request.
    ///
    /// # Errors
    /// [`OutboundError`]; its variants define whether the request can have arrived.
    pub async fn call(&self, target: &AllowedUrl, asking: OutboundRequest) -> Result<OutboundResponse, OutboundError> {
        let mut response = self.send(target, asking).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error))? {
            if body.len() + chunk.len() > self.limits.body_bytes {
                return Err(OutboundError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(OutboundResponse { status, headers, body })
    }

    /// Calls for the status alone. Only the start of the body is read, up to the byte limit and for at most one second.
    /// Whatever happens to the body, the status counts.
    ///
    /// # Errors
    /// [`OutboundError`], as long as there is no status.
    pub async fn send_and_forget(
        &self,
        target: &AllowedUrl,
        asking: OutboundRequest,
        excerpt: usize,
    ) -> Result<OutboundResponse, OutboundError> {
        let mut response = self.send(target, asking).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                let taken = chunk.len().min(excerpt - body.len());
                body.extend_from_slice(&chunk[..taken]);
                if body.len() == excerpt {
                    break;
                }
            }
        };
        // A body that arrives too slowly is abandoned.
        drop(tokio::time::timeout(EXCERPT_WITHIN, reading).await);
        Ok(OutboundResponse { status, headers, body })
    }

    async fn send(&self, target: &AllowedUrl, asking: OutboundRequest) -> Result<reqwest::Response, OutboundError> {
        let client = if target.allowlisted {
            &self.allowlisted
        } else {
            &self.filtered
        };
        let mut request = client.request(asking.method, target.url.clone());
        for (name, value) in asking.headers {
            request = request.header(name, value);
        }
        if let Some(body) = asking.body {
            request = request
                .header(http::header::CONTENT_TYPE, "application/json")
                .body(body);
        }
        let response = request.send().await.map_err(|error| failed(&error))?;
        let header_bytes: usize = response
            .headers()
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        if header_bytes > self.limits.header_bytes {
            return Err(OutboundError::TooLarge);
        }
        Ok(response)
    }
}

fn failed(error: &reqwest::Error) -> OutboundError {
    if let Some(why) = is_blocked(error) {
        return OutboundError::Blocked(why);
    }
    if error.is_connect() {
        return OutboundError::Unreachable;
    }
    if error.is_timeout() {
        return OutboundError::Timeout;
    }
    OutboundError::Disconnected
}

#[cfg(test)]
mod tests;
