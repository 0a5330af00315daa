//! Customer search: finds a customer by any identifier, and renders its resources as the owner sees them.

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::answer::rfc3339;
use purser_actors::engine::customers::{self, CardScanCursor};
use purser_actors::entity::webhook::url_origin;
use purser_actors::id::{RequestId, Wallet};
use purser_actors::kernel::{EntityKind, JsonObject};
use purser_actors::operator::{Permission, Role};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::closed_sets::{EntityKindName, ResourceStatus};
use super::extractors::ReadByRole;
use super::jobs::{self, OpenJob};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
use crate::http::schemas::{ExactDecimal, NetworkName};

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/customers" => get_customers {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "searchCustomers", tag: "Accounts" },
                Permission::Read,
                "Find a customer by wallet, user_id, any Purser id, the last four digits of a card, or the Request-Id of a call that \
                 created something. Failed calls and reads are not indexed",
                of::<CustomerSearchResponse>,
            )
            .needs("q", "string", "The identifier that the customer quotes.")
            .with("after", "string", "With four digits or a user_id: `next_after` of the previous page.")
            .with("limit", "integer", "Resources of each kind, newest first: 1 to 100, 5 by default.")
        )
    }
}

/// Result of a customer search.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CustomerSearchResponse {
    /// Resources with this id, created by this request, or with these card digits.
    found: Vec<CustomerResource>,
    /// The customer, if all resources belong to one.
    #[cfg_attr(feature = "documents", schema(required))]
    customer: Option<Customer>,
    /// Cursor of the next page, for searches by four digits or a user_id.
    #[cfg_attr(feature = "documents", schema(required))]
    next_after: Option<String>,
}

/// A resource of a customer.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CustomerResource {
    /// Kind of the resource.
    kind: EntityKindName,
    /// Id of the resource.
    id: String,
    /// Status of the resource.
    status: ResourceStatus,
    /// Exact wallet address of the owner.
    wallet: String,
    /// The resource as its owner sees it.
    #[cfg_attr(feature = "documents", schema(value_type = Object))]
    object: Box<RawValue>,
}

/// A customer with its resources.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct Customer {
    /// Exact wallet address.
    wallet: String,
    /// Wallet address in lower case.
    user_id: String,
    /// `base` or `solana`.
    network: NetworkName,
    /// Creation time (RFC 3339).
    created_at: String,
    /// Balance in USDC, including amounts on hold.
    balance: ExactDecimal,
    /// Part of the balance that can be used.
    available: ExactDecimal,
    /// Part of the balance that is on hold.
    held: ExactDecimal,
    /// Total of all credits.
    total_deposits: ExactDecimal,
    /// Whether the account is frozen.
    frozen: bool,
    /// Message shown to the owner while the account is frozen.
    #[cfg_attr(feature = "documents", schema(required))]
    frozen_message: Option<String>,
    /// Since when the owner has stopped all agents (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    agents_stopped_at: Option<String>,
    /// Resources by kind.
    resources: Vec<CustomerResourceGroup>,
    /// Jobs that have not completed, oldest first.
    open_jobs: Vec<OpenJob>,
}

/// Resources of one kind.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CustomerResourceGroup {
    /// Kind of the resources.
    kind: EntityKindName,
    /// Total number of resources of this kind.
    count: u64,
    /// Number of resources older than those in `newest`.
    not_shown: u64,
    /// Newest first, at most `limit`.
    newest: Vec<CustomerResource>,
}

/// In characters; longer than any address or id.
const MAX_QUERY_LEN: usize = 64;
/// Default number of resources per kind.
const RESOURCES_PER_KIND: u64 = 5;

async fn get_customers(
    ReadByRole { admin, role, query }: ReadByRole,
) -> Result<Private<CustomerSearchResponse>, ApiError> {
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
    Ok(Private(CustomerSearchResponse {
        found: resources(found, role)?,
        customer: customer.map(|customer| render(&admin, customer, role)).transpose()?,
        next_after: next,
    }))
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
) -> Result<(Vec<customers::CustomerResource>, Option<String>), ApiError> {
    let engine = &admin.engine;
    let failed = |_| ApiError::internal();
    if is_last4(quoted) {
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

/// Whether the text can be the last digits of a card number.
pub(super) fn is_last4(quoted: &str) -> bool {
    quoted.len() == 4 && quoted.bytes().all(|b| b.is_ascii_digit())
}

/// Whether the text can be the `user_id` of a Solana wallet: 32 bytes in base58, lowercased.
pub(super) fn is_user_id(quoted: &str) -> bool {
    let lower = |b: u8| b.is_ascii_lowercase() || matches!(b, b'1'..=b'9');
    (32..=44).contains(&quoted.len()) && quoted.bytes().all(lower)
}

/// The owner of all found resources, if it is the same one.
fn only_owner(quoted: &str, found: &[customers::CustomerResource]) -> Option<Wallet> {
    // A quoted wallet owns its resources. Recipients and transfers may have its address in other accounts.
    if let Ok(wallet) = quoted.parse::<Wallet>()
        && found.iter().any(|thing| thing.owner == wallet)
    {
        return Some(wallet);
    }
    let first = found.first()?.owner;
    found.iter().all(|thing| thing.owner == first).then_some(first)
}

fn resources(found: Vec<customers::CustomerResource>, reader: Role) -> Result<Vec<CustomerResource>, ApiError> {
    found.into_iter().map(|found| resource(found, reader)).collect()
}

fn resource(found: customers::CustomerResource, reader: Role) -> Result<CustomerResource, ApiError> {
    let object = match found.kind {
        EntityKind::Webhook if !reader.allows(Permission::ReadWebhookUrls) => without_url(&found.view)?,
        EntityKind::WebhookDelivery if !reader.allows(Permission::ReadWebhookUrls) => without_excerpts(&found.view)?,
        _ => as_owner_sees(&found.view)?,
    };
    Ok(CustomerResource {
        kind: found.kind.into(),
        id: found.id,
        status: found.status.into(),
        wallet: found.owner.to_string(),
        object,
    })
}

/// A webhook endpoint with the scheme and host of its URL only.
fn without_url(view: &JsonObject) -> Result<Box<RawValue>, ApiError> {
    let mut object: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(&view.to_json()).map_err(|_| ApiError::internal())?;
    if let Some(url) = object.get_mut("url") {
        let text: String = serde_json::from_str(url.get()).map_err(|_| ApiError::internal())?;
        *url = to_raw_value(&url_origin(&text)).map_err(|_| ApiError::internal())?;
    }
    to_raw_value(&object).map_err(|_| ApiError::internal())
}

/// A webhook delivery without the beginnings of responses, which can quote the URL.
fn without_excerpts(view: &JsonObject) -> Result<Box<RawValue>, ApiError> {
    let mut object: BTreeMap<String, Value> =
        serde_json::from_str(&view.to_json()).map_err(|_| ApiError::internal())?;
    for attempt in object
        .get_mut("attempts")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        attempt["response_excerpt"] = Value::Null;
    }
    to_raw_value(&object).map_err(|_| ApiError::internal())
}

fn as_owner_sees(view: &JsonObject) -> Result<Box<RawValue>, ApiError> {
    RawValue::from_string(view.to_json()).map_err(|_| ApiError::internal())
}

fn render(admin: &AdminState, customer: customers::Customer, reader: Role) -> Result<Customer, ApiError> {
    let account = customer.account;
    let agents_stopped_at = account.agents_stopped_at().map(rfc3339);
    let groups = customer
        .resources
        .into_iter()
        .map(|group| resource_group(group, reader));
    let open_jobs = customer.open_jobs.iter().map(|job| jobs::open_job(admin, job));
    Ok(Customer {
        wallet: account.wallet.to_string(),
        user_id: account.wallet.user_id(),
        network: account.wallet.network(),
        created_at: rfc3339(account.created_at),
        balance: account.balance.into(),
        available: account.available().into(),
        held: account.held.into(),
        total_deposits: account.total_deposits.into(),
        frozen: account.frozen.is_some(),
        frozen_message: account.frozen,
        agents_stopped_at,
        resources: groups.collect::<Result<_, _>>()?,
        open_jobs: open_jobs.collect(),
    })
}

fn resource_group(group: customers::ResourceGroup, reader: Role) -> Result<CustomerResourceGroup, ApiError> {
    Ok(CustomerResourceGroup {
        kind: group.kind.into(),
        count: group.count as u64,
        not_shown: group.count.saturating_sub(group.newest.len()) as u64,
        newest: resources(group.newest, reader)?,
    })
}
