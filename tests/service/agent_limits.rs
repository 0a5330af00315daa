//! What agents may spend at each merchant and take out of the balances, over HTTP: the owner sets it, and is asked.

use clap::Parser as _;
use purser::cli::{CliError, call as command};
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::agent_wallet::{assert_error, keyed, opened, outgoing_amounts, service_with_seller};
use super::banking::{approve, call, open_account, quick, result};
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::owner::Owner;
use super::recipient::balance_is;
use super::reloadable_cards::{loaded, post_with_key};
use super::top_up::start;
use super::withdraw::{agent_with_balance, withdraw};

const MERCHANTS: &str = "/account/merchant-limits";
const BALANCE: &str = "/account/balance-limits";

async fn set(site: &ServiceClient<'_>, owner: &Owner, path: &str, limits: Value) -> Value {
    let answer = owner.act(site, path, &limits).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body
}

async fn decide(site: &ServiceClient<'_>, owner: &Owner, decision: &str, id: &str) -> Response {
    let path = format!("/account/approvals/{decision}");
    owner.act(site, &path, &json!({"approval_id": id})).await
}

/// The approval that a call of a route waits for.
fn waiting(answer: &Response) -> String {
    assert_eq!(
        (answer.status, answer.str("status"), &answer.body["success"]),
        (202, Some("approval_required"), &json!(false)),
        "{}",
        answer.text
    );
    assert_eq!(answer.body["approval"]["approval_id"], answer.body["approval_id"]);
    answer.body["approval_id"].as_str().unwrap().to_owned()
}

/// The approval that a callable function waits for.
fn called(answer: &Response) -> String {
    let result = &answer.body["result"];
    assert_eq!(
        (answer.status, &result["status"]),
        (202, &json!("approval_required")),
        "{}",
        answer.text
    );
    result["approvalId"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn merchants_have_limits_of_their_own() {
    // Checks: the owner's page sets them, each error in its form; a payment over the limit of its merchant is refused
    // before anything is signed, others are not; what was spent is shown to owner and agent. With `approvals` it waits.
    let (seller, host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (agent, token, wallet) = opened(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    let unsigned = site.request("POST", MERCHANTS).header("origin", &site.service.url);
    let unsigned = send(unsigned.json(&json!({"hosts": []}))).await.unwrap();
    assert_error(&unsigned, 401, "token_missing");
    let twice = json!({"host": "a.example", "per_day_usd": 1});
    for (limits, param) in [
        (
            json!({"hosts": [{"host": "a.example:443", "per_day_usd": 1}]}),
            "hosts[0].host",
        ),
        (
            json!({"hosts": [{"host": "https://a.example", "per_day_usd": 1}]}),
            "hosts[0].host",
        ),
        (
            json!({"hosts": [{"host": "a.example", "per_day_usd": "x"}]}),
            "hosts[0].per_day_usd",
        ),
        (
            json!({"hosts": [twice, {"host": "A.example.", "per_day_usd": 2}]}),
            "hosts",
        ),
        (json!({"hosts": [], "others_per_day_usd": -1}), "others_per_day_usd"),
    ] {
        let refused = owner.act(&site, MERCHANTS, &limits).await;
        assert_error(&refused, 400, "parameter_invalid");
        assert_eq!(refused.str("param"), Some(param), "{}", refused.text);
    }
    let walletless = Owner::of(&site, &Agent::new(Network::Base)).await;
    let none = walletless.act(&site, MERCHANTS, &json!({"hosts": []})).await;
    assert_error(&none, 404, "agent_wallet_not_found");

    let (host_name, _) = seller.authority().rsplit_once(':').unwrap();
    let limits = json!({"hosts": [{"host": host_name, "per_day_usd": "2.50"}], "others_per_day_usd": 0});
    let done = set(&site, &owner, MERCHANTS, limits.clone()).await;
    assert_eq!(
        done["agent_wallet"]["limits"]["merchants"],
        json!({"hosts": [{"host": host_name, "per_day_usd": 2.5}], "others_per_day_usd": 0})
    );
    let paid = json!({"url": format!("http://{}/paid", seller.authority()), "method": "POST", "body": {"q": 1},
        "expectedNetwork": "base"});
    for key in ["one", "two"] {
        let bought = keyed(&site, &token, "agentX402Pay", key, &paid).await;
        assert_eq!(bought.status, 200, "{}", bought.text);
    }
    assert_error(
        &keyed(&site, &token, "agentX402Pay", "three", &paid).await,
        403,
        "policy_filtered",
    );
    // Transfers have no merchant, and this service is no other merchant.
    let transfer = json!({"toAddress": agent.address(), "amountUsdc": 1});
    let sent = call(&site, &token, "agentWalletTransfer", transfer).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    let own = json!({"route": "/get-card", "params": {"amount": "5"}, "expectedNetwork": "base"});
    let own = call(&site, &token, "agentX402Pay", own).await;
    assert_eq!(own.status, 200, "{}", own.text);
    let shown = owner.account(&site).await.body["agent_wallet"]["merchants_today"].clone();
    assert_eq!(
        shown[0],
        json!({"host": host_name, "per_day_usd": 2.5, "used_today_usd": 2}),
        "{shown}"
    );
    assert_eq!(
        (&shown[1]["host"], &shown[1]["per_day_usd"]),
        (&json!("route"), &Value::Null)
    );
    let seen = result(&site, &token, "getAgentSpendLimit", json!({})).await;
    assert_eq!(seen["merchants"]["hosts"][0]["perDayUsd"], 2.5, "{seen}");
    set(
        &site,
        &owner,
        "/account/spending",
        json!({"per_call_usd": 100, "approvals": true}),
    )
    .await;
    let id = called(&keyed(&site, &token, "agentX402Pay", "four", &paid).await);
    let list = site.get("/account/approvals", &[("cookie", owner.cookie())]).await;
    assert_eq!(
        list.body["approvals"][0]["limits"],
        json!([{"limit": "merchant_per_day_usd", "cap_usd": 2.5, "left_usd": 0.5}])
    );
    assert_eq!(decide(&site, &owner, "approve", &id).await.status, 200);
    let bought = keyed(&site, &token, "agentX402Pay", "four", &paid).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    set(&site, &owner, MERCHANTS, json!({"hosts": []})).await;
    let account = owner.account(&site).await.body;
    assert_eq!(account["agent_wallet"]["limits"]["merchants"], Value::Null);
    let free = keyed(&site, &token, "agentX402Pay", "five", &paid).await;
    assert_eq!(free.status, 200, "{}", free.text);
    assert_eq!(outgoing_amounts(&site, &wallet, Network::Base).await.len(), 6);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn withdrawals_of_agents_wait_for_the_owner() {
    // Checks: without limits as before; over a limit 403, or 202 if the owner wants to be asked; nothing is held
    // meanwhile. After the consent the same call passes once, under its key and by the approval's id. Another withdrawal
    // cannot use it. What the owner does at the page is not asked about and not counted.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    let unsigned = site.request("POST", BALANCE).header("origin", &site.service.url);
    let unsigned = send(unsigned.json(&json!({}))).await.unwrap();
    assert_error(&unsigned, 401, "token_missing");
    let bad = owner.act(&site, BALANCE, &json!({"per_call_usd": "x"})).await;
    assert_error(&bad, 400, "parameter_invalid");
    let first = withdraw(&site, &token, None, &json!({"amount": 0.5})).await;
    assert_eq!(first.status, 202, "{}", first.text);
    let limits = json!({"per_call_usd": 1, "per_day_usd": null});
    let shown = set(&site, &owner, BALANCE, limits).await["agents_on_balance"].clone();
    assert_eq!(
        shown,
        json!({"per_call_usd": 1, "per_day_usd": null, "approvals": false, "taken_today_usd": 0.5})
    );
    let two = json!({"amount": 2});
    assert_error(&withdraw(&site, &token, None, &two).await, 403, "policy_filtered");
    set(&site, &owner, BALANCE, json!({"per_call_usd": 1, "approvals": true})).await;
    let much = withdraw(&site, &token, None, &json!({"amount": 700})).await;
    assert_error(&much, 409, "insufficient_balance");
    let id = waiting(&withdraw(&site, &token, Some("rent"), &two).await);
    assert_eq!(waiting(&withdraw(&site, &token, Some("rent"), &two).await), id);
    balance_is(&site, &token, "6.16").await;
    let list = site.get("/account/approvals", &[("cookie", owner.cookie())]).await;
    let one = &list.body["approvals"][0];
    for (member, value) in [
        ("approval_id", json!(id)),
        ("kind", json!("withdrawal")),
        ("amount", json!(2)),
        ("asset", json!("USDC")),
        ("network", json!("base")),
        ("host", Value::Null),
        ("payee_name", Value::Null),
        ("used_by", Value::Null),
        (
            "limits",
            json!([{"limit": "balance_per_call_usd", "cap_usd": 1, "left_usd": 1}]),
        ),
    ] {
        assert_eq!(one[member], value, "{member}: {one}");
    }
    let named = |amount: u32, id: &str| json!({"amount": amount, "approval_id": id});
    assert_eq!(decide(&site, &owner, "approve", &id).await.status, 200);
    assert_error(
        &withdraw(&site, &token, None, &named(3, &id)).await,
        409,
        "approval_mismatch",
    );
    assert_error(
        &withdraw(&site, &token, None, &named(2, "sap_x")).await,
        404,
        "approval_not_found",
    );
    let made = withdraw(&site, &token, Some("rent"), &two).await;
    assert_eq!(
        (made.status, &made.body["success"]),
        (202, &json!(true)),
        "{}",
        made.text
    );
    let again = withdraw(&site, &token, Some("rent"), &two).await;
    assert_eq!(again.text, made.text);
    assert_error(
        &withdraw(&site, &token, None, &named(2, &id)).await,
        409,
        "approval_used",
    );
    until("the approval is used", async || {
        let now = site.get_as(&token, &format!("/get-approval?approval_id={id}")).await;
        (now.body["used_by"] == made.body["withdrawal"]["id"]).then_some(())
    })
    .await;
    let other = waiting(&withdraw(&site, &token, None, &json!({"amount": 3})).await);
    assert_eq!(decide(&site, &owner, "decline", &other).await.status, 200);
    let declined = withdraw(&site, &token, None, &json!({"amount": 3})).await;
    assert_error(&declined, 403, "approval_declined");
    let by_owner = owner.act(&site, "/withdraw", &json!({"amount": 3})).await;
    assert_eq!(
        (by_owner.status, &by_owner.body["success"]),
        (202, &json!(true)),
        "{}",
        by_owner.text
    );
    let account = owner.account(&site).await.body;
    assert_eq!(account["agents_on_balance"]["taken_today_usd"], 2.5);
    assert_eq!(account["balance_limits"]["approvals"], true);
    balance_is(&site, &token, "1.16").await;
    site.wait_for_events(&token, &["account.caps_updated", "approval.used approved"])
        .await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn token_of_a_payment_reads_the_approval_that_it_asked_for() {
    // Checks: its withdrawal to the wallet itself, over a limit, waits for the owner. It can follow that, and no other
    // token of a payment can.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, _) = agent_with_balance(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    set(&site, &owner, BALANCE, json!({"per_call_usd": 1, "approvals": true})).await;
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let bought = agent.buy(&site, "/get-card?amount=5").await;
        tokens.push(bought.body["auth"]["id_token"].as_str().unwrap().to_owned());
    }
    let id = waiting(&withdraw(&site, &tokens[0], None, &json!({"amount": 2})).await);
    let path = format!("/get-approval?approval_id={id}");
    let seen = site.get_as(&tokens[0], &path).await;
    assert_eq!(
        (seen.status, seen.str("status")),
        (200, Some("pending")),
        "{}",
        seen.text
    );
    assert_error(&site.get_as(&tokens[1], &path).await, 403, "sign_in_required");
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn bank_money_moved_by_agents_waits_for_the_owner() {
    // Checks: a payout with its fee and a transfer to the bank wait, and pass once after the consent; a transfer from the
    // bank brings money and is not limited. The limit of the day is over all of them.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    owner.verify(&site, &token).await;
    approve(&site, &token, "Lovelace").await;
    let on = open_account(&site, &token, "onramp").await;
    let off = open_account(&site, &token, "offramp").await;
    let deposit = json!({"account_id": on["accountId"], "amount": "100.00", "reference": "wire-1"});
    assert_eq!(site.post("/sandbox/bank-deposits", &deposit).await.status, 200);
    balance_is(&site, &token, "106.66").await;
    let destination = json!({"type": "fiat_us", "bankName": "First Bank", "routingNumber": "021000021",
        "accountNumber": "000123456789"});
    let made = json!({"name": "Ada Lovelace", "address": "1 Main St", "destination": destination});
    let made = result(&site, &token, "createBankingRecipient", made).await;
    let to = &made["destination"]["destinationId"];
    set(&site, &owner, BALANCE, json!({"per_day_usd": 20, "approvals": true})).await;

    let transfer = json!({"accountId": off["accountId"], "amount": 10, "note": "savings"});
    result(&site, &token, "createBankingTransfer", transfer.clone()).await;
    let asked = called(
        &call(
            &site,
            &token,
            "createBankingTransfer",
            json!({"accountId": off["accountId"], "amount": 11}),
        )
        .await,
    );
    let payout = json!({"destinationId": to, "amount": 20});
    let id = called(&call(&site, &token, "sendBankingPayout", payout.clone()).await);
    balance_is(&site, &token, "96.66").await;
    let list = site.get("/account/approvals", &[("cookie", owner.cookie())]).await;
    let one = &list.body["approvals"][0];
    for (member, value) in [
        ("kind", json!("bank_payout")),
        ("amount", json!(21.5)),
        ("asset", json!("USD")),
        ("network", Value::Null),
        ("pay_to", Value::Null),
        ("bank_payee_id", to.clone()),
        ("payee_name", json!("Ada Lovelace, First Bank •••• 6789")),
    ] {
        assert_eq!(one[member], value, "{member}: {one}");
    }
    assert_eq!(list.body["approvals"][1]["kind"], "bank_transfer");
    for id in [&asked, &id] {
        assert_eq!(decide(&site, &owner, "approve", id).await.status, 200);
    }
    let paid = call(&site, &token, "sendBankingPayout", payout.clone()).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let mut named = payout;
    named["approvalId"] = json!(id);
    assert_error(
        &call(&site, &token, "sendBankingPayout", named).await,
        409,
        "approval_used",
    );
    let moved = json!({"accountId": off["accountId"], "amount": 11});
    result(&site, &token, "createBankingTransfer", moved).await;
    let back = json!({"accountId": off["accountId"], "amount": 5, "direction": "to_balance"});
    result(&site, &token, "createBankingTransfer", back).await;
    let taken = owner.account(&site).await.body["agents_on_balance"]["taken_today_usd"].clone();
    assert_eq!(taken, 42.5);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn card_balance_withdrawn_by_an_agent_waits_for_the_owner() {
    // Checks: the balance at the card issuer has the same limits and approvals. An approval that does not exist is not found.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = loaded(&site, Network::Base, 50).await;
    let owner = Owner::of(&site, &agent).await;
    set(&site, &owner, BALANCE, json!({"per_call_usd": 10, "approvals": true})).await;
    let body = json!({"amount": 30, "destination_address": agent.address()});
    let ask = async || post_with_key(&site, &token, "/withdraw-card-balance", Some("a"), &body).await;
    let mut unknown = body.clone();
    unknown["approval_id"] = json!("sap_x");
    assert_error(
        &post_with_key(&site, &token, "/withdraw-card-balance", None, &unknown).await,
        404,
        "approval_not_found",
    );
    let id = waiting(&ask().await);
    assert_eq!(decide(&site, &owner, "approve", &id).await.status, 200);
    let made = ask().await;
    assert_eq!(
        (made.status, &made.body["success"]),
        (202, &json!(true)),
        "{}",
        made.text
    );
    assert_eq!(ask().await.text, made.text);
    until("the approval is used", async || {
        let now = site.get_as(&token, &format!("/get-approval?approval_id={id}")).await;
        (now.body["used_by"] == made.body["withdrawal"]["id"]).then_some(())
    })
    .await;
    service.stop();
    host.assert_verified();
}

#[derive(clap::Parser)]
struct CallCommand {
    #[command(flatten)]
    args: command::Args,
}

#[tokio::test(flavor = "multi_thread")]
async fn command_line_says_how_to_go_on_and_waits_for_the_owner() {
    // Checks: `purser call` makes a call under one key. A call that waits for the owner fails with the approval and the
    // key; with `--wait` it is made after the consent, and not after a refusal.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    set(&site, &owner, BALANCE, json!({"per_call_usd": 1, "approvals": true})).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{token}\n")).unwrap();
    let run = |amount: u32, key: &str, more: &[&str]| {
        let body = json!({ "amount": amount }).to_string();
        let file = file.display().to_string();
        let fixed = [
            "call",
            "/withdraw",
            &body,
            "--url",
            &service.url,
            "--token-file",
            &file,
            "--idempotency-key",
            key,
        ];
        command::run(CallCommand::parse_from([&fixed[..], more].concat()).args)
    };
    let Err(CliError::ApprovalRequired { id, key, .. }) = run(2, "rent", &[]).await else {
        panic!("it waits for the owner")
    };
    assert_eq!(key, "rent");
    let waiting = tokio::spawn(run(2, "rent", &["--wait"]));
    assert_eq!(decide(&site, &owner, "approve", &id).await.status, 200);
    waiting.await.unwrap().unwrap();
    balance_is(&site, &token, "4.66").await;
    run(2, "rent", &["--wait"]).await.unwrap();
    balance_is(&site, &token, "4.66").await;
    let Err(CliError::ApprovalRequired { id, .. }) = run(3, "more", &[]).await else {
        panic!("it waits for the owner")
    };
    let waiting = tokio::spawn(run(3, "more", &["--wait"]));
    assert_eq!(decide(&site, &owner, "decline", &id).await.status, 200);
    let refused = waiting.await.unwrap();
    let Err(CliError::NotApproved(_) | CliError::Rejected { status: 403, .. }) = refused else {
        panic!("{refused:?}")
    };
    balance_is(&site, &token, "4.66").await;
    service.stop();
}
