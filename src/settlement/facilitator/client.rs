//! HTTP client of one facilitator.

use std::time::Duration;

use purser_actors::port::{Clock as _, Entropy as _};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client as Http, Method};
use serde_json::Value;

use super::counters::{FacilitatorCounters, Outcome, Request};
use super::response::{self, ExpectedNetwork, SettleResult, VerifyResult};
use super::settings::{Auth, FacilitatorSettings};
use super::wire::{self, Chain, Support};
use purser_host::system::{SystemClock, SystemEntropy};

/// Timeout for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;
const MAX_SUPPORTED_BYTES: usize = 1024 * 1024;

/// Sends requests about one chain to one facilitator.
pub(super) struct Client {
    settings: FacilitatorSettings,
    chain: Chain,
    http: Http,
    pub(super) counters: FacilitatorCounters,
}

/// No response was read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(super) struct NoResponse {
    /// No connection was established: the facilitator has received nothing.
    pub(super) unsent: bool,
    reason: String,
}

/// Result of `/supported`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Supported {
    /// It supports our payments.
    Yes(Support),
    /// It responded, and does not support them.
    No(String),
    /// There was no valid response.
    Unreachable(String),
}

impl Client {
    /// Creates a client, which connects with the first request.
    ///
    /// # Errors
    /// When TLS is not available.
    pub(super) fn new(settings: FacilitatorSettings, chain: Chain) -> Result<Self, String> {
        let http = purser_host::outbound::client()
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(settings.timeout)
            .build()
            .map_err(|error| error.to_string())?;
        let tally = FacilitatorCounters::default();
        Ok(Self {
            settings,
            chain,
            http,
            counters: tally,
        })
    }

    /// Identifies the facilitator in stored rows and in the log.
    pub(super) fn name(&self) -> &str {
        self.settings.name()
    }

    const fn expected(&self) -> ExpectedNetwork {
        ExpectedNetwork {
            network: self.chain.network(),
            caip2: self.chain.caip2(),
        }
    }

    /// Requests `GET /supported`.
    pub(super) async fn supported(&self) -> Supported {
        let mut request = self.counters.start_request(Request::Supported);
        let (outcome, supported) = match self.call(Method::GET, "supported", None, MAX_SUPPORTED_BYTES).await {
            Ok((200, body)) => match wire::support(&body, &self.chain) {
                Ok(support) => (Outcome::Succeeded, Supported::Yes(support)),
                Err(why) => (Outcome::Declined, Supported::No(why)),
            },
            Ok((status, _)) => {
                let why = format!("its /supported answers with status {status}");
                (Outcome::Unknown, Supported::Unreachable(why))
            }
            Err(error) => (Outcome::NoResponse, Supported::Unreachable(error.to_string())),
        };
        request.set_outcome(outcome);
        supported
    }

    /// `POST /verify`. Moves no funds, but gives the signed payment to the facilitator.
    ///
    /// # Errors
    /// When there is no complete response.
    pub(super) async fn verify(&self, body: &Value) -> Result<VerifyResult, NoResponse> {
        let mut request = self.counters.start_request(Request::Verify);
        let answer = self.call(Method::POST, "verify", Some(body), MAX_RESPONSE_BYTES).await;
        let verified = answer.map(|(status, answer)| response::verified(status, &answer, self.expected()));
        request.set_outcome(match &verified {
            Ok(VerifyResult::Valid) => Outcome::Succeeded,
            Ok(VerifyResult::Declined(_)) => Outcome::Declined,
            Ok(VerifyResult::Used) => Outcome::Used,
            Ok(VerifyResult::Unknown(_)) => Outcome::Unknown,
            Err(_) => Outcome::NoResponse,
        });
        verified
    }

    /// `POST /settle`. Without a response the payment may still be settled.
    pub(super) async fn settle(&self, body: &Value) -> SettleResult {
        let mut request = self.counters.start_request(Request::Settle);
        let (status, answer) = match self.call(Method::POST, "settle", Some(body), MAX_RESPONSE_BYTES).await {
            Ok(answer) => answer,
            Err(error) => {
                request.set_outcome(Outcome::NoResponse);
                return SettleResult::Unknown {
                    transaction: None,
                    reason: error.to_string(),
                };
            }
        };
        let settled = response::settled(status, &answer, self.expected());
        request.set_outcome(match &settled {
            SettleResult::Reported(_) => Outcome::Succeeded,
            SettleResult::Declined(_) => Outcome::Declined,
            SettleResult::Used => Outcome::Used,
            SettleResult::Unknown { .. } => Outcome::Unknown,
        });
        settled
    }

    async fn call(
        &self,
        method: Method,
        route: &str,
        body: Option<&Value>,
        most: usize,
    ) -> Result<(u16, Vec<u8>), NoResponse> {
        let url = self.settings.route(route);
        let authorization = self.authorization(&method, &url)?;
        let mut request = self.http.request(method, url);
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut answer = request.send().await.map_err(|error| no_response(&error))?;
        let status = answer.status().as_u16();
        let mut read = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| no_response(&error))? {
            if read.len() + chunk.len() > most {
                return Err(NoResponse {
                    unsent: false,
                    reason: format!("its answer is longer than {most} bytes"),
                });
            }
            read.extend_from_slice(&chunk);
        }
        Ok((status, read))
    }

    /// The value of `Authorization`, marked so that it is never logged.
    fn authorization(&self, method: &Method, url: &reqwest::Url) -> Result<Option<HeaderValue>, NoResponse> {
        let refused = |reason: String| NoResponse { unsent: true, reason };
        let text = match &self.settings.auth {
            Auth::None => return Ok(None),
            Auth::Header(value) => value.expose_secret().clone(),
            Auth::Cdp(key) => {
                let host = url.host_str().unwrap_or_default();
                let host = url
                    .port()
                    .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
                let call = (method.as_str(), host.as_str(), url.path());
                let token = key.token(call, SystemClock.now().seconds(), SystemEntropy.random());
                format!("Bearer {}", token.map_err(|error| refused(error.to_string()))?)
            }
        };
        let value = HeaderValue::from_str(&text);
        let mut value = value.map_err(|_| refused("its secret is no value of a header".to_owned()))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

/// Does not contain the URL: its path may be a secret.
fn no_response(error: &reqwest::Error) -> NoResponse {
    let why = match (error.is_connect(), error.is_timeout()) {
        (true, _) => "no connection",
        (_, true) => "no answer in time",
        _ => "the connection broke",
    };
    NoResponse {
        unsent: error.is_connect() || error.is_builder(),
        reason: why.to_owned(),
    }
}
