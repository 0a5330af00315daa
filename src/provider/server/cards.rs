//! Routes of prepaid cards.

use purser_actors::port;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use utoipa::OpenApi;

use super::{
    AfterParam, IdempotencyKeyHeader, MAX_EVENTS_PER_PAGE, ProtocolBody, ProtocolQuery, ProtocolResult, not_found, ok,
};
use crate::provider::wire::SecretText;
use crate::provider::wire::cards::{BillingAddress, CardReport, CvvResponse, IssueCardRequest, IssueCardResponse};
use crate::provider::wire::reloadable_cards::{CardActionRequest, CardActionResponse, CardEventList, CardSnapshot};
use crate::provider::{CardIssuerApi, Providers};

type ServerState = State<Arc<dyn CardIssuerApi>>;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/cards", post(order_card))
        .route("/cards/{reference}", get(card_report))
        .route("/cards/{reference}/cvv", get(card_cvv))
        .route("/cards/{reference}/actions", post(apply_prepaid_card_action))
        .route("/prepaid-card-events", get(list_prepaid_card_events))
        .route("/billing-address", get(billing_address))
        .with_state(providers.issuer.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(
        order_card,
        card_report,
        card_cvv,
        apply_prepaid_card_action,
        list_prepaid_card_events,
        billing_address
    ))]
    struct ApiDoc;
    ApiDoc::openapi()
}

/// Order a card, or query an order
#[utoipa::path(post, path = "/v1/cards", operation_id = "issueCard", tag = "Cards", request_body = IssueCardRequest,
    params(("Idempotency-Key" = String, Header, description = "The same key never creates a second card.")),
    responses((status = 200, description = "Result of the order.", body = IssueCardResponse)))]
async fn order_card(
    State(issuer): ServerState,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    ProtocolBody(order): ProtocolBody<IssueCardRequest>,
) -> ProtocolResult<IssueCardResponse> {
    let order = port::IssueCardRequest {
        key,
        card: order.card_id.0,
        amount: order.amount.0.0,
    };
    let said = issuer.issue(&order).await?;
    ok(IssueCardResponse::of(&order, said))
}

/// Return a card's status, balance and transactions
#[utoipa::path(get, path = "/v1/cards/{reference}", operation_id = "getCardActivity", tag = "Cards",
    params(("reference" = String, Path, description = "The issuer's reference of the card.")),
    responses((status = 200, description = "Status of the card.", body = CardReport)))]
async fn card_report(State(issuer): ServerState, Path(reference): Path<String>) -> ProtocolResult<CardReport> {
    let said = issuer.card_snapshot(&reference).await.map_err(not_found)?;
    ok(CardReport::of(&reference, said))
}

/// Apply a card action to a prepaid card, once per idempotency key
#[utoipa::path(post, path = "/v1/cards/{reference}/actions", operation_id = "applyPrepaidCardAction", tag = "Cards", request_body = CardActionRequest,
    params(("reference" = String, Path, description = "The issuer's reference of the card."),
        ("Idempotency-Key" = String, Header, description = "The same key is the same card action.")),
    responses((status = 200, description = "State of the card.", body = CardActionResponse)))]
async fn apply_prepaid_card_action(
    State(issuer): ServerState,
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
    let snapshot = CardSnapshot::of(card, issuer.apply_action(&order).await?);
    let key = key.to_string();
    ok(CardActionResponse { key, snapshot })
}

/// List events of all prepaid cards, such as charges and releases
#[utoipa::path(get, path = "/v1/prepaid-card-events", operation_id = "listPrepaidCardEvents", tag = "Cards", params(AfterParam),
    responses((status = 200, description = "Events in the order of their positions.", body = CardEventList)))]
async fn list_prepaid_card_events(
    State(issuer): ServerState,
    ProtocolQuery(since): ProtocolQuery<AfterParam>,
) -> ProtocolResult<CardEventList> {
    let events = issuer
        .events_after(since.after, since.limit.min(MAX_EVENTS_PER_PAGE))
        .await?;
    ok(CardEventList::of(events))
}

/// Return a card's security code
#[utoipa::path(get, path = "/v1/cards/{reference}/cvv", operation_id = "getCardCvv", tag = "Cards",
    params(("reference" = String, Path, description = "The issuer's reference of the card.")),
    responses((status = 200, description = "The code.", body = CvvResponse)))]
async fn card_cvv(State(issuer): ServerState, Path(reference): Path<String>) -> ProtocolResult<CvvResponse> {
    let cvv = issuer.cvv(&reference).await.map_err(not_found)?;
    ok(CvvResponse { cvv: SecretText(cvv) })
}

/// Return the billing address of this issuer's cards
#[utoipa::path(get, path = "/v1/billing-address", operation_id = "getBillingAddress", tag = "Cards",
    responses((status = 200, description = "The same for every card.", body = BillingAddress)))]
async fn billing_address(State(issuer): ServerState) -> ProtocolResult<BillingAddress> {
    ok(issuer.billing_address().into())
}
