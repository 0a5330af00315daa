//! Webhook endpoints of an account: register, read, delete.

pub(super) mod deliveries;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use purser_actors::engine::OperationError;
use purser_actors::engine::webhooks::{RegistrationError, WebhookRegistration, parse_entity_ref};
use purser_actors::entity::webhook::WebhookView;
use purser_actors::entity::webhook::{Rejection, Status, WebhookEndpoint};
use purser_actors::id::WebhookId;
use purser_actors::kernel::Entity;
use purser_actors::kernel::idempotency::{CommandResult, IdempotencySlot};
use serde::{Deserialize, Serialize};

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::auth::AuthClaims;
use super::error::{ApiError, ErrorCode};
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::json;
use super::query::Query;
use super::route::routes;
use crate::stream::EventFilter;
use crate::webhooks::{SigningSecret, open_secret, seal_secret, wire_summary};
pub(super) use deliveries::{RedeliverParams, RedeliverWebhookRequest, STATES, accepted, unknown_delivery};

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/register-webhook" => post_register {
        Token, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, BodyMalformed, ParameterMissing, WebhookUrlNotAllowed,
            ParameterInvalid, AccountFrozen, IdempotencyKeyReused, SignInRequired, WebhookLimitReached,
        ]
    }
    GET "/get-webhook" => get_webhook {
        Token, refuses [TokenMissing, ParameterUnrecognized, AccountFrozen, WebhookNotFound, WebhookAccessDenied]
    }
    POST "/delete-webhook" => post_delete {
        Token, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, BodyMalformed, ParameterMissing, AccountFrozen, IdempotencyKeyReused,
            WebhookNotFound, WebhookAccessDenied, SignInRequired, WebhookDeleted,
        ]
    }
    GET "/webhook-deliveries" => deliveries::get_deliveries {
        Token, refuses [
            TokenMissing, ParameterUnrecognized, ParameterInvalid, AccountFrozen, DeliveryNotFound,
            DeliveryAccessDenied, WebhookNotFound, WebhookAccessDenied,
        ]
    }
    POST "/redeliver-webhook" => deliveries::post_redeliver {
        Token, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, BodyMalformed, ParameterMissing, ParameterInvalid, AccountFrozen,
            IdempotencyKeyReused, WebhookNotFound, WebhookAccessDenied, SignInRequired, WebhookDeleted,
        ]
    }
}

type SharedState = State<Arc<App>>;

/// Request of `POST /register-webhook`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct RegisterWebhookRequest {
    /// URL that receives events, HTTP or HTTPS at a public address.
    url: String,
    /// Event types such as `card.ready` or `card.*`, at most 64. All types if absent.
    types: Option<Vec<String>>,
}

/// Covered by the idempotency fingerprint.
#[derive(Clone, Serialize)]
struct RegisterWebhookParams {
    url: String,
    types: Vec<String>,
}

/// A registered webhook endpoint, with its secret.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct RegisterWebhookResponse<'a> {
    /// Always true on success.
    registered: bool,
    /// `wh_…` is the id of the endpoint.
    webhook_id: WebhookId,
    /// URL that receives events.
    url: &'a str,
    /// Event types that are sent; empty for all.
    types: &'a [String],
    /// `whsec_…`, base64 of 32 bytes. Null if a replayed response is older than the current secret; see
    /// `secret_withheld`.
    #[cfg_attr(feature = "documents", schema(required))]
    secret: Option<String>,
    /// Reason for a missing `secret`: `secret_replaced`; otherwise null.
    #[cfg_attr(feature = "documents", schema(required))]
    secret_withheld: Option<&'static str>,
    /// How messages are signed.
    signing: WebhookSigning,
}

/// How messages are signed.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct WebhookSigning {
    /// `standard-webhooks` is the signature scheme.
    scheme: &'static str,
    /// `hmac-sha256` is the signature algorithm.
    algorithm: &'static str,
    /// `v1` is the prefix of each signature, before a comma.
    signature_version: &'static str,
    /// Content that is signed.
    signed_content: &'static str,
    /// Names of the signature headers.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<String>))]
    headers: [&'static str; 3],
}

const SIGNING: WebhookSigning = WebhookSigning {
    scheme: "standard-webhooks",
    algorithm: "hmac-sha256",
    signature_version: "v1",
    signed_content: "{webhook-id}.{webhook-timestamp}.{body}",
    headers: ["webhook-id", "webhook-timestamp", "webhook-signature"],
};

/// Register a webhook endpoint
///
/// Follows [Standard Webhooks](https://www.standardwebhooks.com). The `secret` is shown only in this response, and in
/// replays of the same `Idempotency-Key` while it is valid. A signed `webhook.test` is posted at once. Registering a
/// URL again replaces its secret, and the previous one also signs for 24 hours. It also replaces `types`, and enables a
/// disabled endpoint.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/register-webhook", operation_id = "registerWebhook", tag = "Webhooks", security(("bearer" = [])), request_body = inline(RegisterWebhookRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered for the same registration, for 24 hours.")),
    responses((status = 200, description = "`registered`, `webhook_id`, `url`, `types`, `secret`, `signing`.", body = RegisterWebhookResponse<'static>),
        (status = 400, description = "A malformed body or key, or a URL that is not called."), (status = 401, description = "No good token."),
        (status = 403, description = "Frozen, or a token issued for a payment or an API key and a URL that another session registered."),
        (status = 409, description = "The account has as many endpoints as it may, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now."))))]
async fn post_register(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let request: RegisterWebhookRequest = state.body(body).await?;
    let url = state.webhook_sender.check_url(&request.url).map_err(|why| {
        let error = format!(
            "This URL cannot be called: {}{}.",
            wire_summary(why),
            why.allowlist_hint()
        );
        ApiError::parameter(ErrorCode::WebhookUrlNotAllowed, "url", error)
            .hint("A public address on port 80 or 443, by name or plainly written.")
    })?;
    let types = request.types.unwrap_or_default();
    EventFilter::new(types.clone())
        .map_err(|why| ApiError::parameter(ErrorCode::ParameterInvalid, "types", why.to_string()))?;
    refuse_frozen(&state.engine, &claims).await?;
    let order = RegisterWebhookParams { url, types };
    let (first, later, asked) = (state.clone(), state.clone(), order.clone());
    let (caller, again) = (claims.clone(), claims.clone());
    let types = order.types.clone();
    let run = move |place: Option<IdempotencySlot>| async move {
        first.register_webhook_endpoint(&caller, asked, place).await
    };
    let follow = |id: Vec<u8>| async move {
        let (id, record) = parse_entity_ref(&id).ok_or_else(ApiError::internal)?;
        let endpoint = later.engine.webhook(&id).await.map_err(|_| ApiError::internal())?;
        let endpoint = endpoint.ok_or_else(ApiError::internal)?;
        later.require_own_webhook(&again, &endpoint).await?;
        later.registered(id, record, &types).await
    };
    key.run_following(&state.engine, &claims, "/register-webhook", &order, run, follow)
        .await
}

impl App {
    async fn register_webhook_endpoint(
        &self,
        claims: &AuthClaims,
        order: RegisterWebhookParams,
        place: Option<IdempotencySlot>,
    ) -> Result<RecordedReply, ApiError> {
        let (secret, record) = (SigningSecret::new(&*self.entropy), self.entropy.random());
        let sealed = seal_secret(&secret, &self.vault, record).map_err(|_| ApiError::internal())?;
        let RegisterWebhookParams { url, types } = order;
        let request = WebhookRegistration {
            owner: claims.wallet,
            session: claims.session,
            amr: claims.amr,
            url,
            types: types.clone(),
            record,
            sealed,
        };
        match self.engine.register_webhook(request, place).await {
            Ok(id) => self.registered(id, record, &types).await,
            Err(RegistrationError::LimitReached(most)) => {
                let error = format!("The account has {most} endpoints, which is as many as it may.");
                let full = ApiError::new(ErrorCode::WebhookLimitReached, error);
                Err(full.hint("Delete one that is not needed: POST /delete-webhook."))
            }
            Err(RegistrationError::OwnedByOtherSession) => Err(of_another_session(claims)),
            Err(RegistrationError::Operation(denied)) => Err(in_progress_response(&denied)),
        }
    }

    /// The response, as sent each time. It has the requested types, even after a later registration, and the secret
    /// while it is one of the endpoint's.
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
            .map(|sealed| open_secret(&self.vault, record, &sealed))
            .transpose()
            .map_err(|error| {
                tracing::error!(%error, webhook = %id, "a secret cannot be opened");
                ApiError::internal()
            })?;
        Ok(RecordedReply::ok(&RegisterWebhookResponse {
            registered: true,
            webhook_id: id,
            url: &endpoint.url,
            types,
            secret_withheld: secret.is_none().then_some("secret_replaced"),
            secret: secret.map(|secret| secret.to_text().expose().to_owned()),
            signing: SIGNING,
        }))
    }

    /// Loads the caller's webhook endpoint.
    async fn load_owned_webhook(
        &self,
        claims: &AuthClaims,
        text: &str,
    ) -> Result<(WebhookId, WebhookEndpoint), ApiError> {
        let id: WebhookId = text.parse().map_err(|_| unknown())?;
        let found = self.engine.webhook(&id).await.map_err(|_| ApiError::internal())?;
        let endpoint = found.ok_or_else(unknown)?;
        if endpoint.owner != claims.wallet {
            let error = "This webhook belongs to another wallet.";
            return Err(ApiError::new(ErrorCode::WebhookAccessDenied, error));
        }
        Ok((id, endpoint))
    }
}

/// One endpoint, or all that the caller sees.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
enum GetWebhookResponse<'a> {
    /// The endpoint with `webhook_id`.
    One(WebhookResponse<'a>),
    /// All endpoints, without `webhook_id`.
    All(WebhookList<'a>),
}

/// A webhook endpoint.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct WebhookResponse<'a> {
    /// The requested endpoint.
    webhook: WebhookView<'a>,
}

/// Webhook endpoints of the account.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct WebhookList<'a> {
    /// Webhook endpoints, oldest first.
    webhooks: Vec<WebhookView<'a>>,
}

/// Read the webhook endpoints of the account
///
/// One endpoint, including a deleted one, or all that are not deleted. Without their secrets. A token of an API key sees
/// those that tokens of that key registered last, a token issued for a payment those that it registered itself.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-webhook", operation_id = "getWebhook", tag = "Webhooks", security(("bearer" = [])),
    params(("webhook_id" = Option<String>, Query, description = "One endpoint; without it all, oldest first.")),
    responses((status = 200, description = "`webhook`, or `webhooks`.", body = GetWebhookResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's endpoint, a frozen account, or a token issued for a payment or an API key and an endpoint that another session registered."),
        (status = 404, description = "No such endpoint."))))]
async fn get_webhook(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["webhook_id"])?;
    refuse_frozen(&state.engine, &claims).await?;
    let Some(text) = query.get("webhook_id") else {
        let found = state.engine.webhooks_of(&claims.wallet).await;
        let mut webhooks = Vec::new();
        let found = found.map_err(|_| ApiError::internal())?;
        for (id, endpoint) in &found {
            if state.is_own_webhook(&claims, endpoint).await? {
                webhooks.push(endpoint.view(id));
            }
        }
        return Ok(json::private_ok(&GetWebhookResponse::All(WebhookList { webhooks })));
    };
    let (id, endpoint) = state.load_seen_webhook(&claims, text).await?;
    let webhook = endpoint.view(&id);
    Ok(json::private_ok(&GetWebhookResponse::One(WebhookResponse { webhook })))
}

/// Request of `POST /delete-webhook`.
#[derive(Deserialize, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct DeleteWebhookRequest {
    /// Id from `POST /register-webhook`.
    webhook_id: String,
}

/// A deleted webhook endpoint.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DeleteWebhookResponse {
    /// Always true on success.
    deleted: bool,
    /// Id of the endpoint.
    webhook_id: WebhookId,
}

/// Delete a webhook endpoint
///
/// No more events are posted to it, and its secrets are destroyed. Its URL can be registered again, as a new endpoint.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/delete-webhook", operation_id = "deleteWebhook", tag = "Webhooks", security(("bearer" = [])), request_body = inline(DeleteWebhookRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`deleted`, `webhook_id`.", body = DeleteWebhookResponse),
        (status = 400, description = "`webhook_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's endpoint, a frozen account, or a token issued for a payment or an API key and an endpoint that another session registered."),
        (status = 404, description = "No such endpoint."),
        (status = 409, description = "It is deleted already, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now."))))]
async fn post_delete(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let request: DeleteWebhookRequest = state.body(body).await?;
    refuse_frozen(&state.engine, &claims).await?;
    let (running, caller, named) = (state.clone(), claims.clone(), request.webhook_id.clone());
    let run = move |place: Option<IdempotencySlot>| async move {
        let (id, endpoint) = running.load_owned_webhook(&caller, &named).await?;
        running.require_own_webhook(&caller, &endpoint).await?;
        let recorder = place.map(|place| {
            recorder::<WebhookEndpoint>(place, move |result: CommandResult<'_, WebhookEndpoint>| {
                deleted(id, result.map(drop).map_err(|why| *why))
            })
        });
        match running.engine.delete_webhook(id, recorder).await {
            Ok(()) => deleted(id, Ok(())),
            Err(OperationError::Rejected(why)) => deleted(id, Err(why)),
            Err(denied) => Err(in_progress_response(&denied)),
        }
    };
    key.run(&state.engine, &claims, "/delete-webhook", &request, run).await
}

fn deleted(id: WebhookId, result: Result<(), Rejection>) -> Result<RecordedReply, ApiError> {
    result.map_err(already_deleted)?;
    Ok(RecordedReply::ok(&DeleteWebhookResponse {
        deleted: true,
        webhook_id: id,
    }))
}

/// 409: the endpoint is deleted or disabled.
pub(super) fn already_deleted(why: Rejection) -> ApiError {
    let Rejection::InvalidState(state) = why;
    let conflict = |code, error| ApiError::new(code, error);
    match state {
        "disabled" => conflict(ErrorCode::WebhookDisabled, "The endpoint is disabled.")
            .hint("Register its URL again: POST /register-webhook."),
        _ => conflict(ErrorCode::WebhookDeleted, "The endpoint is deleted."),
    }
}

impl App {
    /// Rejects an agent for an endpoint that another session registered: it would learn a secret that signs, or take it over.
    /// An API key's tokens see and change what tokens of that key registered, a payment's token what it registered itself.
    ///
    /// # Errors
    /// 403 `sign_in_required`.
    pub(super) async fn require_own_webhook(
        &self,
        claims: &AuthClaims,
        endpoint: &WebhookEndpoint,
    ) -> Result<(), ApiError> {
        match self.is_own_webhook(claims, endpoint).await? {
            true => Ok(()),
            false => Err(of_another_session(claims)),
        }
    }

    /// Whether the caller may see and change the endpoint.
    async fn is_own_webhook(&self, claims: &AuthClaims, endpoint: &WebhookEndpoint) -> Result<bool, ApiError> {
        let is_own = self.engine.is_own_webhook(endpoint, claims.session, claims.amr).await;
        is_own.map_err(|_| ApiError::internal())
    }

    /// Loads an endpoint that the caller may see.
    async fn load_seen_webhook(
        &self,
        claims: &AuthClaims,
        text: &str,
    ) -> Result<(WebhookId, WebhookEndpoint), ApiError> {
        let (id, endpoint) = self.load_owned_webhook(claims, text).await?;
        if !self.is_own_webhook(claims, &endpoint).await? {
            let error = "Another session registered this webhook.";
            return Err(ApiError::new(ErrorCode::WebhookAccessDenied, error));
        }
        Ok((id, endpoint))
    }
}

fn of_another_session(claims: &AuthClaims) -> ApiError {
    let error = match claims.is_payment_token() {
        true => "This token was issued for a payment, and another session registered this webhook.",
        false => "This token was issued for an API key, and another session registered this webhook.",
    };
    ApiError::new(ErrorCode::SignInRequired, error).hint("Sign in with GET /auth.")
}

/// The error for an endpoint that is deleted or disabled.
pub(super) fn check_state(endpoint: &WebhookEndpoint) -> Result<(), ApiError> {
    match endpoint.status {
        Status::Active => Ok(()),
        Status::Disabled(_) | Status::Deleted => Err(already_deleted(Rejection::InvalidState(endpoint.status()))),
    }
}

pub(super) fn unknown() -> ApiError {
    ApiError::new(ErrorCode::WebhookNotFound, "There is no such webhook.")
}
