//! The operator API's routes.

use std::sync::Arc;
use std::time::Duration;

use super::AppState;
use crate::http::front::{Front, FrontConfig};
use crate::http::operator;
use crate::http::rate_limit::RateLimiter;
use crate::metrics::Metrics;
use crate::service::copies::LiveCopies;

/// Time limit for copying a large store and sending it.
const COPYING: Duration = Duration::from_secs(3_600);

/// The same server configuration for the operator's routes, with a separate request limit: heavy public load does not
/// lock operators out.
pub(super) fn front(house: &AppState, public: &FrontConfig, metrics: Metrics) -> Front {
    let metrics = Arc::new(metrics);
    let inside = FrontConfig {
        request_metrics: metrics.requests.clone(),
        routes: operator::router(Arc::new(admin(house, metrics))),
        head_not_allowed: Vec::new(),
        callables: Vec::new(),
        body_limit_overrides: Vec::new(),
        timeout_overrides: vec![("/copy", COPYING)],
        authenticator: Arc::new(operator::NoWalletAuth),
        limiter: Arc::new(RateLimiter::new(&house.config.limits)),
        clock: public.clock.clone(),
        entropy: public.entropy.clone(),
        docs_version: public.docs_version.clone(),
        cors: false,
    };
    Front::new(&house.config, inside)
}

fn admin(house: &AppState, metrics: Arc<Metrics>) -> operator::AdminState {
    let config = &house.config;
    operator::AdminState {
        operator_auth: operator::OperatorAuth::new(house.engine.clone(), config.operator.tokens.clone()),
        engine: house.engine.clone(),
        metrics,
        segment_bytes: config.storage.segment_bytes,
        store: house.store.clone(),
        chains: house
            .deps
            .real
            .clone()
            .map(|ports| ports as Arc<dyn operator::ChainControl>),
        copies: Arc::new(LiveCopies::new(
            house.journal.clone(),
            &house.data,
            house.deps.chains.transfers.clone(),
            house.revocations.clone(),
        )),
        vault: house.deps.vault.clone(),
        cvvs: house.deps.cvvs.clone(),
        clock: house.deps.clock.clone(),
        entropy: house.deps.entropy.clone(),
        revocations: house.revocations.clone(),
        lease_ms: config.operator.lease_seconds * 1_000,
        max_body_bytes: config.server.max_body_bytes,
        body_timeout: config.server.body_timeout(),
    }
}
