//! The sandbox control routes: everything under `/sandbox`.

use std::sync::Arc;

use axum::Router;

use super::AppState;
use crate::http::sandbox::{self, ProviderControls, SandboxApp, clock};
use crate::provider::sandbox::control::SandboxControl;
use crate::provider::sandbox::control::catalogs::CatalogControl;
use crate::provider::sandbox::control::payouts::PayoutControl;
use crate::service::chains::SandboxHandles;

pub(super) fn router(state: &AppState, own: &SandboxHandles) -> Router {
    let (deps, server, providers) = (&state.deps, &state.config.server, &own.providers);
    let mut routes = sandbox::router(Arc::new(SandboxApp {
        shared: Arc::new(ProviderControls {
            providers: providers.clone(),
            frame: super::frame(state),
            entropy: deps.entropy.clone(),
            max_body_bytes: server.max_body_bytes,
        }),
        engine: state.engine.clone(),
        control: SandboxControl::new(own.chains.clone(), providers.issuer.clone()),
        settlement: own.chains.clone(),
        catalogs: CatalogControl {
            merchants: providers.merchants.clone(),
            gift_cards: providers.gift_cards.clone(),
            rates: providers.rates.clone(),
        },
        payouts: PayoutControl {
            rails: providers.payouts.clone(),
            engine: state.engine.clone(),
            vault: deps.vault.clone(),
            entropy: deps.entropy.clone(),
        },
    }));
    if let Some(clock) = deps.sandbox_clock.clone() {
        routes = routes.merge(clock::ROUTES.router(Arc::new(clock::ClockControl {
            clock,
            has_remote_providers: state.config.providers.configured(),
            max_body_bytes: server.max_body_bytes,
        })));
    }
    sandbox::remote_guard::reject_if_remote(routes, &state.config.providers)
}
