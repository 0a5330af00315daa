//! `GET /openapi.json`: generated from the handlers. What depends on settings (prices of paid operations, the
//! service's address) is added here, from the same tables the handlers use.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use super::json as answer;
use crate::config::Config;
use purser_actors::id::Network;

const CHALLENGE: &str = "Without a payment: the challenges (body and PAYMENT-REQUIRED of x402, WWW-Authenticate of MPP); \
    nothing is charged. With `success: false`: the payment could not settle; nothing is charged so far, and what lands late is credited.";

/// Operations of this crate's own routes; those of other rooms are merged in by [`document`].
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Purser",
        description = "Financial products for software agents, paid by x402 or MPP in USDC."
    ),
    paths(
        super::pricing::get_pricing,
        super::pricing::get_supported_countries,
        super::version::get_version,
        super::health::get_healthz,
        super::health::get_readyz,
        super::events::get_events,
        super::events::get_stream,
        get_openapi,
    ),
    components(schemas(super::shapes::Refusal, super::shapes::CallableRefusal))
)]
struct Front;

/// Refusals that the front gives on any operation, before or around its handler.
const ANYWHERE: [(&str, &str); 8] = [
    ("400", "The request is malformed."),
    ("408", "The body did not arrive in time."),
    ("413", "The body is too large."),
    ("414", "The URL is too long."),
    ("429", "Too many requests."),
    ("431", "The headers are too large."),
    ("500", "Something failed on our side."),
    (
        "503",
        "Not now. This call charged nothing unless the code is `timeout`; what an earlier one did with the same payment stands.",
    ),
];

/// The whole document. `rooms` are the documents of the other areas.
///
/// # Errors
/// Never for documents that utoipa made.
pub fn document(
    config: &Config,
    public_url: &str,
    rooms: Vec<utoipa::openapi::OpenApi>,
) -> Result<Value, serde_json::Error> {
    let mut api = Front::openapi();
    for room in rooms {
        api.merge(room);
    }
    api.info.version = super::headers::API_VERSION.to_owned();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    api.components
        .get_or_insert_default()
        .add_security_scheme("bearer", bearer);
    let mut document = serde_json::to_value(&api)?;
    describe_refusals(&mut document);
    describe_callables(&mut document);
    for retirement in &config.versions.retiring {
        let methods = document["paths"].get_mut(&retirement.route);
        for operation in methods
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(|m| m.values_mut())
        {
            operation["deprecated"] = true.into();
        }
    }
    document["servers"] = json!([{ "url": public_url }]);
    document["x-service-info"] = json!({ "categories": ["payments", "cards"], "docs": { "homepage": public_url } });
    for (name, product) in config.products.all() {
        // Only what a handler documents is an operation; the price list names the rest.
        let Some(operation) = document["paths"].get_mut(&product.route).and_then(|p| p.get_mut("get")) else {
            continue;
        };
        operation["x-payment-info"] = payment_info(config, name, product);
        describe_payment(operation);
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
    Ok(document)
}

/// What every paid operation has: two ways to pay, and the headers of both.
fn describe_payment(operation: &mut Value) {
    let header = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    operation["security"] = json!([{}, {"x402": []}, {"mpp": []}]);
    let Some(responses) = operation["responses"].as_object_mut() else {
        return;
    };
    let needed = responses.entry("402").or_insert(json!({ "description": CHALLENGE }));
    needed["headers"] = json!({
        "PAYMENT-REQUIRED": header("What is wanted, for x402. Not with `success: false`."),
        "WWW-Authenticate": header("What is wanted, for MPP. Not with `success: false`."),
        "PAYMENT-RESPONSE": header("With `success: false`: what became of the payment."),
    });
    if let Some(paid) = responses.get_mut("200") {
        paid["headers"] = json!({
            "PAYMENT-RESPONSE": header("What became of the payment, for x402; X-PAYMENT-RESPONSE is the same."),
            "Payment-Receipt": header("What became of the payment, for MPP, if it was paid so."),
        });
    }
}

/// Every operation's refusals have the one body, and some can come from anywhere.
pub(super) fn describe_refusals(document: &mut Value) {
    let schema = json!({"$ref": "#/components/schemas/Refusal"});
    let content = json!({"application/json": {"schema": schema}, "application/problem+json": {"schema": schema}});
    let paths = document["paths"]
        .as_object_mut()
        .into_iter()
        .flat_map(|paths| paths.values_mut());
    let operations = paths
        .filter_map(Value::as_object_mut)
        .flat_map(|path| path.values_mut());
    for operation in operations {
        let is_page = operation["tags"][0] == "Page";
        let Some(responses) = operation["responses"].as_object_mut() else {
            continue;
        };
        for (status, description) in ANYWHERE {
            responses
                .entry(status)
                .or_insert_with(|| json!({"description": description}));
        }
        for (status, response) in responses {
            if !matches!(status.as_bytes().first(), Some(b'4' | b'5')) {
                continue;
            }
            if response.get("content").is_none() {
                response["content"] = content.clone();
                // A form that a browser sent is refused with a page.
                if is_page {
                    response["content"]["text/html"] = json!({"schema": {"type": "string"}});
                }
            }
            // A 402 has members of its own; asked for by name, or to an MPP credential, it is a problem document all the same.
            if let Some(body) = response["content"].get("application/json").cloned() {
                response["content"]["application/problem+json"] = body;
            }
        }
    }
}

/// Wraps what handlers of callable functions describe: the inside of `data`, where `userId` may be too, and of `result`.
fn describe_callables(document: &mut Value) {
    let of = |name: &str, inside: &Value| {
        let properties: Value = [(name.to_owned(), inside.clone())].into_iter().collect();
        json!({"application/json": {"schema": {"type": "object", "required": [name], "properties": properties}}})
    };
    for name in super::callable::NAMES {
        let Some(operation) = document["paths"].get_mut(*name).and_then(|path| path.get_mut("post")) else {
            continue;
        };
        let asked = &mut operation["requestBody"];
        let mut data = asked["content"]["application/json"]["schema"].take();
        if data.is_null() {
            data = json!({"type": "object"});
        }
        data["properties"]["userId"] = json!({"type": "string", "description": "The caller's own, if given."});
        *asked = json!({"required": true, "content": of("data", &data)});
        let Some(responses) = operation["responses"].as_object_mut() else {
            continue;
        };
        for (status, response) in responses {
            if status == "200" {
                let told = response["content"]["application/json"]["schema"].take();
                response["content"] = of("result", &told);
            } else {
                let refusal = |name: &str| json!({"schema": {"$ref": format!("#/components/schemas/{name}")}});
                response["content"] = json!({
                    "application/json": refusal("CallableRefusal"),
                    "application/problem+json": refusal("Refusal"),
                });
            }
        }
    }
}

fn payment_info(config: &Config, name: &str, product: &crate::config::Product) -> Value {
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
        "minPrice": price(product, product.min),
        "maxPrice": price(product, product.max),
    })
}

/// What the caller pays for an amount, as decimal text.
fn price(product: &crate::config::Product, amount: purser_actors::money::Cents) -> String {
    product.fee().total(amount).unwrap_or(amount).to_string()
}

/// The first 12 hex digits of the documents' hash: changes whenever the prose does.
pub fn docs_version(document: &Value, others: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    // serde_json's maps are ordered by key, so the same document is the same text; the address is not prose.
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
struct Page(Bytes);

/// The route.
pub fn router(document: &Value) -> Router {
    let page = Page(document.to_string().into());
    Router::new().route("/openapi.json", get(get_openapi).with_state(page))
}

/// This document
#[utoipa::path(get, path = "/openapi.json", tag = "Free",
    responses((status = 200, description = "OpenAPI 3.1.", body = serde_json::Value)))]
async fn get_openapi(State(page): State<Page>) -> Response {
    answer::bytes_as_json(page.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::Sources;

    #[utoipa::path(get, path = "/get-card", responses((status = 200, description = "A card.")))]
    async fn get_card() {}

    #[derive(OpenApi)]
    #[openapi(paths(get_card))]
    struct Room;

    // Aim: a paid operation carries its prices and its 402; a free one carries neither.
    #[test]
    fn paid_operations_name_their_price() {
        drop(Router::<()>::new().route("/get-card", get(get_card)));
        let config = Config::load(&Sources::default()).unwrap();
        let document = document(&config, "https://pay.example", vec![Room::openapi()]).unwrap();
        let card = &document["paths"]["/get-card"]["get"];
        let info = &card["x-payment-info"];
        assert_eq!((&info["minPrice"], &info["maxPrice"]), (&"5".into(), &"1000".into()));
        assert_eq!(info["offers"].as_array().unwrap().len(), 3);
        assert!(card["responses"]["402"]["description"].is_string() && card["responses"]["200"].is_object());
        assert!(card["responses"]["402"]["headers"]["WWW-Authenticate"].is_object());
        for way in card["security"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|way| way.as_object().unwrap().keys())
        {
            assert!(document["components"]["securitySchemes"][way].is_object(), "{way}");
        }
        let free = &document["paths"]["/get-pricing"]["get"];
        assert!(free.get("x-payment-info").is_none() && free["responses"].get("402").is_none());
        assert!(free.get("security").is_none());
    }
}
