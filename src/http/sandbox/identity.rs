//! The sandbox's identity check with its pages for people, and controls of it and of the issuer accounts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use purser_actors::id::Wallet;
use serde::{Deserialize, Serialize};

use super::super::error::{ApiError, ErrorCode, with_prebuilt_body};
use super::super::json;
use super::super::query::Query;
use super::super::sandbox_identity_page;
use super::{PendingProviderFault, ProviderControls, SandboxApp};
use crate::http::route::routes;
use crate::provider::sandbox::control::ProviderFaultParam;
use crate::provider::sandbox::identity_check::{CheckPage, SandboxIdentityCheck};
use crate::sandbox::faults::Faults;

/// A form with a person's answers.
const MAX_FORM_BYTES: usize = 4 * 1024;
const MAX_DELAY_MS: u64 = 600_000;

type SharedState = State<Arc<SandboxApp>>;

routes! { pub static ROUTES: Arc<SandboxApp>, openapi;
    POST "/sandbox/identity" => post_identity { Sandbox, control(), refuses [ProviderIsRemote] }
    POST "/sandbox/accounts" => post_accounts { Sandbox, control(), refuses [ProviderIsRemote] }
    POST "/sandbox/link" => post_link { Sandbox, control() }
}

// The pages for people alone, without controls.
routes! { pub static PAGES: Arc<ProviderControls>, openapi;
    GET "/sandbox/identity-check" => get_check { Sandbox }
    POST "/sandbox/identity-check" => post_check { Sandbox, control() }
}

/// Show the sandbox identity check
///
/// Linked from the account page. Family names such as `Reject` force rare outcomes.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/sandbox/identity-check", operation_id = "showSandboxIdentityForm", tag = "Sandbox",
    params(("token" = String, Query, description = "The check's own secret.")),
    responses((status = 200, description = "The form, or that it was answered.", body = String, content_type = "text/html"),
        (status = 404, description = "No such check."))))]
async fn get_check(
    State(people): State<Arc<ProviderControls>>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["token"])?;
    let page = people
        .providers
        .identity_check
        .page(query.required("token")?)
        .ok_or_else(unknown)?;
    Ok(sandbox_identity_page::page(&people.frame, page, None, StatusCode::OK))
}

/// Submit the sandbox identity check
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/identity-check", operation_id = "submitSandboxIdentityForm", tag = "Sandbox",
    params(("token" = String, Query, description = "The check's own secret.")),
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "Taken; the verdict follows.", body = String, content_type = "text/html"),
        (status = 400, description = "The form again, with what is wrong.", body = String, content_type = "text/html"),
        (status = 404, description = "No such check."))))]
async fn post_check(
    State(people): State<Arc<ProviderControls>>,
    RawQuery(query): RawQuery,
    body: Body,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["token"])?;
    let token = query.required("token")?;
    people.providers.identity_check.page(token).ok_or_else(unknown)?;
    let body = json::collect(body, MAX_FORM_BYTES).await?;
    let text = std::str::from_utf8(&body).unwrap_or_default();
    const FIELDS: [&str; 4] = ["given_name", "family_name", "date_of_birth", "country"];
    let read = Query::parse(Some(text), &FIELDS)?;
    let field = |name: &str| read.get(name).map(|value| (name.to_owned(), value.to_owned()));
    let form: BTreeMap<String, String> = FIELDS.iter().filter_map(|name| field(name)).collect();
    Ok(match people.providers.identity_check.submit_form(token, &form).await {
        Ok(page) => sandbox_identity_page::page(&people.frame, page, None, StatusCode::OK),
        Err(wrong) => {
            let page =
                sandbox_identity_page::page(&people.frame, CheckPage::Open, Some(wrong), StatusCode::BAD_REQUEST);
            with_prebuilt_body(page)
        }
    })
}

fn unknown() -> ApiError {
    ApiError::new(ErrorCode::IdentityCheckNotFound, "There is no such identity check.")
}

/// Fault to inject into later calls.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct IdentityFaultRequest {
    /// Fault to inject.
    #[cfg_attr(feature = "documents", schema(inline))]
    fault: ProviderFaultParam,
    /// Number of occurrences; 1 if absent, 0 until cleared.
    times: Option<u32>,
    /// For `slow`: delay in milliseconds; 3,000 if absent.
    delay_ms: Option<u64>,
}

impl IdentityFaultRequest {
    fn apply(&self, faults: &Faults) -> Result<(), ApiError> {
        let wrong =
            |param: &'static str, what: &'static str| ApiError::parameter(ErrorCode::ParameterInvalid, param, what);
        if self.delay_ms.is_some() && self.fault != ProviderFaultParam::Slow {
            return Err(wrong("delay_ms", "only for slow"));
        }
        let ms = self.delay_ms.unwrap_or(3_000);
        if ms > MAX_DELAY_MS {
            return Err(wrong("delay_ms", "at most 600000"));
        }
        match faults.set(None, self.fault.fault(ms), self.times) {
            true => Ok(()),
            false => Err(wrong("fault", "too many faults are waiting; clear them first")),
        }
    }
}

/// Summary of the identity check provider.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SandboxIdentityView {
    /// Number of started checks.
    started: u64,
    /// Number of passed checks.
    passed: u64,
    /// Number of failed checks.
    failed: u64,
    /// Provider's id of the newest check, as in its callbacks.
    last_reference: Option<String>,
    /// Faults that wait for a call.
    #[cfg_attr(feature = "documents", schema(inline))]
    faults: Vec<PendingProviderFault>,
    /// Faults injected since startup.
    faults_injected: u64,
}

/// Inject a fault into the identity check provider
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/identity", operation_id = "injectIdentityFault", tag = "Sandbox", request_body = inline(IdentityFaultRequest),
    responses((status = 200, description = "The provider after it.", body = inline(SandboxIdentityView)),
        (status = 409, description = "The provider is remote."))))]
async fn post_identity(State(people): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: IdentityFaultRequest = json::read(body, MAX_FORM_BYTES).await?;
    let provider = &people.shared.providers.identity_check;
    request.apply(&provider.faults)?;
    render_identity(provider).await
}

async fn render_identity(provider: &SandboxIdentityCheck) -> Result<Response, ApiError> {
    let state = provider.state().await.map_err(stopped)?;
    Ok(json::ok(&SandboxIdentityView {
        started: state.started,
        passed: state.passed,
        failed: state.failed,
        last_reference: state.last_reference,
        faults: PendingProviderFault::all(&provider.faults.waiting()),
        faults_injected: provider.faults.injected(),
    }))
}

/// Summary of the issuer accounts.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SandboxIssuerAccountsView {
    /// Number of opened accounts.
    opened: u64,
    /// Faults that wait for a call.
    #[cfg_attr(feature = "documents", schema(inline))]
    faults: Vec<PendingProviderFault>,
    /// Faults injected since startup.
    faults_injected: u64,
}

/// Inject a fault into the opening of issuer accounts
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/accounts", operation_id = "injectIssuerLinkFault", tag = "Sandbox", request_body = inline(IdentityFaultRequest),
    responses((status = 200, description = "The accounts after it.", body = inline(SandboxIssuerAccountsView)),
        (status = 409, description = "The provider is remote."))))]
async fn post_accounts(State(people): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: IdentityFaultRequest = json::read(body, MAX_FORM_BYTES).await?;
    let accounts = &people.shared.providers.accounts;
    request.apply(&accounts.faults)?;
    Ok(json::ok(&SandboxIssuerAccountsView {
        opened: accounts.opened().await.map_err(stopped)?,
        faults: PendingProviderFault::all(&accounts.faults.waiting()),
        faults_injected: accounts.faults.injected(),
    }))
}

/// Wallet to link or unlink.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct IssuerLinkRequest {
    /// Wallet address on either chain.
    wallet: String,
    /// Whether the wallet should be linked to an account at the issuer.
    linked: bool,
}

/// Result of linking or unlinking.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct IssuerLinkResponse {
    /// Exact wallet address.
    wallet: String,
    /// Whether it is linked. Linking may still be in progress.
    linked: bool,
    /// Deposit address of the account on Base.
    deposit_address: Option<String>,
}

/// Link a wallet to the issuer, or unlink it, as its owner
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/link", operation_id = "setSandboxIssuerLink", tag = "Sandbox", request_body = inline(IssuerLinkRequest),
    responses((status = 200, description = "What is true now.", body = inline(IssuerLinkResponse)))))]
async fn post_link(State(people): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: IssuerLinkRequest = json::read(body, MAX_FORM_BYTES).await?;
    let wrong = |_| ApiError::parameter(ErrorCode::ParameterInvalid, "wallet", "not an address");
    let wallet: Wallet = request.wallet.parse().map_err(wrong)?;
    let failed = || ApiError::unavailable(ErrorCode::ServiceUnavailable, "The link could not be changed.", 1);
    people
        .engine
        .request_issuer_link(wallet, request.linked)
        .await
        .map_err(|_| failed())?;
    if request.linked {
        drop(tokio::time::timeout(Duration::from_secs(3), people.engine.await_issuer_link(wallet)).await);
    }
    let address = people.engine.deposit_address(&wallet).await.map_err(|_| failed())?;
    Ok(json::ok(&IssuerLinkResponse {
        wallet: wallet.address(),
        linked: address.is_some(),
        deposit_address: address.map(|address| Wallet::Evm(address).address()),
    }))
}

fn stopped(_: crate::sandbox::store::SandboxStoreError) -> ApiError {
    ApiError::unavailable(ErrorCode::SandboxUnavailable, "The sandbox has stopped.", 1)
}
