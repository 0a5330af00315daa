//! Secrets that operators hold or type are never returned, logged or stored in clear.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, client, send_to_operator};
use super::metrics::scrape;
use super::operator_client::{CVV, MISTYPED, OperatorClient, PAN};
use super::secrets::{contains, files};

/// Sends each token where it does not belong: to the client API, in a path, in a body, and with a suffix.
async fn misplaced(site: &ServiceClient<'_>, operator: &OperatorClient<'_>, tokens: &[String]) -> Vec<String> {
    let mut outputs = Vec::new();
    for token in tokens {
        outputs.push(site.get_as(token, "/get-account-balance").await.text);
        outputs.push(site.get(&format!("/events?after={token}"), &[]).await.text);
        outputs.push(
            operator
                .post("/admin/freeze", json!({"user_id": token, "message": "x"}))
                .await
                .text,
        );
        outputs.push(
            operator
                .post("/admin/tokens", json!({"name": token, "role": "support"}))
                .await
                .text,
        );
        let wrong = client()
            .get(site.service.operator_url("/admin/audit"))
            .bearer_auth(format!("{token}x"));
        outputs.push(send_to_operator(wrong).await.unwrap().text);
    }
    outputs
}

/// No output (the log is the last) and no file contains a token or card number, except the first token's own file.
fn assert_secret(host: &Host, outputs: &[String], tokens: &[String]) {
    let log = outputs.last().unwrap();
    assert!(
        log.contains("TRACE") && log.contains("/admin/intl-orders/fulfil"),
        "the log tells nothing at all"
    );
    let verified = String::from_utf8_lossy(&host.run(&["verify"]).stdout).into_owned();
    let mut stored = Vec::new();
    files(&host.data(), &mut stored);
    let (own, stored): (Vec<_>, Vec<_>) = stored
        .into_iter()
        .partition(|(name, _)| name.ends_with("operator.token"));
    assert!(own.len() == 1 && contains(&own[0].1, &tokens[3]) && stored.len() > 3);
    let secrets = tokens.iter().map(String::as_str).chain([PAN, MISTYPED]);
    for secret in secrets {
        assert!(secret.len() >= 16, "too short to search for");
        for text in outputs.iter().chain([&verified]) {
            assert!(
                !text.contains(secret),
                "an operator's secret leaked: {}",
                &text[..text.len().min(2_000)]
            );
        }
        for (file, bytes) in &stored {
            assert!(!contains(bytes, secret), "{file} holds an operator's secret in clear");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_70_operator_tokens_are_never_returned_or_stored_in_clear() {
    // Checks: At the most verbose log level: valid calls, rejected ones, misplaced and revoked tokens, a kill and a
    // restart. No operator token and no typed number is in a log line, metric, other response, audit record or file.
    // The first token's file is the exception; only its owner may read it.
    let host = Host::new().with("RUST_LOG", "trace");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let made = ["operator", "support", "administrator"];
    let mut operators = Vec::new();
    for role in made {
        operators.push(operator.add_operator(role, role).await);
    }
    let bought = Agent::new(Network::Base)
        .buy(&site, "/order-intl-card?amount=100")
        .await;
    let order = bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned();
    let lease = operators[0].claim(&order).await;
    let mut outputs = Vec::new();
    let mistyped = json!({"card_id": order, "lease": lease, "card_number": MISTYPED, "exp_month": 12, "exp_year": 2031, "cvv": CVV});
    outputs.push(operators[0].post("/admin/intl-orders/fulfil", mistyped).await.text);
    outputs.push(operators[1].fulfil(&order, lease).await.text);
    assert_eq!(operators[0].fulfil(&order, lease).await.status, 200);
    outputs.push(
        operator
            .done("/admin/tokens/revoke", json!({"name": "support"}))
            .await
            .to_string(),
    );
    let tokens: Vec<String> = operators
        .iter()
        .map(|one| one.token.clone())
        .chain([operator.token.clone()])
        .collect();
    outputs.extend(misplaced(&site, &operator, &tokens).await);
    outputs.push(operators[1].get("/admin/audit").await.text);
    outputs.push(operator.get("/admin/audit?limit=1000").await.text);
    outputs.push(operator.get("/admin/tokens").await.text);
    outputs.push(operator.get("/admin/intl-orders").await.text);
    outputs.push(scrape(&service).await.0);
    drop(site);
    service.kill();
    let service = host.start();
    assert_eq!(
        OperatorClient::of(&service, &tokens[3])
            .get("/admin/audit")
            .await
            .status,
        200
    );
    outputs.push(scrape(&service).await.0);
    service.stop();

    outputs.push(host.logged());
    assert_secret(&host, &outputs, &tokens);
}
