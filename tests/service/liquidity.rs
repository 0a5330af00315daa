//! Money that cannot be paid out is not held: receivers without an account, and chains with too little liquidity.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::agent_wallet::keyed;
use super::banking::result;
use super::held_money::{clear_chain_faults, host, unreachable};
use super::host::Host;
use super::http::{ServiceClient, until};
use super::top_up::{self, linked, wait_for_top_up};
use super::withdraw::{agent_with_balance, balance, ended, id_of, received, withdraw};

#[tokio::test(flavor = "multi_thread")]
async fn receiver_without_a_token_account_is_rejected_before_a_hold() {
    // Checks: By `/withdraw` and `agentWalletTransfer`: nothing is held, reserved or stored. Once the token account
    // exists, the same request under the same key is accepted.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, token) = agent_with_balance(&site, Network::Solana).await;
    let stranger = Agent::new(Network::Solana).address();
    let body = json!({"amount": 5, "address": stranger});
    let refused = withdraw(&site, &token, Some("to a stranger"), &body).await;
    assert_eq!(
        (refused.status, refused.code(), refused.str("param")),
        (409, "token_account_missing", Some("address")),
        "{}",
        refused.text
    );
    assert_eq!(refused.body["terminal"], false);
    balance(&site, &token, [6.66, 6.66, 0.0]).await;
    let none = site.get_as(&token, "/get-withdrawal-status").await.body;
    assert_eq!(none["withdrawals"], json!([]));

    let made = result(&site, &token, "createAgentWallet", json!({})).await;
    let from = &made["wallet"]["addresses"]["solana"];
    assert_eq!(
        site.post("/sandbox/faucet", &json!({"wallet": from, "amount": "1"}))
            .await
            .status,
        200
    );
    let data = json!({"toAddress": stranger, "amountUsdc": 1});
    let refused = keyed(&site, &token, "agentWalletTransfer", "to a stranger, too", &data).await;
    assert_eq!(
        (refused.status, refused.code()),
        (409, "token_account_missing"),
        "{}",
        refused.text
    );
    let now = result(&site, &token, "getAgentWallet", json!({})).await;
    assert_eq!(now["pendingPayments"], json!([]));

    let known = json!({"wallet": stranger, "amount": "1"});
    assert_eq!(site.post("/sandbox/faucet", &known).await.status, 200);
    let id = id_of(&withdraw(&site, &token, Some("to a stranger"), &body).await);
    assert_eq!(ended(&site, &token, &id).await["state"], "complete");
    let sent = keyed(&site, &token, "agentWalletTransfer", "to a stranger, too", &data).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_chain_pays_out_from_its_own_treasury() {
    // Checks: A balance paid in on Solana cannot be held for a withdrawal to Base, where the treasury is empty. Pending
    // withdrawals there count. An insufficient balance is reported first, whatever the chain has.
    let host = host();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, token) = agent_with_balance(&site, Network::Solana).await;
    let (_, other) = agent_with_balance(&site, Network::Solana).await;
    let to = Agent::new(Network::Base);
    let params = |amount: f64| json!({"amount": amount, "address": to.address()});
    let refused = withdraw(&site, &token, None, &params(0.01)).await;
    assert_eq!(
        (refused.status, refused.code()),
        (503, "insufficient_liquidity"),
        "{}",
        refused.text
    );
    assert!(refused.header("retry-after").is_some() && refused.body["terminal"] == false);
    balance(&site, &token, [6.66, 6.66, 0.0]).await;
    let more = withdraw(&site, &token, None, &params(6.67)).await;
    assert_eq!((more.status, more.code()), (409, "insufficient_balance"));

    let bought = Agent::new(Network::Base).buy(&site, "/get-card?amount=5").await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let ours = purser::sandbox::keys::treasury(Network::Base).address();
    unreachable(&site, Network::Base, &ours).await;
    let id = id_of(&withdraw(&site, &token, None, &params(4.0)).await);
    let refused = withdraw(&site, &other, None, &params(1.01)).await;
    assert_eq!(refused.code(), "insufficient_liquidity", "{}", refused.text);
    let fits = id_of(&withdraw(&site, &other, None, &params(1.0)).await);
    clear_chain_faults(&site).await;
    assert_eq!(ended(&site, &token, &id).await["state"], "complete");
    assert_eq!(ended(&site, &other, &fits).await["state"], "complete");
    let mut all = received(&site, &to).await;
    all.sort_unstable();
    assert_eq!(all, [1_000_000, 4_000_000]);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn top_up_is_not_sold_when_the_treasury_is_short() {
    // Checks: A withdrawal is pending on Base when a reorg reverses the payment that funds it. Payments that could not
    // be forwarded are rejected without a charge until the treasury has the amount again.
    let host = host();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, token) = agent_with_balance(&site, Network::Solana).await;
    let (loader, loading, _) = linked(&site, Network::Base).await;
    let payer = Agent::new(Network::Base);
    let ours = purser::sandbox::keys::treasury(Network::Base).address();
    site.chain_fault(json!({"network": "base", "fault": "reorg", "delay_ms": 4000, "wallet": payer.address()}))
        .await;
    let bought = payer.buy(&site, "/get-card?amount=5").await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    unreachable(&site, Network::Base, &ours).await;
    let to = Agent::new(Network::Base).address();
    let id = id_of(&withdraw(&site, &token, None, &json!({"amount": 5, "address": to})).await);
    until("the payment is reversed", async || {
        let page = site.get("/sandbox/transfers?limit=1000&network=base", &[]).await.body;
        let all = page["transfers"].as_array().unwrap();
        all.iter().any(|transfer| transfer["reorged"] == true).then_some(())
    })
    .await;
    let before = site.transfers().await.len();
    let refused = loader.buy(&site, "/fund-card-balance?amount=5").await;
    assert_eq!(
        (refused.status, refused.code()),
        (503, "insufficient_liquidity"),
        "{}",
        refused.text
    );
    assert_eq!(site.transfers().await.len(), before, "nothing was charged");
    let funded = site
        .post("/sandbox/faucet", &json!({"wallet": ours, "amount": "5"}))
        .await;
    assert_eq!(funded.status, 200, "{}", funded.text);
    clear_chain_faults(&site).await;
    assert_eq!(ended(&site, &token, &id).await["state"], "complete");
    let bought = top_up::id_of(&loader.buy(&site, "/fund-card-balance?amount=5").await);
    wait_for_top_up(&site, &loading, &bought, "credited").await;
}
