//! The same key at once on routes whose command does nothing but change the books.

use purser::http::callable::FUNCTION_NAMES;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::banking::result;
use super::host::Host;
use super::http::{ServiceClient, send, until};
use super::owner::Owner;

/// Twenty at once under one key, with another key and whatever `fresh` makes each time, until one is told that another runs:
/// how long a command runs is the disk's to say. One is done; nobody is told anything else.
async fn send_concurrently(
    site: &ServiceClient<'_>,
    token: &str,
    (method, path): (&str, &str),
    fresh: impl AsyncFn() -> Value,
) {
    let mut round = 0;
    until(path, async || {
        round += 1;
        let (key, body) = (format!("{method} {path} {round}"), fresh().await);
        let calls = (0..20).map(|_| {
            let request = site.request(method, path).bearer_auth(token);
            let request = request.header("idempotency-key", &key);
            send(match method {
                "DELETE" => request.query(&body),
                _ if FUNCTION_NAMES.contains(&path) => request.json(&json!({ "data": body })),
                _ => request.json(&body),
            })
        });
        let told = futures_util::future::join_all(calls).await;
        let told: Vec<_> = told.into_iter().map(Result::unwrap).collect();
        let (done, waits): (Vec<_>, Vec<_>) = told.iter().partition(|answer| answer.status == 200);
        for answer in &waits {
            let said = (answer.status, answer.code());
            assert_eq!(said, (409, "idempotency_key_in_progress"), "{path}: {}", answer.text);
        }
        let fresh = done
            .iter()
            .filter(|answer| answer.header("idempotency-replayed").is_none());
        assert_eq!(fresh.count(), 1, "{path}");
        assert!(done.iter().all(|answer| answer.text == done[0].text), "{path}");
        (!waits.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_at_once_changes_the_books_once() {
    // Aim: wherever a key is taken and no other test sends it at once: one is done, the others get its answer or a 409.
    let host = Host::new().with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    let call = |path| ("POST", path);
    send_concurrently(&site, &token, call("/createAgentWallet"), async || json!({})).await;
    send_concurrently(&site, &token, call("/deleteAddressBookEntry"), async || {
        let entry = json!({"name": "me", "address": agent.address()});
        let saved = result(&site, &token, "saveAddressBookEntry", entry).await;
        json!({"entryId": saved["entry"]["entryId"]})
    })
    .await;

    let payee = json!({"name": "Payee", "destination": {"type": "fiat_us", "bankName": "Bank",
        "routingNumber": "021000021", "accountNumber": "5555555"}});
    send_concurrently(&site, &token, call("/createBankingRecipient"), async || payee.clone()).await;
    let made = async || result(&site, &token, "createBankingRecipient", payee.clone()).await;
    send_concurrently(
        &site,
        &token,
        call("/updateBankingDestination"),
        async || json!({"destinationId": made().await["destination"]["destinationId"], "nickname": "Rent"}),
    )
    .await;
    send_concurrently(
        &site,
        &token,
        call("/deleteBankingRecipient"),
        async || json!({"recipientId": made().await["recipientId"]}),
    )
    .await;

    let paid = async || {
        let path = "/send-payment?amount=5&platform=paypal&recipient_id=ada&recipient_first_name=Ada\
             &recipient_last_name=Lovelace&recipient_email=ada@example.com";
        let bought = agent.buy(&site, path).await;
        assert_eq!(bought.status, 200, "{}", bought.text);
        let id = bought.body["payment"]["recipient_id"].clone();
        // One that was deleted comes back behind the payment.
        until("the recipient", async || {
            let saved = site.get_as(&token, "/payment-recipients").await;
            let mut saved = saved.body["recipients"].as_array().unwrap().iter();
            saved.any(|saved| saved["recipient_id"] == id).then_some(())
        })
        .await;
        json!({"platform": "paypal", "recipient_id": id})
    };
    send_concurrently(&site, &token, call("/payment-recipients"), async || {
        let mut renamed = paid().await;
        renamed["display_name"] = json!("Ada");
        renamed
    })
    .await;
    send_concurrently(&site, &token, ("DELETE", "/payment-recipients"), paid).await;
    service.stop();
    host.assert_verified();
}
