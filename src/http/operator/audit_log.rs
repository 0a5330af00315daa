//! The audit log of operator actions. If the hash of its last record is stored in another place, it proves later that
//! no earlier record was changed.

use std::sync::Arc;

use axum::response::Response;
use purser_actors::kernel::JsonObject;
use purser_actors::operator::AuditRecord;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::AuthorizedRead;
#[cfg(feature = "documents")]
use super::schemas;
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::routes;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/audit" => get_audit {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listAuditLog", tag: "System" },
                Permission::Read,
                "List audit records, oldest first",
                of::<schemas::AuditLogResponse>,
            )
            .paged()
        )
    }
}

/// Audit records, oldest first.
pub(super) async fn get_audit(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["after", "limit"])?;
    let limit = usize::try_from(query.number("limit", 100, 1, 1_000)?).unwrap_or(100);
    let after = query.number("after", 0, 0, u64::MAX)?;
    let found = admin.engine.audit_log((after > 0).then_some(after), limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    let next = found
        .last()
        .map(|(audit, _)| format!("\"{}\"", audit.position.sequence));
    let acts: Vec<String> = found.iter().map(|(audit, hash)| entry(audit, hash).to_json()).collect();
    let next = next.unwrap_or_else(|| "null".to_owned());
    let body = format!("{{\"entries\":[{}],\"next_after\":{next}}}", acts.join(","));
    Ok(json::private(json::bytes_as_json(body)))
}

fn entry(audit: &AuditRecord, hash: &[u8; 32]) -> JsonObject {
    JsonObject::new()
        .integer("sequence", audit.position.sequence)
        .time("at", audit.at)
        .text("operator", &audit.act.operator)
        .text("role", audit.act.role)
        .text("action", &audit.action)
        .text("subject", &audit.subject)
        .optional_text("note", audit.note.as_deref())
        .text("request_id", audit.act.request_id)
        .text("previous_hash", hex::encode(audit.position.previous_hash))
        .text("hash", hex::encode(hash))
}
