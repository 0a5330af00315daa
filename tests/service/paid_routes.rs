//! What all paid routes have in common, on those that no test of their own asks for it.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::full_account::FullAccount;
use super::host::{Host, Service};
use super::http::ServiceClient;

/// Products with what they cost, for somebody who may buy them all.
fn products(person: &FullAccount) -> [(String, &'static str); 5] {
    let bank = format!(
        "/send-bank-payment?amount=10&destination_id={}",
        person.id("destination")
    );
    let app = "/send-payment?amount=5&platform=paypal&recipient_id=@ada&recipient_first_name=Ada\
         &recipient_last_name=Lovelace&recipient_email=ada@example.com";
    [
        ("/fund-card-balance?amount=5".to_owned(), "5"),
        ("/order-intl-card?amount=100".to_owned(), "103.80"),
        ("/get-push-to-card?amount=10&currency=USD".to_owned(), "11.50"),
        (bank, "11.50"),
        (app.to_owned(), "6.50"),
    ]
}

async fn furnished(host: &Host) -> (Service, FullAccount) {
    let service = host.start();
    let person = FullAccount::furnished(&ServiceClient::of(&service), Network::Base, 31).await;
    (service, person)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_product_refuses_a_payment_that_bought_something_else() {
    // Aim: a payment of exactly the price that has bought a card buys nothing else: 409, and no challenge to sign again.
    let host = Host::new().with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10");
    let (service, person) = furnished(&host).await;
    let site = ServiceClient::of(&service);
    for (path, price) in products(&person) {
        let card = format!("/get-card?amount={price}");
        let payment = person.agent.payment(&site, &card).await;
        assert_eq!(Agent::pay(&site, &card, &payment).await.status, 200);
        let again = Agent::pay(&site, &path, &payment).await;
        let said = (again.status, again.code(), again.header("payment-required"));
        assert_eq!(said, (409, "payment_already_used", None), "{path}: {}", again.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_product_says_that_an_outcome_is_not_known() {
    // Aim: the chain holds every transfer back: 202 with where to follow it and when, whatever is bought.
    let mut host = Host::new().with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10");
    let (service, person) = furnished(&host).await;
    service.stop();
    host.set("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "300");
    host.set("PURSER_ENGINE__RESPONSE_TIMEOUT_MS", "400");
    let service = host.start();
    let site = ServiceClient::of(&service);
    site.chain_fault(json!({"fault": "hold"})).await;
    for (path, _) in products(&person) {
        let pending = person.agent.buy(&site, &path).await;
        let said = (
            pending.status,
            pending.str("status"),
            pending.header("retry-after").is_some(),
        );
        assert_eq!(
            said,
            (202, Some("settlement_pending"), true),
            "{path}: {}",
            pending.text
        );
    }
}
