//! What steers a provider of the sandbox's own would change nothing where the settings have another one asked: it is refused, so
//! that nobody believes that it was done.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::{Method, StatusCode};

use crate::config::RemoteProviders;
use crate::http::error::ApiError;

/// What each route steers, by the provider's name in the settings, and whether `purser serve-providers` has the route too.
pub const CONTROLLED_PROVIDERS: &[(&str, &str, bool)] = &[
    ("/sandbox/accounts", "providers.issuer_accounts", false),
    ("/sandbox/bank", "providers.banking", true),
    ("/sandbox/bank-deposits", "providers.banking", true),
    ("/sandbox/bridge", "providers.bridge", false),
    ("/sandbox/card-balances", "providers.issuer_accounts", false),
    ("/sandbox/card-program", "providers.issuer_accounts", true),
    ("/sandbox/gift-cards", "providers.gift_cards", false),
    ("/sandbox/identity", "providers.identity", false),
    ("/sandbox/identity-result", "providers.identity", false),
    ("/sandbox/issuer", "providers.issuer", false),
    ("/sandbox/merchants", "providers.merchants", false),
    ("/sandbox/payouts", "providers.payouts", false),
    ("/sandbox/rates", "providers.rates", false),
];

/// The routes of the desk; those are refused that steer a provider which these settings have elsewhere.
pub fn reject_if_remote(routes: Router, outside: &RemoteProviders) -> Router {
    let elsewhere = outside.all().into_iter().filter(|(_, outside)| !outside.url.is_empty());
    let elsewhere: Arc<[&str]> = elsewhere.map(|(name, _)| name).collect();
    routes.route_layer(from_fn_with_state(elsewhere, guard))
}

async fn guard(
    State(elsewhere): State<Arc<[&'static str]>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let steers = CONTROLLED_PROVIDERS.iter().find(|(route, ..)| *route == path);
    match steers.filter(|(_, provider, _)| elsewhere.contains(provider)) {
        Some((_, provider, there)) if request.method() == Method::POST => Err(remote_provider_error(provider, *there)),
        _ => Ok(next.run(request).await),
    }
}

fn remote_provider_error(provider: &str, there: bool) -> ApiError {
    let error = format!("This steers a provider in this process, and `{provider}.url` has another one asked.");
    ApiError::new(StatusCode::CONFLICT, "provider_is_remote", error).hint(match there {
        true => "`purser serve-providers` is steered at its own address, by `purser admin sandbox --service URL`.",
        false => "Steer that one where it runs, or take its URL out of the settings.",
    })
}
