//! Payout rails that do their worst, and processes that die meanwhile.

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
async fn case_32_33_whatever_a_rail_does_the_money_arrives_once_or_goes_back_once() {
    // Aim: every magic amount of the rails: where it ends, what is credited in all, and that the books say the same.
    let host = quick().with("PURSER_PAYOUTS__BANK_RETURN_FEE_USD", "0.25");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let destination = register(&site, &agent).await;
    let token = agent.token(&site).await;
    for (amount, wanted, balance) in [
        ("16.66", "failed", "18.16"),
        ("18.88", "complete", "18.16"),
        ("19.99", "complete", "18.16"),
        ("21.11", "returned", "39.02"),
        ("22.22", "complete", "39.02"),
        ("23.33", "returned", "62.1"),
        ("24.44", "failed", "88.04"),
        ("26.66", "cancelled", "116.2"),
        // Refused, and then paid: the money is gone, the credit stays, and somebody must look.
        ("25.55", "failed", "143.25"),
    ] {
        let bought = agent.buy(&site, &to_bank(amount, &destination)).await;
        assert_eq!(bought.status, 200, "{amount}: {}", bought.text);
        let payout = bought.body["bank_payment"]["payout_id"].as_str().unwrap();
        wait_for_payout_status(&site, &token, payout, wanted).await;
        balance_is(&site, &token, balance).await;
    }
    until("the rail's last words", async || {
        let rails = site.get("/sandbox/payouts", &[]).await;
        (rails.body["recalled"] == 1).then_some(())
    })
    .await;
    // A power cut changes none of it.
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
    let told = [
        "payout.failed queued",
        "payout.failed in-process",
        "payout.cancelled in-process",
        "payout.returned complete",
    ];
    site.wait_for_events(&token, &told).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn rails_that_are_gone_slow_or_garbled_pay_once_and_are_asked_again() {
    // Aim: each fault once, in the middle of a payout; each ends complete, no order is taken twice, nothing is credited.
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

/// Buys a payment to an app for an agent whose identity is verified, and waits for the end of its return window.
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

/// Waits for the end of the only payout's return window.
async fn return_window_over(service: &Service) {
    until("the window is over", async || {
        let (_, page) = scrape(service).await;
        let tries = page.value("purser_outbox_attempts_total{work=\"close_returns\"}");
        (tries > Decimal::ZERO && page.open("close_returns") == Decimal::ZERO).then_some(())
    })
    .await;
}

/// Has the rail say a word about a payout.
async fn emit_payout_event(site: &ServiceClient<'_>, payout: &str, word: &str) {
    let said = json!({"payout_id": payout, "event": word});
    let said = site.post("/sandbox/payouts", &said).await;
    assert_eq!(said.status, 200, "{}", said.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_32_what_comes_back_after_the_window_is_credited_once_under_its_own_name() {
    // Aim: told twice, under two words and over a kill: the payout stays complete and shows its late return, the balance has the
    // amount less the rail's fee, the operator's list has it, and a recipient's totals have it no more.
    let host = quick()
        .with("PURSER_PAYOUTS__APP_RETURN_WINDOW_SECONDS", "1")
        .with("PURSER_PAYOUTS__APP_RETURN_FEE_USD", "0.75")
        .with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10");
    let service = host.start();
    let agent = Agent::new(Network::Solana);
    let payout = final_payment(&service, &agent).await;
    let site = ServiceClient::of(&service);
    for word in ["returned", "failed"] {
        emit_payout_event(&site, &payout, word).await;
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
    let told = events
        .iter()
        .filter_map(|event| event["type"].as_str()?.strip_prefix("late_return."));
    assert_eq!(told.collect::<Vec<_>>(), ["received", "credited"]);
    let desk = OperatorClient::first(&host, &service);
    let listed = desk.get("/admin/late-returns?limit=10").await;
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
        desk.get(&after).await.body,
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
async fn case_32_what_comes_back_of_a_payment_that_was_taken_back_is_kept_when_an_operator_says_so() {
    // Aim: a payout was paid and is final, its payment's chain takes that back, and then its rail gives the money back: nothing is
    // credited; an operator ends the withheld credit without giving it, and over a kill the late return is `kept`, the balance
    // empty, and the house has the money against its loss.
    let host = fast_host(quick())
        .with("PURSER_PAYOUTS__BANK_RETURN_WINDOW_SECONDS", "1")
        .with("PURSER_PAYMENT__QUOTE_TTL_SECONDS", "15");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let destination = register(&site, &agent).await;
    let token = agent.token(&site).await;
    // Its payment was final by then, or it would not have been ordered.
    let drop = json!({"network": "base", "wallet": agent.address(), "fault": "drop_final", "delay_ms": 1});
    site.chain_fault(drop).await;
    let bought = agent.buy(&site, &to_bank("20", &destination)).await;
    let payment = bought.body["payment_id"].as_str().unwrap();
    let payout = bought.body["bank_payment"]["payout_id"].as_str().unwrap();
    wait_for_payout_status(&site, &token, payout, "complete").await;
    return_window_over(&service).await;
    reversed(&site, payment).await;
    emit_payout_event(&site, payout, "returned").await;
    let desk = OperatorClient::first(&host, &service);
    let waits = wait_for_dead_letter(&desk, "credit").await;
    let keep = json!({"job_id": waits["job_id"], "evidence": "Taken back by its chain, ticket 10."});
    let kept = desk.done("/admin/jobs/keep", keep.clone()).await;
    assert_eq!((&kept["job_id"], &kept["kept"]), (&waits["job_id"], &json!(true)));
    let again = desk.post("/admin/jobs/keep", keep).await;
    assert_eq!(status_and_code(&again), (404, "job_not_found"));
    // Frozen when the payment was taken back.
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
async fn case_12_payouts_under_way_survive_kills() {
    // Aim: killed again and again with orders at the rail and returns to come, each payout ends as it would have.
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
    for (payout, wanted) in payouts.iter().zip(["complete", "returned", "failed", "complete"]) {
        wait_for_payout_status(&site, &token, payout, wanted).await;
    }
    // 21.11 came back, 25.94 was refused: fee included.
    balance_is(&site, &token, "47.05").await;
    let rails = site.get("/sandbox/payouts", &[]).await;
    assert_eq!(rails.body["orders"], 4);
    service.stop();
    host.assert_verified();
}
