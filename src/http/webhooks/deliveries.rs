//! What was posted to endpoints and what came of it, and posting it again.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use purser_actors::engine::Denied;
use purser_actors::engine::webhooks::Wanted;
use purser_actors::id::{DeliveryId, EndpointId};
use purser_actors::kernel::memo::{Place, Told};
use purser_actors::kernel::{Entity, View};
use purser_actors::port::Timestamp;
use purser_actors::webhook::{self, Endpoint};
use purser_actors::webhook_delivery::Delivery;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Shared, Webhooks, may_change, over, stands};
use crate::http::account::{Holder, active};
use crate::http::caller::Claims;
use crate::http::error::ApiError;
use crate::http::idempotency::{Key, Reply, memo, undecided};
use crate::http::query::Query;
use crate::http::{json, shapes};
use crate::identity::rfc3339;

/// The states of a delivery.
pub(in crate::http) const STATES: [&str; 4] = ["pending", "delivered", "failed", "dropped"];

/// What was posted
///
/// The deliveries of the account, newest first: each event to each endpoint, with its last ten tries. A page may be shorter
/// than asked for while `has_more` is true; go on behind `next_starting_after`.
#[utoipa::path(get, path = "/webhook-deliveries", tag = "Events", security(("bearer" = [])),
    params(("delivery_id" = Option<String>, Query, description = "One delivery."),
        ("webhook_id" = Option<String>, Query, description = "Of this endpoint only."),
        ("state" = Option<String>, Query, description = "`pending`, `delivered`, `failed` or `dropped` only."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "`next_starting_after` of the page before.")),
    responses((status = 200, description = "`delivery`; or `deliveries`, `has_more`, `next_starting_after`.", body = shapes::WebhookDeliveries),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's endpoint or delivery, a frozen account, or a token issued for a payment and an endpoint that another session registered."),
        (status = 404, description = "No such endpoint or delivery.")))]
pub(super) async fn get_deliveries(
    State(state): Shared,
    Holder(claims): Holder,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let known = ["delivery_id", "webhook_id", "state", "limit", "starting_after"];
    let query = Query::parse(query.as_deref(), &known)?;
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    let wanted_state = query.get("state").map(|_| query.word("state", &STATES)).transpose()?;
    active(&state.engine, &claims).await?;
    if let Some(text) = query.get("delivery_id") {
        let (id, delivery) = state.own_delivery(&claims, text).await?;
        let body = View::new().object("delivery", &delivery.view(&id));
        return Ok(json::private(json::bytes_as_json(body.to_json())));
    }
    let endpoint = match query.get("webhook_id") {
        Some(text) => Some(state.own(&claims, text).await?.0),
        None => None,
    };
    let after = match query.get("starting_after") {
        Some(text) => Some(state.own_delivery(&claims, text).await?.0),
        None => None,
    };
    let wanted = Wanted {
        endpoint,
        state: wanted_state.map(str::to_owned),
        after,
        limit,
    };
    let page = state.engine.webhook_deliveries_of(&claims.wallet, &wanted).await;
    let page = page.map_err(|_| ApiError::internal())?;
    let body = View::new()
        .list("deliveries", page.found.iter().map(|(id, delivery)| delivery.view(id)))
        .flag("has_more", page.more)
        .maybe("next_starting_after", page.last.filter(|_| page.more));
    Ok(json::private(json::bytes_as_json(body.to_json())))
}

impl Webhooks {
    /// The delivery of this name, if it is the caller's.
    async fn own_delivery(&self, claims: &Claims, text: &str) -> Result<(DeliveryId, Delivery), ApiError> {
        let id: DeliveryId = text.parse().map_err(|_| unknown_delivery())?;
        let found = self
            .engine
            .webhook_delivery(&id)
            .await
            .map_err(|_| ApiError::internal())?;
        let delivery = found.ok_or_else(unknown_delivery)?;
        if delivery.owner != claims.wallet {
            let error = "This delivery belongs to another wallet.";
            return Err(ApiError::forbidden("delivery_of_another", error));
        }
        Ok((id, delivery))
    }
}

pub(in crate::http) fn unknown_delivery() -> ApiError {
    ApiError::not_found("delivery_unknown", "There is no such delivery.")
}

/// What `POST /redeliver-webhook` takes: one delivery, or an endpoint and a moment.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Redelivery {
    /// One delivery, whatever became of it.
    pub(in crate::http) delivery_id: Option<String>,
    /// Everything that this endpoint has not received.
    pub(in crate::http) webhook_id: Option<String>,
    /// With `webhook_id`: of events since then, RFC 3339 in UTC. Events are kept for 30 days.
    pub(in crate::http) since: Option<String>,
}

/// What was understood of it.
pub(in crate::http) enum Again<'a> {
    /// One delivery.
    One(&'a str),
    /// Of an endpoint, since a moment.
    Since(&'a str, Timestamp),
}

impl Redelivery {
    /// # Errors
    /// 400 for neither or both.
    pub(in crate::http) fn understood(&self) -> Result<Again<'_>, ApiError> {
        match (&self.delivery_id, &self.webhook_id, &self.since) {
            (Some(id), None, None) => Ok(Again::One(id)),
            (None, Some(id), Some(since)) => {
                let error = "`since` is not a time like 2026-11-20T21:40:00Z.";
                let since = rfc3339::parse(since);
                let since = since.ok_or_else(|| ApiError::parameter("parameter_invalid", "since", error))?;
                Ok(Again::Since(id, since))
            }
            (None, Some(_), None) => {
                let error = "The body lacks this field.";
                Err(ApiError::parameter("parameter_missing", "since", error))
            }
            (None, None, _) => {
                let error = "Name a delivery, or an endpoint and a time.";
                Err(ApiError::parameter("parameter_missing", "delivery_id", error))
            }
            (Some(_), ..) => {
                let error = "Either a delivery, or an endpoint and a time.";
                Err(ApiError::parameter("parameter_invalid", "delivery_id", error))
            }
        }
    }
}

/// Send webhook deliveries again
///
/// One delivery, whatever became of it, under the same `webhook-id`; or everything since a moment that an endpoint wants and
/// has not received: what failed, what was dropped, and what happened while it was disabled.
#[utoipa::path(post, path = "/redeliver-webhook", tag = "Events", security(("bearer" = [])), request_body = inline(Redelivery),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 202, description = "`success`, `webhook_id`, `delivery_id`, `since`.", body = shapes::WebhookRedelivery),
        (status = 400, description = "A malformed body, time or key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's endpoint or delivery, or a frozen account."),
        (status = 404, description = "No such endpoint or delivery."),
        (status = 409, description = "The endpoint is disabled or deleted, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now.")))]
pub(super) async fn post_redeliver(
    State(state): Shared,
    Holder(claims): Holder,
    key: Key,
    body: Body,
) -> Result<Response, ApiError> {
    let wanted: Redelivery = json::read(body, state.max_body_bytes, state.body_timeout).await?;
    let again = wanted.understood()?;
    active(&state.engine, &claims).await?;
    let (room, caller, route) = (state.clone(), claims.clone(), "/redeliver-webhook");
    match again {
        Again::One(text) => {
            let named = text.to_owned();
            let run = move |place: Option<Place>| async move {
                let (id, delivery) = room.own_delivery(&caller, &named).await?;
                let to = delivery.letter.endpoint;
                let endpoint = room.engine.webhook(&to).await.map_err(|_| ApiError::internal())?;
                let endpoint = endpoint.ok_or_else(ApiError::internal)?;
                may_change(&caller, &endpoint)?;
                stands(&endpoint)?;
                let memo =
                    place.map(|place| memo::<Delivery>(place, move |told: Told<'_, Delivery>| one(to, id, told)));
                match room.engine.redeliver_webhook(id, None, memo).await {
                    Ok(()) => Ok(accepted(to, Some(id), None)),
                    Err(Denied::Rejected(_)) => Err(unknown_delivery()),
                    Err(denied) => Err(undecided(&denied)),
                }
            };
            key.once(&state.engine, &claims, route, &wanted, run).await
        }
        Again::Since(text, since) => {
            let named = text.to_owned();
            let run = move |place: Option<Place>| async move {
                let (id, endpoint) = room.own(&caller, &named).await?;
                may_change(&caller, &endpoint)?;
                let memo = place.map(|place| {
                    memo::<Endpoint>(place, move |told: Told<'_, Endpoint>| {
                        all(id, since, told.map(drop).map_err(|why| *why))
                    })
                });
                match room.engine.resend_webhooks(id, since, None, memo).await {
                    Ok(()) => all(id, since, Ok(())),
                    Err(Denied::Rejected(why)) => all(id, since, Err(why)),
                    Err(denied) => Err(undecided(&denied)),
                }
            };
            key.once(&state.engine, &claims, route, &wanted, run).await
        }
    }
}

fn one(to: EndpointId, id: DeliveryId, told: Told<'_, Delivery>) -> Result<Reply, ApiError> {
    told.map_err(|_| unknown_delivery())?;
    Ok(accepted(to, Some(id), None))
}

fn all(id: EndpointId, since: Timestamp, told: Result<(), webhook::Rejection>) -> Result<Reply, ApiError> {
    told.map_err(over)?;
    Ok(accepted(id, None, Some(since)))
}

/// The answer, as it is sent and remembered.
pub(in crate::http) fn accepted(to: EndpointId, id: Option<DeliveryId>, since: Option<Timestamp>) -> Reply {
    let body = View::new()
        .flag("success", true)
        .text("webhook_id", to)
        .maybe("delivery_id", id)
        .maybe("since", since.map(rfc3339::format));
    Reply::accepted(&body)
}
