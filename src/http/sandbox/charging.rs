//! `POST /sandbox/charge`: a merchant charges a card of the sandbox's issuer.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use purser_actors::engine::Engine;
use purser_actors::id::CardId;
use purser_actors::money::Cents;
use purser_actors::port::ErrorKind;
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::is_readable;
use crate::provider::sandbox::SandboxIssuer;
use crate::provider::sandbox::balances::SandboxBalances;
use crate::provider::sandbox::program::SandboxProgram;

/// What the route needs.
pub struct Charging {
    /// Knows which card the issuer made.
    pub engine: Engine,
    /// Keeps what is spent.
    pub issuer: Arc<SandboxIssuer>,
    /// Keeps reloadable cards, and what is spent with them.
    pub program: Arc<SandboxProgram<SandboxBalances>>,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

/// The operation of this room.
#[derive(OpenApi)]
#[openapi(paths(post_charge))]
pub struct Api;

/// The route.
pub fn router(state: Arc<Charging>) -> Router {
    Router::new()
        .route("/sandbox/charge", post(post_charge))
        .with_state(state)
}

/// What is bought.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ChargeRequest {
    /// From `GET /get-card` or `POST /create-reloadable-card`.
    card_id: String,
    /// In the merchant's own words, 1 to 60 characters.
    merchant: String,
    /// Decimal US dollars with at most 2 places, at most what is left on the card.
    amount: String,
}

/// What the issuer wrote down.
#[derive(Serialize, ToSchema)]
struct Charged {
    /// The issuer's name of it.
    transaction_id: String,
}

/// Spend with a card, as a merchant would have it charged
#[utoipa::path(post, path = "/sandbox/charge", tag = "Sandbox", request_body = inline(ChargeRequest),
    responses((status = 200, description = "What the issuer wrote down.", body = inline(Charged))))]
async fn post_charge(State(state): State<Arc<Charging>>, body: Body) -> Result<Response, ApiError> {
    let request: ChargeRequest = json::read(body, state.max_body_bytes, state.body_timeout).await?;
    let wrong = |param: &'static str, why: &str| {
        let error = format!("`{param}`: {why}.");
        ApiError::parameter("parameter_invalid", param, error)
    };
    let card = charged(&state, &request.card_id).await?;
    let card = card.ok_or_else(|| wrong("card_id", "not a card that the issuer has made"))?;
    if !is_readable(&request.merchant, 60) {
        return Err(wrong("merchant", "1 to 60 readable characters"));
    }
    let amount = Cents::parse(&request.amount).map_err(|e| wrong("amount", &e.to_string()))?;
    let charged = match &card {
        Chargeable::Prepaid(issuer_ref) => state.issuer.charge(issuer_ref, &request.merchant, amount).await,
        Chargeable::Reloadable(id) => state.program.charge(*id, &request.merchant, amount).await,
    };
    match charged {
        Ok(transaction) => Ok(json::ok(&Charged {
            transaction_id: transaction.id,
        })),
        Err(error) if error.kind == ErrorKind::Permanent => Err(wrong("amount", &error.message)),
        Err(_) => Err(ApiError::unavailable("sandbox_stopped", "The sandbox has stopped.", 1)),
    }
}

/// A card, as whoever issued it knows it.
enum Chargeable {
    Prepaid(String),
    Reloadable(CardId),
}

async fn charged(state: &Charging, text: &str) -> Result<Option<Chargeable>, ApiError> {
    let Ok(id) = text.parse::<CardId>() else {
        return Ok(None);
    };
    let card = state.engine.card(&id).await.map_err(|_| ApiError::internal())?;
    if let Some(details) = card.as_ref().and_then(|card| card.details()) {
        return Ok(Some(Chargeable::Prepaid(details.issuer_ref.clone())));
    }
    let card = state.engine.reloadable(&id).await.map_err(|_| ApiError::internal())?;
    let issued = card.is_some_and(|card| card.details().is_some());
    Ok(issued.then_some(Chargeable::Reloadable(id)))
}
