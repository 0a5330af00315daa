//! Faulty chains, issuers and clients, and overload, while money moves.

use std::time::Duration;

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::replay::transfer_count;

const CARD: &str = "/get-card?amount=5";

/// Repeats the payment until its outcome is final.
pub(crate) async fn finally(site: &ServiceClient<'_>, path: &str, payment: &str) -> Response {
    until("the payment to have its end", async || {
        let answer = Agent::pay(site, path, payment).await;
        (answer.status == 200).then_some(answer)
    })
    .await
}

async fn balance(site: &ServiceClient<'_>, token: &str) -> String {
    let answer = site.get_as(token, "/get-account-balance").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["balance"].to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_07_unknown_outcome_gets_no_new_challenge() {
    // Checks: the transfer settles, but its response is lost or late. The client gets 202 with a status URL and no
    // challenge. The chain is then read and the card delivered, and nothing is paid twice.
    let host = Host::new().with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "200");
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (network, fault) in [
        (Network::Base, json!({"fault": "lose_response"})),
        (Network::Solana, json!({"fault": "slow", "delay_ms": 1500})),
    ] {
        let agent = Agent::new(network);
        let mut fault = fault;
        fault["wallet"] = json!(agent.address());
        site.chain_fault(fault).await;
        let payment = agent.payment(&site, CARD).await;
        let unknown = Agent::pay(&site, CARD, &payment).await;
        assert_eq!(
            (unknown.status, unknown.str("status")),
            (202, Some("settlement_pending")),
            "{}",
            unknown.text
        );
        assert!(unknown.header("payment-required").is_none() && unknown.body.get("auth").is_none());
        assert!(unknown.header("retry-after").is_some());
        let status = unknown
            .str("status_url")
            .unwrap()
            .strip_prefix(&service.url)
            .unwrap()
            .to_owned();
        let end = until("the chain to be read", async || {
            let answer = site.get(&status, &[]).await;
            (answer.body["terminal"] == true).then_some(answer)
        })
        .await;
        assert_eq!(end.str("status"), Some("fulfilled"));
        assert!(end.body.get("card_id").is_none(), "the result is for the payer");
        assert!(Agent::pay(&site, CARD, &payment).await.card().starts_with("card_"));
        assert_eq!(transfer_count(&site, &payment).await, 1);
        let expected = [
            "payment.unknown settling",
            "payment.settled unknown",
            "payment.fulfilled settled",
        ];
        site.wait_for_events(&agent.token(&site).await, &expected).await;
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_09_31_declined_transfer_that_settles_is_credited_or_delivered_once() {
    // Checks: the chain declines and the transfer settles later. It becomes one credit, or one card if the payment was
    // presented again before, and never both.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let token = agent.token(&site).await;
        site.chain_fault(json!({"fault": "fail_then_land", "delay_ms": 300, "wallet": agent.address()}))
            .await;
        let payment = agent.payment(&site, CARD).await;
        let refused = Agent::pay(&site, CARD, &payment).await;
        assert_eq!((refused.status, &refused.body["success"]), (402, &json!(false)));
        assert!(
            refused.header("payment-required").is_none(),
            "some clients would pay again"
        );
        until("the late transfer to be credited", async || {
            (balance(&site, &token).await == "5").then_some(())
        })
        .await;
        // The account is credited before the payment changes.
        site.wait_for_events(&token, &["payment.credited"]).await;
        for _ in 0..3 {
            let replay = Agent::pay(&site, CARD, &payment).await;
            assert_eq!(
                (replay.status, replay.str("status")),
                (200, Some("credited")),
                "{}",
                replay.text
            );
        }
        assert_eq!(balance(&site, &token).await, "5");
        assert_eq!(transfer_count(&site, &payment).await, 1);
        let late = [
            "payment.declined settling",
            "payment.settled declined",
            "payment.credited settled",
        ];
        site.wait_for_events(&token, &late).await;

        // Presented again while the late transfer is pending: the card, and no credit after it settles.
        site.chain_fault(json!({"fault": "fail_then_land", "delay_ms": 1200, "wallet": agent.address()}))
            .await;
        let payment = agent.payment(&site, CARD).await;
        assert_eq!(Agent::pay(&site, CARD, &payment).await.status, 402);
        let card = finally(&site, CARD, &payment).await;
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        let again = Agent::pay(&site, CARD, &payment).await;
        assert_eq!(
            (again.str("card_id"), again.str("status")),
            (card.str("card_id"), card.str("status"))
        );
        assert_eq!(transfer_count(&site, &payment).await, 1);
    }
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["unclaimed_transfers"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_10_front_run_payment_still_buys_its_product() {
    // Checks: another party copies the authorization and submits it first. The transfer is recognized as this payment.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        site.chain_fault(json!({"fault": "front_run", "wallet": agent.address()}))
            .await;
        let payment = agent.payment(&site, CARD).await;
        let bought = Agent::pay(&site, CARD, &payment).await;
        assert!(bought.card().starts_with("card_") && bought.body.get("auth").is_some());
        assert_eq!(transfer_count(&site, &payment).await, 1);
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_11_an_unreachable_chain_charges_nothing() {
    // Checks: an unreachable chain gives 503 with Retry-After and no challenge, and nothing moves. The same payment
    // buys once the chain is back.
    let host = Host::new().with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "20");
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        site.chain_fault(json!({"fault": "unreachable", "times": 0})).await;
        let payment = agent.payment(&site, CARD).await;
        for _ in 0..2 {
            let away = Agent::pay(&site, CARD, &payment).await;
            assert_eq!(
                (away.status, away.code()),
                (503, "settlement_unavailable"),
                "{}",
                away.text
            );
            assert!(away.header("retry-after").is_some() && away.header("payment-required").is_none());
        }
        assert_eq!(transfer_count(&site, &payment).await, 0);
        site.chain_fault(json!({"fault": "clear"})).await;
        let bought = Agent::pay(&site, CARD, &payment).await;
        assert!(bought.card().starts_with("card_") && bought.body.get("auth").is_some());
        let again = Agent::pay(&site, CARD, &payment).await;
        assert_eq!((again.card(), again.body.get("auth")), (bought.card(), None));
        assert_eq!(transfer_count(&site, &payment).await, 1);
        site.wait_for_events(&agent.token(&site).await, &["payment.released claimed"])
            .await;
    }
    // An unreachable issuer, or one with malformed responses, only delays the card.
    let agent = Agent::new(Network::Base);
    for fault in ["unreachable", "malformed_response", "timeout"] {
        site.issuer_fault(json!({"fault": fault, "times": 2})).await;
        let bought = agent.buy(&site, CARD).await;
        let token = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
        until("the card to be ready", async || {
            let read = site
                .get_as(&token, &format!("/get-card-data?card_id={}", bought.card()))
                .await;
            (read.str("status") == Some("ready")).then_some(())
        })
        .await;
        site.issuer_fault(json!({"fault": "clear"})).await;
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_retries_after_failed_settlement_get_one_token_set() {
    // Checks: after a 503 and after a 402 with `success: false` no tokens exist. Of the concurrent retries of the
    // payment exactly one gets tokens, which are valid; later calls get none.
    let host = Host::new().with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "20");
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (fault, status) in [
        (json!({"fault": "unreachable", "times": 0}), 503),
        (json!({"fault": "insufficient"}), 402),
    ] {
        let agent = Agent::new(Network::Base);
        let mut fault = fault;
        fault["wallet"] = json!(agent.address());
        let payment = agent.payment(&site, CARD).await;
        site.chain_fault(fault).await;
        let refused = Agent::pay(&site, CARD, &payment).await;
        assert_eq!(
            (refused.status, refused.body.get("auth")),
            (status, None),
            "{}",
            refused.text
        );
        site.chain_fault(json!({"fault": "clear"})).await;
        let calls = (0..6).map(|_| Agent::pay(&site, CARD, &payment));
        let answers = futures_util::future::join_all(calls).await;
        assert!(answers.iter().all(|answer| answer.card() == answers[0].card()));
        let with: Vec<_> = answers.iter().filter(|a| a.body.get("auth").is_some()).collect();
        assert_eq!(with.len(), 1, "{status}");
        let token = with[0].body["auth"]["id_token"].as_str().unwrap();
        assert_eq!(site.get_as(token, "/get-account-balance").await.status, 200);
        let refresh = json!({"grant_type": "refresh_token", "refresh_token": with[0].body["auth"]["refresh_token"]});
        assert_eq!(site.post("/auth", &refresh).await.status, 200);
        let late = Agent::pay(&site, CARD, &payment).await;
        assert_eq!((late.card(), late.body.get("auth")), (answers[0].card(), None));
        assert_eq!(transfer_count(&site, &payment).await, 1);
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_20_slow_flood_of_one_payer_leaves_capacity_for_others() {
    // Checks: the payments of one payer hang at the chain. Beyond its share that payer gets 503 with Retry-After and no
    // claim, while others buy.
    let host = Host::new()
        .with("PURSER_ENGINE__MAX_PAID_CALLS_PER_PAYER", "4")
        .with("PURSER_ENGINE__MAX_PAID_CALLS_IN_FLIGHT", "16");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let greedy = Agent::new(Network::Base);
    site.chain_fault(json!({"fault": "slow", "delay_ms": 3000, "times": 0, "wallet": greedy.address()}))
        .await;
    let challenge = Agent::challenge(&site, CARD).await;
    let payments: Vec<String> = (0..40).map(|_| greedy.sign(&challenge)).collect();
    let flood = futures_util::future::join_all(payments.iter().map(|p| Agent::pay(&site, CARD, p)));
    let others = async {
        for network in [Network::Base, Network::Solana, Network::Base] {
            assert!(Agent::new(network).buy(&site, CARD).await.card().starts_with("card_"));
        }
    };
    let (answers, ()) = tokio::join!(flood, others);
    let served: Vec<_> = answers.iter().filter(|a| a.status == 200).collect();
    assert!((1..=36).contains(&served.len()), "{}", served.len());
    for (answer, payment) in answers.iter().zip(&payments).filter(|(a, _)| a.status != 200) {
        assert_eq!((answer.status, answer.code()), (503, "overloaded"));
        assert!(answer.header("retry-after").is_some());
        assert_eq!(transfer_count(&site, payment).await, 0);
    }
    site.chain_fault(json!({"fault": "clear"})).await;
    let refused = answers.iter().position(|a| a.status == 503).unwrap();
    assert_eq!(finally(&site, CARD, &payments[refused]).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_68_requests_beyond_capacity_get_503_and_claim_nothing() {
    // Checks: while the chain holds transfers, every request beyond the limit gets 503 with Retry-After, claims nothing
    // and uses no more memory. Afterwards the service works as before. Beyond the rate limit of a caller it is 429.
    let host = Host::new().with("PURSER_ENGINE__MAX_PAID_CALLS_IN_FLIGHT", "8");
    let service = host.start();
    let site = ServiceClient::of(&service);
    site.chain_fault(json!({"fault": "hold"})).await;
    let challenge = Agent::challenge(&site, CARD).await;
    let crowd: Vec<Agent> = (0..12).map(|_| Agent::new(Network::Base)).collect();
    let calls = crowd.iter().map(|agent| {
        let request = site
            .request("GET", CARD)
            .header("payment-signature", agent.sign(&challenge));
        tokio::spawn(super::http::send(request))
    });
    let calls: Vec<_> = calls.collect();
    until("all paid-call permits to be taken", async || {
        (calls.iter().filter(|call| call.is_finished()).count() == 4).then_some(())
    })
    .await;
    let agent = Agent::new(Network::Base);
    let mut before = 0;
    for round in 0..10 {
        let crowd: Vec<String> = (0..50).map(|_| agent.sign(&challenge)).collect();
        let responses = futures_util::future::join_all(crowd.iter().map(|p| Agent::pay(&site, CARD, p))).await;
        assert!(
            responses
                .iter()
                .all(|a| a.status == 503 && a.header("retry-after").is_some())
        );
        if round == 1 {
            before = service.resident();
        }
    }
    assert!(
        service.resident() < before + (32 << 20),
        "{before} grew to {}",
        service.resident()
    );
    site.chain_fault(json!({"fault": "clear"})).await;
    let mut statuses = Vec::new();
    for call in calls {
        statuses.push(call.await.unwrap().unwrap().status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [[200; 8].as_slice(), &[503; 4]].concat());
    assert_eq!(finally(&site, CARD, &agent.sign(&challenge)).await.status, 200);
    service.stop();
    host.assert_verified();

    let host = Host::new().with("PURSER_LIMITS__REQUESTS_PER_WINDOW", "20");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let over = until("the ceiling", async || {
        let answer = site.get(CARD, &[]).await;
        (answer.status == 429).then_some(answer)
    })
    .await;
    assert!(over.header("retry-after").is_some() && over.header("payment-required").is_none());
    assert_eq!(site.get("/healthz", &[]).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_69_graceful_stop_finishes_paid_calls() {
    // Checks: a service that stops with paid calls in flight answers all of them, then exits. Their outcomes stay the
    // same after a restart.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    site.chain_fault(json!({"fault": "slow", "delay_ms": 700, "times": 0}))
        .await;
    let challenge = Agent::challenge(&site, CARD).await;
    let payments: Vec<String> = (0..32)
        .map(|n| Agent::new(Network::ALL[n % 2]).sign(&challenge))
        .collect();
    let calls = futures_util::future::join_all(payments.iter().map(|p| Agent::pay(&site, CARD, p)));
    let stop = async {
        until("the calls to be in flight", async || {
            let met = site.get("/sandbox", &[]).await.body["chains"]
                .as_array()
                .unwrap()
                .iter()
                .map(|c| c["faults_injected"].as_u64().unwrap())
                .sum::<u64>();
            (met == 32).then_some(())
        })
        .await;
        service.terminate();
    };
    let (answers, ()) = tokio::join!(calls, stop);
    let cards: Vec<&str> = answers.iter().map(Response::card).collect();
    drop(site);
    assert!(service.wait(), "the service ended with an error");
    host.assert_verified();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (payment, card) in payments.iter().zip(cards) {
        let again = Agent::pay(&site, CARD, payment).await;
        assert_eq!(again.card(), card);
        assert!(again.body.get("auth").is_none());
    }
}
