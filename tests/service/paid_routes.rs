//! Behavior that all paid routes share, on the routes without a test of their own for it.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::full_account::FullAccount;
use super::host::{Host, Service};
use super::http::ServiceClient;

/// Products with their prices, for a caller that may buy all of them.
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
async fn payment_that_bought_another_product_is_rejected_everywhere() {
    // Checks: a payment of the exact price that bought a card buys nothing else. The error is 409, without a new
    // challenge.
    let host = Host::new().with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10");
    let (service, person) = furnished(&host).await;
    let site = ServiceClient::of(&service);
    for (path, price) in products(&person) {
        let card = format!("/get-card?amount={price}");
        let payment = person.agent.payment(&site, &card).await;
        assert_eq!(Agent::pay(&site, &card, &payment).await.status, 200);
        let again = Agent::pay(&site, &path, &payment).await;
        let outcome = (again.status, again.code(), again.header("payment-required"));
        assert_eq!(outcome, (409, "payment_already_used", None), "{path}: {}", again.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_product_reports_an_unknown_outcome() {
    // Checks: while the chain holds all transfers, each product gets 202 with a status URL and a retry time.
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
        let outcome = (
            pending.status,
            pending.str("status"),
            pending.header("retry-after").is_some(),
        );
        assert_eq!(
            outcome,
            (202, Some("settlement_pending"), true),
            "{path}: {}",
            pending.text
        );
    }
}
