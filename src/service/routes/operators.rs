//! The operator API's routes.

use std::sync::Arc;

use axum::Router;

use super::AppState;
use crate::announcements::Announcer;
use crate::http::front::{Front, FrontConfig};
use crate::http::operator;
use crate::http::rate_limit::RateLimiter;
use crate::http::route::{Access, path_rules};
use crate::http::routes;
use crate::http::web_apps;
use crate::identity::IdentityKeys;
use crate::metrics::Metrics;
use crate::metrics::ledger_totals::LedgerTotaller;
use crate::metrics::series::SeriesRecorder;
use crate::service::copies::LiveCopies;

/// What the operator address shares with the public one.
pub(super) struct OperatorParts {
    /// Keys of the challenges and users of passkeys.
    pub(super) keys: IdentityKeys,
    /// Controls of the sandbox, if there is one.
    pub(super) sandbox: Option<Router>,
}

/// The same server configuration for the operator's routes, with a separate request limit: heavy public load does not
/// lock operators out.
pub(super) fn front(state: &AppState, public: &FrontConfig, parts: OperatorParts, metrics: Metrics) -> Front {
    let metrics = Arc::new(metrics);
    let desk = Arc::new(admin(state, parts, metrics.clone()));
    let inside = FrontConfig {
        request_metrics: metrics.requests.clone(),
        routes: operator::router(desk.clone()).merge(web_apps::operator_router(desk)),
        rules: path_rules(routes::operator(), &state.config),
        authenticator: Arc::new(operator::NoWalletAuth),
        limiter: Arc::new(RateLimiter::new(&state.config.limits)),
        clock: public.clock.clone(),
        entropy: public.entropy.clone(),
        docs_version: public.docs_version.clone(),
        cors: false,
    };
    Front::new(&state.config, inside)
}

/// Starts to record the last hour.
fn series(state: &AppState, metrics: &Arc<Metrics>) -> Arc<SeriesRecorder> {
    let paid = routes::public().filter(|route| route.access == Access::Paid);
    let paid = paid.map(|route| route.path).collect();
    let recorder = SeriesRecorder::new(metrics.clone(), state.deps.chain_meters.clone(), paid);
    let recorder = Arc::new(recorder);
    tokio::spawn(recorder.clone().run());
    recorder
}

/// Starts to announce what waits at the operators' webhook, if there is one.
fn announcer(state: &AppState, metrics: &Arc<Metrics>) -> Option<Arc<Announcer>> {
    let pauses = state.config.webhooks.engine_settings().pauses_ms;
    let announcer = Arc::new(Announcer::new(
        state.store.clone(),
        state.deps.clock.clone(),
        state.deps.entropy.clone(),
        state.deps.operator_webhook.clone()?,
        pauses.to_vec(),
        metrics.announcements.clone(),
    ));
    tokio::spawn(announcer.clone().run(metrics.hub.clone()));
    Some(announcer)
}

fn admin(state: &AppState, parts: OperatorParts, metrics: Arc<Metrics>) -> operator::AdminState {
    let OperatorParts { keys, sandbox } = parts;
    let config = &state.config;
    let announcer = announcer(state, &metrics);
    operator::AdminState {
        operator_auth: operator::OperatorAuth::new(
            state.engine.clone(),
            config.operator.tokens.clone(),
            state.deps.clock.clone(),
            keys,
            state.nonces_valid_from,
        )
        .at_localhost(state.desk_owns_localhost),
        engine: state.engine.clone(),
        sandbox,
        treasury: state.deps.chains.treasury.clone(),
        series: series(state, &metrics),
        totals: LedgerTotaller::new(state.store.clone(), state.deps.clock.clone()),
        queues: operator::QueueWatch::start(metrics.clone(), announcer.clone()),
        announcer,
        metrics,
        segment_bytes: config.storage.segment_bytes,
        store: state.store.clone(),
        chains: state.deps.real.clone(),
        copies: Arc::new(LiveCopies::new(
            state.journal.clone(),
            &state.data,
            state.deps.chains.transfers.clone(),
            state.revocations.clone(),
        )),
        vault: state.deps.vault.clone(),
        cvvs: state.deps.cvvs.clone(),
        clock: state.deps.clock.clone(),
        entropy: state.deps.entropy.clone(),
        revocations: state.revocations.clone(),
        lease_ms: config.operator.lease_seconds * 1_000,
        max_body_bytes: config.server.max_body_bytes,
    }
}
