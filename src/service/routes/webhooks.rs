//! The webhook routes.

use std::sync::Arc;

use axum::Router;

use super::AppState;
use crate::http::webhooks;

pub(super) fn routes(house: &AppState) -> Router {
    webhooks::router(Arc::new(webhooks::WebhookState {
        engine: house.engine.clone(),
        webhook_sender: house.deps.webhook_sender.clone(),
        vault: house.deps.vault.clone(),
        entropy: house.deps.entropy.clone(),
        clock: house.deps.clock.clone(),
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    }))
}
