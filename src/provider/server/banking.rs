//! Routes of the bank.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::routing::{get, post};
use parking_lot::Mutex;
use purser_actors::id::{BankAccountId, DocumentId};
use purser_actors::port::banking::BankDecision;
use utoipa::OpenApi;
use zeroize::Zeroizing;

use super::{
    AfterParam, IdempotencyKeyHeader, MAX_EVENTS_PER_PAGE, ProtocolBody, ProtocolErrorResponse, ProtocolQuery,
    ProtocolResult, not_found, ok,
};
use crate::provider::Providers;
use crate::provider::banking::BankApi;
use crate::provider::wire::applications::{BankApplication, BankDocumentBytes, BankDocumentReceived, BankReview};
use crate::provider::wire::banking::{
    BankAccountResponse, BankTransferRequest, BankTransferResponse, OpenBankAccountRequest,
};
use crate::provider::wire::deposits::{BankBalance, BankDepositList};
use crate::provider::wire::{DecimalAmount, ErrorCode, MalformedResponse, TextValue};

/// Maximum size of a document; in Base64 it is a third longer.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;
/// Documents held until their application is decided. The oldest are dropped first and requested again.
const MAX_DOCUMENTS: usize = 20;

/// Documents in the order in which they arrived.
type StoredDocuments = Arc<Mutex<VecDeque<(DocumentId, Zeroizing<Vec<u8>>)>>>;

#[derive(Clone)]
struct PendingApplications {
    bank: Arc<dyn BankApi>,
    documents: StoredDocuments,
}

type ServerState = State<Arc<dyn BankApi>>;

pub(super) fn router(providers: &Providers) -> Router {
    let send = post(send_document).layer(DefaultBodyLimit::max(MAX_DOCUMENT_BYTES));
    let applications = Router::new()
        .route("/bank-applications", post(apply_to_bank))
        .route("/bank-documents/{document_id}", send)
        .with_state(PendingApplications {
            bank: providers.bank.clone(),
            documents: StoredDocuments::default(),
        });
    Router::new()
        .route("/bank-accounts", post(open_bank_account))
        .route("/bank-accounts/{account_id}", get(bank_balance))
        .route("/bank-transfers", post(bank_transfer))
        .route("/bank-deposits", get(bank_deposits))
        .with_state(providers.bank.clone())
        .merge(applications)
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(
        apply_to_bank,
        send_document,
        open_bank_account,
        bank_balance,
        bank_transfer,
        bank_deposits
    ))]
    struct ApiDoc;
    ApiDoc::openapi()
}

/// Submit an application, or query its review
#[utoipa::path(post, path = "/v1/bank-applications", operation_id = "submitBankApplication", tag = "Banking", request_body = BankApplication,
    params(("Idempotency-Key" = String, Header, description = "The same key is the same submission.")),
    responses((status = 200, description = "The bank's review.", body = BankReview)))]
async fn apply_to_bank(
    State(PendingApplications { bank, documents }): State<PendingApplications>,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    ProtocolBody(asked): ProtocolBody<BankApplication>,
) -> ProtocolResult<BankReview> {
    let id = asked.application_id.0;
    let bytes_of = |id: DocumentId| {
        let documents = documents.lock();
        let found = documents.iter().find(|(of, _)| *of == id);
        found.map(|(_, bytes)| bytes.clone())
    };
    let asked = match asked.read(key, bytes_of)? {
        Ok(asked) => asked,
        Err(missing) => return ok(BankReview::documents_required(id, key, missing)),
    };
    let of_it: Vec<_> = asked.documents.iter().map(|paper| paper.id).collect();
    let said = bank.review(asked).await?;
    if matches!(said, BankDecision::Final(_)) {
        documents.lock().retain(|(id, _)| !of_it.contains(id));
    }
    ok(BankReview::of(id, key, said))
}

/// Upload a document that an application names
#[utoipa::path(post, path = "/v1/bank-documents/{document_id}", operation_id = "uploadBankDocument", tag = "Banking", request_body = BankDocumentBytes,
    params(("document_id" = String, Path, description = "The service's id of the resource.")),
    responses((status = 200, description = "The document is stored until its application is decided.", body = BankDocumentReceived)))]
async fn send_document(
    State(PendingApplications { documents, .. }): State<PendingApplications>,
    Path(id): Path<String>,
    ProtocolBody(sent): ProtocolBody<BankDocumentBytes>,
) -> ProtocolResult<BankDocumentReceived> {
    let id: DocumentId = id.parse().map_err(|_| MalformedResponse("the id of a document"))?;
    let bytes = sent.read()?;
    let mut documents = documents.lock();
    documents.retain(|(of, _)| *of != id);
    documents.push_back((id, bytes));
    if documents.len() > MAX_DOCUMENTS {
        documents.pop_front();
    }
    let document_id = TextValue(id);
    ok(BankDocumentReceived { document_id })
}

/// Open an account, or query its status
#[utoipa::path(post, path = "/v1/bank-accounts", operation_id = "openBankAccount", tag = "Banking", request_body = OpenBankAccountRequest,
    params(("Idempotency-Key" = String, Header, description = "The same key never opens a second account.")),
    responses((status = 200, description = "Result of the request.", body = BankAccountResponse)))]
async fn open_bank_account(
    State(bank): ServerState,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    ProtocolBody(order): ProtocolBody<OpenBankAccountRequest>,
) -> ProtocolResult<BankAccountResponse> {
    let order = order.read(key);
    let said = bank.open(&order).await?;
    ok(BankAccountResponse::of(&order, said))
}

/// Return the current balance of an account
#[utoipa::path(get, path = "/v1/bank-accounts/{account_id}", operation_id = "getBankAccountBalance", tag = "Banking",
    params(("account_id" = String, Path, description = "The service's id of the resource.")),
    responses((status = 200, description = "The balance.", body = BankBalance)))]
async fn bank_balance(State(bank): ServerState, Path(account): Path<String>) -> ProtocolResult<BankBalance> {
    let account: BankAccountId = account
        .parse()
        .map_err(|_| ProtocolErrorResponse::new(ErrorCode::NotFound, "there is no such account"))?;
    let balance = bank.balance(account).await.map_err(not_found)?;
    ok(BankBalance {
        account_id: TextValue(account),
        balance: TextValue(DecimalAmount(balance)),
    })
}

/// Transfer money between the service and an account, or query a transfer
#[utoipa::path(post, path = "/v1/bank-transfers", operation_id = "createBankTransfer", tag = "Banking", request_body = BankTransferRequest,
    params(("Idempotency-Key" = String, Header, description = "The same key transfers once.")),
    responses((status = 200, description = "Result of the request.", body = BankTransferResponse)))]
async fn bank_transfer(
    State(bank): ServerState,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    ProtocolBody(order): ProtocolBody<BankTransferRequest>,
) -> ProtocolResult<BankTransferResponse> {
    let order = order.read(key);
    let said = bank.transfer(&order).await?;
    ok(BankTransferResponse::of(&order, said))
}

/// List incoming transfers after a position
#[utoipa::path(get, path = "/v1/bank-deposits", operation_id = "listBankDeposits", tag = "Banking", params(AfterParam),
    responses((status = 200, description = "Deposits in the order of their positions.", body = BankDepositList)))]
async fn bank_deposits(
    State(bank): ServerState,
    ProtocolQuery(since): ProtocolQuery<AfterParam>,
) -> ProtocolResult<BankDepositList> {
    let deposits = bank.incoming(since.after, since.limit.min(MAX_EVENTS_PER_PAGE)).await?;
    ok(BankDepositList::of(deposits))
}
