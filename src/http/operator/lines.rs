//! Product lines: their status, and operators' actions to close and open them.

use std::sync::Arc;

use axum::response::Response;
use purser_actors::engine::{LineStatus, OperationError};
use purser_actors::kernel::{JsonObject, NamedState, StateMachine};
use purser_actors::line::{LineState, Rejection};
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use purser_actors::product::ProductLine;
use serde::Deserialize;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest, check_note};
#[cfg(feature = "documents")]
use super::schemas;
use super::unavailable;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::routes;
#[cfg(feature = "documents")]
use crate::http::schemas::ProductName;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/lines" => get_lines {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listLines", tag: "Availability" },
                Permission::Read,
                "List product lines, whether each is open, and why not",
                of::<schemas::ProductLineList>,
            )
        )
    }
    POST "/admin/lines/close" => post_close {
        Operator, unkeyed("names the line; setting the same status changes nothing"), operation(||
            OperationDoc::post::<CloseLineRequest>(
                Operation { id: "closeLine", tag: "Availability" },
                "Close a product line for new purchases. Existing purchases are still delivered",
                of::<schemas::ProductLineStatus>,
            )
            .error(404, "No such product line.")
            .error(409, "The product line is already closed.")
        )
    }
    POST "/admin/lines/open" => post_open {
        Operator, unkeyed("names the line; setting the same status changes nothing"), operation(||
            OperationDoc::post::<OpenLineRequest>(
                Operation { id: "openLine", tag: "Availability" },
                "Open a product line, whatever the status of its provider",
                of::<schemas::ProductLineStatus>,
            )
            .error(404, "No such product line.")
            .error(409, "The product line is already open.")
        )
    }
}

/// All product lines, in the contract's order.
pub(super) async fn get_lines(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let lines = admin.engine.lines().await.map_err(|_| ApiError::internal())?;
    let rows: Vec<String> = lines
        .iter()
        .map(|(health, known)| render(health, known.as_ref()).to_json())
        .collect();
    Ok(json::private(json::bytes_as_json(format!(
        "{{\"lines\":[{}]}}",
        rows.join(",")
    ))))
}

/// The last record is ignored if the line's status has changed since.
fn render(health: &LineStatus, known: Option<&LineState>) -> JsonObject {
    let known = known.filter(|known| known.state() == health.status);
    let view = JsonObject::new()
        .text("line", health.line)
        .text("status", health.status.as_str())
        .optional_text("reason", known.map(|known| known.reason.as_str()))
        .optional_text("by", known.and_then(|known| known.by.as_deref()))
        .integer("failures", u64::from(health.failures));
    let view = match known {
        Some(known) => view.time("since", known.since),
        None => view.optional_text("since", None::<&str>),
    };
    match health.next_probe_at {
        Some(at) => view.time("next_try_at", at),
        None => view.optional_text("next_try_at", None::<&str>),
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CloseLineRequest {
    #[cfg_attr(feature = "documents", schema(value_type = ProductName))]
    line: String,
    reason: String,
}

impl OperatorRequest for CloseLineRequest {}

pub(super) async fn post_close(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<CloseLineRequest>,
) -> Result<Response, ApiError> {
    let line = parse_line(&request.line)?;
    check_note("reason", "is for the audit log", &request.reason)?;
    let closed = admin.engine.close_line(line, request.reason, &act).await;
    closed.map_err(map_error)?;
    Ok(line_response(&admin.engine.line_status(line)))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct OpenLineRequest {
    #[cfg_attr(feature = "documents", schema(value_type = ProductName))]
    line: String,
    reason: String,
}

impl OperatorRequest for OpenLineRequest {}

pub(super) async fn post_open(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<OpenLineRequest>,
) -> Result<Response, ApiError> {
    let line = parse_line(&request.line)?;
    check_note("reason", "is for the audit log", &request.reason)?;
    let opened = admin.engine.open_line(line, request.reason, &act).await;
    opened.map_err(map_error)?;
    Ok(line_response(&admin.engine.line_status(line)))
}

fn line_response(health: &LineStatus) -> Response {
    let view = JsonObject::new()
        .text("line", health.line)
        .text("status", health.status.as_str());
    json::private(json::bytes_as_json(view.to_json()))
}

fn parse_line(text: &str) -> Result<ProductLine, ApiError> {
    text.parse().map_err(|_| {
        let names = ProductLine::ALL.map(ProductLine::name).join(", ");
        ApiError::new(ErrorCode::LineUnknown, "There is no such line of products.")
            .hint(format!("It is one of {names}."))
    })
}

fn map_error(denied: OperationError<Rejection>) -> ApiError {
    match denied {
        OperationError::Rejected(Rejection::AlreadyInState(status)) => {
            ApiError::new(ErrorCode::LineUnchanged, format!("This line is {status} already."))
        }
        _ => unavailable(),
    }
}
