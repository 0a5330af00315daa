//! Signups and API keys.

use super::{ApiKeyStatus, ExactDecimal};

/// An API key as lists show it.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(rename_all = "camelCase"))]
pub struct ApiKey {
    /// Id of the API key.
    pub api_key_id: String,
    /// Name of the API key.
    pub name: String,
    /// `issued`, `active` once it was used, or `revoked`.
    pub status: ApiKeyStatus,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last exchange (RFC 3339); null before the first one.
    pub last_used_at: Option<String>,
    /// Beginning of the key.
    pub prefix: String,
    /// Last four characters of the key.
    pub last4: String,
    /// Limits of what its sessions spend.
    pub limits: AgentKeyLimits,
}

/// Limits of an API key in US dollars.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(rename_all = "camelCase"))]
pub struct AgentKeyLimits {
    /// Limit per payment, transfer or withdrawal; null without one.
    pub per_call_usd: Option<ExactDecimal>,
    /// Limit per day (UTC); null without one.
    pub per_day_usd: Option<ExactDecimal>,
}
