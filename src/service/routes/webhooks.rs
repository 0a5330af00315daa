//! The routes of webhooks.

use std::sync::Arc;

use axum::Router;

use super::AppState;
use crate::http::webhooks;

pub(super) fn routes(house: &AppState) -> Router {
    webhooks::router(Arc::new(webhooks::WebhookState {
        engine: house.engine.clone(),
        poster: house.world.webhook_sender.clone(),
        vault: house.world.vault.clone(),
        entropy: house.world.entropy.clone(),
        clock: house.world.clock.clone(),
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    }))
}
