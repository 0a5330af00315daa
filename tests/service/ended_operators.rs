//! What an operator leaves behind whose access has ended.

use purser_actors::id::Network;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::admin::admin;
use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, send};
use super::operator_client::OperatorClient;
use super::reloadable_cards::{loaded, post_with_key};
use super::top_up::start;

/// Who holds each order in the queue, and who each withdrawal.
async fn holders(operator: &OperatorClient<'_>) -> (Vec<Value>, Vec<Value>) {
    let held = |rows: &Value| {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["leased_by"].clone()).collect()
    };
    let orders = operator.get("/admin/intl-orders").await.body;
    let withdrawals = operator.get("/admin/card-withdrawals").await.body;
    (held(&orders["orders"]), held(&withdrawals["withdrawals"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_end_with_their_operator() {
    // Checks: When a token is revoked, what its operator had claimed has no holder and can be claimed by others, who keep
    // their own claims. The old number does nothing, and the owner can't cancel: the card may be on its way. A token that
    // is taken out of the settings loses its claims at the next start.
    let (mut host, service) = start();
    service.stop();
    let hash = hex::encode(Sha256::digest("a token of the settings"));
    let tokens = format!("[{{ name = \"sam\", role = \"operator\", sha256 = \"{hash}\" }}]");
    host.set("PURSER_OPERATOR__TOKENS", &tokens);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let boss = OperatorClient::first(&host, &service);
    let ana = boss.add_operator("ana", "operator").await;
    let ben = boss.add_operator("ben", "operator").await;
    let sam = OperatorClient::of(&service, "a token of the settings");
    let mut orders = Vec::new();
    let buyer = Agent::new(Network::Base);
    for _ in 0..3 {
        let bought = buyer.buy(&site, "/order-intl-card?amount=100").await;
        assert_eq!(bought.status, 200, "{}", bought.text);
        let id = bought.body["intl_card_order"]["card_id"].as_str().unwrap();
        orders.push(id.to_owned());
    }
    let (owner, token) = loaded(&site, Network::Base, 100).await;
    let body = json!({"amount": 30, "destination_address": owner.address()});
    let asked = post_with_key(&site, &token, "/withdraw-card-balance", None, &body).await;
    assert_eq!(asked.status, 202, "{}", asked.text);
    let withdrawal = json!({"withdrawal_id": asked.body["withdrawal"]["id"]});

    for (operator, order) in [&ana, &ben, &sam].into_iter().zip(&orders) {
        assert_eq!(operator.claim(order).await, 1);
    }
    ana.done("/admin/card-withdrawals/claim", withdrawal.clone()).await;
    let held = vec![json!("ana"), json!("ben"), json!("sam")];
    assert_eq!(holders(&boss).await, (held, vec![json!("ana")]));
    boss.done("/admin/tokens/revoke", json!({"name": "ana"})).await;
    let held = vec![Value::Null, json!("ben"), json!("sam")];
    assert_eq!(holders(&boss).await, (held, vec![Value::Null]));

    let wallet = buyer.token(&site).await;
    let cancel = site.request("POST", "/cancel-intl-order").bearer_auth(&wallet);
    let cancel = send(cancel.body(json!({"card_id": orders[0]}).to_string()))
        .await
        .unwrap();
    assert_eq!(
        (cancel.status, cancel.code()),
        (409, "not_cancellable"),
        "{}",
        cancel.text
    );
    let no = json!({"withdrawal_id": withdrawal["withdrawal_id"], "reason": "Not paid."});
    let early = ben.post("/admin/card-withdrawals/reject", no).await;
    assert_eq!(
        early.code(),
        "lease_stale",
        "only who has claimed it may say that it was not paid"
    );
    assert_eq!(ben.claim(&orders[0]).await, 2);
    ben.done("/admin/card-withdrawals/claim", withdrawal).await;
    assert_eq!(ben.fulfil(&orders[0], 1).await.code(), "lease_stale");
    assert_eq!(ben.fulfil(&orders[0], 2).await.status, 200);
    // Again: what others claimed since stays theirs.
    boss.done("/admin/tokens/revoke", json!({"name": "ana"})).await;
    let held = vec![json!("ben"), json!("sam")];
    assert_eq!(holders(&boss).await, (held, vec![json!("ben")]));

    drop(site);
    service.stop();
    host.unset("PURSER_OPERATOR__TOKENS");
    let service = host.start();
    let boss = OperatorClient::first(&host, &service);
    let held = vec![json!("ben"), Value::Null];
    assert_eq!(holders(&boss).await, (held, vec![json!("ben")]));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn last_administrator_cannot_be_revoked() {
    // Checks: The only administrator, by the API and the command line: 409, and the token works. Of two who revoke each
    // other at the same time, one stays. An administrator of the settings is enough. A first token that is lost is
    // replaced by a restart without its file, and the old one can then be revoked.
    let mut host = Host::new();
    let service = host.start();
    let first = OperatorClient::first(&host, &service);
    let named = async |operator: &OperatorClient<'_>, role: &str| {
        let tokens = operator.get("/admin/tokens").await.body["tokens"].clone();
        let open = tokens.as_array().unwrap().iter();
        let open = open.filter(|token| token["role"] == role && token["revoked"] == false);
        open.map(|token| token["name"].clone()).collect::<Vec<_>>()
    };
    let own = named(&first, "administrator").await.remove(0);
    first.add_operator("ana", "operator").await;
    let refused = first.post("/admin/tokens/revoke", json!({"name": own})).await;
    assert_eq!(
        (refused.status, refused.code()),
        (409, "last_administrator"),
        "{}",
        refused.text
    );
    let printed = admin(&host, &service, &["tokens", "revoke", own.as_str().unwrap()], "").unwrap_err();
    assert!(printed.contains("last_administrator"), "{printed}");
    first.done("/admin/tokens/revoke", json!({"name": "ana"})).await;
    assert_eq!(named(&first, "administrator").await, std::slice::from_ref(&own));

    let ben = first.add_operator("ben", "administrator").await;
    let (of_ben, of_first) = tokio::join!(
        first.post("/admin/tokens/revoke", json!({"name": "ben"})),
        ben.post("/admin/tokens/revoke", json!({"name": own})),
    );
    let revoked = [of_ben.status, of_first.status]
        .iter()
        .filter(|status| **status == 200)
        .count();
    assert_eq!(revoked, 1, "{} {}", of_ben.text, of_first.text);
    service.stop();

    std::fs::remove_file(host.data().join("operator.token")).unwrap();
    let service = host.start();
    let second = OperatorClient::first(&host, &service);
    let administrators = named(&second, "administrator").await;
    assert_eq!(administrators.len(), 2, "{administrators:?}");
    let new = administrators
        .iter()
        .find(|name| **name != own && **name != "ben")
        .unwrap()
        .clone();
    for old in administrators.iter().filter(|name| **name != new) {
        second.done("/admin/tokens/revoke", json!({"name": old})).await;
    }
    let refused = second.post("/admin/tokens/revoke", json!({"name": new})).await;
    assert_eq!(refused.code(), "last_administrator", "{}", refused.text);
    service.stop();

    let hash = hex::encode(Sha256::digest("a token of the settings"));
    let tokens = format!("[{{ name = \"sam\", role = \"administrator\", sha256 = \"{hash}\" }}]");
    host.set("PURSER_OPERATOR__TOKENS", &tokens);
    let service = host.start();
    let sam = OperatorClient::of(&service, "a token of the settings");
    sam.done("/admin/tokens/revoke", json!({"name": new})).await;
    assert_eq!(named(&sam, "administrator").await, [json!("sam")]);
    service.stop();
}
