//! Snapshots of responses that are not precedence errors: purchases, unknown outcomes, failures and free routes.
//! `precedence.rs` has the others.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, until};
use super::precedence_table::{RecordedResponse, snapshot};
use super::request::{Request, recorded};

#[tokio::test(flavor = "multi_thread")]
async fn free_responses_match_snapshots() {
    // Checks: prices, countries, versions, health, keys, sandbox amounts and preflights, with one snapshot each.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    for (name, path) in [
        ("get-pricing", "/get-pricing"),
        ("get-supported-countries", "/get-supported-countries"),
        ("version", "/version"),
        ("healthz", "/healthz"),
        ("readyz", "/readyz"),
        ("jwks", "/.well-known/jwks.json"),
        ("sandbox-magic", "/sandbox/magic"),
    ] {
        let answer = Request::new("GET", path).send(&site).await;
        snapshot(&format!("{name}.200"), &answer);
    }
    let preflight = Request::new("OPTIONS", "/get-card").send(&site).await;
    snapshot("get-card.204-preflight", &preflight);
    let head = Request::new("HEAD", "/get-card").with("amount", "5").send(&site).await;
    snapshot("get-card.405-head", &head);
    let mut wrong = Request::new("POST", "/login");
    wrong.text("code=AAAAAAAAAAAAAAAAAAAAAA");
    let refused = wrong.send_and_check(&site).await;
    assert_eq!((refused.status, refused.header("set-cookie")), (403, None));
    assert_eq!(refused.header("content-type"), Some("text/html; charset=utf-8"));
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_and_statuses_match_the_snapshot() {
    // Checks: no route and no status appears or disappears without a change of the snapshot.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let document = site.document().await;
    let mut lines = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let statuses: Vec<&str> = operation["responses"]
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            lines.push(format!("{} {path}: {}", method.to_uppercase(), statuses.join(" ")));
        }
    }
    let list = RecordedResponse {
        status: 200,
        headers: Vec::new(),
        body: lines.join("\n"),
    };
    snapshot("openapi.200-operations", &list);
}

#[tokio::test(flavor = "multi_thread")]
async fn purchase_responses_match_snapshots() {
    // Checks: the first response with credentials, its replay without, a page, a card that is not ready, and the
    // response to other callers.
    let service = Host::new()
        .with("PURSER_SANDBOX__CARD_ISSUE_DELAY_MS", "600000")
        .start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let mut buy = Request::new("GET", "/get-card").with("amount", "5");
        buy.header("payment-signature", &agent.payment(&site, "/get-card?amount=5").await);
        let bought = buy.send_and_check(&site).await;
        snapshot(&format!("get-card.200-bought-{}", network.name()), &recorded(&bought));
        snapshot(
            &format!("get-card.200-replayed-{}", network.name()),
            &buy.send(&site).await,
        );
        let paged = buy.with("format", "html").send(&site).await;
        snapshot(&format!("get-card.200-html-{}", network.name()), &paged);

        let mut card = Request::new("GET", "/get-card-data").with("card_id", bought.card());
        card.bearer(bought.body["auth"]["id_token"].as_str().unwrap());
        snapshot("get-card-data.200-pending", &card.send(&site).await);
        let payment = bought.str("payment_id").unwrap();
        let stranger = Request::new("GET", "/get-payment").with("payment_id", payment);
        snapshot("get-payment.200-stranger", &stranger.send(&site).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_after_the_claim_match_snapshots() {
    // Checks: an unreachable chain, an unknown outcome, and a card that the issuer declines.
    let agent = Agent::new(Network::Base);
    let buy = async |site: &ServiceClient<'_>| {
        let mut ask = Request::new("GET", "/get-card").with("amount", "5");
        ask.header("payment-signature", &agent.payment(site, &ask.target()).await);
        ask.send_and_check(site).await
    };
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    site.chain_fault(json!({"fault": "unreachable", "times": 0})).await;
    snapshot("get-card.503-settlement_unavailable", &recorded(&buy(&site).await));
    drop(service);

    let service = Host::new()
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "300")
        .with("PURSER_ENGINE__RESPONSE_TIMEOUT_MS", "400")
        .start();
    let site = ServiceClient::of(&service);
    site.chain_fault(json!({"fault": "hold"})).await;
    let pending = buy(&site).await;
    snapshot("get-card.202-pending", &recorded(&pending));
    let payment = Request::new("GET", "/get-payment").with("payment_id", pending.str("payment_id").unwrap());
    let unknown = async || {
        let answer = payment.send_and_check(&site).await;
        (answer.body["status"] == "unknown").then_some(answer)
    };
    snapshot(
        "get-payment.200-pending",
        &recorded(&until("the chain to be given up", unknown).await),
    );
    site.chain_fault(json!({"fault": "clear"})).await;

    // The issuer declines a card of this amount.
    let path = "/get-card?amount=6.66";
    let payment = agent.payment(&site, path).await;
    let bought = async || {
        let answer = Agent::pay(&site, path, &payment).await;
        (answer.status == 200).then_some(answer)
    };
    let bought = until("the settlement", bought).await;
    let mut card = Request::new("GET", "/get-card-data").with("card_id", bought.card());
    card.bearer(&agent.token(&site).await);
    let failed = async || {
        let answer = card.send_and_check(&site).await;
        (answer.body["status"] == "failed").then_some(answer)
    };
    snapshot(
        "get-card-data.200-failed",
        &recorded(&until("the issuer's response", failed).await),
    );
}
