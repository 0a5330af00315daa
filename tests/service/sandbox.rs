//! The sandbox controls.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::ServiceClient;

#[tokio::test(flavor = "multi_thread")]
async fn invalid_sandbox_request_names_the_field_and_changes_nothing() {
    // Checks: an invalid POST is answered with the field and the expected value, and no fault is set afterwards.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (path, body, code, param) in [
        ("/sandbox/chain", json!({}), "parameter_missing", "fault"),
        ("/sandbox/chain", json!({"fault": "sulk"}), "parameter_invalid", "fault"),
        (
            "/sandbox/chain",
            json!({"fault": "slow", "network": "eth"}),
            "parameter_invalid",
            "network",
        ),
        (
            "/sandbox/chain",
            json!({"fault": "slow", "wallet": "0x12"}),
            "parameter_invalid",
            "wallet",
        ),
        (
            "/sandbox/issuer",
            json!({"fault": "slow", "delay_ms": "soon"}),
            "parameter_invalid",
            "delay_ms",
        ),
        (
            "/sandbox/issuer",
            json!({"fault": "slow", "millis": 5}),
            "parameter_unrecognized",
            "millis",
        ),
        (
            "/sandbox/faucet",
            json!({"wallet": "0x12", "amount": 5}),
            "parameter_invalid",
            "amount",
        ),
        (
            "/sandbox/freeze",
            json!({"message": "Stop."}),
            "parameter_missing",
            "wallet",
        ),
    ] {
        let refused = site.post(path, &body).await;
        let outcome = (refused.status, refused.code(), refused.str("param"));
        assert_eq!(outcome, (400, code, Some(param)), "{body}: {}", refused.text);
    }
    let state = site.get("/sandbox", &[]).await.body;
    let waiting = |part: &Value| part["faults"].as_array().unwrap().len();
    let chains = state["chains"].as_array().unwrap();
    assert_eq!(chains.iter().map(waiting).sum::<usize>() + waiting(&state["issuer"]), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_routes_pages_and_callbacks_have_their_own_document() {
    // Checks: /openapi.json has only what clients call, /sandbox/openapi.json the rest: every sandbox route with the
    // fields and values of its body, the pages and the callbacks. Each document defines all that it refers to, declares
    // its tags, and contains no unused schema.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let others = ["Account pages", "Provider callbacks", "Sandbox"];
    for (path, is_other) in [("/openapi.json", false), ("/sandbox/openapi.json", true)] {
        let document = site.get(path, &[]).await.body;
        let declared: Vec<&Value> = document["tags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tag| &tag["name"])
            .collect();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for operation in methods.as_object().unwrap().values() {
                let tag = &operation["tags"][0];
                assert!(declared.contains(&tag), "{path}: {tag}");
                assert_eq!(others.iter().any(|other| tag == other), is_other, "{path}");
                assert!(operation["security"].is_array(), "{path}");
            }
        }
        let text = document.to_string();
        let references = text
            .split("\"$ref\":\"#")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap());
        for reference in references {
            assert!(document.pointer(reference).is_some(), "{path}: {reference}");
        }
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            assert!(
                text.contains(&format!("\"#/components/schemas/{name}\"")),
                "{path}: {name}"
            );
        }
    }
    let document = site.get("/sandbox/openapi.json", &[]).await.body;
    let paths = document["paths"].as_object().unwrap();
    for route in purser::http::routes::PATHS
        .iter()
        .filter(|route| route.starts_with("/sandbox"))
    {
        assert!(paths.contains_key(*route), "{route} is not in the document");
    }
    let chain = &paths["/sandbox/chain"]["post"]["requestBody"]["content"]["application/json"]["schema"];
    let words = chain["properties"]["fault"].to_string();
    assert!(
        words.contains("fail_then_land") && words.contains("lose_response"),
        "{chain:#}"
    );
    assert_eq!(chain["required"], json!(["fault"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn seller_gets_503_when_chain_does_not_answer() {
    // Checks: a payment that a seller submits while the chain is unreachable gets 503 and moves nothing. The same
    // payment settles later.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let payment = Agent::new(Network::Base).payment(&site, "/get-card?amount=5").await;
    let taken = json!({"payment": payment});
    site.chain_fault(json!({"fault": "unreachable", "network": "base"}))
        .await;
    let away = site.post("/sandbox/base", &taken).await;
    assert_eq!((away.status, away.code()), (503, "chain_unavailable"), "{}", away.text);
    assert!(site.transfers().await.is_empty());
    assert_eq!(site.post("/sandbox/base", &taken).await.body["success"], true);
    assert_eq!(site.transfers().await.len(), 1);
}
