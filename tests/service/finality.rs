//! Payments that are confirmed but not final, over HTTP: money based on them waits until they are.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::metrics::scrape;
use super::operator_client::OperatorClient;
use super::top_up::{self, linked, wait_for_top_up};
use super::withdraw::{balance, ended, id_of, received, withdraw};

const FINAL_MS: &str = "PURSER_SANDBOX__FINAL_MS";
const GIFT: &str = "/order-gift-card?product_id=gift_quietshield_vpn&amount=15&country=US";

fn host() -> Host {
    Host::new()
        // Chains use the machine's clock until a test changes that.
        .with(FINAL_MS, "3600000")
        .with("PURSER_SANDBOX__ATTESTATION_DELAY_MS", "20")
        .with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20")
        .with("PURSER_ENGINE__CHAIN_POLL_INTERVAL_MS", "50")
}

/// The lines of a statement: type and amount.
async fn statement(site: &ServiceClient<'_>, token: &str) -> Vec<(Value, Value)> {
    let lines = site.get_as(token, "/get-account-statement").await.body;
    let lines = lines["entries"].as_array().unwrap().iter();
    lines
        .map(|line| (line["type"].clone(), line["amount"].clone()))
        .collect()
}

/// Waits until the catalog has made the gift card.
async fn made(site: &ServiceClient<'_>, token: &str, card: &str) -> Response {
    until("the gift card is made", async || {
        let answer = site.get_as(token, &format!("/get-card-data?card_id={card}")).await;
        (answer.body["status"] == "completed").then_some(answer)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn case_83_credit_and_top_up_wait_until_their_payments_are_final() {
    // Checks: On both chains, before finality: a card is sold and declined, and its credit is in the balance but cannot
    // be withdrawn. A top-up waits with its reason, for its owner, on the operator's list and in the metrics, also over
    // a kill. Once final, each leaves once.
    let host = host();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (mut holders, mut loaders) = (Vec::new(), Vec::new());
    for network in Network::ALL {
        let agent = Agent::new(network);
        assert_eq!(agent.buy(&site, "/get-card?amount=6.66").await.status, 200);
        let token = agent.token(&site).await;
        balance(&site, &token, [6.66, 0.0, 6.66]).await;
        let refused = withdraw(&site, &token, None, &json!({"amount": 1})).await;
        assert_eq!(
            (refused.status, refused.code()),
            (409, "insufficient_balance"),
            "{}",
            refused.text
        );
        let all = ["credited", "held_unfinal"].map(|what| (json!(what), json!(6.66)));
        assert_eq!(statement(&site, &token).await, all);
        let (loader, loading, _) = linked(&site, network).await;
        let id = top_up::id_of(&loader.buy(&site, "/fund-card-balance?amount=5").await);
        let waits = top_up::find_top_up(&site, &loading, &id).await;
        assert_eq!(
            (&waits["status"], &waits["held"]),
            (&json!("paid"), &json!("held_unfinal"))
        );
        holders.push(agent);
        loaders.push((loader, id));
    }
    service.kill();
    host.assert_verified();

    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let held = operator.get("/admin/dead-letters").await.body["held"]
        .as_array()
        .unwrap()
        .clone();
    for (work, times) in [("send_top_up", 2), ("release_credit", 2)] {
        let found = held
            .iter()
            .filter(|one| one["job_type"] == work && one["held"] == "held_unfinal");
        assert_eq!(found.count(), times, "{work}: {held:?}");
    }
    let figures = scrape(&service).await.1;
    assert_eq!(figures.value("purser_held{reason=\"held_unfinal\"}"), 4.into());
    for agent in &holders {
        assert!(received(&site, agent).await.is_empty(), "nothing has left");
    }
    service.stop();
    let host = host.with(FINAL_MS, "0");
    let service = host.start();
    let site = ServiceClient::of(&service);
    for agent in &holders {
        let token = agent.token(&site).await;
        balance(&site, &token, [6.66, 6.66, 0.0]).await;
        let id = id_of(&withdraw(&site, &token, None, &json!({"amount": 6.66})).await);
        assert_eq!(ended(&site, &token, &id).await["state"], "complete");
        assert_eq!(received(&site, agent).await, [6_660_000]);
    }
    for (loader, id) in &loaders {
        let token = loader.token(&site).await;
        wait_for_top_up(&site, &token, id, "credited").await;
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_83_gift_card_code_is_shown_once_its_payment_is_final() {
    // Checks: The card is made at once and says so. Until finality the response has no code, but a reason and a
    // Retry-After, and no event says it was viewed. Then the owner reads it.
    let host = host();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, GIFT).await;
    let card = bought.card().to_owned();
    let token = agent.token(&site).await;
    let waits = made(&site, &token, &card).await;
    assert_eq!(waits.status, 200, "{}", waits.text);
    assert_eq!(waits.str("held"), Some("held_unfinal"), "{}", waits.text);
    assert!(
        waits.str("hint").is_some_and(|hint| hint.contains("not final")),
        "{}",
        waits.text
    );
    assert_eq!(waits.header("retry-after"), Some("2"));
    for secret in ["redemption_url", "redemption_code", "pin_code"] {
        assert!(waits.body[secret].is_null(), "{}", waits.text);
    }
    let events = site.events(&token, 0).await;
    assert!(
        events.iter().all(|event| event["type"] != "gift_card.details_viewed"),
        "{events:?}"
    );
    service.stop();
    let host = host.with(FINAL_MS, "0");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    let shown = until("the code", async || {
        let answer = made(&site, &token, &card).await;
        answer.body["held"].is_null().then_some(answer)
    })
    .await;
    let code = shown.str("redemption_code").or_else(|| shown.str("redemption_url"));
    assert!(code.is_some(), "{}", shown.text);
    assert_eq!(shown.header("retry-after"), None);
    site.wait_for_events(&token, &["gift_card.details_viewed"]).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_83_pay_cancel_withdraw_inside_a_reorg_takes_nothing() {
    // Checks: A settled payment's card is declined and credited, and a withdrawal is requested. A reorg then reverses
    // the payment permanently. The payer has the payment back, the balance is empty, and nothing has left or is lost,
    // over a kill. The account is not frozen.
    let host = Host::new()
        .with("PURSER_ENGINE__CHAIN_POLL_INTERVAL_MS", "50")
        .with("PURSER_PAYMENT__QUOTE_TTL_SECONDS", "15");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, mule) = (Agent::new(Network::Base), Agent::new(Network::Base));
    let drop = json!({"network": "base", "wallet": agent.address(), "fault": "reorg", "delay_ms": 10_000});
    site.chain_fault(drop).await;
    let bought = agent.buy(&site, "/get-card?amount=6.66").await;
    let payment = bought.body["payment_id"].as_str().unwrap().to_owned();
    let token = agent.token(&site).await;
    balance(&site, &token, [6.66, 0.0, 6.66]).await;
    let params = json!({"amount": 6.66, "address": mule.address()});
    let refused = withdraw(&site, &token, None, &params).await;
    assert_eq!((refused.status, refused.code()), (409, "insufficient_balance"));
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let status = format!("/get-payment?payment_id={payment}");
    until("it is reversed", async || {
        (site.get(&status, &[]).await.body["status"] == "reversed").then_some(())
    })
    .await;
    let token = agent.token(&site).await;
    balance(&site, &token, [0.0, 0.0, 0.0]).await;
    let lines: Vec<_> = statement(&site, &token)
        .await
        .into_iter()
        .map(|(what, _)| what)
        .collect();
    assert_eq!(lines, ["credited", "held_unfinal", "reversed"]);
    assert_eq!(
        withdraw(&site, &token, None, &params).await.code(),
        "insufficient_balance"
    );
    site.wait_for_events(&token, &["balance.reversed"]).await;
    assert!(received(&site, &mule).await.is_empty(), "nothing has left");
    assert!(site.transfers().await.is_empty(), "the payer has it back");
    service.kill();
    let report = host.assert_verified();
    assert_eq!(report["balances"]["losses"].as_i64().unwrap_or(0), 0, "{report:#}");
}
