//! Shared by all queues that operators claim from: pages, leases and errors.

use axum::response::Response;
use purser_actors::kernel::JsonObject;
use purser_actors::lease::{Lease, LeaseError, Leases};
use purser_actors::port::Timestamp;

use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::query::Query;

/// Names and codes of a claimed resource, for error messages.
pub(super) struct LeasedResource {
    pub(super) name: &'static str,
    /// Code for a status that can't be claimed.
    pub(super) not_open: ErrorCode,
    /// Code while another operator holds the lease.
    pub(super) leased: ErrorCode,
}

impl LeasedResource {
    /// 409: the status of the resource does not permit the action.
    pub(super) fn not_open(&self, status: &str) -> ApiError {
        let error = format!("The {} is {status}, which does not take this.", self.name);
        conflict(self.not_open, error)
    }

    /// 409: another operator holds the lease, or the lease number is stale.
    pub(super) fn lease_error(&self, not: &LeaseError) -> ApiError {
        match not {
            LeaseError::HeldByOther(holder) => {
                let error = format!("{} holds the {}.", holder.by, self.name);
                conflict(self.leased, error).hint("Wait until the lease ends.")
            }
            LeaseError::Stale(last) => {
                let error = format!("This lease does not run; the last one has number {last}.");
                let hint = format!("Claim the {}, and use the number of that lease.", self.name);
                conflict(ErrorCode::LeaseStale, error).hint(hint)
            }
        }
    }
}

pub(super) fn conflict(code: ErrorCode, error: impl Into<String>) -> ApiError {
    let error: String = error.into();
    ApiError::new(code, error)
}

/// Parses `starting_after` and `limit` of a queue. A malformed id is `unknown`.
pub(super) fn page<Id: std::str::FromStr>(
    query: Option<&str>,
    unknown: impl Fn() -> ApiError,
) -> Result<(Option<Id>, usize), ApiError> {
    let query = Query::parse(query, &["limit", "starting_after"])?;
    let limit = usize::try_from(query.number("limit", 100, 1, 1_000)?).unwrap_or(100);
    let after = query
        .get("starting_after")
        .map(|text| text.parse().map_err(|_| unknown()));
    Ok((after.transpose()?, limit))
}

pub(super) fn queue(name: &str, shown: impl Iterator<Item = JsonObject>, more: bool) -> Response {
    let shown: Vec<String> = shown.map(|view| view.to_json()).collect();
    let body = format!("{{\"{name}\":[{}],\"has_more\":{more}}}", shown.join(","));
    json::private(json::bytes_as_json(body))
}

/// Adds the age, the last lease and its current holder.
pub(super) fn listed(view: JsonObject, leases: Leases<'_>, created_at: Timestamp, now: Timestamp) -> JsonObject {
    let holder = leases.current(now);
    let view = view
        .integer("age_seconds", now.0.saturating_sub(created_at.0) / 1_000)
        .integer("lease", leases.last)
        .optional_text("leased_by", holder.map(|holder| holder.by.as_str()));
    let view = match holder {
        Some(holder) => view.time("leased_until", holder.until),
        None => view.optional_text("leased_until", None::<&str>),
    };
    view.time("created_at", created_at)
}

/// Response to a claim, with its lease.
pub(super) fn claimed(view: JsonObject, lease: Lease) -> Response {
    to_response(view.integer("lease", lease.number).time("leased_until", lease.until))
}

pub(super) fn to_response(view: JsonObject) -> Response {
    json::private(json::bytes_as_json(view.to_json()))
}
