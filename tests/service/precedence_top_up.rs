//! Error precedence of routes that load and read the card balance.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::{Agent, required};
use super::http::ServiceClient;
use super::precedence_table::{PrecedenceTable, snapshot};
use super::request::{Request, recorded};
use super::top_up::{id_of, link, start, wait_for_top_up};

const WHY: &str = "Please write to us.";

#[tokio::test(flavor = "multi_thread")]
async fn top_up_errors_follow_precedence() {
    // Checks: the errors follow `docs/precedence.md`; nothing settles before the last rule.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let agent = Agent::seeded(Network::Base, 8, 1);
    let other = Agent::new(Network::Solana).token(&site).await;
    let token = agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /fund-card-balance", "fund-card-balance");
    let mut ask = Request::new("GET", "/fund-card-balance").with("colour", "red");
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    for amount in ["five", "1000.01"] {
        ask.set("amount", amount);
        precedence.assert_next(&ask.send(&site).await);
    }
    ask.set("amount", "5");
    let challenge = ask.send_and_check(&site).await;
    precedence.assert_next(&recorded(&challenge));
    ask.header("payment-signature", "bm8=");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("payment-signature", &agent.sign(&required(&challenge)));
    ask.bearer(&other);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("authorization", "");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    assert!(site.transfers().await.is_empty(), "nothing was charged so far");
    link(&site, &agent, true).await;
    site.chain_fault(json!({"fault": "insufficient", "times": 1})).await;
    precedence.assert_next(&ask.send(&site).await);
    let bought = ask.send_and_check(&site).await;
    precedence.assert_next(&recorded(&bought));
    precedence.assert_complete();
    wait_for_top_up(&site, &token, &id_of(&bought), "credited").await;

    let mut read = Request::new("GET", "/list-card-transactions");
    read.bearer(&token);
    snapshot("list-card-transactions.200-credited", &read.send(&site).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn card_balance_read_errors_follow_precedence() {
    // Checks: one top-up, the list, and the deposit address.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let [agent, another] = [1, 2].map(|n| Agent::seeded(Network::Base, 9, n));
    let token = agent.token(&site).await;
    link(&site, &another, true).await;
    let theirs = id_of(&another.buy(&site, "/fund-card-balance?amount=5").await);
    // Waiting for that credit polls the issuer, and would use up the fault meant for this request.
    let their_token = another.token(&site).await;
    wait_for_top_up(&site, &their_token, &theirs, "credited").await;
    let third = Agent::seeded(Network::Base, 9, 3);
    let third_token = third.token(&site).await;
    link(&site, &third, true).await;
    let own = id_of(&third.buy(&site, "/fund-card-balance?amount=5").await);
    wait_for_top_up(&site, &third_token, &own, "credited").await;
    site.freeze(&third.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /get-top-up-status", "get-top-up-status");
    let mut ask = Request::new("GET", "/get-top-up-status").with("colour", "red");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&third_token);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&third.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.set("top_up_id", "none");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("top_up_id", &theirs);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("top_up_id", &own);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();

    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /list-card-transactions", "list-card-transactions");
    let mut ask = Request::new("GET", "/list-card-transactions")
        .with("colour", "red")
        .with("limit", "0")
        .with("status", "lost")
        .with("card_id", "none")
        .with("starting_after", "none");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.set("limit", "5");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("status", "paid");
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("card_id");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("starting_after", &theirs);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("starting_after");
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();

    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /get-card-deposit-address", "get-card-deposit-address");
    let mut ask = Request::new("GET", "/get-card-deposit-address").with("colour", "red");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    link(&site, &agent, true).await;
    site.post("/sandbox/card-balances", &json!({"unreachable": 1})).await;
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}
