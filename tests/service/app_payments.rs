//! Payments to users of payment apps: identity verification, saved recipients, unclaimed payments.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, send, until};
use super::owner::Owner;
use super::recipient::{balance_is, payout_event_types, wait_for_payout_status};

fn quick() -> Host {
    Host::new()
        .with("PURSER_SANDBOX__PAYOUT_DELAY_MS", "10")
        .with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10")
}

fn to_app(amount: &str, platform: &str, recipient: &str) -> String {
    format!(
        "/send-payment?amount={amount}&platform={platform}&recipient_id={recipient}&recipient_first_name=Ada\
         &recipient_last_name=Lovelace&recipient_email=ada@example.com"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn app_payment_needs_verified_identity_and_saves_its_recipient() {
    // Checks: Without verification, 412 before settlement and nothing is saved. Afterwards both apps pay. A recipient
    // is found by id and by handle in any case, with totals. It can be renamed, archived, unarchived and deleted, and a
    // new payment restores it.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let refused = agent.buy(&site, &to_app("10", "venmo", "@ada")).await;
    assert_eq!(
        (refused.status, refused.code()),
        (412, "identity_verification_required")
    );
    assert!(site.transfers().await.is_empty());
    assert!(listed(&site, &token, "").await.is_empty());
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    let bought = agent.buy(&site, &to_app("10", "venmo", "@ada")).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    assert_eq!(bought.body["payment"]["fee_amount"].to_string(), "1.5");
    let id = bought.body["payment"]["recipient_id"].as_str().unwrap();
    let payout = bought.body["payment"]["payout_id"].as_str().unwrap();
    wait_for_payout_status(&site, &token, payout, "complete").await;
    for (platform, recipient) in [("venmo", "@ADA"), ("venmo", id), ("paypal", "@ada")] {
        let bought = agent.buy(&site, &to_app("20", platform, recipient)).await;
        let same = bought.body["payment"]["recipient_id"] == *id;
        assert_eq!(same, platform == "venmo", "{}", bought.text);
        let payout = bought.body["payment"]["payout_id"].as_str().unwrap();
        wait_for_payout_status(&site, &token, payout, "complete").await;
    }
    let saved = listed(&site, &token, "?platform=venmo").await;
    assert_eq!(saved.len(), 1);
    assert_eq!(
        (&saved[0]["payments_count"], saved[0]["total_amount"].to_string()),
        (&json!(3), "50".to_owned())
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_manages_saved_recipients() {
    // Checks: A recipient is saved when its payment is answered. It can be renamed (as inert text), archived,
    // unarchived and deleted. A deleted one cannot be paid by id, and paying by name restores it.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    agent.buy(&site, &to_app("10", "paypal", "@bob")).await;
    let bought = agent.buy(&site, &to_app("10", "venmo", "@ada")).await;
    let id = bought.body["payment"]["recipient_id"].as_str().unwrap();
    assert_eq!(listed(&site, &token, "").await.len(), 2);
    let change = async |more: Value| {
        let mut body = json!({"recipient_id": id, "platform": "venmo"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let request = site.request("POST", "/payment-recipients").bearer_auth(&token);
        send(request.body(body.to_string())).await.unwrap()
    };
    let renamed = change(json!({"display_name": "<b>Rent"})).await;
    assert_eq!(renamed.str("display_name"), Some("<b>Rent"));
    assert!(!renamed.text.contains('<'), "a name is inert: {}", renamed.text);
    assert_eq!(change(json!({"archived": true})).await.body["archived"], true);
    assert_eq!(listed(&site, &token, "").await.len(), 1);
    assert_eq!(listed(&site, &token, "?include_archived=true").await.len(), 2);
    assert_eq!(change(json!({"archived": false})).await.body["archived"], false);
    let path = format!("/payment-recipients?platform=venmo&recipient_id={id}");
    let deleted = send(site.request("DELETE", &path).bearer_auth(&token)).await.unwrap();
    assert_eq!(
        (deleted.status, &deleted.body["deleted"]),
        (200, &json!(true)),
        "{}",
        deleted.text
    );
    assert_eq!(change(json!({"archived": true})).await.code(), "recipient_not_found");
    let refused = agent.buy(&site, &to_app("10", "venmo", id)).await;
    assert_eq!((refused.status, refused.code()), (404, "recipient_not_found"));
    agent.buy(&site, &to_app("10", "venmo", "@ada")).await;
    let changes = [
        "payment_recipient.archived active",
        "payment_recipient.unarchived archived",
    ];
    site.wait_for_events(&token, &changes).await;
    until("the recipient is back", async || {
        let saved = listed(&site, &token, "?platform=venmo").await;
        saved.iter().any(|saved| saved["recipient_id"] == id).then_some(())
    })
    .await;
    service.stop();
    host.assert_verified();
}

/// The saved recipients of the token's account.
async fn listed(site: &ServiceClient<'_>, token: &str, query: &str) -> Vec<Value> {
    let list = site.get_as(token, &format!("/payment-recipients{query}")).await;
    assert_eq!(list.status, 200, "{}", list.text);
    list.body["recipients"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_32_unclaimed_app_payment_is_credited_less_the_apps_fee() {
    // Checks: The payment is unclaimed until it expires. It is then recalled from the app and credited once, also over
    // a kill.
    let host = quick()
        .with("PURSER_PAYOUTS__UNCLAIMED_TTL_SECONDS", "2")
        .with("PURSER_PAYOUTS__APP_RETURN_FEE_USD", "0.77");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let token = agent.token(&site).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    let bought = agent.buy(&site, &to_app("27.77", "paypal", "ada")).await;
    let payout = bought.body["payment"]["payout_id"].as_str().unwrap();
    wait_for_payout_status(&site, &token, payout, "in-process").await;
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    let ended = wait_for_payout_status(&site, &token, payout, "returned").await;
    assert_eq!(ended["credited_amount"].to_string(), "27");
    balance_is(&site, &token, "27").await;
    assert_eq!(
        payout_event_types(&site, &token).await,
        ["payout.queued", "payout.in-process", "payout.returned"]
    );
    let of_recipient = ["created", "paid", "payment_returned"].map(|what| format!("payment_recipient.{what}"));
    site.wait_for_events(&token, &of_recipient.each_ref().map(String::as_str))
        .await;
    let rails = site.get("/sandbox/payouts", &[]).await;
    assert_eq!(rails.body["recalled"], 1);
    service.stop();
    host.assert_verified();
}
