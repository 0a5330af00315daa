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
use purser_actors::engine::{Denied, Engine};
use purser_actors::id::CardId;
use purser_actors::intl_order::{self, IntlOrder};
use purser_actors::kernel::View;
use purser_actors::kernel::memo::{Place, Told};
use purser_actors::port::Wish;
use purser_actors::reloadable::{self, Reloadable};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::account::{Holder, active};
use super::cards::{self, Held};
use super::error::ApiError;
use super::idempotency::{Key, Reply, memo, undecided};
use super::reloadables::Reloadables;
use super::{json, shapes};

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(pause_card, resume_card, close_card))]
pub struct Api;

/// The routes.
pub fn router(state: Arc<Reloadables>) -> Router {
    Router::new()
        .route("/pause-card", post(pause_card))
        .route("/resume-card", post(resume_card))
        .route("/close-card", post(close_card))
        .with_state(state)
}

type Shared = State<Arc<Reloadables>>;

/// What these routes take.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Of a U.S., an international or a reloadable card.
    card_id: String,
}

/// Pause a card
///
/// Its charges are refused until it is resumed. 202 while whoever made it is asked, an issuer or, for an international card, an
/// operator: `card.paused`, `intl_order.paused` or `reloadable_card.paused` tells that it is done, and until then it can be
/// charged. 200 when it is paused already.
#[utoipa::path(post, path = "/pause-card", tag = "Cards", security(("bearer" = [])), request_body = inline(Which),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "It is paused already.", body = shapes::CardSteered),
        (status = 202, description = "Whoever made it is asked.", body = shapes::CardSteered),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, a frozen account, or a token issued for another payment than bought the card."),
        (status = 404, description = "No such card, or a gift card."),
        (status = 409, description = "It was not made or has ended, something else is asked of it, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now.")))]
async fn pause_card(state: Shared, holder: Holder, key: Key, body: Body) -> Result<Response, ApiError> {
    steer(state, holder, key, body, ("/pause-card", Wish::Pause)).await
}

/// Resume a card
///
/// 202 while whoever made it is asked: `card.resumed`, `intl_order.resumed` or `reloadable_card.resumed` tells that it is done.
/// 200 when it can be charged already.
#[utoipa::path(post, path = "/resume-card", tag = "Cards", security(("bearer" = [])), request_body = inline(Which),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "It can be charged already.", body = shapes::CardSteered),
        (status = 202, description = "Whoever made it is asked.", body = shapes::CardSteered),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, a frozen account, or a token issued for another payment than bought the card."),
        (status = 404, description = "No such card, or a gift card."),
        (status = 409, description = "It was not made or has ended, something else is asked of it, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now.")))]
async fn resume_card(state: Shared, holder: Holder, key: Key, body: Body) -> Result<Response, ApiError> {
    steer(state, holder, key, body, ("/resume-card", Wish::Resume)).await
}

/// Close a card
///
/// For good. What is left on a reloadable card goes back to the balance at the card issuer. What is left on any other is for
/// whoever made it to say: once they give it back it is credited to the account balance (`credited_usd_amount` of the card).
/// 202 while they are asked: `card.closed`, `intl_order.closed` or `reloadable_card.closed` tells that it is done.
#[utoipa::path(post, path = "/close-card", tag = "Cards", security(("bearer" = [])), request_body = inline(Which),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 202, description = "Whoever made it is asked.", body = shapes::CardSteered),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, a frozen account, or a token issued for another payment than bought the card."),
        (status = 404, description = "No such card, or a gift card."),
        (status = 409, description = "It was not made or has ended, something else is asked of it, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now.")))]
async fn close_card(state: Shared, holder: Holder, key: Key, body: Body) -> Result<Response, ApiError> {
    steer(state, holder, key, body, ("/close-card", Wish::Close)).await
}

async fn steer(
    State(state): Shared,
    Holder(claims): Holder,
    key: Key,
    body: Body,
    (route, wish): (&'static str, Wish),
) -> Result<Response, ApiError> {
    let wanted: Which = json::read(body, state.max_body_bytes, state.body_timeout).await?;
    active(&state.engine, &claims).await?;
    let (steering, caller, named) = (state.clone(), claims.clone(), wanted.card_id.clone());
    key.once(&state.engine, &claims, route, &wanted, move |place| async move {
        let engine = &steering.engine;
        let (id, held) = cards::own_card(engine, &caller, &named).await?;
        cards::may_steer(&caller, held.payment(), steering.payment_token_reads_earlier)?;
        let url = steering.status_url(id);
        let asked = Asked { id, wish, url };
        match held {
            Held::Usa(_) => asked.of_usa(engine, place).await,
            Held::Intl(_) => asked.of_intl(engine, place).await,
            Held::Reloadable(_) => asked.of_reloadable(engine, place).await,
            Held::Gift(_) => Err(cards::unknown().hint("A gift card is neither paused nor closed.")),
        }
    })
    .await
}

/// A wish for a card.
#[derive(Clone)]
struct Asked {
    id: CardId,
    wish: Wish,
    url: String,
}

/// Why nothing comes of it.
enum Not {
    /// The state it met.
    Open(&'static str),
    /// Whoever made it is asked for something else.
    Busy(Wish),
}

impl Asked {
    async fn of_usa(&self, engine: &Engine, place: Option<Place>) -> Result<Reply, ApiError> {
        let not = |why: &card::Rejection| match why {
            card::Rejection::State(status) => Not::Open(status),
            card::Rejection::Busy(other) => Not::Busy(*other),
            card::Rejection::Refreshing | card::Rejection::TooOften { .. } => Not::Open("being refreshed"),
        };
        let memo = place.map(|place| {
            let told = self.clone();
            memo::<Card>(place, move |said: Told<'_, Card>| {
                told.answer(said.map(|(asked, _)| *asked), not)
            })
        });
        self.told(engine.steer_card(self.id, self.wish, memo).await, not)
    }

    async fn of_intl(&self, engine: &Engine, place: Option<Place>) -> Result<Reply, ApiError> {
        let not = |why: &intl_order::Rejection| match why {
            intl_order::Rejection::State(status) => Not::Open(status),
            intl_order::Rejection::Lease(_)
            | intl_order::Rejection::Released
            | intl_order::Rejection::Ended
            | intl_order::Rejection::InDoubt => Not::Open("being worked on"),
        };
        let memo = place.map(|place| {
            let told = self.clone();
            memo::<IntlOrder>(place, move |said: Told<'_, IntlOrder>| {
                let asked = said.map(|(answer, _)| *answer == intl_order::Answer::Asked(true));
                told.answer(asked, not)
            })
        });
        self.told(engine.steer_intl(self.id, self.wish, memo).await, not)
    }

    async fn of_reloadable(&self, engine: &Engine, place: Option<Place>) -> Result<Reply, ApiError> {
        let not = |why: &reloadable::Rejection| match why {
            reloadable::Rejection::State(status) => Not::Open(status),
            reloadable::Rejection::Busy(other) => Not::Busy(*other),
        };
        let memo = place.map(|place| {
            let told = self.clone();
            memo::<Reloadable>(place, move |said: Told<'_, Reloadable>| {
                told.answer(said.map(|(asked, _)| *asked), not)
            })
        });
        self.told(engine.steer_reloadable(self.id, self.wish, memo).await, not)
    }

    fn told<R>(&self, told: Result<bool, Denied<R>>, not: impl Fn(&R) -> Not) -> Result<Reply, ApiError> {
        match told {
            Ok(asked) => self.answer(Ok(asked), not),
            Err(Denied::Rejected(why)) => self.answer(Err(&why), not),
            Err(denied) => Err(undecided(&denied)),
        }
    }

    /// As it is sent and remembered. `told` says whether somebody is asked; if not, it is so already.
    fn answer<R>(&self, told: Result<bool, &R>, not: impl Fn(&R) -> Not) -> Result<Reply, ApiError> {
        let conflict = |code, error: String| Err(ApiError::new(StatusCode::CONFLICT, code, error));
        match told.map_err(not) {
            Ok(is_asked) => {
                let body = View::new()
                    .flag("success", true)
                    .text("card_id", self.id)
                    .maybe("requested", is_asked.then(|| self.wish.name()))
                    .text("status_url", &self.url);
                Ok(if is_asked {
                    Reply::accepted(&body)
                } else {
                    Reply::ok(&body)
                })
            }
            Err(Not::Open(status)) => conflict("card_not_open", format!("The card is {status}.")),
            Err(Not::Busy(other)) => conflict(
                "card_busy",
                format!("Whoever made the card is still asked to {} it.", other.name()),
            ),
        }
    }
}
