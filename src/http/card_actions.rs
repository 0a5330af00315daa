//! Pausing, resuming and closing a card of whatever kind that can be charged: `POST /pause-card`, `POST /resume-card` and
//! `POST /close-card`. Whoever made the card does it: an issuer, or for an international card whoever its operators know.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use http::StatusCode;
use purser_actors::card::{self, Card};
use purser_actors::engine::{Engine, OperationError};
use purser_actors::id::CardId;
use purser_actors::intl_order::{self, IntlOrder};
use purser_actors::kernel::JsonObject;
use purser_actors::kernel::idempotency::{CommandResult, IdempotencySlot};
use purser_actors::port::CardAction;
use purser_actors::reloadable_card::{self, ReloadableCard};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::account::{BearerClaims, authenticated_account};
use super::cards::{self, AnyCard};
use super::error::ApiError;
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::reloadable_cards::ReloadableCardState;
use super::{json, schemas};

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(pause_card, resume_card, close_card))]
pub struct ApiDoc;

/// The routes.
pub fn router(state: Arc<ReloadableCardState>) -> Router {
    Router::new()
        .route("/pause-card", post(pause_card))
        .route("/resume-card", post(resume_card))
        .route("/close-card", post(close_card))
        .with_state(state)
}

type SharedState = State<Arc<ReloadableCardState>>;

/// What these routes take.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CardActionRequest {
    /// Of a U.S., an international or a reloadable card.
    card_id: String,
}

/// Pause a card
///
/// Its charges are refused until it is resumed. 202 while whoever made it is asked, an issuer or, for an international card, an
/// operator: `card.paused`, `intl_order.paused` or `reloadable_card.paused` tells that it is done, and until then it can be
/// charged. 200 when it is paused already.
#[utoipa::path(post, path = "/pause-card", tag = "Cards", security(("bearer" = [])), request_body = inline(CardActionRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "It is paused already.", body = schemas::CardActionResponse),
        (status = 202, description = "Whoever made it is asked.", body = schemas::CardActionResponse),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, a frozen account, or a token issued for another payment than bought the card."),
        (status = 404, description = "No such card, or a gift card."),
        (status = 409, description = "It was not made or has ended, something else is asked of it, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now.")))]
async fn pause_card(
    state: SharedState,
    holder: BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    request_action(state, holder, key, body, ("/pause-card", CardAction::Pause)).await
}

/// Resume a card
///
/// 202 while whoever made it is asked: `card.resumed`, `intl_order.resumed` or `reloadable_card.resumed` tells that it is done.
/// 200 when it can be charged already.
#[utoipa::path(post, path = "/resume-card", tag = "Cards", security(("bearer" = [])), request_body = inline(CardActionRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "It can be charged already.", body = schemas::CardActionResponse),
        (status = 202, description = "Whoever made it is asked.", body = schemas::CardActionResponse),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, a frozen account, or a token issued for another payment than bought the card."),
        (status = 404, description = "No such card, or a gift card."),
        (status = 409, description = "It was not made or has ended, something else is asked of it, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now.")))]
async fn resume_card(
    state: SharedState,
    holder: BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    request_action(state, holder, key, body, ("/resume-card", CardAction::Resume)).await
}

/// Close a card
///
/// For good. What is left on a reloadable card goes back to the balance at the card issuer. What is left on any other is for
/// whoever made it to say: once they give it back it is credited to the account balance (`credited_usd_amount` of the card).
/// 202 while they are asked: `card.closed`, `intl_order.closed` or `reloadable_card.closed` tells that it is done.
#[utoipa::path(post, path = "/close-card", tag = "Cards", security(("bearer" = [])), request_body = inline(CardActionRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 202, description = "Whoever made it is asked.", body = schemas::CardActionResponse),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, a frozen account, or a token issued for another payment than bought the card."),
        (status = 404, description = "No such card, or a gift card."),
        (status = 409, description = "It was not made or has ended, something else is asked of it, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now.")))]
async fn close_card(
    state: SharedState,
    holder: BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    request_action(state, holder, key, body, ("/close-card", CardAction::Close)).await
}

async fn request_action(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
    (route, wish): (&'static str, CardAction),
) -> Result<Response, ApiError> {
    let wanted: CardActionRequest = json::read(body, state.max_body_bytes, state.body_timeout).await?;
    authenticated_account(&state.engine, &claims).await?;
    let (steering, caller, named) = (state.clone(), claims.clone(), wanted.card_id.clone());
    key.run(&state.engine, &claims, route, &wanted, move |place| async move {
        let engine = &steering.engine;
        let (id, held) = cards::load_owned_card(engine, &caller, &named).await?;
        cards::require_card_rights(&caller, held.payment(), steering.payment_token_reads_earlier)?;
        let url = steering.status_url(id);
        let asked = RequestedAction { id, action: wish, url };
        match held {
            AnyCard::Usa(_) => asked.request_usa_card(engine, place).await,
            AnyCard::Intl(_) => asked.request_intl_card(engine, place).await,
            AnyCard::Reloadable(_) => asked.request_reloadable_card(engine, place).await,
            AnyCard::Gift(_) => Err(cards::not_found().hint("A gift card is neither paused nor closed.")),
        }
    })
    .await
}

/// A wish for a card.
#[derive(Clone)]
struct RequestedAction {
    id: CardId,
    action: CardAction,
    url: String,
}

/// Why nothing comes of it.
enum ActionRejection {
    /// The state it met.
    InvalidState(&'static str),
    /// Whoever made it is asked for something else.
    Busy(CardAction),
}

impl RequestedAction {
    async fn request_usa_card(
        &self,
        engine: &Engine,
        place: Option<IdempotencySlot>,
    ) -> Result<RecordedReply, ApiError> {
        let not = |why: &card::Rejection| match why {
            card::Rejection::InvalidState(status) => ActionRejection::InvalidState(status),
            card::Rejection::ActionInProgress(other) => ActionRejection::Busy(*other),
            card::Rejection::RefreshInProgress | card::Rejection::RefreshTooSoon { .. } => {
                ActionRejection::InvalidState("being refreshed")
            }
        };
        let memo = place.map(|place| {
            let told = self.clone();
            recorder::<Card>(place, move |said: CommandResult<'_, Card>| {
                told.action_response(said.map(|(asked, _)| *asked), not)
            })
        });
        self.respond(
            engine.request_prepaid_card_action(self.id, self.action, memo).await,
            not,
        )
    }

    async fn request_intl_card(
        &self,
        engine: &Engine,
        place: Option<IdempotencySlot>,
    ) -> Result<RecordedReply, ApiError> {
        let not = |why: &intl_order::Rejection| match why {
            intl_order::Rejection::InvalidState(status) => ActionRejection::InvalidState(status),
            intl_order::Rejection::Lease(_)
            | intl_order::Rejection::Released
            | intl_order::Rejection::Ended
            | intl_order::Rejection::InDoubt => ActionRejection::InvalidState("being worked on"),
        };
        let memo = place.map(|place| {
            let told = self.clone();
            recorder::<IntlOrder>(place, move |said: CommandResult<'_, IntlOrder>| {
                let asked = said.map(|(answer, _)| *answer == intl_order::Reply::ActionRequested(true));
                told.action_response(asked, not)
            })
        });
        self.respond(engine.request_intl_card_action(self.id, self.action, memo).await, not)
    }

    async fn request_reloadable_card(
        &self,
        engine: &Engine,
        place: Option<IdempotencySlot>,
    ) -> Result<RecordedReply, ApiError> {
        let not = |why: &reloadable_card::Rejection| match why {
            reloadable_card::Rejection::InvalidState(status) => ActionRejection::InvalidState(status),
            reloadable_card::Rejection::ActionInProgress(other) => ActionRejection::Busy(*other),
        };
        let memo = place.map(|place| {
            let told = self.clone();
            recorder::<ReloadableCard>(place, move |said: CommandResult<'_, ReloadableCard>| {
                told.action_response(said.map(|(asked, _)| *asked), not)
            })
        });
        self.respond(engine.request_card_action(self.id, self.action, memo).await, not)
    }

    fn respond<R>(
        &self,
        told: Result<bool, OperationError<R>>,
        not: impl Fn(&R) -> ActionRejection,
    ) -> Result<RecordedReply, ApiError> {
        match told {
            Ok(asked) => self.action_response(Ok(asked), not),
            Err(OperationError::Rejected(why)) => self.action_response(Err(&why), not),
            Err(denied) => Err(in_progress_response(&denied)),
        }
    }

    /// As it is sent and remembered. `told` says whether somebody is asked; if not, it is so already.
    fn action_response<R>(
        &self,
        told: Result<bool, &R>,
        not: impl Fn(&R) -> ActionRejection,
    ) -> Result<RecordedReply, ApiError> {
        let conflict = |code, error: String| Err(ApiError::new(StatusCode::CONFLICT, code, error));
        match told.map_err(not) {
            Ok(is_asked) => {
                let body = JsonObject::new()
                    .boolean("success", true)
                    .text("card_id", self.id)
                    .optional_text("requested_action", is_asked.then(|| self.action.name()))
                    .text("status_url", &self.url);
                Ok(if is_asked {
                    RecordedReply::accepted(&body)
                } else {
                    RecordedReply::ok(&body)
                })
            }
            Err(ActionRejection::InvalidState(status)) => conflict("card_not_open", format!("The card is {status}.")),
            Err(ActionRejection::Busy(other)) => conflict(
                "card_action_in_progress",
                format!("Whoever made the card is still asked to {} it.", other.name()),
            ),
        }
    }
}
