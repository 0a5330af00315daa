//! `GET /openapi.json` and, in the sandbox, `GET /sandbox/openapi.json`. Both are generated from the handlers by tests
//! (`generation.rs`, under the feature `documents`) and committed. The program embeds the files, and adds at start what
//! depends on the settings: prices, the service's URL, deprecated routes.

#[cfg(feature = "documents")]
mod discriminators;
#[cfg(feature = "documents")]
pub(super) mod event_schemas;
#[cfg(feature = "documents")]
mod examples;
#[cfg(feature = "documents")]
pub(super) mod flattened;
#[cfg(feature = "documents")]
pub mod generation;
#[cfg(feature = "documents")]
pub(super) mod parts;
#[cfg(feature = "documents")]
pub(super) mod responses;
#[cfg(feature = "documents")]
mod schema_example;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use purser_actors::id::Network;
use purser_actors::money::Cents;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::json as answer;
use super::route::routes;
use crate::config::{Config, ProductConfig};

const CLIENTS: &str = include_str!("../../docs/openapi.json");
const SANDBOX_FILE: &str = include_str!("../../docs/sandbox.openapi.json");

/// Headers of responses of deprecated routes, with their meaning.
const DEPRECATION_HEADERS: [(&str, &str); 3] = [
    (
        "Deprecation",
        "`true`: the route is being retired; `Link` names its successor.",
    ),
    (
        "Link",
        "What takes the place of the route, as `rel=\"successor-version\"`.",
    ),
    ("Sunset", "When the route goes, once that is set (RFC 8594)."),
];

/// The documents of this service.
pub struct ApiDocuments {
    /// What clients call.
    pub clients: Value,
    /// Pages for the account owner's browser, notices of providers and, in the sandbox, its controls.
    pub others: Value,
}

impl ApiDocuments {
    /// # Errors
    /// Never: the embedded documents are valid.
    pub fn new(config: &Config, public_url: &str) -> Result<Self, serde_json::Error> {
        let mut documents = Self {
            clients: CLIENTS.parse()?,
            others: SANDBOX_FILE.parse()?,
        };
        for document in [&mut documents.clients, &mut documents.others] {
            document["servers"] = json!([{ "url": public_url }]);
            document["x-service-info"] =
                json!({ "categories": ["payments", "cards"], "docs": { "homepage": public_url } });
            for retirement in &config.versions.deprecated_routes {
                deprecate(document, &retirement.route);
            }
        }
        for (name, product) in config.products.all() {
            // The price list also names routes that are not documented.
            let path = documents.clients["paths"].get_mut(&product.route);
            if let Some(operation) = path.and_then(|path| path.get_mut("get")) {
                operation["x-payment-info"] = payment_info(config, name, product);
            }
        }
        if !config.is_sandbox() {
            remove_controls(&mut documents.others);
        }
        Ok(documents)
    }

    pub(super) fn all(&self) -> [&Value; 2] {
        [&self.clients, &self.others]
    }

    /// The first 12 hex digits of the documents' hash. Changes with every change of their text. `pages` are other texts.
    pub fn version(&self, pages: &[&[u8]]) -> String {
        let mut hash = Sha256::new();
        for document in self.all() {
            // serde_json's maps are ordered by key, so equal documents serialize to the same text. The server URL is left out.
            let mut prose = document.clone();
            prose["servers"] = Value::Null;
            prose["x-service-info"] = Value::Null;
            hash.update(prose.to_string());
        }
        for text in pages {
            hash.update(text);
        }
        hex::encode(hash.finalize())[..12].to_owned()
    }
}

/// Marks the operations of a deprecated route.
fn deprecate(document: &mut Value, route: &str) {
    let Some(operations) = document["paths"].get_mut(route).and_then(Value::as_object_mut) else {
        return;
    };
    for operation in operations.values_mut() {
        operation["deprecated"] = true.into();
        let responses = operation["responses"].as_object_mut().into_iter();
        // Errors common to all routes are described without these headers.
        for response in responses
            .flat_map(Map::values_mut)
            .filter(|response| response.get("$ref").is_none())
        {
            for (name, _) in DEPRECATION_HEADERS {
                response["headers"][name] = json!({ "$ref": format!("#/components/headers/{name}") });
            }
        }
    }
    for (name, description) in DEPRECATION_HEADERS {
        document["components"]["headers"][name] =
            json!({ "description": description, "required": false, "schema": { "type": "string" } });
    }
}

/// Removes the controls of the sandbox.
fn remove_controls(document: &mut Value) {
    for methods in document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Some(methods) = methods.as_object_mut() {
            methods.retain(|_, operation| operation["tags"][0] != "Sandbox");
        }
    }
}

fn payment_info(config: &Config, name: &str, product: &ProductConfig) -> Value {
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
fn price(product: &ProductConfig, amount: Cents) -> String {
    product.fee().total(amount).unwrap_or(amount).to_string()
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
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/openapi.json", operation_id = "getOpenApi", tag = "Service",
    responses((status = 200, description = "OpenAPI 3.1.", body = serde_json::Value))))]
async fn get_openapi(State(page): State<PageApiDoc>) -> Response {
    answer::bytes_as_json(page.0)
}

/// Read the OpenAPI 3.1 document of the sandbox
///
/// Also describes the account owner's pages and the providers' callbacks.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/sandbox/openapi.json", operation_id = "getSandboxOpenApi", tag = "Sandbox",
    responses((status = 200, description = "OpenAPI 3.1.", body = serde_json::Value))))]
pub(super) async fn get_sandbox_openapi(State(page): State<PageApiDoc>) -> Response {
    answer::bytes_as_json(page.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::ConfigSources;

    // Checks: a paid operation has its prices and a 402; a free one has neither.
    #[test]
    fn paid_operations_have_prices_and_402() {
        let config = Config::load(&ConfigSources::default()).unwrap();
        let document = ApiDocuments::new(&config, "https://pay.example").unwrap().clients;
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
