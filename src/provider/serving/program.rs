//! Reloadable cards, and what is set aside of holders' balances.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use purser_actors::id::EffectId;
use purser_actors::port::SteerCard;
use utoipa::OpenApi;

use super::{Answered, Body, Key, MOST_WORDS, Query, Refused, Since, answered, not_found};
use crate::provider::Providers;
use crate::provider::program::Program;
use crate::provider::wire::cards::Cvv;
use crate::provider::wire::program::{
    CardAvailable, CardStanding, CardWords, ReloadableAnswer, ReloadableOrder, WishAnswer, WishOrder,
};
use crate::provider::wire::reservations::{
    ReservationAnswer, ReservationEnd, ReservationEnded, ReservationOrder, ReservationStanding,
};
use crate::provider::wire::{Amount, Code, Hidden, Text};

type Served = State<Arc<dyn Program>>;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/reloadable-cards", post(open_reloadable_card))
        .route("/reloadable-cards/{reference}", get(reloadable_card))
        .route("/reloadable-cards/{reference}/cvv", get(reloadable_card_cvv))
        .route("/reloadable-cards/{reference}/wishes", post(wish_of_card))
        .route("/card-words", get(card_words))
        .route("/balance-reservations", post(reserve_balance))
        .route("/balance-reservations/{key}", get(balance_reservation))
        .route("/balance-reservations/{key}/end", post(end_reservation))
        .with_state(providers.program.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(
        open_reloadable_card,
        reloadable_card,
        reloadable_card_cvv,
        wish_of_card,
        card_words,
        reserve_balance,
        balance_reservation,
        end_reservation
    ))]
    struct ReloadableCards;
    ReloadableCards::openapi()
}

/// Opens a card that is loaded from its holder's balance, or asks after it; the balance is judged and taken from at once
#[utoipa::path(post, path = "/v1/reloadable-cards", tag = "reloadable cards", request_body = ReloadableOrder,
    params(("Idempotency-Key" = String, Header, description = "The same key never takes from the balance twice.")),
    responses((status = 200, description = "What became of the order.", body = ReloadableAnswer)))]
async fn open_reloadable_card(
    State(program): Served,
    Key(key): Key,
    Body(order): Body<ReloadableOrder>,
) -> Answered<ReloadableAnswer> {
    let said = program.open(&order.read(key)).await?;
    answered(ReloadableAnswer::of(order, said))
}

/// What can be spent with a card now
#[utoipa::path(get, path = "/v1/reloadable-cards/{reference}", tag = "reloadable cards",
    params(("reference" = String, Path, description = "The issuer's name of the card.")),
    responses((status = 200, description = "What is left on it.", body = CardAvailable)))]
async fn reloadable_card(State(program): Served, Path(reference): Path<String>) -> Answered<CardAvailable> {
    let available = program.available(&reference).await.map_err(not_found)?;
    let available = Text(Amount(available));
    answered(CardAvailable { reference, available })
}

/// A card's security code
#[utoipa::path(get, path = "/v1/reloadable-cards/{reference}/cvv", tag = "reloadable cards",
    params(("reference" = String, Path, description = "The issuer's name of the card.")),
    responses((status = 200, description = "The code.", body = Cvv)))]
async fn reloadable_card_cvv(State(program): Served, Path(reference): Path<String>) -> Answered<Cvv> {
    let cvv = program.cvv(&reference).await.map_err(not_found)?;
    answered(Cvv { cvv: Hidden(cvv) })
}

/// Does what a holder wants of a card, if it still can be done; the same key is carried out once, whatever came after it
#[utoipa::path(post, path = "/v1/reloadable-cards/{reference}/wishes", tag = "reloadable cards", request_body = WishOrder,
    params(("reference" = String, Path, description = "The issuer's name of the card."),
        ("Idempotency-Key" = String, Header, description = "The same key is the same wish.")),
    responses((status = 200, description = "How the card stands.", body = WishAnswer)))]
async fn wish_of_card(
    State(program): Served,
    Path(issuer_ref): Path<String>,
    Key(key): Key,
    Body(order): Body<WishOrder>,
) -> Answered<WishAnswer> {
    let card = order.card_id.0;
    let wish = order.wish.into();
    let order = SteerCard {
        key,
        card,
        issuer_ref,
        wish,
    };
    let standing = CardStanding::of(card, program.steer(&order).await?);
    let key = key.to_string();
    answered(WishAnswer { key, standing })
}

/// What became of any card since: charges come when nobody asks
#[utoipa::path(get, path = "/v1/card-words", tag = "reloadable cards", params(Since),
    responses((status = 200, description = "Words in the order in which they were told.", body = CardWords)))]
async fn card_words(State(program): Served, Query(since): Query<Since>) -> Answered<CardWords> {
    let told = program.told(since.after, since.limit.min(MOST_WORDS)).await?;
    answered(CardWords::of(told))
}

/// Sets part of a balance aside, or asks after it
#[utoipa::path(post, path = "/v1/balance-reservations", tag = "reloadable cards", request_body = ReservationOrder,
    params(("Idempotency-Key" = String, Header, description = "The same key never sets aside twice; it is the reservation's name.")),
    responses((status = 200, description = "What became of it.", body = ReservationAnswer)))]
async fn reserve_balance(
    State(program): Served,
    Key(key): Key,
    Body(order): Body<ReservationOrder>,
) -> Answered<ReservationAnswer> {
    let said = program.reserve(&order.read(key)).await?;
    answered(ReservationAnswer::of(order, said))
}

/// How what was set aside under a key stands; it only reads
#[utoipa::path(get, path = "/v1/balance-reservations/{key}", tag = "reloadable cards",
    params(("key" = String, Path, description = "The key that the reservation was made with.")),
    responses((status = 200, description = "How it stands; `never` is as final as any no.", body = ReservationStanding)))]
async fn balance_reservation(State(program): Served, Path(name): Path<String>) -> Answered<ReservationStanding> {
    let malformed = |_| Refused::new(Code::InvalidRequest, "the path names no key");
    let key: EffectId = name.parse().map_err(malformed)?;
    answered(ReservationStanding::of(key, program.reservation(key).await?))
}

/// Ends a reservation for good: paid out, or the balance's again
#[utoipa::path(post, path = "/v1/balance-reservations/{key}/end", tag = "reloadable cards", request_body = ReservationEnd,
    params(("key" = String, Path, description = "The key that the reservation was made with."),
        ("Idempotency-Key" = String, Header, description = "The same.")),
    responses((status = 200, description = "How it has ended.", body = ReservationEnded)))]
async fn end_reservation(
    State(program): Served,
    Path(name): Path<String>,
    Key(key): Key,
    Body(end): Body<ReservationEnd>,
) -> Answered<ReservationEnded> {
    if name != key.to_string() {
        return Err(Refused::new(Code::InvalidRequest, "the path names another reservation"));
    }
    program.end_reservation(key, end.paid).await?;
    let paid = end.paid;
    answered(ReservationEnded { key: name, paid })
}
