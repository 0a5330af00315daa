//! Webhook deliveries: list and redeliver.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use purser_actors::engine::OperationError;
use purser_actors::engine::webhooks::{DeliveryPage, DeliveryQuery};
use purser_actors::entity::webhook::{self, WebhookEndpoint};
use purser_actors::entity::webhook_delivery::WebhookDelivery;
use purser_actors::entity::webhook_delivery::WebhookDeliveryView;
use purser_actors::id::{WebhookDeliveryId, WebhookId};
use purser_actors::kernel::Entity;
use purser_actors::kernel::idempotency::{CommandResult, IdempotencySlot};
use purser_actors::port::Timestamp;
use serde::{Deserialize, Serialize};

use super::{SharedState, already_deleted, check_state};
use crate::http::account::{BearerClaims, refuse_frozen};
use crate::http::app::App;
use crate::http::auth::AuthClaims;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use crate::http::json;
use crate::http::query::Query;
#[cfg(feature = "documents")]
use crate::http::schemas;
use crate::rfc3339;

/// Statuses of a delivery.
pub(in crate::http) const STATES: [&str; 4] = ["pending", "delivered", "failed", "dropped"];

/// One delivery, or a page of them.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
enum WebhookDeliveriesResponse<'a> {
    /// The delivery with `delivery_id`.
    One(Box<WebhookDeliveryResponse<'a>>),
    /// A page of deliveries, without `delivery_id`.
    Page(WebhookDeliveryList<'a>),
}

/// A webhook delivery.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct WebhookDeliveryResponse<'a> {
    /// The requested delivery.
    delivery: WebhookDeliveryView<'a>,
}

/// A page of deliveries.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(in crate::http) struct WebhookDeliveryList<'a> {
    /// Deliveries, newest first.
    deliveries: Vec<WebhookDeliveryView<'a>>,
    /// Whether more deliveries follow.
    has_more: bool,
    /// Cursor of the next page.
    #[cfg_attr(feature = "documents", schema(required))]
    next_starting_after: Option<WebhookDeliveryId>,
}

impl<'a> From<&'a DeliveryPage> for WebhookDeliveryList<'a> {
    fn from(page: &'a DeliveryPage) -> Self {
        Self {
            deliveries: page.found.iter().map(|(id, delivery)| delivery.view(id)).collect(),
            has_more: page.more,
            next_starting_after: page.last.filter(|_| page.more),
        }
    }
}

impl WebhookDeliveryList<'_> {
    /// The list for those who do not see the URLs of endpoints.
    pub(in crate::http) fn without_excerpts(self) -> Self {
        let deliveries = self.deliveries.into_iter().map(WebhookDeliveryView::without_excerpts);
        Self {
            deliveries: deliveries.collect(),
            ..self
        }
    }
}

/// List webhook deliveries
///
/// The deliveries of the account, newest first: each event to each endpoint, with its last ten attempts. A page may be
/// shorter than requested while `has_more` is true. Continue with `next_starting_after`. Agents see those to endpoints that
/// `GET /get-webhook` shows them.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/webhook-deliveries", operation_id = "listWebhookDeliveries", tag = "Webhooks", security(("bearer" = [])),
    params(("delivery_id" = Option<String>, Query, description = "One delivery."),
        ("webhook_id" = Option<String>, Query, description = "Of this endpoint only."),
        ("status" = inline(Option<schemas::WebhookDeliveryStatus>), Query, description = "`pending`, `delivered`, `failed` or `dropped` only."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "`next_starting_after` of the page before.")),
    responses((status = 200, description = "`delivery`; or `deliveries`, `has_more`, `next_starting_after`.", body = WebhookDeliveriesResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's endpoint or delivery, a frozen account, or a token issued for a payment or an API key and an endpoint that another session registered."),
        (status = 404, description = "No such endpoint or delivery."))))]
pub(super) async fn get_deliveries(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let known = ["delivery_id", "webhook_id", "status", "limit", "starting_after"];
    let query = Query::parse(query.as_deref(), &known)?;
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    let wanted_state = query
        .get("status")
        .map(|_| query.choice("status", &STATES))
        .transpose()?;
    refuse_frozen(&state.engine, &claims).await?;
    if let Some(text) = query.get("delivery_id") {
        let (id, delivery) = state.load_seen_delivery(&claims, text).await?;
        let delivery = delivery.view(&id);
        let one = Box::new(WebhookDeliveryResponse { delivery });
        return Ok(json::private_ok(&WebhookDeliveriesResponse::One(one)));
    }
    let endpoint = match query.get("webhook_id") {
        Some(text) => Some(state.load_seen_webhook(&claims, text).await?.0),
        None => None,
    };
    let after = match query.get("starting_after") {
        Some(text) => Some(state.load_seen_delivery(&claims, text).await?.0),
        None => None,
    };
    let request = DeliveryQuery {
        endpoint,
        reader: Some((claims.session, claims.amr)),
        status: wanted_state.map(str::to_owned),
        after,
        limit,
    };
    let page = state.engine.webhook_deliveries_of(&claims.wallet, &request).await;
    let page = page.map_err(|_| ApiError::internal())?;
    Ok(json::private_ok(&WebhookDeliveriesResponse::Page((&page).into())))
}

impl App {
    /// Loads a delivery that the caller may see.
    async fn load_seen_delivery(
        &self,
        claims: &AuthClaims,
        text: &str,
    ) -> Result<(WebhookDeliveryId, WebhookDelivery), ApiError> {
        let (id, delivery) = self.load_owned_delivery(claims, text).await?;
        let to = delivery.message.endpoint;
        let endpoint = self.engine.webhook(&to).await.map_err(|_| ApiError::internal())?;
        let endpoint = endpoint.ok_or_else(ApiError::internal)?;
        if !self.is_own_webhook(claims, &endpoint).await? {
            let error = "This delivery is to a webhook that another session registered.";
            return Err(ApiError::new(ErrorCode::DeliveryAccessDenied, error));
        }
        Ok((id, delivery))
    }

    /// Loads a delivery of the caller's account.
    async fn load_owned_delivery(
        &self,
        claims: &AuthClaims,
        text: &str,
    ) -> Result<(WebhookDeliveryId, WebhookDelivery), ApiError> {
        let id: WebhookDeliveryId = text.parse().map_err(|_| unknown_delivery())?;
        let found = self
            .engine
            .webhook_delivery(&id)
            .await
            .map_err(|_| ApiError::internal())?;
        let delivery = found.ok_or_else(unknown_delivery)?;
        if delivery.owner != claims.wallet {
            let error = "This delivery belongs to another wallet.";
            return Err(ApiError::new(ErrorCode::DeliveryAccessDenied, error));
        }
        Ok((id, delivery))
    }
}

pub(in crate::http) fn unknown_delivery() -> ApiError {
    ApiError::new(ErrorCode::DeliveryNotFound, "There is no such delivery.")
}

/// Request of `POST /redeliver-webhook`: one delivery, or an endpoint and a time.
#[derive(Deserialize, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct RedeliverWebhookRequest {
    /// Delivery to repeat, in any status.
    pub(in crate::http) delivery_id: Option<String>,
    /// Endpoint, for all events that it has not received.
    pub(in crate::http) webhook_id: Option<String>,
    /// Start of the period with `webhook_id` (RFC 3339 in UTC). Events are kept for 30 days.
    pub(in crate::http) since: Option<String>,
}

/// The parsed request.
pub(in crate::http) enum RedeliverParams<'a> {
    One(&'a str),
    /// Undelivered events of an endpoint since a time.
    Since(&'a str, Timestamp),
}

impl RedeliverWebhookRequest {
    /// # Errors
    /// 400 for neither or both.
    pub(in crate::http) fn parse(&self) -> Result<RedeliverParams<'_>, ApiError> {
        match (&self.delivery_id, &self.webhook_id, &self.since) {
            (Some(id), None, None) => Ok(RedeliverParams::One(id)),
            (None, Some(id), Some(since)) => {
                let error = "`since` is not a time like 2026-11-20T21:40:00Z.";
                let since = rfc3339::parse(since);
                let since = since.ok_or_else(|| ApiError::parameter(ErrorCode::ParameterInvalid, "since", error))?;
                Ok(RedeliverParams::Since(id, since))
            }
            (None, Some(_), None) => {
                let error = "The body lacks this field.";
                Err(ApiError::parameter(ErrorCode::ParameterMissing, "since", error))
            }
            (None, None, _) => {
                let error = "Name a delivery, or an endpoint and a time.";
                Err(ApiError::parameter(ErrorCode::ParameterMissing, "delivery_id", error))
            }
            (Some(_), ..) => {
                let error = "Either a delivery, or an endpoint and a time.";
                Err(ApiError::parameter(ErrorCode::ParameterInvalid, "delivery_id", error))
            }
        }
    }
}

/// Response to a redelivery request.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(in crate::http) struct RedeliverWebhookResponse {
    /// Always true on success.
    success: bool,
    /// Endpoint of the redelivery.
    webhook_id: WebhookId,
    /// Delivery that is repeated; null with `since`.
    #[cfg_attr(feature = "documents", schema(required))]
    delivery_id: Option<WebhookDeliveryId>,
    /// Start of the redelivered period; null for one delivery.
    #[cfg_attr(feature = "documents", schema(required))]
    since: Option<String>,
}

/// Redeliver webhook events
///
/// One delivery in any status, under the same `webhook-id`. Or all events since a time that match an endpoint's types
/// and that it has not received: failed ones, dropped ones, and those while it was disabled.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/redeliver-webhook", operation_id = "redeliverWebhook", tag = "Webhooks", security(("bearer" = [])), request_body = inline(RedeliverWebhookRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 202, description = "`success`, `webhook_id`, `delivery_id`, `since`.", body = RedeliverWebhookResponse),
        (status = 400, description = "A malformed body, time or key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's endpoint or delivery, or a frozen account."),
        (status = 404, description = "No such endpoint or delivery."),
        (status = 409, description = "The endpoint is disabled or deleted, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now."))))]
pub(super) async fn post_redeliver(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let request: RedeliverWebhookRequest = state.body(body).await?;
    let again = request.parse()?;
    refuse_frozen(&state.engine, &claims).await?;
    let (running, caller, route) = (state.clone(), claims.clone(), "/redeliver-webhook");
    match again {
        RedeliverParams::One(text) => {
            let named = text.to_owned();
            let run = move |place: Option<IdempotencySlot>| async move {
                let (id, delivery) = running.load_owned_delivery(&caller, &named).await?;
                let to = delivery.message.endpoint;
                let endpoint = running.engine.webhook(&to).await.map_err(|_| ApiError::internal())?;
                let endpoint = endpoint.ok_or_else(ApiError::internal)?;
                running.require_own_webhook(&caller, &endpoint).await?;
                check_state(&endpoint)?;
                let recorder = place.map(|place| {
                    recorder::<WebhookDelivery>(place, move |result: CommandResult<'_, WebhookDelivery>| {
                        one(to, id, result)
                    })
                });
                match running.engine.redeliver_webhook(id, None, recorder).await {
                    Ok(()) => Ok(accepted(to, Some(id), None)),
                    Err(OperationError::Rejected(_)) => Err(unknown_delivery()),
                    Err(denied) => Err(in_progress_response(&denied)),
                }
            };
            key.run(&state.engine, &claims, route, &request, run).await
        }
        RedeliverParams::Since(text, since) => {
            let named = text.to_owned();
            let run = move |place: Option<IdempotencySlot>| async move {
                let (id, endpoint) = running.load_owned_webhook(&caller, &named).await?;
                running.require_own_webhook(&caller, &endpoint).await?;
                let recorder = place.map(|place| {
                    recorder::<WebhookEndpoint>(place, move |result: CommandResult<'_, WebhookEndpoint>| {
                        all(id, since, result.map(drop).map_err(|why| *why))
                    })
                });
                match running.engine.redeliver_since(id, since, None, recorder).await {
                    Ok(()) => all(id, since, Ok(())),
                    Err(OperationError::Rejected(why)) => all(id, since, Err(why)),
                    Err(denied) => Err(in_progress_response(&denied)),
                }
            };
            key.run(&state.engine, &claims, route, &request, run).await
        }
    }
}

fn one(
    to: WebhookId,
    id: WebhookDeliveryId,
    result: CommandResult<'_, WebhookDelivery>,
) -> Result<RecordedReply, ApiError> {
    result.map_err(|_| unknown_delivery())?;
    Ok(accepted(to, Some(id), None))
}

fn all(id: WebhookId, since: Timestamp, result: Result<(), webhook::Rejection>) -> Result<RecordedReply, ApiError> {
    result.map_err(already_deleted)?;
    Ok(accepted(id, None, Some(since)))
}

/// The response, as sent and recorded.
pub(in crate::http) fn accepted(
    to: WebhookId,
    id: Option<WebhookDeliveryId>,
    since: Option<Timestamp>,
) -> RecordedReply {
    RecordedReply::accepted(&RedeliverWebhookResponse {
        success: true,
        webhook_id: to,
        delivery_id: id,
        since: since.map(rfc3339::format),
    })
}
