//! Banking over HTTP: from a profile to money that moves.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::wire::{Answer, Site, send};

/// Calls a function. The answer was held against the document.
pub(crate) async fn call(site: &Site<'_>, token: &str, name: &str, data: Value) -> Answer {
    let request = site.request("POST", &format!("/{name}")).bearer_auth(token);
    send(request.json(&json!({"data": data}))).await.unwrap()
}

/// What a call came to.
pub(crate) async fn result(site: &Site<'_>, token: &str, name: &str, data: Value) -> Value {
    let answer = call(site, token, name, data).await;
    assert_eq!(answer.status, 200, "{name}: {}", answer.text);
    answer.body["result"].clone()
}

pub(crate) fn person() -> Value {
    json!({"firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com", "country": "US"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_is_one_accounts_own() {
    // Aim: two accounts have their own profile or none; a payment-born token may read and make one; markup stays text.
    let service = Host::new().start();
    let site = Site::of(&service);
    let (ada, bob) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let bought = ada.buy(&site, "/get-card?amount=5").await;
    let born = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let mut data = person();
    data["lastName"] = json!("<b>Lovelace");
    let made = result(&site, &born, "createBankingProfile", data).await;
    assert_eq!(made["profile"]["lastName"], "<b>Lovelace");
    let (ada, bob) = (ada.token(&site).await, bob.token(&site).await);
    let own = result(&site, &ada, "getBankingProfileStatus", json!(null)).await;
    assert_eq!((&own["status"], &own["profile"]), (&json!("open"), &made["profile"]));
    let other = result(&site, &bob, "getBankingProfileStatus", json!({})).await;
    assert_eq!((&other["status"], &other["profile"]), (&json!("none"), &Value::Null));
    let events = site.events(&ada, 0).await;
    assert!(events.iter().any(|event| event["type"] == "banking_profile.created"));
    assert!(
        site.events(&bob, 0)
            .await
            .iter()
            .all(|event| event["type"] != "banking_profile.created")
    );
}
