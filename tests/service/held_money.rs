//! Outgoing money on hold: frozen accounts, restores, and chains with too little liquidity.

use purser_actors::id::{Network, Wallet};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::agent::Agent;
use super::banking::{call, result};
use super::host::{Host, Service};
use super::http::{ServiceClient, until};
use super::metrics::scrape;
use super::operator_client::OperatorClient;
use super::reloadable_cards::{loaded, post_with_key};
use super::restore::{RESTORE_PAUSE_S, backup, restore};
use super::top_up::{self, linked, wait_for_top_up};
use super::withdraw::{agent_with_balance, balance, ended, id_of, received, withdraw};

/// Backoff long enough to freeze an account and stop the service in between, with frequent chain reads.
pub(super) fn host() -> Host {
    Host::new()
        .with("PURSER_SANDBOX__ATTESTATION_DELAY_MS", "20")
        .with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "8000")
        .with("PURSER_ENGINE__CHAIN_POLL_INTERVAL_MS", "50")
}

pub(super) async fn unreachable(site: &ServiceClient<'_>, network: Network, wallet: &str) {
    let fault = json!({"network": network.name(), "fault": "unreachable", "times": 0, "wallet": wallet});
    site.chain_fault(fault).await;
}

pub(super) async fn clear_chain_faults(site: &ServiceClient<'_>) {
    for network in Network::ALL {
        site.chain_fault(json!({"network": network.name(), "fault": "clear"}))
            .await;
    }
}

/// For each subject, the operator's list entry: hold reason and wallet.
async fn listed(operator: &OperatorClient<'_>, subjects: &[String]) -> Vec<(Value, Value)> {
    let page = operator.get("/admin/dead-letters").await.body;
    let held = page["held"].as_array().unwrap();
    let of = |subject: &String| held.iter().find(|item| item["subject"] == **subject);
    let shown = subjects.iter().filter_map(of);
    shown
        .map(|item| (item["held"].clone(), item["wallet"].clone()))
        .collect()
}

/// An address as the operator's list writes it.
fn exactly(address: &str) -> Value {
    json!(address.parse::<Wallet>().unwrap().to_string())
}

/// Waits until each job type has failed a few more attempts. What has not left by then is on hold.
async fn tried(service: &Service, works: &[&str]) {
    for work in works {
        let series = format!("purser_outbox_attempts_total{{job_type=\"{work}\"}}");
        let before = scrape(service).await.1.value(&series);
        until("more attempts", async || {
            let now = scrape(service).await.1.value(&series);
            (now > before + rust_decimal::Decimal::from(3)).then_some(())
        })
        .await;
    }
}

/// Transfers pending when their owners are frozen: a withdrawal and a top-up per network, one agent wallet transfer.
struct HeldMoney {
    accounts: Vec<(Agent, String)>,
    loaders: Vec<(Agent, String, String)>,
    /// Receiver of the agent wallet transfer.
    receiver: Agent,
    /// Ids of the transfers, in this order.
    subjects: Vec<String>,
}

impl HeldMoney {
    /// Requests all of it while the chains are unreachable.
    async fn by_chains(site: &ServiceClient<'_>) -> Self {
        let (mut holders, mut loaders) = (Vec::new(), Vec::new());
        for network in Network::ALL {
            holders.push(agent_with_balance(site, network).await);
            loaders.push(linked(site, network).await);
        }
        let (receiver, token) = (Agent::new(Network::Base), &holders[0].1);
        let made = result(site, token, "createAgentWallet", json!({})).await;
        let from = made["wallet"]["addresses"]["base"].as_str().unwrap().to_owned();
        for network in Network::ALL {
            let ours = purser::sandbox::keys::treasury(network).address();
            unreachable(site, network, &ours).await;
        }
        unreachable(site, Network::Base, &from).await;
        let mut subjects = Vec::new();
        for (_, token) in &holders {
            subjects.push(id_of(&withdraw(site, token, None, &json!({"amount": 2.50})).await));
        }
        for (agent, ..) in &loaders {
            let bought = agent.buy(site, "/fund-card-balance?amount=5").await;
            subjects.push(top_up::id_of(&bought));
        }
        let transfer = json!({"toAddress": receiver.address(), "amountUsdc": 1});
        subjects.push(reserved(site, token, transfer).await);
        Self {
            accounts: holders,
            loaders,
            receiver,
            subjects,
        }
    }

    fn owners(&self) -> Vec<String> {
        let holders = self.accounts.iter().map(|(agent, _)| agent.address());
        let loaders = self.loaders.iter().map(|(agent, ..)| agent.address());
        holders.chain(loaders).collect()
    }

    /// The expected entries of the operator's list.
    fn operator_list(&self) -> Vec<(Value, Value)> {
        let owners = self.owners();
        let owners = owners.iter().chain(&owners[..1]);
        owners.map(|owner| (json!("held_frozen"), exactly(owner))).collect()
    }

    async fn assert_not_sent(&self, site: &ServiceClient<'_>) {
        for (agent, _) in &self.accounts {
            assert!(received(site, agent).await.is_empty(), "nothing has left");
        }
        assert!(received(site, &self.receiver).await.is_empty());
    }

    /// Each transfer left exactly once.
    async fn assert_sent_once(&self, site: &ServiceClient<'_>) {
        for ((agent, token), id) in self.accounts.iter().zip(&self.subjects) {
            assert_eq!(ended(site, token, id).await["state"], "complete");
            assert_eq!(received(site, agent).await, [2_500_000]);
        }
        for ((_, token, _), id) in self.loaders.iter().zip(&self.subjects[2..]) {
            wait_for_top_up(site, token, id, "credited").await;
        }
        let spent = json!({"walletPaymentId": self.subjects[4]});
        until("the wallet payment", async || {
            let now = result(site, &self.accounts[0].1, "getAgentWallet", spent.clone()).await;
            (now["walletPayment"]["status"] == "settled").then_some(())
        })
        .await;
        assert_eq!(received(site, &self.receiver).await, [1_000_000]);
    }
}

const SEND_ROUTES: [&str; 3] = ["send_withdrawal", "send_top_up", "send_wallet_payment"];

#[tokio::test(flavor = "multi_thread")]
async fn case_77_held_transfers_wait_while_their_owner_is_frozen() {
    // Checks: On both chains, a withdrawal and a top-up fail, and so does an agent wallet transfer. The owners are
    // frozen, then the chains recover. Nothing leaves, and all is listed for operators and in the metrics. No attempt
    // is used up, also over a kill. Unfrozen, each leaves once without a restart.
    let host = host();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let held_money = HeldMoney::by_chains(&site).await;
    for owner in held_money.owners() {
        site.freeze(&owner, Some("Call us.")).await;
    }
    clear_chain_faults(&site).await;
    tried(&service, &SEND_ROUTES).await;
    let operator = OperatorClient::first(&host, &service);
    assert_eq!(
        listed(&operator, &held_money.subjects).await,
        held_money.operator_list()
    );
    let figures = scrape(&service).await.1;
    assert_eq!(figures.value("purser_held{reason=\"held_frozen\"}"), 5.into());
    service.kill();
    host.assert_verified();

    let service = host.start();
    let site = ServiceClient::of(&service);
    tried(&service, &SEND_ROUTES).await;
    let operator = OperatorClient::first(&host, &service);
    assert_eq!(
        listed(&operator, &held_money.subjects).await,
        held_money.operator_list()
    );
    held_money.assert_not_sent(&site).await;
    for owner in held_money.owners() {
        site.freeze(&owner, None).await;
    }
    held_money.assert_sent_once(&site).await;
    assert!(listed(&operator, &held_money.subjects).await.is_empty());
    service.stop();
    host.assert_verified();
}

/// Requests an agent wallet transfer without waiting for it, and returns the wallet payment's id.
async fn reserved(site: &ServiceClient<'_>, token: &str, data: Value) -> String {
    let (request, wallet_payment) = waiting(site, token, data).await;
    // The client disconnects. The wallet has reserved the amount.
    request.abort();
    wallet_payment
}

/// Requests an agent wallet transfer and returns once the wallet has reserved the amount: the request in progress, and
/// the wallet payment's id.
async fn waiting(
    site: &ServiceClient<'_>,
    token: &str,
    data: Value,
) -> (JoinHandle<reqwest::Result<reqwest::Response>>, String) {
    let request = site.request("POST", "/agentWalletTransfer").bearer_auth(token);
    let request = tokio::spawn(request.json(&json!({"data": data})).send());
    let wallet_payment = until("the reservation", async || {
        let now = result(site, token, "getAgentWallet", json!({})).await;
        now["pendingPayments"][0]["walletPaymentId"].as_str().map(str::to_owned)
    })
    .await;
    (request, wallet_payment)
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_waits_for_its_payment_is_answered_when_a_freeze_holds_it() {
    // Checks: The chain does not answer, so a transfer waits. Once its owner is frozen, the call is answered with the
    // pending payment and the reason of the hold. It could have waited for an hour.
    let host = host().with("PURSER_SERVER__REQUEST_TIMEOUT_MS", "3600000");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (owner, token) = agent_with_balance(&site, Network::Base).await;
    let made = result(&site, &token, "createAgentWallet", json!({})).await;
    let from = made["wallet"]["addresses"]["base"].as_str().unwrap();
    unreachable(&site, Network::Base, from).await;
    let transfer = json!({"toAddress": Agent::new(Network::Base).address(), "amountUsdc": 1});
    let (request, id) = waiting(&site, &token, transfer).await;
    site.freeze(&owner.address(), Some("Call us.")).await;
    let answer: Value = request.await.unwrap().unwrap().json().await.unwrap();
    let payment = &answer["result"]["walletPayment"];
    assert_eq!(
        (
            &answer["result"]["status"],
            &payment["walletPaymentId"],
            &payment["held"]
        ),
        (&json!("pending"), &json!(id), &json!("held_frozen")),
        "{answer}"
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_78_agent_wallet_payment_is_sent_once_over_a_restore() {
    // Checks: A transfer is reserved at the backup and sent since, on Solana, where signing again makes another
    // transfer. After the restore it waits and says so. It is recognised on the chain once no old transaction can still
    // settle.
    let host = host();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, receiver) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let token = agent.token(&site).await;
    let made = result(&site, &token, "createAgentWallet", json!({})).await;
    let from = made["wallet"]["addresses"]["solana"].as_str().unwrap().to_owned();
    for wallet in [&from, &receiver.address()] {
        let known = json!({"wallet": wallet, "amount": "1"});
        assert_eq!(site.post("/sandbox/faucet", &known).await.status, 200);
    }
    unreachable(&site, Network::Solana, &from).await;
    let data = json!({"toAddress": receiver.address(), "amountUsdc": 1.25});
    let id = reserved(&site, &token, data).await;
    service.kill();
    let file = backup(&host);
    let params = json!({"walletPaymentId": id});
    let wait_for_state = async |site: &ServiceClient<'_>, state: &str| {
        until(state, async || {
            let now = result(site, &token, "getAgentWallet", params.clone()).await;
            (now["walletPayment"]["status"] == state).then(|| now["walletPayment"].clone())
        })
        .await
    };
    let service = host.start();
    let sent = wait_for_state(&ServiceClient::of(&service), "settled").await;
    service.stop();
    restore(&host, &file);

    let service = host.start();
    let site = ServiceClient::of(&service);
    tried(&service, &["send_wallet_payment"]).await;
    let held = wait_for_state(&site, "pending").await;
    assert_eq!(held["held"], "held_restored", "{held}");
    let operator = OperatorClient::first(&host, &service);
    let why = listed(&operator, std::slice::from_ref(&id)).await;
    assert_eq!(why, [(json!("held_restored"), exactly(&agent.address()))]);
    assert_eq!(received_from(&site, &from).await, [1_250_000]);
    site.advance(RESTORE_PAUSE_S).await;
    let settled = wait_for_state(&site, "settled").await;
    assert_eq!(settled["txHash"], sent["txHash"]);
    site.wait_for_events(&token, &["wallet_payment.settled pending"]).await;
    assert!(settled.get("held").is_none(), "{settled}");
    assert_eq!(received_from(&site, &from).await, [1_250_000]);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_78_top_up_held_after_a_restore_gives_its_reason() {
    // Checks: A top-up is paid for but not sent at the backup. After the restore it waits until the lost history can no
    // longer send it, and its owner sees the reason. Then it leaves, and the reason disappears.
    let host = host();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, _) = linked(&site, Network::Solana).await;
    let ours = purser::sandbox::keys::treasury(Network::Solana).address();
    unreachable(&site, Network::Solana, &ours).await;
    let id = top_up::id_of(&agent.buy(&site, "/fund-card-balance?amount=5").await);
    service.kill();
    let file = backup(&host);
    restore(&host, &file);

    let service = host.start();
    let site = ServiceClient::of(&service);
    tried(&service, &["send_top_up"]).await;
    let held = top_up::find_top_up(&site, &token, &id).await;
    assert_eq!(
        (&held["status"], &held["held"]),
        (&json!("paid"), &json!("held_restored"))
    );
    clear_chain_faults(&site).await;
    site.advance(RESTORE_PAUSE_S).await;
    let token = agent.token(&site).await;
    let loaded = wait_for_top_up(&site, &token, &id, "credited").await;
    assert!(loaded.get("held").is_none(), "{loaded}");
    service.stop();
    host.assert_verified();
}

/// Amounts that left a wallet on Solana, in atomic USDC.
async fn received_from(site: &ServiceClient<'_>, from: &str) -> Vec<u64> {
    let page = site.get("/sandbox/transfers?limit=1000&network=solana", &[]).await.body;
    let own = page["transfers"].as_array().unwrap().iter();
    own.filter(|transfer| transfer["from"] == from && transfer["reorged"] == false)
        .map(|transfer| transfer["amount"].as_u64().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_78_restored_balance_pays_nothing_out_during_the_pause() {
    // Checks: Withdrawals, bank transfers and payouts from the balance all fail with the same code, and nothing is
    // held.
    let host = host();
    let service = host.start();
    let (_, token) = agent_with_balance(&ServiceClient::of(&service), Network::Base).await;
    service.stop();
    let file = backup(&host);
    restore(&host, &file);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let refused = withdraw(&site, &token, None, &json!({"amount": 1})).await;
    assert_eq!(
        (refused.status, refused.code()),
        (503, "withdrawals_paused"),
        "{}",
        refused.text
    );
    balance(&site, &token, [6.66, 6.66, 0.0]).await;
    // The account or destination is unknown, which is checked first.
    let unknown = json!({"accountId": "x", "amount": 1});
    let unknown = call(&site, &token, "createBankingTransfer", unknown).await;
    assert_eq!(unknown.status, 404, "{}", unknown.text);
    site.advance(RESTORE_PAUSE_S).await;
    until("the pause ends", async || {
        let taken = withdraw(&site, &token, None, &json!({"amount": 1})).await;
        (taken.status == 202).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_77_card_withdrawal_of_a_frozen_account_cannot_be_claimed() {
    // Checks: The operator's queue gives the reason and grants no lease. After the account is unfrozen, the withdrawal
    // can be claimed.
    let host = host();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (agent, token) = loaded(&site, Network::Base, 100).await;
    let body = json!({"amount": 30, "destination_address": agent.address()});
    let accepted = post_with_key(&site, &token, "/withdraw-card-balance", None, &body).await;
    assert_eq!(accepted.status, 202, "{}", accepted.text);
    let id = accepted.body["withdrawal"]["id"].as_str().unwrap().to_owned();
    site.freeze(&agent.address(), Some("Call us.")).await;
    let queued = until("it is in the queue", async || {
        let queue = operator.get("/admin/card-withdrawals").await.body;
        queue["withdrawals"].get(0).cloned()
    })
    .await;
    assert_eq!(
        (&queued["withdrawal_id"], &queued["held"]),
        (&json!(id), &json!("held_frozen"))
    );
    let claim = json!({"withdrawal_id": id});
    let refused = operator.post("/admin/card-withdrawals/claim", claim.clone()).await;
    assert_eq!(
        (refused.status, refused.code()),
        (409, "held_frozen"),
        "{}",
        refused.text
    );
    site.freeze(&agent.address(), None).await;
    let claimed = operator.done("/admin/card-withdrawals/claim", claim).await;
    assert_eq!(claimed["status"], "claimed");
    let queue = operator.get("/admin/card-withdrawals").await.body;
    assert!(queue["withdrawals"][0].get("held").is_none(), "{queue}");
}
