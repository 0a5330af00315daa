//! `GET /admin/openapi.json`: the OpenAPI document of the operator API, `docs/admin.openapi.json`, which tests generate.

use std::sync::Arc;

use axum::response::Response;
use serde_json::Value;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, any};
use super::extractors::AuthorizedRead;
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::routes;

const DOCUMENT: &str = include_str!("../../../docs/admin.openapi.json");

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/openapi.json" => get_openapi {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "getOperatorOpenApi", tag: "System" },
                purser_actors::operator::Permission::Read,
                "Read the OpenAPI 3.1 document of the operator API",
                any,
            )
        )
    }
}

async fn get_openapi(AuthorizedRead { query, .. }: AuthorizedRead) -> Result<Response, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let document: Value = DOCUMENT.parse().map_err(|_| ApiError::internal())?;
    Ok(json::private(json::bytes_as_json(document.to_string())))
}
