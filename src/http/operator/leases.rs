//! Shared by all queues that operators claim from: pages, leases and errors.

use purser_actors::answer::rfc3339;
use purser_actors::lease::{Lease, LeaseError, Leases};
use purser_actors::port::Timestamp;
use serde::Serialize;

use crate::http::error::{ApiError, ErrorCode};
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

/// Age and lease of a listed resource.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct LeaseView {
    /// Age since the creation, in seconds.
    age_seconds: u64,
    /// Number of the last lease; 0 before the first.
    lease: u64,
    /// Operator that holds the lease.
    #[cfg_attr(feature = "documents", schema(required))]
    leased_by: Option<String>,
    /// End of the lease (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    leased_until: Option<String>,
    /// Creation time (RFC 3339).
    created_at: String,
}

pub(super) fn listed(leases: Leases<'_>, created_at: Timestamp, now: Timestamp) -> LeaseView {
    let holder = leases.current(now);
    LeaseView {
        age_seconds: now.0.saturating_sub(created_at.0) / 1_000,
        lease: leases.last,
        leased_by: holder.map(|holder| holder.by.clone()),
        leased_until: holder.map(|holder| rfc3339(holder.until)),
        created_at: rfc3339(created_at),
    }
}

/// Lease of a claimed resource.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct ClaimedLease {
    /// Lease number for release, fulfil and reject.
    lease: u64,
    /// End of the lease (RFC 3339).
    leased_until: String,
}

impl From<Lease> for ClaimedLease {
    fn from(lease: Lease) -> Self {
        Self {
            lease: lease.number,
            leased_until: rfc3339(lease.until),
        }
    }
}
