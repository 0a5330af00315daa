//! `GET /version`: the contract's version, its change policy, and whom to contact.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use serde::Serialize;

use super::headers::API_VERSION;
use super::json;
use super::route::routes;
use crate::config::{Config, DeprecatedRoute};

/// The version and its change policy.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct VersionResponse<'a> {
    /// Version of the contract, a date; also in `X-Service-Api-Version`.
    api_version: &'a str,
    /// Hash of the documents; also in `X-Service-Docs-Version`.
    docs_version: &'a str,
    /// `sandbox` or `production`.
    #[cfg_attr(feature = "documents", schema(value_type = super::schemas::ServiceMode))]
    mode: &'a str,
    /// E-mail address or https:// URL of the people who run the service; null if they named none.
    #[cfg_attr(feature = "documents", schema(required))]
    contact: Option<&'a str>,
    /// What may change and how it is announced.
    policy: VersionPolicy<'a>,
}

/// What may change and how it is announced.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct VersionPolicy<'a> {
    /// Format of `api_version`.
    version_format: &'static str,
    /// Changes that keep `api_version`. Clients must tolerate them.
    compatible_changes: [&'static str; 3],
    /// How a breaking change is announced.
    breaking_changes: &'static str,
    /// Headers on responses of a deprecated route.
    deprecation_headers: [&'static str; 3],
    /// Always null: the date of each route is the commitment.
    notice_period: Option<&'static str>,
    /// Routes that are deprecated.
    deprecated_routes: &'a [DeprecatedRoute],
}

#[derive(Clone)]
pub(super) struct VersionPage(Bytes);

routes! { pub(super) static ROUTES: VersionPage, openapi;
    GET "/version" => get_version { Public }
}

/// # Errors
/// Never: the parts are text.
pub fn router(docs_version: &str, config: &Config) -> Result<Router, serde_json::Error> {
    let version = VersionResponse {
        api_version: API_VERSION,
        docs_version,
        mode: if config.is_sandbox() { "sandbox" } else { "production" },
        contact: config.server.contact(),
        policy: VersionPolicy {
            version_format: "YYYY-MM-DD",
            compatible_changes: ["new_route", "new_optional_request_field", "new_response_field"],
            breaking_changes: "new_api_version",
            deprecation_headers: ["Deprecation", "Sunset", "Link; rel=\"successor-version\""],
            notice_period: None,
            deprecated_routes: &config.versions.deprecated_routes,
        },
    };
    let page = VersionPage(serde_json::to_vec(&version)?.into());
    Ok(ROUTES.router(page))
}

/// Read the version of the contract
///
/// The same value as the header `X-Service-Api-Version`, with the policy about changes and the operator's contact.
#[cfg_attr(feature = "documents", utoipa::path(get, path = "/version", operation_id = "getVersion", tag = "Service",
    responses((status = 200, description = "Version and policy.", body = inline(VersionResponse<'static>)))))]
async fn get_version(State(page): State<VersionPage>) -> Response {
    json::bytes_as_json(page.0)
}
