//! Free routes: prices, countries, versions, health and documents.

use serde_json::Value;

use crate::harness::Harness;

// Checks: the published price entries have the exact numbers of the contract. Products that are not sold yet are listed
// as such.
#[tokio::test]
async fn prices_match_the_contract() {
    let world = Harness::start().await;
    let answer = world.get("/get-pricing").await;
    let card = r#"{"product":"usa_prepaid_card","route":"/get-card","amount_currencies":["USD"],"min_amount":5,"max_amount":1000,"fee_rate":0,"min_fee":0,"note":null,"available":true}"#;
    assert!(answer.body.contains(card), "{}", answer.body);
    for exact in [
        r#""fee_rate":0.0025,"min_fee":1.5"#,
        r#""max_amount":9541.98"#,
        r#""amount_currencies":null"#,
    ] {
        assert!(answer.body.contains(exact), "{exact}");
    }
    let json = answer.json();
    assert!(json["note"].is_string());
    assert_eq!(json["products"].as_array().unwrap().len(), 7);
}

// Checks: countries have the format of the contract: null without a fixed list, by currency, by app.
#[tokio::test]
async fn countries_are_by_product_currency_and_app() {
    let world = Harness::start().await;
    let json = world.get("/get-supported-countries").await.json();
    let of = |name: &str| {
        json["products"]
            .as_array()
            .unwrap()
            .iter()
            .find(|p| p["product"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(of("usa_prepaid_card")["countries"], serde_json::json!(["US"]));
    assert!(of("intl_prepaid_card")["countries"].is_null());
    assert_eq!(
        of("push_to_card")["countries_by_currency"]["GBP"],
        serde_json::json!(["GB"])
    );
    assert!(
        of("push_to_card")["countries"]
            .as_array()
            .unwrap()
            .contains(&"US".into())
    );
    let apps = of("app_payment")["countries_by_platform"].clone();
    assert_eq!(apps["venmo"], serde_json::json!(["US"]));
    assert!(apps["paypal"].as_array().unwrap().len() > 10);
    assert!(of("usa_prepaid_card").get("countries_by_platform").is_none());
}

// Checks: the header and the page show the same version, and the policy names what is being retired.
#[tokio::test]
async fn version_is_the_same_in_header_and_page() {
    let world = Harness::start().await;
    let answer = world.get("/version").await;
    let json = answer.json();
    assert_eq!(json["api_version"], answer.header("x-service-api-version"));
    assert_eq!(json["docs_version"], answer.header("x-service-docs-version"));
    assert_eq!(json["policy"]["deprecated_routes"][0]["successor"], "/auth");
    assert_eq!(json["contact"], serde_json::Value::Null);
}

// Checks: the document is OpenAPI 3.1. Its hash changes with its text, but not with the address that serves it.
#[tokio::test]
async fn openapi_document_is_generated_and_hashed() {
    use purser::http::openapi::ApiDocuments;
    let world = Harness::start().await;
    let json = world.get("/openapi.json").await.json();
    assert_eq!(json, world.document);
    assert!(json["openapi"].as_str().unwrap().starts_with("3.1"));
    for path in [
        "/get-pricing",
        "/get-supported-countries",
        "/version",
        "/events",
        "/stream",
        "/healthz",
    ] {
        assert!(json["paths"][path]["get"]["responses"].is_object(), "{path}");
    }
    let version_of = |clients: &Value, pages: &[&[u8]]| {
        let (clients, others) = (clients.clone(), Value::Null);
        ApiDocuments { clients, others }.version(pages)
    };
    let version = version_of(&json, &[]);
    assert!(version.len() == 12 && version.bytes().all(|b| b.is_ascii_hexdigit()));
    let mut moved = json.clone();
    moved["servers"][0]["url"] = "https://other.example".into();
    assert_eq!(version_of(&moved, &[]), version);
    moved["info"]["description"] = "other words".into();
    assert_ne!(version_of(&moved, &[]), version);
    assert_ne!(version_of(&json, &[b"a page"]), version);
}
