//! Routes of reconciliation lists.

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use purser_actors::port::{EntryKey, ListCursor, ListPage};
use serde::Deserialize;
use utoipa::{IntoParams, OpenApi};

use super::{ProtocolErrorResponse, ProtocolQuery, ProtocolResult, ok};
use crate::provider::wire::reconciliation::{ReconciliationListName, ReconciliationPage, ReconciliationQuery};
use crate::provider::wire::{ErrorCode, MalformedResponse};
use crate::provider::{ProviderLists, Providers};

/// Maximum number of entries on a page.
const MAX_ENTRIES: usize = 1_000;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/reconciliation-entries/{list}", get(list_entries))
        .with_state(providers.lists.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(list_entries))]
    struct ApiDoc;
    ApiDoc::openapi()
}

/// Query parameters of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct AfterQuery {
    /// Return only entries after this cursor, the `next` of an earlier page; from the first entry if absent.
    after: Option<String>,
    /// Return only the entry with this `key`.
    key: Option<String>,
    /// Maximum number of entries, at most 1,000.
    limit: usize,
}

/// List orders, deposits or balances with their outcomes
///
/// The order never changes, except that a changed entry is listed again at the end. An undecided entry may be left out.
#[utoipa::path(get, path = "/v1/reconciliation-entries/{list}", operation_id = "listReconciliationEntries", tag = "Reconciliation",
    params(("list" = String, Path, description = "`cards`, `gift_cards`, `payouts`, `bank_transfers`, `bank_deposits`, `reloadable_cards`, `card_balances`, `bridge` or `prepaid_remainders`."), AfterQuery),
    responses((status = 200, description = "One page of the list.", body = ReconciliationPage)))]
async fn list_entries(
    State(lists): State<ProviderLists>,
    Path(name): Path<String>,
    ProtocolQuery(from): ProtocolQuery<AfterQuery>,
) -> ProtocolResult<ReconciliationPage> {
    let missing = || ProtocolErrorResponse::new(ErrorCode::NotFound, "this provider does not keep that list");
    let name = ReconciliationListName::from_name(&name).ok_or_else(missing)?;
    let list = lists.get(&name.source()).ok_or_else(missing)?;
    let asked = ReconciliationQuery {
        list: name,
        after: from.after.as_deref(),
        key: from.key.as_deref(),
    };
    let page = match (asked.after, asked.key) {
        (None, Some(key)) => {
            let name = EntryKey::new(key.to_owned()).ok_or(MalformedResponse("a name of 1 to 200 bytes"))?;
            let items = list.entry(&name).await?.into_iter().collect();
            ListPage { items, next: None }
        }
        (after, None) => {
            let no_cursor = || MalformedResponse("a cursor of this list");
            let after = after.map(|text| ListCursor::new(text.to_owned()).ok_or_else(no_cursor));
            list.entries(after.transpose()?.as_ref(), from.limit.clamp(1, MAX_ENTRIES))
                .await?
        }
        (Some(_), Some(_)) => return Err(MalformedResponse("a cursor or a key, and not both").into()),
    };
    ok(ReconciliationPage::of(asked, page))
}
