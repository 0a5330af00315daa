//! Lines of products: how each stands, and an operator's word on whether it is sold.

use axum::response::Response;
use http::StatusCode;
use purser_actors::engine::{Denied, LineFigures};
use purser_actors::kernel::View;
use purser_actors::line::{Rejection, Selling};
use purser_actors::product::Line;
use serde::Deserialize;
use utoipa::ToSchema;

use super::asked::{Admitted, Asks, Looked, in_words};
use super::not_now;
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;

/// Every line, in the contract's order.
pub(super) async fn get_lines(Looked { admin, query }: Looked) -> Result<Response, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let lines = admin.engine.lines().await.map_err(|_| ApiError::internal())?;
    let rows: Vec<String> = lines
        .iter()
        .map(|(stands, known)| shown(stands, known.as_ref()).to_json())
        .collect();
    Ok(json::private(json::bytes_as_json(format!(
        "{{\"lines\":[{}]}}",
        rows.join(",")
    ))))
}

/// What was written down of it last says nothing of a line that stands otherwise by now.
fn shown(stands: &LineFigures, known: Option<&Selling>) -> View {
    let known = known.filter(|known| known.status == stands.status);
    let view = View::new()
        .text("line", stands.line)
        .text("status", stands.status.name())
        .maybe("reason", known.map(|known| known.reason.as_str()))
        .maybe("by", known.and_then(|known| known.by.as_deref()))
        .integer("failures", u64::from(stands.failures));
    let view = match known {
        Some(known) => view.time("since", known.since),
        None => view.maybe("since", None::<&str>),
    };
    match stands.next_try_at {
        Some(at) => view.time("next_try_at", at),
        None => view.maybe("next_try_at", None::<&str>),
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CloseLine {
    line: String,
    reason: String,
}

impl Asks for CloseLine {}

pub(super) async fn post_close(Admitted { admin, act, wanted }: Admitted<CloseLine>) -> Result<Response, ApiError> {
    let line = named(&wanted.line)?;
    in_words("reason", "is for the audit log", &wanted.reason)?;
    let closed = admin.engine.close_line(line, wanted.reason, &act).await;
    closed.map_err(refused)?;
    Ok(answer(&admin.engine.line_figures(line)))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenLine {
    line: String,
    reason: String,
}

impl Asks for OpenLine {}

pub(super) async fn post_open(Admitted { admin, act, wanted }: Admitted<OpenLine>) -> Result<Response, ApiError> {
    let line = named(&wanted.line)?;
    in_words("reason", "is for the audit log", &wanted.reason)?;
    let opened = admin.engine.open_line(line, wanted.reason, &act).await;
    opened.map_err(refused)?;
    Ok(answer(&admin.engine.line_figures(line)))
}

fn answer(stands: &LineFigures) -> Response {
    let view = View::new()
        .text("line", stands.line)
        .text("status", stands.status.name());
    json::private(json::bytes_as_json(view.to_json()))
}

fn named(text: &str) -> Result<Line, ApiError> {
    text.parse().map_err(|_| {
        let names = Line::ALL.map(Line::name).join(", ");
        ApiError::not_found("line_unknown", "There is no such line of products.").hint(format!("It is one of {names}."))
    })
}

fn refused(denied: Denied<Rejection>) -> ApiError {
    match denied {
        Denied::Rejected(Rejection::Already(status)) => ApiError::new(
            StatusCode::CONFLICT,
            "line_unchanged",
            format!("This line is {status} already."),
        ),
        _ => not_now(),
    }
}
