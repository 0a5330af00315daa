//! HTTP client for one server, with TLS for https URLs.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, ClientBuilder, Method, Url};
use serde_json::Value;
use zeroize::Zeroizing;

use super::{CliError, TlsArgs};
use purser_config::DataDir;

/// Far above the size of any response of the service.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Settlement can take half a minute; after that the server answers 202.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A command that follows a stream is started again after a year.
const LONGEST_STREAM: Duration = Duration::from_secs(365 * 86_400);

/// An HTTP client that follows no redirects: a signed payment is sent only to the server it is for.
pub(super) struct HttpClient {
    client: Client,
}

/// A complete response.
#[derive(Debug)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// `Null` when the body is not JSON.
    pub(super) body: Value,
}

impl HttpResponse {
    pub(super) const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    /// Seconds of `Retry-After`, at least one and at most a minute.
    pub(super) fn retry_after(&self) -> Duration {
        let seconds = self
            .headers
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.parse().ok());
        Duration::from_secs(seconds.unwrap_or(2u64).clamp(1, 60))
    }

    /// The server's error.
    pub(super) fn to_error(&self) -> CliError {
        let text = |field: &str| self.body.get(field).and_then(Value::as_str);
        let reason = text("errorReason").or_else(|| text("code")).unwrap_or("no code");
        let message = text("errorMessage")
            .or_else(|| text("message"))
            .or_else(|| text("error"))
            .unwrap_or_default();
        let hint = text("x_service_guidance")
            .or_else(|| text("hint"))
            .map(|hint| format!(" ({hint})"));
        // The operator's message for the owner of a frozen account.
        let frozen = text("frozen_message").map(|message| format!(" \"{message}\""));
        let what = format!(
            "{reason}: {message}{}{}",
            frozen.unwrap_or_default(),
            hint.unwrap_or_default()
        );
        CliError::Rejected {
            status: self.status,
            what,
        }
    }
}

/// The response that rejected a WebSocket upgrade.
impl From<http::Response<Option<Vec<u8>>>> for HttpResponse {
    fn from(response: http::Response<Option<Vec<u8>>>) -> Self {
        let (parts, body) = response.into_parts();
        Self {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default(),
        }
    }
}

impl HttpClient {
    /// Client for this server. TLS is set up only for https URLs.
    pub(super) fn new(tls: &TlsArgs, server: &Url) -> Result<Self, CliError> {
        let client = client(tls, server)?
            .timeout(TIMEOUT)
            .connect_timeout(Duration::from_secs(10))
            .build()
            .map_err(|error| CliError::Connection(format!("no HTTP client: {error}")))?;
        Ok(Self { client })
    }

    pub(super) async fn get(&self, url: &Url, headers: &[(&'static str, &str)]) -> Result<HttpResponse, CliError> {
        self.send(Method::GET, url, headers, None).await
    }

    pub(super) async fn post(&self, url: &Url, body: &Value) -> Result<HttpResponse, CliError> {
        self.send(Method::POST, url, &[], Some(body)).await
    }

    /// A POST with these headers and, if there is one, a body.
    pub(super) async fn post_with(
        &self,
        url: &Url,
        headers: &[(&'static str, &str)],
        body: Option<&Value>,
    ) -> Result<HttpResponse, CliError> {
        self.send(Method::POST, url, headers, body).await
    }

    /// A POST with a token.
    pub(super) async fn post_as(&self, token: &str, url: &Url, body: &Value) -> Result<HttpResponse, CliError> {
        let bearer = Zeroizing::new(format!("Bearer {token}"));
        self.send(Method::POST, url, &[("authorization", &bearer)], Some(body))
            .await
    }

    /// Reads a response of any duration line by line, until the server closes it.
    pub(super) async fn lines(
        &self,
        url: &Url,
        headers: &[(&'static str, &str)],
        mut line: impl FnMut(&str) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let failed = |error: reqwest::Error| CliError::Connection(chain(&error.without_url()));
        let mut request = self.client.get(url.clone()).timeout(LONGEST_STREAM);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = request.send().await.map_err(failed)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut rest = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            rest.extend_from_slice(&chunk);
            if rest.len() > MAX_BODY_BYTES {
                return Err(CliError::Connection("a line is larger than 4 MiB".to_owned()));
            }
            while status == 200
                && let Some(end) = rest.iter().position(|byte| *byte == b'\n')
            {
                let whole: Vec<u8> = rest.drain(..=end).collect();
                line(String::from_utf8_lossy(&whole).trim_end())?;
            }
        }
        match status {
            200 => Ok(()),
            status => {
                let body = serde_json::from_slice(&rest).unwrap_or_default();
                Err(HttpResponse { status, headers, body }.to_error())
            }
        }
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: &[(&'static str, &str)],
        body: Option<&Value>,
    ) -> Result<HttpResponse, CliError> {
        // Without path and query, which may contain private data.
        let failed = |error: reqwest::Error| {
            let host = authority(url);
            let server = format!("{}://{host}", url.scheme());
            if is_plain_http(&error) {
                return CliError::Connection(format!("{server} does not speak TLS; try http://{host}"));
            }
            let what = match error.is_connect() {
                true => "cannot be reached; is the server running?",
                false => "closed the connection:",
            };
            CliError::Connection(format!("{server} {what} {}", chain(&error.without_url())))
        };
        let mut request = self.client.request(method, url.clone());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut response = request.send().await.map_err(failed)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if bytes.len() + chunk.len() > MAX_BODY_BYTES {
                return Err(CliError::Connection("the response is larger than 4 MiB".to_owned()));
            }
            bytes.extend_from_slice(&chunk);
        }
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(HttpResponse { status, headers, body })
    }
}

/// Builder of a client for this address.
pub(super) fn client(tls: &TlsArgs, server: &Url) -> Result<ClientBuilder, CliError> {
    let client = purser_host::outbound::client();
    match is_tls(server) {
        true => Ok(client.tls_backend_preconfigured(tls.config()?)),
        false => Ok(client),
    }
}

/// Whether the URL uses TLS.
pub(super) fn is_tls(url: &Url) -> bool {
    matches!(url.scheme(), "https" | "wss")
}

/// Whether the server answered the start of a TLS handshake with something else, as an HTTP server does.
fn is_plain_http(error: &(dyn std::error::Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return matches!(
            error,
            rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)
        );
    }
    // The source of an I/O error is the source of the error in it.
    let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    match inner {
        Some(inner) => is_plain_http(inner),
        None => error.source().is_some_and(is_plain_http),
    }
}

/// An error with its causes, which reqwest's `Display` omits.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Parses the address of a server.
pub(super) fn parse_url(text: &str) -> Result<Url, CliError> {
    let url = Url::parse(text)
        .map_err(|error| CliError::Usage(format!("{text} is not a URL, such as http://127.0.0.1:8402: {error}")))?;
    match url.scheme() {
        "http" | "https" | "ws" | "wss" if url.host_str().is_some() => Ok(url),
        other => Err(CliError::Usage(format!(
            "{other}:// is not a service address; use https:// or http://"
        ))),
    }
}

/// Address as reached from this machine: the unspecified address becomes the loopback address.
pub fn reachable(mut listen: SocketAddr) -> SocketAddr {
    match (listen.ip().is_unspecified(), listen.is_ipv4()) {
        (true, true) => listen.set_ip(Ipv4Addr::LOCALHOST.into()),
        (true, false) => listen.set_ip(Ipv6Addr::LOCALHOST.into()),
        (false, _) => {}
    }
    listen
}

/// How a client finds its server without a URL.
#[derive(Clone, Debug, clap::Args)]
pub struct ServerArgs {
    /// Data directory of the server to use without a URL
    #[arg(long, value_name = "DIR", env = "PURSER_DATA_DIR", default_value = "data")]
    pub data: PathBuf,
}

impl ServerArgs {
    /// The given URL, else the address where the service of the data directory listened last, else the default.
    pub(super) fn server(&self, given: Option<&str>) -> Result<Url, CliError> {
        let listened = || DataDir::at(&self.data).server_address();
        match given {
            Some(url) => parse_url(url),
            None => parse_url(&listened().map_or_else(
                || "http://127.0.0.1:8402".to_owned(),
                |listened| format!("http://{}", reachable(listened)),
            )),
        }
    }
}

/// Host, with the port if the URL names one.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// A URL on the same server.
pub(super) fn at(url: &Url, path_and_query: &str) -> Result<Url, CliError> {
    let joined = url
        .join(path_and_query)
        .map_err(|_| CliError::Connection("the server gave an address that cannot be read".to_owned()))?;
    if joined.origin() == url.origin() {
        return Ok(joined);
    }
    Err(CliError::Connection(
        "the server gave an address on another server".to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    // Checks: a connection error names the address without path and query, and suggests what to check.
    #[tokio::test]
    async fn a_server_that_is_not_there_is_named() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let url = parse_url(&format!("{server}/login?token=secret")).unwrap();
        let said = HttpClient::new(&TlsArgs::default(), &url)
            .unwrap()
            .get(&url, &[])
            .await
            .unwrap_err()
            .to_string();
        assert!(
            said.starts_with(&format!("{server} cannot be reached; is the server running?")),
            "{said}"
        );
        assert!(!said.contains("secret") && !said.contains("/login"), "{said}");
    }

    // Checks: an https:// address of a server without TLS is named with the address to use.
    #[tokio::test]
    async fn a_server_without_tls_is_named() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut hello = [0; 64];
            connection.read_exact(&mut hello).await.unwrap();
            connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            // Reads the rest, so that the connection is not reset before the response arrives.
            let _ = connection.read_to_end(&mut Vec::new()).await;
        });
        let url = parse_url(&format!("https://{host}/get-card?amount=5")).unwrap();
        let error = HttpClient::new(&TlsArgs::default(), &url).unwrap().get(&url, &[]).await;
        assert_eq!(
            error.unwrap_err().to_string(),
            format!("https://{host} does not speak TLS; try http://{host}")
        );
    }
}
