//! Passkeys of an operator: list, add, remove.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use purser_actors::answer::Time;
use purser_actors::id::OperatorPasskeyId;
use purser_actors::operator::{OperatorPasskey, OperatorSession, Permission};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{AnyCaller, body, operation_error, own_passkeys, question, session_required};
use crate::http::error::ApiError;
use crate::http::json;
#[cfg(feature = "documents")]
use crate::http::operator::api_doc::{Operation, OperationDoc, of};
use crate::http::operator::auth::Caller;
use crate::http::operator::extractors::OperatorRequest;
use crate::http::operator::{AdminState, SharedState};
use crate::http::passkeys::{NoMembers, answered, check_name, errors, passkey_error};
use crate::http::route::routes;
use crate::identity::passkey::challenge::Ceremony;
#[cfg(feature = "documents")]
use crate::identity::passkey::options::PasskeyCreationOptions;
use crate::identity::passkey::options::PasskeyUser;
use crate::identity::passkey::response::RegistrationResponse;
use crate::revocations::Entry;

routes! { pub(in crate::http::operator) static ROUTES: Arc<AdminState>, undocumented;
    GET "/desk/passkeys" => get_passkeys {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listDeskPasskeys", tag: "Desk" },
                Permission::Read,
                "List your passkeys",
                of::<DeskPasskeyList>,
            )
        )
    }
    POST "/desk/passkeys/options" => post_passkey_options {
        Operator, unkeyed("every challenge is new"), operation(||
            OperationDoc::post::<NoMembers>(
                Operation { id: "startDeskPasskeyRegistration", tag: "Desk" },
                "Options for `PublicKeyCredential.parseCreationOptionsFromJSON()`. Every further passkey needs a confirmation",
                of::<PasskeyCreationOptions>,
            )
            .error(409, "Browsers offer no passkeys at this address: open the desk as localhost.")
        )
    }
    POST "/desk/passkeys" => post_passkey {
        Operator, unkeyed("a challenge adds one passkey"), operation(||
            OperationDoc::post::<AddDeskPasskeyRequest>(
                Operation { id: "addDeskPasskey", tag: "Desk" },
                "Add a passkey. Every further one needs a confirmation",
                of::<DeskPasskey>,
            )
            .error(409, "Added before, too many, or none at this address.")
        )
    }
    POST "/desk/passkeys/remove" => post_remove_passkey {
        Operator, unkeyed("removing again finds nothing"), operation(||
            OperationDoc::post::<RemoveDeskPasskeyRequest>(
                Operation { id: "removeDeskPasskey", tag: "Desk" },
                "Remove a passkey of yours, with the sessions that it opened and the confirmations that it gave. Needs a confirmation, or the token",
                of::<DeskPasskey>,
            )
            .error(404, "No such passkey.")
        )
    }
}

/// A passkey of an operator.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DeskPasskey {
    /// Id of the passkey.
    passkey_id: OperatorPasskeyId,
    /// Name of the passkey.
    name: String,
    /// Whether it can be copied to other devices of its owner.
    synced: bool,
    /// Time at which it was added (RFC 3339).
    created_at: Time,
    /// Time of the last sign-in or confirmation (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    last_used_at: Option<Time>,
}

impl From<OperatorPasskey> for DeskPasskey {
    fn from(passkey: OperatorPasskey) -> Self {
        Self {
            passkey_id: passkey.id,
            name: passkey.name,
            synced: passkey.credential.backup_eligible,
            created_at: passkey.created_at.into(),
            last_used_at: passkey.used_at.map(Time::from),
        }
    }
}

/// Passkeys of the operator.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DeskPasskeyList {
    /// Oldest first, at most 20.
    passkeys: Vec<DeskPasskey>,
}

async fn get_passkeys(State(admin): SharedState, AnyCaller(caller): AnyCaller) -> Result<Response, ApiError> {
    let own = own_passkeys(&admin, &caller.token).await?;
    Ok(json::private_ok(&DeskPasskeyList {
        passkeys: own.into_iter().map(DeskPasskey::from).collect(),
    }))
}

/// The session, which may add a passkey: the operator's first, or one after a confirmation.
async fn adding<'a>(admin: &AdminState, caller: &'a Caller) -> Result<&'a OperatorSession, ApiError> {
    let (_, session) = caller.session.as_ref().ok_or_else(session_required)?;
    if admin.operator_auth.has_passkeys(&caller.token).await? {
        admin.operator_auth.require_confirmed(session)?;
    }
    Ok(session)
}

async fn post_passkey_options(
    State(admin): SharedState,
    AnyCaller(caller): AnyCaller,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, ApiError> {
    let NoMembers {} = body(&admin, sent).await?;
    let session = adding(&admin, &caller).await?;
    let own = own_passkeys(&admin, &caller.token).await?;
    let site = admin.operator_auth.site(&headers)?;
    let display_name = format!("{} (operator)", caller.act.operator);
    let user = PasskeyUser {
        handle: site.user_handle(&caller.token),
        name: &caller.act.operator,
        display_name: &display_name,
    };
    let asked = question(&admin, Ceremony::OperatorRegister, Some(session));
    let known = own.iter().map(|passkey| &*passkey.credential.id);
    let options = site.creation_options(asked, &user, known, &*admin.entropy);
    Ok(json::private_ok(&options.map_err(passkey_error)?))
}

/// A new passkey.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct AddDeskPasskeyRequest {
    /// Name of the passkey, 1 to 60 characters.
    name: String,
    /// The browser's answer: `credential.toJSON()`.
    #[cfg_attr(feature = "documents", schema(value_type = Object))]
    credential: RegistrationResponse,
}

impl OperatorRequest for AddDeskPasskeyRequest {
    const TASK: Permission = Permission::Read;
}

async fn post_passkey(
    State(admin): SharedState,
    AnyCaller(caller): AnyCaller,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, ApiError> {
    let AddDeskPasskeyRequest { name, credential } = body(&admin, sent).await?;
    let session = adding(&admin, &caller).await?;
    check_name(&name)?;
    let asked = question(&admin, Ceremony::OperatorRegister, Some(session));
    let verified = admin.operator_auth.site(&headers)?.register(&credential, asked);
    let verified = verified.map_err(passkey_error)?;
    let passkey = OperatorPasskey {
        id: OperatorPasskeyId(admin.entropy.random()),
        token: caller.token,
        name,
        credential: verified.of,
        created_at: asked.now,
        used_at: None,
    };
    let challenge = answered(verified.challenge);
    let added = admin
        .engine
        .add_operator_passkey(passkey.clone(), challenge, &caller.act)
        .await;
    added.map_err(operation_error)?;
    Ok(json::private_ok(&DeskPasskey::from(passkey)))
}

/// A passkey to remove.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct RemoveDeskPasskeyRequest {
    /// From the list.
    passkey_id: String,
}

impl OperatorRequest for RemoveDeskPasskeyRequest {
    const TASK: Permission = Permission::Read;
}

async fn post_remove_passkey(
    State(admin): SharedState,
    AnyCaller(caller): AnyCaller,
    sent: Body,
) -> Result<Response, ApiError> {
    let RemoveDeskPasskeyRequest { passkey_id } = body(&admin, sent).await?;
    // Without its passkey an operator still has the token, which vouches for all of them.
    if let Some((_, session)) = &caller.session {
        admin.operator_auth.require_confirmed(session)?;
    }
    let id: OperatorPasskeyId = passkey_id.parse().map_err(|_| errors::not_found())?;
    let removed = admin
        .engine
        .remove_operator_passkey(&caller.token, id, &caller.act)
        .await;
    let removed = removed.map_err(operation_error)?;
    let log = admin.revocations.clone();
    let ended = Entry::OperatorPasskey(hex::encode(Sha256::digest(&removed.credential.id)));
    let noted = tokio::task::spawn_blocking(move || log.record(&[ended])).await;
    noted.map_err(|_| ApiError::internal())?;
    Ok(json::private_ok(&DeskPasskey::from(removed)))
}
