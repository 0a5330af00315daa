//! The controls of the sandbox for pages of the operator address, which may call no other address.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use serde::Deserialize;
use serde_json::value::RawValue;
use tower::Service as _;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, any};
use super::extractors::{AuthorizedRequest, OperatorRequest};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::route::routes;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    POST "/admin/sandbox" => post_sandbox {
        Operator, unkeyed("controls the simulated chains and providers"), operation(||
            OperationDoc::post::<SandboxRequest>(
                Operation { id: "callSandbox", tag: "System" },
                "Call a control of the sandbox: `/sandbox/openapi.json` of the public address describes them. Only in the sandbox",
                any,
            )
            .error(404, "There is no such control, or this is no sandbox.")
        )
    }
}

/// A request to a control.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxRequest {
    /// Path of the control with its query, such as `/sandbox/issuer`.
    path: String,
    /// Body of a POST. Without it the control is read.
    #[cfg_attr(feature = "documents", schema(value_type = Option<Object>))]
    body: Option<Box<RawValue>>,
}

impl OperatorRequest for SandboxRequest {}

async fn post_sandbox(
    AuthorizedRequest { admin, request, .. }: AuthorizedRequest<SandboxRequest>,
) -> Result<Response, ApiError> {
    let invalid = || {
        let error = "`path` is that of a control, such as `/sandbox/issuer`.";
        ApiError::parameter(ErrorCode::ParameterInvalid, "path", error)
    };
    let is_control = request.path == "/sandbox" || request.path.starts_with("/sandbox/");
    let Some(controls) = admin.sandbox.as_ref().filter(|_| is_control) else {
        return Err(match is_control {
            true => ApiError::new(ErrorCode::RouteNotFound, "This is no sandbox."),
            false => invalid(),
        });
    };
    let (method, body) = match request.body {
        Some(body) => (Method::POST, Body::from(body.get().to_owned())),
        None => (Method::GET, Body::empty()),
    };
    let call = Request::builder()
        .method(method)
        .uri(request.path)
        .header(CONTENT_TYPE, "application/json")
        .body(body)
        .map_err(|_| invalid())?;
    let mut controls: Router = controls.clone();
    let Ok(answer) = controls.call(call).await;
    Ok(json::private(answer))
}
