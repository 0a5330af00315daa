//! `POST /refresh-card-data`: has the issuer asked what became of a card's money.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use http::StatusCode;
use purser_actors::card::{Card, Rejection};
use purser_actors::engine::{Engine, OperationError};
use purser_actors::id::CardId;
use purser_actors::kernel::JsonObject;
use purser_actors::kernel::idempotency::CommandResult;
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::account::{BearerClaims, authenticated_account};
use super::error::ApiError;
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::{cards, json, schemas};

/// What the route needs.
pub struct CardRefreshState {
    /// Answers.
    pub engine: Engine,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

/// The operation of this room.
#[derive(OpenApi)]
#[openapi(paths(refresh_card_data))]
pub struct ApiDoc;

/// The route.
pub fn router(state: Arc<CardRefreshState>) -> Router {
    Router::new()
        .route("/refresh-card-data", post(refresh_card_data))
        .with_state(state)
}

/// What `POST /refresh-card-data` takes.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RefreshCardRequest {
    /// A card from `GET /get-card` that is `ready`.
    card_id: String,
}

/// Ask the issuer for news of a card
///
/// What was spent shows in `GET /get-card-data` a moment later: `refreshing` tells whether the answer is still under way. At
/// most one refresh in 5 minutes and 12 in any 24 hours for each card.
#[utoipa::path(post, path = "/refresh-card-data", tag = "Cards", security(("bearer" = [])), request_body = inline(RefreshCardRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "The issuer is asked.", body = schemas::RefreshCardResponse),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, or a frozen account."),
        (status = 404, description = "No such card."),
        (status = 409, description = "The answer to an earlier refresh is still under way, the card is not `ready`, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many refreshes of this card, or too many requests: `Retry-After` says when."),
        (status = 503, description = "Not now.")))]
async fn refresh_card_data(
    State(state): State<Arc<CardRefreshState>>,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let wanted: RefreshCardRequest = json::read(body, state.max_body_bytes, state.body_timeout).await?;
    authenticated_account(&state.engine, &claims).await?;
    let (engine, caller, named) = (state.engine.clone(), claims.clone(), wanted.card_id.clone());
    key.run(
        &state.engine,
        &claims,
        "/refresh-card-data",
        &wanted,
        move |place| async move {
            let id: CardId = cards::load_owned_usa_card(&engine, &caller, &named).await?;
            let memo = place.map(|place| {
                recorder::<Card>(place, move |told: CommandResult<'_, Card>| {
                    refresh_response(told.map(drop))
                })
            });
            match engine.refresh_card(id, memo).await {
                Ok(()) => refresh_response(Ok(())),
                Err(OperationError::Rejected(why)) => refresh_response(Err(&why)),
                Err(denied) => Err(in_progress_response(&denied)),
            }
        },
    )
    .await
}

/// As it is sent and remembered.
fn refresh_response(told: Result<(), &Rejection>) -> Result<RecordedReply, ApiError> {
    let conflict = |code, error: &'static str| Err(ApiError::new(StatusCode::CONFLICT, code, error));
    match told {
        Ok(()) => Ok(RecordedReply::ok(
            &JsonObject::new()
                .boolean("success", true)
                .text("message", "The issuer is asked. GET /get-card-data shows what it says."),
        )),
        Err(Rejection::RefreshInProgress) => conflict("refresh_in_progress", "The issuer is being asked already."),
        Err(Rejection::InvalidState(_) | Rejection::ActionInProgress(_)) => conflict(
            "card_not_ready",
            "Only a card that is ready or paused can be refreshed.",
        ),
        Err(Rejection::RefreshTooSoon { wait_ms }) => Err(ApiError::rate_limited(wait_ms.div_ceil(1_000))),
    }
}
