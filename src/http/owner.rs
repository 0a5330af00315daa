//! Actions reserved to the account owner, of the account page: `POST /account/identity`, `/account/link`,
//! `/account/unlink`, `/account/caps`, `/account/spending`, `/account/api-keys/revoke`. A request needs the session cookie
//! of a login link that a signed-in wallet created, and must come from our own page. Bearer tokens are ignored. JSON in
//! and out; an answer has the part of `GET /account` that the action has changed.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, Method};
use purser_actors::engine::OperationError;
use purser_actors::entity::account::{self, OwnerCap, OwnerCaps};
use purser_actors::entity::agent_wallet::WalletCaps;
use purser_actors::entity::api_key::Rejection;
use purser_actors::entity::issuer_link::IssuerLinkView;
use purser_actors::kernel::Entity as _;
use purser_actors::money::Cents;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::account::refuse_frozen;
use super::agent_wallet;
use super::api_keys;
use super::app::App;
use super::auth::AuthClaims;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::overview::{AgentWalletOverview, ApiKeyOverview, BUDGETS, CapOverview, IdentityOverview};
use super::page_session::{require_own_page, require_signed_in, session};
use super::passkeys::require_confirmed;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use crate::checkout::account_error;

/// How long an action waits for the provider before it answers that it is in progress.
const WAIT: Duration = Duration::from_secs(3);

type SharedState = State<Arc<App>>;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/account/identity" => post_identity { Owner, unkeyed("starts a check; there is only one at a time") }
    POST "/account/link" => post_link { Owner, unkeyed("starts a link; linking again changes nothing") }
    POST "/account/unlink" => post_unlink { Owner, unkeyed("unlinking again changes nothing") }
    POST "/account/caps" => post_caps {
        Owner, unkeyed("sets the given values"), confirmed_raise(), refuses [
            OriginNotAllowed, TokenMissing, AccountFrozen, SignInRequired, BodyMalformed, ParameterUnrecognized,
            ParameterInvalid,
        ]
    }
    POST "/account/spending" => post_spending { Owner, unkeyed("sets the given values"), confirmed_raise() }
    POST "/account/api-keys/revoke" => post_revoke { Owner, unkeyed("revoking again changes nothing") }
}

/// The identity check after an action.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct IdentityAnswer<'a> {
    /// As in `GET /account`.
    identity: IdentityOverview<'a>,
}

/// The link to the card issuer after an action.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct IssuerLinkAnswer<'a> {
    /// As in `GET /account`.
    issuer_link: Option<IssuerLinkView<'a>>,
}

/// The daily caps after an action.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CapsAnswer {
    /// As in `GET /account`.
    caps: Vec<CapOverview>,
}

/// The managed wallet after an action.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct AgentWalletAnswer {
    /// As in `GET /account`.
    pub(super) agent_wallet: AgentWalletOverview,
}

/// The API key after an action.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct ApiKeyAnswer<'a> {
    /// The key as it is now.
    pub(super) api_key: ApiKeyOverview<'a>,
}

/// Start the identity check of the account owner
///
/// Without fields. The owner continues at `check_url`, or at that of `GET /account` once the provider has one.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/identity", operation_id = "startIdentityCheck", tag = "Account pages",
    responses((status = 200, description = "Started.", body = IdentityAnswer<'static>), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment, or frozen."),
        (status = 409, description = "Verified already."))))]
async fn post_identity(State(app): SharedState, headers: HeaderMap) -> Result<Response, ApiError> {
    let claims = owner(&app, &headers).await?;
    match app.engine.request_identity_check(claims.wallet).await {
        Ok(()) => {}
        Err(OperationError::Rejected(_)) => {
            let error = "The identity is verified already.";
            return Err(ApiError::new(ErrorCode::IdentityAlreadyVerified, error));
        }
        Err(_) => return Err(unavailable()),
    }
    drop(tokio::time::timeout(WAIT, app.engine.await_identity_started(claims.wallet)).await);
    let identity = app.engine.identity(&claims.wallet).await;
    let identity = identity
        .map_err(|_| ApiError::internal())?
        .ok_or_else(ApiError::internal)?;
    let identity = IdentityOverview::of(&identity, &claims);
    Ok(json::private_ok(&IdentityAnswer { identity }))
}

/// Link the owner's account at the card issuer
///
/// Without fields.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/link", operation_id = "linkIssuerAccount", tag = "Account pages",
    responses((status = 200, description = "Linked, declined, or in progress.", body = IssuerLinkAnswer<'static>), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment, or frozen."))))]
async fn post_link(State(app): SharedState, headers: HeaderMap) -> Result<Response, ApiError> {
    set_linked(&app, &headers, true).await
}

async fn set_linked(app: &App, headers: &HeaderMap, linked: bool) -> Result<Response, ApiError> {
    let claims = owner(app, headers).await?;
    let set = app.engine.request_issuer_link(claims.wallet, linked).await;
    set.map_err(|_| unavailable())?;
    if linked {
        drop(tokio::time::timeout(WAIT, app.engine.await_issuer_link(claims.wallet)).await);
    }
    let link = app.engine.issuer_link(&claims.wallet).await;
    let link = link.map_err(|_| ApiError::internal())?;
    let issuer_link = link.as_ref().map(|link| link.view(&claims.wallet));
    Ok(json::private_ok(&IssuerLinkAnswer { issuer_link }))
}

/// Unlink the owner's account at the card issuer
///
/// Without fields. The issuer keeps the account: linking again uses the same one.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/unlink", operation_id = "unlinkIssuerAccount", tag = "Account pages",
    responses((status = 200, description = "Unlinked.", body = IssuerLinkAnswer<'static>), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment, or frozen."))))]
async fn post_unlink(State(app): SharedState, headers: HeaderMap) -> Result<Response, ApiError> {
    set_linked(&app, &headers, false).await
}

/// Request of `POST /account/caps`. What is absent, null or empty has no cap of the owner.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct CapsRequest {
    /// Prepaid cards a day.
    #[cfg_attr(feature = "documents", schema(value_type = Option<u32>))]
    usa_prepaid_card_count: Option<Box<RawValue>>,
    /// US dollars a day for prepaid cards.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    usa_prepaid_card_usd: Option<Box<RawValue>>,
    /// Gift cards a day.
    #[cfg_attr(feature = "documents", schema(value_type = Option<u32>))]
    gift_card_count: Option<Box<RawValue>>,
    /// US dollars a day for gift cards.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    gift_card_usd: Option<Box<RawValue>>,
    /// Payouts to debit cards a day.
    #[cfg_attr(feature = "documents", schema(value_type = Option<u32>))]
    push_to_card_count: Option<Box<RawValue>>,
    /// US dollars a day for payouts to debit cards.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    push_to_card_usd: Option<Box<RawValue>>,
    /// Payments to banks a day.
    #[cfg_attr(feature = "documents", schema(value_type = Option<u32>))]
    bank_payment_count: Option<Box<RawValue>>,
    /// US dollars a day for payments to banks.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    bank_payment_usd: Option<Box<RawValue>>,
    /// Payments to payment apps a day.
    #[cfg_attr(feature = "documents", schema(value_type = Option<u32>))]
    app_payment_count: Option<Box<RawValue>>,
    /// US dollars a day for payments to payment apps.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    app_payment_usd: Option<Box<RawValue>>,
    /// Top-ups of the card balance a day.
    #[cfg_attr(feature = "documents", schema(value_type = Option<u32>))]
    card_balance_count: Option<Box<RawValue>>,
    /// US dollars a day for top-ups of the card balance.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    card_balance_usd: Option<Box<RawValue>>,
}

/// Set the owner's daily caps
///
/// All caps at once: two fields per product, `_count` and `_usd`. A field that is absent, null or empty removes the
/// owner's cap, and 0 forbids every purchase. The service's caps apply too.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/caps", operation_id = "setDailyCaps", tag = "Account pages", request_body = inline(CapsRequest),
    responses((status = 200, description = "Set.", body = CapsAnswer), (status = 400, description = "A field is no number: `param` names it."),
        (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment, or frozen."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_caps(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(&app, &headers).await?;
    let caps = app.body::<CapsRequest>(body).await?.parse()?;
    let account = app.engine.account(&claims.wallet).await;
    let account = account.map_err(|_| ApiError::internal())?;
    let old = account.map(|account| account.owner_caps).unwrap_or_default();
    let raises = BUDGETS.iter().any(|(line, _)| {
        let (old, new) = (old.for_line(*line), caps.for_line(*line));
        is_raised(old.count, new.count) || is_raised(old.sum, new.sum)
    });
    if raises {
        require_confirmed(&app, &claims).await?;
    }
    let set = app.engine.set_owner_caps(claims.wallet, caps).await;
    set.map_err(account_operation_error)?;
    let account = app.account_of_session(&claims).await?;
    let caps = app.caps_of(&account);
    Ok(json::private_ok(&CapsAnswer { caps }))
}

/// Request of `POST /account/spending`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct SpendingRequest {
    /// US dollars per payment or transfer, 1 to 50,000.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::ExactDecimal))]
    per_call_usd: Option<Box<RawValue>>,
    /// US dollars per day (UTC); absent, null or empty for no daily cap.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    per_day_usd: Option<Box<RawValue>>,
    /// Whether a spend over a limit waits for the owner's approval. By default it is refused.
    approvals: Option<bool>,
}

/// Set the spend limits of the managed wallet
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/spending", operation_id = "setAgentWalletCaps", tag = "Account pages", request_body = inline(SpendingRequest),
    responses((status = 200, description = "Set.", body = AgentWalletAnswer), (status = 400, description = "A field is no such amount: `param` names it."),
        (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment, or frozen."),
        (status = 404, description = "There is no managed wallet."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_spending(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(&app, &headers).await?;
    let limits = app.body::<SpendingRequest>(body).await?.parse()?;
    let wallet = app.engine.agent_wallet(&claims.wallet).await;
    let old = wallet.map_err(|_| ApiError::internal())?.map(|wallet| wallet.caps);
    if old.is_some_and(|old| limits.per_call > old.per_call || is_raised(old.per_day, limits.per_day)) {
        require_confirmed(&app, &claims).await?;
    }
    match app.engine.set_wallet_caps(claims.wallet, limits).await {
        Ok(()) => {}
        Err(OperationError::Rejected(why)) => return Err(agent_wallet::payment_error(&why)),
        Err(_) => return Err(unavailable()),
    }
    let agent_wallet = app.wallet_of(&claims).await?.ok_or_else(ApiError::internal)?;
    Ok(json::private_ok(&AgentWalletAnswer { agent_wallet }))
}

/// Request of `POST /account/api-keys/revoke`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct RevokeKeyRequest {
    /// Id of the key.
    api_key_id: String,
}

/// Revoke an API key from the account page
///
/// Tokens of the key get 401 at once, and its streams are closed.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/api-keys/revoke", operation_id = "revokeApiKeyFromPage", tag = "Account pages", request_body = inline(RevokeKeyRequest),
    responses((status = 200, description = "Revoked.", body = ApiKeyAnswer<'static>), (status = 400, description = "No `api_key_id`."),
        (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment or an API key, another's key, or frozen."),
        (status = 404, description = "There is no such key."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_revoke(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(&app, &headers).await?;
    let sent: RevokeKeyRequest = app.body(body).await?;
    let unknown = || api_keys::map_error(&OperationError::Rejected(Rejection::NotFound)).param("api_key_id");
    let id = sent.api_key_id.parse().map_err(|_| unknown())?;
    let read = async || app.engine.api_key(&id).await.map_err(|_| ApiError::internal());
    api_keys::authorize_owner(&claims, &read().await?.ok_or_else(unknown)?)?;
    let done = app.engine.revoke_api_key(id).await;
    done.map_err(|denied| api_keys::map_error(&denied))?;
    let key = read().await?.ok_or_else(unknown)?;
    let api_key = app.key_overview(id, &key).await?;
    Ok(json::private_ok(&ApiKeyAnswer { api_key }))
}

/// Authenticates the owner of a request with a JSON body.
///
/// # Errors
/// 403 for another page's request, 401 without a session, 403 for a session from a payment or of a frozen account.
pub(super) async fn owner(app: &App, headers: &HeaderMap) -> Result<AuthClaims, ApiError> {
    require_own_page(&Method::POST, headers, &app.pages.origins())?;
    signed_in_owner(app, headers).await
}

/// The same for a request that is known to come from our own page.
///
/// # Errors
/// As [`owner`].
pub(super) async fn signed_in_owner(app: &App, headers: &HeaderMap) -> Result<AuthClaims, ApiError> {
    let claims = session(app, headers).await?;
    refuse_frozen(&app.engine, &claims).await?;
    require_signed_in(&claims)?;
    Ok(claims)
}

/// As [`owner`], for what the owner must have confirmed.
///
/// # Errors
/// As [`owner`], then 403 `confirmation_required`.
pub(super) async fn confirmed_owner(app: &App, headers: &HeaderMap) -> Result<AuthClaims, ApiError> {
    let claims = owner(app, headers).await?;
    require_confirmed(app, &claims).await?;
    Ok(claims)
}

/// Whether the new limit permits more than the old one. `None` is no limit.
pub(super) fn is_raised<T: Ord>(old: Option<T>, new: Option<T>) -> bool {
    match (old, new) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(old), Some(new)) => new > old,
    }
}

/// The text of a number or a string; `None` if it is absent, null or empty.
fn filled(field: &Option<Box<RawValue>>) -> Option<&str> {
    let text = field.as_ref()?.get();
    let inside = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    Some(inside.unwrap_or(text).trim()).filter(|text| !text.is_empty())
}

fn invalid(name: impl Into<String>, what: &'static str) -> ApiError {
    ApiError::parameter(ErrorCode::ParameterInvalid, name.into(), what)
}

impl CapsRequest {
    /// The fields in the order of [`BUDGETS`].
    const fn fields(&self) -> [CapFields<'_>; BUDGETS.len()] {
        [
            CapFields(&self.usa_prepaid_card_count, &self.usa_prepaid_card_usd),
            CapFields(&self.gift_card_count, &self.gift_card_usd),
            CapFields(&self.push_to_card_count, &self.push_to_card_usd),
            CapFields(&self.bank_payment_count, &self.bank_payment_usd),
            CapFields(&self.app_payment_count, &self.app_payment_usd),
            CapFields(&self.card_balance_count, &self.card_balance_usd),
        ]
    }

    fn parse(&self) -> Result<OwnerCaps, ApiError> {
        let fields = BUDGETS.iter().zip(self.fields());
        fields
            .into_iter()
            .try_fold(OwnerCaps::default(), |caps, ((line, name), sent)| {
                Ok(caps.with(*line, sent.parse(name)?))
            })
    }
}

/// `_count` and `_usd` of one product.
struct CapFields<'a>(&'a Option<Box<RawValue>>, &'a Option<Box<RawValue>>);

impl CapFields<'_> {
    fn parse(&self, name: &str) -> Result<OwnerCap, ApiError> {
        let whole = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| text.parse().ok())
                .flatten()
        };
        let count = filled(self.0).map(|text| {
            whole(text).ok_or_else(|| invalid(format!("{name}_count"), "Not a whole number of purchases."))
        });
        let sum = filled(self.1)
            .map(|text| Cents::parse(text).map_err(|_| invalid(format!("{name}_usd"), "Not an amount of US dollars.")));
        Ok(OwnerCap {
            count: count.transpose()?,
            sum: sum.transpose()?,
        })
    }
}

impl SpendingRequest {
    fn parse(&self) -> Result<WalletCaps, ApiError> {
        let amount = |name: &'static str, field| {
            let read = filled(field).map(Cents::parse).transpose();
            read.map_err(|_| invalid(name, "Not an amount of US dollars."))
        };
        let allowed = WalletCaps::MIN_PER_CALL..=WalletCaps::MAX_PER_CALL;
        let per_call = amount("per_call_usd", &self.per_call_usd)?.filter(|cap| allowed.contains(cap));
        Ok(WalletCaps {
            per_call: per_call.ok_or_else(|| invalid("per_call_usd", "It must lie between 1 and 50000."))?,
            per_day: amount("per_day_usd", &self.per_day_usd)?,
            approvals: self.approvals.unwrap_or(false),
        })
    }
}

/// The error of an owner's command that the account did not carry out.
pub(super) fn account_operation_error(error: OperationError<account::Rejection>) -> ApiError {
    match error {
        OperationError::Rejected(rejection) => account_error(rejection),
        _ => unavailable(),
    }
}

pub(super) fn unavailable() -> ApiError {
    ApiError::unavailable(
        ErrorCode::ServiceUnavailable,
        "That could not be done now. Try again.",
        1,
    )
}
