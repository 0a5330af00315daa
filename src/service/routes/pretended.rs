//! The sandbox's desk: every route under `/sandbox`.

use std::sync::Arc;

use axum::Router;
use utoipa::OpenApi;

use super::House;
use crate::http::sandbox;
use crate::sandbox::desk::SandboxDesk;
use crate::sandbox::desk::catalogs::CatalogDesk;
use crate::sandbox::desk::payouts::PayoutDesk;
use crate::service::chains::SandboxWorld;

/// All of them.
pub(super) fn router(house: &House, own: &SandboxWorld) -> Router {
    let routes = sandbox_routes(house, own)
        .merge(catalog_desk(house, own))
        .merge(payout_desk(house, own));
    sandbox::elsewhere::guarded(routes, &house.config.providers)
}

/// Every room's part of the document.
pub(super) fn described() -> Vec<utoipa::openapi::OpenApi> {
    vec![
        sandbox::Api::openapi(),
        sandbox::catalogs::Api::openapi(),
        sandbox::people::Api::openapi(),
        sandbox::payouts::Api::openapi(),
        sandbox::bank::Api::openapi(),
        sandbox::crossing::Api::openapi(),
        sandbox::charging::Api::openapi(),
        sandbox::program::Api::openapi(),
        sandbox::time::Api::openapi(),
        sandbox::verdict::Api::openapi(),
    ]
}

/// Time, and what a check comes to.
fn moved(house: &House, own: &SandboxWorld) -> Router {
    let server = &house.config.server;
    let verdicts = sandbox::verdict::router(Arc::new(sandbox::verdict::VerdictDesk {
        identity: own.providers.identity_check.clone(),
        engine: house.engine.clone(),
        max_body_bytes: server.max_body_bytes,
        body_timeout: server.body_timeout(),
    }));
    let Some(clock) = house.world.moved.clone() else {
        return verdicts;
    };
    verdicts.merge(sandbox::time::router(Arc::new(sandbox::time::TimeDesk {
        clock,
        elsewhere: house.config.providers.elsewhere(),
        max_body_bytes: server.max_body_bytes,
        body_timeout: server.body_timeout(),
    })))
}

fn sandbox_routes(house: &House, own: &SandboxWorld) -> Router {
    let world = &house.world;
    let people = sandbox::people::People {
        identity: own.providers.identity_check.clone(),
        accounts: own.providers.accounts.clone(),
        engine: house.engine.clone(),
        body_timeout: house.config.server.body_timeout(),
    };
    let crossing = sandbox::crossing::router(Arc::new(sandbox::crossing::Crossings {
        bridge: own.providers.bridge.clone(),
        balances: own.providers.balances.clone(),
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    }));
    let steered = sandbox::router(Arc::new(sandbox::SandboxRoutes {
        desk: SandboxDesk::new(own.chains.clone(), own.providers.issuer.clone()),
        settlement: own.chains.clone(),
        engine: house.engine.clone(),
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    }));
    let charging = sandbox::charging::router(Arc::new(sandbox::charging::Charging {
        engine: house.engine.clone(),
        issuer: own.providers.issuer.clone(),
        program: own.providers.program.clone(),
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    }));
    let program = sandbox::program::router(Arc::new(sandbox::program::ProgramDesk {
        program: own.providers.program.clone(),
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    }));
    let bank = sandbox::bank::router(Arc::new(sandbox::bank::BankDesk {
        bank: own.providers.bank.clone(),
        entropy: world.entropy.clone(),
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    }));
    steered
        .merge(bank)
        .merge(crossing)
        .merge(moved(house, own))
        .merge(program)
        .merge(charging)
        .merge(sandbox::people::router(Arc::new(people)))
}

fn payout_desk(house: &House, own: &SandboxWorld) -> Router {
    let world = &house.world;
    sandbox::payouts::router(Arc::new(sandbox::payouts::PayoutRoutes {
        desk: PayoutDesk {
            rails: own.providers.rails.clone(),
            engine: house.engine.clone(),
            vault: world.vault.clone(),
            entropy: world.entropy.clone(),
        },
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    }))
}

fn catalog_desk(house: &House, own: &SandboxWorld) -> Router {
    sandbox::catalogs::router(Arc::new(sandbox::catalogs::CatalogRoutes {
        desk: CatalogDesk {
            merchants: own.providers.merchants.clone(),
            gift_cards: own.providers.gift_cards.clone(),
            rates: own.providers.rates.clone(),
        },
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    }))
}
