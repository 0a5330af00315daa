//! Routes of the operator address: `/metrics`, `/admin/*` with an operator token, and the page of the operators' web app.
//! None of them is reachable on the public address.

mod accounts;
mod announcements;
#[cfg(feature = "documents")]
pub(in crate::http) mod api_doc;
mod approvals;
mod audit_log;
mod auth;
mod card_numbers;
mod card_withdrawals;
mod chains;
mod closed_sets;
mod copies;
mod customers;
mod desk;
mod extractors;
mod freeze_preview;
mod incoming;
mod intl_cards;
mod intl_orders;
mod jobs;
mod leases;
mod lines;
mod notes;
mod openapi;
pub mod queues;
mod reconciliation;
mod refunds;
mod sandbox;
mod search;
mod series;
mod stream;
pub mod suspended;
pub mod system;
mod timeline;
mod tokens;
mod untracked_transfers;
mod webhooks;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use purser_actors::engine::Engine;
use purser_actors::port::{BoxFuture, Clock, Entropy, TreasuryList};
use purser_storage::Store;

use super::auth::{AuthClaims, Authenticator, TokenError};
use super::error::{ApiError, ErrorCode};
use super::route::{self, Listing, Table, routes};
use crate::announcements::Announcer;
use crate::metrics::ledger_totals::LedgerTotaller;
use crate::metrics::series::SeriesRecorder;
use crate::metrics::{self, Metrics};
use crate::revocations::RevocationLog;
use crate::settlement::real::RealPorts;
use crate::vault::{CvvVault, Vault};

pub use auth::OperatorAuth;
pub use copies::{Copies, Copy, ListedTransfer};
pub use queues::QueueWatch;
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
    /// The controls of the sandbox. `None` in production.
    pub sandbox: Option<Router>,
    /// Transfers to and from the treasury, by their transactions.
    pub treasury: Arc<dyn TreasuryList>,
    /// The last hour in memory.
    pub series: Arc<SeriesRecorder>,
    /// Totals of the ledger.
    pub totals: LedgerTotaller,
    /// Notifies the streams of operators when a queue changes.
    pub queues: QueueWatch,
    /// Announces what waits at the operators' webhook. `None` without one.
    pub announcer: Option<Arc<Announcer>>,
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
}

type SharedState = State<Arc<AdminState>>;

routes! { static ROUTES: Arc<AdminState>, undocumented;
    GET "/metrics" => get_metrics { Operator }
}

/// Tables of the operator address. A new area is a line here.
static TABLES: [&Table<Arc<AdminState>>; 34] = [
    &ROUTES,
    &super::web_apps::OPERATOR_ROUTES,
    &copies::ROUTES,
    &customers::ROUTES,
    &system::ROUTES,
    &openapi::ROUTES,
    &accounts::ROUTES,
    &jobs::ROUTES,
    &untracked_transfers::ROUTES,
    &incoming::ROUTES,
    &reconciliation::ROUTES,
    &refunds::ROUTES,
    &approvals::ROUTES,
    &lines::ROUTES,
    &chains::ROUTES,
    &audit_log::ROUTES,
    &intl_orders::ROUTES,
    &intl_cards::ROUTES,
    &card_withdrawals::ROUTES,
    &webhooks::ROUTES,
    &tokens::ROUTES,
    &desk::sign_in::ROUTES,
    &desk::sessions::ROUTES,
    &desk::passkeys::ROUTES,
    &suspended::ROUTES,
    &search::ROUTES,
    &timeline::ROUTES,
    &notes::ROUTES,
    &series::ROUTES,
    &queues::ROUTES,
    &stream::ROUTES,
    &freeze_preview::ROUTES,
    &announcements::ROUTES,
    &sandbox::ROUTES,
];

pub fn listings() -> impl Iterator<Item = Listing> {
    TABLES.iter().map(|table| table.listing)
}

pub fn router(admin: Arc<AdminState>) -> Router {
    route::router(&TABLES, admin)
}

async fn get_metrics(State(admin): SharedState) -> Result<Response, ApiError> {
    let page = admin.metrics.render().await.map_err(|error| {
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
