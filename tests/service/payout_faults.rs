//! Payout rails under every fault, and processes that are killed meanwhile.

use std::time::Duration;

use purser_actors::id::Network;
use rust_decimal::Decimal;
use serde_json::json;

use super::agent::Agent;
use super::dead_letters::{status_and_code, wait_for_dead_letter};
use super::host::{Host, Service};
use super::http::{ServiceClient, until};
use super::metrics::scrape;
use super::operator_client::OperatorClient;
use super::owner::Owner;
use super::recipient::{balance_is, register, wait_for_payout_status};
use super::reconciliation::{fast_host, reversed};

fn quick() -> Host {
    Host::new().with("PURSER_SANDBOX__PAYOUT_DELAY_MS", "10")
}

fn to_bank(amount: &str, destination: &str) -> String {
    format!("/send-bank-payment?amount={amount}&destination_id={destination}")
}

#[tokio::test(flavor = "multi_thread")]
async fn case_32_33_payout_arrives_or_is_credited_once_for_every_fault() {
    // Checks: for every magic amount of the rails the final status, the total credit and the ledger are right.
    let host = quick().with("PURSER_PAYOUTS__BANK_RETURN_FEE_USD", "0.25");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let destination = register(&site, &agent).await;
    let token = agent.token(&site).await;
    for (amount, expected, balance) in [
        ("16.66", "failed", "18.16"),
        ("18.88", "complete", "18.16"),
        ("19.99", "complete", "18.16"),
        ("21.11", "returned", "39.02"),
        ("22.22", "complete", "39.02"),
        ("23.33", "returned", "62.1"),
        ("24.44", "failed", "88.04"),
        ("26.66", "cancelled", "116.2"),
        // Declined and then paid: the money is gone, the credit stays, and an operator has to look at it.
        ("25.55", "failed", "143.25"),
    ] {
        let bought = agent.buy(&site, &to_bank(amount, &destination)).await;
        assert_eq!(bought.status, 200, "{amount}: {}", bought.text);
        let payout = bought.body["bank_payment"]["payout_id"].as_str().unwrap();
        wait_for_payout_status(&site, &token, payout, expected).await;
        balance_is(&site, &token, balance).await;
    }
    until("the rail's last event", async || {
        let rails = site.get("/sandbox/payouts", &[]).await;
        (rails.body["recalled"] == 1).then_some(())
    })
    .await;
    // A kill changes none of it.
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    balance_is(&site, &token, "143.25").await;
    let list = site.get_as(&token, "/get-payment-status?limit=100").await;
    let states: Vec<_> = list.body["payouts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["status"].clone())
        .collect();
    assert_eq!(
        states,
        [
            "failed",
            "complete",
            "complete",
            "returned",
            "complete",
            "returned",
            "failed",
            "cancelled",
            "failed"
        ]
    );
    let expected = [
        "payout.failed queued",
        "payout.failed in-process",
        "payout.cancelled in-process",
        "payout.returned complete",
    ];
    site.wait_for_events(&token, &expected).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn payout_is_paid_once_under_every_rail_fault() {
    // Checks: with each fault in the middle of a payout, every payout completes, no order is executed twice and nothing
    // is credited.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let destination = register(&site, &agent).await;
    let token = agent.token(&site).await;
    for fault in ["unreachable", "slow", "malformed_response", "timeout", "duplicate"] {
        let ms = if fault == "slow" { json!(200) } else { json!(null) };
        let set = site
            .post("/sandbox/payouts", &json!({"fault": fault, "times": 2, "delay_ms": ms}))
            .await;
        assert_eq!(set.status, 200, "{}", set.text);
        let bought = agent.buy(&site, &to_bank("50", &destination)).await;
        let payout = bought.body["bank_payment"]["payout_id"].as_str().unwrap();
        wait_for_payout_status(&site, &token, payout, "complete").await;
        site.post("/sandbox/payouts", &json!({"fault": "clear"})).await;
    }
    let rails = site.get("/sandbox/payouts", &[]).await;
    assert_eq!(rails.body["orders"], 5, "{}", rails.text);
    balance_is(&site, &token, "0").await;
    service.stop();
    host.assert_verified();
}

/// Buys an app payment for a verified agent, and waits for the end of its return window.
async fn final_payment(service: &Service, agent: &Agent) -> String {
    let site = ServiceClient::of(service);
    let token = agent.token(&site).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    let path = "/send-payment?amount=20&platform=paypal&recipient_id=@ada&recipient_first_name=Ada\
                &recipient_last_name=Lovelace&recipient_email=ada@example.com";
    let bought = agent.buy(&site, path).await;
    let payout = bought.body["payment"]["payout_id"].as_str().unwrap().to_owned();
    wait_for_payout_status(&site, &token, &payout, "complete").await;
    return_window_over(service).await;
    payout
}

/// Waits for the end of the return window of the only payout.
async fn return_window_over(service: &Service) {
    until("the window is over", async || {
        let (_, page) = scrape(service).await;
        let tries = page.value("purser_outbox_attempts_total{job_type=\"close_return_window\"}");
        (tries > Decimal::ZERO && page.open("close_return_window") == Decimal::ZERO).then_some(())
    })
    .await;
}

/// Makes the rail report an event about a payout.
async fn emit_payout_event(site: &ServiceClient<'_>, payout: &str, event_name: &str) {
    let sent = json!({"payout_id": payout, "event": event_name});
    let sent = site.post("/sandbox/payouts", &sent).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_32_late_return_is_credited_once() {
    // Checks: a late return that is reported twice, under two event ids and across a kill, is credited once, less the
    // fee of the rail. The payout stays complete and shows the late return, the operator list has it, and the totals of
    // the recipient exclude it.
    let host = quick()
        .with("PURSER_PAYOUTS__APP_RETURN_WINDOW_SECONDS", "1")
        .with("PURSER_PAYOUTS__APP_RETURN_FEE_USD", "0.75")
        .with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10");
    let service = host.start();
    let agent = Agent::new(Network::Solana);
    let payout = final_payment(&service, &agent).await;
    let site = ServiceClient::of(&service);
    for event_name in ["returned", "failed"] {
        emit_payout_event(&site, &payout, event_name).await;
    }
    let token = agent.token(&site).await;
    balance_is(&site, &token, "19.25").await;
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    until("it is credited", async || {
        let shown = wait_for_payout_status(&site, &token, &payout, "complete").await;
        let late = &shown["late_return"];
        let amounts = ["amount", "return_fee", "credited_amount"].map(|name| late[name].to_string());
        assert_eq!(amounts, ["20", "0.75", "19.25"]);
        (late["status"] == "credited").then_some(())
    })
    .await;
    let events = site.events(&token, 0).await;
    let changes = events
        .iter()
        .filter_map(|event| event["type"].as_str()?.strip_prefix("late_return."));
    assert_eq!(changes.collect::<Vec<_>>(), ["received", "credited"]);
    let operator = OperatorClient::first(&host, &service);
    let listed = operator.get("/admin/late-returns?limit=10").await;
    let first = &listed.body["late_returns"][0];
    assert_eq!(
        (&first["payout_id"], &first["wallet"]),
        (&json!(payout), &json!(agent.address()))
    );
    let after = format!(
        "/admin/late-returns?after={}",
        listed.body["next_after"].as_str().unwrap()
    );
    assert_eq!(
        operator.get(&after).await.body,
        json!({"late_returns": [], "next_after": null})
    );
    until("the totals", async || {
        let list = site.get_as(&token, "/payment-recipients").await;
        let saved = &list.body["recipients"][0];
        let totals = ["payments_count", "total_amount"].map(|name| saved[name].to_string());
        (totals == ["0", "0"]).then_some(())
    })
    .await;
    balance_is(&site, &token, "19.25").await;
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["entities"]["late_returns"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_32_late_return_of_reversed_payment_is_kept_by_operator_decision() {
    // Checks: the chain reverses the payment of a final payout, and then the rail returns the money. Nothing is
    // credited until an operator closes the withheld credit without crediting it. The late return is then `kept`, also
    // across a kill, and the money offsets the loss.
    let host = fast_host(quick())
        .with("PURSER_PAYOUTS__BANK_RETURN_WINDOW_SECONDS", "1")
        .with("PURSER_PAYMENT__QUOTE_TTL_SECONDS", "15");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let destination = register(&site, &agent).await;
    let token = agent.token(&site).await;
    // The payment was final by then; otherwise the payout would not have been ordered.
    let drop = json!({"network": "base", "wallet": agent.address(), "fault": "drop_final", "delay_ms": 1});
    site.chain_fault(drop).await;
    let bought = agent.buy(&site, &to_bank("20", &destination)).await;
    let payment = bought.body["payment_id"].as_str().unwrap();
    let payout = bought.body["bank_payment"]["payout_id"].as_str().unwrap();
    wait_for_payout_status(&site, &token, payout, "complete").await;
    return_window_over(&service).await;
    reversed(&site, payment).await;
    emit_payout_event(&site, payout, "returned").await;
    let operator = OperatorClient::first(&host, &service);
    let waits = wait_for_dead_letter(&operator, "credit_account").await;
    let keep = json!({"job_id": waits["job_id"], "evidence": "Reversed by a reorg, ticket 10."});
    let closed_credit = operator.done("/admin/jobs/keep", keep.clone()).await;
    assert_eq!(
        (&closed_credit["job_id"], &closed_credit["kept"]),
        (&waits["job_id"], &json!(true))
    );
    let again = operator.post("/admin/jobs/keep", keep).await;
    assert_eq!(status_and_code(&again), (404, "job_not_found"));
    // The account was frozen when the payment was reversed.
    site.freeze(&agent.address(), None).await;
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    site.wait_for_events(&token, &["late_return.received -", "late_return.kept received"])
        .await;
    let late = &wait_for_payout_status(&site, &token, payout, "complete").await["late_return"];
    assert_eq!(
        (
            &late["status"],
            late["amount"].to_string(),
            late["credited_amount"].to_string()
        ),
        (&json!("kept"), "20".into(), "0".into())
    );
    balance_is(&site, &token, "0").await;
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["balances"]["losses"], 21_500_000, "{report:#}");
    assert_eq!(report["balances"]["operating_costs"], -20_000_000, "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_12_pending_payouts_survive_kills() {
    // Checks: with repeated kills while orders and returns are pending, each payout reaches the same final status.
    let host = quick();
    let agent = Agent::new(Network::Base);
    let mut payouts = Vec::new();
    for (round, amount) in ["50", "21.11", "24.44", "19.99"].into_iter().enumerate() {
        let service = host.start();
        let site = ServiceClient::of(&service);
        let destination = register(&site, &agent).await;
        let bought = agent.buy(&site, &to_bank(amount, &destination)).await;
        payouts.push(bought.body["bank_payment"]["payout_id"].as_str().unwrap().to_owned());
        drop(site);
        service.kill();
        host.start_and_kill(Duration::from_millis(150 * (round as u64 + 1)));
    }
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    for (payout, expected) in payouts.iter().zip(["complete", "returned", "failed", "complete"]) {
        wait_for_payout_status(&site, &token, payout, expected).await;
    }
    // 21.11 was returned and 25.94 was declined, fee included.
    balance_is(&site, &token, "47.05").await;
    let rails = site.get("/sandbox/payouts", &[]).await;
    assert_eq!(rails.body["orders"], 4);
    service.stop();
    host.assert_verified();
}
