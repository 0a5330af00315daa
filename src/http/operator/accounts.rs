//! Accounts and late returns.

use std::sync::Arc;

use axum::response::Response;
use purser_actors::engine::ListPosition;
use purser_actors::id::{LateReturnId, Wallet};
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::late_return::LateReturn;
use purser_actors::operator::{OperatorAction, Permission};
use purser_actors::port::Timestamp;
use serde::Deserialize;

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest, check_note};
#[cfg(feature = "documents")]
use super::schemas;
use super::{AdminState, unavailable};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::routes;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    POST "/admin/freeze" => post_freeze {
        Operator, unkeyed("sets the given state"), operation(||
            OperationDoc::post::<FreezeAccountRequest>(
                Operation { id: "freezeAccount", tag: "Accounts" },
                "Freeze an account: block purchases and reads, and show its owner the reason",
                of::<schemas::FreezeResponse>,
            )
            .error(404, "No such account.")
        )
    }
    POST "/admin/unfreeze" => post_unfreeze {
        Operator, unkeyed("sets the given state"), operation(||
            OperationDoc::post::<UnfreezeAccountRequest>(
                Operation { id: "unfreezeAccount", tag: "Accounts" },
                "Unfreeze an account",
                of::<schemas::FreezeResponse>,
            )
            .error(404, "No such account.")
        )
    }
    GET "/admin/late-returns" => get_late_returns {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listLateReturns", tag: "Reconciliation" },
                Permission::Read,
                "List payouts that were returned after they became final, oldest first",
                of::<schemas::LateReturnList>,
            )
            .paged()
        )
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct FreezeAccountRequest {
    wallet: String,
    message: String,
}

impl OperatorRequest for FreezeAccountRequest {
    const TASK: Permission = Permission::FreezeAccounts;
}

pub(super) async fn post_freeze(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<FreezeAccountRequest>,
) -> Result<Response, ApiError> {
    check_note("message", "is for the holder", &request.message)?;
    set_frozen(&admin, &request.wallet, Some(request.message), act).await
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct UnfreezeAccountRequest {
    wallet: String,
}

impl OperatorRequest for UnfreezeAccountRequest {}

pub(super) async fn post_unfreeze(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<UnfreezeAccountRequest>,
) -> Result<Response, ApiError> {
    set_frozen(&admin, &request.wallet, None, act).await
}

async fn set_frozen(
    admin: &AdminState,
    wallet: &str,
    message: Option<String>,
    act: OperatorAction,
) -> Result<Response, ApiError> {
    let wallet: Wallet = wallet
        .parse()
        .map_err(|_| ApiError::parameter(ErrorCode::ParameterInvalid, "wallet", "`wallet` is not an address."))?;
    // The address of a managed wallet belongs to its owner's account.
    let wallet = admin.engine.account_of(&wallet);
    // A typing error must not create an account and leave the intended one unchanged.
    let account = admin.engine.account(&wallet).await.map_err(|_| ApiError::internal())?;
    if account.is_none() {
        return Err(ApiError::new(ErrorCode::AccountNotFound, "There is no such account."));
    }
    let view = JsonObject::new()
        .text("wallet", wallet)
        .boolean("frozen", message.is_some())
        .optional_text("message", message.as_deref());
    let result = admin.engine.set_frozen(wallet, message, Some(act)).await;
    result.map_err(|_| unavailable())?;
    Ok(json::private(json::bytes_as_json(view.to_json())))
}

/// Late returns, oldest first.
pub(super) async fn get_late_returns(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let (after, limit) = page(query.as_deref())?;
    let found = admin.engine.late_returns(after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    Ok(paged("late_returns", &found, |id, late: &LateReturn| {
        late.view(&LateReturnId(id)).text("wallet", late.owner)
    }))
}

/// `after` and `limit` of a list ordered by time.
pub(super) fn page(query: Option<&str>) -> Result<(Option<ListPosition>, usize), ApiError> {
    cursor_and_limit(&Query::parse(query, &["after", "limit"])?)
}

/// As [`page`], for a query with more parameters.
pub(super) fn cursor_and_limit(query: &Query) -> Result<(Option<ListPosition>, usize), ApiError> {
    let limit = usize::try_from(query.number("limit", 100, 1, 1_000)?).unwrap_or(100);
    let wrong = || {
        ApiError::parameter(
            ErrorCode::ParameterInvalid,
            "after",
            "`after` is not from a page before.",
        )
    };
    let after = query
        .get("after")
        .map(|text| cursor(text).ok_or_else(wrong))
        .transpose()?;
    Ok((after, limit))
}

/// A page of a list, with the position of its last entry as cursor.
fn paged<T>(name: &str, found: &[(ListPosition, T)], shown: impl Fn(u128, &T) -> JsonObject) -> Response {
    paged_after("", name, found, shown)
}

/// As [`paged`], after other members.
pub(super) fn paged_after<T>(
    before: &str,
    name: &str,
    found: &[(ListPosition, T)],
    shown: impl Fn(u128, &T) -> JsonObject,
) -> Response {
    let next = found.last().map(|((at, id), _)| format!("\"{:x}-{id:x}\"", at.0));
    let rows: Vec<String> = found.iter().map(|((_, id), one)| shown(*id, one).to_json()).collect();
    let next = next.unwrap_or_else(|| "null".to_owned());
    let body = format!("{{{before}\"{name}\":[{}],\"next_after\":{next}}}", rows.join(","));
    json::private(json::bytes_as_json(body))
}

fn cursor(text: &str) -> Option<ListPosition> {
    let (at, id) = text.split_once('-')?;
    let at = u64::from_str_radix(at, 16).ok()?;
    Some((Timestamp(at), u128::from_str_radix(id, 16).ok()?))
}
