//! Lookups before a purchase: merchants, gift cards, and the sandbox controls of the catalogs.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::operator_client::OperatorClient;
use super::outages::{available, line_status, not_sold, with_line_settings};
use super::precedence_table::PrecedenceTable;
use super::request::Request;

fn names<'a>(answer: &'a Response, list: &str, name: &str) -> Vec<&'a str> {
    let items = answer.body[list]
        .as_array()
        .unwrap_or_else(|| panic!("{}", answer.text));
    items.iter().map(|item| item[name].as_str().unwrap()).collect()
}

/// All pages of a list, concatenated.
async fn all_pages(site: &ServiceClient<'_>, path: &str, list: &str, id: &str) -> Vec<String> {
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let answer = site.get(&format!("{path}limit=100{after}"), &[]).await;
        let page = names(&answer, list, id);
        seen.extend(page.iter().map(|id| (*id).to_owned()));
        if answer.body["has_more"] == false {
            return seen;
        }
        after = format!("&starting_after={}", seen.last().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn catalog_lookup_errors_follow_precedence() {
    // Checks: Both catalogs return their errors in order, from the first wrong parameter to the result. None of them
    // needs an account.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let long = "x".repeat(101);
    site.post("/sandbox/merchants", &json!({"fault": "unreachable", "times": 1}))
        .await;
    let mut precedence = PrecedenceTable::of("GET /search-merchants", "search-merchants");
    let mut ask = Request::new("GET", "/search-merchants")
        .with("colour", "red")
        .with("card_type", "Gold")
        .with("limit", "0")
        .with("q", &long)
        .with("starting_after", "mer_ikea_com");
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("card_type", "Reloadable");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("limit", "2");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("q", "wallmart");
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("starting_after");
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();

    site.post(
        "/sandbox/gift-cards",
        &json!({"fault": "malformed_response", "times": 1}),
    )
    .await;
    let mut precedence = PrecedenceTable::of("GET /search-gift-cards", "search-gift-cards");
    let mut ask = Request::new("GET", "/search-gift-cards")
        .with("colour", "red")
        .with("country", "usa")
        .with("currency", "usd")
        .with("category", &long)
        .with("limit", "0")
        .with("q", &long)
        .with("starting_after", "gift_lumenflix_fr");
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("country", "AQ");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("country", "US");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("currency", "USD");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("category", "groceries");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("limit", "2");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("q", "fernhil grocers");
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("starting_after");
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn merchant_search_tolerates_misspellings() {
    // Checks: A name, a misspelling or an address finds the merchant, with the answer for the requested card. Unknown
    // and lookalike names give an `unknown` row with its meaning. Brands of one company are kept apart.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for q in [
        "walmart",
        "Wal-Mart%20Inc.",
        "wallmart",
        "https://www.walmart.com/ip/1?a=b%26c",
        "WALMART%20%231234",
    ] {
        let answer = site.get(&format!("/search-merchants?q={q}"), &[]).await;
        assert_eq!(names(&answer, "merchants", "name")[0], "Walmart", "{q}");
        assert_eq!(answer.body["merchants"][0]["status"], "accepted", "{q}");
        assert_eq!(answer.body["note"], Value::Null, "{q}");
    }
    let path = "/search-merchants?q=walmart&card_type=Non-Reloadable%20International";
    let abroad = site.get(path, &[]).await;
    assert_eq!(abroad.body["merchants"][0]["status"], "not_accepted");
    assert_eq!(abroad.body["card_type"], "Non-Reloadable International");
    for (q, expected) in [
        ("joes%20garage", "joes garage"),
        ("walmart-giftcards.com", "walmart-giftcards.com"),
        ("%3Cscript%3Ealert(1)%3C/script%3E", "<script>alert(1)</script>"),
        ("%1B%5B31m", "\u{1b}[31m"),
    ] {
        let answer = site.get(&format!("/search-merchants?q={q}"), &[]).await;
        let row = &answer.body["merchants"][0];
        assert_eq!(
            (answer.status, names(&answer, "merchants", "name")),
            (200, vec![expected]),
            "{q}"
        );
        assert_eq!((&row["status"], &row["url"]), (&json!("unknown"), &Value::Null), "{q}");
        assert!(
            row["notes"]
                .as_str()
                .is_some_and(|notes| notes.contains("says nothing")),
            "{q}"
        );
        assert!(
            answer.str("note").is_some_and(|note| note.contains("says nothing")),
            "{q}"
        );
        assert!(!answer.text.contains(['<', '\u{1b}']), "{q}");
    }
    let play = site.get("/search-merchants?q=google%20play", &[]).await;
    assert_eq!(names(&play, "merchants", "name")[0], "Google Play");
    assert!(!names(&play, "merchants", "name").contains(&"Google Store"));
    let all = all_pages(&site, "/search-merchants?", "merchants", "merchant_id").await;
    let distinct: std::collections::BTreeSet<_> = all.iter().collect();
    assert!(all.len() >= 500 && distinct.len() == all.len(), "{}", all.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn gift_card_search_filters_by_country_and_category() {
    // Checks: Borderless gift cards are listed in every country. Filters and facets agree, amounts keep their exact
    // digits, and the echoed query has no markup.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let all = all_pages(&site, "/search-gift-cards?", "gift_cards", "product_id").await;
    let distinct: std::collections::BTreeSet<_> = all.iter().collect();
    assert!(all.len() >= 200 && distinct.len() == all.len(), "{}", all.len());
    let facets = site.get("/search-gift-cards?limit=1", &[]).await.body["facets"].clone();
    let countries = facets["countries"].as_array().unwrap();
    assert!(countries.len() >= 30);
    for choice in countries {
        let country = choice["value"].as_str().unwrap();
        let found = all_pages(
            &site,
            &format!("/search-gift-cards?country={country}&"),
            "gift_cards",
            "product_id",
        )
        .await;
        assert_eq!(choice["count"], found.len(), "{country}");
        assert!(found.contains(&"gift_openhand_charity".to_owned()), "{country}");
    }
    let answer = site.get("/search-gift-cards?q=Denki%20Tsubame&country=JP", &[]).await;
    let exact = r#""currency":"JPY","amounts":[3000,7500,15000],"min_amount":3000,"max_amount":15000,"amount_step":null,"fee_rate":0.015"#;
    assert!(answer.text.contains(exact), "{}", answer.text);
    let odd = site
        .get("/search-gift-cards?q=%3Cb%3E%1B%5B31m&category=%3Ci%3E", &[])
        .await;
    assert_eq!(odd.body["filters"]["q"], "<b>\u{1b}[31m");
    assert_eq!(
        (odd.body["count"].as_u64(), odd.body["filters"]["category"].as_str()),
        (Some(0), Some("<i>"))
    );
    assert!(!odd.text.contains(['<', '\u{1b}']), "{}", odd.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn gift_card_search_matches_any_word_of_the_name() {
    // Checks: Any word matches: by its start, without accents, with a misspelling. Several words narrow the result. An
    // unknown word finds nothing.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (q, first) in [
        ("vpn", "Quietshield VPN"),
        ("coffee", "Copper Kettle Coffee"),
        ("coffee%20gift%20card", "Copper Kettle Coffee"),
        ("kettle", "Copper Kettle Coffee"),
        ("kett", "Copper Kettle Coffee"),
        ("lumiere", "Marché Lumière"),
        ("LUMI%C3%88RE%20march%C3%A9", "Marché Lumière"),
        ("noodel", "Noodle Lantern"),
        ("lantern%20japan", "Noodle Lantern"),
    ] {
        let answer = site.get(&format!("/search-gift-cards?q={q}"), &[]).await;
        assert_eq!(names(&answer, "gift_cards", "brand")[0], first, "{q}");
    }
    let one = site.get("/search-gift-cards?q=lantern%20japan", &[]).await;
    assert_eq!(names(&one, "gift_cards", "product_id"), ["gift_noodle_lantern_jp"]);
    let none = site.get("/search-gift-cards?q=kettle%20garage", &[]).await;
    assert_eq!(none.body["count"], 0);
}

const PRODUCT: &str = "gift_denki_tsubame_jp";

async fn assert_invalid_controls_rejected(site: &ServiceClient<'_>) {
    for (path, body, param) in [
        (
            "/sandbox/gift-cards",
            json!({"fault": "stock", "product_id": "gift_no", "stock": 1}),
            "product_id",
        ),
        (
            "/sandbox/gift-cards",
            json!({"fault": "stock", "product_id": PRODUCT}),
            "stock",
        ),
        (
            "/sandbox/gift-cards",
            json!({"fault": "price", "product_id": PRODUCT, "fee_rate": "1"}),
            "fee_rate",
        ),
        (
            "/sandbox/gift-cards",
            json!({"fault": "price", "product_id": PRODUCT, "fee_rate": "1e-3"}),
            "fee_rate",
        ),
        ("/sandbox/gift-cards", json!({"fault": "decline", "stock": 1}), "stock"),
        ("/sandbox/gift-cards", json!({"fault": "sulk"}), "fault"),
        (
            "/sandbox/merchants",
            json!({"fault": "unreachable", "delay_ms": 1}),
            "delay_ms",
        ),
        (
            "/sandbox/rates",
            json!({"change": "set", "currency": "USD", "usd_per_unit": "2"}),
            "currency",
        ),
        (
            "/sandbox/rates",
            json!({"change": "set", "currency": "EUR", "usd_per_unit": "0"}),
            "usd_per_unit",
        ),
        ("/sandbox/rates", json!({"change": "clear", "times": 1}), "times"),
    ] {
        let refused = site.post(path, &body).await;
        let error = (refused.status, refused.code(), refused.str("param"));
        assert_eq!(error, (400, "parameter_invalid", Some(param)), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_controls_change_the_catalogs() {
    // Checks: Stock and prices change at once and outlive the process. Faults and rates end with it. A wrong field
    // changes nothing.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let seen = async |site: &ServiceClient<'_>| {
        let answer = site.get("/search-gift-cards?q=Denki%20Tsubame&country=JP", &[]).await;
        let product = &answer.body["gift_cards"][0];
        (product["in_stock"].clone(), product["fee_rate"].to_string())
    };
    for (stock, in_stock) in [(1, true), (0, false)] {
        let set = json!({"fault": "stock", "product_id": PRODUCT, "stock": stock});
        assert_eq!(site.post("/sandbox/gift-cards", &set).await.status, 200);
        assert_eq!(seen(&site).await.0, in_stock);
    }
    let dearer = json!({"fault": "price", "product_id": PRODUCT, "fee_rate": "0.0475"});
    site.post("/sandbox/gift-cards", &dearer).await;
    site.post("/sandbox/gift-cards", &json!({"fault": "decline", "times": 2}))
        .await;
    let moved = json!({"change": "set", "currency": "JPY", "usd_per_unit": "0.0071"});
    let state = site.post("/sandbox/rates", &moved).await.body;
    assert_eq!(state["rates"]["usd_per_unit"]["JPY"], "0.0071");
    assert_ne!(state["rates"]["as_of"], "2026-11-20T00:00:00.000Z");
    assert_invalid_controls_rejected(&site).await;
    let after = site.get("/sandbox/catalogs", &[]).await.body;
    assert_eq!(after, state, "a rejected change has no effect");
    service.stop();

    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_eq!(seen(&site).await, (json!(false), "0.0475".to_owned()));
    let state = site.get("/sandbox/catalogs", &[]).await.body;
    assert_eq!(state["gift_cards"]["faults"], json!([]));
    assert_eq!(state["rates"]["as_of"], "2026-11-20T00:00:00.000Z");
    assert_eq!(state["magic_products"].as_array().unwrap().len(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn catalog_failures_before_the_claim_close_the_line() {
    // Checks: Orders that fail before a claim count like failed deliveries. The line closes and prices say so. One
    // order after the catalog recovers opens it.
    const GIFT: &str = "/order-gift-card?product_id=gift_marche_lumiere_fr&amount=50&country=FR";
    let host = with_line_settings("1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let payment = agent.payment(&site, GIFT).await;
    let fault = async |fault: Value| assert_eq!(site.post("/sandbox/gift-cards", &fault).await.status, 200);
    fault(json!({"fault": "unreachable", "times": 0})).await;
    for failures in 1..=3 {
        let away = Agent::pay(&site, GIFT, &payment).await;
        assert_eq!(
            (away.status, away.code()),
            (503, "catalog_unavailable"),
            "{}",
            away.text
        );
        assert_eq!(line_status(&operator, "gift_card").await["failures"], failures);
    }
    assert_eq!(line_status(&operator, "gift_card").await["status"], "failing");
    assert_eq!(available(&site, "gift_card").await, false);
    assert_eq!(available(&site, "usa_prepaid_card").await, true);
    fault(json!({"fault": "clear"})).await;
    let bought = until("one order is sold to try it with", async || {
        let answer = Agent::pay(&site, GIFT, &payment).await;
        match answer.status {
            200 => Some(answer),
            _ => {
                not_sold(&answer);
                None
            }
        }
    })
    .await;
    assert!(bought.body.get("auth").is_some(), "{}", bought.text);
    until("the line is open", async || {
        (line_status(&operator, "gift_card").await["status"] == "open").then_some(())
    })
    .await;
    assert_eq!(available(&site, "gift_card").await, true);
    service.stop();
    host.assert_verified();
}
