//! Faults after the money has moved: catalogs and operators' storage fail, hang, lie or repeat themselves. The result
//! is one product or the whole charge credited, and every fault is visible.

use purser_actors::id::Network;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::{Host, Service};
use super::http::{ServiceClient, until};
use super::metrics::scrape;
use super::operator_client::OperatorClient;
use super::replay::transfer_count;
use super::settlement_faults::finally;

const GIFT: &str = "/order-gift-card?product_id=gift_quietshield_vpn&amount=15&country=US";
const INTL: &str = "/order-intl-card?amount=100";

async fn catalog(site: &ServiceClient<'_>, fault: Value) {
    let answer = site.post("/sandbox/gift-cards", &fault).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}

/// The number of gift cards that the catalog has made.
async fn made(site: &ServiceClient<'_>) -> Value {
    let state = site.get("/sandbox/catalogs", &[]).await;
    state.body["gift_cards"]["gift_cards"].clone()
}

async fn wait_for_status(site: &ServiceClient<'_>, token: &str, card: &str, status: &str) {
    let path = format!("/get-card-data?card_id={card}");
    until(status, async || {
        (site.get_as(token, &path).await.str("status") == Some(status)).then_some(())
    })
    .await;
}

/// Failed attempts to order a gift card, of all error kinds.
async fn failures(service: &Service) -> Decimal {
    let page = scrape(service).await.1;
    let series =
        |kind: &str| format!("purser_outbox_attempt_failures_total{{job_type=\"order_gift_card\",reason=\"{kind}\"}}");
    let kinds = ["temporary", "unknown", "permanent", "panicked"];
    kinds.iter().map(|kind| page.value(&series(kind))).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn catalog_failure_after_settlement_makes_one_gift_card() {
    // Checks: Between settlement and order, the catalog is silent, malformed, slow or loses responses, with and without
    // a kill. Failed attempts are counted, nothing is credited, and one gift card is made once the catalog recovers.
    let host = Host::new()
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "200")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1")
        .with("PURSER_ENGINE__MAX_BACKOFF_MS", "100")
        .with("PURSER_SANDBOX__GIFT_CARD_DELAY_MS", "50");
    let mut service = host.start();
    for (n, (fault, dies)) in [
        (json!({"fault": "unreachable", "times": 0}), false),
        (json!({"fault": "malformed_response", "times": 0}), true),
        (json!({"fault": "timeout", "times": 0}), false),
        (json!({"fault": "timeout", "times": 0}), true),
        (json!({"fault": "slow", "delay_ms": 1_000, "times": 0}), true),
        (json!({"fault": "duplicate", "times": 0}), false),
    ]
    .into_iter()
    .enumerate()
    {
        let site = ServiceClient::of(&service);
        let agent = Agent::new(Network::ALL[n % 2]);
        let token = agent.token(&site).await;
        site.chain_fault(json!({"fault": "slow", "delay_ms": 1_000, "wallet": agent.address()}))
            .await;
        let payment = agent.payment(&site, GIFT).await;
        assert_eq!(Agent::pay(&site, GIFT, &payment).await.status, 202, "{fault}");
        catalog(&site, fault.clone()).await;
        let bought = finally(&site, GIFT, &payment).await;
        if fault["fault"] != "duplicate" {
            until("failed attempts", async || {
                (failures(&service).await >= Decimal::TWO).then_some(())
            })
            .await;
            let read = site
                .get_as(&token, &format!("/get-card-data?card_id={}", bought.card()))
                .await;
            assert_eq!(read.str("status"), Some("processing"), "{fault}: {}", read.text);
        }
        if dies {
            service.kill();
            // Sandbox faults end with the process.
            service = host.start();
        } else {
            catalog(&site, json!({"fault": "clear"})).await;
        }
        let site = ServiceClient::of(&service);
        let token = agent.token(&site).await;
        wait_for_status(&site, &token, bought.card(), "completed").await;
        assert_eq!(made(&site).await, n + 1, "{fault}");
        assert_eq!(transfer_count(&site, &payment).await, 1, "{fault}");
        let account = site.get_as(&token, "/get-account-balance").await;
        assert_eq!(account.body["balance"], 0, "{fault}");
    }
    service.stop();
    assert_eq!(host.assert_verified()["entities"]["gift_cards"], 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_lettered_gift_card_order_is_listed_and_not_credited() {
    // Checks: The catalog has the order but never responds. The job is a dead letter, in the list and in the metrics.
    // An operator's retry gives the same gift card, and its buyer has no credit meanwhile.
    let host = Host::new()
        .with("PURSER_ENGINE__MAX_ATTEMPTS", "2")
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "500")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    catalog(&site, json!({"fault": "timeout", "times": 0})).await;
    let bought = Agent::new(Network::Solana).buy(&site, GIFT).await;
    let token = bought.body["auth"]["id_token"].as_str().unwrap();
    let dead_letter = until("the job is dead-lettered", async || {
        operator.get("/admin/dead-letters").await.body["jobs"].get(0).cloned()
    })
    .await;
    assert_eq!(
        (&dead_letter["job_type"], &dead_letter["subject"]),
        (&json!("order_gift_card"), &json!(bought.card()))
    );
    let page = scrape(&service).await.1;
    assert_eq!(
        page.value("purser_outbox_jobs{job_type=\"order_gift_card\",state=\"dead_letter\"}"),
        Decimal::ONE
    );
    let account = site.get_as(token, "/get-account-balance").await;
    assert_eq!((&account.body["balance"], made(&site).await), (&json!(0), json!(1)));
    catalog(&site, json!({"fault": "clear"})).await;
    operator
        .done("/admin/jobs/retry", json!({"job_id": dead_letter["job_id"]}))
        .await;
    wait_for_status(&site, token, bought.card(), "completed").await;
    assert_eq!(made(&site).await, 1);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_gift_card_is_rejected_before_settlement() {
    // Checks: A catalog that is silent, slow, malformed or sold out before the claim gives a clear error and no
    // transfer. The same payment buys once it recovers. A decline of the order credits the whole charge, once.
    let host = Host::new().with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "300");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let payment = agent.payment(&site, GIFT).await;
    for (fault, status, code) in [
        (json!({"fault": "unreachable"}), 503, "catalog_unavailable"),
        (json!({"fault": "malformed_response"}), 503, "catalog_unavailable"),
        (
            json!({"fault": "slow", "delay_ms": 1_000, "times": 2}),
            503,
            "catalog_unavailable",
        ),
        (json!({"fault": "out_of_stock"}), 409, "out_of_stock"),
    ] {
        catalog(&site, fault.clone()).await;
        let refused = Agent::pay(&site, GIFT, &payment).await;
        assert_eq!(
            (refused.status, refused.code()),
            (status, code),
            "{fault}: {}",
            refused.text
        );
        catalog(&site, json!({"fault": "clear"})).await;
    }
    assert!(site.transfers().await.is_empty());
    catalog(&site, json!({"fault": "decline"})).await;
    let bought = Agent::pay(&site, GIFT, &payment).await;
    let token = bought.body["auth"]["id_token"].as_str().unwrap();
    wait_for_status(&site, token, bought.card(), "failed").await;
    until("the whole charge is back", async || {
        let account = site.get_as(token, "/get-account-balance").await;
        (account.body["balance"] == json!(15.72)).then_some(())
    })
    .await;
    assert_eq!(Agent::pay(&site, GIFT, &payment).await.card(), bought.card());
    assert_eq!(
        (transfer_count(&site, &payment).await, made(&site).await),
        (1, json!(0))
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn intl_order_survives_chain_and_disk_faults_and_a_kill() {
    // Checks: The chain's response is lost: there is one order. The directory of CVV keys fails while the operator
    // enters the card: an error, and nothing is stored, also over a kill. Once the disk works again, the same lease
    // makes the card.
    let host = Host::new().with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "200");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    site.chain_fault(json!({"fault": "lose_response", "wallet": agent.address()}))
        .await;
    let payment = agent.payment(&site, INTL).await;
    assert_eq!(Agent::pay(&site, INTL, &payment).await.status, 202);
    let bought = finally(&site, INTL, &payment).await;
    let order = bought.body["intl_card_order"]["card_id"].as_str().unwrap();
    assert_eq!(transfer_count(&site, &payment).await, 1);
    let operator = OperatorClient::first(&host, &service);
    assert_eq!(operator.queue().await.len(), 1);
    let lease = operator.claim(order).await;
    let (keys, away) = (host.data().join("cvv.keys"), host.sibling_path("away"));
    std::fs::rename(&keys, &away).unwrap();
    std::fs::write(&keys, "no directory").unwrap();
    let refused = operator.fulfil(order, lease).await;
    assert!(refused.status >= 500, "{}", refused.text);
    wait_for_status(&site, &token, order, "claimed").await;
    service.kill();
    let Err(output) = host.try_start() else {
        panic!("started without a directory for the keys of CVVs")
    };
    assert!(output.contains("CVV"), "{output}");
    std::fs::remove_file(&keys).unwrap();
    std::fs::rename(&away, &keys).unwrap();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    assert_eq!(operator.fulfil(order, lease).await.status, 200);
    let token = agent.token(&site).await;
    wait_for_status(&site, &token, order, "ready").await;
    let account = site.get_as(&token, "/get-account-balance").await;
    assert_eq!(account.body["balance"], 0);
    service.stop();
    assert_eq!(host.assert_verified()["entities"]["intl_orders"], 1);
}
