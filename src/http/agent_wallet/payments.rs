//! Runs a wallet payment: reserved under the idempotency key, followed until its outcome is known, and rendered.

use purser_actors::agent_wallet::AgentWallet;
use purser_actors::engine::{Engine, OperationError};
use purser_actors::id::{Wallet, WalletPaymentId};
use purser_actors::kernel::idempotency::IdempotencySlot;
use purser_actors::kernel::{Entity as _, sanitize_text};
use purser_actors::money::Usdc;
use purser_actors::port::CallFailure;
use purser_actors::wallet_payment;
use purser_actors::wallet_payment::{HttpRecordPart, Status, WalletPayment, WalletPaymentOrder};
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::super::callable::{reply_verbatim, to_camel_case};
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::{RecordedReply, entity_recorder, in_progress_response};
use super::super::outgoing_holds::with_hold_reason;
use super::{payment_error, seller_error};
use crate::agent_wallet::open_response;
use crate::agent_wallet::paid_http_client::AgentWalletClient;
use crate::http::app::App;
use crate::vault::Vault;

/// Starts a wallet payment, and answers again for one that was started under the same idempotency key.
pub(super) struct PaymentRunner {
    pub(super) owner: Wallet,
    pub(super) engine: Engine,
    pub(super) vault: std::sync::Arc<Vault>,
    pub(super) paid_http_client: std::sync::Arc<AgentWalletClient>,
    pub(super) response_timeout: std::time::Duration,
}

impl App {
    pub(super) fn payment_runner(&self, owner: Wallet) -> PaymentRunner {
        PaymentRunner {
            owner,
            engine: self.engine.clone(),
            vault: self.vault.clone(),
            paid_http_client: self.paid_http_client.clone(),
            response_timeout: self.wallet_response_timeout(),
        }
    }
}

impl PaymentRunner {
    /// Reserves the payment and waits for its outcome.
    pub(super) async fn start_payment(
        &self,
        id: WalletPaymentId,
        (order, call): (WalletPaymentOrder, Vec<u8>),
        holds: Usdc,
        place: Option<IdempotencySlot>,
    ) -> Result<RecordedReply, ApiError> {
        let memo = place.map(|place| entity_recorder::<AgentWallet, WalletPayment>(place, id, payment_error));
        match self
            .engine
            .start_wallet_payment(self.owner, (id, holds), (order, call), memo)
            .await
        {
            Ok(()) => self.await_response(id, true).await,
            Err(OperationError::Rejected(why)) => Err(payment_error(&why)),
            Err(denied) => Err(in_progress_response(&denied)),
        }
    }

    /// Answers for the payment that was reserved under the key.
    pub(super) async fn follow(&self, key: Vec<u8>) -> Result<RecordedReply, ApiError> {
        let id = key
            .try_into()
            .map(u128::from_be_bytes)
            .map_err(|_| ApiError::internal())?;
        self.await_response(WalletPaymentId(id), false).await
    }

    /// `first` is true for the call that made the payment. Only that call sees what is not stored.
    async fn await_response(&self, id: WalletPaymentId, first: bool) -> Result<RecordedReply, ApiError> {
        let ended = tokio::time::timeout(self.response_timeout, self.engine.await_wallet_payment(id)).await;
        let spend = match ended.ok().flatten() {
            Some(spend) => spend,
            None => {
                let read = self
                    .engine
                    .wallet_payment(&id)
                    .await
                    .map_err(|_| ApiError::internal())?;
                read.ok_or_else(ApiError::internal)?
            }
        };
        let fresh = if first {
            self.paid_http_client.take_full_response(id)
        } else {
            None
        };
        let stored = match fresh {
            Some(fresh) => Some(fresh.to_vec()),
            None => stored_response(&self.engine, &self.vault, id, &spend).await?,
        };
        if let Some(error) = failure(id, &spend) {
            let answer = spend.response().filter(|answer| answer.http_status > 0);
            let status = answer.map(|answer| answer.http_status);
            return Err(match (status, stored) {
                (Some(status), stored) => seller_error::with_seller_response(
                    error,
                    spend.order.method.is_own(),
                    status,
                    &stored.unwrap_or_default(),
                ),
                (None, _) => error,
            });
        }
        Ok(reply_verbatim(&render(&self.engine, id, &spend, stored).await?))
    }
}

/// Maps a failed payment to an error with the contract's code and a pointer to the details.
fn failure(id: WalletPaymentId, spend: &WalletPayment) -> Option<ApiError> {
    let seen = format!(
        "getAgentWallet with walletPaymentId {id} shows it. Another call pays again, the same Idempotency-Key does not."
    );
    let call = spend.response().and_then(|answer| answer.failure);
    let error = match (&spend.status, call) {
        (Status::Failed { reason }, _) => {
            let error = format!("Nothing was signed: {reason}.");
            ApiError::new(ErrorCode::WalletPaymentFailed, error)
        }
        (Status::Unsettled { .. }, Some(CallFailure::HttpError)) if spend.order.method.is_own() => {
            let error = "The service refused the paid call. Nothing was spent.";
            ApiError::new(ErrorCode::HttpError, error)
        }
        (Status::Unsettled { reason, .. }, _) => {
            let error = format!("The payment is not on the chain and never will be ({reason}). Nothing was spent.");
            ApiError::new(ErrorCode::Unsettled, error)
        }
        (_, Some(CallFailure::Unsettled)) => {
            let error =
                "The server did not take the signed payment. Its amount stays reserved until it cannot land any more.";
            ApiError::new(ErrorCode::Unsettled, error)
        }
        (_, Some(CallFailure::HttpError)) => {
            let error = "The server answered the paid call with an error.";
            ApiError::new(ErrorCode::HttpError, error)
        }
        (_, Some(CallFailure::FetchFailed)) => {
            let error = "The payment was sent and the server's answer did not come.";
            ApiError::new(ErrorCode::FetchFailed, error)
        }
        (_, None) => return None,
    };
    Some(error.hint(seen))
}

/// The server's response as stored. `None` if there was none, or more than 30 days after the end of the payment.
pub(super) async fn stored_response(
    engine: &Engine,
    vault: &Vault,
    id: WalletPaymentId,
    spend: &WalletPayment,
) -> Result<Option<Vec<u8>>, ApiError> {
    if spend.response().is_none_or(|answer| answer.http_status == 0) {
        return Ok(None);
    }
    let sealed = engine.http_record(id, HttpRecordPart::Response).await;
    let sealed = sealed.map_err(|_| ApiError::internal())?;
    if sealed.is_empty() {
        return Ok(None);
    }
    let opened = open_response(vault, id, &sealed);
    opened.map(Some).map_err(|_| ApiError::internal())
}

/// Renders `status`, `walletPayment` and `response`. Members are in camel case, except those of the server's response.
pub(super) async fn render(
    engine: &Engine,
    id: WalletPaymentId,
    spend: &WalletPayment,
    stored: Option<Vec<u8>>,
) -> Result<String, ApiError> {
    let status = if spend.is_open() { "pending" } else { spend.status() };
    let response = match (spend.response().filter(|answer| answer.http_status > 0), stored) {
        (Some(answer), Some(body)) => response(answer.http_status, answer.content_type.as_deref(), &body)?,
        _ => "null".to_owned(),
    };
    let view = with_hold_reason(
        engine,
        wallet_payment::Job::SendWalletPayment(id).into(),
        spend.view(&id),
    )
    .await?;
    let view = to_camel_case(&view.to_json());
    Ok(format!(
        "{{\"status\":\"{status}\",\"walletPayment\":{view},\"response\":{response}}}"
    ))
}

/// Body for a response that was free.
pub(super) fn response_body(status: u16, content_type: Option<&str>, body: &[u8]) -> Result<RecordedReply, ApiError> {
    let response = response(status, content_type, body)?;
    Ok(reply_verbatim(&format!(
        "{{\"status\":\"free\",\"walletPayment\":null,\"response\":{response}}}"
    )))
}

/// JSON verbatim, anything else as text.
fn response(status: u16, content_type: Option<&str>, body: &[u8]) -> Result<String, ApiError> {
    let json = |text: &str| to_raw_value(text).map(|raw| raw.get().to_owned());
    let text = String::from_utf8_lossy(body);
    let body = match serde_json::from_slice::<&serde_json::value::RawValue>(body) {
        Ok(raw) if serde_json::from_str::<Value>(raw.get()).is_ok() => raw.get().to_owned(),
        _ => json(&text).map_err(|_| ApiError::internal())?,
    };
    let kind = match content_type {
        Some(kind) => json(kind).map_err(|_| ApiError::internal())?,
        None => "null".to_owned(),
    };
    Ok(sanitize_text(format!(
        "{{\"httpStatus\":{status},\"contentType\":{kind},\"body\":{body}}}"
    )))
}
