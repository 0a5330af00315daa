//! Pausing, resuming and closing cards that can be charged: `POST /pause-card`, `POST /resume-card` and `POST
//! /close-card`. The card issuer executes the action. For an international card, operators do so at its issuer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::engine::{Engine, OperationError};
use purser_actors::entity::card::{self, Card};
use purser_actors::entity::intl_order::{self, IntlOrder};
use purser_actors::entity::reloadable_card::{self, ReloadableCard};
use purser_actors::id::CardId;
use purser_actors::kernel::idempotency::{CommandResult, IdempotencySlot};
use purser_actors::port::CardAction;
use serde::{Deserialize, Serialize};

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::cards::{self, AnyCard};
use super::error::{ApiError, ErrorCode};
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/pause-card" => pause_card {
        Token, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, BodyMalformed, ParameterMissing, AccountFrozen, IdempotencyKeyReused,
            CardNotFound, CardAccessDenied, SignInRequired, CardNotOpen,
        ]
    }
    POST "/resume-card" => resume_card { Token, keyed() }
    POST "/close-card" => close_card { Token, keyed() }
}

type SharedState = State<Arc<App>>;

/// Request of these routes.
#[derive(Deserialize, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct CardActionRequest {
    /// U.S., international or reloadable card.
    card_id: String,
}

/// Response to a card action.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CardActionResponse {
    /// Always true on success.
    success: bool,
    /// Id of the card.
    card_id: CardId,
    /// `pause`, `resume` or `close` was sent to the issuer. Null if the card already has that status.
    #[cfg_attr(feature = "documents", schema(required, value_type = Option<schemas::CardAction>))]
    requested_action: Option<&'static str>,
    /// URL to poll for its status.
    status_url: String,
}

/// Pause a card
///
/// Charges are declined until the card is resumed. Answers 202 while the issuer, or an operator for an international
/// card, carries it out. Then `card.paused`, `intl_order.paused` or `reloadable_card.paused` follows. Until then the
/// card can be charged. Answers 200 if the card is already paused.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/pause-card", operation_id = "pauseCard", tag = "Cards", security(("bearer" = [])), request_body = inline(CardActionRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "It is paused already.", body = CardActionResponse),
        (status = 202, description = "The action was sent to the card issuer.", body = CardActionResponse),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, a frozen account, or a token issued for another payment than bought the card."),
        (status = 404, description = "No such card, or a gift card."),
        (status = 409, description = "It was not made or has ended, something else is asked of it, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now."))))]
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
/// Answers 202 while the issuer or an operator carries it out. Then `card.resumed`, `intl_order.resumed` or
/// `reloadable_card.resumed` follows. Answers 200 if the card can already be charged.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/resume-card", operation_id = "resumeCard", tag = "Cards", security(("bearer" = [])), request_body = inline(CardActionRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "It can be charged already.", body = CardActionResponse),
        (status = 202, description = "The action was sent to the card issuer.", body = CardActionResponse),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, a frozen account, or a token issued for another payment than bought the card."),
        (status = 404, description = "No such card, or a gift card."),
        (status = 409, description = "It was not made or has ended, something else is asked of it, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now."))))]
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
/// A closed card can't be reopened. The remainder of a reloadable card returns to the balance at the card issuer. The
/// remainder of other cards is credited to the account balance once the issuer releases it (`credited_usd_amount` of
/// the card). Answers 202 while the issuer or an operator carries it out. Then `card.closed`, `intl_order.closed` or
/// `reloadable_card.closed` follows.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/close-card", operation_id = "closeCard", tag = "Cards", security(("bearer" = [])), request_body = inline(CardActionRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 202, description = "The action was sent to the card issuer.", body = CardActionResponse),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, a frozen account, or a token issued for another payment than bought the card."),
        (status = 404, description = "No such card, or a gift card."),
        (status = 409, description = "It was not made or has ended, something else is asked of it, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now."))))]
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
    (route, action): (&'static str, CardAction),
) -> Result<Response, ApiError> {
    let request: CardActionRequest = state.body(body).await?;
    refuse_frozen(&state.engine, &claims).await?;
    let (running, caller, named) = (state.clone(), claims.clone(), request.card_id.clone());
    key.run(&state.engine, &claims, route, &request, move |place| async move {
        let engine = &running.engine;
        let (id, held) = cards::load_owned_card(engine, &caller, &named).await?;
        cards::require_card_rights(
            &caller,
            held.payment(),
            running.config.identity.payment_token_can_read_cards,
        )?;
        let url = running.status_url(id);
        let asked = RequestedAction { id, action, url };
        match held {
            AnyCard::Usa(_) => asked.request_usa_card(engine, place).await,
            AnyCard::Intl(_) => asked.request_intl_card(engine, place).await,
            AnyCard::Reloadable(_) => asked.request_reloadable_card(engine, place).await,
            AnyCard::Gift(_) => Err(cards::not_found().hint("A gift card is neither paused nor closed.")),
        }
    })
    .await
}

#[derive(Clone)]
struct RequestedAction {
    id: CardId,
    action: CardAction,
    url: String,
}

/// Why an action is rejected.
enum ActionRejection {
    /// Status of the card that does not permit the action.
    InvalidState(&'static str),
    /// The issuer has not answered this earlier action yet.
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
        let recorder = place.map(|place| {
            let requested = self.clone();
            recorder::<Card>(place, move |result: CommandResult<'_, Card>| {
                requested.action_response(result.map(|(is_requested, _)| *is_requested), not)
            })
        });
        self.respond(
            engine.request_prepaid_card_action(self.id, self.action, recorder).await,
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
        let recorder = place.map(|place| {
            let requested = self.clone();
            recorder::<IntlOrder>(place, move |result: CommandResult<'_, IntlOrder>| {
                let is_requested = result.map(|(answer, _)| *answer == intl_order::Reply::ActionRequested(true));
                requested.action_response(is_requested, not)
            })
        });
        self.respond(
            engine.request_intl_card_action(self.id, self.action, recorder).await,
            not,
        )
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
        let recorder = place.map(|place| {
            let requested = self.clone();
            recorder::<ReloadableCard>(place, move |result: CommandResult<'_, ReloadableCard>| {
                requested.action_response(result.map(|(is_requested, _)| *is_requested), not)
            })
        });
        self.respond(engine.request_card_action(self.id, self.action, recorder).await, not)
    }

    fn respond<R>(
        &self,
        result: Result<bool, OperationError<R>>,
        not: impl Fn(&R) -> ActionRejection,
    ) -> Result<RecordedReply, ApiError> {
        match result {
            Ok(is_requested) => self.action_response(Ok(is_requested), not),
            Err(OperationError::Rejected(why)) => self.action_response(Err(&why), not),
            Err(denied) => Err(in_progress_response(&denied)),
        }
    }

    /// The response, as sent and recorded. `result` is true if the issuer was asked, and false if the card already has
    /// the requested status.
    fn action_response<R>(
        &self,
        result: Result<bool, &R>,
        not: impl Fn(&R) -> ActionRejection,
    ) -> Result<RecordedReply, ApiError> {
        let conflict = |code, error: String| Err(ApiError::new(code, error));
        match result.map_err(not) {
            Ok(is_requested) => {
                let body = CardActionResponse {
                    success: true,
                    card_id: self.id,
                    requested_action: is_requested.then(|| self.action.name()),
                    status_url: self.url.clone(),
                };
                Ok(if is_requested {
                    RecordedReply::accepted(&body)
                } else {
                    RecordedReply::ok(&body)
                })
            }
            Err(ActionRejection::InvalidState(status)) => {
                conflict(ErrorCode::CardNotOpen, format!("The card is {status}."))
            }
            Err(ActionRejection::Busy(other)) => conflict(
                ErrorCode::CardActionInProgress,
                format!(
                    "The card issuer has not answered the request to {} it yet.",
                    other.name()
                ),
            ),
        }
    }
}
