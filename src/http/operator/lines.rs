//! Product lines: their status, and operators' actions to close and open them.

use std::sync::Arc;

use purser_actors::answer::rfc3339;
use purser_actors::engine::{self, OperationError};
use purser_actors::entity::line::{LineState, Rejection, State};
use purser_actors::kernel::{NamedState as _, StateMachine as _};
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use purser_actors::product::ProductLine;
use serde::{Deserialize, Serialize};

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest, check_note};
use super::unavailable;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
use crate::http::schemas::ProductName;
use crate::statuses::named_values;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/lines" => get_lines {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listLines", tag: "Availability" },
                Permission::Read,
                "List product lines, whether each is open, and why not",
                of::<ProductLineList>,
            )
        )
    }
    POST "/admin/lines/close" => post_close {
        Operator, unkeyed("names the line; setting the same status changes nothing"), operation(||
            OperationDoc::post::<CloseLineRequest>(
                Operation { id: "closeLine", tag: "Availability" },
                "Close a product line for new purchases. Existing purchases are still delivered",
                of::<ProductLineStatus>,
            )
            .error(404, "No such product line.")
            .error(409, "The product line is already closed.")
        )
    }
    POST "/admin/lines/open" => post_open {
        Operator, unkeyed("names the line; setting the same status changes nothing"), confirmed(), operation(||
            OperationDoc::post::<OpenLineRequest>(
                Operation { id: "openLine", tag: "Availability" },
                "Open a product line, whatever the status of its provider",
                of::<ProductLineStatus>,
            )
            .error(404, "No such product line.")
            .error(409, "The product line is already open.")
        )
    }
}

named_values! {
    "Status of a product line." LineStatus: State = State::ALL.iter().copied(), State::as_str;
}

/// All product lines.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ProductLineList {
    /// In the contract's order.
    lines: Vec<OperatorProductLine>,
}

/// A product line.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct OperatorProductLine {
    /// Identifier of the product.
    line: ProductName,
    /// `open`, `failing` (its provider is down), or `closed` by an operator.
    status: LineStatus,
    /// Reason given by an operator, or the last error of the provider.
    #[cfg_attr(feature = "documents", schema(required))]
    reason: Option<String>,
    /// Operator that closed or opened it.
    #[cfg_attr(feature = "documents", schema(required))]
    by: Option<String>,
    /// Number of consecutive failed deliveries.
    failures: u64,
    /// Time of the last change (RFC 3339); null if it was never closed.
    #[cfg_attr(feature = "documents", schema(required))]
    since: Option<String>,
    /// Time of the next trial order to a failing provider (RFC 3339); null otherwise.
    #[cfg_attr(feature = "documents", schema(required))]
    next_try_at: Option<String>,
}

/// A product line that an operator closed or opened.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ProductLineStatus {
    /// Identifier of the product.
    line: ProductName,
    /// `open` or `closed`; `failing` if its provider failed again in the meantime.
    status: LineStatus,
}

/// All product lines, in the contract's order.
async fn get_lines(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<ProductLineList>, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let lines = admin.engine.lines().await.map_err(|_| ApiError::internal())?;
    let lines = lines.into_iter().map(|(health, known)| render(&health, known));
    Ok(Private(ProductLineList { lines: lines.collect() }))
}

/// The last record is ignored if the line's status has changed since.
fn render(health: &engine::LineStatus, known: Option<LineState>) -> OperatorProductLine {
    let known = known.filter(|known| known.state() == health.status);
    let since = known.as_ref().map(|known| rfc3339(known.since));
    let (reason, by) = known.map(|known| (known.reason, known.by)).unzip();
    OperatorProductLine {
        line: health.line,
        status: health.status.into(),
        reason,
        by: by.flatten(),
        failures: health.failures.into(),
        since,
        next_try_at: health.next_probe_at.map(rfc3339),
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

async fn post_close(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<CloseLineRequest>,
) -> Result<Private<ProductLineStatus>, ApiError> {
    let line = parse_line(&request.line)?;
    check_note("reason", "is for the audit log", &request.reason)?;
    let closed = admin.engine.close_line(line, request.reason, &act).await;
    closed.map_err(map_error)?;
    Ok(line_status(&admin, line))
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

async fn post_open(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<OpenLineRequest>,
) -> Result<Private<ProductLineStatus>, ApiError> {
    let line = parse_line(&request.line)?;
    check_note("reason", "is for the audit log", &request.reason)?;
    let opened = admin.engine.open_line(line, request.reason, &act).await;
    opened.map_err(map_error)?;
    Ok(line_status(&admin, line))
}

fn line_status(admin: &AdminState, line: ProductLine) -> Private<ProductLineStatus> {
    let health = admin.engine.line_status(line);
    Private(ProductLineStatus {
        line: health.line,
        status: health.status.into(),
    })
}

fn parse_line(text: &str) -> Result<ProductLine, ApiError> {
    text.parse().map_err(|_| {
        let names = ProductLine::ALL.map(ProductLine::name).join(", ");
        ApiError::new(ErrorCode::LineNotFound, "There is no such line of products.")
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
