//! Routes of payouts.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use purser_actors::id::PayoutId;
use utoipa::OpenApi;

use super::{
    AfterParam, IdempotencyKeyHeader, MAX_EVENTS_PER_PAGE, ProtocolBody, ProtocolErrorResponse, ProtocolQuery,
    ProtocolResult, ok,
};
use crate::provider::Providers;
use crate::provider::payouts::PayoutApi;
use crate::provider::wire::payout_events::{
    PayoutEventList, PayoutLookupResponse, PayoutStatusUpdate, PayoutUpdateBody, RecallResponse,
};
use crate::provider::wire::payouts::{DebitCardCountryResponse, DebitCardQuery, PayoutRequest};
use crate::provider::wire::{ErrorCode, MalformedResponse, TextValue};

type ServerState = State<Arc<dyn PayoutApi>>;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/payouts", post(order_payout))
        .route("/payouts/{payout_id}/recall", post(recall_payout))
        .route("/payout-orders/{key}", get(payout_order))
        .route("/payout-events", get(list_payout_events))
        .route("/debit-card-countries", post(debit_card_country))
        .with_state(providers.payouts.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(order_payout, recall_payout, payout_order, list_payout_events, debit_card_country))]
    struct ApiDoc;
    ApiDoc::openapi()
}

/// Order a payout, or query an order
#[utoipa::path(post, path = "/v1/payouts", operation_id = "createPayout", tag = "Payouts", request_body = PayoutRequest,
    params(("Idempotency-Key" = String, Header, description = "The same key never pays twice.")),
    responses((status = 200, description = "Latest status of the payout.", body = PayoutStatusUpdate)))]
async fn order_payout(
    State(rails): ServerState,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    ProtocolBody(order): ProtocolBody<PayoutRequest>,
) -> ProtocolResult<PayoutStatusUpdate> {
    let order = order.read(key)?;
    let payout = order.payout;
    let said = rails.send(order).await?;
    ok(PayoutStatusUpdate::of(payout, said))
}

/// Recall a payout; repeating it changes nothing
#[utoipa::path(post, path = "/v1/payouts/{payout_id}/recall", operation_id = "recallPayout", tag = "Payouts",
    params(("payout_id" = String, Path, description = "The service's id of the payout."),
        ("Idempotency-Key" = String, Header, description = "Key of the payout order to recall.")),
    responses((status = 200, description = "Whether the recipient has the money.", body = RecallResponse)))]
async fn recall_payout(
    State(rails): ServerState,
    Path(payout): Path<String>,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
) -> ProtocolResult<RecallResponse> {
    let payout: PayoutId = payout
        .parse()
        .map_err(|_| ProtocolErrorResponse::new(ErrorCode::NotFound, "there is no such payout"))?;
    let outcome = rails.recall(key, payout).await?.into();
    let payout_id = TextValue(payout);
    ok(RecallResponse { payout_id, outcome })
}

/// Return the order under a key, without ordering
#[utoipa::path(get, path = "/v1/payout-orders/{key}", operation_id = "getPayoutByKey", tag = "Payouts",
    params(("key" = String, Path, description = "An Idempotency-Key.")),
    responses((status = 200, description = "Latest status, or `null` if nothing was ever ordered.", body = PayoutLookupResponse)))]
async fn payout_order(State(rails): ServerState, Path(key): Path<String>) -> ProtocolResult<PayoutLookupResponse> {
    let order = key.parse().map_err(|_| MalformedResponse("an Idempotency-Key"))?;
    let payout = rails.find(order).await?.map(PayoutUpdateBody::of);
    ok(PayoutLookupResponse { key, payout })
}

/// List events of all payouts, such as returns days later
#[utoipa::path(get, path = "/v1/payout-events", operation_id = "listPayoutEvents", tag = "Payouts", params(AfterParam),
    responses((status = 200, description = "Events in the order of their positions.", body = PayoutEventList)))]
async fn list_payout_events(
    State(rails): ServerState,
    ProtocolQuery(since): ProtocolQuery<AfterParam>,
) -> ProtocolResult<PayoutEventList> {
    let events = rails
        .events_after(since.after, since.limit.min(MAX_EVENTS_PER_PAGE))
        .await?;
    ok(PayoutEventList::of(events))
}

/// Return the country of a debit card's bank
#[utoipa::path(post, path = "/v1/debit-card-countries", operation_id = "lookupDebitCardCountry", tag = "Payouts", request_body = DebitCardQuery,
    responses((status = 200, description = "Its country, if a rail pays to it.", body = DebitCardCountryResponse)))]
async fn debit_card_country(
    State(rails): ServerState,
    ProtocolBody(card): ProtocolBody<DebitCardQuery>,
) -> ProtocolResult<DebitCardCountryResponse> {
    let country = rails.card_country(&card.number.0).await?.map(TextValue);
    ok(DebitCardCountryResponse { country })
}
