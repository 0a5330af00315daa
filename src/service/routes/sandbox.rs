//! The sandbox control routes: everything under `/sandbox`.

use std::sync::Arc;

use axum::Router;

use super::AppState;
use crate::http::sandbox;
use crate::sandbox::control::SandboxControl;
use crate::sandbox::control::catalogs::CatalogControl;
use crate::sandbox::control::payouts::PayoutControl;
use crate::service::chains::SandboxHandles;

pub(super) fn router(state: &AppState, own: &SandboxHandles) -> Router {
    let routes = sandbox_routes(state, own)
        .merge(catalog_control(state, own))
        .merge(payout_control(state, own));
    sandbox::remote_guard::reject_if_remote(routes, &state.config.providers)
}

/// Controls of the clock and of identity verification results.
fn clock_control(state: &AppState, own: &SandboxHandles) -> Router {
    let server = &state.config.server;
    let verdicts = sandbox::identity_result::ROUTES.router(Arc::new(sandbox::identity_result::IdentityResultControl {
        identity: own.providers.identity_check.clone(),
        engine: state.engine.clone(),
        max_body_bytes: server.max_body_bytes,
        body_timeout: server.body_timeout(),
    }));
    let Some(clock) = state.deps.sandbox_clock.clone() else {
        return verdicts;
    };
    verdicts.merge(sandbox::clock::ROUTES.router(Arc::new(sandbox::clock::ClockControl {
        clock,
        has_remote_providers: state.config.providers.configured(),
        max_body_bytes: server.max_body_bytes,
        body_timeout: server.body_timeout(),
    })))
}

fn sandbox_routes(state: &AppState, own: &SandboxHandles) -> Router {
    let world = &state.deps;
    let people = sandbox::identity::IdentityControl {
        identity: own.providers.identity_check.clone(),
        accounts: own.providers.accounts.clone(),
        engine: state.engine.clone(),
        body_timeout: state.config.server.body_timeout(),
    };
    let pages = sandbox::identity::IdentityPages {
        identity: people.identity.clone(),
        body_timeout: people.body_timeout,
    };
    let bridge_transfers = sandbox::bridge::ROUTES.router(Arc::new(sandbox::bridge::BridgeControl {
        bridge: own.providers.bridge.clone(),
        balances: own.providers.balances.clone(),
        max_body_bytes: state.config.server.max_body_bytes,
        body_timeout: state.config.server.body_timeout(),
    }));
    let controls = sandbox::ROUTES.router(Arc::new(sandbox::SandboxState {
        control: SandboxControl::new(own.chains.clone(), own.providers.issuer.clone()),
        settlement: own.chains.clone(),
        engine: state.engine.clone(),
        max_body_bytes: state.config.server.max_body_bytes,
        body_timeout: state.config.server.body_timeout(),
    }));
    let charging = sandbox::card_charges::ROUTES.router(Arc::new(sandbox::card_charges::CardChargeState {
        engine: state.engine.clone(),
        issuer: own.providers.issuer.clone(),
        reloadable_cards: own.providers.reloadable_cards.clone(),
        max_body_bytes: state.config.server.max_body_bytes,
        body_timeout: state.config.server.body_timeout(),
    }));
    let program =
        sandbox::reloadable_cards::ROUTES.router(Arc::new(sandbox::reloadable_cards::ReloadableCardControl {
            reloadable_cards: own.providers.reloadable_cards.clone(),
            max_body_bytes: state.config.server.max_body_bytes,
            body_timeout: state.config.server.body_timeout(),
        }));
    let bank = sandbox::bank::ROUTES.router(Arc::new(sandbox::bank::BankControl {
        bank: own.providers.bank.clone(),
        entropy: world.entropy.clone(),
        max_body_bytes: state.config.server.max_body_bytes,
        body_timeout: state.config.server.body_timeout(),
    }));
    controls
        .merge(bank)
        .merge(bridge_transfers)
        .merge(clock_control(state, own))
        .merge(program)
        .merge(charging)
        .merge(sandbox::identity::PAGES.router(pages))
        .merge(sandbox::identity::ROUTES.router(Arc::new(people)))
}

fn payout_control(state: &AppState, own: &SandboxHandles) -> Router {
    let world = &state.deps;
    sandbox::payouts::ROUTES.router(Arc::new(sandbox::payouts::PayoutControlState {
        control: PayoutControl {
            rails: own.providers.payouts.clone(),
            engine: state.engine.clone(),
            vault: world.vault.clone(),
            entropy: world.entropy.clone(),
        },
        max_body_bytes: state.config.server.max_body_bytes,
        body_timeout: state.config.server.body_timeout(),
    }))
}

fn catalog_control(state: &AppState, own: &SandboxHandles) -> Router {
    sandbox::catalogs::ROUTES.router(Arc::new(sandbox::catalogs::CatalogControlState {
        control: CatalogControl {
            merchants: own.providers.merchants.clone(),
            gift_cards: own.providers.gift_cards.clone(),
            rates: own.providers.rates.clone(),
        },
        max_body_bytes: state.config.server.max_body_bytes,
        body_timeout: state.config.server.body_timeout(),
    }))
}
