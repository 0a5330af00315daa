//! `application/problem+json` (RFC 9457) for clients that accept it explicitly.

use std::collections::BTreeSet;

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, send};

const PROBLEM: &str = "application/problem+json";
const CARD: &str = "/get-card?amount=5";

/// An error with the members of RFC 9457 beside ours.
fn assert_problem(answer: &Response, called: &str) {
    assert_eq!(
        answer.header("content-type"),
        Some(PROBLEM),
        "{called}: {}",
        answer.text
    );
    let (body, status) = (&answer.body, http::StatusCode::from_u16(answer.status).unwrap());
    assert_eq!(body["status"], answer.status, "{called}");
    assert_eq!(body["title"].as_str(), status.canonical_reason(), "{called}");
    assert_eq!(
        (body["type"].as_str(), &body["detail"]),
        (Some("about:blank"), &body["error"]),
        "{called}"
    );
    assert_eq!(body["request_id"].as_str(), answer.header("request-id"), "{called}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_error_is_a_problem_document_on_request() {
    // Checks: each operation, called with nothing valid, with and without a token and with an unsupported method,
    // responds with a problem document that the OpenAPI document describes.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let document = site.document().await;
    let (mut statuses, mut met) = (BTreeSet::new(), 0);
    for (path, methods) in document["paths"].as_object().unwrap() {
        let own = methods.as_object().unwrap().keys().map(|method| method.to_uppercase());
        for method in own.chain(["PATCH".to_owned()]) {
            for token in [None, Some(&token)] {
                let request = site.request(&method, path).header("accept", PROBLEM);
                let request = match token {
                    Some(token) => request.bearer_auth(token).header("idempotency-key", ""),
                    None => request,
                };
                // An invalid key and an invalid body, so that no route executes anything.
                let answer = send(request.body("nonsense")).await.unwrap();
                let is_page = answer
                    .header("content-type")
                    .is_some_and(|kind| kind.starts_with("text/html"));
                if answer.status < 400 || is_page {
                    continue;
                }
                let called = format!("{method} {path}");
                match answer.status {
                    402 => assert_eq!(answer.header("content-type"), Some(PROBLEM), "{called}"),
                    _ => assert_problem(&answer, &called),
                }
                statuses.insert(answer.status);
                met += 1;
            }
        }
    }
    assert!(met > 200, "{met}");
    assert!(
        [400, 401, 402, 405].iter().all(|status| statuses.contains(status)),
        "{statuses:?}"
    );
    for (path, status) in [("/nowhere", 404), (&*format!("/?{}", "x".repeat(9_000)), 414)] {
        let answer = site.get(path, &[("accept", PROBLEM)]).await;
        assert_eq!(answer.status, status);
        assert_problem(&answer, path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn problem_json_402_keeps_challenge_members() {
    // Checks: challenge, failed settlement and sign-in keep their members under the requested media type. Other clients
    // get plain JSON, which stock clients need. A replay uses the media type of the current request.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let accept = ("accept", PROBLEM);
    let challenge = site.get(CARD, &[accept]).await;
    assert_eq!(
        (challenge.status, challenge.header("content-type")),
        (402, Some(PROBLEM))
    );
    assert!(challenge.header("payment-required").is_some() && challenge.header("www-authenticate").is_some());
    assert_eq!(challenge.body["accepts"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&challenge.body["status"], challenge.str("title")),
        (&json!(402), Some("Payment Required"))
    );
    assert_eq!(
        site.get(CARD, &[]).await.header("content-type"),
        Some("application/json")
    );

    site.chain_fault(json!({"fault": "insufficient", "wallet": agent.address()}))
        .await;
    let payment = agent.payment(&site, CARD).await;
    let failed = site.get(CARD, &[accept, ("payment-signature", &payment)]).await;
    assert_eq!((failed.status, &failed.body["success"]), (402, &json!(false)));
    assert_eq!(failed.header("content-type"), Some(PROBLEM));

    let sign_in = site.get("/auth", &[accept]).await;
    assert_eq!((sign_in.status, sign_in.header("content-type")), (402, Some(PROBLEM)));
    assert_eq!(sign_in.code(), "sign_in_required");

    let token = agent.token(&site).await;
    let withdraw = async |accept: &str| {
        let request = site
            .request("POST", "/withdraw")
            .bearer_auth(&token)
            .header("accept", accept);
        let request = request.header("idempotency-key", "much");
        send(request.body(json!({"amount": 7}).to_string())).await.unwrap()
    };
    let first = withdraw("application/json").await;
    assert_eq!(
        (first.status, first.header("content-type")),
        (409, Some("application/json"))
    );
    let again = withdraw(PROBLEM).await;
    assert_problem(&again, "a remembered refusal");
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
}
