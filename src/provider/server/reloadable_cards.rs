//! Routes of reloadable cards and balance holds.

use purser_actors::port;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use purser_actors::id::JobId;
use utoipa::OpenApi;

use super::{
    AfterParam, IdempotencyKeyHeader, MAX_EVENTS_PER_PAGE, ProtocolBody, ProtocolErrorResponse, ProtocolQuery,
    ProtocolResult, not_found, ok,
};
use crate::provider::Providers;
use crate::provider::reloadable_cards::ReloadableCardApi;
use crate::provider::wire::balance_holds::{
    HoldLookupResponse, HoldRequest, HoldResponse, SettleHoldRequest, SettleHoldResponse,
};
use crate::provider::wire::cards::CvvResponse;
use crate::provider::wire::reloadable_cards::{
    CardActionRequest, CardActionResponse, CardBalance, CardEventList, CardSnapshot, OpenReloadableCardRequest,
    OpenReloadableCardResponse,
};
use crate::provider::wire::{DecimalAmount, ErrorCode, SecretText, TextValue};

type ServerState = State<Arc<dyn ReloadableCardApi>>;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/reloadable-cards", post(open_reloadable_card))
        .route("/reloadable-cards/{reference}", get(reloadable_card))
        .route("/reloadable-cards/{reference}/cvv", get(reloadable_card_cvv))
        .route("/reloadable-cards/{reference}/actions", post(apply_card_action))
        .route("/card-events", get(list_card_events))
        .route("/balance-holds", post(create_balance_hold))
        .route("/balance-holds/{key}", get(get_balance_hold))
        .route("/balance-holds/{key}/settle", post(settle_balance_hold))
        .with_state(providers.reloadable_cards.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(
        open_reloadable_card,
        reloadable_card,
        reloadable_card_cvv,
        apply_card_action,
        list_card_events,
        create_balance_hold,
        get_balance_hold,
        settle_balance_hold
    ))]
    struct ApiDoc;
    ApiDoc::openapi()
}

/// Open a card loaded from its owner's balance, or query an order
#[utoipa::path(post, path = "/v1/reloadable-cards", operation_id = "openReloadableCard", tag = "Reloadable cards", request_body = OpenReloadableCardRequest,
    params(("Idempotency-Key" = String, Header, description = "The same key never takes from the balance twice.")),
    responses((status = 200, description = "Result of the order.", body = OpenReloadableCardResponse)))]
async fn open_reloadable_card(
    State(program): ServerState,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    ProtocolBody(order): ProtocolBody<OpenReloadableCardRequest>,
) -> ProtocolResult<OpenReloadableCardResponse> {
    let said = program.open(&order.read(key)).await?;
    ok(OpenReloadableCardResponse::of(order, said))
}

/// Return what can be spent with a card now
#[utoipa::path(get, path = "/v1/reloadable-cards/{reference}", operation_id = "getReloadableCardBalance", tag = "Reloadable cards",
    params(("reference" = String, Path, description = "The issuer's reference of the card.")),
    responses((status = 200, description = "Remaining balance of the card.", body = CardBalance)))]
async fn reloadable_card(State(program): ServerState, Path(reference): Path<String>) -> ProtocolResult<CardBalance> {
    let available = program.available(&reference).await.map_err(not_found)?;
    let available = TextValue(DecimalAmount(available));
    ok(CardBalance { reference, available })
}

/// Return a card's security code
#[utoipa::path(get, path = "/v1/reloadable-cards/{reference}/cvv", operation_id = "getReloadableCardCvv", tag = "Reloadable cards",
    params(("reference" = String, Path, description = "The issuer's reference of the card.")),
    responses((status = 200, description = "The code.", body = CvvResponse)))]
async fn reloadable_card_cvv(
    State(program): ServerState,
    Path(reference): Path<String>,
) -> ProtocolResult<CvvResponse> {
    let cvv = program.cvv(&reference).await.map_err(not_found)?;
    ok(CvvResponse { cvv: SecretText(cvv) })
}

/// Apply a card action to a card, once per idempotency key
#[utoipa::path(post, path = "/v1/reloadable-cards/{reference}/actions", operation_id = "applyCardAction", tag = "Reloadable cards", request_body = CardActionRequest,
    params(("reference" = String, Path, description = "The issuer's reference of the card."),
        ("Idempotency-Key" = String, Header, description = "The same key is the same card action.")),
    responses((status = 200, description = "State of the card.", body = CardActionResponse)))]
async fn apply_card_action(
    State(program): ServerState,
    Path(issuer_ref): Path<String>,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    ProtocolBody(order): ProtocolBody<CardActionRequest>,
) -> ProtocolResult<CardActionResponse> {
    let card = order.card_id.0;
    let action = order.action.into();
    let order = port::CardActionRequest {
        key,
        card,
        issuer_ref,
        action,
    };
    let snapshot = CardSnapshot::of(card, program.apply_action(&order).await?);
    let key = key.to_string();
    ok(CardActionResponse { key, snapshot })
}

/// List events of all reloadable cards, such as charges
#[utoipa::path(get, path = "/v1/card-events", operation_id = "listCardEvents", tag = "Reloadable cards", params(AfterParam),
    responses((status = 200, description = "Events in the order of their positions.", body = CardEventList)))]
async fn list_card_events(
    State(program): ServerState,
    ProtocolQuery(since): ProtocolQuery<AfterParam>,
) -> ProtocolResult<CardEventList> {
    let events = program
        .events_after(since.after, since.limit.min(MAX_EVENTS_PER_PAGE))
        .await?;
    ok(CardEventList::of(events))
}

/// Place a hold on part of a balance, or query a hold
#[utoipa::path(post, path = "/v1/balance-holds", operation_id = "createBalanceHold", tag = "Reloadable cards", request_body = HoldRequest,
    params(("Idempotency-Key" = String, Header, description = "The same key never creates a second hold; it identifies the hold.")),
    responses((status = 200, description = "Result of the request.", body = HoldResponse)))]
async fn create_balance_hold(
    State(program): ServerState,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    ProtocolBody(order): ProtocolBody<HoldRequest>,
) -> ProtocolResult<HoldResponse> {
    let said = program.hold(&order.read(key)).await?;
    ok(HoldResponse::of(order, said))
}

/// Return the status of the hold under a key
#[utoipa::path(get, path = "/v1/balance-holds/{key}", operation_id = "getBalanceHold", tag = "Reloadable cards",
    params(("key" = String, Path, description = "Key of the hold.")),
    responses((status = 200, description = "Status of the hold; `not_found` is final.", body = HoldLookupResponse)))]
async fn get_balance_hold(State(program): ServerState, Path(name): Path<String>) -> ProtocolResult<HoldLookupResponse> {
    let malformed = |_| ProtocolErrorResponse::new(ErrorCode::InvalidRequest, "the path names no key");
    let key: JobId = name.parse().map_err(malformed)?;
    ok(HoldLookupResponse::of(key, program.hold_status(key).await?))
}

/// Capture or release a hold; the result is final
#[utoipa::path(post, path = "/v1/balance-holds/{key}/settle", operation_id = "settleBalanceHold", tag = "Reloadable cards", request_body = SettleHoldRequest,
    params(("key" = String, Path, description = "Key of the hold."),
        ("Idempotency-Key" = String, Header, description = "The same.")),
    responses((status = 200, description = "Result of the hold.", body = SettleHoldResponse)))]
async fn settle_balance_hold(
    State(program): ServerState,
    Path(name): Path<String>,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    ProtocolBody(end): ProtocolBody<SettleHoldRequest>,
) -> ProtocolResult<SettleHoldResponse> {
    if name != key.to_string() {
        return Err(ProtocolErrorResponse::new(
            ErrorCode::InvalidRequest,
            "the path names another reservation",
        ));
    }
    program.settle_hold(key, end.captured).await?;
    let captured = end.captured;
    ok(SettleHoldResponse { key: name, captured })
}
