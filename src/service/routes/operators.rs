//! The operator's side of the edge.

use std::sync::Arc;
use std::time::Duration;

use super::House;
use crate::http::front::{Front, Inside};
use crate::http::operator;
use crate::http::rate::RateLimiter;
use crate::metrics::Metrics;
use crate::service::copies::LiveCopies;

/// How long a copy of a large store may take until it is sent.
const COPYING: Duration = Duration::from_secs(3_600);

/// The same front around other routes, with a budget of its own: a busy public side keeps no operator out.
pub(super) fn front(house: &House, public: &Inside, metrics: Metrics) -> Front {
    let metrics = Arc::new(metrics);
    let inside = Inside {
        meter: metrics.requests.clone(),
        routes: operator::router(Arc::new(admin(house, metrics))),
        no_head: Vec::new(),
        callables: Vec::new(),
        large: Vec::new(),
        patient: vec![("/copy", COPYING)],
        authenticator: Arc::new(operator::NoWallets),
        limiter: Arc::new(RateLimiter::new(&house.config.limits)),
        clock: public.clock.clone(),
        entropy: public.entropy.clone(),
        docs_version: public.docs_version.clone(),
        open_to_pages: false,
    };
    Front::new(&house.config, inside)
}

fn admin(house: &House, metrics: Arc<Metrics>) -> operator::Admin {
    let config = &house.config;
    operator::Admin {
        doors: operator::Doors::new(house.engine.clone(), config.operator.tokens.clone()),
        engine: house.engine.clone(),
        metrics,
        segment_bytes: config.storage.segment_bytes,
        store: house.store.clone(),
        chains: house
            .world
            .real
            .clone()
            .map(|ports| ports as Arc<dyn operator::ChainDesk>),
        copies: Arc::new(LiveCopies::new(
            house.journal.clone(),
            &house.data,
            house.world.chains.transfers.clone(),
            house.revocations.clone(),
        )),
        vault: house.world.vault.clone(),
        cvvs: house.world.cvvs.clone(),
        clock: house.world.clock.clone(),
        entropy: house.world.entropy.clone(),
        revocations: house.revocations.clone(),
        lease_ms: config.operator.lease_seconds * 1_000,
        max_body_bytes: config.server.max_body_bytes,
        body_timeout: config.server.body_timeout(),
    }
}
