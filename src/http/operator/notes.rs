//! Notes of operators on customers. Only operators read them: they are in no event and in no answer of the public address.

use std::sync::Arc;

use purser_actors::answer::rfc3339;
use purser_actors::id::Wallet;
use purser_actors::operator::{AuditRecord, Permission};
use serde::{Deserialize, Serialize};

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::card_numbers::has_card_number;
use super::closed_sets::OperatorRole;
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest, check_text};
use super::{AdminState, unavailable};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/notes" => get_notes {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listCustomerNotes", tag: "Accounts" },
                Permission::Read,
                "List the notes of operators on a customer, newest first",
                of::<CustomerNoteList>,
            )
            .needs("wallet", "string", "The account.")
            .with("before", "integer", "`next_before` of the previous page.")
            .with("limit", "integer", "1 to 200, 50 by default.")
            .error(404, "No such account.")
        )
    }
    POST "/admin/notes" => post_note {
        Operator, unkeyed("the same text of the same operator within a minute is one note"), operation(||
            OperationDoc::post::<AddCustomerNoteRequest>(
                Operation { id: "addCustomerNote", tag: "Accounts" },
                "Write a note on a customer, which only operators see. It is a record of the audit log: it can't be changed or removed",
                of::<CustomerNote>,
            )
            .error(404, "No such account.")
        )
    }
}

/// Limit in characters.
const MAX_LEN: usize = 2_000;

/// A page of notes.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CustomerNoteList {
    /// Exact wallet address of the account.
    wallet: String,
    /// Newest first.
    notes: Vec<CustomerNote>,
    /// Cursor of the next page; null on the last page.
    #[cfg_attr(feature = "documents", schema(required))]
    next_before: Option<u64>,
}

/// A note of an operator on a customer.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CustomerNote {
    /// Number of its record in the audit log.
    sequence: u64,
    /// Time at which it was written (RFC 3339).
    at: String,
    /// Name of the operator token.
    operator: String,
    /// Role of the operator token.
    role: OperatorRole,
    /// The note.
    text: String,
    /// Request that wrote it.
    request_id: String,
}

impl From<AuditRecord> for CustomerNote {
    fn from(record: AuditRecord) -> Self {
        Self {
            sequence: record.position.sequence,
            at: rfc3339(record.at),
            operator: record.act.operator,
            role: record.act.role.into(),
            text: record.note.unwrap_or_default(),
            request_id: record.act.request_id.to_string(),
        }
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct AddCustomerNoteRequest {
    /// The account.
    wallet: String,
    /// The note: 1 to 2,000 characters. No card numbers and no passwords: it can't be removed.
    text: String,
}

impl OperatorRequest for AddCustomerNoteRequest {
    const TASK: Permission = Permission::WriteNotes;
}

async fn get_notes(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<CustomerNoteList>, ApiError> {
    let query = Query::parse(query.as_deref(), &["wallet", "before", "limit"])?;
    let limit = usize::try_from(query.number("limit", 50, 1, 200)?).unwrap_or(50);
    let before = query.number("before", u64::MAX, 1, u64::MAX)?;
    let account = account(&admin, query.get("wallet").unwrap_or_default()).await?;
    let found = admin.engine.customer_notes(&account, Some(before), limit + 1).await;
    let mut found = found.map_err(|_| ApiError::internal())?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next_before = found
        .last()
        .filter(|_| has_more)
        .map(|(record, _)| record.position.sequence);
    Ok(Private(CustomerNoteList {
        wallet: account.to_string(),
        notes: found.into_iter().map(|(record, _)| record.into()).collect(),
        next_before,
    }))
}

async fn post_note(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<AddCustomerNoteRequest>,
) -> Result<Private<CustomerNote>, ApiError> {
    check_text("text", "is for other operators", &request.text, MAX_LEN)?;
    if has_card_number(&request.text) {
        let error = "`text` contains a card number.";
        return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "text", error).hint("Write its last four digits."));
    }
    let account = account(&admin, &request.wallet).await?;
    let written = admin.engine.add_customer_note(&account, request.text, &act).await;
    let (record, _) = written.map_err(|_| unavailable())?;
    Ok(Private(record.into()))
}

/// The account of a wallet. That of a managed wallet is its owner's.
async fn account(admin: &AdminState, wallet: &str) -> Result<Wallet, ApiError> {
    let wallet: Wallet = wallet
        .parse()
        .map_err(|_| ApiError::parameter(ErrorCode::ParameterInvalid, "wallet", "`wallet` is not an address."))?;
    let account = admin.engine.account_of(&wallet);
    match admin.engine.account(&account).await.map_err(|_| ApiError::internal())? {
        Some(_) => Ok(account),
        None => Err(ApiError::new(ErrorCode::AccountNotFound, "There is no such account.")),
    }
}
