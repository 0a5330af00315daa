//! `docs/precedence.md` from top to bottom: the managed wallet's callable functions.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::cases_banking::result;
use super::host::Host;
use super::ladder::Ladder;
use super::owner::Owner;
use super::request::Request;
use super::wire::Site;

const WHY: &str = "Please write to us.";

/// A data with one member more.
fn with(data: &Value, name: &str, value: Value) -> Value {
    let mut data = data.clone();
    data[name] = value;
    data
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paid_call_of_an_agent_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, key, members, whose it is, account, kind of token, wallet, address, caps, balance, what is called, and then
    // it is paid; the key stands for that alone.
    let service = Host::new().start();
    let site = Site::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let born = agent.buy(&site, "/get-card?amount=5").await;
    let born = born.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let token = agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = Ladder::of("POST /agentX402Pay", "agent-x402-pay");
    let mut ask = Request::new("POST", "/agentX402Pay");
    ask.header("idempotency-key", &"k".repeat(256));
    ask.body(&json!({"data": {"rout": "/get-card"}}));
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.meets(&ask.send(&site).await);
    ask.header("idempotency-key", "one");
    ladder.meets(&ask.send(&site).await);
    let inside = json!({"url": "http://127.0.0.1/"});
    let unowned = with(&inside, "userId", json!(other.address()));
    let unpriced = with(&unowned, "maxAmountUsdc", json!(0));
    for data in [
        json!({"method": "GET"}),
        with(&unpriced, "route", json!("/get-card")),
        unpriced,
        unowned,
        inside,
    ] {
        ask.body(&json!({ "data": data }));
        ladder.meets(&ask.send(&site).await);
    }
    site.freeze(&agent.address(), None).await;
    ask.bearer(&born);
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.meets(&ask.send(&site).await);
    result(&site, &token, "createAgentWallet", json!({})).await;
    ladder.meets(&ask.send(&site).await);
    let owner = Owner::of(&site, &agent).await;
    let set = owner
        .send(&site, "/account/spending", "per_call_usd=50000&per_day_usd=")
        .await;
    assert_eq!(set.status, 303, "{}", set.text);
    // More than a new wallet has on either chain.
    let drain = json!({"toAddress": agent.address(), "amountUsdc": 9999.5});
    result(&site, &token, "agentWalletTransfer", drain).await;
    let priced = json!({"route": "/get-card", "params": {"amount": 5}});
    ask.body(&json!({"data": with(&priced, "expectedNetwork", json!("base"))}));
    ladder.meets(&ask.send(&site).await);
    ask.header("idempotency-key", "two");
    ask.body(&json!({"data": {"route": "/get-card", "params": {"amount": 4}}}));
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"data": {"route": "/healthz"}}));
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"data": with(&priced, "expectedNetwork", json!("solana"))}));
    assert_eq!(ask.send(&site).await.status, 200);
    ask.body(&json!({"data": priced}));
    ladder.meets(&ask.send(&site).await);
    ladder.ends();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_of_an_agent_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, members, account, kind of token, wallet, entry, network, caps, balance, and then it is sent.
    let service = Host::new().start();
    let site = Site::of(&service);
    let agent = Agent::new(Network::Base);
    let born = agent.buy(&site, "/get-card?amount=5").await;
    let born = born.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let token = agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = Ladder::of("POST /agentWalletTransfer", "agent-wallet-transfer");
    let mut ask = Request::new("POST", "/agentWalletTransfer");
    ask.body(&json!({"data": {"amountUsdc": "1.0000001", "note": ""}}));
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.meets(&ask.send(&site).await);
    let unknown = json!({"amountUsdc": 1_000.5, "addressBookEntryId": format!("adr_{:032x}", 1)});
    for data in [json!({"amountUsdc": 1, "note": ""}), json!({"amountUsdc": 1}), unknown] {
        ask.body(&json!({ "data": data }));
        ladder.meets(&ask.send(&site).await);
    }
    site.freeze(&agent.address(), None).await;
    ask.bearer(&born);
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.meets(&ask.send(&site).await);
    result(&site, &token, "createAgentWallet", json!({})).await;
    ladder.meets(&ask.send(&site).await);
    let wanted = json!({"amountUsdc": 10_000.5, "toAddress": agent.address(), "network": "solana"});
    ask.body(&json!({"data": wanted}));
    ladder.meets(&ask.send(&site).await);
    let wanted = with(&wanted, "network", json!("base"));
    ask.body(&json!({"data": wanted}));
    ladder.meets(&ask.send(&site).await);
    let owner = Owner::of(&site, &agent).await;
    let set = owner
        .send(&site, "/account/spending", "per_call_usd=50000&per_day_usd=")
        .await;
    assert_eq!(set.status, 303, "{}", set.text);
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"data": with(&wanted, "amountUsdc", json!(1))}));
    ladder.meets(&ask.send(&site).await);
    ladder.ends();
}
