//! Repeated presentations of one payment.

use std::time::Duration;

use purser::system::SystemClock;
use purser_actors::id::Network;
use purser_actors::port::{Clock as _, Timestamp};

use super::agent::{Agent, chain_key};
use super::host::Host;
use super::http::{Response, ServiceClient};

const CARD: &str = "/get-card?amount=5";

/// Number of transfers that this payment made on its chain.
pub(crate) async fn transfer_count(site: &ServiceClient<'_>, payment: &str) -> usize {
    let key = chain_key(payment);
    let transfers = site.transfers().await;
    transfers
        .iter()
        .filter(|t| t["nonce_or_message"] == key.as_str())
        .count()
}

/// A challenge ends the validity of a payment 300 s after the signer's clock; a slow clock shortens it.
fn clock_for_validity(seconds: u64) -> Timestamp {
    Timestamp(SystemClock.now().0 - (300 - seconds) * 1000)
}

#[tokio::test(flavor = "multi_thread")]
async fn case_01_hundred_concurrent_presentations_settle_once() {
    // Checks: the same signed payment, presented a hundred times concurrently on both networks, makes one transfer and
    // one card. All callers get the card, and exactly one gets credentials.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let payment = agent.payment(&site, CARD).await;
        let answers: Vec<Response> =
            futures_util::future::join_all((0..100).map(|_| Agent::pay(&site, CARD, &payment))).await;
        let card = answers[0].card().to_owned();
        assert!(answers.iter().all(|a| a.card() == card), "{network:?}");
        let receipt = answers[0].receipt();
        assert!(answers.iter().all(|a| a.receipt() == receipt), "{network:?}");
        let won = answers.iter().filter(|a| a.body.get("auth").is_some()).count();
        assert_eq!(won, 1, "{network:?}");
        assert_eq!(transfer_count(&site, &payment).await, 1, "{network:?}");
    }
    assert_eq!(site.transfers().await.len(), 2);
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["entities"]["cards"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_02_replay_survives_restart_and_expiry() {
    // Checks: after a lost response, a kill and the expiry of the authorization, the same payment gets the same card
    // without credentials and moves nothing.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agents = Network::ALL.map(Agent::new);
    let mut bought = Vec::new();
    for agent in &agents {
        // Short enough to see it end, and longer on slower machines.
        for life in [9, 18, 36, 72] {
            let ends = SystemClock.now().0 + life * 1000;
            let payment = agent.sign_at(&Agent::challenge(&site, CARD).await, clock_for_validity(life));
            let answer = Agent::pay(&site, CARD, &payment).await;
            if answer.status == 200 {
                assert!(answer.body.get("auth").is_some());
                bought.push((agent, payment, answer, ends));
                break;
            }
            assert_eq!(answer.code(), "payment_invalid");
        }
    }
    assert_eq!(bought.len(), 2);
    for (_, payment, first, _) in &bought {
        let again = Agent::pay(&site, CARD, payment).await;
        assert_replay(first, &again);
    }
    service.kill();

    let service = host.start();
    let site = ServiceClient::of(&service);
    for (_, payment, first, ends) in &bought {
        assert_replay(first, &Agent::pay(&site, CARD, payment).await);
        while SystemClock.now().0 <= *ends {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert_replay(first, &Agent::pay(&site, CARD, payment).await);
        let other_amount = Agent::pay(&site, "/get-card?amount=6", payment).await;
        assert_eq!(
            (other_amount.status, other_amount.code()),
            (409, "payment_already_used")
        );
        assert_eq!(transfer_count(&site, payment).await, 1);
    }
    // An expired payment that was never claimed stays rejected.
    let unclaimed = agents[0].sign_at(&Agent::challenge(&site, CARD).await, clock_for_validity(0));
    assert_eq!(Agent::pay(&site, CARD, &unclaimed).await.code(), "payment_invalid");
    assert_eq!(transfer_count(&site, &unclaimed).await, 0);
}

fn assert_replay(first: &Response, again: &Response) {
    assert_eq!(again.card(), first.card());
    assert_eq!(again.receipt(), first.receipt());
    assert!(again.body.get("auth").is_none(), "credentials in a replay");
    let without = |answer: &Response| {
        let mut body = answer.body.clone();
        body.as_object_mut().unwrap().remove("auth");
        body
    };
    assert_eq!(without(again), without(first));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_03_payment_is_valid_only_for_its_request() {
    // Checks: a payment for one amount buys no other amount, and nothing settles for the rejected request.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let payment = agent.payment(&site, CARD).await;
        let before = Agent::pay(&site, "/get-card?amount=500", &payment).await;
        assert_eq!((before.status, before.code()), (402, "payment_invalid"));
        assert!(before.header("payment-required").is_some());
        assert_eq!(transfer_count(&site, &payment).await, 0);

        let bought = Agent::pay(&site, CARD, &payment).await;
        let after = Agent::pay(&site, "/get-card?amount=500", &payment).await;
        assert_eq!((after.status, after.code()), (409, "payment_already_used"));
        assert!(
            after.header("payment-required").is_none(),
            "a challenge would be paid again"
        );
        assert_eq!(Agent::pay(&site, CARD, &payment).await.card(), bought.card());
        assert_eq!(transfer_count(&site, &payment).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_04_equivalent_queries_are_one_request() {
    // Checks: order, format and spelling of parameters do not make another purchase. A repeated parameter is rejected
    // before the payment is read.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let payment = agent.payment(&site, "/get-card?amount=5&format=json").await;
    for repeated in [
        "/get-card?amount=5&amount=500",
        "/get-card?amount=5&amount=5",
        "/get-card?amount=5&%61mount=500",
    ] {
        let answer = Agent::pay(&site, repeated, &payment).await;
        assert_eq!(
            (answer.status, answer.code()),
            (400, "parameter_duplicated"),
            "{repeated}"
        );
    }
    assert_eq!(transfer_count(&site, &payment).await, 0);
    let card = Agent::pay(&site, "/get-card?format=json&amount=5.00", &payment).await;
    let same = Agent::pay(&site, "/get-card?amount=5.0", &payment).await;
    assert_eq!(same.card(), card.card());
    let page = Agent::pay(&site, "/get-card?format=html&amount=5", &payment).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains(card.card()) && page.header("content-type").unwrap().starts_with("text/html"));
    assert_eq!(transfer_count(&site, &payment).await, 1);
}
