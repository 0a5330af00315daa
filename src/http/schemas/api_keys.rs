//! Signups and API keys.

use serde::Deserialize;
use utoipa::ToSchema;

use super::{ApiKeyStatus, ClaimedStatus};

/// A signup that waits for approval.
#[derive(Deserialize, ToSchema)]
pub struct SignupResponse {
    /// Page where a person approves the signup.
    pub claim_url: String,
    /// Token for `GET /signup-status`. Keep it secret.
    pub claim_token: String,
    /// Code that the page shows too.
    pub claim_code: String,
    /// Message to give to a person unchanged.
    pub message_for_human: String,
    /// Validity of the signup in seconds.
    pub expires_in: u64,
}

/// An approved signup.
#[derive(Deserialize, ToSchema)]
pub struct SignupStatusResponse {
    /// `claimed` in every case.
    pub status: ClaimedStatus,
    /// API key of the signup.
    pub api_key: String,
    /// Id of the API key.
    pub api_key_id: String,
    /// Name given by the account owner.
    pub name: String,
    /// Account that the key belongs to.
    pub user_id: String,
}

/// An API key as lists show it.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
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
}

/// A new API key.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct CreateApiKeyResult {
    /// Text of the key, shown only in this response.
    pub api_key: String,
    /// The key as lists show it.
    pub key: ApiKey,
}

/// An API key.
#[derive(ToSchema)]
pub struct ApiKeyResult {
    /// The key as lists show it.
    pub key: ApiKey,
}

/// API keys of an account.
#[derive(ToSchema)]
pub struct ListApiKeysResult {
    /// Active keys, oldest first.
    pub keys: Vec<ApiKey>,
}

/// Tokens for an API key.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AgentAuthResult {
    /// Token for `Authorization: Bearer`.
    pub id_token: String,
    /// Token for `POST /auth`.
    pub refresh_token: String,
    /// Lifetime of `idToken` in seconds, as text.
    pub expires_in: String,
    /// Account that the tokens belong to.
    pub user_id: String,
    /// API key that was exchanged.
    pub api_key_id: String,
}

/// An announced agent.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AnnounceAgentResult {
    /// Session of the token.
    pub session_id: String,
    /// Details of the agent.
    pub agent: AgentInfo,
}

/// Details that an agent announced. They are not verified.
#[derive(ToSchema)]
pub struct AgentInfo {
    /// Name of the agent.
    pub name: String,
    /// Program that runs the agent.
    pub client: Option<String>,
    /// Version of that program.
    pub version: Option<String>,
}
