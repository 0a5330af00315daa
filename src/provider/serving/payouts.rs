//! Payouts.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use purser_actors::id::PayoutId;
use utoipa::OpenApi;

use super::{Answered, Body, Key, MOST_WORDS, Query, Refused, Since, answered};
use crate::provider::Providers;
use crate::provider::payouts::Rails;
use crate::provider::wire::payout_reports::{OrderedAnswer, PayoutReport, RecallAnswer, Reports, Word};
use crate::provider::wire::payouts::{DebitCard, DebitCardCountry, PayoutOrder};
use crate::provider::wire::{Code, Text, Unreadable};

type Served = State<Arc<dyn Rails>>;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/payouts", post(order_payout))
        .route("/payouts/{payout_id}/recall", post(recall_payout))
        .route("/payout-orders/{key}", get(payout_order))
        .route("/payout-reports", get(payout_reports))
        .route("/debit-card-country", post(debit_card_country))
        .with_state(providers.rails.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(order_payout, recall_payout, payout_order, payout_reports, debit_card_country))]
    struct Payouts;
    Payouts::openapi()
}

/// Orders a payout, or asks after an order
#[utoipa::path(post, path = "/v1/payouts", tag = "payouts", request_body = PayoutOrder,
    params(("Idempotency-Key" = String, Header, description = "The same key never pays twice.")),
    responses((status = 200, description = "The newest word about it.", body = PayoutReport)))]
async fn order_payout(State(rails): Served, Key(key): Key, Body(order): Body<PayoutOrder>) -> Answered<PayoutReport> {
    let order = order.read(key)?;
    let payout = order.payout;
    let said = rails.send(order).await?;
    answered(PayoutReport::of(payout, said))
}

/// Takes a payout back; asking twice changes nothing
#[utoipa::path(post, path = "/v1/payouts/{payout_id}/recall", tag = "payouts",
    params(("payout_id" = String, Path, description = "Which."),
        ("Idempotency-Key" = String, Header, description = "The key of the order that is to be taken back.")),
    responses((status = 200, description = "Whether the recipient has the money.", body = RecallAnswer)))]
async fn recall_payout(State(rails): Served, Path(payout): Path<String>, Key(key): Key) -> Answered<RecallAnswer> {
    let payout: PayoutId = payout
        .parse()
        .map_err(|_| Refused::new(Code::NotFound, "there is no such payout"))?;
    let outcome = rails.recall(key, payout).await?.into();
    let payout_id = Text(payout);
    answered(RecallAnswer { payout_id, outcome })
}

/// What was ordered under a key, without ordering it
#[utoipa::path(get, path = "/v1/payout-orders/{key}", tag = "payouts",
    params(("key" = String, Path, description = "An Idempotency-Key.")),
    responses((status = 200, description = "The newest word, or that nothing was ever ordered.", body = OrderedAnswer)))]
async fn payout_order(State(rails): Served, Path(key): Path<String>) -> Answered<OrderedAnswer> {
    let order = key.parse().map_err(|_| Unreadable("an Idempotency-Key"))?;
    let report = rails.ordered(order).await?.map(Word::of);
    answered(OrderedAnswer { key, report })
}

/// What was told of any payout since: returns come days later, when nobody asks any more
#[utoipa::path(get, path = "/v1/payout-reports", tag = "payouts", params(Since),
    responses((status = 200, description = "Words in the order in which they were told.", body = Reports)))]
async fn payout_reports(State(rails): Served, Query(since): Query<Since>) -> Answered<Reports> {
    let told = rails.told(since.after, since.limit.min(MOST_WORDS)).await?;
    answered(Reports::of(told))
}

/// Where the bank of a debit card is
#[utoipa::path(post, path = "/v1/debit-card-country", tag = "payouts", request_body = DebitCard,
    responses((status = 200, description = "Its country, if a rail pays to it.", body = DebitCardCountry)))]
async fn debit_card_country(State(rails): Served, Body(card): Body<DebitCard>) -> Answered<DebitCardCountry> {
    let country = rails.card_country(&card.number.0).await?.map(Text);
    answered(DebitCardCountry { country })
}
