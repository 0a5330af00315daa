//! The callable functions of banking: who somebody is to the bank, and what the bank then keeps and moves for them.

mod members;
mod profile;

use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use utoipa::OpenApi;

use super::callable::Callables;

/// What these functions need.
pub struct Banking {
    /// Reads calls, and the engine.
    pub callables: Callables,
    /// Countries that banking is open to, as ISO 3166-1 alpha-2.
    pub countries: Vec<String>,
}

type Shared = axum::extract::State<Arc<Banking>>;

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(profile::create_banking_profile, profile::get_banking_profile_status))]
pub struct Api;

/// The routes.
pub fn router(banking: Arc<Banking>) -> Router {
    Router::new()
        .route("/createBankingProfile", post(profile::create_banking_profile))
        .route("/getBankingProfileStatus", post(profile::get_banking_profile_status))
        .with_state(banking)
}
