//! Operator authentication: tokens of the settings and of the store, both stored as hashes only.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use purser_actors::engine::Engine;
use purser_actors::id;
use purser_actors::operator::{OperatorAction, Permission, Role};

use crate::config::OperatorTokenConfig;
use crate::http::auth::RequestId;
use crate::http::error::{ApiError, ErrorCode};
use crate::identity::operator_token::hash_of;

/// Verifies operator tokens.
pub struct OperatorAuth {
    engine: Engine,
    configured: Vec<OperatorTokenConfig>,
}

impl OperatorAuth {
    /// Accepts the settings' tokens and the store's.
    pub const fn new(engine: Engine, configured: Vec<OperatorTokenConfig>) -> Self {
        Self { engine, configured }
    }

    /// Whether a token of the settings has this name.
    pub fn is_configured(&self, name: &str) -> bool {
        self.configured.iter().any(|token| token.name == name)
    }

    /// The tokens of the settings.
    pub fn configured(&self) -> impl Iterator<Item = (&str, Role)> {
        self.configured.iter().map(|token| (token.name.as_str(), token.role))
    }

    /// Verifies the token and that its role has the permission.
    ///
    /// # Errors
    /// 401 `token_missing` or `token_invalid`, 403 `role_not_permitted`, 500 when storage fails.
    pub async fn authenticate(
        &self,
        headers: &HeaderMap,
        request: RequestId,
        task: Permission,
    ) -> Result<OperatorAction, ApiError> {
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (sent.next(), sent.next()) else {
            let text = "This route needs one Authorization: Bearer header with an operator's token.";
            return Err(unauthorized(ErrorCode::TokenMissing, text));
        };
        let token = value.to_str().ok().and_then(bearer);
        let token = token.ok_or_else(|| unauthorized(ErrorCode::TokenInvalid, "This is no operator's token."))?;
        let Some((by, role)) = self.find(token).await? else {
            return Err(unauthorized(ErrorCode::TokenInvalid, "This is no operator's token."));
        };
        if !role.allows(task) {
            let error = format!("The role {role} is not trusted with this.");
            return Err(ApiError::new(ErrorCode::RoleNotPermitted, error));
        }
        Ok(OperatorAction {
            operator: by,
            role,
            request_id: id::RequestId(request.0),
        })
    }

    async fn find(&self, token: &str) -> Result<Option<(String, Role)>, ApiError> {
        let hash = hash_of(token);
        let mut found = None;
        // Compares all tokens in constant time, so that the duration reveals nothing.
        for known in &self.configured {
            if constant_time_eq(&known.sha256, &hash) {
                found = Some((known.name.clone(), known.role));
            }
        }
        // Found by its hash, which a caller can't choose, so the duration reveals nothing about a token.
        let stored = self
            .engine
            .operator_token(&hash)
            .await
            .map_err(|_| ApiError::internal())?;
        let mut stored = stored.filter(|token| !token.revoked);
        if let Some(token) = &stored {
            let suspended = self.engine.is_token_suspended(&hash, token.created_at).await;
            if suspended.map_err(|_| ApiError::internal())? {
                stored = None;
            }
        }
        Ok(found.or(stored.map(|token| (token.name, token.role))))
    }
}

fn constant_time_eq(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let differs = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(differs) == 0
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unauthorized(code: ErrorCode, error: &'static str) -> ApiError {
    ApiError::unauthorized(code, error)
        .hint("`purser admin tokens create` makes one; `[operator] tokens` lists others.")
}
