//! Money of account owners at remote providers: reloadable cards, card withdrawals, and the bank.

use purser_actors::id::Network;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::agent::Agent;
use super::banking::{approve, open_account, result};
use super::host::{Host, Service};
use super::http::{Response, ServiceClient, client, send, until};
use super::metrics::scrape;
use super::operator_client::OperatorClient;
use super::owner::Owner;
use super::recipient::balance_is;
use super::reconciliation::reconcile;
use super::reloadable_cards::{balance, post_with_key, wait_for_reloadable_card};
use super::remote_provider::{Provider, ProviderProxy};
use super::remote_providers::one_key_an_order;
use super::top_up::{id_of, wait_for_top_up};
use super::withdraw::agent_with_balance;

/// Pays into an on-ramp account, directly at the bank.
async fn pays_in(provider: &Provider, account: &Value, amount: &str, reference: &str) {
    let body = json!({"account_id": account, "amount": amount, "reference": reference});
    let request = client().post(format!("{}/sandbox/bank-deposits", provider.url));
    let answer = request.json(&body).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

/// The accounts and balances of a customer before any fault.
struct Settled {
    agent: Agent,
    other: Agent,
    token: String,
    on: Value,
    off: Value,
    destination: Value,
}

/// 206.66 less 20 on the balance, 20 at the bank, 200 at the card issuer.
async fn settled(site: &ServiceClient<'_>, provider: &Provider) -> Settled {
    let (agent, token) = agent_with_balance(site, Network::Base).await;
    let owner = Owner::of(site, &agent).await;
    owner.verify(site, &token).await;
    owner.link(site).await;
    let loaded = agent.buy(site, "/fund-card-balance?amount=200").await;
    wait_for_top_up(site, &token, &id_of(&loaded), "credited").await;
    approve(site, &token, "Lovelace").await;
    let on = open_account(site, &token, "onramp").await["accountId"].clone();
    let off = open_account(site, &token, "offramp").await["accountId"].clone();
    pays_in(provider, &on, "200", "wire").await;
    balance_is(site, &token, "206.66").await;
    let moved = json!({"accountId": off, "amount": 20});
    let moved = result(site, &token, "createBankingTransfer", moved).await;
    all_complete(site, &token, &[moved["transactionId"].clone()]).await;
    let bank = json!({"type": "fiat_us", "bankName": "First Bank", "routingNumber": "021000021",
        "accountNumber": "000123456789"});
    let made = json!({"name": "Ada Lovelace", "address": "1 Main St", "destination": bank});
    let made = result(site, &token, "createBankingRecipient", made).await;
    let other = Agent::new(Network::Solana);
    let of_other = other.token(site).await;
    let owner = Owner::by_token(site, &of_other).await;
    owner.verify(site, &of_other).await;
    owner.link(site).await;
    Settled {
        agent,
        other,
        token,
        on,
        off,
        destination: made["destination"]["destinationId"].clone(),
    }
}

async fn all_complete(site: &ServiceClient<'_>, token: &str, ids: &[Value]) {
    for id in ids {
        until("a transaction's end", async || {
            let response = result(site, token, "getBankingTransaction", json!({"transactionId": id})).await;
            let status = response["transaction"]["status"].clone();
            assert!(status != "failed" && status != "returned", "{response}");
            (status == "complete").then_some(())
        })
        .await;
    }
}

/// Orders that were placed while the proxy injected faults.
#[derive(Default)]
struct Ordered {
    cards: Vec<String>,
    withdrawals: Vec<String>,
    transactions: Vec<Value>,
    top_ups: Vec<String>,
    bridge_transfers: Vec<String>,
}

fn id_at(answer: &Response, object: &str, member: &str) -> String {
    assert!(matches!(answer.status, 200 | 202), "{}", answer.text);
    answer.body[object][member].as_str().unwrap().to_owned()
}

/// One of each: a card of 10, a withdrawal of 5, a top-up of 20 on Base and one over the bridge, 12 to the bank and 2
/// back, a payout of 20.
async fn orders(site: &ServiceClient<'_>, holder: &Settled, round: u64, ordered: &mut Ordered) {
    let Settled {
        token,
        agent,
        other,
        off,
        destination,
        ..
    } = holder;
    let card = json!({"usd_amount": 10});
    let card = post_with_key(
        site,
        token,
        "/create-reloadable-card",
        Some(&format!("card-{round}")),
        &card,
    )
    .await;
    ordered.cards.push(id_at(&card, "card", "card_id"));
    let out = json!({"amount": 5, "destination_address": agent.address()});
    let out = post_with_key(
        site,
        token,
        "/withdraw-card-balance",
        Some(&format!("out-{round}")),
        &out,
    )
    .await;
    ordered.withdrawals.push(id_at(&out, "withdrawal", "id"));
    for (amount, direction) in [(12, "to_account"), (2, "to_balance")] {
        let moved = json!({"accountId": off, "amount": amount, "direction": direction});
        let moved = result(site, token, "createBankingTransfer", moved).await;
        ordered.transactions.push(moved["transactionId"].clone());
    }
    let payout = json!({"destinationId": destination, "amount": 20});
    let payout = result(site, token, "sendBankingPayout", payout).await;
    ordered.transactions.push(payout["transactionId"].clone());
    for (agent, top_ups) in [(agent, &mut ordered.top_ups), (other, &mut ordered.bridge_transfers)] {
        let top_up = agent.buy(site, "/fund-card-balance?amount=20").await;
        top_ups.push(id_of(&top_up));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn money_moves_once_under_every_provider_fault() {
    // Checks: cards are loaded, balances are withdrawn and topped up, also over the bridge, and bank money arrives,
    // moves both ways and is paid out. Meanwhile requests and responses are lost, duplicated, late, mixed up and
    // invented, and both sides are killed. Each order has one key. Issuer, bank and ledger agree to the cent.
    let mut provider = Provider::start();
    let (way, url) = ProviderProxy::to(&provider.url).await;
    // Slower than a restart on a busy machine: a transfer that is not signed in eight attempts is released, and the
    // proxy fails half of them.
    let host = provider
        .host(&url)
        .with("PURSER_PAYOUTS__PROVIDER_POLL_INTERVAL_SECONDS", "1")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "200")
        .with("PURSER_ENGINE__MAX_BACKOFF_MS", "8000");
    let mut service = host.start();
    provider.restart(Some(&service.url));
    let holder = settled(&ServiceClient::of(&service), &provider).await;
    let mut ordered = Ordered::default();
    for round in 0..3 {
        {
            let site = ServiceClient::of(&service);
            for _ in 0..2 {
                pays_in(&provider, &holder.on, "30", &format!("wire-{round}")).await;
            }
            way.fail(Some(round + 40));
            orders(&site, &holder, round, &mut ordered).await;
        }
        if round > 0 {
            service.kill();
            way.fail(None);
            service = host.start();
        }
        provider.restart(Some(&service.url));
    }
    way.fail(None);
    assert_all_completed(&ServiceClient::of(&service), &holder, &ordered).await;
    way.fail(Some(50));
    let card = &ordered.cards[0];
    decided(&host, &service, &holder, &ordered).await;
    way.fail(None);
    let site = ServiceClient::of(&service);
    wait_for_reloadable_card(&site, &holder.token, card, "closed").await;
    until("the balance of the closed card to be credited", async || {
        (balance(&site, &holder.token).await == json!(230)).then_some(())
    })
    .await;
    until("the issuer knows how each reservation ended", async || {
        let (_, page) = scrape(&service).await;
        (page.open("settle_card_hold") == Decimal::ZERO).then_some(())
    })
    .await;
    assert_one_key_each(&way);
    service.stop();
    host.assert_verified();
    // All lists agree.
    let host = host.with("PURSER_RECONCILIATION__GRACE_PERIOD_MS", "1");
    assert_eq!(reconcile(&host), (Some(0), vec![]));
}

/// Asserts that every order is complete and that all balances are right to the cent on all sides.
async fn assert_all_completed(site: &ServiceClient<'_>, holder: &Settled, ordered: &Ordered) {
    let token = &holder.token;
    for card in &ordered.cards {
        wait_for_reloadable_card(site, token, card, "open").await;
    }
    for id in &ordered.withdrawals {
        until("a queued withdrawal", async || {
            let path = format!("/get-withdrawal-status?withdrawal_id={id}");
            let response = site.get_as(token, &path).await;
            (response.body["withdrawal"]["status"] == "queued").then_some(())
        })
        .await;
    }
    for id in &ordered.top_ups {
        wait_for_top_up(site, token, id, "credited").await;
    }
    let other = holder.other.token(site).await;
    for id in &ordered.bridge_transfers {
        wait_for_top_up(site, &other, id, "credited").await;
    }
    assert_eq!(balance(site, &other).await, json!(60));
    all_complete(site, token, &ordered.transactions).await;
    // 200 + 3 x 20, less 3 x 10 on cards and 3 x 5 held.
    assert_eq!(balance(site, token).await, json!(215));
    // 206.66 - 20 + 3 x (30 - 12 + 2 - 21.50).
    balance_is(site, token, "182.16").await;
    let all = result(site, token, "listBankingAccounts", json!({})).await;
    let off = all["accounts"].as_array().unwrap().iter();
    let off = off.into_iter().find(|one| one["accountId"] == holder.off).unwrap();
    assert_eq!(off["balance"].to_string(), "50");
}

/// Repeats an operator action until it succeeds, because the issuer is called first and does not always respond.
async fn in_time(operator: &OperatorClient<'_>, act: &str, body: &Value) -> Value {
    let path = format!("/admin/card-withdrawals/{act}");
    until(act, async || {
        let response = operator.post(&path, body.clone()).await;
        assert!(matches!(response.status, 200 | 503), "{act}: {}", response.text);
        (response.status == 200).then_some(response.body)
    })
    .await
}

/// An operator pays the first withdrawal and rejects the second. The account owner closes the first card.
async fn decided(host: &Host, service: &Service, holder: &Settled, ordered: &Ordered) {
    let operator = OperatorClient::first(host, service);
    let of = json!({"withdrawal_id": ordered.withdrawals[0]});
    let lease = in_time(&operator, "claim", &of).await["lease"].clone();
    let hash = format!("0x{}", "ab".repeat(32));
    let paid = json!({"withdrawal_id": ordered.withdrawals[0], "lease": lease, "tx_hash": hash});
    in_time(&operator, "fulfil", &paid).await;
    let no = json!({"withdrawal_id": ordered.withdrawals[1], "reason": "No such place."});
    in_time(&operator, "reject", &no).await;
    let close = json!({"card_id": ordered.cards[0]});
    let answer = post_with_key(&ServiceClient::of(service), &holder.token, "/close-card", None, &close).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
}

/// Asserts one key per order, and that the proxy injected every kind of fault.
fn assert_one_key_each(way: &ProviderProxy) {
    let ordered = way.ordered();
    for (path, id, count) in [
        ("/v1/reloadable-cards", "card_id", 3),
        ("/v1/balance-holds", "withdrawal_id", 3),
        ("/v1/bank-applications", "application_id", 1),
        ("/v1/bank-accounts", "account_id", 2),
        ("/v1/bank-transfers", "transfer_id", 7),
        ("/v1/payouts", "payout_id", 3),
    ] {
        assert_eq!(one_key_an_order(&ordered[path], id), count, "{path}");
    }
    let mishaps = way.mishaps();
    assert!(mishaps.values().sum::<u32>() > 10, "{mishaps:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bank_callback_triggers_immediate_poll() {
    // Checks: the bank is polled once a day in this test, and its callback triggers a poll that credits the money once.
    // A callback that is unsigned, old or signed with the key of another provider triggers nothing.
    let mut provider = Provider::start();
    let host = provider
        .host(&provider.url)
        .with("PURSER_PAYOUTS__PROVIDER_POLL_INTERVAL_SECONDS", "86400");
    let service = host.start();
    provider.restart(Some(&service.url));
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Solana).await;
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    approve(&site, &token, "Lovelace").await;
    let on = open_account(&site, &token, "onramp").await["accountId"].clone();
    for route in ["/bank-callback", "/card-callback"] {
        let event = json!({"type": if route == "/bank-callback" { "deposits.updated" } else { "cards.updated" }});
        let forged = send(site.request("POST", route).json(&event)).await.unwrap();
        assert_eq!(
            (forged.status, forged.code()),
            (401, "callback_signature_invalid"),
            "{route}"
        );
    }
    for reference in ["wire-1", "wire-1", "wire-2"] {
        pays_in(&provider, &on, "10", reference).await;
    }
    balance_is(&site, &token, "26.66").await;
    service.stop();
    host.assert_verified();
}
