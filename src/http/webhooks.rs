//! Endpoints that an account's events are posted to: register, look, delete.

mod deliveries;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use purser_actors::engine::webhooks::{RegistrationError, WebhookRegistration, parse_entity_ref};
use purser_actors::engine::{Engine, OperationError};
use purser_actors::id::WebhookId;
use purser_actors::kernel::idempotency::{CommandResult, IdempotencySlot};
use purser_actors::kernel::{Entity, JsonObject};
use purser_actors::port::{Clock, Entropy};
use purser_actors::webhook::{Rejection, Status, WebhookEndpoint};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::account::{BearerClaims, authenticated_account};
use super::auth::AuthClaims;
use super::error::ApiError;
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::query::Query;
use super::{json, schemas};
use crate::stream::EventFilter;
use crate::vault::Vault;
use crate::webhooks::{HttpWebhookSender, SigningSecret, wire_summary};
pub(super) use deliveries::{RedeliverParams, RedeliverWebhookRequest, STATES, accepted, unknown_delivery};

/// What these routes need.
pub struct WebhookState {
    /// Asks and reads.
    pub engine: Engine,
    /// Judges URLs.
    pub webhook_sender: Arc<HttpWebhookSender>,
    /// Seals secrets.
    pub vault: Arc<Vault>,
    /// Secrets and their names.
    pub entropy: Arc<dyn Entropy>,
    /// Now.
    pub clock: Arc<dyn Clock>,
    /// Longest body taken.
    pub max_body_bytes: usize,
    /// Longest wait for it.
    pub body_timeout: Duration,
}

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(
    post_register,
    get_webhook,
    post_delete,
    deliveries::get_deliveries,
    deliveries::post_redeliver
))]
pub struct ApiDoc;

/// The routes.
pub fn router(webhooks: Arc<WebhookState>) -> Router {
    Router::new()
        .route("/register-webhook", post(post_register))
        .route("/get-webhook", get(get_webhook))
        .route("/delete-webhook", post(post_delete))
        .route("/webhook-deliveries", get(deliveries::get_deliveries))
        .route("/redeliver-webhook", post(deliveries::post_redeliver))
        .with_state(webhooks)
}

type SharedState = State<Arc<WebhookState>>;

/// What `POST /register-webhook` takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RegisterWebhookRequest {
    /// Where events are posted to: a public address, http or https.
    url: String,
    /// Types such as `card.ready` or `card.*`, at most 64; all without it.
    types: Option<Vec<String>>,
}

/// What was understood of it: what an idempotency key stands for.
#[derive(Clone, Serialize)]
struct RegisterWebhookParams {
    url: String,
    types: Vec<String>,
}

/// Register an endpoint for events
///
/// By [Standard Webhooks](https://www.standardwebhooks.com). The `secret` is shown in this answer, and in the answer to the
/// same `Idempotency-Key` for as long as it signs; nowhere else. A signed `webhook.test` is posted at once. Registering a URL
/// again replaces its secret, for 24 hours the one before signs too; it also sets `types` anew, and an endpoint that was
/// disabled is posted to again.
#[utoipa::path(post, path = "/register-webhook", tag = "Events", security(("bearer" = [])), request_body = inline(RegisterWebhookRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered for the same registration, for 24 hours.")),
    responses((status = 200, description = "`registered`, `webhook_id`, `url`, `types`, `secret`, `signing`.", body = schemas::RegisterWebhookResponse),
        (status = 400, description = "A malformed body or key, or a URL that is not called."), (status = 401, description = "No good token."),
        (status = 403, description = "Frozen, or a token issued for a payment and a URL that another session registered."),
        (status = 409, description = "The account has as many endpoints as it may, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now.")))]
async fn post_register(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let wanted: RegisterWebhookRequest = json::read(body, state.max_body_bytes, state.body_timeout).await?;
    let url = state.webhook_sender.check_url(&wanted.url).map_err(|why| {
        let error = format!("This URL is not called: {}{}.", wire_summary(why), why.allowlist_hint());
        ApiError::parameter("webhook_url_not_allowed", "url", error)
            .hint("A public address on port 80 or 443, by name or plainly written.")
    })?;
    let types = wanted.types.unwrap_or_default();
    EventFilter::new(types.clone())
        .map_err(|why| ApiError::parameter("parameter_invalid", "types", why.to_string()))?;
    authenticated_account(&state.engine, &claims).await?;
    let order = RegisterWebhookParams { url, types };
    let (first, later, asked) = (state.clone(), state.clone(), order.clone());
    let (caller, again) = (claims.clone(), claims.clone());
    let types = order.types.clone();
    let run = move |place: Option<IdempotencySlot>| async move { first.register(&caller, asked, place).await };
    let follow = |id: Vec<u8>| async move {
        let (id, record) = parse_entity_ref(&id).ok_or_else(ApiError::internal)?;
        let endpoint = later.engine.webhook(&id).await.map_err(|_| ApiError::internal())?;
        may_change(&again, &endpoint.ok_or_else(ApiError::internal)?)?;
        later.registered(id, record, &types).await
    };
    key.run_following(&state.engine, &claims, "/register-webhook", &order, run, follow)
        .await
}

impl WebhookState {
    async fn register(
        &self,
        claims: &AuthClaims,
        order: RegisterWebhookParams,
        place: Option<IdempotencySlot>,
    ) -> Result<RecordedReply, ApiError> {
        let (secret, record) = (SigningSecret::new(&*self.entropy), self.entropy.random());
        let sealed = secret.seal(&self.vault, record).map_err(|_| ApiError::internal())?;
        let RegisterWebhookParams { url, types } = order;
        let wanted = WebhookRegistration {
            owner: claims.wallet,
            session: claims.session,
            only_own: claims.is_payment_token(),
            url,
            types: types.clone(),
            record,
            sealed,
        };
        match self.engine.register_webhook(wanted, place).await {
            Ok(id) => self.registered(id, record, &types).await,
            Err(RegistrationError::LimitReached(most)) => {
                let error = format!("The account has {most} endpoints, which is as many as it may.");
                let full = ApiError::new(StatusCode::CONFLICT, "webhook_limit_reached", error);
                Err(full.hint("Delete one that is not needed: POST /delete-webhook."))
            }
            Err(RegistrationError::OwnedByOtherSession) => Err(of_another_session()),
            Err(RegistrationError::Operation(denied)) => Err(in_progress_response(&denied)),
        }
    }

    /// The answer, as it is sent each time: with the types that were asked for, whatever a later registration has made of them, and
    /// with the secret for as long as it is one of the endpoint's.
    async fn registered(&self, id: WebhookId, record: u128, types: &[String]) -> Result<RecordedReply, ApiError> {
        let failed = |_| ApiError::internal();
        let endpoint = self.engine.webhook(&id).await.map_err(failed)?;
        let endpoint = endpoint.ok_or_else(ApiError::internal)?;
        let signs = endpoint.signing(self.clock.now()).any(|secret| secret.record == record);
        let sealed = match signs {
            true => self
                .engine
                .sealed_secret(record)
                .await
                .map_err(|_| ApiError::internal())?,
            false => None,
        };
        let secret = sealed
            .map(|sealed| SigningSecret::open(&self.vault, record, &sealed))
            .transpose()
            .map_err(|error| {
                tracing::error!(%error, webhook = %id, "a secret cannot be opened");
                ApiError::internal()
            })?;
        let signing = JsonObject::new()
            .text("scheme", "standard-webhooks")
            .text("algorithm", "hmac-sha256")
            .text("signature_version", "v1")
            .text("signed_content", "{webhook-id}.{webhook-timestamp}.{body}")
            .texts("headers", ["webhook-id", "webhook-timestamp", "webhook-signature"]);
        let withheld = secret.is_none().then_some("secret_replaced");
        let body = JsonObject::new()
            .boolean("registered", true)
            .text("webhook_id", id)
            .text("url", &endpoint.url)
            .texts("types", types)
            .optional_text("secret", secret.map(|secret| secret.to_text().expose().to_owned()))
            .optional_text("secret_withheld", withheld)
            .object("signing", &signing);
        Ok(RecordedReply::ok(&body))
    }

    /// The endpoint of this name, if it is the caller's.
    async fn load_owned(&self, claims: &AuthClaims, text: &str) -> Result<(WebhookId, WebhookEndpoint), ApiError> {
        let id: WebhookId = text.parse().map_err(|_| unknown())?;
        let found = self.engine.webhook(&id).await.map_err(|_| ApiError::internal())?;
        let endpoint = found.ok_or_else(unknown)?;
        if endpoint.owner != claims.wallet {
            let error = "This webhook belongs to another wallet.";
            return Err(ApiError::forbidden("webhook_access_denied", error));
        }
        Ok((id, endpoint))
    }
}

/// Endpoints of the account
///
/// One, a deleted one too, or all that are not deleted. Without their secrets.
#[utoipa::path(get, path = "/get-webhook", tag = "Events", security(("bearer" = [])),
    params(("webhook_id" = Option<String>, Query, description = "One endpoint; without it all, oldest first.")),
    responses((status = 200, description = "`webhook`, or `webhooks`.", body = schemas::GetWebhookResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's endpoint, or a frozen account."),
        (status = 404, description = "No such endpoint.")))]
async fn get_webhook(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["webhook_id"])?;
    authenticated_account(&state.engine, &claims).await?;
    let body = match query.get("webhook_id") {
        Some(text) => {
            let (id, endpoint) = state.load_owned(&claims, text).await?;
            JsonObject::new().object("webhook", &endpoint.view(&id))
        }
        None => {
            let found = state.engine.webhooks_of(&claims.wallet).await;
            let found = found.map_err(|_| ApiError::internal())?;
            JsonObject::new().list("webhooks", found.iter().map(|(id, endpoint)| endpoint.view(id)))
        }
    };
    Ok(json::private(json::bytes_as_json(body.to_json())))
}

/// What `POST /delete-webhook` takes.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DeleteWebhookRequest {
    /// From `POST /register-webhook`.
    webhook_id: String,
}

/// Delete an endpoint
///
/// Nothing is posted to it any more, and its secrets are destroyed. Its URL may be registered again, as a new endpoint.
#[utoipa::path(post, path = "/delete-webhook", tag = "Events", security(("bearer" = [])), request_body = inline(DeleteWebhookRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`deleted`, `webhook_id`.", body = schemas::DeleteWebhookResponse),
        (status = 400, description = "`webhook_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's endpoint, a frozen account, or a token issued for a payment and an endpoint that another session registered."),
        (status = 404, description = "No such endpoint."),
        (status = 409, description = "It is deleted already, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now.")))]
async fn post_delete(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let wanted: DeleteWebhookRequest = json::read(body, state.max_body_bytes, state.body_timeout).await?;
    authenticated_account(&state.engine, &claims).await?;
    let (room, caller, named) = (state.clone(), claims.clone(), wanted.webhook_id.clone());
    let run = move |place: Option<IdempotencySlot>| async move {
        let (id, endpoint) = room.load_owned(&caller, &named).await?;
        may_change(&caller, &endpoint)?;
        let memo = place.map(|place| {
            recorder::<WebhookEndpoint>(place, move |told: CommandResult<'_, WebhookEndpoint>| {
                deleted(id, told.map(drop).map_err(|why| *why))
            })
        });
        match room.engine.delete_webhook(id, memo).await {
            Ok(()) => deleted(id, Ok(())),
            Err(OperationError::Rejected(why)) => deleted(id, Err(why)),
            Err(denied) => Err(in_progress_response(&denied)),
        }
    };
    key.run(&state.engine, &claims, "/delete-webhook", &wanted, run).await
}

fn deleted(id: WebhookId, told: Result<(), Rejection>) -> Result<RecordedReply, ApiError> {
    told.map_err(already_deleted)?;
    let body = JsonObject::new().boolean("deleted", true).text("webhook_id", id);
    Ok(RecordedReply::ok(&body))
}

/// 409: the endpoint takes nothing any more, or not now.
pub(super) fn already_deleted(why: Rejection) -> ApiError {
    let Rejection::InvalidState(state) = why;
    let conflict = |code, error| ApiError::new(StatusCode::CONFLICT, code, error);
    match state {
        "disabled" => conflict("webhook_disabled", "The endpoint is disabled.")
            .hint("Register its URL again: POST /register-webhook."),
        _ => conflict("webhook_deleted", "The endpoint is deleted."),
    }
}

/// What another session has registered is not changed by a token issued for a payment: whoever relayed the payment may have it.
pub(super) fn may_change(claims: &AuthClaims, endpoint: &WebhookEndpoint) -> Result<(), ApiError> {
    match claims.may_change_of(endpoint.session) {
        true => Ok(()),
        false => Err(of_another_session()),
    }
}

fn of_another_session() -> ApiError {
    let error = "This token was issued for a payment, and another session registered this webhook.";
    ApiError::forbidden("sign_in_required", error).hint("Sign in with GET /auth.")
}

/// The refusal that an endpoint's state alone is reason for.
pub(super) fn check_state(endpoint: &WebhookEndpoint) -> Result<(), ApiError> {
    match endpoint.status {
        Status::Active => Ok(()),
        Status::Disabled(_) | Status::Deleted => Err(already_deleted(Rejection::InvalidState(endpoint.status()))),
    }
}

pub(super) fn unknown() -> ApiError {
    ApiError::not_found("webhook_not_found", "There is no such webhook.")
}
