//! Operator tokens: list, create, revoke.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use axum::extract::State;
use purser_actors::answer::rfc3339;
use purser_actors::engine::{Engine, LastAdministrator, OperationError};
use purser_actors::id;
use purser_actors::operator::{self, OperatorAction, Permission, Role, system};
use purser_actors::port::{Clock, Entropy};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::closed_sets::OperatorRole;
use super::extractors::{AdministratorRead, AuthorizedRequest, OperatorRequest};
use super::{AdminState, SharedState, unavailable};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
use crate::identity::operator_token::{hash_of, new_token};
use crate::private_file;
use crate::revocations::Entry;
use crate::secret::Secret;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/tokens" => get_tokens {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listOperatorTokens", tag: "Tokens" },
                Permission::ManageTokens,
                "List operator tokens",
                of::<OperatorTokenList>,
            )
        )
    }
    POST "/admin/tokens" => post_token {
        Operator, unkeyed("creates a token, which an administrator can revoke"), confirmed(), operation(||
            OperationDoc::post::<CreateTokenRequest>(
                Operation { id: "createOperatorToken", tag: "Tokens" },
                "Create an operator token. It is shown once",
                of::<CreatedOperatorToken>,
            )
            .error(409, "Another token has this name.")
        )
    }
    POST "/admin/tokens/revoke" => post_revoke {
        Operator, unkeyed("revoking again changes nothing"), confirmed(), operation(||
            OperationDoc::post::<RevokeTokenRequest>(Operation { id: "revokeOperatorToken", tag: "Tokens" }, "Revoke an operator token", of::<RevokedOperatorToken>)
                .error(404, "No token has this name.")
                .error(409, "The token is defined in the settings, or is the last administrator's.")
        )
    }
}

/// Limit in characters.
const MAX_NAME_LEN: usize = 64;

/// All operator tokens.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct OperatorTokenList {
    /// Tokens of the settings, then created ones.
    tokens: Vec<OperatorToken>,
}

/// An operator token without its text, which is not stored.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct OperatorToken {
    /// Name of the token.
    name: String,
    /// Role of the token.
    role: OperatorRole,
    /// Whether the token was revoked.
    revoked: bool,
    /// `settings` or `store`.
    from: TokenSource,
    /// Creation time (RFC 3339); null for tokens of the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
}

/// Place of an operator token.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum TokenSource {
    Settings,
    /// Created by an administrator.
    Store,
}

/// A new operator token.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CreatedOperatorToken {
    /// Name of the token.
    name: String,
    /// Role of the token.
    role: OperatorRole,
    /// Text of the token, shown only in this response.
    token: String,
}

/// A revoked operator token.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct RevokedOperatorToken {
    /// Name of the token.
    name: String,
    /// Always true on success.
    revoked: bool,
}

async fn get_tokens(
    State(admin): SharedState,
    AdministratorRead { query, .. }: AdministratorRead,
) -> Result<Private<OperatorTokenList>, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let stored = admin.engine.operator_tokens().await.map_err(|_| ApiError::internal())?;
    let configured = admin.operator_auth.configured().map(|(name, role)| OperatorToken {
        name: name.to_owned(),
        role: role.into(),
        revoked: false,
        from: TokenSource::Settings,
        created_at: None,
    });
    let stored = stored.into_iter().map(|token| OperatorToken {
        name: token.name,
        role: token.role.into(),
        revoked: token.revoked,
        from: TokenSource::Store,
        created_at: Some(rfc3339(token.created_at)),
    });
    Ok(Private(OperatorTokenList {
        tokens: configured.chain(stored).collect(),
    }))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CreateTokenRequest {
    name: String,
    #[cfg_attr(feature = "documents", schema(value_type = OperatorRole))]
    role: String,
}

impl OperatorRequest for CreateTokenRequest {
    const TASK: Permission = Permission::ManageTokens;
}

async fn post_token(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<CreateTokenRequest>,
) -> Result<Private<CreatedOperatorToken>, ApiError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'@');
    if !(1..=MAX_NAME_LEN).contains(&request.name.len()) || !request.name.bytes().all(plain) {
        let error = format!("`name` is 1 to {MAX_NAME_LEN} letters, digits or any of . - _ @.");
        return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "name", error));
    }
    let role: Role = request
        .role
        .parse()
        .map_err(|e: purser_actors::operator::ParseRoleError| {
            ApiError::parameter(ErrorCode::ParameterInvalid, "role", e.to_string())
        })?;
    let taken = || ApiError::new(ErrorCode::OperatorTokenNameTaken, "Another token has this name.");
    if admin.operator_auth.is_configured(&request.name) || system::NAMES.contains(&&*request.name) {
        return Err(taken());
    }
    let token = new_token(&*admin.entropy);
    let stored = operator::OperatorToken {
        name: request.name,
        role,
        created_at: admin.clock.now(),
        revoked: false,
    };
    let name = stored.name.clone();
    match admin
        .engine
        .create_operator_token(hash_of(token.expose_secret()), stored, &act)
        .await
    {
        Ok(()) => Ok(Private(CreatedOperatorToken {
            name,
            role: role.into(),
            token: token.expose_secret().to_owned(),
        })),
        Err(OperationError::AlreadyUsed) => Err(taken()),
        Err(_) => Err(unavailable()),
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RevokeTokenRequest {
    name: String,
}

impl OperatorRequest for RevokeTokenRequest {
    const TASK: Permission = Permission::ManageTokens;
}

async fn post_revoke(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<RevokeTokenRequest>,
) -> Result<Private<RevokedOperatorToken>, ApiError> {
    if admin.operator_auth.is_configured(&request.name) {
        let error = "This token is defined in the settings.";
        return Err(ApiError::new(ErrorCode::OperatorTokenInConfig, error).hint("Take it out there and restart."));
    }
    let is_configured = admin
        .operator_auth
        .configured()
        .any(|(_, role)| role == Role::Administrator);
    let revoked = admin.engine.revoke_operator_token(&request.name, &act, is_configured);
    match revoked.await {
        Ok(hash) => {
            let log = admin.revocations.clone();
            let ended = Entry::OperatorToken(hex::encode(hash));
            let noted = tokio::task::spawn_blocking(move || log.record(&[ended])).await;
            noted.map_err(|_| ApiError::internal())?;
            Ok(Private(RevokedOperatorToken {
                name: request.name,
                revoked: true,
            }))
        }
        Err(OperationError::AlreadyUsed) => Err(ApiError::new(
            ErrorCode::OperatorTokenNotFound,
            "No token has this name.",
        )),
        Err(OperationError::Rejected(LastAdministrator)) => {
            let error = format!("{} is the only administrator whose token works.", request.name);
            Err(ApiError::new(ErrorCode::LastAdministrator, error).hint("Create another administrator's token first."))
        }
        Err(_) => Err(unavailable()),
    }
}

/// The sandbox's first token, in a file that only its owner can read, so that `purser admin` works on the same machine.
/// A revoked token stays revoked. A token suspended by a restore is replaced, because the reader of the file runs the
/// service.
///
/// # Errors
/// A description, when the file or the store fails.
pub async fn first_token(engine: &Engine, file: &Path, clock: &dyn Clock, entropy: &dyn Entropy) -> Result<(), String> {
    let fresh = || {
        let token = new_token(entropy);
        let line = Zeroizing::new(format!("{}\n", token.expose_secret()));
        let kept = private_file::replace(file, line.as_bytes()).map_err(|e| format!("{}: {e}", file.display()));
        kept.map(|_| token)
    };
    let token = match std::fs::read_to_string(file) {
        Ok(text) => Secret::new(text.trim().to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => fresh()?,
        Err(error) => return Err(format!("{}: {error}", file.display())),
    };
    let mut hash = hash_of(token.expose_secret());
    if let Some(known) = engine.operator_token(&hash).await.map_err(|e| e.to_string())? {
        let suspended = engine.is_token_suspended(&hash, known.created_at).await;
        if known.revoked || !suspended.map_err(|e| e.to_string())? {
            return Ok(());
        }
        hash = hash_of(fresh()?.expose_secret());
    }
    let now = clock.now();
    let stored = operator::OperatorToken {
        // The hash keeps the name unique, even if an older file was lost.
        name: format!("sandbox-{}", &hex::encode(hash)[..8]),
        role: Role::Administrator,
        created_at: now,
        revoked: false,
    };
    let act = OperatorAction {
        operator: system::START.to_owned(),
        role: Role::Administrator,
        request_id: id::RequestId::NONE,
    };
    let added = engine.create_operator_token(hash, stored, &act).await;
    added.map_err(|_| "the first token could not be stored".to_owned())
}
