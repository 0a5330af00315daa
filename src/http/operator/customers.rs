//! Customer search: finds a customer by any identifier, and renders its resources as the owner sees them.

use std::sync::Arc;

use axum::response::Response;
use purser_actors::engine::customers::{CardScanCursor, Customer, CustomerResource, ResourceGroup};
use purser_actors::id::{RequestId, Wallet};
use purser_actors::kernel::JsonObject;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::AuthorizedRead;
#[cfg(feature = "documents")]
use super::schemas;
use super::{AdminState, jobs};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::routes;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/customers" => get_customers {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "searchCustomers", tag: "Accounts" },
                Permission::Read,
                "Find a customer by wallet, user_id, any Purser id, the last four digits of a card, or the Request-Id of a call that \
                 created something. Failed calls and reads are not indexed",
                of::<schemas::CustomerSearchResponse>,
            )
            .needs("q", "string", "The identifier that the customer quotes.")
            .with("after", "string", "With four digits or a user_id: `next_after` of the previous page.")
            .with("limit", "integer", "Resources of each kind, newest first: 1 to 100, 5 by default.")
        )
    }
}

/// In characters; longer than any address or id.
const MAX_QUERY_LEN: usize = 64;
/// Default number of resources per kind.
const RESOURCES_PER_KIND: u64 = 5;

pub(super) async fn get_customers(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["q", "after", "limit"])?;
    let of_each = usize::try_from(query.number("limit", RESOURCES_PER_KIND, 1, 100)?).unwrap_or(1);
    let quoted = query.required("q")?.trim();
    if quoted.is_empty() || quoted.len() > MAX_QUERY_LEN {
        let error =
            format!("`q` is a wallet, a user_id, an id, a Request-Id or four digits: 1 to {MAX_QUERY_LEN} characters.");
        return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "q", error));
    }
    let (found, next) = find(&admin, quoted, query.get("after")).await?;
    let customer = match only_owner(quoted, &found) {
        Some(wallet) => admin
            .engine
            .customer(&wallet, of_each)
            .await
            .map_err(|_| ApiError::internal())?,
        None => None,
    };
    let view = JsonObject::new().list("found", found.iter().map(resource));
    let view = match customer {
        Some(customer) => view.object("customer", &render(&admin, &customer)),
        None => view.optional_text("customer", None::<&str>),
    };
    let view = view.optional_text("next_after", next);
    Ok(json::private(json::bytes_as_json(view.to_json())))
}

fn invalid_cursor() -> ApiError {
    ApiError::parameter(
        ErrorCode::ParameterInvalid,
        "after",
        "`after` is not from a call before.",
    )
}

/// Resources that match, and a cursor if the search is not complete.
async fn find(
    admin: &AdminState,
    quoted: &str,
    after: Option<&str>,
) -> Result<(Vec<CustomerResource>, Option<String>), ApiError> {
    let engine = &admin.engine;
    let failed = |_| ApiError::internal();
    if quoted.len() == 4 && quoted.bytes().all(|b| b.is_ascii_digit()) {
        let after = after.map(|text| CardScanCursor::parse(text).ok_or_else(invalid_cursor));
        let (found, next) = engine
            .customers_by_last4(quoted, after.transpose()?)
            .await
            .map_err(failed)?;
        return Ok((found, next.map(|place| place.to_string())));
    }
    let after: Option<Wallet> = match after {
        Some(text) if is_user_id(quoted) => Some(text.parse().map_err(|_| invalid_cursor())?),
        Some(_) => return Err(invalid_cursor()),
        None => None,
    };
    if after.is_none() {
        let found = match quoted.parse::<RequestId>() {
            Ok(request) => engine
                .customers_by_request(request)
                .await
                .map_err(failed)?
                .into_iter()
                .collect(),
            Err(_) => engine.customer_by_id(quoted).await.map_err(failed)?,
        };
        if !found.is_empty() || !is_user_id(quoted) {
            return Ok((found, None));
        }
    }
    let (found, next) = engine.customers_by_user_id(quoted, after).await.map_err(failed)?;
    Ok((found, next.map(|wallet| wallet.address())))
}

/// Whether the text can be the `user_id` of a Solana wallet: 32 bytes in base58, lowercased.
fn is_user_id(quoted: &str) -> bool {
    let lower = |b: u8| b.is_ascii_lowercase() || matches!(b, b'1'..=b'9');
    (32..=44).contains(&quoted.len()) && quoted.bytes().all(lower)
}

/// The owner of all found resources, if it is the same one.
fn only_owner(quoted: &str, found: &[CustomerResource]) -> Option<Wallet> {
    // A quoted wallet owns its resources. Recipients and transfers may have its address in other accounts.
    if let Ok(wallet) = quoted.parse::<Wallet>()
        && found.iter().any(|thing| thing.owner == wallet)
    {
        return Some(wallet);
    }
    let first = found.first()?.owner;
    found.iter().all(|thing| thing.owner == first).then_some(first)
}

fn resource(thing: &CustomerResource) -> JsonObject {
    JsonObject::new()
        .text("kind", thing.kind)
        .text("id", &thing.id)
        .text("status", thing.status)
        .text("wallet", thing.owner)
        .object("object", &thing.view)
}

fn render(admin: &AdminState, customer: &Customer) -> JsonObject {
    let account = &customer.account;
    let work = customer.open_jobs.iter();
    let work = work.map(|job| jobs::render(admin, job).boolean("dead_lettered", job.dead_lettered));
    JsonObject::new()
        .text("wallet", account.wallet)
        .text("user_id", account.wallet.user_id())
        .text("network", account.wallet.network().name())
        .time("created_at", account.created_at)
        .number("balance", account.balance.decimal())
        .number("available", account.available().decimal())
        .number("held", account.held.decimal())
        .number("total_deposits", account.total_deposits.decimal())
        .boolean("frozen", account.frozen.is_some())
        .optional_text("frozen_message", account.frozen.as_deref())
        .list("resources", customer.resources.iter().map(resource_group))
        .list("open_jobs", work)
}

fn resource_group(belongings: &ResourceGroup) -> JsonObject {
    JsonObject::new()
        .text("kind", belongings.kind)
        .integer("count", belongings.count as u64)
        .integer(
            "not_shown",
            belongings.count.saturating_sub(belongings.newest.len()) as u64,
        )
        .list("newest", belongings.newest.iter().map(resource))
}
