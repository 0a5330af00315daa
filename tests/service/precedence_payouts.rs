//! Error precedence of payouts.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, until};
use super::owner::Owner;
use super::precedence_table::{PrecedenceTable, snapshot};
use super::recipient::register;
use super::request::Request;

const WHY: &str = "Please write to us.";

#[tokio::test(flavor = "multi_thread")]
async fn push_to_card_errors_follow_precedence() {
    // Checks: parameters, then payer, then chain; the last, valid request buys the payout.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let other = Agent::new(Network::Solana).token(&site).await;
    agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /get-push-to-card", "get-push-to-card");
    let mut ask = Request::new("GET", "/get-push-to-card").with("colour", "red");
    ask.bearer(&other);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("amount", "9.99");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("amount", "25");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("currency", "usd");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("currency", "GBP");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("payment-signature", &agent.payment(&site, &ask.target()).await);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("authorization", "");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    assert!(site.transfers().await.is_empty(), "nothing was charged so far");
    site.chain_fault(json!({"fault": "insufficient", "times": 1})).await;
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn bank_payment_errors_follow_precedence() {
    // Checks: parameters, then payer, then the destination, before any charge.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let stranger = Agent::new(Network::Base);
    let (mine, theirs) = (register(&site, &agent).await, register(&site, &stranger).await);
    let other = stranger.token(&site).await;
    agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /send-bank-payment", "send-bank-payment");
    let mut ask = Request::new("GET", "/send-bank-payment")
        .with("color", "red")
        .with("amount", "1e3");
    ask.bearer(&other);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("color");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("amount", "2000");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("destination_id", "rent");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("destination_id", &theirs);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("payment-signature", &agent.payment(&site, &ask.target()).await);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("authorization", "");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    assert!(site.transfers().await.is_empty(), "nothing was charged so far");
    ask.set("destination_id", &mine);
    ask.header("payment-signature", &agent.payment(&site, &ask.target()).await);
    site.chain_fault(json!({"fault": "insufficient", "times": 1})).await;
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn payout_status_errors_follow_precedence() {
    // Checks: token, parameters, account, payout, owner.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (agent, stranger) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let mut payouts = Vec::new();
    for buyer in [&agent, &stranger] {
        let bought = buyer.buy(&site, "/get-push-to-card?amount=25&currency=USD").await;
        payouts.push(bought.str("payout_id").unwrap().to_owned());
    }
    let token = agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /get-payment-status", "get-payment-status");
    let mut ask = Request::new("GET", "/get-payment-status")
        .with("id", "5")
        .with("payout_id", "po_5");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("id");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.set("payout_id", &payouts[1]);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("payout_id", &payouts[0]);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

/// An app payment of five dollars.
const APP: &str = "/send-payment?amount=5&platform=paypal&recipient_id=ada&recipient_first_name=Ada\
                   &recipient_last_name=Lovelace&recipient_email=ada@example.com";

/// Two verified accounts with a saved recipient each, the first of them frozen. Returns agent, token and recipients.
async fn two_payers(site: &ServiceClient<'_>) -> (Agent, String, Vec<String>) {
    let (agent, stranger) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let mut saved = Vec::new();
    for buyer in [&agent, &stranger] {
        let token = buyer.token(site).await;
        Owner::by_token(site, &token).await.verify(site, &token).await;
        let bought = buyer.buy(site, APP).await;
        saved.push(bought.body["payment"]["recipient_id"].as_str().unwrap().to_owned());
    }
    let token = agent.token(site).await;
    for (buyer, id) in [(&agent, &saved[0]), (&stranger, &saved[1])] {
        let token = buyer.token(site).await;
        until("the recipient", async || {
            let list = site.get_as(&token, "/payment-recipients").await;
            list.text.contains(id.as_str()).then_some(())
        })
        .await;
    }
    site.freeze(&agent.address(), Some(WHY)).await;
    (agent, token, saved)
}

#[tokio::test(flavor = "multi_thread")]
async fn app_payment_errors_follow_precedence() {
    // Checks: parameters, payer, identity, recipient, chain; nothing settles before the last rules.
    let service = Host::new()
        .with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10")
        .start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let other = Agent::new(Network::Solana).token(&site).await;
    let token = agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /send-payment", "send-payment");
    let mut ask = Request::new("GET", "/send-payment")
        .with("note", "rent")
        .with("amount", "4.99");
    ask.bearer(&other);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("note");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("amount", "5");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("platform", "cash");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("platform", "paypal");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("recipient_id", "rcp_00000000000000000000000000000001");
    ask.set("recipient_first_name", "Ada");
    ask.set("recipient_last_name", "Lovelace");
    ask.set("recipient_email", "ada@example");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("recipient_email", "ada@example.com");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("payment-signature", &agent.payment(&site, &ask.target()).await);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("authorization", "");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    precedence.assert_next(&ask.send(&site).await);
    assert!(site.transfers().await.is_empty(), "nothing was charged so far");
    let bob = "/send-payment?amount=5&platform=paypal&recipient_id=bob&recipient_first_name=Bob&recipient_last_name=Noyce\
               &recipient_email=bob@example.com";
    let saved = agent.buy(&site, bob).await;
    ask.set("recipient_id", saved.body["payment"]["recipient_id"].as_str().unwrap());
    ask.header("payment-signature", &agent.payment(&site, &ask.target()).await);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("recipient_id", "ada");
    ask.header("payment-signature", &agent.payment(&site, &ask.target()).await);
    site.chain_fault(json!({"fault": "insufficient", "times": 1})).await;
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn recipient_update_errors_follow_precedence() {
    // Checks: token, key, body, its fields, account, key reuse, recipient, owner.
    let service = Host::new()
        .with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10")
        .start();
    let site = ServiceClient::of(&service);
    let (agent, token, saved) = two_payers(&site).await;
    let mut precedence = PrecedenceTable::of("POST /payment-recipients", "post-payment-recipients");
    let mut ask = Request::new("POST", "/payment-recipients");
    ask.header("idempotency-key", &"x".repeat(256));
    ask.text("[");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"recipient_id": "rcp_5"}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"recipient_id": "rcp_5", "platform": "paypal", "display_name": 5, "archived": null}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"recipient_id": "rcp_5", "platform": "paypal", "display_name": "Ada", "archived": null}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"recipient_id": "rcp_5", "platform": "paypal"}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"recipient_id": "rcp_5", "platform": "paypal", "display_name": "Ada", "archived": true}));
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    let mut used = ask.clone();
    used.body(&json!({"recipient_id": saved[0], "platform": "paypal", "display_name": "Ada"}));
    assert_eq!(used.send_and_check(&site).await.status, 200);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "new");
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"recipient_id": saved[1], "platform": "paypal", "display_name": "Ada", "archived": true}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"recipient_id": saved[0], "platform": "paypal", "display_name": "Ada", "archived": true}));
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
    used.body(&json!({"display_name": "Ada", "platform": "paypal", "recipient_id": saved[0]}));
    snapshot("post-payment-recipients.200-replayed", &used.send(&site).await);
    let now = site.get_as(&token, "/payment-recipients").await;
    assert_eq!(now.body["recipients"], json!([]), "the recipient stays hidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn recipient_deletion_errors_follow_precedence() {
    // Checks: token, key, parameters, account, kind of token, key reuse, recipient, owner. A retry replays the first
    // response after the recipient is deleted.
    let service = Host::new()
        .with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10")
        .start();
    let site = ServiceClient::of(&service);
    let (agent, token, saved) = two_payers(&site).await;
    let mut precedence = PrecedenceTable::of("DELETE /payment-recipients", "delete-payment-recipients");
    let mut ask = Request::new("DELETE", "/payment-recipients").with("all", "true");
    ask.header("idempotency-key", &"x".repeat(256));
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("all");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("platform", "venmo");
    ask.set("recipient_id", &saved[0]);
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    ask.bearer(bought.body["auth"]["id_token"].as_str().unwrap());
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    let mut other = Request::new("POST", "/payment-recipients");
    other.bearer(&token);
    other.header("idempotency-key", "used");
    other.body(&json!({"recipient_id": saved[0], "platform": "paypal", "display_name": "Ada"}));
    assert_eq!(other.send_and_check(&site).await.status, 200);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "new");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("platform", "paypal");
    ask.set("recipient_id", &saved[1]);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("recipient_id", &saved[0]);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
    for (ask, replayed) in [(&ask, "deleted"), (&other, "display_name")] {
        let again = ask.send_and_check(&site).await;
        assert_eq!(
            (again.status, again.header("idempotency-replayed")),
            (200, Some("true"))
        );
        assert!(again.body.get(replayed).is_some(), "{}", again.text);
    }
}
