//! `GET /openapi.json` and, in the sandbox, `GET /sandbox/openapi.json`: generated from the handlers. Values from the
//! settings (prices, the service's URL) are added here, from the same tables that the handlers use. `responses.rs`
//! completes the responses of every operation, `examples.rs` adds examples, and `parts.rs` divides the operations.

mod discriminators;
pub(super) mod event_schemas;
mod examples;
pub(super) mod flattened;
pub(super) mod parts;
mod responses;
mod schema_example;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

pub use parts::{for_clients, for_sandbox};
pub(super) use responses::complete;

use super::route::routes;
use super::{json as answer, routes};
use crate::config::Config;
use purser_actors::id::Network;

/// What no handler describes. [`document`] merges the operations.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Purser",
        description = "Financial products for software agents, paid by x402 or MPP in USDC."
    ),
    components(schemas(super::schemas::Error, super::schemas::CallableError))
)]
struct FrontApiDoc;

/// All operations in one document, before it is divided. `modules` are the documents of the other modules, and `event_types` all types of an account's
/// events.
///
/// # Errors
/// Never for documents that utoipa generated.
pub fn document(
    config: &Config,
    public_url: &str,
    modules: Vec<utoipa::openapi::OpenApi>,
    event_types: &[String],
) -> Result<Value, serde_json::Error> {
    let mut api = FrontApiDoc::openapi();
    for module in routes::documents(routes::front()).chain(modules) {
        api.merge(module);
    }
    api.merge(event_schemas::EventResources::openapi());
    api.info.version = super::headers::API_VERSION.to_owned();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    api.components
        .get_or_insert_default()
        .add_security_scheme("bearer", bearer);
    let mut document = serde_json::to_value(&api)?;
    responses::patch(&mut document);
    event_schemas::add(&mut document["components"]["schemas"], event_types);
    discriminators::add(&mut document["components"]["schemas"]);
    for retirement in &config.versions.deprecated_routes {
        let methods = document["paths"].get_mut(&retirement.route);
        for operation in methods
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(|m| m.values_mut())
        {
            operation["deprecated"] = true.into();
        }
    }
    for (.., operation) in responses::operations(&mut document) {
        if operation.get("security").is_none() {
            operation["security"] = json!([]);
        }
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            responses::remove_null(&mut parameter["schema"]);
        }
    }
    document["servers"] = json!([{ "url": public_url }]);
    document["x-service-info"] = json!({ "categories": ["payments", "cards"], "docs": { "homepage": public_url } });
    for (name, product) in config.products.all() {
        // Only documented handlers are operations. The price list also names other routes.
        let Some(operation) = document["paths"].get_mut(&product.route).and_then(|p| p.get_mut("get")) else {
            continue;
        };
        operation["x-payment-info"] = payment_info(config, name, product);
        // A payment is no credential: who pays is who signed.
        operation["security"] = json!([]);
    }
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
    let retired: Vec<&str> = config
        .versions
        .deprecated_routes
        .iter()
        .map(|r| r.route.as_str())
        .collect();
    responses::complete(&mut document, &retired);
    examples::add(&mut document);
    Ok(document)
}

fn payment_info(config: &Config, name: &str, product: &crate::config::ProductConfig) -> Value {
    let offer = |method: &str, network: Network| {
        json!({
            "intent": "charge",
            "method": method,
            "amount": null,
            "currency": "USDC",
            "description": format!("{name} on {}, paid to {}", network.caip2(), config.payment.pay_to.text(network)),
        })
    };
    json!({
        "offers": [offer("x402", Network::Base), offer("x402", Network::Solana), offer("evm", Network::Base)],
        "protocols": [{ "x402": {} }, { "mpp": { "method": "evm", "intent": "charge", "currency": "USDC" } }],
        "pricingMode": "range",
        "minPrice": price(product, product.min_amount),
        "maxPrice": price(product, product.max_amount),
    })
}

/// The price of an amount, as decimal text.
fn price(product: &crate::config::ProductConfig, amount: purser_actors::money::Cents) -> String {
    product.fee().total(amount).unwrap_or(amount).to_string()
}

/// The first 12 hex digits of the documents' hash. Changes with every change of their text.
pub fn docs_version(document: &Value, others: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    // serde_json's maps are ordered by key, so equal documents serialize to the same text. The server URL is left out.
    let mut prose = document.clone();
    prose["servers"] = Value::Null;
    prose["x-service-info"] = Value::Null;
    hash.update(prose.to_string());
    for text in others {
        hash.update(text);
    }
    hex::encode(hash.finalize())[..12].to_owned()
}

#[derive(Clone)]
pub(super) struct PageApiDoc(Bytes);

routes! { pub(super) static ROUTES: PageApiDoc, openapi;
    GET "/openapi.json" => get_openapi { Public }
}

routes! { pub(super) static SANDBOX: PageApiDoc, openapi;
    GET "/sandbox/openapi.json" => get_sandbox_openapi { Sandbox }
}

/// Serves the document of the clients' operations.
pub fn router(document: &Value) -> Router {
    let page = PageApiDoc(document.to_string().into());
    ROUTES.router(page)
}

/// Serves the document of the other operations, in the sandbox.
pub fn sandbox_router(document: &Value) -> Router {
    let page = PageApiDoc(document.to_string().into());
    SANDBOX.router(page)
}

/// Read the OpenAPI 3.1 document
#[utoipa::path(get, path = "/openapi.json", operation_id = "getOpenApi", tag = "Service",
    responses((status = 200, description = "OpenAPI 3.1.", body = serde_json::Value)))]
async fn get_openapi(State(page): State<PageApiDoc>) -> Response {
    answer::bytes_as_json(page.0)
}

/// Read the OpenAPI 3.1 document of the sandbox
///
/// Also describes the account owner's pages and the providers' callbacks.
#[utoipa::path(get, path = "/sandbox/openapi.json", operation_id = "getSandboxOpenApi", tag = "Sandbox",
    responses((status = 200, description = "OpenAPI 3.1.", body = serde_json::Value)))]
pub(super) async fn get_sandbox_openapi(State(page): State<PageApiDoc>) -> Response {
    answer::bytes_as_json(page.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::routing::get;
    use purser_actors::engine::event_types;

    use super::*;
    use crate::config::ConfigSources;

    #[utoipa::path(get, path = "/get-card", operation_id = "buyCard", responses((status = 200, description = "A card."),
        (status = 402, description = "Its price.", body = serde_json::Value)))]
    async fn get_card() {}

    #[derive(OpenApi)]
    #[openapi(paths(get_card))]
    struct ModuleApiDoc;

    // Checks: a paid operation has its prices and a 402; a free one has neither.
    #[test]
    fn paid_operations_have_prices_and_402() {
        drop(Router::<()>::new().route("/get-card", get(get_card)));
        let config = Config::load(&ConfigSources::default()).unwrap();
        let document = document(
            &config,
            "https://pay.example",
            vec![ModuleApiDoc::openapi()],
            &event_types(),
        )
        .unwrap();
        let card = &document["paths"]["/get-card"]["get"];
        let info = &card["x-payment-info"];
        assert_eq!((&info["minPrice"], &info["maxPrice"]), (&"5".into(), &"1000".into()));
        assert_eq!(info["offers"].as_array().unwrap().len(), 3);
        assert!(card["responses"]["402"]["description"].is_string() && card["responses"]["200"].is_object());
        assert!(card["responses"]["402"]["headers"]["WWW-Authenticate"].is_object());
        assert_eq!(card["security"], json!([]));
        let free = &document["paths"]["/get-pricing"]["get"];
        assert!(free.get("x-payment-info").is_none() && free["responses"].get("402").is_none());
        assert_eq!(free["security"], json!([]));
    }
}
