//! A payment and its product each have a status, and reading the payment shows both.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::http::{ServiceClient, until};
use super::payment_lists::payments;
use super::reloadable_cards::post_with_key;
use super::top_up::{link, start};

#[tokio::test(flavor = "multi_thread")]
async fn payment_shows_status_of_its_product() {
    // Checks: a payment stays `fulfilled`. Beside it both routes show the card as declined and credited, the order as
    // queued, then cancelled and credited, and the top-up as credited. Without the token of the payer none of it is
    // shown.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    link(&site, &agent, true).await;
    let token = agent.token(&site).await;
    let assert_product_status = async |payment: &str, status: &str, credited: Option<&str>| {
        let path = format!("/get-payment?payment_id={payment}");
        until(&format!("a product that is {status}"), async || {
            let one = site.get_as(&token, &path).await.body;
            let list = payments(&site, &token, "").await.body;
            let listed = list["payments"].as_array().unwrap();
            let listed = listed.iter().find(|listed| listed["payment_id"] == payment)?.clone();
            [one, listed]
                .iter()
                .all(|shown| shown["product_status"] == status)
                .then_some(())
        })
        .await;
        let list = payments(&site, &token, "").await.body;
        let listed = list["payments"].as_array().unwrap();
        let listed = listed.iter().find(|listed| listed["payment_id"] == payment).unwrap();
        for shown in [&site.get_as(&token, &path).await.body, listed] {
            assert_eq!(shown["status"], "fulfilled", "{shown}");
            let amount = shown.get("credited_usd_amount").map(ToString::to_string);
            assert_eq!(amount.as_deref(), credited, "{shown}");
        }
        let anybody = site.get(&path, &[]).await;
        assert!(!anybody.text.contains("product_status"), "{}", anybody.text);
    };
    let bought = async |path: &str| {
        let bought = agent.buy(&site, path).await;
        assert_eq!(bought.status, 200, "{}", bought.text);
        bought
    };
    let declined = bought("/get-card?amount=6.66").await;
    assert_product_status(declined.str("payment_id").unwrap(), "failed", Some("6.66")).await;
    let order = bought("/order-intl-card?amount=100").await;
    let payment = order.str("payment_id").unwrap();
    assert_product_status(payment, "queued", None).await;
    let cancel = json!({"card_id": order.body["intl_card_order"]["card_id"]});
    assert_eq!(
        post_with_key(&site, &token, "/cancel-intl-order", None, &cancel)
            .await
            .status,
        200
    );
    assert_product_status(payment, "cancelled", Some("103.8")).await;
    let top_up = bought("/fund-card-balance?amount=5").await;
    assert_product_status(top_up.str("payment_id").unwrap(), "credited", None).await;
    service.stop();
    host.assert_verified();
}
