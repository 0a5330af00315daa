//! Signups and API keys.

use serde::Deserialize;
use utoipa::ToSchema;

/// A signup that waits for a person's yes.
#[derive(Deserialize, ToSchema)]
pub struct SignupResponse {
    /// Where a person says yes.
    pub claim_url: String,
    /// What `GET /signup-status` asks with; a secret of the agent's.
    pub claim_token: String,
    /// What the page shows too.
    pub claim_code: String,
    /// To be given to a person unchanged.
    pub message_for_human: String,
    /// Seconds.
    pub expires_in: u64,
}

/// A signup that a person said yes to.
#[derive(Deserialize, ToSchema)]
pub struct SignupStatusResponse {
    /// `claimed`.
    pub status: String,
    /// The key.
    pub api_key: String,
    /// Its id.
    pub api_key_id: String,
    /// What the person calls it.
    pub name: String,
    /// Whose account it opens.
    pub user_id: String,
}

/// An API key as lists show it.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ApiKey {
    /// Its id.
    pub api_key_id: String,
    /// What it is called.
    pub name: String,
    /// `issued`, `active` once it was used, or `revoked`.
    pub status: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339; null before it was first exchanged.
    pub last_used_at: Option<String>,
    /// How the key begins.
    pub prefix: String,
    /// How it ends.
    pub last4: String,
}

/// A key that was made.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct CreateApiKeyResult {
    /// The key itself, this once.
    pub api_key: String,
    /// As lists show it.
    pub key: ApiKey,
}

/// One key.
#[derive(ToSchema)]
pub struct ApiKeyResult {
    /// As lists show it.
    pub key: ApiKey,
}

/// An account's keys.
#[derive(ToSchema)]
pub struct ListApiKeysResult {
    /// Those that are not revoked, oldest first.
    pub keys: Vec<ApiKey>,
}

/// What an API key was exchanged for.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AgentAuthResult {
    /// The bearer token.
    pub id_token: String,
    /// For `POST /auth`.
    pub refresh_token: String,
    /// Seconds, as text.
    pub expires_in: String,
    /// Whose account it is.
    pub user_id: String,
    /// The key.
    pub api_key_id: String,
}

/// An agent that said who it is.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AnnounceAgentResult {
    /// Of the token.
    pub session_id: String,
    /// Its words.
    pub agent: AgentInfo,
}

/// What an agent says of itself.
#[derive(ToSchema)]
pub struct AgentInfo {
    /// What it is called.
    pub name: String,
    /// The program that runs it.
    pub client: Option<String>,
    /// Which version of that.
    pub version: Option<String>,
}
