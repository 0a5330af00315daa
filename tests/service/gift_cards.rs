//! Gift cards over HTTP: from the search to what redeems them, with a catalog that does its worst.

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

/// The gift card once it is at its end.
async fn settled(site: &ServiceClient<'_>, token: &str, card: &str) -> Response {
    let ended = async || {
        let answer = site.get_as(token, &format!("/get-card-data?card_id={card}")).await;
        (answer.body["status"] != "processing").then_some(answer)
    };
    until("the catalog's word", ended).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gift_card_is_bought_on_both_networks_and_redeemed_by_its_owner_alone() {
    // Aim: price in another currency, answer, replay without credentials, redemption for the owner, nothing for others.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        // 50.00 EUR at 2.5 % and 1.0842: 55.56525, rounded up.
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
        let told: Vec<_> = events.iter().filter_map(|e| e["type"].as_str()).collect();
        assert!(
            told.contains(&"gift_card.processing") && told.contains(&"gift_card.completed"),
            "{told:?}"
        );
        assert!(!format!("{events:?}").contains(done.str("redemption_code").unwrap()));
        site.wait_for_events(token, &["gift_card.details_viewed"]).await;
    }
    service.stop();
    assert_eq!(host.assert_verified()["entities"]["gift_cards"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_catalog_does_it_is_one_gift_card_or_the_whole_charge_back() {
    // Aim: every magic product: lost, busy, repeated and garbled answers end completed; refusals end credited.
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
        // The vector of the contract's table: 9000 at 4.8 % is 9432.00; here 100 is 104.80.
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
async fn case_25_gift_cards_cost_what_the_table_says_at_both_edges_and_not_beyond() {
    // Aim: 5 to 9000 dollars after conversion, one unit past each edge refused, the fee rounded up to the cent.
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
async fn an_order_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: `docs/precedence.md` from top to bottom; nothing settles before the last rung.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let other = Agent::new(Network::Solana).token(&site).await;
    agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = PrecedenceTable::of("GET /order-gift-card", "order-gift-card");
    let mut ask = Request::new("GET", "/order-gift-card")
        .with("colour", "red")
        .with("amount", "ten")
        .with("country", "usa");
    ladder.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    ladder.assert_next(&ask.send(&site).await);
    ask = ask.with("product_id", "gift_none");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("amount", "500");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("country", "AQ");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("country", "US");
    site.post("/sandbox/gift-cards", &json!({"fault": "unreachable", "times": 1}))
        .await;
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_next(&ask.send(&site).await);
    ask.set("product_id", "gift_marche_lumiere_fr");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("country", "FR");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("amount", "25");
    let challenge = ask.send_and_check(&site).await;
    ladder.assert_next(&recorded(&challenge));
    ask.header("payment-signature", "bm8=");
    ladder.assert_next(&ask.send(&site).await);
    ask.header("payment-signature", &agent.sign(&required(&challenge)));
    ask.bearer(&other);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("authorization", "");
    ladder.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    let stock = |n: u32| json!({"fault": "stock", "product_id": "gift_marche_lumiere_fr", "stock": n});
    site.post("/sandbox/gift-cards", &stock(0)).await;
    ladder.assert_next(&ask.send(&site).await);
    assert!(site.transfers().await.is_empty(), "nothing was charged so far");
    site.post("/sandbox/gift-cards", &stock(5)).await;
    site.chain_fault(json!({"fault": "insufficient", "times": 1})).await;
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
}
