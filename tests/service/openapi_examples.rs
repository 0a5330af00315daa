//! The examples of `/openapi.json`: they exist wherever a reader expects one.

use serde_json::Value;

use purser_actors::id::Network;

use super::agent::Agent;
use super::conformance::Conformance;
use super::host::Host;
use super::http::{ServiceClient, send};

/// Examples of a media type, its own or referenced, by name.
fn examples_of<'a>(document: &'a Value, media: &'a Value) -> Vec<(String, &'a Value)> {
    if let Some(example) = media.get("example") {
        return vec![("example".to_owned(), example)];
    }
    let named = media["examples"].as_object().into_iter().flatten();
    let follow = |example: &'a Value| {
        let reference = example["$ref"]
            .as_str()
            .unwrap_or_else(|| panic!("not shared: {example}"));
        let found = document.pointer(reference.trim_start_matches('#'));
        &found.unwrap_or_else(|| panic!("no {reference}"))["value"]
    };
    named.map(|(name, example)| (name.clone(), follow(example))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_and_request_has_a_valid_example() {
    // Checks: Every status of every operation, in each media type, every JSON request body and every required parameter
    // has at least one example. Each matches its schema and has no other members.
    let service = Host::new().start();
    let document = ServiceClient::of(&service).document().await;
    let contract = Conformance::new(document);
    let document = &contract.document;
    let (mut wrong, mut held) = (Vec::new(), 0);
    let mut hold = |what: &str, media: &Value| {
        let examples = examples_of(document, media);
        if examples.is_empty() {
            wrong.push(format!("{what} has no example"));
        }
        for (name, example) in examples {
            held += 1;
            let found = contract.wrong(&media["schema"], example);
            wrong.extend(
                found
                    .into_iter()
                    .map(|found| format!("{what}, {name}: {found}: {example}")),
            );
        }
    };
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = format!("{method} {path}");
            if let Some(body) = operation["requestBody"]["content"].get("application/json") {
                hold(&format!("{name}: its body"), body);
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                if parameter["required"] == true {
                    hold(&format!("{name}: {}", parameter["name"]), parameter);
                }
            }
            for (status, response) in operation["responses"].as_object().unwrap() {
                let shared = response["$ref"]
                    .as_str()
                    .map(|shared| document.pointer(&shared[1..]).unwrap());
                let content = shared.unwrap_or(response)["content"].as_object();
                for (kind, media) in content.into_iter().flatten() {
                    // The same example as JSON, with the members of RFC 9457.
                    if kind == "application/problem+json" {
                        continue;
                    }
                    hold(&format!("{name} {status} {kind}"), media);
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(held > 1_000, "only {held} examples");
}

#[tokio::test(flavor = "multi_thread")]
async fn request_examples_are_never_malformed() {
    // Checks: An example sent unchanged by a signed-in wallet may name an unknown resource, but is never a 400. Sandbox
    // examples name resources that exist only in their own run.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let document = site.document().await;
    let (mut wrong, mut sent) = (Vec::new(), 0);
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if path.starts_with("/sandbox") {
                continue;
            }
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let query: Vec<(&str, String)> = parameters
                .filter(|parameter| parameter.get("example").is_some() && parameter["in"] == "query")
                .map(|parameter| {
                    let example = &parameter["example"];
                    let text = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
                    (parameter["name"].as_str().unwrap(), text)
                })
                .collect();
            let mut request = site.request(&method.to_uppercase(), path).query(&query);
            if let Some(example) = operation.pointer("/requestBody/content/application~1json/example") {
                request = request
                    .header("content-type", "application/json")
                    .body(example.to_string());
            }
            let answer = send(request.bearer_auth(&token)).await.unwrap();
            wrong.extend((answer.status == 400).then(|| format!("{method} {path}: {}", answer.text)));
            sent += 1;
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(sent > 80);
}

#[tokio::test(flavor = "multi_thread")]
async fn paid_operations_document_prices_and_responses_document_headers() {
    // Checks: Every route of the price list documents its payment. The documented headers match real responses.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let document = site.document().await;
    let prices = site.get("/get-pricing", &[]).await.body;
    for product in prices["products"].as_array().unwrap() {
        let operation = &document["paths"][product["route"].as_str().unwrap()]["get"];
        let info = &operation["x-payment-info"];
        assert_eq!(info["offers"].as_array().map(Vec::len), Some(3), "{product}");
        let headers = &operation["responses"]["402"]["headers"];
        for name in ["PAYMENT-REQUIRED", "WWW-Authenticate", "PAYMENT-RESPONSE"] {
            assert!(headers[name].is_object(), "{product} {name}");
        }
    }
    for path in [
        "/version",
        "/get-card?amount=5",
        "/get-card?amount=0",
        "/get-kyc-status",
        "/healthz",
    ] {
        let answer = site.get(path, &[]).await;
        let route = path.split('?').next().unwrap();
        let response = &document["paths"][route]["get"]["responses"][answer.status.to_string()];
        let named: Vec<&String> = response["headers"].as_object().unwrap().keys().collect();
        assert!(named.len() >= 7, "{path}: {named:?}");
        for name in named {
            let required = document["components"]["headers"][name]["required"] == true;
            assert!(
                answer.header(&name.to_lowercase()).is_some() || !required,
                "{path}: {name}"
            );
        }
    }
}
