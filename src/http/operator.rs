//! Routes of the operator address: `/metrics`, and `/admin/*` with an operator token. None of them is reachable on the
//! public address.

mod accounts;
mod api_doc;
mod approvals;
mod audit_log;
mod auth;
mod card_withdrawals;
mod chains;
mod copies;
mod customers;
mod extractors;
mod incoming;
mod intl_cards;
mod intl_orders;
mod jobs;
mod leases;
mod lines;
mod operations;
mod reconciliation;
mod refunds;
pub mod schemas;
mod suspended;
pub mod system;
mod tokens;
mod untracked_transfers;
mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use purser_actors::engine::Engine;
use purser_actors::port::{BoxFuture, Clock, Entropy};
use purser_storage::Store;

use super::auth::{AuthClaims, Authenticator, TokenError};
use super::error::{ApiError, ErrorCode};
use crate::metrics::{self, Metrics};
use crate::revocations::RevocationLog;
use crate::settlement::real::RealPorts;
use crate::vault::{CvvVault, Vault};

pub use auth::{OperatorAuth, hash_of, is_token, new_token};
pub use copies::{Copies, Copy, ListedTransfer};
pub use tokens::first_token;

pub struct AdminState {
    pub operator_auth: OperatorAuth,
    pub engine: Engine,
    /// Counters and gauges.
    pub metrics: Arc<Metrics>,
    /// Size of a full segment of the journal.
    pub segment_bytes: u64,
    /// Reads system events.
    pub store: Arc<dyn Store>,
    /// The real chains. `None` in the sandbox.
    pub chains: Option<Arc<RealPorts>>,
    /// Copies for backups.
    pub copies: Arc<dyn Copies>,
    /// Seals card numbers.
    pub vault: Arc<Vault>,
    pub cvvs: CvvVault,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// Durable log of revocations.
    pub revocations: Arc<RevocationLog>,
    /// Duration of a lease, in milliseconds.
    pub lease_ms: u64,
    pub max_body_bytes: usize,
    /// Timeout for receiving a body.
    pub body_timeout: Duration,
}

type SharedState = State<Arc<AdminState>>;

pub fn router(admin: Arc<AdminState>) -> Router {
    let metrics = admin.metrics.clone();
    let controls = Router::new()
        .route("/copy", get(copies::get_copy))
        .route("/admin/customers", get(customers::get_customers))
        .route("/admin/system", get(system::get_system))
        .route("/admin/openapi.json", get(api_doc::get_openapi))
        .route("/admin/freeze", post(accounts::post_freeze))
        .route("/admin/unfreeze", post(accounts::post_unfreeze))
        .route("/admin/dead-letters", get(jobs::get_dead_letters))
        .route("/admin/jobs/retry", post(jobs::post_retry))
        .route("/admin/jobs/resolve", post(jobs::post_resolve))
        .route("/admin/jobs/credit", post(jobs::post_credit))
        .route("/admin/jobs/keep", post(jobs::post_withhold_credit))
        .route("/admin/late-returns", get(accounts::get_late_returns))
        .route(
            "/admin/untracked-transfers/attribute",
            post(untracked_transfers::post_attribute),
        )
        .route("/admin/incoming-transfers", get(incoming::get_incoming))
        .route("/admin/incoming-transfers/credit", post(incoming::post_credit))
        .route(
            "/admin/incoming-transfers/operator-funds",
            post(incoming::post_operator_funds),
        )
        .route("/admin/incoming-transfers/return", post(incoming::post_return))
        .route("/admin/reconciliation", get(reconciliation::get_reconciliation))
        .route("/admin/reconciliation/run", post(reconciliation::post_run))
        .route("/admin/events", get(reconciliation::get_events))
        .route("/admin/refunds", get(refunds::get_refunds).post(refunds::post_refund))
        .route("/admin/refunds/approve", post(refunds::post_approve))
        .route("/admin/refunds/reject", post(refunds::post_reject))
        .route("/admin/approvals", get(approvals::get_approvals))
        .route("/admin/approvals/approve", post(approvals::post_approve))
        .route("/admin/approvals/reject", post(approvals::post_reject))
        .route("/admin/lines", get(lines::get_lines))
        .route("/admin/lines/close", post(lines::post_close))
        .route("/admin/lines/open", post(lines::post_open))
        .route("/admin/chains/accept", post(chains::post_accept))
        .route("/admin/audit", get(audit_log::get_audit))
        .route("/admin/intl-orders", get(intl_orders::get_queue))
        .route("/admin/intl-orders/claim", post(intl_orders::post_claim))
        .route("/admin/intl-orders/release", post(intl_orders::post_release))
        .route("/admin/intl-orders/fulfil", post(intl_orders::post_fulfil))
        .route("/admin/intl-orders/reject", post(intl_orders::post_reject))
        .route("/admin/intl-cards", get(intl_cards::get_card_actions))
        .route("/admin/intl-cards/report", post(intl_cards::post_report))
        .route("/admin/card-withdrawals", get(card_withdrawals::get_queue))
        .route("/admin/card-withdrawals/claim", post(card_withdrawals::post_claim))
        .route("/admin/card-withdrawals/release", post(card_withdrawals::post_release))
        .route("/admin/card-withdrawals/fulfil", post(card_withdrawals::post_fulfil))
        .route("/admin/card-withdrawals/reject", post(card_withdrawals::post_reject))
        .route("/admin/webhooks", get(webhooks::get_webhooks))
        .route("/admin/webhooks/deliveries", get(webhooks::get_deliveries))
        .route("/admin/webhooks/redeliver", post(webhooks::post_redeliver))
        .route("/admin/tokens", get(tokens::get_tokens).post(tokens::post_token))
        .route("/admin/tokens/revoke", post(tokens::post_revoke))
        .route("/admin/suspended/confirm", post(suspended::post_confirm))
        .with_state(admin);
    Router::new()
        .route("/metrics", get(get_metrics))
        .with_state(metrics)
        .merge(controls)
}

async fn get_metrics(State(metrics): State<Arc<Metrics>>) -> Result<Response, ApiError> {
    let page = metrics.render().await.map_err(|error| {
        tracing::error!(%error, "the figures could not be read");
        ApiError::internal()
    })?;
    let kind = HeaderValue::from_static(metrics::CONTENT_TYPE);
    Ok((HeaderMap::from_iter([(CONTENT_TYPE, kind)]), page).into_response())
}

fn unavailable() -> ApiError {
    ApiError::unavailable(ErrorCode::ServiceUnavailable, "The engine could not answer now.", 1)
}

/// Rejects wallet tokens at the operator address. [`OperatorAuth`] verifies operator tokens, route by route.
pub struct NoWalletAuth;

impl Authenticator for NoWalletAuth {
    fn authenticate(&self, _: &str) -> Result<AuthClaims, TokenError> {
        Err(TokenError::Invalid)
    }

    fn authenticate_session<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<AuthClaims, TokenError>> {
        Box::pin(std::future::ready(Err(TokenError::Invalid)))
    }
}
