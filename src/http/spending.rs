//! `GET /account/spending-sums`: what the account spent, by day, for the account page.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use purser_actors::answer::{ExactDecimal, Time};
use purser_actors::engine::Spent;
use purser_actors::port::Timestamp;
use serde::Serialize;

use super::account::refuse_frozen;
use super::app::App;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::page_session::PageSession;
use super::query::Query;
use super::route::routes;
use crate::rfc3339;

routes! { pub(super) static ROUTES: Arc<App>, openapi;
    GET "/account/spending-sums" => get_spending_sums { Owner }
}

/// Maximum number of periods: the days of a month, and today.
const MAX_PERIODS: usize = 32;

/// What the account spent.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SpendingSumsResponse {
    /// One for each period, in their order.
    sums: Vec<SpendingSum>,
}

/// What the account spent in a period, in US dollars.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SpendingSum {
    /// Start of the period (RFC 3339).
    from: Time,
    /// What was paid: for purchases, from the balance to others, and by the agents' wallet.
    spent: ExactDecimal,
    /// The part of it that was paid for purchases here, and not by the agents' wallet.
    from_own_wallets: ExactDecimal,
    /// What was credited to the balance in the period, for purchases of that time or before.
    credited: ExactDecimal,
}

/// Read what the account spent
///
/// In each of the periods that begin at `starts`; the last one has no end. The page chooses them by the days of its
/// time zone. Authenticated by the session cookie only. In a session that an agent's token or key opened, payments of
/// the agents' wallet to others are left out.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/account/spending-sums", operation_id = "getSpendingSums", tag = "Account pages",
    params(("starts" = String, Query, description = "1 to 32 times, ascending and separated by commas (RFC 3339 in UTC).")),
    responses((status = 200, description = "`sums`.", body = SpendingSumsResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, or frozen."))))]
async fn get_spending_sums(
    State(app): State<Arc<App>>,
    PageSession(claims): PageSession,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["starts"])?.require(&["starts"]);
    refuse_frozen(&app.engine, &claims).await?;
    let starts = parse_starts(query.required("starts")?)?;
    let spending = app
        .engine
        .spending(&claims.wallet, &starts, claims.is_signed_in())
        .await;
    let spending = spending.map_err(|_| ApiError::internal())?;
    let sum = |(start, sum): (&Timestamp, Spent)| SpendingSum {
        from: (*start).into(),
        spent: sum.spent.into(),
        from_own_wallets: sum.from_own_wallets.into(),
        credited: sum.credited.into(),
    };
    let sums = starts.iter().zip(spending).map(sum).collect();
    Ok(json::private_ok(&SpendingSumsResponse { sums }))
}

fn parse_starts(text: &str) -> Result<Vec<Timestamp>, ApiError> {
    let parsed: Option<Vec<Timestamp>> = text.split(',').map(rfc3339::parse).collect();
    parsed
        .filter(|starts| starts.len() <= MAX_PERIODS && starts.is_sorted_by(|a, b| a < b))
        .ok_or_else(|| {
            let error = format!(
                "`starts` must be 1 to {MAX_PERIODS} ascending times in UTC, such as 2026-11-22T00:00:00Z, separated by commas."
            );
            ApiError::parameter(ErrorCode::ParameterInvalid, "starts", error)
        })
}
