//! Where products are available: `/get-supported-countries` publishes exactly what is enforced, whatever the settings.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::ServiceClient;
use super::recipient::{debit_card, enter};

/// This catalog product is redeemable everywhere, so only our own table can reject a country.
const BORDERLESS: &str = "/order-gift-card?product_id=gift_quietshield_vpn&amount=15";
/// Countries served by default, countries never served, and an invalid code.
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
async fn published_countries_are_the_served_countries() {
    // Checks: With the default list and two others: a country in the published list gets a price. Any other is rejected
    // before that, with a pointer to the list.
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
            let error = (answer.status, answer.code(), answer.str("param"));
            assert_eq!(
                error,
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
async fn app_without_countries_is_not_sold() {
    // Checks: An app without a country in the published table is rejected before there is a price. The other app is
    // offered.
    let host = Host::new().with("PURSER_PRODUCTS__APP_PAYMENT__COUNTRIES_BY_PLATFORM__VENMO", "[]");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let countries = published(&site, "app_payment").await["countries_by_platform"].clone();
    assert_eq!(countries["venmo"], json!([]));
    assert!(countries["paypal"].as_array().unwrap().len() > 1, "{countries}");
    for (platform, expected) in [
        ("venmo", (400, "country_not_served")),
        ("paypal", (402, "payment_required")),
    ] {
        let path = format!(
            "/send-payment?amount=5&platform={platform}&recipient_id=@ada&recipient_first_name=Ada\
             &recipient_last_name=Lovelace&recipient_email=ada@example.com"
        );
        let answer = site.get(&path, &[]).await;
        assert_eq!((answer.status, answer.code()), expected, "{platform}: {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn debit_card_payout_follows_the_published_country_table() {
    // Checks: A different country table for dollars is published, and the recipient's form accepts exactly the cards of
    // its countries.
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
