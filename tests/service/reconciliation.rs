//! Reconciliation of the ledger with the lists of chains and providers: each discrepancy is reported, listed and
//! counted.

use std::collections::BTreeMap;

use purser_actors::id::Network;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::agent::Agent;
use super::dead_letters::{status_and_code, wait_for_dead_letter};
use super::host::{Host, Service, text};
use super::http::{ServiceClient, until};
use super::metrics::scrape;
use super::operator_client::OperatorClient;
use super::owner::Owner;
use super::recipient::balance_is;
use super::remote_provider::{Provider, ProviderProxy};

const CARD: &str = "/get-card?amount=5";
const GIFT: &str = "/order-gift-card?product_id=gift_quietshield_vpn&amount=15&country=US";
const APP: &str = "/send-payment?amount=10&platform=paypal&recipient_id=@ada&recipient_first_name=Ada\
     &recipient_last_name=Lovelace&recipient_email=ada@example.com";

/// Reconciles without pauses, with a grace period of one second for both sides to agree.
pub(super) fn fast_host(host: Host) -> Host {
    host.with("PURSER_RECONCILIATION__STEP_INTERVAL_MS", "10")
        .with("PURSER_RECONCILIATION__RUN_INTERVAL_MS", "50")
        .with("PURSER_RECONCILIATION__GRACE_PERIOD_MS", "1000")
}

async fn reconciliation_status(operator: &OperatorClient<'_>) -> Value {
    let answer = operator.get("/admin/reconciliation").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body
}

/// Kind and subject of the open discrepancies, sorted.
fn open(status: &Value) -> Vec<(String, String)> {
    let all = status["discrepancies"].as_array().unwrap().iter();
    let text_of = |one: &Value, name: &str| one[name].as_str().unwrap_or("-").to_owned();
    let mut all: Vec<_> = all.map(|one| (text_of(one, "kind"), text_of(one, "subject"))).collect();
    all.sort();
    all
}

async fn assert_open_discrepancies(operator: &OperatorClient<'_>, mut expected: Vec<(&str, &str)>) -> Value {
    expected.sort_unstable();
    let what = format!("{expected:?} is open");
    until(&what, async || {
        let status = reconciliation_status(operator).await;
        let found = open(&status);
        let found: Vec<_> = found.iter().map(|(kind, of)| (kind.as_str(), of.as_str())).collect();
        (found == expected).then_some(status)
    })
    .await
}

/// Waits until two more runs have completed.
async fn wait_for_two_runs(operator: &OperatorClient<'_>) {
    for _ in 0..2 {
        let last = reconciliation_status(operator).await["run"]["last_completed_at"].clone();
        until("a whole run", async || {
            (reconciliation_status(operator).await["run"]["last_completed_at"] != last).then_some(())
        })
        .await;
    }
}

/// Number of events per type and kind of discrepancy.
async fn discrepancy_events(operator: &OperatorClient<'_>) -> BTreeMap<String, u32> {
    let answer = operator.get("/admin/events").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let mut counts = BTreeMap::new();
    let of = |event: &&Value| event["type"].as_str().unwrap().starts_with("discrepancy.");
    for event in answer.body["events"].as_array().unwrap().iter().filter(of) {
        let kind = event["data"]["object"]["kind"].as_str().unwrap();
        *counts
            .entry(format!("{} {kind}", event["type"].as_str().unwrap()))
            .or_default() += 1;
    }
    counts
}

async fn counted(service: &Service, kind: &str) -> Decimal {
    let (_, page) = scrape(service).await;
    page.value(&format!("purser_reconciliation_discrepancies{{kind=\"{kind}\"}}"))
}

/// Runs `purser reconcile --json` on a host without a service. Returns its exit status and the discrepancies.
pub(super) fn reconcile(host: &Host) -> (Option<i32>, Vec<(String, String)>) {
    let output = host.run(&["reconcile", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    assert_eq!(report["completed"], true, "{report:#}");
    (output.status.code(), open(&report))
}

fn key_of(card: &str) -> String {
    card.replace("card_", "job_")
}

#[tokio::test(flavor = "multi_thread")]
async fn case_34_missing_and_surplus_deposits_are_reported_across_a_kill() {
    // Checks: a reorg removes a settled payment from the chain, and another transfer to the treasury pays for nothing.
    // Each is one event, one metric and one line of the list, across kill -9. The command line lists them too, and no
    // account owner is notified.
    let host = fast_host(Host::new());
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Solana);
    let token = agent.token(&site).await;
    agent.buy(&site, CARD).await.card();
    wait_for_two_runs(&operator).await;
    assert_eq!(open(&reconciliation_status(&operator).await), []);

    let other = Agent::new(Network::Base);
    site.chain_fault(
        json!({"network": "base", "wallet": other.wallet.address(Network::Base), "fault": "reorg", "delay_ms": 1}),
    )
    .await;
    let bought = other.buy(&site, CARD).await;
    let missing = bought.body["payment_id"].as_str().unwrap().to_owned();
    // Signed for a card, but submitted to the chain by another party.
    let stray = other.payment(&site, CARD).await;
    let sent = site.post("/sandbox/base", &json!({"payment": stray})).await;
    assert_eq!(sent.body["success"], true, "{}", sent.text);
    let both = [("missing_deposit", missing.as_str()), ("unmatched_deposit", "-")];
    let status = assert_open_discrepancies(&operator, both.to_vec()).await;
    assert_eq!(status["open"]["missing_deposit"], 1);
    let surplus = &status["discrepancies"].as_array().unwrap();
    let surplus = surplus.iter().find(|one| one["subject"].is_null()).unwrap();
    assert_eq!(
        (&surplus["external"], &surplus["internal"]),
        (&json!("completed 5 USDC"), &Value::Null)
    );
    assert_eq!(counted(&service, "missing_deposit").await, Decimal::ONE);

    service.kill();
    let (status, named) = reconcile(&host);
    assert_eq!((status, named.len()), (Some(1), 2));
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    wait_for_two_runs(&operator).await;
    assert_open_discrepancies(&operator, both.to_vec()).await;
    let once = [
        "discrepancy.opened missing_deposit",
        "discrepancy.opened unmatched_deposit",
    ];
    assert_eq!(
        discrepancy_events(&operator).await,
        once.map(|what| (what.to_owned(), 1)).into()
    );
    let owner_events = ServiceClient::of(&service).events(&token, 0).await;
    assert!(
        !owner_events.is_empty()
            && owner_events
                .iter()
                .all(|event| !event["type"].as_str().unwrap().starts_with("discrepancy"))
    );
    service.stop();
}

/// Changes a list: removes one card and changes the amount of another.
fn falsify_page(page: &mut Value, hidden: &str, dearer: &str) {
    let Some(entries) = page["entries"].as_array_mut() else {
        return;
    };
    entries.retain(|entry| entry["key"] != hidden);
    for entry in entries {
        if entry["key"] == dearer {
            entry["amount"] = json!("6");
        }
    }
    if page["entries"].as_array().is_some_and(Vec::is_empty) {
        page["next"] = Value::Null;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn issuer_list_discrepancies_are_reported_until_resolved() {
    // Checks: a remote issuer has an unknown card, lacks an expected one and has one with another amount. Each is
    // reported under its kind, across a kill of the service. Resolved ones are reported once and reopen when they
    // recur; the unknown card stays. Correct cards, gift cards and payouts are no discrepancy.
    let mut provider = Provider::start();
    let (way, url) = ProviderProxy::to(&provider.url).await;
    let host = fast_host(provider.host(&url));
    let service = host.start();
    provider.restart(Some(&service.url));
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    let card = async || agent.buy(&site, CARD).await.card().to_owned();
    let (lost, dearer) = (card().await, card().await);
    for path in [GIFT, APP] {
        assert_eq!(agent.buy(&site, path).await.status, 200);
    }
    wait_for_two_runs(&operator).await;
    assert_eq!(open(&reconciliation_status(&operator).await), []);

    let stranger = json!({"card_id": format!("card_{:032x}", 4_711), "amount": "7"});
    provider
        .order("/v1/cards", &format!("job_{:032x}", 4_712), &stranger)
        .await;
    let lie = || {
        let (hidden, changed) = (key_of(&lost), key_of(&dearer));
        way.edit(Some(Box::new(move |page| falsify_page(page, &hidden, &changed))));
    };
    lie();
    let all = [
        ("amount_mismatch", dearer.as_str()),
        ("unexpected_at_provider", "-"),
        ("missing_at_provider", lost.as_str()),
    ];
    assert_open_discrepancies(&operator, all.to_vec()).await;
    service.kill();
    let (status, named) = reconcile(&host);
    assert_eq!((status, named.len()), (Some(1), 3));
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    wait_for_two_runs(&operator).await;
    assert_open_discrepancies(&operator, all.to_vec()).await;
    way.edit(None);
    assert_open_discrepancies(&operator, vec![("unexpected_at_provider", "-")]).await;
    let mut expected: BTreeMap<String, u32> = all.map(|(kind, _)| (format!("discrepancy.opened {kind}"), 1)).into();
    for kind in ["amount_mismatch", "missing_at_provider"] {
        expected.insert(format!("discrepancy.resolved {kind}"), 1);
        assert_eq!(counted(&service, kind).await, Decimal::ZERO);
    }
    assert_eq!(discrepancy_events(&operator).await, expected);
    // A discrepancy that recurs is open again.
    lie();
    assert_open_discrepancies(&operator, all.to_vec()).await;
    for kind in ["amount_mismatch", "missing_at_provider"] {
        expected.insert(format!("discrepancy.opened {kind}"), 2);
    }
    assert_eq!(discrepancy_events(&operator).await, expected);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn reconcile_reports_agreement_and_unreadable_lists() {
    // Checks: after purchases of each kind on both chains there is no discrepancy, and the exit status is 0. An
    // unreadable list gives another exit status.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        Agent::new(network).buy(&site, CARD).await.card();
    }
    let declined = Agent::new(Network::Base).buy(&site, "/get-card?amount=6.66").await;
    assert_eq!(declined.status, 200, "{}", declined.text);
    service.stop();
    let output = host.run(&["reconcile"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("No discrepancies."), "{}", text(&output));
    let token = host.sibling_path("token");
    std::fs::write(&token, "a-secret-of-no-operator-at-all").unwrap();
    let unauthorized = host
        .with("PURSER_PROVIDERS__GIFT_CARDS__URL", "http://127.0.0.1:1")
        .with("PURSER_PROVIDERS__GIFT_CARDS__TOKEN_FILE", token.to_str().unwrap());
    let output = unauthorized.run(&["reconcile"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("SKIPPED"), "{}", text(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_8_reversed_payment_freezes_its_account_and_is_a_loss() {
    // Checks: the chain drops a settled payment that can still settle for fifteen seconds. Then it is reversed: its
    // payer cannot read the card or buy. Across kill -9 the ledger balances with the loss in it, no discrepancy
    // remains, and the card of another payer is unchanged.
    let host = fast_host(Host::new()).with("PURSER_PAYMENT__QUOTE_TTL_SECONDS", "15");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Base));
    let (token, of_other) = (agent.token(&site).await, other.token(&site).await);
    let other_card = other.buy(&site, CARD).await.card().to_owned();
    let address = agent.address();
    reorg_payment(&site, &agent).await;
    let bought = agent.buy(&site, CARD).await;
    let payment = bought.body["payment_id"].as_str().unwrap().to_owned();
    let card = bought.card().to_owned();
    assert_open_discrepancies(
        &OperatorClient::first(&host, &service),
        vec![("missing_deposit", &payment)],
    )
    .await;
    service.kill();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    reversed(&site, &payment).await;
    let data = format!("/get-card-data?card_id={card}");
    let refused = site.get_as(&token, &data).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert!(
        refused
            .text
            .contains(&format!("The blockchain reversed payment {payment} of 5 USDC.")),
        "{}",
        refused.text
    );
    assert_eq!(agent.buy(&site, CARD).await.status, 403);
    let audit = operator.get("/admin/audit").await;
    let frozen = audit.body["entries"].as_array().unwrap().iter();
    let frozen: Vec<_> = frozen.filter(|entry| entry["operator"] == "reconciliation").collect();
    assert!(
        matches!(frozen[..], [entry] if entry.to_string().contains(&payment)),
        "{}",
        audit.text
    );
    let read = site
        .get_as(&of_other, &format!("/get-card-data?card_id={other_card}"))
        .await;
    assert_eq!(read.status, 200, "{}", read.text);
    assert_open_discrepancies(&operator, vec![]).await;
    // After the account is unfrozen, it receives the earlier events.
    site.freeze(&address, None).await;
    site.wait_for_events(&token, &["payment.reversed fulfilled"]).await;
    let list = async |token: &str| site.get_as(token, "/get-card-data").await.body["cards"].clone();
    assert_eq!(list(&token).await[0]["payment_reversed"], json!(true));
    assert_eq!(list(&of_other).await[0].get("payment_reversed"), None);
    let events = site.events(&token, 0).await;
    let freeze = events.iter().find(|event| event["type"] == "account.frozen").unwrap();
    assert_eq!(freeze["actor"]["type"], "service", "no operator froze it: {freeze}");
    service.kill();
    assert_eq!(reconcile(&host), (Some(0), vec![]));
    let report = host.assert_verified();
    assert_eq!(report["balances"]["losses"], 5_000_000, "{report:#}");
}

/// Makes the chain reorg the payment of an agent on Base after it has settled.
pub(super) async fn reorg_payment(site: &ServiceClient<'_>, agent: &Agent) {
    site.chain_fault(json!({"network": "base", "wallet": agent.address(), "fault": "reorg", "delay_ms": 1}))
        .await;
}

/// Waits until a payment is reversed.
pub(super) async fn reversed(site: &ServiceClient<'_>, payment: &str) {
    let status = format!("/get-payment?payment_id={payment}");
    until("it is reversed", async || {
        (site.get(&status, &[]).await.body["status"] == "reversed").then_some(())
    })
    .await;
}

/// Orders an international card whose payment is reversed and which an operator rejects, so that its credit is
/// withheld. Returns the payment id.
pub(super) async fn rejected_order(site: &ServiceClient<'_>, operator: &OperatorClient<'_>, agent: &Agent) -> String {
    reorg_payment(site, agent).await;
    let bought = agent.buy(site, "/order-intl-card?amount=100").await;
    let payment = bought.body["payment_id"].as_str().unwrap().to_owned();
    reversed(site, &payment).await;
    let rejected = json!({"card_id": bought.body["intl_card_order"]["card_id"], "reason": "Reversed."});
    operator.done("/admin/intl-orders/reject", rejected).await;
    payment
}

#[tokio::test(flavor = "multi_thread")]
async fn case_8_credit_of_reversed_payment_waits_for_an_operator() {
    // Checks: a reversed order is rejected and its credit becomes a dead letter, across a kill. A retry dead-letters it
    // again, and it cannot be resolved. An operator credits it with evidence, once and in the audit log; the loss is
    // unchanged and the ledger balances.
    let host = fast_host(Host::new()).with("PURSER_PAYMENT__QUOTE_TTL_SECONDS", "15");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let (address, operator) = (agent.address(), OperatorClient::first(&host, &service));
    let payment = rejected_order(&site, &operator, &agent).await;
    wait_for_dead_letter(&operator, "credit_account").await;
    service.kill();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let waits = wait_for_dead_letter(&operator, "credit_account").await;
    assert_eq!(waits["actions"], json!(["retry", "credit", "keep"]));
    assert_eq!(
        (waits["amount"].to_string().as_str(), &waits["currency"]),
        ("103.8", &json!("USDC"))
    );
    let why = waits["last_error"].as_str().unwrap();
    assert!(
        why.contains(&format!("payment {payment} was reversed by the chain")),
        "{why}"
    );
    operator
        .done("/admin/jobs/retry", json!({"job_id": waits["job_id"]}))
        .await;
    let waits = until("it waits again", async || {
        let again = wait_for_dead_letter(&operator, "credit_account").await;
        (again["attempts"].as_u64() > waits["attempts"].as_u64()).then_some(again)
    })
    .await;
    let (id, evidence) = (&waits["job_id"], "Paid again by wire, ticket 8.");
    let resolution = json!({"job_id": id, "outcome": "not_completed", "reference": "r", "evidence": evidence});
    let rejected = operator.post("/admin/jobs/resolve", resolution).await;
    assert_eq!(status_and_code(&rejected), (409, "job_not_resolvable"));
    let gives = json!({"job_id": id, "evidence": evidence});
    operator.done("/admin/jobs/credit", gives.clone()).await;
    assert_eq!(
        status_and_code(&operator.post("/admin/jobs/credit", gives).await),
        (404, "job_not_found")
    );
    assert_eq!(operator.get("/admin/dead-letters").await.body["jobs"], json!([]));
    let audit = operator.get("/admin/audit").await;
    assert_eq!(audit.text.matches("job.credit").count(), 1, "{}", audit.text);
    assert!(audit.text.contains(evidence), "{}", audit.text);
    // The account stays frozen until an operator unfreezes it.
    assert_eq!(site.get_as(&token, "/get-account-balance").await.status, 403);
    site.freeze(&address, None).await;
    balance_is(&site, &token, "103.8").await;
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["balances"]["losses"], 103_800_000, "{report:#}");
}
