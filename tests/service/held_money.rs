//! The gate that money leaves by: frozen accounts, restores, and chains that have less than is promised there.

use purser_actors::id::{Network, Wallet};
use serde_json::{Value, json};

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

/// Pauses between tries that are long enough to freeze and to stop the service in, and a chain that is read often.
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

/// What the operator's list says of each of these: why it waits and whose it is.
async fn listed(desk: &OperatorClient<'_>, subjects: &[String]) -> Vec<(Value, Value)> {
    let stuck = desk.get("/admin/dead-letters").await.body;
    let held = stuck["held"].as_array().unwrap();
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

/// Each kind of work was tried a few times more: what did not leave by then was kept.
async fn tried(service: &Service, works: &[&str]) {
    for work in works {
        let series = format!("purser_outbox_attempts_total{{work=\"{work}\"}}");
        let before = scrape(service).await.1.value(&series);
        until("more tries", async || {
            let now = scrape(service).await.1.value(&series);
            (now > before + rust_decimal::Decimal::from(3)).then_some(())
        })
        .await;
    }
}

/// What waits when its owners are frozen: by network a withdrawal and a top-up, and a transfer of the first holder's managed wallet.
struct HeldMoney {
    accounts: Vec<(Agent, String)>,
    loaders: Vec<(Agent, String, String)>,
    /// Who receives the transfer.
    receiver: Agent,
    /// Their ids, in this order.
    subjects: Vec<String>,
}

impl HeldMoney {
    /// All of it asked for while the chains could not be reached.
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
        let spend = json!({"toAddress": receiver.address(), "amountUsdc": 1});
        subjects.push(reserved(site, token, spend).await);
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

    /// What the operator's list says of it.
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

    /// Each once.
    async fn assert_sent_once(&self, site: &ServiceClient<'_>) {
        for ((agent, token), id) in self.accounts.iter().zip(&self.subjects) {
            assert_eq!(ended(site, token, id).await["state"], "complete");
            assert_eq!(received(site, agent).await, [2_500_000]);
        }
        for ((_, token, _), id) in self.loaders.iter().zip(&self.subjects[2..]) {
            wait_for_top_up(site, token, id, "credited").await;
        }
        let spent = json!({"walletPaymentId": self.subjects[4]});
        until("the spend", async || {
            let now = result(site, &self.accounts[0].1, "getAgentWallet", spent.clone()).await;
            (now["walletPayment"]["status"] == "settled").then_some(())
        })
        .await;
        assert_eq!(received(site, &self.receiver).await, [1_000_000]);
    }
}

const SEND_ROUTES: [&str; 3] = ["withdraw", "send_top_up", "spend"];

#[tokio::test(flavor = "multi_thread")]
async fn case_77_what_an_unreachable_chain_kept_stays_while_its_owner_is_frozen() {
    // Aim: on both chains a withdrawal and a top-up that the chain could not take, and a transfer of a managed wallet; the owners
    // are frozen and the chains well again: nothing leaves, all of it is on the operator's list with its reason and in the
    // metrics, no try is used up, over a kill too. Thawed, each leaves once, without a restart.
    let host = host();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let kept = HeldMoney::by_chains(&site).await;
    for owner in kept.owners() {
        site.freeze(&owner, Some("Call us.")).await;
    }
    clear_chain_faults(&site).await;
    tried(&service, &SEND_ROUTES).await;
    let desk = OperatorClient::first(&host, &service);
    assert_eq!(listed(&desk, &kept.subjects).await, kept.operator_list());
    let figures = scrape(&service).await.1;
    assert_eq!(figures.value("purser_held{reason=\"held_frozen\"}"), 5.into());
    service.kill();
    host.assert_verified();

    let service = host.start();
    let site = ServiceClient::of(&service);
    tried(&service, &SEND_ROUTES).await;
    let desk = OperatorClient::first(&host, &service);
    assert_eq!(listed(&desk, &kept.subjects).await, kept.operator_list());
    kept.assert_not_sent(&site).await;
    for owner in kept.owners() {
        site.freeze(&owner, None).await;
    }
    kept.assert_sent_once(&site).await;
    assert!(listed(&desk, &kept.subjects).await.is_empty());
    service.stop();
    host.assert_verified();
}

/// A transfer of a managed wallet that is asked for and not waited for: its spend.
async fn reserved(site: &ServiceClient<'_>, token: &str, data: Value) -> String {
    let request = site.request("POST", "/agentWalletTransfer").bearer_auth(token);
    let request = request.json(&json!({"data": data}));
    // Whoever asked goes away: the wallet has reserved it.
    let asked = tokio::spawn(request.send());
    let spend = until("the reservation", async || {
        let now = result(site, token, "getAgentWallet", json!({})).await;
        now["pendingPayments"][0]["walletPaymentId"].as_str().map(str::to_owned)
    })
    .await;
    asked.abort();
    spend
}

#[tokio::test(flavor = "multi_thread")]
async fn case_78_a_managed_wallets_spend_leaves_once_over_a_restore() {
    // Aim: reserved at the backup and sent since, on Solana, where what is signed anew is another transfer: after the restore it
    // waits, says so, and is recognised on the chain once nothing can land any more.
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
    let asked = json!({"walletPaymentId": id});
    let stands = async |site: &ServiceClient<'_>, state: &str| {
        until(state, async || {
            let now = result(site, &token, "getAgentWallet", asked.clone()).await;
            (now["walletPayment"]["status"] == state).then(|| now["walletPayment"].clone())
        })
        .await
    };
    let service = host.start();
    let sent = stands(&ServiceClient::of(&service), "settled").await;
    service.stop();
    restore(&host, &file);

    let service = host.start();
    let site = ServiceClient::of(&service);
    tried(&service, &["spend"]).await;
    let held = stands(&site, "pending").await;
    assert_eq!(held["held"], "held_restored", "{held}");
    let desk = OperatorClient::first(&host, &service);
    let why = listed(&desk, std::slice::from_ref(&id)).await;
    assert_eq!(why, [(json!("held_restored"), exactly(&agent.address()))]);
    assert_eq!(received_from(&site, &from).await, [1_250_000]);
    site.advance(RESTORE_PAUSE_S).await;
    let settled = stands(&site, "settled").await;
    assert_eq!(settled["txHash"], sent["txHash"]);
    site.wait_for_events(&token, &["wallet_payment.settled pending"]).await;
    assert!(settled.get("held").is_none(), "{settled}");
    assert_eq!(received_from(&site, &from).await, [1_250_000]);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_78_a_top_up_that_waits_for_a_restore_says_so() {
    // Aim: paid for and not sent at the backup: after the restore it waits until the lost history can have sent it no more, and its
    // owner is told why; then it goes, and says nothing of it any more.
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

/// What left a wallet on Solana, in atomic USDC.
async fn received_from(site: &ServiceClient<'_>, from: &str) -> Vec<u64> {
    let page = site.get("/sandbox/transfers?limit=1000&network=solana", &[]).await.body;
    let own = page["transfers"].as_array().unwrap().iter();
    own.filter(|transfer| transfer["from"] == from && transfer["reorged"] == false)
        .map(|transfer| transfer["amount"].as_u64().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_78_nothing_is_paid_out_of_a_restored_balance_before_it_is_quiet() {
    // Aim: withdrawals, moves to the bank and payouts out of the balance are all refused by the same code, and nothing was held.
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
    // Nobody has such an account or destination, which is said first.
    let unknown = json!({"accountId": "x", "amount": 1});
    let unknown = call(&site, &token, "createBankingTransfer", unknown).await;
    assert_eq!(unknown.status, 404, "{}", unknown.text);
    site.advance(RESTORE_PAUSE_S).await;
    until("the gate opens", async || {
        let taken = withdraw(&site, &token, None, &json!({"amount": 1})).await;
        (taken.status == 202).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_77_nobody_pays_a_card_withdrawal_of_a_frozen_account() {
    // Aim: the operator's queue says why it waits and gives no lease on it; thawed it is claimed.
    let host = host();
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (agent, token) = loaded(&site, Network::Base, 100).await;
    let body = json!({"amount": 30, "destination_address": agent.address()});
    let asked = post_with_key(&site, &token, "/withdraw-card-balance", None, &body).await;
    assert_eq!(asked.status, 202, "{}", asked.text);
    let id = asked.body["withdrawal"]["id"].as_str().unwrap().to_owned();
    site.freeze(&agent.address(), Some("Call us.")).await;
    let queued = until("it is in the queue", async || {
        let queue = desk.get("/admin/card-withdrawals").await.body;
        queue["withdrawals"].get(0).cloned()
    })
    .await;
    assert_eq!(
        (&queued["withdrawal_id"], &queued["held"]),
        (&json!(id), &json!("held_frozen"))
    );
    let claim = json!({"withdrawal_id": id});
    let refused = desk.post("/admin/card-withdrawals/claim", claim.clone()).await;
    assert_eq!(
        (refused.status, refused.code()),
        (409, "held_frozen"),
        "{}",
        refused.text
    );
    site.freeze(&agent.address(), None).await;
    let claimed = desk.done("/admin/card-withdrawals/claim", claim).await;
    assert_eq!(claimed["status"], "claimed");
    let queue = desk.get("/admin/card-withdrawals").await.body;
    assert!(queue["withdrawals"][0].get("held").is_none(), "{queue}");
}
