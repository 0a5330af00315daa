//! Runs a wallet payment: reserved under the idempotency key, followed until its outcome is known, and rendered.

use purser_actors::answer::Time;
use purser_actors::engine::{Engine, OperationError, SpendNotApproved};
use purser_actors::entity::agent_wallet::{AgentWallet, WalletSpend};
use purser_actors::entity::spend_approval::{SpendApproval, SpendApprovalView};
use purser_actors::entity::wallet_payment;
use purser_actors::entity::wallet_payment::{HttpRecordPart, Status, WalletPayment};
use purser_actors::id::{SpendApprovalId, Wallet, WalletPaymentId};
use purser_actors::kernel::idempotency::IdempotencySlot;
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::port::CallFailure;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::super::approvals;
use super::super::callable::{accepted, in_camel_case, reply_verbatim};
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::{RecordedReply, entity_recorder, in_progress_response};
use super::super::outgoing_holds::with_hold_reason;
use super::super::schemas;
use super::{payment_error, seller_error};
use crate::agent_wallet::open_response;
use crate::agent_wallet::paid_http_client::AgentWalletClient;
use crate::http::app::App;
use crate::vault::Vault;

/// Result of a payment or transfer. Members are in camel case, except those of the server's body.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "documents", schema(description = "Result of a payment or transfer."))]
pub(super) struct AgentPaymentResult {
    /// `settled`; `pending` while the chain takes its time; `free` if the server asked for no payment.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::AgentPaymentStatus))]
    pub(super) status: &'static str,
    /// The wallet payment; null for a free call.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::WalletPayment>))]
    pub(super) wallet_payment: Option<Box<RawValue>>,
    /// The server's response; null for a transfer.
    pub(super) response: Option<PaidCallResponse>,
}

/// Response of a server. In later reads, members of its body that are tokens or codes are null.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct PaidCallResponse {
    /// HTTP status of the response.
    http_status: u16,
    /// Content type of the response.
    content_type: Option<String>,
    /// JSON verbatim, anything else as text.
    #[cfg_attr(feature = "documents", schema(value_type = Value))]
    body: Box<RawValue>,
}

/// A spend over a limit of the account owner, which waits for the owner's approval.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct ApprovalRequired<'a> {
    /// `approval_required`: nothing was signed or reserved.
    status: schemas::ApprovalRequiredStatus,
    /// Id for `GET /get-approval`, and for `approvalId` of the same call.
    approval_id: SpendApprovalId,
    /// End of the wait (RFC 3339).
    expires_at: Time,
    /// URL to poll for the owner's decision.
    status_url: String,
    /// What to do next.
    next: &'static str,
    /// The approval, with the limits that the spend exceeds.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::Approval))]
    approval: SpendApprovalView<'a>,
}

impl<'a> ApprovalRequired<'a> {
    pub(in crate::http) fn of(id: SpendApprovalId, approval: &'a SpendApproval, public_url: &str) -> Self {
        Self {
            status: schemas::ApprovalRequiredStatus::ApprovalRequired,
            approval_id: id,
            expires_at: approval.expires_at.into(),
            status_url: format!("{public_url}/get-approval?approval_id={id}"),
            next: approvals::NEXT,
            approval: approval.view(&id),
        }
    }
}

/// Starts a wallet payment, and answers again for one that was started under the same idempotency key.
pub(super) struct PaymentRunner {
    pub(super) owner: Wallet,
    pub(super) engine: Engine,
    pub(super) vault: std::sync::Arc<Vault>,
    pub(super) paid_http_client: std::sync::Arc<AgentWalletClient>,
    pub(super) response_timeout: std::time::Duration,
    pub(super) public_url: String,
}

impl App {
    pub(super) fn payment_runner(&self, owner: Wallet) -> PaymentRunner {
        PaymentRunner {
            owner,
            engine: self.engine.clone(),
            vault: self.vault.clone(),
            paid_http_client: self.paid_http_client.clone(),
            response_timeout: self.wallet_response_timeout(),
            public_url: self.public_url.clone(),
        }
    }
}

impl PaymentRunner {
    /// Reserves the payment and waits for its outcome.
    pub(super) async fn start_payment(
        &self,
        spend: WalletSpend,
        approval: Option<SpendApprovalId>,
        place: Option<IdempotencySlot>,
    ) -> Result<RecordedReply, ApiError> {
        let id = spend.payment;
        let recorder = place.map(|place| entity_recorder::<AgentWallet, WalletPayment>(place, id, payment_error));
        match self
            .engine
            .start_wallet_payment(self.owner, spend, approval, recorder)
            .await
        {
            Ok(()) => self.await_response(id, true).await,
            Err(OperationError::Rejected(why)) => Err(payment_error(&why)),
            Err(OperationError::Specific(SpendNotApproved::Pending(id))) => self.waits_for_owner(id).await,
            Err(OperationError::Specific(why)) => Err(approvals::not_approved(&why)),
            Err(OperationError::AlreadyUsed) => Err(in_progress_response::<()>(&OperationError::AlreadyUsed)),
            Err(OperationError::Unavailable) => Err(in_progress_response::<()>(&OperationError::Unavailable)),
        }
    }

    /// 202 for a spend that waits for the owner. It is not recorded: the same call is made once the owner has approved.
    async fn waits_for_owner(&self, id: SpendApprovalId) -> Result<RecordedReply, ApiError> {
        let found = self.engine.spend_approval(&id).await;
        let approval = found
            .map_err(|_| ApiError::internal())?
            .ok_or_else(ApiError::internal)?;
        Ok(accepted(&ApprovalRequired::of(id, &approval, &self.public_url)))
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

pub(super) async fn render(
    engine: &Engine,
    id: WalletPaymentId,
    spend: &WalletPayment,
    stored: Option<Vec<u8>>,
) -> Result<AgentPaymentResult, ApiError> {
    let response = match (spend.response().filter(|answer| answer.http_status > 0), stored) {
        (Some(answer), Some(body)) => Some(response(answer.http_status, answer.content_type.as_deref(), &body)?),
        _ => None,
    };
    let view = with_hold_reason(
        engine,
        wallet_payment::Job::SendWalletPayment(id).into(),
        JsonObject::of(&spend.view(&id)),
    )
    .await?;
    Ok(AgentPaymentResult {
        status: if spend.is_open() { "pending" } else { spend.status() },
        wallet_payment: Some(in_camel_case(&view)?),
        response,
    })
}

/// Body for a response that was free.
pub(super) fn response_body(status: u16, content_type: Option<&str>, body: &[u8]) -> Result<RecordedReply, ApiError> {
    Ok(reply_verbatim(&AgentPaymentResult {
        status: "free",
        wallet_payment: None,
        response: Some(response(status, content_type, body)?),
    }))
}

fn response(http_status: u16, content_type: Option<&str>, body: &[u8]) -> Result<PaidCallResponse, ApiError> {
    let body = match serde_json::from_slice::<&RawValue>(body) {
        Ok(raw) if serde_json::from_str::<Value>(raw.get()).is_ok() => raw.to_owned(),
        _ => to_raw_value(&String::from_utf8_lossy(body)).map_err(|_| ApiError::internal())?,
    };
    Ok(PaidCallResponse {
        http_status,
        content_type: content_type.map(str::to_owned),
        body,
    })
}
