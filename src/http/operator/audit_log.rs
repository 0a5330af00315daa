//! The audit log of operator actions. If the hash of its last record is stored in another place, it proves later that
//! no earlier record was changed.

use std::sync::Arc;

use purser_actors::answer::rfc3339;
#[cfg(feature = "documents")]
use purser_actors::operator::AuditAction;
use purser_actors::operator::AuditRecord;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use serde::Serialize;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::closed_sets::OperatorRole;
use super::extractors::AuthorizedRead;
use crate::http::error::ApiError;
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
#[cfg(feature = "documents")]
use crate::statuses::named_values;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/audit" => get_audit {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listAuditLog", tag: "System" },
                Permission::Read,
                "List audit records, oldest first",
                of::<AuditLogResponse>,
            )
            .paged()
        )
    }
}

/// A page of the audit log.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AuditLogResponse {
    /// Entries, oldest first.
    entries: Vec<AuditLogEntry>,
    /// Cursor of the next page; null on an empty page.
    #[cfg_attr(feature = "documents", schema(required))]
    next_after: Option<String>,
}

/// A record of an operator action.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AuditLogEntry {
    /// Position in the log, from 1.
    sequence: u64,
    /// Time of the action (RFC 3339).
    at: String,
    /// Name of the operator token.
    operator: String,
    /// Role of the operator token.
    role: OperatorRole,
    /// Name of the action.
    #[cfg_attr(feature = "documents", schema(value_type = AuditActionName))]
    action: String,
    /// Id of the affected resource.
    subject: String,
    /// Note of the operator.
    #[cfg_attr(feature = "documents", schema(required))]
    note: Option<String>,
    /// Request that executed the action.
    request_id: String,
    /// Hash of the previous record, in hexadecimal.
    previous_hash: String,
    /// Hash of this record, which the next one includes.
    hash: String,
}

#[cfg(feature = "documents")]
named_values! {
    "Action of an operator." AuditActionName: AuditAction = AuditAction::ALL, AuditAction::name;
}

/// Audit records, oldest first.
async fn get_audit(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<AuditLogResponse>, ApiError> {
    let query = Query::parse(query.as_deref(), &["after", "limit"])?;
    let limit = usize::try_from(query.number("limit", 100, 1, 1_000)?).unwrap_or(100);
    let after = query.number("after", 0, 0, u64::MAX)?;
    let found = admin.engine.audit_log((after > 0).then_some(after), limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    let next_after = found.last().map(|(audit, _)| audit.position.sequence.to_string());
    let entries = found.into_iter().map(|(audit, hash)| entry(audit, &hash));
    Ok(Private(AuditLogResponse {
        entries: entries.collect(),
        next_after,
    }))
}

fn entry(audit: AuditRecord, hash: &[u8; 32]) -> AuditLogEntry {
    AuditLogEntry {
        sequence: audit.position.sequence,
        at: rfc3339(audit.at),
        operator: audit.act.operator,
        role: audit.act.role.into(),
        action: audit.action,
        subject: audit.subject,
        note: audit.note,
        request_id: audit.act.request_id.to_string(),
        previous_hash: hex::encode(audit.position.previous_hash),
        hash: hex::encode(hash),
    }
}
