//! Daily caps after a restore: purchases and possible purchases of the lost history count against them.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::agent_wallet::{assert_error, fund_wallet, opened};
use super::banking::{call, result};
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::incoming_transfers::{self, waiting};
use super::operator_client::OperatorClient;
use super::recipient::register;
use super::restore::{RESTORE_PAUSE_S, backup, restore};
use super::restored_products::wait_for_jobs;
use super::top_up::{id_of, linked, wait_for_top_up};

const PUSH: &str = "/get-push-to-card?amount=25&currency=USD";
const TOP_UP: &str = "/fund-card-balance?amount=50";

fn host() -> Host {
    incoming_transfers::host()
        .with("PURSER_SANDBOX__ATTESTATION_DELAY_MS", "20")
        .with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20")
        .with("PURSER_SANDBOX__PAYOUT_DELAY_MS", "10")
}

fn capped(answer: &Response) {
    assert_error(answer, 403, "cap_exceeded");
}

/// Buys repeatedly until the caps allow it, once earlier reservations have their real amounts.
async fn sold(site: &ServiceClient<'_>, agent: &Agent, path: &str) {
    until("it is sold", async || {
        let bought = agent.buy(site, path).await;
        assert!(matches!(bought.status, 200 | 403), "{}", bought.text);
        (bought.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_of_lost_history_counts_against_caps_until_presented() {
    // Checks: the daily caps are 60 dollars of top-ups and one payout per rail; a top-up of 50 and a bank payment are
    // in the lost history. No payout of any rail is sold, because its rail is unknown, and no top-up of 20. Each
    // payment, presented again, buys what it bought before and is counted once. The caps then leave exactly the rest.
    let host = host()
        .with("PURSER_CAPS__TOP_UP_USD_PER_DAY", "60")
        .with("PURSER_CAPS__PUSH_TO_CARD_PER_DAY", "1")
        .with("PURSER_CAPS__BANK_PAYMENTS_PER_DAY", "1");
    let service = host.start();
    let (agent, token, _) = linked(&ServiceClient::of(&service), Network::Base).await;
    let destination = register(&ServiceClient::of(&service), &agent).await;
    let bank = format!("/send-bank-payment?amount=40&destination_id={destination}");
    service.stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let top_up = agent.payment(&site, TOP_UP).await;
    let paid = agent.payment(&site, &bank).await;
    let bought = Agent::pay(&site, TOP_UP, &top_up).await;
    wait_for_top_up(&site, &token, &id_of(&bought), "credited").await;
    assert_eq!(Agent::pay(&site, &bank, &paid).await.status, 200);
    capped(&agent.buy(&site, &bank).await);
    service.stop();
    restore(&host, &file);

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    waiting(&operator, &agent).await;
    until("both wait", async || {
        let all = incoming_transfers::listed(&operator).await;
        (all.iter().filter(|one| one["status"] == "waiting").count() == 2).then_some(())
    })
    .await;
    wait_for_jobs(&service, "count_unclaimed").await;
    capped(&agent.buy(&site, &bank).await);
    capped(&agent.buy(&site, PUSH).await);
    capped(&agent.buy(&site, "/fund-card-balance?amount=20").await);

    let again = Agent::pay(&site, &bank, &paid).await;
    assert_eq!(again.status, 200, "{}", again.text);
    capped(&agent.buy(&site, &bank).await);
    sold(&site, &agent, PUSH).await;
    let again = Agent::pay(&site, TOP_UP, &top_up).await;
    assert_eq!(again.status, 200, "{}", again.text);
    capped(&agent.buy(&site, "/fund-card-balance?amount=11").await);
    sold(&site, &agent, "/fund-card-balance?amount=10").await;
    service.stop();
    host.assert_verified();
}

async fn transfer(site: &ServiceClient<'_>, token: &str, to: &Agent, amount: u64) -> Response {
    let data = json!({"toAddress": to.address(), "amountUsdc": amount});
    call(site, token, "agentWalletTransfer", data).await
}

async fn limit(site: &ServiceClient<'_>, token: &str) -> [Value; 2] {
    let limit = result(site, token, "getAgentSpendLimit", json!({})).await;
    ["usedTodayUsd", "leftTodayUsd"].map(|name| limit[name].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_wallet_spending_of_lost_history_counts_against_its_cap() {
    // Checks: of a cap of 100 dollars a day, 40 are spent before the backup and 50 after it, on both chains. The agent
    // then sees 90 used. A transfer beyond the rest is rejected; one of 10 is reserved at once and sent after the
    // restore pause. The lost spending counts once, also when the agent asks again.
    let host = host().with("PURSER_AGENT_WALLET__DEFAULT_DAILY_CAP_USD", "100");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, _) = opened(&site, Network::Base).await;
    let other = Agent::new(Network::Solana);
    fund_wallet(&site, &other.address()).await;
    assert_eq!(transfer(&site, &token, &agent, 40).await.status, 200);
    service.stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    for (to, amount) in [(&agent, 20), (&other, 30)] {
        let sent = transfer(&site, &token, to, amount).await;
        assert_eq!(sent.status, 200, "{}", sent.text);
    }
    assert_error(&transfer(&site, &token, &agent, 11).await, 403, "policy_filtered");
    service.stop();
    restore(&host, &file);

    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    assert_eq!(limit(&site, &token).await, [json!(90), json!(10)]);
    assert_error(&transfer(&site, &token, &agent, 11).await, 403, "policy_filtered");
    let last = transfer(&site, &token, &agent, 10).await;
    assert_eq!(
        last.body["result"]["walletPayment"]["status"], "pending",
        "{}",
        last.text
    );
    assert_error(&transfer(&site, &token, &agent, 1).await, 403, "policy_filtered");
    site.advance(RESTORE_PAUSE_S).await;
    let token = agent.token(&site).await;
    let id = last.body["result"]["walletPayment"]["walletPaymentId"].clone();
    until("it has left", async || {
        let wallet = result(&site, &token, "getAgentWallet", json!({"walletPaymentId": id})).await;
        (wallet["walletPayment"]["status"] == "settled").then_some(())
    })
    .await;
    service.stop();
    host.assert_verified();
}
