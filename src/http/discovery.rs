//! Discovery documents: `/llms.txt`, `/skill.md`, `/.well-known/x402`, `/.well-known/api-catalog` and `/asyncapi.json`.
//! They are made once at startup from `/openapi.json` and the committed `docs/asyncapi.json`, so they always match the
//! service.

#[cfg(feature = "documents")]
pub(super) mod asyncapi;
mod guides;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, LINK, VARY};
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::form_pages::accepts;
use super::index_page::{IndexPage, LINKS};
use super::openapi::ApiDocuments;
use super::route::routes;

const ASYNCAPI: &str = include_str!("../../docs/asyncapi.json");
const TEXT: &str = "text/plain; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const JSON: &str = "application/json";
/// RFC 9264 and, for the profile, RFC 9727.
const LINKSET: &str = "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";

/// The documents, and the front page that leads people to them.
#[derive(Clone)]
pub struct Discovery {
    pub documents: DiscoveryDocuments,
    pub page: IndexPage,
}

#[derive(Clone)]
pub struct DiscoveryDocuments {
    index: Bytes,
    llms: Bytes,
    skill: Bytes,
    x402: Bytes,
    catalog: Bytes,
    asyncapi: Bytes,
}

impl DiscoveryDocuments {
    /// Generates the documents for a service at `url` (scheme, host and port).
    ///
    /// # Errors
    /// Never: the embedded document is valid.
    pub fn of(openapi: &ApiDocuments, url: &str) -> Result<Self, serde_json::Error> {
        let samples = guides::samples(&openapi.clients, url);
        let x402 = json!({"version": 1, "resources": samples, "instructions": guides::INSTRUCTIONS});
        Ok(Self {
            index: index(url).to_string().into(),
            llms: guides::llms(openapi, url).into(),
            skill: guides::skill(&openapi.clients, url).into(),
            x402: x402.to_string().into(),
            catalog: catalog(url).to_string().into(),
            asyncapi: asyncapi(url)?.to_string().into(),
        })
    }

    /// Texts of the documents, for the hash of all documents.
    pub fn pages(&self) -> [&[u8]; 5] {
        [&self.llms, &self.skill, &self.x402, &self.catalog, &self.asyncapi]
    }
}

/// The document of events. `url` provides the host and whether it uses TLS.
fn asyncapi(url: &str) -> Result<Value, serde_json::Error> {
    let mut document: Value = ASYNCAPI.parse()?;
    let (protocol, host) = match url.split_once("://") {
        Some(("https", host)) => ("wss", host),
        Some((_, host)) => ("ws", host),
        None => ("ws", url),
    };
    let server = &mut document["servers"]["service"];
    server["host"] = host.into();
    server["protocol"] = protocol.into();
    Ok(document)
}

/// Links to the other documents of this service (RFC 9727, section 4.2).
fn catalog(url: &str) -> Value {
    let link = |path: &str, kind: &str| json!([{"href": format!("{url}{path}"), "type": kind}]);
    json!({"linkset": [{
        "anchor": format!("{url}/"),
        "service-desc": [
            {"href": format!("{url}/openapi.json"), "type": "application/openapi+json"},
            {"href": format!("{url}/asyncapi.json"), "type": "application/vnd.aai.asyncapi+json"},
        ],
        "service-doc": link("/llms.txt", "text/plain"),
        "service-meta": link("/version", JSON),
        "status": link("/readyz", JSON),
    }]})
}

routes! { pub static ROUTES: Discovery, openapi;
    GET "/" => get_index { Public }
    GET "/llms.txt" => get_llms { Public }
    GET "/skill.md" => get_skill { Public }
    GET "/.well-known/x402" => get_x402 { Public }
    GET "/.well-known/api-catalog" => get_api_catalog { Public }
    GET "/asyncapi.json" => get_asyncapi { Public }
}

pub fn router(discovery: Discovery) -> Router {
    ROUTES.router(discovery)
}

fn page(kind: &'static str, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn index(url: &str) -> Value {
    let links = LINKS.map(|(path, name, _)| (name.to_owned(), Value::from(format!("{url}{path}"))));
    let links: serde_json::Map<String, Value> = links.into_iter().collect();
    json!({"service": "Purser", "links": links})
}

/// Read the links of the service
///
/// Links to the guide, the API descriptions and the prices. A page for browsers, JSON for other clients.
#[cfg_attr(feature = "documents", utoipa::path(get, path = "/", operation_id = "getFrontPage", tag = "Service",
    responses((status = 200, description = "`service` and `links`, an address each by its name; a page where `Accept` names `text/html`.",
        content((FrontPage = "application/json"), (String = "text/html"))))))]
async fn get_index(State(discovery): State<Discovery>, headers: HeaderMap) -> Response {
    let mut response = if accepts(&headers, "text/html") {
        discovery.page.render()
    } else {
        page(JSON, discovery.documents.index)
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    response
}

/// Body of `/`.
#[cfg(feature = "documents")]
#[derive(serde::Serialize, utoipa::ToSchema)]
struct FrontPage {
    /// `Purser`, the name of the service.
    service: &'static str,
    /// URLs by name: `guide`, `skill`, `pricing`, `countries`, `openapi`, `asyncapi`, `version`, `status`.
    links: std::collections::BTreeMap<String, String>,
}

/// Read the guide for language models
///
/// Every route and its purpose, in plain text.
#[cfg_attr(feature = "documents", utoipa::path(get, path = "/llms.txt", operation_id = "getLlmsTxt", tag = "Service",
    responses((status = 200, description = "Markdown.", body = String, content_type = "text/plain"))))]
async fn get_llms(State(Discovery { documents, .. }): State<Discovery>) -> Response {
    page(TEXT, documents.llms)
}

/// Read the skill for agents
///
/// How to pay, sign in and follow a purchase, step by step.
#[cfg_attr(feature = "documents", utoipa::path(get, path = "/skill.md", operation_id = "getSkill", tag = "Service",
    responses((status = 200, description = "Markdown with a front matter.", body = String, content_type = "text/markdown"))))]
async fn get_skill(State(Discovery { documents, .. }): State<Discovery>) -> Response {
    page(MARKDOWN, documents.skill)
}

/// List the paid resources
///
/// Each paid route as a URL that answers 402.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/.well-known/x402", operation_id = "listX402Resources", tag = "Service",
    responses((status = 200, description = "`version` 1, `resources` and `instructions`.", body = inline(X402Resources)))))]
async fn get_x402(State(Discovery { documents, .. }): State<Discovery>) -> Response {
    page(JSON, documents.x402)
}

/// Read the catalog of API descriptions
///
/// A catalog by RFC 9727. HEAD answers with the link to it.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/.well-known/api-catalog", operation_id = "getApiCatalog", tag = "Service",
    responses((status = 200, description = "A link set (RFC 9264).", body = Value, content_type = "application/linkset+json"))))]
async fn get_api_catalog(State(Discovery { documents, .. }): State<Discovery>) -> Response {
    let mut response = page(LINKSET, documents.catalog);
    let link = HeaderValue::from_static("</.well-known/api-catalog>; rel=\"api-catalog\"");
    response.headers_mut().insert(LINK, link);
    response
}

/// Read the AsyncAPI document
///
/// Messages of `GET /stream` and the event types.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/asyncapi.json", operation_id = "getAsyncApi", tag = "Service",
    responses((status = 200, description = "AsyncAPI 3.0.", body = Value))))]
async fn get_asyncapi(State(Discovery { documents, .. }): State<Discovery>) -> Response {
    page(JSON, documents.asyncapi)
}

/// Body of `/.well-known/x402`.
#[cfg(feature = "documents")]
#[derive(serde::Serialize, utoipa::ToSchema)]
struct X402Resources {
    /// Version of this format, 1.
    version: u32,
    /// One URL per paid route, with an example query.
    resources: Vec<String>,
    /// What to know before calling one.
    instructions: &'static str,
}
