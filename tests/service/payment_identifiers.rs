//! Payment identifiers: a client that lost the response signs a new payment under the same identifier and is not
//! charged again.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::replay::transfer_count;

const CARD: &str = "/get-card?amount=5";
const NAME: &str = "pay_0123456789abcdef";

/// A newly signed payment of this agent for a route, under an identifier.
async fn payment_with_identifier(site: &ServiceClient<'_>, agent: &Agent, path: &str, name: &str) -> String {
    let mut required = Agent::challenge(site, path).await;
    assert!(required.identify(name), "the challenge takes names");
    agent.sign(&required)
}

async fn buy(site: &ServiceClient<'_>, agent: &Agent, path: &str, name: &str) -> Response {
    Agent::pay(site, path, &payment_with_identifier(site, agent, path, name).await).await
}

/// Asserts that a superfluous payment gets the same response, without credentials and without a charge.
async fn assert_replayed(site: &ServiceClient<'_>, first: &Response, agent: &Agent, path: &str) {
    let payment = payment_with_identifier(site, agent, path, NAME).await;
    let again = Agent::pay(site, path, &payment).await;
    assert_eq!(
        (again.status, again.header("idempotency-replayed")),
        (200, Some("true")),
        "{}",
        again.text
    );
    let mut without = first.body.clone();
    for bearer in ["auth", "redemption_url"] {
        without.as_object_mut().unwrap().remove(bearer);
    }
    assert_eq!(again.body, without);
    assert_eq!(again.receipt(), first.receipt(), "the receipt is the first payment's");
    assert_eq!(transfer_count(site, &payment).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn purchase_is_replayed_under_its_identifier() {
    // Checks: on both networks another payment under the identifier gets the first response, also after a kill. Another
    // request is a conflict; another identifier or payer is another purchase.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let push = "/get-push-to-card?amount=25&currency=USD";
    let (base, solana) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let bought = buy(&site, &base, push, NAME).await;
    assert!(
        bought.str("redemption_url").is_some() && bought.body.get("auth").is_some(),
        "{}",
        bought.text
    );
    let card = buy(&site, &solana, CARD, NAME).await;
    assert!(card.body.get("auth").is_some(), "another payer's name is another");
    assert_replayed(&site, &bought, &base, push).await;
    assert_replayed(&site, &card, &solana, CARD).await;
    service.kill();

    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_replayed(&site, &bought, &base, push).await;
    assert_replayed(&site, &card, &solana, "/get-card?format=json&amount=5.00").await;
    for (agent, path) in [(&base, CARD), (&solana, "/get-card?amount=6")] {
        let payment = payment_with_identifier(&site, agent, path, NAME).await;
        let other = Agent::pay(&site, path, &payment).await;
        assert_eq!(
            (other.status, other.code()),
            (409, "payment_identifier_reused"),
            "{}",
            other.text
        );
        assert!(
            other.header("payment-required").is_none(),
            "a challenge would be paid again"
        );
        assert_eq!(transfer_count(&site, &payment).await, 0);
    }
    let second = buy(&site, &solana, CARD, "pay_0123456789abcdee").await;
    assert_ne!(second.card(), card.card());
    assert_eq!(site.transfers().await.len(), 3);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_payments_under_one_identifier_settle_once() {
    // Checks: twenty concurrent payments under one identifier make one transfer and one product, and show credentials
    // once.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let before = site.transfers().await.len();
        let mut payments = Vec::new();
        for _ in 0..20 {
            payments.push(payment_with_identifier(&site, &agent, CARD, NAME).await);
        }
        let answers = futures_util::future::join_all(payments.iter().map(|p| Agent::pay(&site, CARD, p))).await;
        assert!(answers.iter().all(|answer| answer.card() == answers[0].card()));
        assert!(answers.iter().all(|answer| answer.receipt() == answers[0].receipt()));
        let won = answers.iter().filter(|answer| answer.body.get("auth").is_some());
        assert_eq!(won.count(), 1);
        assert_eq!(site.transfers().await.len(), before + 1);
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn unsettled_payment_of_identifier_is_retried_before_another() {
    // Checks: after a decline, an unreachable chain or an unknown outcome, a second payment under the identifier
    // retries or follows the first. The second payment never settles.
    let host = Host::new().with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "200");
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (fault, status, code) in [
        (json!({"fault": "insufficient"}), 402, "settlement_failed"),
        (
            json!({"fault": "unreachable", "times": 0}),
            503,
            "settlement_unavailable",
        ),
        (json!({"fault": "lose_response"}), 202, ""),
    ] {
        let agent = Agent::new(Network::Base);
        let mut fault = fault;
        fault["wallet"] = json!(agent.address());
        site.chain_fault(fault).await;
        let first = payment_with_identifier(&site, &agent, CARD, NAME).await;
        let first_response = Agent::pay(&site, CARD, &first).await;
        assert_eq!(
            (first_response.status, first_response.code()),
            (status, code),
            "{}",
            first_response.text
        );
        site.chain_fault(json!({"fault": "clear"})).await;
        let again = payment_with_identifier(&site, &agent, CARD, NAME).await;
        let bought = until("the first payment to land", async || {
            let answer = Agent::pay(&site, CARD, &again).await;
            assert_eq!(answer.str("status_url").is_some(), answer.status == 202);
            if let (Some(before), Some(now)) = (first_response.str("payment_id"), answer.str("payment_id")) {
                assert_eq!(before, now, "it is the first payment that is followed");
            }
            (answer.status == 200).then_some(answer)
        })
        .await;
        assert_eq!(
            (transfer_count(&site, &first).await, transfer_count(&site, &again).await),
            (1, 0)
        );
        assert_eq!(Agent::pay(&site, CARD, &first).await.card(), bought.card());
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn purchase_under_identifier_is_answered_after_catalog_change() {
    // Checks: a purchase is replayed under its identifier after its gift card left the catalog.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let target = "/order-gift-card?product_id=gift_marche_lumiere_fr&amount=50&country=FR";
    let bought = buy(&site, &agent, target, NAME).await;
    let again = payment_with_identifier(&site, &agent, target, NAME).await;
    let fault = json!({"fault": "unreachable", "times": 0});
    assert_eq!(site.post("/sandbox/gift-cards", &fault).await.status, 200);
    let replayed = Agent::pay(&site, target, &again).await;
    assert_eq!(replayed.card(), bought.card());
    assert_eq!(transfer_count(&site, &again).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_payment_identifier_is_rejected() {
    // Checks: an invalid identifier is an error before any charge. A payment that only echoes the challenge has no
    // identifier.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    for bad in ["too-short", &"x".repeat(129), "0123456789 abcdef", ""] {
        let payment = payment_with_identifier(&site, &agent, CARD, bad).await;
        let refused = Agent::pay(&site, CARD, &payment).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "payment_identifier_invalid"),
            "{bad}"
        );
        assert_eq!(refused.str("param"), Some("payment-identifier"));
        assert_eq!(transfer_count(&site, &payment).await, 0);
    }
    let first = agent.buy(&site, CARD).await;
    assert_ne!(agent.buy(&site, CARD).await.card(), first.card());
}
