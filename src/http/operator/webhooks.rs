//! Webhook endpoints and deliveries of all accounts: list, and redeliver.

use std::sync::Arc;

use axum::response::Response;
use purser_actors::answer::UserId;
use purser_actors::engine::OperationError;
use purser_actors::engine::webhooks::DeliveryQuery;
use purser_actors::entity::webhook::{WebhookEndpoint, WebhookView};
use purser_actors::id::{Wallet, WebhookDeliveryId, WebhookId};
use purser_actors::kernel::Entity as _;
use purser_actors::operator::Permission;
use serde::Serialize;

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRequest, OperatorRequest, ReadByRole};
use super::{AdminState, unavailable};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::routes;
#[cfg(feature = "documents")]
use crate::http::webhooks::deliveries::RedeliverWebhookResponse;
use crate::http::webhooks::deliveries::WebhookDeliveryList;
use crate::http::webhooks::{
    RedeliverParams, RedeliverWebhookRequest, STATES, accepted, already_deleted, check_state, unknown, unknown_delivery,
};

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/webhooks" => get_webhooks {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listWebhooks", tag: "Webhooks" },
                Permission::Read,
                "List webhook endpoints. The role read-only sees scheme and host of their URLs only",
                of::<OperatorWebhookList<'_>>,
            )
            .with("wallet", "string", "Only endpoints of this account.")
            .queued()
            .error(404, "No such endpoint or delivery.")
        )
    }
    GET "/admin/webhooks/deliveries" => get_deliveries {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listOperatorWebhookDeliveries", tag: "Webhooks" },
                Permission::Read,
                "List deliveries to an endpoint or for an account, newest first",
                of::<WebhookDeliveryList>,
            )
            .with(
                "wallet",
                "string",
                "Only deliveries for this account. Give this or `webhook_id`.",
            )
            .with("webhook_id", "string", "Only deliveries to this endpoint.")
            .with("status", "string", "Only deliveries with this status.")
            .queued()
            .error(404, "No such endpoint or delivery.")
        )
    }
    POST "/admin/webhooks/redeliver" => post_redeliver {
        Operator, unkeyed("another attempt of a delivery under its own id, by which its receiver recognizes it"), operation(||
            OperationDoc::post::<RedeliverWebhookRequest>(
                Operation { id: "redeliverOperatorWebhook", tag: "Webhooks" },
                "Redeliver one event, or every undelivered event since a given time",
                of::<RedeliverWebhookResponse>,
            )
            .accepted()
            .error(404, "No such endpoint or delivery.")
            .error(409, "The endpoint is disabled or deleted.")
        )
    }
}

/// Webhook endpoints of all accounts.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct OperatorWebhookList<'a> {
    /// In order of their accounts.
    webhooks: Vec<OperatorWebhook<'a>>,
    /// Whether more endpoints follow.
    has_more: bool,
}

/// A webhook endpoint and its owner.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct OperatorWebhook<'a> {
    /// Owner's wallet address in lower case.
    user_id: UserId,
    /// Webhook endpoint as its owner sees it; for the role `read-only` with the scheme and host of its URL only.
    webhook: WebhookView<'a>,
}

async fn get_webhooks(ReadByRole { admin, role, query }: ReadByRole) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["wallet", "limit", "starting_after"])?;
    let limit = usize::try_from(query.number("limit", 100, 1, 1_000)?).unwrap_or(100);
    let failed = |_| ApiError::internal();
    let (shown, more) = match query.get("wallet") {
        Some(text) => {
            let found = admin.engine.webhooks_of(&wallet(text)?).await.map_err(failed)?;
            (found, false)
        }
        None => {
            let after = match query.get("starting_after") {
                Some(text) => Some(load_endpoint(&admin, text).await?.1),
                None => None,
            };
            let found = admin
                .engine
                .all_webhooks(after.as_ref(), limit + 1)
                .await
                .map_err(failed)?;
            let more = found.len() > limit;
            (found.into_iter().take(limit).collect(), more)
        }
    };
    let sees_urls = role.allows(Permission::ReadWebhookUrls);
    let webhooks = shown.iter().map(|(id, endpoint)| OperatorWebhook {
        user_id: endpoint.owner.into(),
        webhook: match sees_urls {
            true => endpoint.view(id),
            false => endpoint.view(id).without_url(),
        },
    });
    Ok(json::private_ok(&OperatorWebhookList {
        webhooks: webhooks.collect(),
        has_more: more,
    }))
}

async fn get_deliveries(ReadByRole { admin, role, query }: ReadByRole) -> Result<Response, ApiError> {
    let query = Query::parse(
        query.as_deref(),
        &["wallet", "webhook_id", "status", "limit", "starting_after"],
    )?;
    let limit = usize::try_from(query.number("limit", 100, 1, 1_000)?).unwrap_or(100);
    let state = query
        .get("status")
        .map(|_| query.choice("status", &STATES))
        .transpose()?;
    let (owner, endpoint) = match query.get("webhook_id") {
        Some(text) => {
            let (id, endpoint) = load_endpoint(&admin, text).await?;
            (endpoint.owner, Some(id))
        }
        None => (wallet(query.required("wallet")?)?, None),
    };
    let after: Option<WebhookDeliveryId> = query
        .get("starting_after")
        .map(|text| text.parse().map_err(|_| unknown_delivery()))
        .transpose()?;
    let request = DeliveryQuery {
        endpoint,
        reader: None,
        status: state.map(str::to_owned),
        after,
        limit,
    };
    let page = admin.engine.webhook_deliveries_of(&owner, &request).await;
    let page = page.map_err(|_| ApiError::internal())?;
    let list = WebhookDeliveryList::from(&page);
    Ok(json::private_ok(&match role.allows(Permission::ReadWebhookUrls) {
        true => list,
        false => list.without_excerpts(),
    }))
}

impl OperatorRequest for RedeliverWebhookRequest {}

async fn post_redeliver(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<RedeliverWebhookRequest>,
) -> Result<Response, ApiError> {
    let reply = match request.parse()? {
        RedeliverParams::One(text) => {
            let id: WebhookDeliveryId = text.parse().map_err(|_| unknown_delivery())?;
            let found = admin
                .engine
                .webhook_delivery(&id)
                .await
                .map_err(|_| ApiError::internal())?;
            let to = found.ok_or_else(unknown_delivery)?.message.endpoint;
            check_state(&load_endpoint(&admin, &to.to_string()).await?.1)?;
            match admin.engine.redeliver_webhook(id, Some(act), None).await {
                Ok(()) => accepted(to, Some(id), None),
                Err(OperationError::Rejected(_)) => return Err(unknown_delivery()),
                Err(_) => return Err(unavailable()),
            }
        }
        RedeliverParams::Since(text, since) => {
            let (id, _) = load_endpoint(&admin, text).await?;
            match admin.engine.redeliver_since(id, since, Some(act), None).await {
                Ok(()) => accepted(id, None, Some(since)),
                Err(OperationError::Rejected(why)) => return Err(already_deleted(why)),
                Err(_) => return Err(unavailable()),
            }
        }
    };
    let mut response = json::private(json::bytes_as_json(reply.body));
    *response.status_mut() = reply.status;
    Ok(response)
}

fn wallet(text: &str) -> Result<Wallet, ApiError> {
    let error = "`wallet` is not an address.";
    text.parse()
        .map_err(|_| ApiError::parameter(ErrorCode::ParameterInvalid, "wallet", error))
}

async fn load_endpoint(admin: &AdminState, text: &str) -> Result<(WebhookId, WebhookEndpoint), ApiError> {
    let id: WebhookId = text.parse().map_err(|_| unknown())?;
    let found = admin.engine.webhook(&id).await.map_err(|_| ApiError::internal())?;
    found.map(|endpoint| (id, endpoint)).ok_or_else(unknown)
}
