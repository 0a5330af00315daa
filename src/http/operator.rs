//! The routes of the operator's own address. None of them is reachable on the public one.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use purser_actors::port::BoxFuture;

use super::caller::{Authenticator, Claims, TokenError};
use super::error::ApiError;
use crate::metrics::{self, Metrics};

/// The routes.
pub fn router(metrics: Arc<Metrics>) -> Router {
    Router::new().route("/metrics", get(get_metrics)).with_state(metrics)
}

async fn get_metrics(State(metrics): State<Arc<Metrics>>) -> Result<Response, ApiError> {
    let page = metrics.page().await.map_err(|error| {
        tracing::error!(%error, "the figures could not be read");
        ApiError::internal()
    })?;
    let kind = HeaderValue::from_static(metrics::CONTENT_TYPE);
    Ok((HeaderMap::from_iter([(CONTENT_TYPE, kind)]), page).into_response())
}

/// The wallets' tokens open nothing here.
pub struct NoWallets;

impl Authenticator for NoWallets {
    fn authenticate(&self, _: &str) -> Result<Claims, TokenError> {
        Err(TokenError::Invalid)
    }

    fn authenticate_session<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Claims, TokenError>> {
        Box::pin(std::future::ready(Err(TokenError::Invalid)))
    }
}
