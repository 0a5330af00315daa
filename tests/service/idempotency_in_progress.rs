//! Concurrent requests with the same key on routes whose command only changes the ledger.

use purser::http::callable::FUNCTION_NAMES;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::banking::result;
use super::host::Host;
use super::http::{ServiceClient, send, until};
use super::owner::Owner;

/// Sends twenty concurrent requests under one key. Repeats with a new key and a body from `fresh` until one response is
/// `in progress`, because the disk decides how long a command runs. One request is executed; no other error is allowed.
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
        let answers = futures_util::future::join_all(calls).await;
        let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
        let (done, waits): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        for answer in &waits {
            let error = (answer.status, answer.code());
            assert_eq!(error, (409, "idempotency_key_in_progress"), "{path}: {}", answer.text);
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
async fn concurrent_requests_with_one_key_change_the_ledger_once() {
    // Checks: On every route with a key without its own concurrency test, one request is executed. The others get its
    // response or a 409.
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
        // A deleted recipient is restored shortly after the payment.
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
