//! Generates the API documents of `docs/` from the handlers. `responses.rs` completes the responses of every operation,
//! `examples.rs` adds examples, and `parts.rs` divides the operations into two documents.

use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use super::super::discovery::asyncapi;
use super::super::operator::api_doc;
use super::super::route::Access;
use super::super::{discovery, headers, routes, sandbox};
use super::{discriminators, event_schemas, examples, flattened, parts, responses};

/// What no handler describes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Purser",
        description = "Financial products for software agents, paid by x402 or MPP in USDC."
    ),
    components(schemas(super::super::schemas::Error, super::super::schemas::CallableError))
)]
struct FrontApiDoc;

/// Address of the service in the committed documents. The program replaces it by its own.
const EXAMPLE_URL: &str = "https://pay.example";

/// Routes that make login links, which a session of a page does not.
const MAKES_LOGIN_LINK: [&str; 2] = ["/get-auth-link", "/get-kyc-link"];

/// A file of `docs/`.
pub struct GeneratedFile {
    /// Relative to the root of the repository.
    pub path: &'static str,
    /// A member a line, with keys in order.
    pub text: String,
}

impl GeneratedFile {
    fn new(path: &'static str, document: &Value) -> Result<Self, serde_json::Error> {
        let mut text = Vec::new();
        // The indentation is narrow because the program contains the text.
        document.serialize(&mut Serializer::with_formatter(
            &mut text,
            PrettyFormatter::with_indent(b" "),
        ))?;
        text.push(b'\n');
        let text = String::from_utf8(text).map_err(serde::ser::Error::custom)?;
        Ok(Self { path, text })
    }
}

/// All documents, as the handlers and their types are now.
///
/// # Errors
/// Never for documents that utoipa generated.
pub fn files() -> Result<[GeneratedFile; 4], serde_json::Error> {
    let types = purser_actors::engine::event_types();
    let document = document(&types)?;
    Ok([
        GeneratedFile::new("docs/openapi.json", &parts::for_clients(&document))?,
        GeneratedFile::new("docs/sandbox.openapi.json", &parts::for_sandbox(&document))?,
        GeneratedFile::new("docs/asyncapi.json", &asyncapi::document(&document, &types))?,
        GeneratedFile::new("docs/admin.openapi.json", &api_doc::document())?,
    ])
}

/// Adds the session cookie to the credentials of an operation: in place of a token, or the only one of account pages.
fn add_cookie(path: &str, method: &str, operation: &mut Value) {
    let mut routes = routes::public().filter(|route| route.access == Access::Owner && route.path == path);
    let of_owner = routes.any(|route| route.method.eq_ignore_ascii_case(method));
    let Some(ways) = operation["security"].as_array_mut() else {
        return;
    };
    let of_token = ways.iter().any(|way| way.get("bearer").is_some());
    if (of_token && !MAKES_LOGIN_LINK.contains(&path)) || (of_owner && ways.is_empty()) {
        ways.push(json!({ "cookieAuth": [] }));
    }
}

/// All operations in one document, before it is divided. `event_types` are all types of an account's events.
fn document(event_types: &[String]) -> Result<Value, serde_json::Error> {
    let mut api = FrontApiDoc::openapi();
    let listings = routes::front().into_iter().chain(routes::app());
    let listings = listings.chain([discovery::ROUTES.listing]).chain(sandbox::listings());
    for module in routes::documents(listings) {
        api.merge(module);
    }
    api.merge(event_schemas::EventResources::openapi());
    api.info.version = headers::API_VERSION.to_owned();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    api.components
        .get_or_insert_default()
        .add_security_scheme("bearer", bearer);
    let mut document = serde_json::to_value(&api)?;
    responses::patch(&mut document);
    flattened::merge(&mut document);
    event_schemas::add(&mut document["components"]["schemas"], event_types);
    discriminators::add(&mut document["components"]["schemas"]);
    for (path, method, operation) in responses::operations(&mut document) {
        // A payment is no credential: who pays is who signed.
        if operation.get("security").is_none() || responses::is_paid(path) {
            operation["security"] = json!([]);
        }
        add_cookie(path, method, operation);
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            responses::remove_null(&mut parameter["schema"]);
        }
    }
    document["servers"] = json!([{ "url": EXAMPLE_URL }]);
    document["components"]["securitySchemes"]["cookieAuth"] = json!({
        "type": "apiKey", "in": "cookie", "name": "__Host-purser",
        "description": "The session of the service's own pages (`purser` on loopback without TLS). It counts only in requests of \
            these pages, without `Authorization`: 403 `origin_not_allowed` for another origin. A session that a payment or an \
            API key opened only reads: 403 `sign_in_required`.",
    });
    document["components"]["securitySchemes"]["x402"] = json!({
        "type": "apiKey", "in": "header", "name": "PAYMENT-SIGNATURE",
        "description": "An x402 v2 payment; X-PAYMENT is read too, and v1 in either. With an id of its own in \
            `extensions[\"payment-identifier\"].info.id` (16 to 128 letters, digits, - and _) the purchase is made once for 24 \
            hours, whichever payment comes: 400 `payment_identifier_invalid`, and 409 `payment_identifier_reused` for another \
            request.",
    });
    document["components"]["securitySchemes"]["api_key"] = json!({
        "type": "http", "scheme": "bearer",
        "description": "An API key, for agentAuth alone, which exchanges it for tokens.",
    });
    document["components"]["securitySchemes"]["mpp"] = json!({
        "type": "http", "scheme": "Payment",
        "description": "A credential of the Machine Payments Protocol: method evm, intent charge, on Base.",
    });
    responses::complete(&mut document);
    examples::add(&mut document);
    Ok(document)
}
