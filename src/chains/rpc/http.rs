//! The HTTP transport.

use std::time::Duration;

use super::{BoxFuture, EndpointUrl, Response, Transport, TransportError};

/// HTTP transport based on reqwest.
#[derive(Clone, Debug)]
pub struct HttpTransport {
    client: reqwest::Client,
}

impl HttpTransport {
    /// The client must not follow redirects: a URL may contain a key for its host.
    pub const fn new(client: reqwest::Client) -> Self {
        Self { client }
    }

    async fn exchange(
        &self,
        url: &EndpointUrl,
        body: Vec<u8>,
        timeout: Duration,
        max_response_bytes: usize,
    ) -> Result<Response, TransportError> {
        let request = self
            .client
            .post(url.url().clone())
            .header("content-type", "application/json")
            .timeout(timeout)
            .body(body);
        let mut response = request.send().await.map_err(classify)?;
        let retry_after = response
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.trim().parse().ok())
            .map(Duration::from_secs);
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(classify)? {
            if body.len() + chunk.len() > max_response_bytes {
                return Err(TransportError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Response {
            status: response.status().as_u16(),
            retry_after,
            body,
        })
    }
}

impl Transport for HttpTransport {
    fn post<'a>(
        &'a self,
        url: &'a EndpointUrl,
        body: Vec<u8>,
        timeout: Duration,
        max_response_bytes: usize,
    ) -> BoxFuture<'a, Result<Response, TransportError>> {
        Box::pin(self.exchange(url, body, timeout, max_response_bytes))
    }
}

// A fixed text for each cause: the sources of a reqwest error may quote the URL.
fn classify(error: reqwest::Error) -> TransportError {
    if error.is_timeout() {
        return TransportError::Timeout;
    }
    let text = if error.is_connect() {
        "no connection"
    } else if error.is_body() || error.is_decode() {
        "connection broke within the response"
    } else {
        "connection broke before the response"
    };
    TransportError::Unreachable(text.to_owned())
}
