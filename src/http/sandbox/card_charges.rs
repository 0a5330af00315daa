//! `POST /sandbox/charge` and `POST /sandbox/charge-outcome`: simulated merchants charge cards of the sandbox issuer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::id::CardId;
use purser_actors::money::Cents;
use purser_actors::port::{ErrorKind, TransactionStatus};
use serde::{Deserialize, Serialize};

use super::SandboxApp;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::readable::is_readable;
use crate::http::route::routes;
#[cfg(feature = "documents")]
use crate::http::schemas::{ChargeOutcome, ChargeStatus};
use crate::provider::sandbox::CardCharge;

routes! { pub static ROUTES: Arc<SandboxApp>, openapi;
    POST "/sandbox/charge" => post_charge { Sandbox, control() }
    POST "/sandbox/charge-outcome" => post_charge_outcome { Sandbox, control() }
}

/// Charge to make.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct ChargeRequest {
    /// Card from `GET /get-card` or `POST /create-reloadable-card`.
    card_id: String,
    /// Name of the merchant, 1 to 60 characters.
    merchant: String,
    /// US dollars as a decimal with at most 2 places, above 0.
    amount: String,
    /// Whether the charge stays `pending` until `POST /sandbox/charge-outcome`. False by default.
    pending: Option<bool>,
}

/// Transaction that the issuer recorded.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ChargeResponse {
    /// Id of the transaction at the issuer.
    transaction_id: String,
    /// `settled`, `pending`, or `declined`.
    #[cfg_attr(feature = "documents", schema(value_type = ChargeStatus))]
    status: &'static str,
    /// Reason of a declined charge: `insufficient_funds`, `card_paused`, `card_closed` or `card_expired`.
    decline_reason: Option<String>,
}

/// Outcome of a charge.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct OutcomeRequest {
    /// Card that was charged.
    card_id: String,
    /// Transaction from `POST /sandbox/charge`.
    transaction_id: String,
    /// `settled` for a pending charge, `refunded` for one that is pending or settled.
    #[cfg_attr(feature = "documents", schema(value_type = ChargeOutcome))]
    status: String,
}

/// Transaction that the issuer recorded.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ChargeOutcomeResponse {
    /// Id of the transaction at the issuer.
    transaction_id: String,
    /// `settled` or `refunded`.
    #[cfg_attr(feature = "documents", schema(value_type = ChargeOutcome))]
    status: &'static str,
}

/// Charge a card as a merchant
///
/// A charge that the card can't pay is declined, and recorded as declined.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/charge", operation_id = "chargeSandboxCard", tag = "Sandbox", request_body = inline(ChargeRequest),
    responses((status = 200, description = "What the issuer wrote down.", body = inline(ChargeResponse)))))]
async fn post_charge(State(state): State<Arc<SandboxApp>>, body: Body) -> Result<Response, ApiError> {
    let request: ChargeRequest = state.shared.body(body).await?;
    let wrong = |param: &'static str, why: &str| {
        let error = format!("`{param}`: {why}.");
        ApiError::parameter(ErrorCode::ParameterInvalid, param, error)
    };
    let card = charged(&state, &request.card_id).await?;
    let card = card.ok_or_else(|| wrong("card_id", "not a card that the issuer has made"))?;
    if !is_readable(&request.merchant, 60) {
        return Err(wrong("merchant", "1 to 60 readable characters"));
    }
    let amount = Cents::parse(&request.amount).map_err(|e| wrong("amount", &e.to_string()))?;
    if amount == Cents::ZERO {
        return Err(wrong("amount", "above 0"));
    }
    let sale = CardCharge {
        merchant: &request.merchant,
        amount,
        settles: !request.pending.unwrap_or(false),
    };
    let charged = match &card {
        ChargeableCard::Prepaid(issuer_ref) => state.shared.providers.issuer.charge(issuer_ref, sale).await,
        ChargeableCard::Reloadable(id) => state.shared.providers.reloadable_cards.charge(*id, sale).await,
    };
    match charged {
        Ok(transaction) => Ok(json::ok(&ChargeResponse {
            transaction_id: transaction.id,
            status: transaction.status.name(),
            decline_reason: transaction.reason,
        })),
        Err(error) if error.kind == ErrorKind::Permanent => Err(wrong("card_id", &error.message)),
        Err(_) => Err(stopped()),
    }
}

fn stopped() -> ApiError {
    ApiError::unavailable(ErrorCode::SandboxUnavailable, "The sandbox has stopped.", 1)
}

/// Settle or refund a charge
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/charge-outcome", operation_id = "setChargeOutcome", tag = "Sandbox", request_body = inline(OutcomeRequest),
    responses((status = 200, description = "What the issuer wrote down.", body = inline(ChargeOutcomeResponse)))))]
async fn post_charge_outcome(State(state): State<Arc<SandboxApp>>, body: Body) -> Result<Response, ApiError> {
    let request: OutcomeRequest = state.shared.body(body).await?;
    let wrong = |param: &'static str, why: &str| {
        let error = format!("`{param}`: {why}.");
        ApiError::parameter(ErrorCode::ParameterInvalid, param, error)
    };
    let status = match request.status.as_str() {
        "settled" => TransactionStatus::Settled,
        "refunded" => TransactionStatus::Refunded,
        _ => return Err(wrong("status", "`settled` or `refunded`")),
    };
    let card = charged(&state, &request.card_id).await?;
    let card = card.ok_or_else(|| wrong("card_id", "not a card that the issuer has made"))?;
    let id = &request.transaction_id;
    let ended = match &card {
        ChargeableCard::Prepaid(issuer_ref) => state.shared.providers.issuer.end_charge(issuer_ref, id, status).await,
        ChargeableCard::Reloadable(card) => {
            state
                .shared
                .providers
                .reloadable_cards
                .end_charge(*card, id, status)
                .await
        }
    };
    match ended {
        Ok(()) => Ok(json::ok(&ChargeOutcomeResponse {
            transaction_id: request.transaction_id,
            status: status.name(),
        })),
        Err(error) if error.kind == ErrorKind::Permanent => Err(wrong("transaction_id", &error.message)),
        Err(_) => Err(stopped()),
    }
}

/// A card, as its issuer knows it.
enum ChargeableCard {
    Prepaid(String),
    Reloadable(CardId),
}

async fn charged(state: &SandboxApp, text: &str) -> Result<Option<ChargeableCard>, ApiError> {
    let Ok(id) = text.parse::<CardId>() else {
        return Ok(None);
    };
    let card = state.engine.card(&id).await.map_err(|_| ApiError::internal())?;
    if let Some(details) = card.as_ref().and_then(|card| card.details()) {
        return Ok(Some(ChargeableCard::Prepaid(details.issuer_ref.clone())));
    }
    let card = state.engine.reloadable(&id).await.map_err(|_| ApiError::internal())?;
    let issued = card.is_some_and(|card| card.details().is_some());
    Ok(issued.then_some(ChargeableCard::Reloadable(id)))
}
