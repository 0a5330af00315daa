//! What operators hold and what they type is told to nobody and kept by nobody in clear.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, client, send_to_operator};
use super::metrics::scrape;
use super::operator_client::{CVV, MISTYPED, OperatorClient, PAN};
use super::secrets::{contains, files};

/// Each token where it does not belong: at the clients' side, in a path, in a body, with something behind it.
async fn misplaced(site: &ServiceClient<'_>, desk: &OperatorClient<'_>, tokens: &[String]) -> Vec<String> {
    let mut told = Vec::new();
    for token in tokens {
        told.push(site.get_as(token, "/get-account-balance").await.text);
        told.push(site.get(&format!("/events?after={token}"), &[]).await.text);
        told.push(
            desk.post("/admin/freeze", json!({"user_id": token, "message": "x"}))
                .await
                .text,
        );
        told.push(
            desk.post("/admin/tokens", json!({"name": token, "role": "support"}))
                .await
                .text,
        );
        let wrong = client()
            .get(site.service.operator_url("/admin/audit"))
            .bearer_auth(format!("{token}x"));
        told.push(send_to_operator(wrong).await.unwrap().text);
    }
    told
}

/// Neither what was told, the log last, nor a file knows a token or a number; but for the first token's own file.
fn assert_secret(host: &Host, told: &[String], tokens: &[String]) {
    let log = told.last().unwrap();
    assert!(
        log.contains("TRACE") && log.contains("/admin/intl-orders/fulfil"),
        "the log tells nothing at all"
    );
    let verified = String::from_utf8_lossy(&host.run(&["verify"]).stdout).into_owned();
    let mut kept = Vec::new();
    files(&host.data(), &mut kept);
    let (own, kept): (Vec<_>, Vec<_>) = kept.into_iter().partition(|(name, _)| name.ends_with("operator.token"));
    assert!(own.len() == 1 && contains(&own[0].1, &tokens[3]) && kept.len() > 3);
    let secrets = tokens.iter().map(String::as_str).chain([PAN, MISTYPED]);
    for secret in secrets {
        assert!(secret.len() >= 16, "too short to search for");
        for text in told.iter().chain([&verified]) {
            assert!(
                !text.contains(secret),
                "an operator's secret is told: {}",
                &text[..text.len().min(2_000)]
            );
        }
        for (file, bytes) in &kept {
            assert!(!contains(bytes, secret), "{file} holds an operator's secret in clear");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_70_no_operators_token_is_told_or_kept_in_clear() {
    // Aim: at the most talkative log level, through good calls, refused ones, tokens in the wrong places, revoked tokens, a
    // kill and a restart: no operator's token and no number that one typed in any log line, metric, answer to somebody else,
    // audit or file, but for the first token's own file, which is its owner's alone.
    let host = Host::new().with("RUST_LOG", "trace");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let desk = OperatorClient::first(&host, &service);
    let made = ["operator", "support", "administrator"];
    let mut hired = Vec::new();
    for role in made {
        hired.push(desk.add_operator(role, role).await);
    }
    let bought = Agent::new(Network::Base)
        .buy(&site, "/order-intl-card?amount=100")
        .await;
    let order = bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned();
    let lease = hired[0].claim(&order).await;
    let mut told = Vec::new();
    let mistyped = json!({"card_id": order, "lease": lease, "card_number": MISTYPED, "exp_month": 12, "exp_year": 2031, "cvv": CVV});
    told.push(hired[0].post("/admin/intl-orders/fulfil", mistyped).await.text);
    told.push(hired[1].fulfil(&order, lease).await.text);
    assert_eq!(hired[0].fulfil(&order, lease).await.status, 200);
    told.push(
        desk.done("/admin/tokens/revoke", json!({"name": "support"}))
            .await
            .to_string(),
    );
    let tokens: Vec<String> = hired
        .iter()
        .map(|one| one.token.clone())
        .chain([desk.token.clone()])
        .collect();
    told.extend(misplaced(&site, &desk, &tokens).await);
    told.push(hired[1].get("/admin/audit").await.text);
    told.push(desk.get("/admin/audit?limit=1000").await.text);
    told.push(desk.get("/admin/tokens").await.text);
    told.push(desk.get("/admin/intl-orders").await.text);
    told.push(scrape(&service).await.0);
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
    told.push(scrape(&service).await.0);
    service.stop();

    told.push(host.logged());
    assert_secret(&host, &told, &tokens);
}
