//! Credentials from before a restore that need an administrator's confirmation.

use std::sync::Arc;

use purser_actors::engine::{OperationError, SuspendedItem};
use purser_actors::operator::Permission;
use serde::{Deserialize, Serialize};

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRequest, OperatorRequest};
use super::unavailable;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::route::routes;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    POST "/admin/suspended/confirm" => post_confirm {
        Operator, unkeyed("confirms what it names; a second call is 404"), confirmed(), operation(||
            OperationDoc::post::<ConfirmRequest>(
                Operation { id: "confirmSuspended", tag: "Reconciliation" },
                "Confirm an API key, an operator token, a passkey or all earlier credentials after a restore without the revocation log",
                of::<SuspendedResponse>,
            )
            .error(404, "No suspended credential has this name.")
        )
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ConfirmRequest {
    api_key_id: Option<String>,
    token: Option<String>,
    passkey_id: Option<String>,
    #[serde(default)]
    everything: bool,
}

impl OperatorRequest for ConfirmRequest {
    const TASK: Permission = Permission::ManageTokens;
}

/// Whether credentials from before a restore are suspended.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SuspendedResponse {
    /// Whether unconfirmed credentials are rejected.
    suspended: bool,
}

async fn post_confirm(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<ConfirmRequest>,
) -> Result<Private<SuspendedResponse>, ApiError> {
    let unknown = || ApiError::new(ErrorCode::SuspensionNotFound, "Nothing of this name is suspended.");
    let ConfirmRequest {
        api_key_id,
        token,
        passkey_id,
        everything,
    } = &request;
    let what = match (api_key_id, token, passkey_id, everything) {
        (Some(id), None, None, false) => SuspendedItem::ApiKey(id.parse().map_err(|_| unknown())?),
        (None, Some(name), None, false) => SuspendedItem::Token(name.clone()),
        (None, None, Some(id), false) => SuspendedItem::Passkey(id.parse().map_err(|_| unknown())?),
        (None, None, None, true) => SuspendedItem::Everything,
        _ => {
            let error = "Say what is good: one of `api_key_id`, `token`, `passkey_id` and `everything`.";
            return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "api_key_id", error));
        }
    };
    let unknown = || match what {
        SuspendedItem::Everything => ApiError::new(ErrorCode::SuspensionNotFound, "Nothing is suspended."),
        _ => unknown(),
    };
    match admin.engine.confirm_suspended(&what, &act).await {
        Ok(()) => Ok(Private(SuspendedResponse {
            suspended: admin.engine.suspended_since().is_some(),
        })),
        Err(OperationError::AlreadyUsed) => Err(unknown()),
        Err(OperationError::Unavailable | OperationError::Rejected(())) => Err(unavailable()),
    }
}
