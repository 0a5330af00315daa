//! The gate that money leaves by: frozen accounts, restores, and chains that have less than is promised there.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::cases_agent_wallet::keyed;
use super::cases_banking::{call, result};
use super::cases_metrics::scrape;
use super::cases_restore::{QUIET_S, backup, restore};
use super::cases_top_up::{self, linked, once};
use super::cases_withdraw::{balance, ended, holder, id_of, received, withdraw};
use super::desk::Desk;
use super::host::{Host, Service};
use super::wire::{Site, until};

/// Pauses between tries that are long enough to freeze and to stop the service in, and a chain that is read often.
fn host() -> Host {
    Host::new()
        .with("PURSER_SANDBOX__ATTEST_MS", "20")
        .with("PURSER_SANDBOX__CREDIT_MS", "20")
        .with("PURSER_ENGINE__BACKOFF_FIRST_MS", "2000")
        .with("PURSER_ENGINE__WATCH_EVERY_MS", "50")
}

async fn unreachable(site: &Site<'_>, network: Network, wallet: &str) {
    let fault = json!({"network": network.name(), "fault": "unreachable", "times": 0, "wallet": wallet});
    site.chain_fault(fault).await;
}

async fn well(site: &Site<'_>) {
    for network in Network::ALL {
        site.chain_fault(json!({"network": network.name(), "fault": "clear"}))
            .await;
    }
}

/// What the operator's list says of each of these: why it waits and whose it is.
async fn listed(desk: &Desk<'_>, subjects: &[String]) -> Vec<(Value, Value)> {
    let stuck = desk.get("/admin/stuck").await.body;
    let held = stuck["held"].as_array().unwrap();
    let of = |subject: &String| held.iter().find(|item| item["subject"] == **subject);
    let shown = subjects.iter().filter_map(of);
    shown
        .map(|item| (item["held"].clone(), item["wallet"].clone()))
        .collect()
}

/// Each kind of work was tried a few times more: what did not leave by then was kept.
async fn tried(service: &Service, works: &[&str]) {
    for work in works {
        let series = format!("purser_delivery_tries_total{{work=\"{work}\"}}");
        let before = scrape(service).await.1.value(&series);
        until("more tries", async || {
            let now = scrape(service).await.1.value(&series);
            (now > before + rust_decimal::Decimal::from(3)).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_77_what_an_unreachable_chain_kept_stays_while_its_owner_is_frozen() {
    // Aim: on both chains a withdrawal and a top-up that the chain could not take, and a transfer of a managed wallet; the owners
    // are frozen and the chains well again: nothing leaves, all of it is on the operator's list with its reason and in the
    // metrics, no try is used up, over a kill too. Thawed, each leaves once, without a restart.
    let host = host();
    let service = host.start();
    let site = Site::of(&service);
    let (mut holders, mut loaders) = (Vec::new(), Vec::new());
    for network in Network::ALL {
        holders.push(holder(&site, network).await);
        loaders.push(linked(&site, network).await);
    }
    let (spender, token) = (Agent::new(Network::Base), &holders[0].1);
    let made = result(&site, token, "createAgentWallet", json!({})).await;
    let from = made["wallet"]["addresses"]["base"].as_str().unwrap().to_owned();
    for network in Network::ALL {
        let ours = purser::sandbox::keys::treasury(network).address();
        unreachable(&site, network, &ours).await;
    }
    unreachable(&site, Network::Base, &from).await;
    let mut subjects = Vec::new();
    for (_, token) in &holders {
        subjects.push(id_of(&withdraw(&site, token, None, &json!({"amount": 2.50})).await));
    }
    for (agent, ..) in &loaders {
        subjects.push(cases_top_up::id_of(
            &agent.buy(&site, "/fund-card-balance?amount=5").await,
        ));
    }
    let spend = json!({"toAddress": spender.address(), "amountUsdc": 1});
    subjects.push(reserved(&site, token, spend).await);
    let owners: Vec<String> = holders
        .iter()
        .map(|(agent, _)| agent.address())
        .chain(loaders.iter().map(|(agent, ..)| agent.address()))
        .collect();
    for owner in &owners {
        site.freeze(owner, Some("Call us.")).await;
    }
    well(&site).await;
    let shown = [&owners[..], &owners[..1]].concat();
    let shown: Vec<_> = shown.iter().map(|owner| (json!("held_frozen"), json!(owner))).collect();
    let works = ["withdraw", "send_top_up", "spend"];
    tried(&service, &works).await;
    let desk = Desk::first(&host, &service);
    assert_eq!(listed(&desk, &subjects).await, shown);
    let figures = scrape(&service).await.1;
    assert_eq!(figures.value("purser_held{reason=\"held_frozen\"}"), 5.into());
    service.kill();
    host.assert_books();

    let service = host.start();
    let site = Site::of(&service);
    tried(&service, &works).await;
    let desk = Desk::first(&host, &service);
    assert_eq!(listed(&desk, &subjects).await, shown);
    for (agent, _) in &holders {
        assert!(received(&site, agent).await.is_empty(), "nothing has left");
    }
    assert!(received(&site, &spender).await.is_empty());
    for owner in &owners {
        site.freeze(owner, None).await;
    }
    for ((agent, token), id) in holders.iter().zip(&subjects) {
        assert_eq!(ended(&site, token, id).await["state"], "complete");
        assert_eq!(received(&site, agent).await, [2_500_000]);
    }
    for ((_, token, _), id) in loaders.iter().zip(&subjects[2..]) {
        once(&site, token, id, "credited").await;
    }
    let spent = json!({"spendId": subjects[4]});
    until("the spend", async || {
        let now = result(&site, &holders[0].1, "getAgentWallet", spent.clone()).await;
        (now["spend"]["state"] == "settled").then_some(())
    })
    .await;
    assert_eq!(received(&site, &spender).await, [1_000_000]);
    assert!(listed(&desk, &subjects).await.is_empty());
    service.stop();
    host.assert_books();
}

/// A transfer of a managed wallet that is asked for and not waited for: its spend.
async fn reserved(site: &Site<'_>, token: &str, data: Value) -> String {
    let request = site.request("POST", "/agentWalletTransfer").bearer_auth(token);
    let request = request.json(&json!({"data": data}));
    // Whoever asked goes away: the wallet has reserved it.
    let asked = tokio::spawn(request.send());
    let spend = until("the reservation", async || {
        let now = result(site, token, "getAgentWallet", json!({})).await;
        now["openSpends"][0]["spendId"].as_str().map(str::to_owned)
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
    let site = Site::of(&service);
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
    let asked = json!({"spendId": id});
    let stands = async |site: &Site<'_>, state: &str| {
        until(state, async || {
            let now = result(site, &token, "getAgentWallet", asked.clone()).await;
            (now["spend"]["state"] == state).then(|| now["spend"].clone())
        })
        .await
    };
    let service = host.start();
    let sent = stands(&Site::of(&service), "settled").await;
    service.stop();
    restore(&host, &file);

    let service = host.start();
    let site = Site::of(&service);
    tried(&service, &["spend"]).await;
    let held = stands(&site, "reserved").await;
    assert_eq!(held["held"], "held_restored", "{held}");
    let desk = Desk::first(&host, &service);
    let why = listed(&desk, std::slice::from_ref(&id)).await;
    assert_eq!(why, [(json!("held_restored"), json!(agent.address()))]);
    assert_eq!(received_from(&site, &from).await, [1_250_000]);
    site.advance(QUIET_S).await;
    let settled = stands(&site, "settled").await;
    assert_eq!(settled["txHash"], sent["txHash"]);
    assert!(settled.get("held").is_none(), "{settled}");
    assert_eq!(received_from(&site, &from).await, [1_250_000]);
    service.stop();
    host.assert_books();
}

/// What left a wallet on Solana, in atomic USDC.
async fn received_from(site: &Site<'_>, from: &str) -> Vec<u64> {
    let page = site.get("/sandbox/transfers?limit=1000&network=solana", &[]).await.body;
    let own = page["transfers"].as_array().unwrap().iter();
    own.filter(|transfer| transfer["from"] == from && transfer["dropped"] == false)
        .map(|transfer| transfer["amount"].as_u64().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_without_a_token_account_is_refused_before_anything_is_held() {
    // Aim: by `/withdraw` and by `agentWalletTransfer`; nothing is held, reserved or remembered: once there is an account the
    // same request under the same key is taken on.
    let host = Host::new();
    let service = host.start();
    let site = Site::of(&service);
    let (_, token) = holder(&site, Network::Solana).await;
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
    assert_eq!(now["openSpends"], json!([]));

    let known = json!({"wallet": stranger, "amount": "1"});
    assert_eq!(site.post("/sandbox/faucet", &known).await.status, 200);
    let id = id_of(&withdraw(&site, &token, Some("to a stranger"), &body).await);
    assert_eq!(ended(&site, &token, &id).await["state"], "complete");
    let sent = keyed(&site, &token, "agentWalletTransfer", "to a stranger, too", &data).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    service.stop();
    host.assert_books();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_chain_pays_out_what_its_own_treasury_has() {
    // Aim: a balance that was paid in on Solana is not held for a withdrawal to Base, where the treasury has nothing; what is
    // promised there already counts; too little of an account's own is said first, whatever the chain has.
    let host = host();
    let service = host.start();
    let site = Site::of(&service);
    let (_, token) = holder(&site, Network::Solana).await;
    let (_, other) = holder(&site, Network::Solana).await;
    let to = Agent::new(Network::Base);
    let wanted = |amount: f64| json!({"amount": amount, "address": to.address()});
    let refused = withdraw(&site, &token, None, &wanted(0.01)).await;
    assert_eq!(
        (refused.status, refused.code()),
        (503, "insufficient_liquidity"),
        "{}",
        refused.text
    );
    assert!(refused.header("retry-after").is_some() && refused.body["terminal"] == false);
    balance(&site, &token, [6.66, 6.66, 0.0]).await;
    let more = withdraw(&site, &token, None, &wanted(6.67)).await;
    assert_eq!((more.status, more.code()), (409, "insufficient_balance"));

    let bought = Agent::new(Network::Base).buy(&site, "/get-card?amount=5").await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let ours = purser::sandbox::keys::treasury(Network::Base).address();
    unreachable(&site, Network::Base, &ours).await;
    let id = id_of(&withdraw(&site, &token, None, &wanted(4.0)).await);
    let refused = withdraw(&site, &other, None, &wanted(1.01)).await;
    assert_eq!(refused.code(), "insufficient_liquidity", "{}", refused.text);
    let fits = id_of(&withdraw(&site, &other, None, &wanted(1.0)).await);
    well(&site).await;
    assert_eq!(ended(&site, &token, &id).await["state"], "complete");
    assert_eq!(ended(&site, &other, &fits).await["state"], "complete");
    let mut all = received(&site, &to).await;
    all.sort_unstable();
    assert_eq!(all, [1_000_000, 4_000_000]);
    service.stop();
    host.assert_books();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_top_up_is_not_sold_where_the_treasury_owes_more_than_it_has() {
    // Aim: a withdrawal is promised on Base, and the chain takes the payment back that it was to be paid of: nobody is charged for
    // what could not be forwarded, until the treasury has it again.
    let host = host();
    let service = host.start();
    let site = Site::of(&service);
    let (_, token) = holder(&site, Network::Solana).await;
    let (loader, loading, _) = linked(&site, Network::Base).await;
    let payer = Agent::new(Network::Base);
    let ours = purser::sandbox::keys::treasury(Network::Base).address();
    site.chain_fault(json!({"network": "base", "fault": "drop", "after_ms": 4000, "wallet": payer.address()}))
        .await;
    let bought = payer.buy(&site, "/get-card?amount=5").await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    unreachable(&site, Network::Base, &ours).await;
    let to = Agent::new(Network::Base).address();
    let id = id_of(&withdraw(&site, &token, None, &json!({"amount": 5, "address": to})).await);
    until("the chain takes it back", async || {
        let page = site.get("/sandbox/transfers?limit=1000&network=base", &[]).await.body;
        let all = page["transfers"].as_array().unwrap();
        all.iter().any(|transfer| transfer["dropped"] == true).then_some(())
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
    well(&site).await;
    assert_eq!(ended(&site, &token, &id).await["state"], "complete");
    let bought = cases_top_up::id_of(&loader.buy(&site, "/fund-card-balance?amount=5").await);
    once(&site, &loading, &bought, "credited").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_78_nothing_is_paid_out_of_a_restored_balance_before_it_is_quiet() {
    // Aim: withdrawals, moves to the bank and payouts out of the balance are all refused by the same code, and nothing was held.
    let host = host();
    let service = host.start();
    let (_, token) = holder(&Site::of(&service), Network::Base).await;
    service.stop();
    let file = backup(&host);
    restore(&host, &file);
    let service = host.start();
    let site = Site::of(&service);
    let refused = withdraw(&site, &token, None, &json!({"amount": 1})).await;
    assert_eq!(
        (refused.status, refused.code()),
        (503, "withdrawals_held"),
        "{}",
        refused.text
    );
    balance(&site, &token, [6.66, 6.66, 0.0]).await;
    // Nobody has such an account or destination, which is said first.
    let unknown = json!({"accountId": "x", "amount": 1});
    let unknown = call(&site, &token, "createBankingTransfer", unknown).await;
    assert_eq!(unknown.status, 404, "{}", unknown.text);
    site.advance(QUIET_S).await;
    until("the gate opens", async || {
        let taken = withdraw(&site, &token, None, &json!({"amount": 1})).await;
        (taken.status == 202).then_some(())
    })
    .await;
}
