//! Search by anything that a customer or a provider quotes: exact matches, each with where to read it.

use std::sync::Arc;
use std::time::Duration;

use purser_actors::answer::rfc3339;
use purser_actors::engine::customers::{CardScanCursor, CustomerResource};
use purser_actors::id::{ApprovalId, JobId, Network, RequestId, Wallet};
use purser_actors::kernel::EntityKind;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use purser_actors::port::ChainMovement;
use serde::Serialize;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::customers::{is_last4, is_user_id};
use super::extractors::AuthorizedRead;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
use crate::http::schemas::ExactDecimal;
use crate::statuses::closed_set;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/search" => get_search {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "search", tag: "Accounts" },
                Permission::Read,
                "Find what a quoted text names: a wallet, a user_id, any Purser id, four card digits, a transaction or a Request-Id. \
                 Only whole texts match",
                of::<SearchResponse>,
            )
            .needs("q", "string", "The text: 1 to 100 characters.")
            .with("after", "string", "With four digits or a user_id: `next_after` of the previous page.")
        )
    }
}

/// In characters; longer than any transaction.
const MAX_QUERY_LEN: usize = 100;
/// Time for reading a transaction from a chain. A search is for a person who waits.
const CHAIN_TIMEOUT: Duration = Duration::from_secs(3);

/// What a text names.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SearchResponse {
    /// The text without spaces at its ends.
    query: String,
    /// What the text looks like. It decides where was searched.
    read_as: QueryKind,
    /// What matches, the most specific first.
    hits: Vec<SearchHit>,
    /// Whether everything that can be searched for this kind of text was. If not, go on with `next_after`.
    complete: bool,
    /// Cursor of the next part of the search.
    #[cfg_attr(feature = "documents", schema(required))]
    next_after: Option<String>,
    /// What this search can't find or did not read, in sentences.
    not_searched: Vec<String>,
}

/// Kind of a search text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum QueryKind {
    Wallet,
    /// A Solana wallet in lower case.
    UserId,
    Transaction,
    RequestId,
    JobId,
    ApprovalId,
    /// An id of an entity.
    Id,
    Last4,
    /// None of these.
    Other,
}

/// One match.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SearchHit {
    /// Kind of the match.
    kind: HitKind,
    /// Its id; for an account its exact wallet address, for a transfer its transaction.
    id: String,
    /// Its status; null for a transfer.
    #[cfg_attr(feature = "documents", schema(required))]
    status: Option<String>,
    /// Exact wallet address of the account it belongs to; null if none is known.
    #[cfg_attr(feature = "documents", schema(required))]
    wallet: Option<String>,
    /// Amount in USDC, of a transfer or an approval.
    #[cfg_attr(feature = "documents", schema(required))]
    amount: Option<ExactDecimal>,
    /// Time of the transfer, of the job's creation or of the request for approval (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    at: Option<String>,
    /// Operator API path that shows it.
    href: String,
}

closed_set! {
    "Kind of a search result: an entity, or a job, an approval or a transfer on a chain." pub(super) HitKind = {
        EntityKind::ALL.into_iter().map(EntityKind::name).chain(["job", "approval", "transfer"]).collect()
    }
}

impl SearchHit {
    fn resource(found: &CustomerResource) -> Self {
        let id = found.id.clone();
        Self {
            kind: HitKind(found.kind.name()),
            href: format!("/admin/customers?q={id}"),
            id,
            status: Some(found.status.to_owned()),
            wallet: Some(found.owner.to_string()),
            amount: None,
            at: None,
        }
    }

    fn transfer(moved: &ChainMovement) -> Self {
        Self {
            kind: HitKind("transfer"),
            id: moved.transaction.clone(),
            status: None,
            wallet: Some(moved.counterparty.to_string()),
            amount: Some(moved.amount.into()),
            at: Some(rfc3339(moved.at)),
            href: format!("/admin/customers?q={}", moved.counterparty),
        }
    }
}

/// What one kind of text was searched for.
#[derive(Default)]
struct Found {
    hits: Vec<SearchHit>,
    next_after: Option<String>,
    not_searched: Vec<String>,
}

impl From<Vec<CustomerResource>> for Found {
    fn from(found: Vec<CustomerResource>) -> Self {
        Self {
            hits: found.iter().map(SearchHit::resource).collect(),
            ..Self::default()
        }
    }
}

async fn get_search(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<SearchResponse>, ApiError> {
    let query = Query::parse(query.as_deref(), &["q", "after"])?;
    let quoted = query.required("q")?.trim();
    if quoted.is_empty() || quoted.chars().count() > MAX_QUERY_LEN {
        let error = format!("`q` has 1 to {MAX_QUERY_LEN} characters.");
        return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "q", error));
    }
    let (kind, after) = (read_as(quoted), query.get("after"));
    if after.is_some() && !matches!(kind, QueryKind::Last4 | QueryKind::UserId) {
        return Err(invalid_cursor());
    }
    let mut found = search(&admin, kind, quoted, after).await?;
    if let Some(sentence) = limits_of(kind) {
        found.not_searched.push(sentence.to_owned());
    }
    Ok(Private(SearchResponse {
        query: quoted.to_owned(),
        read_as: kind,
        complete: found.next_after.is_none(),
        hits: found.hits,
        next_after: found.next_after,
        not_searched: found.not_searched,
    }))
}

fn invalid_cursor() -> ApiError {
    let error = "`after` is not from a call before.";
    ApiError::parameter(ErrorCode::ParameterInvalid, "after", error)
}

fn read_as(quoted: &str) -> QueryKind {
    let is_id = |prefix: &str| quoted.starts_with(prefix);
    if quoted.parse::<Wallet>().is_ok() {
        QueryKind::Wallet
    } else if is_last4(quoted) {
        QueryKind::Last4
    } else if transaction_networks(quoted).is_some() {
        QueryKind::Transaction
    } else if is_id("req_") {
        QueryKind::RequestId
    } else if is_id("job_") {
        QueryKind::JobId
    } else if is_id("apr_") {
        QueryKind::ApprovalId
    } else if is_user_id(quoted) {
        QueryKind::UserId
    } else if quoted.contains('_') {
        QueryKind::Id
    } else {
        QueryKind::Other
    }
}

/// The network on which a text can be a transaction: 32 bytes in hexadecimal on Base, 64 bytes in base58 on Solana.
fn transaction_networks(quoted: &str) -> Option<Network> {
    if let Some(digits) = quoted.strip_prefix("0x") {
        let is_hash = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        return is_hash.then_some(Network::Base);
    }
    let is_signature = (80..=90).contains(&quoted.len())
        && bs58::decode(quoted)
            .into_vec()
            .is_ok_and(|signature| signature.len() == 64);
    is_signature.then_some(Network::Solana)
}

/// What a search for this kind of text can never find.
const fn limits_of(kind: QueryKind) -> Option<&'static str> {
    match kind {
        QueryKind::RequestId => Some(
            "A Request-Id finds what its call created. Reads, rejected calls and later steps are not indexed by it.",
        ),
        QueryKind::Last4 => {
            Some("Card numbers are sealed. The last four digits are compared card by card, a part per call.")
        }
        QueryKind::UserId => Some(
            "A Solana address can't be derived from its lower case, so accounts are compared one by one, a part per call.",
        ),
        QueryKind::Transaction => Some(
            "A transaction is looked up on its chain among transfers to and from the treasury. The legs of a bridge transfer \
             between other addresses, and transfers of a payout at its rail, are not indexed.",
        ),
        QueryKind::Id => {
            Some("Ids of events (evt_) and of documents (doc_) are not indexed, and parts of an id never match.")
        }
        QueryKind::Other => Some(
            "The text is no wallet, id, transaction, Request-Id or four digits. Names, notes, amounts and parts of ids are not \
             indexed.",
        ),
        QueryKind::Wallet | QueryKind::JobId | QueryKind::ApprovalId => None,
    }
}

async fn search(admin: &AdminState, kind: QueryKind, quoted: &str, after: Option<&str>) -> Result<Found, ApiError> {
    let engine = &admin.engine;
    let failed = |_| ApiError::internal();
    match kind {
        QueryKind::Last4 => {
            let after = after.map(|text| CardScanCursor::parse(text).ok_or_else(invalid_cursor));
            let (found, next) = engine
                .customers_by_last4(quoted, after.transpose()?)
                .await
                .map_err(failed)?;
            Ok(Found {
                next_after: next.map(|position| position.to_string()),
                ..found.into()
            })
        }
        QueryKind::UserId => {
            let after = after.map(|text| text.parse::<Wallet>().map_err(|_| invalid_cursor()));
            let (found, next) = engine
                .customers_by_user_id(quoted, after.transpose()?)
                .await
                .map_err(failed)?;
            Ok(Found {
                next_after: next.map(|wallet| wallet.address()),
                ..found.into()
            })
        }
        QueryKind::Transaction => by_transaction(admin, quoted).await,
        QueryKind::RequestId => {
            let Ok(request) = quoted.parse::<RequestId>() else {
                return Ok(Found::default());
            };
            let found = engine.customers_by_request(request).await.map_err(failed)?;
            Ok(Vec::from_iter(found).into())
        }
        QueryKind::JobId => by_job(admin, quoted).await,
        QueryKind::ApprovalId => by_approval(admin, quoted).await,
        QueryKind::Wallet | QueryKind::Id | QueryKind::Other => {
            Ok(engine.customer_by_id(quoted).await.map_err(failed)?.into())
        }
    }
}

/// The job, unless it has completed, and the entity that it works on.
async fn by_job(admin: &AdminState, quoted: &str) -> Result<Found, ApiError> {
    let Ok(id) = quoted.parse::<JobId>() else {
        return Ok(Found::default());
    };
    let job = admin.engine.job(id).await.map_err(|_| ApiError::internal())?;
    let subjects = admin.engine.customer_by_id(quoted).await;
    let mut found: Found = subjects.map_err(|_| ApiError::internal())?.into();
    match job {
        Some(job) => found.hits.insert(
            0,
            SearchHit {
                kind: HitKind("job"),
                href: format!("/admin/dead-letters?job_id={id}"),
                id: id.to_string(),
                status: Some(if job.dead_lettered { "dead_letter" } else { "open" }.to_owned()),
                wallet: found.hits.first().and_then(|hit| hit.wallet.clone()),
                amount: None,
                at: Some(rfc3339(job.created_at)),
            },
        ),
        None => found
            .not_searched
            .push("A job that has completed leaves no row, so it can't be found by its id.".to_owned()),
    }
    Ok(found)
}

async fn by_approval(admin: &AdminState, quoted: &str) -> Result<Found, ApiError> {
    let Ok(id) = quoted.parse::<ApprovalId>() else {
        return Ok(Found::default());
    };
    let pending = admin.engine.approval(id).await.map_err(|_| ApiError::internal())?;
    let mut found = Found::default();
    match pending {
        Some(pending) => found.hits.push(SearchHit {
            kind: HitKind("approval"),
            id: id.to_string(),
            status: Some("waiting".to_owned()),
            wallet: None,
            amount: Some(pending.amount.into()),
            at: Some(rfc3339(pending.requested_at)),
            href: "/admin/approvals".to_owned(),
        }),
        None => found
            .not_searched
            .push("A decided approval leaves no row. The audit log has the decision.".to_owned()),
    }
    Ok(found)
}

/// What a transaction belongs to: by ids that follow from its transfers, by the wallet at their other end, and by what
/// that wallet's account shows of it.
async fn by_transaction(admin: &AdminState, quoted: &str) -> Result<Found, ApiError> {
    let failed = |_| ApiError::internal();
    let Some(network) = transaction_networks(quoted) else {
        return Ok(Found::default());
    };
    let transaction = match network {
        Network::Base => quoted.to_ascii_lowercase(),
        Network::Solana => quoted.to_owned(),
    };
    let paid = admin.engine.customers_by_payout_transaction(&transaction).await;
    let mut found: Found = Vec::from_iter(paid.map_err(failed)?).into();
    let read = admin.treasury.in_transaction(network, &transaction);
    let moved = match tokio::time::timeout(CHAIN_TIMEOUT, read).await {
        Ok(Ok(moved)) => moved,
        Ok(Err(_)) | Err(_) => {
            let sentence = format!("{} could not be read now: search again later.", network.name());
            found.not_searched.push(sentence);
            return Ok(found);
        }
    };
    for moved in &moved {
        let resources = admin.engine.customers_by_transfer(network, moved).await;
        let resources = resources.map_err(failed)?;
        let is_named = !resources.is_empty();
        found.hits.extend(resources.iter().map(SearchHit::resource));
        found.hits.push(SearchHit::transfer(moved));
        let account = admin.engine.account_of(&moved.counterparty);
        if !is_named && let Some(customer) = admin.engine.customer(&account, 100).await.map_err(failed)? {
            let resources = customer.resources.iter().flat_map(|group| &group.newest);
            let shown = resources.filter(|resource| resource.view.to_json().contains(&transaction));
            found.hits.extend(shown.map(SearchHit::resource));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: each kind of text is recognized, and nothing else is taken for it.
    #[test]
    fn texts_are_recognized() {
        let base = format!("0x{}", "a".repeat(64));
        let solana = bs58::encode([7_u8; 64]).into_string();
        for (text, kind) in [
            ("0x1111111111111111111111111111111111111111", QueryKind::Wallet),
            ("4242", QueryKind::Last4),
            ("42424", QueryKind::Other),
            (base.as_str(), QueryKind::Transaction),
            (solana.as_str(), QueryKind::Transaction),
            ("req_1", QueryKind::RequestId),
            ("job_1", QueryKind::JobId),
            ("apr_1", QueryKind::ApprovalId),
            ("card_1", QueryKind::Id),
            ("Ada", QueryKind::Other),
        ] {
            assert_eq!(read_as(text), kind, "{text}");
        }
    }
}
