//! Where products are served: what `/get-supported-countries` publishes is what is enforced, whatever the settings say.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::ServiceClient;
use super::recipient::{debit_card, enter};

/// Redeemed everywhere, so that nothing but our own table can refuse a country.
const BORDERLESS: &str = "/order-gift-card?product_id=gift_quietshield_vpn&amount=15";
/// Served by default, served nowhere, and no country at all.
const CANDIDATE_CODES: [&str; 8] = ["US", "FR", "GB", "JP", "AQ", "KP", "RU", "ZZ"];

async fn published(site: &ServiceClient<'_>, product: &str) -> Value {
    let body = site.get("/get-supported-countries", &[]).await.body;
    let products = body["products"].as_array().unwrap();
    products
        .iter()
        .find(|entry| entry["product"] == product)
        .unwrap()
        .clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_countries_that_are_published_are_those_that_are_served() {
    // Aim: with the service's own list and with two others: a country in the published list gets a price, and any other is
    // refused before there is one, with the way to the list.
    for (setting, some) in [(None, "US"), (Some(r#"["FR"]"#), "FR"), (Some(r#"["AQ", "JP"]"#), "AQ")] {
        let host = Host::new();
        let host = match setting {
            Some(countries) => host.with("PURSER_PRODUCTS__GIFT_CARD__COUNTRIES", countries),
            None => host,
        };
        let service = host.start();
        let site = ServiceClient::of(&service);
        let countries = published(&site, "gift_card").await["countries"].clone();
        let countries = countries.as_array().unwrap();
        assert!(countries.contains(&json!(some)), "{countries:?}");
        for code in CANDIDATE_CODES {
            let answer = site.get(&format!("{BORDERLESS}&country={code}"), &[]).await;
            if countries.contains(&json!(code)) {
                assert_eq!(answer.status, 402, "{code}: {}", answer.text);
                continue;
            }
            let told = (answer.status, answer.code(), answer.str("param"));
            assert_eq!(
                told,
                (400, "country_not_served", Some("country")),
                "{code}: {}",
                answer.text
            );
            assert!(
                answer.str("hint").unwrap().contains("/get-supported-countries"),
                "{}",
                answer.text
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_pays_nowhere_is_not_sold() {
    // Aim: an app without a country in the published table is refused before there is a price; the other is sold.
    let host = Host::new().with("PURSER_PRODUCTS__APP_PAYMENT__COUNTRIES_BY_PLATFORM__VENMO", "[]");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let countries = published(&site, "app_payment").await["countries_by_platform"].clone();
    assert_eq!(countries["venmo"], json!([]));
    assert!(countries["paypal"].as_array().unwrap().len() > 1, "{countries}");
    for (platform, told) in [
        ("venmo", (400, "country_not_served")),
        ("paypal", (402, "payment_required")),
    ] {
        let path = format!(
            "/send-payment?amount=5&platform={platform}&recipient_id=@ada&recipient_first_name=Ada\
             &recipient_last_name=Lovelace&recipient_email=ada@example.com"
        );
        let answer = site.get(&path, &[]).await;
        assert_eq!((answer.status, answer.code()), told, "{platform}: {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_debit_card_is_paid_where_the_published_table_says() {
    // Aim: another table for dollars than the default: it is published, and the recipient's form takes the cards that are in it
    // and no others.
    let table = r#"{ USD = ["GB"], EUR = ["US"], GBP = ["DE"] }"#;
    let host = Host::new().with("PURSER_PRODUCTS__PUSH_TO_CARD__COUNTRIES_BY_CURRENCY", table);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let countries = published(&site, "push_to_card").await["countries_by_currency"].clone();
    assert_eq!(countries["USD"], json!(["GB"]));
    let bought = Agent::new(Network::Base)
        .buy(&site, "/get-push-to-card?amount=10&currency=USD")
        .await;
    let link = bought.str("redemption_url").unwrap();
    for (country, status) in [("840", 422), ("276", 422), ("826", 200)] {
        let answer = enter(&site, link, &debit_card(country), "12/31").await;
        assert_eq!(answer.status, status, "{country}: {}", answer.text);
    }
}
