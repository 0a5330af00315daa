//! Transitions that need time, a failing chain or an owner action. Each is an event of the account and is visible on
//! the resource.

use std::time::Duration;

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::agent_wallet::keyed;
use super::banking::{approve, call, quick, result};
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::operator_client::OperatorClient;
use super::owner::{Owner, fault};
use super::receiver::Receiver;
use super::reloadable_cards::{
    balance as card_balance, charge, loaded, opened, post_with_key, wait_for_reloadable_card,
};
use super::seller::Seller;
use super::webhooks::{arrives, delivery, listening, post, register};
use super::withdraw::{agent_with_balance, balance, ended, id_of, withdraw};

const DAY_S: u64 = 86_400;

fn assert_error(answer: &Response, status: u16, code: &str) {
    assert_eq!((answer.status, answer.code()), (status, code), "{}", answer.text);
}

/// Orders this many international cards.
async fn ordered(site: &ServiceClient<'_>, agent: &Agent, count: usize) -> Vec<String> {
    let mut orders = Vec::new();
    for _ in 0..count {
        let bought = agent.buy(site, "/order-intl-card?amount=100").await;
        let id = bought.body["intl_card_order"]["card_id"].as_str().unwrap();
        orders.push(id.to_owned());
    }
    orders
}

async fn card_is(site: &ServiceClient<'_>, token: &str, card: &str, status: &str) -> Value {
    until(status, async || {
        let seen = site.get_as(token, &format!("/get-card-data?card_id={card}")).await;
        (seen.str("status") == Some(status)).then_some(seen.body)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn intl_order_becomes_overdue_and_its_card_expires() {
    // Checks: an order is overdue a day after its payment, with any lease. The lease holder rejects one order. The
    // other becomes a card, which expires with its printed month and then shows no number.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let agent = Agent::new(Network::Base);
    let orders = ordered(&site, &agent, 2).await;
    let lease = operator.claim(&orders[0]).await;
    site.advance(DAY_S + 60).await;
    until("both are overdue", async || {
        let queue = operator.queue().await;
        (queue.len() == 2 && queue.iter().all(|order| order["overdue"] == true)).then_some(())
    })
    .await;
    // The lease has expired meanwhile.
    let stale = json!({"card_id": orders[0], "lease": lease, "reason": "no issuer"});
    assert_error(
        &operator.post("/admin/intl-orders/reject", stale).await,
        409,
        "lease_stale",
    );
    let lease = operator.claim(&orders[0]).await;
    let rejected = json!({"card_id": orders[0], "lease": lease, "reason": "no issuer"});
    operator.done("/admin/intl-orders/reject", rejected).await;
    let lease = operator.claim(&orders[1]).await;
    assert_eq!(operator.fulfil(&orders[1], lease).await.status, 200);
    let token = agent.token(&site).await;
    card_is(&site, &token, &orders[0], "rejected").await;
    card_is(&site, &token, &orders[1], "ready").await;
    // The card that the operator enters expires at the end of 2031.
    site.advance(6 * 366 * DAY_S).await;
    let token = agent.token(&site).await;
    let over = card_is(&site, &token, &orders[1], "expired").await;
    assert!(over.get("card_details").is_none(), "{over}");
    let expected = [
        "intl_order.overdue",
        "intl_order.rejected claimed",
        "intl_order.expired ready",
    ];
    site.wait_for_events(&token, &expected).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_that_can_never_settle_is_not_charged() {
    // Checks: a declined payment, and one with an unknown outcome while the chain holds transfers, each end as
    // `payment.refused` when their authorization expires. Nothing is charged when the chain continues.
    let host = Host::new()
        .with("PURSER_PAYMENT__QUOTE_TTL_SECONDS", "15")
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "1000");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let mut tokens = Vec::new();
    for (fault, status, changes) in [
        (
            json!({"fault": "decline", "times": 0}),
            402,
            &["payment.declined settling", "payment.refused declined"][..],
        ),
        (
            json!({"fault": "hold", "network": "base"}),
            202,
            &[
                "payment.unknown settling",
                "payment.declined unknown",
                "payment.refused declined",
            ],
        ),
    ] {
        let agent = Agent::new(Network::Base);
        tokens.push((agent.token(&site).await, changes));
        site.chain_fault(json!({"fault": "clear"})).await;
        site.chain_fault(fault).await;
        let answer = agent.buy(&site, "/get-card?amount=5").await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    for (token, changes) in &tokens {
        site.wait_for_events(token, changes).await;
    }
    site.chain_fault(json!({"fault": "resume"})).await;
    for (token, _) in &tokens {
        balance(&site, token, [0.0, 0.0, 0.0]).await;
    }
    assert!(site.transfers().await.is_empty());
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn withdrawals_that_can_never_settle_are_released() {
    // Checks: Solana takes neither a withdrawal nor a transfer, and a seller does not take the payment of a call. After
    // their blockhash expires, each has failed, and its hold or reservation is released.
    let seller = Seller::open().await;
    let host = Host::new().with(
        "PURSER_OUTBOUND__ALLOWED_HOSTS",
        &format!("[\"{}\"]", seller.authority()),
    );
    let service = host.start();
    let site = ServiceClient::of(&service);
    let stranger = Agent::new(Network::Solana).address();
    for wallet in [Seller::address(), stranger.clone()] {
        let known = json!({"wallet": wallet, "amount": "1"});
        assert_eq!(site.post("/sandbox/faucet", &known).await.status, 200);
    }
    let (_, token) = agent_with_balance(&site, Network::Solana).await;
    let made = result(&site, &token, "createAgentWallet", json!({})).await;
    let own = made["wallet"]["addresses"]["solana"].as_str().unwrap().to_owned();
    let ours = purser::sandbox::keys::treasury(Network::Solana).address();
    for wallet in [own, ours] {
        let fault = json!({"network": "solana", "fault": "insufficient", "times": 0, "wallet": wallet});
        site.chain_fault(fault).await;
    }
    let body = json!({"amount": 5, "address": stranger, "network": "solana"});
    let withdrawal = id_of(&withdraw(&site, &token, None, &body).await);
    let data = json!({"toAddress": stranger, "amountUsdc": 2});
    let sent = result(&site, &token, "agentWalletTransfer", data).await;
    assert_eq!(sent["status"], "pending", "{sent}");
    let url = format!("http://{}/refuses", seller.authority());
    let data = json!({"url": url, "expectedNetwork": "solana", "maxAmountUsdc": 1});
    assert_error(&call(&site, &token, "agentX402Pay", data).await, 409, "unsettled");
    // A blockhash is valid for a minute. It can no longer settle when the last block that could have included it is
    // final.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let expected = [
        "withdrawal.failed sent",
        "balance.released",
        "wallet_payment.unsettled signed",
        "wallet_payment.unsettled sent",
    ];
    site.wait_for_events(&token, &expected).await;
    assert_eq!(ended(&site, &token, &withdrawal).await["state"], "failed");
    balance(&site, &token, [6.66, 6.66, 0.0]).await;
    until("the reservations to end", async || {
        let wallet = result(&site, &token, "getAgentWallet", json!({})).await;
        (wallet["pendingPayments"] == json!([]) && wallet["balances"]["solana"]["available"] == 10_000).then_some(())
    })
    .await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn unsignable_transfers_fail_and_release_their_holds() {
    // Checks: when the chain does not respond while signing, the withdrawal and the wallet payment fail, the latter
    // permanently under its key. No hold or reservation remains.
    let host = Host::new().with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "20");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    result(&site, &token, "createAgentWallet", json!({})).await;
    site.chain_fault(json!({"fault": "unreachable", "times": 0, "network": "base"}))
        .await;
    let id = id_of(&withdraw(&site, &token, None, &json!({"amount": 2})).await);
    let failed = ended(&site, &token, &id).await;
    assert_eq!(
        (&failed["state"], &failed["failure_reason"]),
        (&json!("failed"), &json!("not_sent"))
    );
    let data = json!({"toAddress": agent.address(), "amountUsdc": 2});
    for _ in 0..2 {
        let wallet_payment = keyed(&site, &token, "agentWalletTransfer", "once", &data).await;
        assert_error(&wallet_payment, 409, "wallet_payment_failed");
    }
    site.chain_fault(json!({"fault": "clear"})).await;
    balance(&site, &token, [6.66, 6.66, 0.0]).await;
    let expected = [
        "withdrawal.failed pending",
        "balance.released",
        "wallet_payment.failed pending",
    ];
    site.wait_for_events(&token, &expected).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_endpoint_is_reported_disabled_and_reactivated() {
    // Checks: a day of failures is an event, and so is the next success. Five days disable the endpoint and drop its
    // deliveries. Registered again it is active, and dropped deliveries can be redelivered.
    let (host, receiver) = (listening(), Receiver::open().await);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let url = receiver.url("/moody");
    let (id, _) = register(&site, &token, &url, &["refund.*"]).await;
    arrives(&receiver, "/moody", 1).await;
    site.advance(DAY_S + 3_600).await;
    let token = agent.token(&site).await;
    site.wait_for_events(&token, &["webhook.failing"]).await;
    receiver.set_healthy(true);
    site.wait_for_events(&token, &["webhook.recovered"]).await;
    delivery(&site, &token, &id, "delivered", 2).await;

    receiver.set_healthy(false);
    register(&site, &token, &url, &["refund.*"]).await;
    let had = receiver.at("/moody").len();
    arrives(&receiver, "/moody", had + 1).await;
    // Another test message is in progress when the first one disables the endpoint.
    register(&site, &token, &url, &["refund.*"]).await;
    site.advance(6 * DAY_S).await;
    let token = agent.token(&site).await;
    site.wait_for_events(&token, &["webhook.disabled active"]).await;
    let path = format!("/webhook-deliveries?webhook_id={id}&status=dropped");
    let dropped = until("what it was owed to be dropped", async || {
        let page = site.get_as(&token, &path).await.body;
        page["deliveries"][0]["delivery_id"].as_str().map(str::to_owned)
    })
    .await;
    let again = json!({"delivery_id": dropped});
    let early = post(&site, &token, "/redeliver-webhook", None, &again).await;
    assert_error(&early, 409, "webhook_disabled");
    receiver.set_healthy(true);
    register(&site, &token, &url, &["refund.*"]).await;
    site.wait_for_events(&token, &["webhook.enabled disabled"]).await;
    let redelivery = post(&site, &token, "/redeliver-webhook", None, &again).await;
    assert_eq!(redelivery.status, 202, "{}", redelivery.text);
    until("it is delivered after all", async || {
        let path = format!("/webhook-deliveries?webhook_id={id}&status=delivered");
        site.get_as(&token, &path).await.text.contains(&dropped).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoint_answering_410_is_disabled_and_can_be_deleted() {
    // Checks: 410 disables the endpoint at once and fails its message. Registered again, the message can be redelivered
    // and fails again. A deleted endpoint receives nothing.
    let (host, receiver) = (listening(), Receiver::open().await);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Solana).token(&site).await;
    let url = receiver.url("/held-410");
    let (id, _) = register(&site, &token, &url, &["refund.*"]).await;
    let first = delivery(&site, &token, &id, "failed", 1).await;
    site.wait_for_events(&token, &["webhook.disabled active"]).await;
    // The response to the message about the registration is held, so that the endpoint stays enabled until then.
    receiver.set_healthy(true);
    register(&site, &token, &url, &["refund.*"]).await;
    let again = json!({"delivery_id": first["delivery_id"]});
    let redelivery = post(&site, &token, "/redeliver-webhook", None, &again).await;
    assert_eq!(redelivery.status, 202, "{}", redelivery.text);
    receiver.set_healthy(false);
    site.wait_for_events(&token, &["webhook.enabled disabled"]).await;
    until("it is disabled again", async || {
        let all = site.get_as(&token, "/get-webhook").await.body;
        (all["webhooks"][0]["status"] == "disabled").then_some(())
    })
    .await;
    let gone = json!({"webhook_id": id});
    assert_eq!(
        post(&site, &token, "/delete-webhook", None, &gone).await.body["deleted"],
        true
    );
    assert_error(
        &post(&site, &token, "/redeliver-webhook", None, &again).await,
        409,
        "webhook_deleted",
    );
    site.wait_for_events(&token, &["webhook.deleted disabled"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_card_is_closable_and_takes_one_action() {
    // Checks: a charge on an open card is an event. While the issuer does not respond, a second action is rejected. A
    // paused card can be closed and credits the rest. A withdrawal that the issuer declines to hold takes nothing.
    let host = Host::new().with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token) = loaded(&site, Network::Base, 20).await;
    let card = opened(&site, &token, json!({"usd_amount": 10})).await;
    let action = json!({"card_id": card});
    let open = post_with_key(&site, &token, "/resume-card", None, &action).await;
    assert_eq!(open.status, 200, "a resumed card needs no action: {}", open.text);
    assert_eq!(charge(&site, &card, "4").await.status, 200);
    site.wait_for_events(&token, &["reloadable_card.charged"]).await;
    fault(&site, "/sandbox/card-program", "unreachable", 0).await;
    assert_eq!(
        post_with_key(&site, &token, "/pause-card", None, &action).await.status,
        202
    );
    assert_error(
        &post_with_key(&site, &token, "/close-card", None, &action).await,
        409,
        "card_action_in_progress",
    );
    fault(&site, "/sandbox/card-program", "clear", 0).await;
    wait_for_reloadable_card(&site, &token, &card, "paused").await;
    assert_eq!(
        post_with_key(&site, &token, "/close-card", None, &action).await.status,
        202
    );
    wait_for_reloadable_card(&site, &token, &card, "closed").await;
    site.wait_for_events(&token, &["reloadable_card.closed paused"]).await;
    until("the rest is back", async || {
        (card_balance(&site, &token).await == json!(16)).then_some(())
    })
    .await;
    fault(&site, "/sandbox/card-program", "decline", 1).await;
    let body = json!({"amount": 5, "destination_address": agent.address()});
    let declined = post_with_key(&site, &token, "/withdraw-card-balance", None, &body).await;
    assert_error(&declined, 409, "withdrawal_declined");
    assert_eq!(card_balance(&site, &token).await, json!(16));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_bank_account_takes_no_money() {
    // Checks: a rejection by the bank is an event, the account stays rejected, and a transfer to it fails with its own
    // code.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, token) = agent_with_balance(&site, Network::Base).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    approve(&site, &token, "Lovelace").await;
    fault(&site, "/sandbox/bank", "decline", 1).await;
    let made = result(&site, &token, "createBankingAccount", json!({"type": "offramp"})).await;
    site.wait_for_events(&token, &["bank_account.rejected pending"]).await;
    let all = result(&site, &token, "listBankingAccounts", json!({})).await;
    assert_eq!(all["accounts"][0]["status"], "rejected", "{all}");
    let data = json!({"accountId": made["account"]["accountId"], "amount": 1});
    let answer = call(&site, &token, "createBankingTransfer", data).await;
    assert_error(&answer, 409, "bank_account_not_open");
    balance(&site, &token, [6.66, 6.66, 0.0]).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_recipient_can_be_deleted() {
    // Checks: after it is archived and deleted, the recipient is in no list.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    let path = "/send-payment?amount=10&platform=venmo&recipient_id=@ada&recipient_first_name=Ada\
         &recipient_last_name=Lovelace&recipient_email=ada@example.com";
    let bought = agent.buy(&site, path).await;
    let id = bought.body["payment"]["recipient_id"].as_str().unwrap();
    site.wait_for_events(&token, &["payment_recipient.created"]).await;
    let body = json!({"recipient_id": id, "platform": "venmo", "archived": true});
    let archived = post(&site, &token, "/payment-recipients", None, &body).await;
    assert_eq!(archived.body["archived"], true, "{}", archived.text);
    let path = format!("/payment-recipients?platform=venmo&recipient_id={id}");
    let deleted = send(site.request("DELETE", &path).bearer_auth(&token)).await.unwrap();
    assert_eq!(deleted.body["deleted"], true, "{}", deleted.text);
    let listed = site.get_as(&token, "/payment-recipients?include_archived=true").await;
    assert_eq!(listed.body["recipients"], json!([]));
    let expected = [
        "payment_recipient.archived active",
        "payment_recipient.deleted archived",
    ];
    site.wait_for_events(&token, &expected).await;
}
