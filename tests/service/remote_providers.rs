//! Remote providers over HTTP: each product is made once under every fault of the connection.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::id::Network;
use serde_json::Value;

use super::agent::Agent;
use super::http::{ServiceClient, until};
use super::owner::Owner;
use super::recipient::wait_for_payout_status;
use super::remote_provider::{Provider, ProviderProxy};
use super::settlement_faults::finally;

const GIFT: &str = "/order-gift-card?product_id=gift_quietshield_vpn&amount=15&country=US";
const APP: &str = "/send-payment?amount=10&platform=paypal&recipient_id=@ada&recipient_first_name=Ada\
     &recipient_last_name=Lovelace&recipient_email=ada@example.com";

/// Asserts one order per key and one key per order. Returns the number of orders.
pub(crate) fn one_key_an_order(keys: &BTreeMap<String, Vec<Value>>, id: &str) -> usize {
    let mut ids = BTreeSet::new();
    for (key, bodies) in keys {
        assert!(
            bodies.windows(2).all(|pair| pair[0] == pair[1]),
            "{key} had two contents"
        );
        if let Some(id) = bodies[0][id].as_str() {
            assert!(ids.insert(id.to_owned()), "{id} had two keys");
        }
    }
    keys.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn products_are_made_once_under_every_provider_fault() {
    // Checks: cards, gift cards and payouts are bought while requests and responses are lost, duplicated, delayed,
    // mixed up and invented. Provider and service are killed meanwhile. Each product is made once under one key,
    // nothing is credited, and the ledger balances.
    let mut provider = Provider::start();
    let (way, url) = ProviderProxy::to(&provider.url).await;
    let host = provider.host(&url);
    let mut service = host.start();
    let agent = Agent::new(Network::Base);
    let other = Agent::new(Network::Solana);
    let (token, mut bought) = {
        let site = ServiceClient::of(&service);
        let token = agent.token(&site).await;
        provider.restart(Some(&service.url));
        Owner::by_token(&site, &token).await.verify(&site, &token).await;
        (token, Vec::new())
    };
    for round in 0..3u64 {
        {
            let site = ServiceClient::of(&service);
            // The price comes from the remote catalog; without a response there is no challenge either.
            way.fail(None);
            for _ in 0..3 {
                for (agent, path) in [
                    (&agent, "/get-card?amount=5"),
                    (&other, "/get-card?amount=5"),
                    (&agent, APP),
                ] {
                    bought.push((path, agent.payment(&site, path).await));
                }
            }
            // Stock is checked before a payment settles; without a response the caller gets a retry time.
            bought.push((GIFT, agent.payment(&site, GIFT).await));
            way.fail(Some(round));
            let payments = bought.iter().map(|(path, payment)| Agent::pay(&site, path, payment));
            for answer in futures_util::future::join_all(payments).await {
                assert!(matches!(answer.status, 200 | 202 | 503), "{}", answer.text);
            }
        }
        match round {
            0 => provider.restart(Some(&service.url)),
            1 => {
                service.kill();
                way.fail(None);
                service = host.start();
            }
            _ => {}
        }
    }
    way.fail(None);
    assert_each_made_once(&ServiceClient::of(&service), &way, &token, &bought).await;
    service.stop();
    host.assert_verified();
}

/// Asserts that every purchase completes and is made once, and that nothing is credited.
async fn assert_each_made_once(site: &ServiceClient<'_>, way: &ProviderProxy, token: &str, bought: &[(&str, String)]) {
    let mut payouts = Vec::new();
    for (path, payment) in bought {
        let answer = finally(site, path, payment).await;
        assert_ne!(answer.str("status"), Some("credited"), "{}", answer.text);
        if let Some(payout) = answer.body["payment"]["payout_id"].as_str() {
            payouts.push(payout.to_owned());
        }
    }
    for payout in &payouts {
        wait_for_payout_status(site, token, payout, "complete").await;
    }
    until("every card of the agent", async || {
        let all = site.get_as(token, "/get-card-data").await;
        let cards = all.body["cards"].as_array().unwrap();
        (cards.len() == 9 && cards.iter().all(|card| card["status"] == "ready")).then_some(())
    })
    .await;
    let ordered = way.ordered();
    assert_eq!(one_key_an_order(&ordered["/v1/cards"], "card_id"), 18);
    assert_eq!(one_key_an_order(&ordered["/v1/payouts"], "payout_id"), 9);
    assert_eq!(one_key_an_order(&ordered["/v1/gift-card-orders"], "-"), 3);
    let mishaps = way.mishaps();
    assert!(mishaps.values().sum::<u32>() > 20, "{mishaps:?}");
    let balance = site.get_as(token, "/get-account-balance").await;
    assert_eq!(balance.body["balance"].to_string(), "0", "{}", balance.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_callback_triggers_immediate_poll() {
    // Checks: a late return appears only in the reports of the rail, which the service polls once a day in this test.
    // The callback triggers an immediate poll. An unsigned callback changes nothing.
    let mut provider = Provider::start();
    let host = provider
        .host(&provider.url)
        .with("PURSER_PAYOUTS__PROVIDER_POLL_INTERVAL_SECONDS", "86400");
    let service = host.start();
    provider.restart(Some(&service.url));
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    let bought = agent.buy(&site, &APP.replace("amount=10", "amount=21.11")).await;
    let payout = bought.body["payment"]["payout_id"].as_str().unwrap();
    wait_for_payout_status(&site, &token, payout, "returned").await;
    let forged = site
        .post("/payout-callback", &serde_json::json!({"type": "payouts.updated"}))
        .await;
    assert_eq!((forged.status, forged.code()), (401, "callback_signature_invalid"));
    service.stop();
    host.assert_verified();
}
