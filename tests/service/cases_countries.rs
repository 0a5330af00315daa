//! Where products are served: what `/get-supported-countries` publishes is what is enforced, whatever the settings say.

use serde_json::{Value, json};

use super::host::Host;
use super::wire::Site;

/// Redeemed everywhere, so that nothing but our own table can refuse a country.
const BORDERLESS: &str = "/order-gift-card?product_id=gift_quietshield_vpn&amount=15";
/// Served by default, served nowhere, and no country at all.
const ASKED: [&str; 8] = ["US", "FR", "GB", "JP", "AQ", "KP", "RU", "ZZ"];

async fn published(site: &Site<'_>, product: &str) -> Value {
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
        let site = Site::of(&service);
        let countries = published(&site, "gift_card").await["countries"].clone();
        let countries = countries.as_array().unwrap();
        assert!(countries.contains(&json!(some)), "{countries:?}");
        for code in ASKED {
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
