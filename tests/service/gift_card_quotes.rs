//! Gift card quotes while catalogs, product rates and exchange rates change.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::{Agent, required};
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::mpp::pay;

const EURO: &str = "/order-gift-card?product_id=gift_marche_lumiere_fr&amount=50&country=FR";
const DOLLAR: &str = "/order-gift-card?product_id=gift_quietshield_vpn&amount=15&country=US";

async fn set_control(site: &ServiceClient<'_>, path: &str, what: Value) {
    let answer = site.post(path, &what).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}

async fn set_rate(site: &ServiceClient<'_>, fee_rate: &str) {
    let price = json!({"fault": "price", "product_id": "gift_marche_lumiere_fr", "fee_rate": fee_rate});
    set_control(site, "/sandbox/gift-cards", price).await;
}

fn price(answer: &Response) -> u64 {
    required(answer).choose(Some(Network::Base)).unwrap().amount.atomic()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_22_gift_card_quote_survives_a_new_product_rate() {
    // Checks: A buyer gets the quoted rate, over a restart and two changes. New quotes use the new rate. A rate that
    // was never quoted is not accepted.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agents = Network::ALL.map(Agent::new);
    let quote = Agent::challenge(&site, EURO).await;
    set_rate(&site, "0.03").await;
    set_rate(&site, "0.048").await;
    let dearer = site.get(EURO, &[]).await;
    assert_eq!(price(&dearer), 56_820_000);
    service.stop();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for agent in &agents {
        let old = Agent::pay(&site, EURO, &agent.sign(&quote)).await;
        assert_eq!(
            (old.status, &old.receipt()["amount"]),
            (200, &"55570000".into()),
            "{}",
            old.text
        );
        let new = agent.buy(&site, EURO).await;
        assert_eq!((new.status, &new.receipt()["amount"]), (200, &"56820000".into()));
        let token = agent.token(&site).await;
        for bought in [&old, &new] {
            let path = format!("/get-card-data?card_id={}", bought.card());
            until("it is completed", async || {
                (site.get_as(&token, &path).await.body["status"] == "completed").then_some(())
            })
            .await;
        }
    }
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["entities"]["gift_cards"], 4);
    // Four times 54.21 for the cards. The rest is our fee, whichever rate applies.
    assert_eq!(report["balances"]["provider.gift_cards"], -4 * 54_210_000);
    assert_eq!(report["balances"]["fee_revenue"], -2 * (1_360_000 + 2_610_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn catalog_rate_never_exceeds_the_published_rate() {
    // Checks: A catalog rate above ours is neither shown nor charged.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    set_rate(&site, "0.5").await;
    let found = site.get("/search-gift-cards?q=Marche%20Lumiere&country=FR", &[]).await;
    assert_eq!(found.body["gift_cards"][0]["fee_rate"], json!(0.048), "{}", found.text);
    assert_eq!(price(&site.get(EURO, &[]).await), 56_820_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn paid_request_is_answered_whatever_the_catalog_does() {
    // Checks: The same payment is sent again, by both protocols: while the catalog is down, after the rate has changed,
    // and without an exchange rate. It gets the same gift card, pays once, and no response claims that nothing was
    // charged.
    let host = Host::new()
        .with("PURSER_RATES__REFRESH_INTERVAL_SECONDS", "1")
        .with("PURSER_RATES__MAX_AGE_SECONDS", "2");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let payment = agent.payment(&site, EURO).await;
    let bought = Agent::pay(&site, EURO, &payment).await;
    let credential = agent.credential(&site.get(EURO, &[]).await);
    let by_mpp = pay(&site, EURO, &credential).await;
    assert_eq!((bought.status, by_mpp.status), (200, 200), "{}", by_mpp.text);
    set_control(
        &site,
        "/sandbox/gift-cards",
        json!({"fault": "unreachable", "times": 0}),
    )
    .await;
    assert_eq!(site.get(EURO, &[]).await.code(), "catalog_unavailable");
    set_rate(&site, "0.048").await;
    set_control(&site, "/sandbox/rates", json!({"change": "unreachable", "times": 0})).await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    for (first, again) in [
        (&bought, Agent::pay(&site, EURO, &payment).await),
        (&by_mpp, pay(&site, EURO, &credential).await),
    ] {
        assert_eq!(again.status, 200, "{}", again.text);
        assert_eq!(again.body["gift_card"], first.body["gift_card"]);
        assert_eq!(again.receipt(), first.receipt());
        assert!(again.body["auth"].is_null());
    }
    // It doesn't pay for another gift card, and its own purchase stays.
    let other = Agent::pay(&site, DOLLAR, &payment).await;
    assert_eq!((other.status, other.code()), (503, "catalog_unavailable"));
    assert!(!other.text.contains("Nothing was charged"), "{}", other.text);
    set_control(&site, "/sandbox/gift-cards", json!({"fault": "clear"})).await;
    let other = Agent::pay(&site, DOLLAR, &payment).await;
    assert_eq!(
        (other.status, other.code()),
        (409, "payment_already_used"),
        "{}",
        other.text
    );
    assert_eq!(site.transfers().await.len(), 2);
    service.stop();
    assert_eq!(host.assert_verified()["entities"]["gift_cards"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_25_quote_names_its_exchange_rate_and_stale_rates_stop_sales() {
    // Checks: The challenge has rate, source and time. A source that is silent for too long stops sales in its
    // currencies, and only those, before settlement. An older quote still buys. The source's next report reopens the
    // sale.
    let host = Host::new()
        .with("PURSER_RATES__REFRESH_INTERVAL_SECONDS", "1")
        .with("PURSER_RATES__MAX_AGE_SECONDS", "4");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let priced = site.get(EURO, &[]).await;
    let named = json!({
        "currency": "EUR",
        "usdPerUnit": 1.0842,
        "source": "purser sandbox table",
        "asOf": "2026-11-20T00:00:00.000Z",
    });
    assert_eq!(priced.body["exchangeRate"], named, "{}", priced.text);
    let sentence = priced.body["resource"]["description"].as_str().unwrap();
    assert!(sentence.ends_with("at 1.0842 USD for 1 EUR (purser sandbox table, 2026-11-20T00:00:00.000Z)"));
    assert!(site.get(DOLLAR, &[]).await.body["exchangeRate"].is_null());
    let quote = required(&priced);
    set_control(&site, "/sandbox/rates", json!({"change": "unreachable", "times": 0})).await;
    let refused = until("the rate is too old", async || {
        let answer = site.get(EURO, &[]).await;
        (answer.status != 402).then_some(answer)
    })
    .await;
    assert_eq!(
        (refused.status, refused.code()),
        (503, "exchange_rate_unavailable"),
        "{}",
        refused.text
    );
    let bad = Agent::pay(&site, EURO, "bm8=").await;
    assert_eq!(
        (bad.status, bad.code()),
        (503, "exchange_rate_unavailable"),
        "no challenge either"
    );
    assert!(site.transfers().await.is_empty());
    assert_eq!(site.get(DOLLAR, &[]).await.status, 402);
    let old = Agent::pay(&site, EURO, &agent.sign(&quote)).await;
    assert_eq!(old.status, 200, "{}", old.text);
    set_control(&site, "/sandbox/rates", json!({"change": "clear"})).await;
    until("the source reports again", async || {
        (site.get(EURO, &[]).await.status == 402).then_some(())
    })
    .await;
    service.stop();
    host.assert_verified();
}
