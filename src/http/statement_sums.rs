//! `GET /account/statement-sums`: what came in and went out in a part of the statement, for the account page.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, Method};
use purser_actors::answer::ExactDecimal;
use serde::Serialize;

use super::account::refuse_frozen;
use super::app::App;
use super::error::ApiError;
use super::json;
use super::page_session::{require_own_page, session};
use super::query::Query;
use super::route::routes;
use super::withdrawals::time_param;

routes! { pub(super) static ROUTES: Arc<App>, openapi;
    GET "/account/statement-sums" => get_statement_sums { Owner }
}

/// Sums of a part of the statement, in US dollars.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct StatementSumsResponse {
    /// Balance before the first line.
    opening: ExactDecimal,
    /// Sum of the credits.
    credited: ExactDecimal,
    /// Sum of what left the balance: withdrawals, purchases, and credits that were reversed.
    debited: ExactDecimal,
    /// Balance after the last line.
    balance: ExactDecimal,
    /// Part of that balance that can be spent.
    available: ExactDecimal,
    /// Part of that balance that is on hold.
    held: ExactDecimal,
}

/// Read the sums of a part of the statement
///
/// `from` and `until` limit the time of the entries, as in `GET /get-account-statement`. Authenticated by the session
/// cookie only.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/account/statement-sums", operation_id = "getStatementSums", tag = "Account pages",
    params(("from" = Option<String>, Query, description = "Only entries at or after this time (RFC 3339 in UTC)."),
        ("until" = Option<String>, Query, description = "Only entries before this time (RFC 3339 in UTC).")),
    responses((status = 200, description = "Balances at both ends of the period, and what came in and went out.", body = StatementSumsResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, or frozen."))))]
async fn get_statement_sums(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    require_own_page(&Method::GET, &headers, &app.pages.origins())?;
    let claims = session(&app, &headers).await?;
    let query = Query::parse(query.as_deref(), &["from", "until"])?;
    refuse_frozen(&app.engine, &claims).await?;
    let (from, until) = (time_param(&query, "from")?, time_param(&query, "until")?);
    let sums = app.engine.statement_sums(&claims.wallet, from, until).await;
    let sums = sums.map_err(|_| ApiError::internal())?;
    let available = sums.closing.checked_sub(sums.held);
    Ok(json::private_ok(&StatementSumsResponse {
        opening: sums.opening.into(),
        credited: sums.credited.into(),
        debited: sums.debited.into(),
        balance: sums.closing.into(),
        available: available.map_err(|_| ApiError::internal())?.into(),
        held: sums.held.into(),
    }))
}
