//! `POST /refresh-card-data`: requests current data of a card from the issuer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::engine::OperationError;
use purser_actors::entity::card::{Card, Rejection};
use purser_actors::id::CardId;
use purser_actors::kernel::idempotency::CommandResult;
use serde::{Deserialize, Serialize};

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::cards;
use super::error::{ApiError, ErrorCode};
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::route::routes;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/refresh-card-data" => refresh_card_data {
        Token, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, BodyMalformed, ParameterMissing, AccountFrozen, CardNotFound,
            CardAccessDenied, CardNotReady,
        ]
    }
}

/// Request of `POST /refresh-card-data`.
#[derive(Deserialize, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct RefreshCardRequest {
    /// Card from `GET /get-card` that is `ready`.
    card_id: String,
}

/// A refresh that was started.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct RefreshCardResponse {
    /// Always true on success.
    success: bool,
    /// Message for people.
    message: &'static str,
}

/// Refresh a card from the issuer
///
/// New transactions appear in `GET /get-card-data` a moment later. `refreshing` is true while the request is in
/// progress. At most one refresh in 5 minutes and 12 in any 24 hours per card.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/refresh-card-data", operation_id = "refreshCardData", tag = "Cards", security(("bearer" = [])), request_body = inline(RefreshCardRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "The issuer is asked.", body = RefreshCardResponse),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, or a frozen account."),
        (status = 404, description = "No such card."),
        (status = 409, description = "An earlier refresh is still in progress, the card is not `ready`, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many refreshes of this card, or too many requests: `Retry-After` says when."),
        (status = 503, description = "Not now."))))]
async fn refresh_card_data(
    State(state): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let request: RefreshCardRequest = state.body(body).await?;
    refuse_frozen(&state.engine, &claims).await?;
    let (engine, caller, named) = (state.engine.clone(), claims.clone(), request.card_id.clone());
    key.run(
        &state.engine,
        &claims,
        "/refresh-card-data",
        &request,
        move |place| async move {
            let id: CardId = cards::load_owned_usa_card(&engine, &caller, &named).await?;
            let recorder = place.map(|place| {
                recorder::<Card>(place, move |result: CommandResult<'_, Card>| {
                    refresh_response(result.map(drop))
                })
            });
            match engine.refresh_card(id, recorder).await {
                Ok(()) => refresh_response(Ok(())),
                Err(OperationError::Rejected(why)) => refresh_response(Err(&why)),
                Err(denied) => Err(in_progress_response(&denied)),
            }
        },
    )
    .await
}

/// The response, as sent and recorded.
fn refresh_response(result: Result<(), &Rejection>) -> Result<RecordedReply, ApiError> {
    let conflict = |code, error: &'static str| Err(ApiError::new(code, error));
    match result {
        Ok(()) => Ok(RecordedReply::ok(&RefreshCardResponse {
            success: true,
            message: "The issuer is asked. GET /get-card-data shows what it says.",
        })),
        Err(Rejection::RefreshInProgress) => {
            conflict(ErrorCode::RefreshInProgress, "The issuer is being asked already.")
        }
        Err(Rejection::InvalidState(_) | Rejection::ActionInProgress(_)) => conflict(
            ErrorCode::CardNotReady,
            "Only a card that is ready or paused can be refreshed.",
        ),
        Err(Rejection::RefreshTooSoon { wait_ms }) => Err(ApiError::rate_limited(wait_ms.div_ceil(1_000))),
    }
}
