//! Cards.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use purser_actors::port::{IssueCard, SteerCard};
use utoipa::OpenApi;

use super::{Answered, Body, Key, MOST_WORDS, Query, Since, answered, not_found};
use crate::provider::wire::Hidden;
use crate::provider::wire::cards::{BillingAddress, CardAnswer, CardOrder, CardReport, Cvv};
use crate::provider::wire::program::{CardStanding, CardWords, WishAnswer, WishOrder};
use crate::provider::{Issuer, Providers};

type Served = State<Arc<dyn Issuer>>;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/cards", post(order_card))
        .route("/cards/{reference}", get(card_report))
        .route("/cards/{reference}/cvv", get(card_cvv))
        .route("/cards/{reference}/wishes", post(wish_of_prepaid_card))
        .route("/prepaid-card-words", get(prepaid_card_words))
        .route("/billing-address", get(billing_address))
        .with_state(providers.issuer.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(
        order_card,
        card_report,
        card_cvv,
        wish_of_prepaid_card,
        prepaid_card_words,
        billing_address
    ))]
    struct Cards;
    Cards::openapi()
}

/// Orders a card, or asks after an order
#[utoipa::path(post, path = "/v1/cards", tag = "cards", request_body = CardOrder,
    params(("Idempotency-Key" = String, Header, description = "The same key never makes a second card.")),
    responses((status = 200, description = "What became of the order.", body = CardAnswer)))]
async fn order_card(State(issuer): Served, Key(key): Key, Body(order): Body<CardOrder>) -> Answered<CardAnswer> {
    let order = IssueCard {
        key,
        card: order.card_id.0,
        amount: order.amount.0.0,
    };
    let said = issuer.issue(&order).await?;
    answered(CardAnswer::of(&order, said))
}

/// How a card stands, and what was charged
#[utoipa::path(get, path = "/v1/cards/{reference}", tag = "cards",
    params(("reference" = String, Path, description = "The issuer's name of the card.")),
    responses((status = 200, description = "How it stands.", body = CardReport)))]
async fn card_report(State(issuer): Served, Path(reference): Path<String>) -> Answered<CardReport> {
    let said = issuer.standing(&reference).await.map_err(not_found)?;
    answered(CardReport::of(&reference, said))
}

/// Does what a holder wants of a prepaid card, if it still can be done; the same key is carried out once, whatever came after it
#[utoipa::path(post, path = "/v1/cards/{reference}/wishes", tag = "cards", request_body = WishOrder,
    params(("reference" = String, Path, description = "The issuer's name of the card."),
        ("Idempotency-Key" = String, Header, description = "The same key is the same wish.")),
    responses((status = 200, description = "How the card stands.", body = WishAnswer)))]
async fn wish_of_prepaid_card(
    State(issuer): Served,
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
    let standing = CardStanding::of(card, issuer.steer(&order).await?);
    let key = key.to_string();
    answered(WishAnswer { key, standing })
}

/// What became of any prepaid card since: charges come when nobody asks, and so does what is given back of one that has ended
#[utoipa::path(get, path = "/v1/prepaid-card-words", tag = "cards", params(Since),
    responses((status = 200, description = "Words in the order in which they were told.", body = CardWords)))]
async fn prepaid_card_words(State(issuer): Served, Query(since): Query<Since>) -> Answered<CardWords> {
    let told = issuer.told(since.after, since.limit.min(MOST_WORDS)).await?;
    answered(CardWords::of(told))
}

/// A card's security code
#[utoipa::path(get, path = "/v1/cards/{reference}/cvv", tag = "cards",
    params(("reference" = String, Path, description = "The issuer's name of the card.")),
    responses((status = 200, description = "The code.", body = Cvv)))]
async fn card_cvv(State(issuer): Served, Path(reference): Path<String>) -> Answered<Cvv> {
    let cvv = issuer.cvv(&reference).await.map_err(not_found)?;
    answered(Cvv { cvv: Hidden(cvv) })
}

/// The billing address of this issuer's cards
#[utoipa::path(get, path = "/v1/billing-address", tag = "cards",
    responses((status = 200, description = "The same for every card.", body = BillingAddress)))]
async fn billing_address(State(issuer): Served) -> Answered<BillingAddress> {
    answered(issuer.billing_address().into())
}
