//! Incoming transfers without a payment: those of a history that a restore has lost, and all others.

use purser_actors::id::Network;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::host::{Host, Service, text};
use super::http::{ServiceClient, until};
use super::metrics::scrape;
use super::operator_client::OperatorClient;
use super::restore::{backup, restore};
use super::withdraw::{balance, ended, received};

const CARD: &str = "/get-card?amount=5";
const GIFT: &str = "/order-gift-card?product_id=gift_marche_lumiere_fr&amount=50&country=FR";
const LIST: &str = "/admin/incoming-transfers";

/// A host that reads the chains' lists continuously.
pub(super) fn host() -> Host {
    Host::new()
        .with("PURSER_RECONCILIATION__STEP_INTERVAL_MS", "10")
        .with("PURSER_RECONCILIATION__GRACE_PERIOD_MS", "300")
        .with("PURSER_ENGINE__CHAIN_POLL_INTERVAL_MS", "50")
}

/// Submits a signed payment to Base without the service.
pub(super) async fn submit_on_base(site: &ServiceClient<'_>, payment: &str) {
    let sent = site.post("/sandbox/base", &json!({"payment": payment})).await;
    assert_eq!(sent.body["success"], true, "{}", sent.text);
}

pub(super) async fn listed(operator: &OperatorClient<'_>) -> Vec<Value> {
    let answer = operator.get(LIST).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["incoming_transfers"].as_array().unwrap().clone()
}

/// Waits until this sender's transfer is on the operators' list.
pub(super) async fn waiting(operator: &OperatorClient<'_>, agent: &Agent) -> Value {
    let own = |one: &Value| one["sender"].as_str().unwrap().eq_ignore_ascii_case(&agent.address());
    until("it waits for an operator", async || {
        let listed = listed(operator).await;
        listed.into_iter().find(|one| own(one) && one["status"] == "waiting")
    })
    .await
}

async fn counted(service: &Service) -> Decimal {
    let (_, page) = scrape(service).await;
    page.value("purser_incoming_transfers{state=\"waiting\"}")
}

#[tokio::test(flavor = "multi_thread")]
async fn case_79_transfer_settled_after_a_restore_is_credited_once() {
    // Checks: A payment signed in the lost history settles seconds after the restore and is never presented. Its payer
    // is credited once, also over a kill. Presenting it afterwards buys nothing and returns the credit.
    let host = host();
    host.start().stop();
    let file = backup(&host);
    let service = host.start();
    let mut signed = Vec::new();
    for agent in [Network::Base, Network::Base].map(Agent::new) {
        let payment = agent.payment(&ServiceClient::of(&service), CARD).await;
        signed.push((agent, payment));
    }
    service.stop();
    restore(&host, &file);
    let service = host.start();
    for (_, payment) in &signed {
        submit_on_base(&ServiceClient::of(&service), payment).await;
    }
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (agent, payment) in &signed {
        let token = agent.token(&site).await;
        balance(&site, &token, [5.0, 5.0, 0.0]).await;
        let again = until("it has its end", async || {
            let again = Agent::pay(&site, CARD, payment).await;
            (again.status != 202).then_some(again)
        })
        .await;
        let outcome = (again.status, again.str("status"));
        assert_eq!(outcome, (200, Some("credited")), "{}", again.text);
        balance(&site, &token, [5.0, 5.0, 0.0]).await;
    }
    assert!(listed(&OperatorClient::first(&host, &service)).await.is_empty());
    service.stop();
    let report = host.assert_verified();
    assert_eq!(
        (
            &report["unclaimed_transfers"],
            &report["entities"]["incoming_transfers"]
        ),
        (&json!(0), &json!(2))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_79_transfer_before_the_backup_is_not_credited_automatically() {
    // Checks: A restore credits no money that reached the treasury before the backup without a ledger record. It waits
    // with its sender and amount, and is counted. Two operators together credit the amount.
    let host = host()
        .with("PURSER_RECONCILIATION__GRACE_PERIOD_MS", "3600000")
        .with("PURSER_OPERATOR__ALONE_MAX_USD", "250");
    let funder = Agent::new(Network::Base);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let payment = funder.payment(&site, "/get-card?amount=900").await;
    submit_on_base(&site, &payment).await;
    service.stop();
    let file = backup(&host);
    restore(&host, &file);
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let waits = waiting(&operator, &funder).await;
    assert_eq!(
        (&waits["amount"], &waits["shows"]),
        (&json!(900), &Value::Null),
        "{waits}"
    );
    assert_eq!(counted(&service).await, Decimal::ONE);
    let token = funder.token(&site).await;
    balance(&site, &token, [0.0, 0.0, 0.0]).await;
    // The amount is above one operator's limit, so another operator must approve.
    let credit = json!({"deposit_id": waits["deposit_id"], "evidence": "it was a customer's"});
    let pending = operator.post(&format!("{LIST}/credit"), credit).await;
    assert_eq!(pending.status, 202, "{}", pending.text);
    let own = json!({"approval_id": pending.body["approval_id"], "amount": 900});
    let refused = operator.post("/admin/approvals/approve", own.clone()).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    let other = operator.add_operator("ben", "operator").await;
    other.done("/admin/approvals/approve", own).await;
    balance(&site, &token, [900.0, 900.0, 0.0]).await;
    service.stop();
    host.assert_verified();
}

/// An operator decides three unexpected transfers.
async fn decided(host: &Host, service: &Service, senders: &[Agent; 3]) -> Vec<Value> {
    let operator = OperatorClient::first(host, service);
    let [credited, funds, returned] = senders;
    let mut ids = Vec::new();
    for agent in [credited, funds, returned] {
        ids.push(waiting(&operator, agent).await["deposit_id"].clone());
    }
    let body = |id: &Value| json!({"deposit_id": id, "evidence": "their bank's letter"});
    let route = |what: &str| format!("{LIST}/{what}");
    let mut to_nobody = body(&ids[0]);
    to_nobody["account"] = json!(Agent::new(Network::Base).address());
    for (path, body, refusal) in [
        (
            route("credit"),
            json!({"deposit_id": ids[0], "evidence": " "}),
            (400, "parameter_invalid"),
        ),
        (route("credit"), to_nobody, (404, "account_not_found")),
        (
            route("return"),
            json!({"deposit_id": "dep_0", "evidence": "x"}),
            (404, "incoming_transfer_not_found"),
        ),
    ] {
        let refused = operator.post(&path, body).await;
        assert_eq!((refused.status, refused.code()), refusal, "{}", refused.text);
    }
    let support = operator.add_operator("sue", "support").await;
    assert_eq!(support.post(&route("credit"), body(&ids[0])).await.status, 403);
    for _ in 0..2 {
        let given = operator.done(&route("credit"), body(&ids[0])).await;
        assert_eq!(given["account"], json!(credited.address().to_lowercase()), "{given}");
    }
    let recorded = operator.done(&route("operator-funds"), body(&ids[1])).await;
    assert_eq!(recorded["status"], "operator_funds");
    let id = ids[2].as_str().unwrap();
    let sent = admin(
        host,
        service,
        &["incoming", "return", id, "--evidence", "sent by mistake"],
        "",
    )
    .unwrap();
    assert_eq!(sent["deposit_id"], ids[2], "{sent}");
    for (what, id) in [("return", &ids[0]), ("credit", &ids[1]), ("operator-funds", &ids[2])] {
        let refused = operator.post(&route(what), body(id)).await;
        assert_eq!(
            (refused.status, refused.code()),
            (409, "deposit_not_waiting"),
            "{}",
            refused.text
        );
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn case_79_operator_credits_keeps_or_returns_unexpected_transfers() {
    // Checks: Without a restore too, money that pays for nothing waits. Each of the three decisions takes effect and is
    // audited once, over repeats and a kill. A returned transfer arrives. A transfer that is claimed by a payment later
    // needs no decision.
    let host = host();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let senders = [Network::Base; 3].map(Agent::new);
    for agent in &senders {
        let payment = agent.payment(&site, CARD).await;
        submit_on_base(&site, &payment).await;
    }
    let late = Agent::new(Network::Base);
    let payment = late.payment(&site, CARD).await;
    submit_on_base(&site, &payment).await;
    let operator = OperatorClient::first(&host, &service);
    waiting(&operator, &late).await;
    let bought = Agent::pay(&site, CARD, &payment).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    until("no decision about it is needed", async || {
        (listed(&operator).await.len() == 3).then_some(())
    })
    .await;
    let ids = decided(&host, &service, &senders).await;
    service.kill();

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let token = senders[0].token(&site).await;
    balance(&site, &token, [5.0, 5.0, 0.0]).await;
    let token = senders[1].token(&site).await;
    balance(&site, &token, [0.0, 0.0, 0.0]).await;
    let token = senders[2].token(&site).await;
    let withdrawal = ids[2].as_str().unwrap().replace("dep_", "wd_");
    assert_eq!(ended(&site, &token, &withdrawal).await["state"], "complete");
    balance(&site, &token, [0.0, 0.0, 0.0]).await;
    assert_eq!(received(&site, &senders[2]).await, [5_000_000]);
    assert!(listed(&operator).await.is_empty());
    let audited = operator.audit().await.into_iter();
    let mut audited: Vec<_> = audited
        .map(|(_, what, _)| what)
        .filter(|what| what.starts_with("incoming."))
        .collect();
    audited.sort_unstable();
    assert_eq!(
        audited,
        ["incoming.credit", "incoming.operator_funds", "incoming.return"]
    );
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["balances"]["operator_funds"], -5_000_000);
    let (status, named) = super::reconciliation::reconcile(&host);
    assert_eq!((status, named), (Some(0), Vec::new()));
}

/// The card data that its owner sees.
async fn card(site: &ServiceClient<'_>, token: &str, id: &str, state: &str) -> Value {
    let path = format!("/get-card-data?card_id={id}");
    until("the card is there", async || {
        let answer = site.get_as(token, &path).await;
        (answer.body["status"] == state).then_some(answer.body)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn case_80_product_made_after_the_backup_is_adopted_not_credited() {
    // Checks: A card and a foreign-currency gift card were bought after the backup. The restored service finds both at
    // their providers by the ids derived from the payments. Their owners keep them, no balance changes, nothing is
    // ordered again, and presenting the payment again returns them.
    let host = host();
    host.start().stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let mut bought = Vec::new();
    for (network, path, state) in [(Network::Base, CARD, "ready"), (Network::Solana, GIFT, "completed")] {
        let agent = Agent::new(network);
        let payment = agent.payment(&site, path).await;
        let paid = Agent::pay(&site, path, &payment).await;
        let id = paid.card().to_owned();
        let token = agent.token(&site).await;
        let shown = card(&site, &token, &id, state).await;
        bought.push((agent, payment, path, id, shown));
    }
    service.stop();
    let ledger = host.assert_verified();
    restore(&host, &file);

    let service = host.start();
    let site = ServiceClient::of(&service);
    for (agent, payment, path, id, before) in &bought {
        let token = agent.token(&site).await;
        let state = before["status"].as_str().unwrap();
        let after = card(&site, &token, id, state).await;
        for same in [
            "card_id",
            "card_number",
            "cvv",
            "redemption_code",
            "redemption_url",
            "pin_code",
            "fees_paid",
        ] {
            assert_eq!(after[same], before[same], "{same} of {after}");
        }
        balance(&site, &token, [0.0, 0.0, 0.0]).await;
        let again = Agent::pay(&site, path, payment).await;
        assert_eq!((again.status, again.card()), (200, id.as_str()), "{}", again.text);
        assert!(again.body["auth"].is_null(), "{}", again.text);
    }
    assert!(listed(&OperatorClient::first(&host, &service)).await.is_empty());
    assert_eq!(site.transfers().await.len(), 2);
    service.stop();
    let report = host.assert_verified();
    assert_eq!(
        report["balances"], ledger["balances"],
        "the gift card's fee is our fee again"
    );
    assert_eq!(report["payments"]["fulfilled"], 2);
    let (status, named) = super::reconciliation::reconcile(&host);
    assert_eq!((status, named), (Some(0), Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_79_81_restore_output_states_what_it_cannot_know() {
    // Checks: The output of `purser restore` with the revocation log next to it, and without.
    let host = host();
    host.start().stop();
    let file = backup(&host);
    for (log, says) in [(true, "revokes again each session"), (false, "is suspended")] {
        let lost = host.sibling_path(if log { "lost" } else { "lost-too" });
        std::fs::rename(host.data().join("store"), lost).unwrap();
        if !log {
            std::fs::remove_file(host.data().join("revocations.log")).unwrap();
        }
        let restored = host.run(&["restore", &file]);
        let output = text(&restored);
        assert!(restored.status.success(), "{output}");
        for part in [
            says,
            "revocations.log",
            "purser admin incoming list",
            "purser admin intl-orders list",
            "lost: what operators decided",
        ] {
            assert!(output.contains(part), "{part:?} in {output}");
        }
    }
}
