//! The webhook routes.

use std::sync::Arc;

use axum::Router;

use super::AppState;
use crate::http::webhooks;

pub(super) fn routes(state: &AppState) -> Router {
    webhooks::router(Arc::new(webhooks::WebhookState {
        engine: state.engine.clone(),
        webhook_sender: state.deps.webhook_sender.clone(),
        vault: state.deps.vault.clone(),
        entropy: state.deps.entropy.clone(),
        clock: state.deps.clock.clone(),
        max_body_bytes: state.config.server.max_body_bytes,
        body_timeout: state.config.server.body_timeout(),
    }))
}
