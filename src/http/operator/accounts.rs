//! Accounts and late returns.

use std::sync::Arc;

use axum::response::Response;
use purser_actors::answer::Address;
use purser_actors::engine::ListPosition;
use purser_actors::entity::late_return::LateReturnView;
use purser_actors::id::{LateReturnId, Wallet};
use purser_actors::kernel::Entity as _;
use purser_actors::operator::{OperatorAction, Permission};
use purser_actors::port::Timestamp;
use serde::{Deserialize, Serialize};

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest, check_note};
use super::{AdminState, unavailable};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::{self, Private};
use crate::http::query::Query;
use crate::http::route::routes;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    POST "/admin/freeze" => post_freeze {
        Operator, unkeyed("sets the given state"), operation(||
            OperationDoc::post::<FreezeAccountRequest>(
                Operation { id: "freezeAccount", tag: "Accounts" },
                "Freeze an account: block purchases and reads, and show its owner the reason",
                of::<FreezeResponse>,
            )
            .error(404, "No such account.")
        )
    }
    POST "/admin/unfreeze" => post_unfreeze {
        Operator, unkeyed("sets the given state"), confirmed(), operation(||
            OperationDoc::post::<UnfreezeAccountRequest>(
                Operation { id: "unfreezeAccount", tag: "Accounts" },
                "Unfreeze an account",
                of::<FreezeResponse>,
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
                of::<LateReturnList<'_>>,
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

/// Result of freezing or unfreezing an account.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct FreezeResponse {
    /// Exact wallet address.
    wallet: String,
    /// Whether the account is frozen now.
    frozen: bool,
    /// Message shown to the owner while the account is frozen.
    #[cfg_attr(feature = "documents", schema(required))]
    message: Option<String>,
}

async fn post_freeze(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<FreezeAccountRequest>,
) -> Result<Private<FreezeResponse>, ApiError> {
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

async fn post_unfreeze(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<UnfreezeAccountRequest>,
) -> Result<Private<FreezeResponse>, ApiError> {
    set_frozen(&admin, &request.wallet, None, act).await
}

async fn set_frozen(
    admin: &AdminState,
    wallet: &str,
    message: Option<String>,
    act: OperatorAction,
) -> Result<Private<FreezeResponse>, ApiError> {
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
    let result = admin.engine.set_frozen(wallet, message.clone(), Some(act)).await;
    result.map_err(|_| unavailable())?;
    Ok(Private(FreezeResponse {
        wallet: wallet.to_string(),
        frozen: message.is_some(),
        message,
    }))
}

/// A page of late returns.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct LateReturnList<'a> {
    /// Late returns, oldest first.
    late_returns: Vec<OperatorLateReturn<'a>>,
    /// Cursor of the next page; null on an empty page.
    #[cfg_attr(feature = "documents", schema(required))]
    next_after: Option<String>,
}

/// A payout that was returned after it became final.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct OperatorLateReturn<'a> {
    #[serde(flatten)]
    late_return: LateReturnView<'a>,
    /// Exact wallet address of the payer.
    wallet: Address,
}

/// Late returns, oldest first.
async fn get_late_returns(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let (after, limit) = page(query.as_deref())?;
    let found = admin.engine.late_returns(after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    let late_returns = found.iter().map(|((_, id), late)| OperatorLateReturn {
        late_return: late.view(&LateReturnId(*id)),
        wallet: late.owner.into(),
    });
    Ok(json::private_ok(&LateReturnList {
        late_returns: late_returns.collect(),
        next_after: next_after(&found),
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

/// The cursor of the page after this one: the position of the last entry.
pub(super) fn next_after<T>(found: &[(ListPosition, T)]) -> Option<String> {
    found.last().map(|((at, id), _)| format!("{:x}-{id:x}", at.0))
}

fn cursor(text: &str) -> Option<ListPosition> {
    let (at, id) = text.split_once('-')?;
    let at = u64::from_str_radix(at, 16).ok()?;
    Some((Timestamp(at), u128::from_str_radix(id, 16).ok()?))
}
