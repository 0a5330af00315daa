//! Schema of the identity check.

use serde::Serialize;

use super::IdentityStatus;

/// Status of the identity check.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct KycStatusResponse {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `none`, `in-review`, `verified` or `rejected`.
    pub status: IdentityStatus,
    /// Reason of the provider for a rejection.
    pub rejection_reason: Option<String>,
    /// Number of checks started so far.
    pub checks: u32,
    /// Time of the first check (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub last_updated_at: String,
}
