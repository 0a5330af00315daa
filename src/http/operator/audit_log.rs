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
use crate::http::error::{ApiError, ErrorCode};
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
                "List audit records, oldest first, or newest first with `order=desc`",
                of::<AuditLogResponse>,
            )
            .with("order", "string", "`asc`, the default, or `desc`.")
            .with("before", "string", "With `order=desc`: `next_before` of the page before.")
            .paged()
        )
    }
    GET "/admin/audit/verify" => get_proof {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "verifyAuditLog", tag: "System" },
                Permission::Read,
                "Check the hash chain of the whole audit log",
                of::<AuditProofResponse>,
            )
        )
    }
}

/// A page of the audit log.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AuditLogResponse {
    /// Entries, oldest first, or newest first with `order=desc`.
    entries: Vec<AuditLogEntry>,
    /// Cursor of the next page; null on an empty page, and with `order=desc`.
    #[cfg_attr(feature = "documents", schema(required))]
    next_after: Option<String>,
    /// Cursor of the next page with `order=desc`; null on the last page.
    #[cfg_attr(feature = "documents", schema(required))]
    next_before: Option<String>,
}

/// Result of checking the audit log.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AuditProofResponse {
    /// Whether every record contains the hash of the one before it, and the last one has the recorded hash.
    intact: bool,
    /// Number of records that form one chain, from the first.
    records: u64,
    /// Hash of the last of them, in hexadecimal. Store it in another place: it proves later that no earlier record was
    /// changed.
    last_hash: String,
    /// Number of the first record that is missing, changed or unreadable; null if there is none.
    #[cfg_attr(feature = "documents", schema(required))]
    broken_at: Option<u64>,
    /// Time of the check (RFC 3339).
    checked_at: String,
}

/// A record of an operator action.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct AuditLogEntry {
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
    pub(super) subject: String,
    /// Note of the operator.
    #[cfg_attr(feature = "documents", schema(required))]
    note: Option<String>,
    /// Request that executed the action.
    pub(super) request_id: String,
    /// Hash of the previous record, in hexadecimal.
    previous_hash: String,
    /// Hash of this record, which the next one includes.
    hash: String,
}

#[cfg(feature = "documents")]
named_values! {
    "Action of an operator." AuditActionName: AuditAction = AuditAction::ALL, AuditAction::name;
}

async fn get_audit(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<AuditLogResponse>, ApiError> {
    let query = Query::parse(query.as_deref(), &["after", "before", "limit", "order"])?;
    let limit = usize::try_from(query.number("limit", 100, 1, 1_000)?).unwrap_or(100);
    let newest_first = query.choice("order", &["asc", "desc"])? == "desc";
    for (name, fits) in [("before", newest_first), ("after", !newest_first)] {
        if query.get(name).is_some() && !fits {
            let error = format!("`{name}` does not go with this `order`.");
            return Err(ApiError::parameter(ErrorCode::ParameterInvalid, name, error));
        }
    }
    if newest_first {
        let before = query.number("before", u64::MAX, 1, u64::MAX)?;
        let found = admin
            .engine
            .audit_log_before((before < u64::MAX).then_some(before), limit);
        let found = found.await.map_err(|_| ApiError::internal())?;
        let oldest = found.last().map(|(audit, _)| audit.position.sequence);
        return Ok(Private(AuditLogResponse {
            entries: found.into_iter().map(|(audit, hash)| entry(audit, &hash)).collect(),
            next_after: None,
            next_before: oldest.filter(|oldest| *oldest > 1).map(|oldest| oldest.to_string()),
        }));
    }
    let after = query.number("after", 0, 0, u64::MAX)?;
    let found = admin.engine.audit_log((after > 0).then_some(after), limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    let next_after = found.last().map(|(audit, _)| audit.position.sequence.to_string());
    let entries = found.into_iter().map(|(audit, hash)| entry(audit, &hash));
    Ok(Private(AuditLogResponse {
        entries: entries.collect(),
        next_after,
        next_before: None,
    }))
}

async fn get_proof(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<AuditProofResponse>, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let proof = admin
        .engine
        .verify_audit_log()
        .await
        .map_err(|_| ApiError::internal())?;
    Ok(Private(AuditProofResponse {
        intact: proof.broken_at.is_none(),
        records: proof.records,
        last_hash: hex::encode(proof.last_hash),
        broken_at: proof.broken_at,
        checked_at: rfc3339(admin.clock.now()),
    }))
}

pub(super) fn entry(audit: AuditRecord, hash: &[u8; 32]) -> AuditLogEntry {
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
