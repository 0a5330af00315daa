//! Purchases of a history that a restore has lost: top-ups that left the treasury, and products that are adopted.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::host::{Host, Service};
use super::http::{Response, ServiceClient, send, until};
use super::incoming_transfers::{self, listed, waiting};
use super::metrics::scrape;
use super::operator_client::OperatorClient;
use super::restore::{
    ATTRIBUTE, RESTORE_PAUSE_S, UntrackedTransfer, attribution, backup, restore, untracked_transfers,
};
use super::top_up::{id_of, linked, wait_for_top_up};
use super::withdraw::balance;

const CARD: &str = "/get-card?amount=5";

/// Reconciles chain lists without pauses, and forwards top-ups quickly.
fn host() -> Host {
    incoming_transfers::host()
        .with("PURSER_SANDBOX__ATTESTATION_DELAY_MS", "20")
        .with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20")
}

/// Tops up this many dollars and waits until the issuer credits them.
async fn topped_up(site: &ServiceClient<'_>, (agent, token): (&Agent, &str), amount: u64) {
    let bought = agent.buy(site, &format!("/fund-card-balance?amount={amount}")).await;
    wait_for_top_up(site, token, &id_of(&bought), "credited").await;
}

/// The waiting deposit of each payer, with the untracked transfer that it may have paid for.
async fn in_doubt(operator: &OperatorClient<'_>, payers: &[Agent]) -> Vec<(String, UntrackedTransfer)> {
    let mut pairs = Vec::new();
    for payer in payers {
        let waits = waiting(operator, payer).await;
        assert!(
            waits["shows"].as_str().unwrap().contains("maybe for a top-up"),
            "{waits}"
        );
        let id = waits["deposit_id"].as_str().unwrap().to_owned();
        let left = untracked_transfers(operator).await;
        let own = left.into_iter().find(|left| left.candidates == [id.clone()]);
        pairs.push((id, own.expect("it is named as what it may be")));
    }
    pairs
}

#[tokio::test(flavor = "multi_thread")]
async fn top_up_of_lost_history_is_attributed_to_its_payment() {
    // Checks: top-ups on both chains, of accounts linked before and after the backup, are not credited. Each untracked
    // transfer names the deposit that may have paid for it, and an operator attributes both together. No account has a
    // balance, only the bridge fee is missing, and the ledger agrees with the chains.
    let host = host();
    let service = host.start();
    let (mut payers, mut tokens) = (Vec::new(), Vec::new());
    for network in Network::ALL {
        let (agent, token, _) = linked(&ServiceClient::of(&service), network).await;
        payers.push(agent);
        tokens.push(token);
    }
    service.stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let (agent, token, _) = linked(&site, network).await;
        payers.push(agent);
        tokens.push(token);
    }
    for ((payer, token), amount) in payers.iter().zip(&tokens).zip([10, 22, 40, 60]) {
        topped_up(&site, (payer, token), amount).await;
    }
    service.stop();
    host.assert_verified();
    restore(&host, &file);

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let pairs = in_doubt(&operator, &payers).await;
    for payer in &payers {
        balance(&site, &payer.token(&site).await, [0.0, 0.0, 0.0]).await;
    }
    attribute_top_ups(&operator, &pairs).await;
    site.advance(RESTORE_PAUSE_S).await;
    until("nothing is held any more", async || {
        let dead_letters = operator.get("/admin/dead-letters").await.body;
        (dead_letters["withdrawals_paused"] == false).then_some(())
    })
    .await;
    assert!(listed(&operator).await.is_empty());
    for payer in &payers {
        balance(&site, &payer.token(&site).await, [0.0, 0.0, 0.0]).await;
    }
    service.stop();
    let report = host.assert_verified();
    // Bridge fees: a ten-thousandth of 22 and of 60 dollars.
    assert_eq!(report["balances"]["operating_costs"], 8_200, "{report}");
}

/// Attributes each top-up, wrongly and rightly.
async fn attribute_top_ups(operator: &OperatorClient<'_>, pairs: &[(String, UntrackedTransfer)]) {
    let [(first, one), (second, other), ..] = pairs else {
        unreachable!()
    };
    for (body, refusal) in [
        (
            attribution(one, json!({"deposit_id": second})),
            (409, "transfer_mismatch"),
        ),
        (
            attribution(other, json!({"deposit_id": first})),
            (409, "transfer_mismatch"),
        ),
        (
            attribution(one, json!({"deposit_id": first, "loss": true})),
            (400, "parameter_invalid"),
        ),
    ] {
        let refused = operator.post(ATTRIBUTE, body).await;
        assert_eq!((refused.status, refused.code()), refusal, "{}", refused.text);
    }
    for (id, left) in pairs {
        let attributed = operator
            .done(ATTRIBUTE, attribution(left, json!({"deposit_id": id})))
            .await;
        assert_eq!(attributed["attributed_to"], json!(id), "{attributed}");
        let again = operator
            .post(ATTRIBUTE, attribution(left, json!({"deposit_id": id})))
            .await;
        assert_eq!(
            (again.status, again.code()),
            (404, "transfer_not_found"),
            "{}",
            again.text
        );
    }
    assert!(untracked_transfers(operator).await.is_empty());
    let audited = operator.audit().await.into_iter();
    let audited = audited.filter(|(_, what, _)| what == "transfer.attribute");
    assert_eq!(audited.count(), pairs.len());
}

/// Waits until no job of this kind is open: caps are updated by jobs of the batch that learns of a purchase.
pub(super) async fn wait_for_jobs(service: &Service, job: &str) {
    until("what is to be counted is counted", async || {
        let (_, page) = scrape(service).await;
        let open = ["running", "scheduled"]
            .map(|state| page.value(&format!("purser_outbox_jobs{{job_type=\"{job}\",state=\"{state}\"}}")));
        open.iter().all(rust_decimal::Decimal::is_zero).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adopted_cards_are_listed_and_count_against_the_cap() {
    // Checks: with a cap of three cards a day, two were bought in the lost history. Both are listed as payments with
    // their cards and receipts, one more is sold, and a fourth is rejected before payment.
    let host = host().with("PURSER_CAPS__CARDS_PER_DAY", "3");
    host.start().stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let mut cards = Vec::new();
    for _ in 0..2 {
        cards.push(agent.buy(&site, CARD).await.card().to_owned());
    }
    service.stop();
    restore(&host, &file);

    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    let paid = async |count: usize| {
        until("the payments are listed", async || {
            let list = site.get_as(&token, "/list-payments").await;
            let all = list.body["payments"].as_array().unwrap().clone();
            (all.len() == count).then_some(all)
        })
        .await
    };
    let adopted = paid(2).await;
    let mut listed: Vec<_> = adopted
        .iter()
        .map(|one| one["card"]["card_id"].as_str().unwrap())
        .collect();
    listed.sort_unstable();
    cards.sort_unstable();
    assert_eq!(listed, cards);
    for one in &adopted {
        assert_eq!(
            (&one["status"], &one["receipt"]["success"]),
            (&json!("fulfilled"), &Value::Bool(true)),
            "{one}"
        );
    }
    wait_for_jobs(&service, "count_cap_reservation").await;
    assert_eq!(agent.buy(&site, CARD).await.status, 200);
    let fourth = agent.buy(&site, CARD).await;
    assert_eq!((fourth.status, fourth.code()), (403, "cap_exceeded"), "{}", fourth.text);
    paid(3).await;
    assert_eq!(site.transfers().await.len(), 3);
    service.stop();
    host.assert_verified();
}

async fn order(site: &ServiceClient<'_>, agent: &Agent, path: &str, payment: &str) -> String {
    let bought = Agent::pay(site, path, payment).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let id = bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned();
    let status = card_status(site, agent, &id).await;
    assert_eq!(status, "queued");
    id
}

async fn card_status(site: &ServiceClient<'_>, agent: &Agent, id: &str) -> String {
    let token = agent.token(site).await;
    let card = site.get_as(&token, &format!("/get-card-data?card_id={id}")).await;
    card.body["status"].as_str().unwrap().to_owned()
}

async fn cancel(site: &ServiceClient<'_>, agent: &Agent, id: &str) -> Response {
    let token = agent.token(site).await;
    let request = site.request("POST", "/cancel-intl-order").bearer_auth(token);
    let request = request.header("idempotency-key", id);
    send(request.body(json!({"card_id": id}).to_string())).await.unwrap()
}

/// Asserts that the order cannot be cancelled before an operator has checked it.
async fn not_cancelled(site: &ServiceClient<'_>, agent: &Agent, id: &str) {
    let refused = cancel(site, agent, id).await;
    assert_eq!(
        (refused.status, refused.code()),
        (409, "not_cancellable"),
        "{}",
        refused.text
    );
    assert!(refused.str("hint").unwrap().contains("restored"), "{}", refused.text);
}

/// An operator sees that the card may exist, and reports that it does not.
async fn reject_doubtful_order(host: &Host, service: &Service, id: &str) {
    let operator = OperatorClient::first(host, service);
    let queued = admin(host, service, &["intl-orders", "list"], "").unwrap();
    let queued = queued["orders"].as_array().unwrap().iter();
    let shown = queued.clone().find(|order| order["card_id"] == id).unwrap();
    assert_eq!(shown["in_doubt"], true, "{shown}");
    assert!(shown["hint"].as_str().unwrap().contains("look first"), "{shown}");
    let claimed = operator.done("/admin/intl-orders/claim", json!({"card_id": id})).await;
    assert_eq!(claimed["in_doubt"], true, "{claimed}");
    let release = json!({"card_id": id, "lease": claimed["lease"]});
    operator.done("/admin/intl-orders/release", release).await;
    let queued = operator.queue().await.into_iter();
    let shown = queued.into_iter().find(|order| order["card_id"] == id).unwrap();
    assert_eq!((&shown["in_doubt"], &shown["hint"]), (&json!(false), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn intl_cards_of_lost_history_are_not_credited_automatically() {
    // Checks: of two orders that were fulfilled in the lost history, the backup has one as queued and lacks the other.
    // The first cannot be cancelled until an operator has released it. The payment of the second waits with the reason,
    // and an operator credits it once. A transfer that matches no order price is credited automatically, and the keys
    // of the lost cards are counted.
    const A: &str = "/order-intl-card?amount=100";
    const B: &str = "/order-intl-card?amount=120";
    let host = host();
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Base));
    let service = host.start();
    let site = ServiceClient::of(&service);
    let first = order(&site, &agent, A, &agent.payment(&site, A).await).await;
    service.stop();
    let file = backup(&host);
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let second = order(&site, &agent, B, &agent.payment(&site, B).await).await;
    for id in [&first, &second] {
        let lease = operator.claim(id).await;
        assert_eq!(operator.fulfil(id, lease).await.status, 200);
    }
    incoming_transfers::submit_on_base(&site, &other.payment(&site, "/get-card?amount=103.81").await).await;
    service.stop();
    restore(&host, &file);

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    assert!(host.logged().contains("keys of CVVs belong to no card"));
    assert_eq!(card_status(&site, &agent, &first).await, "queued");
    not_cancelled(&site, &agent, &first).await;
    site.advance(RESTORE_PAUSE_S).await;
    let waits = waiting(&operator, &agent).await;
    assert_eq!(waits["amount"], json!(124.56), "{waits}");
    let shows = waits["shows"].as_str().unwrap();
    assert!(shows.contains("may have made an international card"), "{waits}");
    balance(&site, &agent.token(&site).await, [0.0, 0.0, 0.0]).await;
    balance(&site, &other.token(&site).await, [103.81, 103.81, 0.0]).await;
    not_cancelled(&site, &agent, &first).await;

    reject_doubtful_order(&host, &service, &first).await;
    let cancelled = cancel(&site, &agent, &first).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    balance(&site, &agent.token(&site).await, [103.8, 103.8, 0.0]).await;
    let credit = json!({"deposit_id": waits["deposit_id"], "evidence": "its issuer has no such card"});
    for _ in 0..2 {
        operator.done("/admin/incoming-transfers/credit", credit.clone()).await;
    }
    balance(&site, &agent.token(&site).await, [228.36, 228.36, 0.0]).await;
    assert!(listed(&operator).await.is_empty());
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn intl_order_presented_after_restore_is_not_cancelled() {
    // Checks: the payment of the lost history, presented again, becomes the same order, whose card may exist. That
    // holds across a restart. An operator who releases the order confirms that the card does not exist.
    const PATH: &str = "/order-intl-card?amount=100";
    let host = host();
    let agent = Agent::new(Network::Base);
    host.start().stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let payment = agent.payment(&site, PATH).await;
    let bought = order(&site, &agent, PATH, &payment).await;
    let operator = OperatorClient::first(&host, &service);
    let lease = operator.claim(&bought).await;
    assert_eq!(operator.fulfil(&bought, lease).await.status, 200);
    service.stop();
    restore(&host, &file);

    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_eq!(order(&site, &agent, PATH, &payment).await, bought);
    not_cancelled(&site, &agent, &bought).await;
    service.stop();
    let service = host.start();
    let site = ServiceClient::of(&service);
    not_cancelled(&site, &agent, &bought).await;
    reject_doubtful_order(&host, &service, &bought).await;
    let cancelled = cancel(&site, &agent, &bought).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    balance(&site, &agent.token(&site).await, [103.8, 103.8, 0.0]).await;
    service.stop();
    host.assert_verified();
}
