//! Gift cards over HTTP, from search to redemption, with catalog faults.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::{Agent, required};
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::precedence_table::{PrecedenceTable, snapshot};
use super::request::{Request, recorded};

const WHY: &str = "Please write to us.";

fn path(product: &str, amount: &str, country: &str) -> String {
    format!("/order-gift-card?product_id={product}&amount={amount}&country={country}")
}

/// Waits until the gift card has a final status.
async fn settled(site: &ServiceClient<'_>, token: &str, card: &str) -> Response {
    let ended = async || {
        let answer = site.get_as(token, &format!("/get-card-data?card_id={card}")).await;
        (answer.body["status"] != "processing").then_some(answer)
    };
    until("the catalog's outcome", ended).await
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_redeems_a_gift_card_on_either_network() {
    // Checks: Price in another currency, purchase, replay without credentials. Only the owner can redeem.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let target = path("gift_marche_lumiere_fr", "50", "FR");
        let challenge = Agent::challenge(&site, &target).await;
        assert_eq!(challenge.choose(Some(network)).unwrap().amount.atomic(), 55_570_000);
        let mut buy = Request::new("GET", "/order-gift-card")
            .with("product_id", "gift_marche_lumiere_fr")
            .with("amount", "50")
            .with("country", "FR");
        buy.header("payment-signature", &agent.sign(&challenge));
        let bought = buy.send_and_check(&site).await;
        assert_eq!(bought.status, 200, "{}", bought.text);
        snapshot(
            &format!("order-gift-card.200-bought-{}", network.name()),
            &recorded(&bought),
        );
        let again = buy.send_and_check(&site).await;
        assert_eq!(again.body["gift_card"], bought.body["gift_card"]);
        assert!(again.body["auth"].is_null());

        let token = bought.body["auth"]["id_token"].as_str().unwrap();
        let done = settled(&site, token, bought.card()).await;
        assert_eq!(done.body["status"], "completed");
        assert!(done.str("redemption_code").is_some(), "{}", done.text);
        snapshot("get-card-data.200-gift-card", &recorded(&done));
        let list = site.get_as(token, "/get-card-data?card_type=Gift%20Card").await;
        assert_eq!(list.body["cards"][0]["card_id"], bought.card());
        assert!(!list.text.contains(done.str("redemption_code").unwrap()));
        let other = Agent::new(network).token(&site).await;
        let theirs = site
            .get_as(&other, &format!("/get-card-data?card_id={}", bought.card()))
            .await;
        assert_eq!((theirs.status, theirs.code()), (403, "card_access_denied"));
        let events = site.events(token, 0).await;
        let types: Vec<_> = events.iter().filter_map(|e| e["type"].as_str()).collect();
        assert!(
            types.contains(&"gift_card.processing") && types.contains(&"gift_card.completed"),
            "{types:?}"
        );
        assert!(!format!("{events:?}").contains(done.str("redemption_code").unwrap()));
        site.wait_for_events(token, &["gift_card.details_viewed"]).await;
    }
    service.stop();
    assert_eq!(host.assert_verified()["entities"]["gift_cards"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn catalog_faults_give_one_gift_card_or_a_full_credit() {
    // Checks: Every magic product: lost, busy, repeated and malformed responses end completed; declines end credited.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let mut credits = ["104.8", "209.6", "314.4"].into_iter();
    for (product, expected) in [
        ("gift_sandbox_lost_answer", "completed"),
        ("gift_sandbox_busy", "completed"),
        ("gift_sandbox_twice", "completed"),
        ("gift_sandbox_garbage", "completed"),
        ("gift_sandbox_declined", "failed"),
        ("gift_sandbox_sold_out", "failed"),
        ("gift_sandbox_dearer", "failed"),
    ] {
        // The contract's table has 9000 at 4.8 %, which is 9432.00. Here 100 is 104.80.
        let bought = agent.buy(&site, &path(product, "100", "US")).await;
        assert_eq!(bought.status, 200, "{product}: {}", bought.text);
        let token = agent.token(&site).await;
        let done = settled(&site, &token, bought.card()).await;
        assert_eq!(done.body["status"], expected, "{product}: {}", done.text);
        if expected == "failed" {
            let whole = credits.next().unwrap();
            let balance = async || {
                let account = site.get_as(&token, "/get-account-balance").await;
                let shown = account.body["balance"].to_string();
                (shown == whole).then_some(())
            };
            until("the whole charge on the balance", balance).await;
            site.wait_for_events(&token, &["gift_card.failed processing"]).await;
        }
    }
    service.stop();
    assert_eq!(host.assert_verified()["entities"]["gift_cards"], 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_25_gift_card_prices_follow_the_table_at_both_edges() {
    // Checks: 5 to 9000 dollars after conversion. One unit beyond each edge is rejected, and the fee is rounded up to
    // the cent.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    for (amount, total) in [("5", 5_240_000), ("5.01", 5_260_000), ("9000", 9_432_000_000)] {
        let challenge = Agent::challenge(&site, &path("gift_sandbox_busy", amount, "US")).await;
        let offer = challenge.choose(Some(Network::Base)).unwrap();
        assert_eq!(offer.amount.atomic(), total, "{amount}");
    }
    for amount in ["4.99", "9000.01"] {
        let refused = site.get(&path("gift_sandbox_busy", amount, "US"), &[]).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "amount_out_of_range"),
            "{amount}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gift_card_order_errors_follow_precedence() {
    // Checks: Errors follow `docs/precedence.md` from top to bottom, and nothing settles before the last row.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let other = Agent::new(Network::Solana).token(&site).await;
    agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /order-gift-card", "order-gift-card");
    let mut ask = Request::new("GET", "/order-gift-card")
        .with("colour", "red")
        .with("amount", "ten")
        .with("country", "usa");
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    ask = ask.with("product_id", "gift_none");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("amount", "500");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("country", "AQ");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("country", "US");
    site.post("/sandbox/gift-cards", &json!({"fault": "unreachable", "times": 1}))
        .await;
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("product_id", "gift_marche_lumiere_fr");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("country", "FR");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("amount", "25");
    let challenge = ask.send_and_check(&site).await;
    precedence.assert_next(&recorded(&challenge));
    ask.header("payment-signature", "bm8=");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("payment-signature", &agent.sign(&required(&challenge)));
    ask.bearer(&other);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("authorization", "");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    let stock = |n: u32| json!({"fault": "stock", "product_id": "gift_marche_lumiere_fr", "stock": n});
    site.post("/sandbox/gift-cards", &stock(0)).await;
    precedence.assert_next(&ask.send(&site).await);
    assert!(site.transfers().await.is_empty(), "nothing was charged so far");
    site.post("/sandbox/gift-cards", &stock(5)).await;
    site.chain_fault(json!({"fault": "insufficient", "times": 1})).await;
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}
