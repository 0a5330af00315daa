//! Card balance top-ups over both rails, with a bridge that fails on each leg.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::{Host, Service};
use super::http::{Response, ServiceClient, until};

/// A wallet with a linked account at the issuer, and its deposit address.
pub(crate) async fn linked(site: &ServiceClient<'_>, network: Network) -> (Agent, String, String) {
    let agent = Agent::new(network);
    let address = link(site, &agent, true).await["deposit_address"]
        .as_str()
        .unwrap()
        .to_owned();
    let token = agent.token(site).await;
    (agent, token, address)
}

pub(crate) async fn link(site: &ServiceClient<'_>, agent: &Agent, linked: bool) -> Value {
    let answer = site
        .post("/sandbox/link", &json!({"wallet": agent.address(), "linked": linked}))
        .await;
    assert_eq!(
        (answer.status, &answer.body["linked"]),
        (200, &json!(linked)),
        "{}",
        answer.text
    );
    answer.body
}

pub(crate) fn id_of(answer: &Response) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["top_up_id"].as_str().unwrap().to_owned()
}

/// A top-up as its owner sees it.
pub(crate) async fn find_top_up(site: &ServiceClient<'_>, token: &str, id: &str) -> Value {
    let list = site.get_as(token, "/list-card-transactions?limit=100").await;
    assert_eq!(list.status, 200, "{}", list.text);
    let found = list.body["top_ups"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["top_up_id"] == id);
    found
        .unwrap_or_else(|| panic!("{id} is not listed: {}", list.text))
        .clone()
}

/// Waits until the top-up has this state.
pub(crate) async fn wait_for_top_up(site: &ServiceClient<'_>, token: &str, id: &str, status: &str) -> Value {
    until(&format!("a top-up that is {status}"), async || {
        let top_up = find_top_up(site, token, id).await;
        let over = matches!(top_up["status"].as_str(), Some("credited" | "failed")) && top_up["status"] != status;
        assert!(!over, "{top_up}");
        (top_up["status"] == status).then_some(top_up)
    })
    .await
}

async fn card_balance(site: &ServiceClient<'_>, token: &str) -> Value {
    let answer = site.get_as(token, "/get-card-deposit-address").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["balance"].clone()
}

async fn fault(site: &ServiceClient<'_>, fault: Value) {
    let answer = site.post("/sandbox/bridge", &fault).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}

pub(crate) fn start() -> (Host, Service) {
    let host = Host::new()
        .with("PURSER_SANDBOX__ATTESTATION_DELAY_MS", "20")
        .with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20");
    let service = host.start();
    (host, service)
}

fn legs(top_up: &Value) -> Vec<&str> {
    let legs = top_up["legs"].as_array().unwrap();
    assert!(
        legs.iter().all(|leg| !leg["tx_hash"].as_str().unwrap().is_empty()),
        "{top_up}"
    );
    legs.iter().map(|leg| leg["leg"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_39_40_top_up_arrives_exactly_over_either_rail() {
    // Checks: the object of the contract, and the legs with their transactions. Exactly the amount is credited,
    // although more was burned. Every state is one event, and ledger and chains agree.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let (agent, token, address) = linked(&site, network).await;
        let answer = agent.buy(&site, "/fund-card-balance?amount=12.34").await;
        let id = id_of(&answer);
        let mut bought = answer.body.clone();
        for member in ["auth", "user_id", "payment_id", "note"] {
            assert!(bought.as_object_mut().unwrap().remove(member).is_some(), "{member}");
        }
        let expected = json!({"top_up_id": id, "status": "paid", "funded_usd": 12.34, "deposit_address": address,
            "network": "base", "asset": "USDC", "payment_network": network.name()});
        assert_eq!(bought, expected);
        let done = wait_for_top_up(&site, &token, &id, "credited").await;
        let solana = network == Network::Solana;
        assert_eq!(
            legs(&done),
            if solana { vec!["burn", "mint"] } else { vec!["transfer"] }
        );
        assert_eq!(card_balance(&site, &token).await, json!(12.34));
        let events = site.events(&token, 0).await;
        let changes: Vec<&str> = events
            .iter()
            .filter_map(|e| e["type"].as_str())
            .filter(|t| t.starts_with("top_up."))
            .collect();
        let bridging = if solana { &["top_up.bridging"][..] } else { &[] };
        assert_eq!(
            changes,
            [&["top_up.paid"][..], bridging, &["top_up.delivered", "top_up.credited"]].concat()
        );
        let alone = site.get_as(&token, &format!("/get-top-up-status?top_up_id={id}")).await;
        assert_eq!((alone.status, &alone.body["top_up"]), (200, &done), "{}", alone.text);
        let progress = json!({"signed_again": 0, "signed_at_most": 3, "attested": solana});
        assert_eq!(alone.body["progress"], progress);
        let only = site.get_as(&token, "/list-card-transactions?status=failed").await.body;
        assert_eq!(only["top_ups"], json!([]));
    }
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["balances"]["provider.card_balances"], json!(0));
    assert!(report["balances"]["operating_costs"].as_i64().unwrap() > 0, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_linked_account_nothing_is_charged_and_lists_are_empty() {
    // Checks: 412 before settlement, an empty list with a note, 412 for the address.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let refused = agent.buy(&site, "/fund-card-balance?amount=5").await;
    assert_eq!(
        (refused.status, refused.code()),
        (412, "issuer_not_linked"),
        "{}",
        refused.text
    );
    assert!(site.transfers().await.is_empty());
    let list = site.get_as(&token, "/list-card-transactions").await.body;
    assert_eq!(
        (&list["transactions"], &list["top_ups"], &list["card_events"]),
        (&json!([]), &json!([]), &json!([]))
    );
    assert!(list["note"].as_str().unwrap().contains("No account"), "{list}");
    let address = site.get_as(&token, "/get-card-deposit-address").await;
    assert_eq!((address.status, address.code()), (412, "issuer_not_linked"));
    service.stop();
    host.assert_verified();
}

/// Each fault on one leg, one top-up at a time.
async fn check_every_fault(leg: &str, faults: &[&str]) {
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    for name in faults {
        let times = if *name == "expire" && leg == "burn" { 2 } else { 3 };
        let mut rule = json!({"operation": leg, "fault": name, "times": times});
        if *name == "slow" {
            rule["delay_ms"] = json!(30);
        }
        fault(&site, rule).await;
        let (agent, token, _) = linked(&site, Network::Solana).await;
        let id = id_of(&agent.buy(&site, "/fund-card-balance?amount=5").await);
        let done = wait_for_top_up(&site, &token, &id, "credited").await;
        assert_eq!(legs(&done), ["burn", "mint"], "{name} on {leg}");
        assert_eq!(card_balance(&site, &token).await, json!(5), "{name} on {leg}");
        fault(&site, json!({"fault": "clear"})).await;
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_35_36_37_top_up_arrives_once_under_every_bridge_fault() {
    // Checks: each fault on each applicable leg, two or three times: one burn, one mint, exactly the amount.
    let all = [
        "unreachable",
        "slow",
        "rate_limited",
        "malformed_response",
        "lose_response",
        "stall",
    ];
    let [burn, attestation, mint] = [
        &["expire", "retryable_decline"][..],
        &["expire"],
        &["retryable_decline"],
    ]
    .map(|more| [&all[..], more].concat());
    tokio::join!(
        check_every_fault("burn", &burn),
        check_every_fault("attestation", &attestation),
        check_every_fault("mint", &mint)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_38_41_undeliverable_top_up_is_credited_once_with_its_code() {
    // Checks: a failure before the burn, an impossible mint and an unlinked account all credit the whole charge to the
    // account balance, with a code for the reason. Nothing is on the card balance.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    for (amount, code, crossed) in [
        ("21.01", "delivery_declined", &[][..]),
        ("21.07", "mint_impossible", &["burn"]),
        ("21", "issuer_not_linked", &[]),
    ] {
        let (agent, token, _) = linked(&site, Network::Solana).await;
        let path = format!("/fund-card-balance?amount={amount}");
        if code == "issuer_not_linked" {
            let payment = agent.payment(&site, &path).await;
            let slow = json!({"fault": "slow", "delay_ms": 2_000, "wallet": agent.address()});
            site.chain_fault(slow).await;
            let paying = Agent::pay(&site, &path, &payment);
            let unlinking = async {
                until("the settlement", async || {
                    let waiting = site.get("/sandbox", &[]).await.body["chains"][1]["faults"].clone();
                    (waiting == json!([])).then_some(())
                })
                .await;
                link(&site, &agent, false).await;
            };
            let (answer, ()) = tokio::join!(paying, unlinking);
            id_of(&answer);
        } else {
            id_of(&agent.buy(&site, &path).await);
        }
        let list = site.get_as(&token, "/list-card-transactions").await.body;
        let id = list["top_ups"][0]["top_up_id"].as_str().unwrap().to_owned();
        let failed = wait_for_top_up(&site, &token, &id, "failed").await;
        assert_eq!(
            (failed["failure_code"].as_str(), &legs(&failed)[..]),
            (Some(code), crossed)
        );
        let left = if crossed.is_empty() { "paid" } else { "bridging" };
        site.wait_for_events(&token, &[&format!("top_up.failed {left}")]).await;
        until("the credit", async || {
            let balance = site.get_as(&token, "/get-account-balance").await.body["balance"].to_string();
            (balance == amount).then_some(())
        })
        .await;
        link(&site, &agent, true).await;
        assert_eq!(card_balance(&site, &token).await, json!(0));
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_35_stalled_attestation_stays_bridging_across_a_kill() {
    // Checks: neither time nor kill -9 changes a burn without an attestation; with one it continues.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    fault(&site, json!({"operation": "attestation", "fault": "stall", "times": 0})).await;
    let (agent, token, _) = linked(&site, Network::Solana).await;
    let id = id_of(&agent.buy(&site, "/fund-card-balance?amount=5").await);
    let burned = wait_for_top_up(&site, &token, &id, "bridging").await;
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let done = wait_for_top_up(&site, &token, &id, "credited").await;
    assert_eq!(done["legs"][0], burned["legs"][0], "the same burn");
    assert_eq!(card_balance(&site, &token).await, json!(5));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn uncredited_top_up_stays_delivered_and_belongs_to_its_owner() {
    // Checks: nothing is credited after `delivered`, and once its job is dead-lettered, both answers say that an operator
    // has to look at it. A cursor to a top-up of another wallet is not accepted.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token, _) = linked(&site, Network::Base).await;
    let id = id_of(&agent.buy(&site, "/fund-card-balance?amount=21.09").await);
    wait_for_top_up(&site, &token, &id, "delivered").await;
    assert_eq!(card_balance(&site, &token).await, json!(0));
    let (_, other, _) = linked(&site, Network::Base).await;
    let page = site
        .get_as(&other, &format!("/list-card-transactions?starting_after={id}"))
        .await;
    assert_eq!((page.status, page.code()), (403, "top_up_access_denied"));
    let unknown = site
        .get_as(&other, "/list-card-transactions?starting_after=top_1")
        .await;
    assert_eq!((unknown.status, unknown.code()), (404, "top_up_not_found"));
    let waits = find_top_up(&site, &token, &id).await;
    assert_eq!(waits.get("needs_operator"), None, "the issuer still has time: {waits}");
    site.advance(7_200).await;
    let token = agent.token(&site).await;
    until("a top-up that waits for an operator", async || {
        let listed = find_top_up(&site, &token, &id).await;
        (listed["needs_operator"] == json!(true)).then_some(())
    })
    .await;
    let one = site.get_as(&token, &format!("/get-top-up-status?top_up_id={id}")).await;
    assert_eq!(one.body["top_up"]["needs_operator"], json!(true), "{}", one.text);
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["pending_jobs"], json!(1));
}
