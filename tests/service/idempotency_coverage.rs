//! Every route that changes state and how it avoids duplicates: `docs/idempotency.md`, compared with the router.

use std::collections::BTreeMap;

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::admin::ADMIN;
use super::agent::Agent;
use super::banking::{profile, result};
use super::host::Host;
use super::http::{Response, ServiceClient, send};

/// The rows of the page's tables: a route and its mechanism.
fn listed() -> BTreeMap<String, String> {
    let page = include_str!("../../docs/idempotency.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| {
        let (route, rest) = row.split_once("` | ")?;
        Some((route.to_owned(), rest.trim_end_matches(" |").to_owned()))
    })
    .collect()
}

/// The row of a route, or of all routes below its path.
fn row<'a>(listed: &'a BTreeMap<String, String>, route: &str) -> Option<(&'a String, &'a String)> {
    let beneath = route.rsplit_once('/').map(|(folder, _)| format!("{folder}/*"));
    listed.get_key_value(route).or_else(|| listed.get_key_value(&beneath?))
}

#[tokio::test(flavor = "multi_thread")]
async fn list_of_keyed_routes_is_complete_and_correct() {
    // Checks: Every route that changes state is listed, including new ones. Routes with a key are documented with it
    // and read it; the others do neither.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let listed = listed();
    let mut unmet: Vec<&String> = listed.keys().collect();
    let document = site.document().await;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let paid = operation.get("x-payment-info").is_some();
            if method == "get" && !paid {
                continue;
            }
            let route = format!("{} {path}", method.to_uppercase());
            let (name, says) =
                row(&listed, &route).unwrap_or_else(|| panic!("{route}: what keeps it from being done twice?"));
            unmet.retain(|other| *other != name);
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let documented = parameters
                .clone()
                .any(|parameter| parameter["name"] == "Idempotency-Key");
            let request = site.request(&method.to_uppercase(), path).bearer_auth(&token);
            let request = request.header("idempotency-key", "k".repeat(256));
            let answer = send(request.body("{}")).await.unwrap();
            let looked_at = answer.code() == "idempotency_key_invalid";
            let expected = (says == "key", says == "key", says == "payment");
            assert_eq!((documented, looked_at, paid), expected, "{route}: {}", answer.text);
        }
    }
    for (method, path) in ADMIN.iter().filter(|(method, _)| *method != "GET") {
        let (name, says) = row(&listed, &format!("{method} {path}")).unwrap_or_else(|| panic!("{path} is not listed"));
        unmet.retain(|other| *other != name);
        assert!(!["key", "payment"].contains(&says.as_str()), "{path}");
    }
    // Sign-in of operators: no role, and nothing that a key could repeat.
    unmet.retain(|route| !route.starts_with("POST /desk/"));
    assert!(unmet.is_empty(), "there are no such routes: {unmet:?}");
}

async fn keyed(site: &ServiceClient<'_>, token: &str, function: &str, key: &str, data: &Value) -> Response {
    let request = site.request("POST", &format!("/{function}")).bearer_auth(token);
    let request = request.header("idempotency-key", key);
    send(request.body(json!({ "data": data }).to_string())).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn fingerprint_covers_every_digit_of_an_account_number() {
    // Checks: Correcting a digit that is never shown makes another request. The same number is a replay, also over a
    // restart.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    result(&site, &token, "createBankingProfile", profile()).await;
    let to = |number: &str| json!({"type": "fiat_us", "bankName": "First", "routingNumber": "021000021", "accountNumber": number});
    let recipient = |number: &str| json!({"name": "Ada", "destination": to(number)});
    let made = keyed(
        &site,
        &token,
        "createBankingRecipient",
        "one",
        &recipient("000123456789"),
    )
    .await;
    assert_eq!(made.status, 200, "{}", made.text);
    let id = made.body["result"]["recipientId"].as_str().unwrap().to_owned();
    let added = |number: &str| json!({"recipientId": id, "destination": to(number)});
    let tax = |number: &str| json!({"taxId": number});
    let calls = [
        (
            "createBankingRecipient",
            "one",
            recipient("000123456789"),
            recipient("000173456789"),
        ),
        (
            "addBankingDestination",
            "two",
            added("9000123456789"),
            added("9000173456789"),
        ),
        (
            "updateBankingApplicationDetails",
            "three",
            tax("123456789"),
            tax("173456789"),
        ),
    ];
    for (function, key, first, corrected) in &calls {
        let answer = keyed(&site, &token, function, key, first).await;
        assert_eq!(answer.status, 200, "{function}: {}", answer.text);
        let other = keyed(&site, &token, function, key, corrected).await;
        assert_eq!(
            (other.status, other.code()),
            (422, "idempotency_key_reused"),
            "{function}"
        );
    }
    let recipients = result(&site, &token, "listBankingRecipients", json!({})).await;
    assert_eq!(recipients["recipients"][0]["destinations"].as_array().unwrap().len(), 2);
    service.stop();

    let service = host.start();
    let site = ServiceClient::of(&service);
    for (function, key, first, _) in &calls {
        let again = keyed(&site, &token, function, key, first).await;
        assert_eq!(
            (again.status, again.header("idempotency-replayed")),
            (200, Some("true")),
            "{function}"
        );
    }
    service.stop();
}
