//! Payments whose transfers are on a chain before they are presented: what they buy, and how the operator list shows
//! them.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::agent_wallet::assert_error;
use super::http::{Response, ServiceClient, until};
use super::incoming_transfers::{self, listed, submit_on_base, waiting};
use super::operator_client::OperatorClient;
use super::recipient::register;
use super::restore::{backup, restore};
use super::top_up::{id_of, linked, wait_for_top_up};
use super::withdraw::balance;

/// A route with the same price as another.
async fn card_for_the_price_of(site: &ServiceClient<'_>, path: &str) -> String {
    let price = async |path: &str| {
        let challenge = Agent::challenge(site, path).await;
        challenge.choose(Some(Network::Base)).unwrap().amount
    };
    let amount = price(path).await;
    let card = format!("/get-card?amount={}", amount.decimal());
    assert_eq!(price(&card).await, amount, "{card}");
    card
}

fn not_sold(answer: &Response) {
    assert!(
        matches!((answer.status, answer.code()), (409, "payment_already_used") | (503, _)),
        "{}",
        answer.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_of_lost_history_buys_nothing_else() {
    // Checks: a payment of a lost top-up or bank payment buys no card of the same price, right after the restore and
    // while it waits for an operator. On its own route it buys what it bought before.
    let host = incoming_transfers::host()
        .with("PURSER_SANDBOX__ATTESTATION_DELAY_MS", "20")
        .with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20")
        .with("PURSER_SANDBOX__PAYOUT_DELAY_MS", "10");
    let service = host.start();
    let (agent, token, _) = linked(&ServiceClient::of(&service), Network::Base).await;
    let destination = register(&ServiceClient::of(&service), &agent).await;
    let (top_up, bank) = (
        "/fund-card-balance?amount=50".to_owned(),
        format!("/send-bank-payment?amount=40&destination_id={destination}"),
    );
    service.stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let mut paid = Vec::new();
    for path in [&top_up, &bank] {
        let payment = agent.payment(&site, path).await;
        let bought = Agent::pay(&site, path, &payment).await;
        assert_eq!(bought.status, 200, "{}", bought.text);
        if path == &top_up {
            wait_for_top_up(&site, &token, &id_of(&bought), "credited").await;
        }
        paid.push((path, payment, card_for_the_price_of(&site, path).await));
    }
    service.stop();
    restore(&host, &file);

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    for (_, payment, card) in &paid {
        not_sold(&Agent::pay(&site, card, payment).await);
    }
    until("both wait", async || {
        let all = listed(&operator).await;
        (all.iter().filter(|one| one["status"] == "waiting").count() == 2).then_some(())
    })
    .await;
    for (path, payment, card) in &paid {
        until("it is known what it may have bought", async || {
            let answer = Agent::pay(&site, card, payment).await;
            not_sold(&answer);
            (answer.status == 409).then_some(())
        })
        .await;
        let again = Agent::pay(&site, path, payment).await;
        assert_eq!(again.status, 200, "{}", again.text);
        assert_error(&Agent::pay(&site, card, payment).await, 409, "payment_already_used");
    }
    until("nothing waits", async || {
        listed(&operator).await.is_empty().then_some(())
    })
    .await;
    let all = site.get_as(&agent.token(&site).await, "/list-payments").await;
    assert_eq!(all.body["payments"].as_array().unwrap().len(), 2, "{}", all.text);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn released_payment_leaves_its_transfer_to_an_operator() {
    // Checks: a client submits its payment to the chain itself and presents it while the chain is unreachable. Nothing
    // is sold, the transfer stays on the list, and an operator can credit it.
    let host = incoming_transfers::host();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let agent = Agent::new(Network::Base);
    let payment = agent.payment(&site, "/get-card?amount=5").await;
    submit_on_base(&site, &payment).await;
    let waits = waiting(&operator, &agent).await;
    let fault = |fault: &str| json!({"fault": fault, "times": 40, "network": "base"});
    site.post("/sandbox/chain", &fault("unreachable")).await;
    let answer = Agent::pay(&site, "/get-card?amount=5", &payment).await;
    assert_eq!(answer.status, 503, "{}", answer.text);
    site.post("/sandbox/chain", &fault("clear")).await;
    let still = waiting(&operator, &agent).await;
    assert_eq!(still["deposit_id"], waits["deposit_id"]);
    let credit = json!({"deposit_id": waits["deposit_id"], "evidence": "its card was never made"});
    operator.done("/admin/incoming-transfers/credit", credit).await;
    balance(&site, &agent.token(&site).await, [5.0, 5.0, 0.0]).await;
    service.stop();
    host.assert_verified();
}
