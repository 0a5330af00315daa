//! Rejects controls of a built-in provider if the settings name a remote one. Such a control would have no effect, so
//! accepting it would mislead.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::Method;

use crate::config::RemoteProviders;
use crate::http::error::{ApiError, ErrorCode};

/// Provider that each route controls, by its name in the settings, and whether `purser serve-providers` also has the
/// route.
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

/// Adds the guard to the control routes. It rejects those whose provider is remote in these settings.
pub fn reject_if_remote(routes: Router, outside: &RemoteProviders) -> Router {
    let remote = outside.all().into_iter().filter(|(_, outside)| !outside.url.is_empty());
    let remote: Arc<[&str]> = remote.map(|(name, _)| name).collect();
    routes.route_layer(from_fn_with_state(remote, guard))
}

async fn guard(State(remote): State<Arc<[&'static str]>>, request: Request, next: Next) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let controlled = CONTROLLED_PROVIDERS.iter().find(|(route, ..)| *route == path);
    match controlled.filter(|(_, provider, _)| remote.contains(provider)) {
        Some((_, provider, there)) if request.method() == Method::POST => Err(remote_provider_error(provider, *there)),
        _ => Ok(next.run(request).await),
    }
}

fn remote_provider_error(provider: &str, there: bool) -> ApiError {
    let error = format!("This route controls the built-in provider, but `{provider}.url` names a remote one.");
    ApiError::new(ErrorCode::ProviderIsRemote, error).hint(match there {
        true => "Control `purser serve-providers` at its own address with `purser admin sandbox --service URL`.",
        false => "Control that provider where it runs, or remove its URL from the settings.",
    })
}
