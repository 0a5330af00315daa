//! Makes the calls that agent wallets pay for: to our own routes in this process, and to all other hosts through the
//! address filter.

use std::collections::VecDeque;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock, Weak};

use axum::body::Body;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use parking_lot::Mutex;
use purser_actors::id::WalletPaymentId;
use purser_actors::port::{
    CallFailure, ErrorKind, ExternalText, PaidHttpClient, PortError, PortFuture, SealedHttpPart, ServerResponse,
};
use zeroize::Zeroizing;

use super::bearer::without_bearer;
use super::{CallTarget, PAYMENT, PaidHttpRequest, RESPONSE, failed, open, seal};
use crate::edge::front::Front;
use crate::outbound::client::{OutboundClient, OutboundError, OutboundRequest, OutboundResponse};
use crate::payment::receipt;
use crate::vault::{Vault, VaultError};

/// The request header of an x402 v2 payment.
const PAYMENT_SIGNATURE: HeaderName = HeaderName::from_static("payment-signature");
/// The response header with the result of the payment.
const PAYMENT_RESPONSE: HeaderName = HeaderName::from_static("payment-response");

pub struct AgentWalletClient {
    outbound: OutboundClient,
    /// Our own service, once it accepts requests. Its routes own this client, so a strong reference would keep them
    /// alive.
    local_service: OnceLock<Weak<Front>>,
    vault: Arc<Vault>,
    max_body_bytes: usize,
    /// Responses that were only stored in part, for the calls that still wait for them; oldest first.
    recent_responses: Mutex<VecDeque<(WalletPaymentId, Zeroizing<Vec<u8>>)>>,
}

/// Most full responses that wait in memory for their callers.
const MAX_RECENT_RESPONSES: usize = 64;

impl AgentWalletClient {
    /// External calls go through `outbound`. The vault seals responses, up to `max_body_bytes` each.
    pub const fn new(outbound: OutboundClient, vault: Arc<Vault>, max_body_bytes: usize) -> Self {
        Self {
            outbound,
            local_service: OnceLock::new(),
            vault,
            max_body_bytes,
            recent_responses: Mutex::new(VecDeque::new()),
        }
    }

    /// Takes the full response to a wallet payment's call, if it was larger than what was stored. Only for the call
    /// that made the payment.
    pub fn take_full_response(&self, spend: WalletPaymentId) -> Option<Zeroizing<Vec<u8>>> {
        let mut fresh = self.recent_responses.lock();
        let at = fresh.iter().position(|(of, _)| *of == spend)?;
        fresh.remove(at).map(|(_, body)| body)
    }

    fn cache_full_response(&self, spend: WalletPaymentId, body: &[u8]) {
        let mut fresh = self.recent_responses.lock();
        if fresh.len() == MAX_RECENT_RESPONSES {
            fresh.pop_front();
        }
        fresh.push_back((spend, Zeroizing::new(body.to_vec())));
    }

    /// Makes our own routes callable.
    pub fn set_local_service(&self, front: &Arc<Front>) {
        // Set once at startup; a second call would set the same value.
        let _ = self.local_service.set(Arc::downgrade(front));
    }

    /// Checks a URL by its text and returns its `host:port`.
    ///
    /// # Errors
    /// The filter's error.
    pub fn host(&self, url: &str) -> Result<String, OutboundError> {
        let target = self.outbound.check_url(url)?;
        let host = target.url.host_str().unwrap_or_default();
        let port = target.url.port_or_known_default().unwrap_or_default();
        Ok(format!("{host}:{port}"))
    }

    /// Makes a call, with or without a payment.
    ///
    /// # Errors
    /// [`OutboundError`]; our own service is [`OutboundError::Unreachable`] until it accepts requests.
    pub async fn request_price(
        &self,
        request: &PaidHttpRequest,
        payment: Option<&str>,
    ) -> Result<OutboundResponse, OutboundError> {
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|_| OutboundError::Disconnected)?;
        let mut headers = vec![(header::ACCEPT, HeaderValue::from_static("application/json"))];
        if let Some(payment) = payment {
            let mut value = HeaderValue::from_str(payment).map_err(|_| OutboundError::Disconnected)?;
            value.set_sensitive(true);
            headers.push((PAYMENT_SIGNATURE, value));
        }
        let asking = OutboundRequest {
            method,
            headers,
            body: request.body.clone().map(String::into_bytes),
        };
        match &request.target {
            CallTarget::Url(url) => self.outbound.call(&self.outbound.check_url(url)?, asking).await,
            CallTarget::Route(route) => self.request_local_price(request.caller, route, asking).await,
        }
    }

    async fn request_local_price(
        &self,
        caller: u64,
        route: &str,
        asking: OutboundRequest,
    ) -> Result<OutboundResponse, OutboundError> {
        let front = self
            .local_service
            .get()
            .and_then(Weak::upgrade)
            .ok_or(OutboundError::Unreachable)?;
        let mut request = Request::builder().method(asking.method).uri(route);
        request = request.header(header::HOST, "localhost");
        for (name, value) in asking.headers {
            request = request.header(name, value);
        }
        if asking.body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = asking.body.map_or_else(Body::empty, Body::from);
        let request = request.body(body).map_err(|_| OutboundError::Disconnected)?;
        // A private address that no outside client has, one per wallet: each wallet gets its own rate limit.
        let bits = u128::from(0xfd << 56 | caller >> 8) << 64;
        let peer = SocketAddr::new(Ipv6Addr::from_bits(bits).into(), 0);
        let response = front.respond(request, peer).await;
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, self.max_body_bytes);
        let body = body.await.map_err(|_| OutboundError::TooLarge)?.to_vec();
        if is_cut_off(parts.status, &body) {
            return Err(OutboundError::Timeout);
        }
        Ok(OutboundResponse {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
        })
    }

    fn seal_response(
        &self,
        call: SealedHttpPart<'_>,
        answered: &OutboundResponse,
    ) -> Result<(ServerResponse, Vec<u8>), PortError> {
        let content_type = answered.headers.get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let stored = without_bearer(&answered.body);
        if stored.is_some() {
            self.cache_full_response(call.payment, &answered.body);
        }
        let stored = stored.as_ref().map_or(&answered.body[..], String::as_bytes);
        let body = seal(&self.vault, call.payment.0, RESPONSE, stored);
        let answer = ServerResponse {
            http_status: answered.status,
            content_type: content_type.map(ExternalText::from),
            failure: failure(answered),
        };
        Ok((
            answer,
            body.map_err(|e| failed(ErrorKind::Temporary, "seal answer", e))?,
        ))
    }
}

/// Whether our own service timed out. The request continues and may still succeed, so this is not a definite failure.
fn is_cut_off(status: StatusCode, body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct BlockedCall {
        code: String,
    }
    let timeout =
        |body| serde_json::from_slice::<BlockedCall>(body).is_ok_and(|refused| refused.code == "processing_timeout");
    status == StatusCode::SERVICE_UNAVAILABLE && timeout(body)
}

/// Why a paid call failed, judged by the server's response. The response proves nothing about the money.
fn failure(answered: &OutboundResponse) -> Option<CallFailure> {
    let receipt_header = answered.headers.get(PAYMENT_RESPONSE).map(HeaderValue::as_bytes);
    let unpaid = receipt_header.is_some_and(receipt::reports_unpaid);
    match answered.status {
        402 => Some(CallFailure::Unsettled),
        200..300 if unpaid => Some(CallFailure::Unsettled),
        200..300 => None,
        _ => Some(CallFailure::HttpError),
    }
}

impl PaidHttpClient for AgentWalletClient {
    fn call<'a>(&'a self, call: SealedHttpPart<'a>, payment: &'a [u8]) -> PortFuture<'a, (ServerResponse, Vec<u8>)> {
        Box::pin(async move {
            let request = PaidHttpRequest::open(&self.vault, call.payment, call.sealed);
            let no = |e: VaultError| failed(ErrorKind::Permanent, "open call", e);
            let request = request.map_err(no)?;
            let payment = open(&self.vault, call.payment.0, PAYMENT, payment).map_err(no)?;
            let payment = std::str::from_utf8(&payment).map_err(|e| failed(ErrorKind::Permanent, "open call", e))?;
            match self.request_price(&request, Some(payment)).await {
                Ok(answered) => self.seal_response(call, &answered),
                Err(error) => {
                    let kind = match error {
                        OutboundError::Blocked(_) | OutboundError::TooLarge => ErrorKind::Permanent,
                        OutboundError::Unreachable => ErrorKind::Temporary,
                        OutboundError::Disconnected | OutboundError::Timeout => ErrorKind::Unknown,
                    };
                    Err(failed(kind, "paid call", error))
                }
            }
        })
    }
}
