//! Metrics as the operator's monitoring sees them.

use std::collections::BTreeMap;

use purser_actors::id::Network;
use rust_decimal::Decimal;
use serde_json::json;

use super::agent::Agent;
use super::exposition::Exposition;
use super::host::{Host, Service};
use super::http::{ServiceClient, client, send, send_to_operator, until};

const CARD: &str = "/get-card?amount=5";

/// The current metrics page.
pub(crate) async fn scrape(service: &Service) -> (String, Exposition) {
    let answer = send_to_operator(client().get(service.operator_url("/metrics")))
        .await
        .unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(
        answer.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let page = Exposition::read(&answer.text);
    (answer.text, page)
}

/// The increase of each series.
fn grown(before: &Exposition, after: &Exposition, expected: &[(&str, i64)]) {
    for (series, by) in expected {
        let (from, to) = (before.value(series), after.value(series));
        assert!(
            to - from == Decimal::from(*by),
            "{series}: {from} → {to}, expected {by} more"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_each_outcome_once() {
    // Checks: A challenge, purchases on both chains, a replay, a declined payment and an unknown path are each counted
    // once, under their own names. All open gauges are back to zero afterwards.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, before) = scrape(&service).await;
    for network in Network::ALL {
        let agent = Agent::new(network);
        let payment = agent.payment(&site, CARD).await;
        Agent::pay(&site, CARD, &payment).await.card();
        Agent::pay(&site, CARD, &payment).await.card();
    }
    let declined = "/get-card?amount=13.02";
    assert_eq!(Agent::new(Network::Base).buy(&site, declined).await.status, 402);
    assert_eq!(Agent::pay(&site, CARD, "nonsense").await.status, 402);
    assert_eq!(site.get("/wp-admin.php", &[]).await.status, 404);
    let (_, after) = until("the cards", async || {
        let (text, page) = scrape(&service).await;
        (page.value("purser_outbox_jobs{job_type=\"issue_card\",state=\"running\"}")
            + page.value("purser_outbox_jobs{job_type=\"issue_card\",state=\"scheduled\"}")
            == Decimal::ZERO)
            .then_some((text, page))
    })
    .await;
    grown(
        &before,
        &after,
        &[
            ("purser_paid_calls_total{outcome=\"challenged\"}", 3),
            ("purser_paid_calls_total{outcome=\"fulfilled\"}", 2),
            ("purser_paid_calls_total{outcome=\"replayed\"}", 2),
            ("purser_paid_calls_total{outcome=\"declined\"}", 1),
            ("purser_paid_calls_total{outcome=\"invalid\"}", 1),
            (
                "purser_http_request_duration_seconds_count{route=\"/get-card\",status=\"2xx\"}",
                4,
            ),
            (
                "purser_http_request_duration_seconds_count{route=\"/get-card\",status=\"402\"}",
                5,
            ),
            (
                "purser_http_request_duration_seconds_count{route=\"other\",status=\"4xx\"}",
                1,
            ),
            ("purser_outbox_attempts_total{job_type=\"settle_payment\"}", 3),
            (
                "purser_outbox_attempt_failures_total{job_type=\"settle_payment\",reason=\"crash\"}",
                0,
            ),
            ("purser_entity_restarts_total{entity=\"payment\"}", 0),
            ("purser_admission_in_flight", 0),
            ("purser_admission_payers_in_flight", 0),
            ("purser_entity_commands_in_flight{entity=\"account\"}", 0),
        ],
    );
    let more = |series: &str| after.value(series) - before.value(series);
    // Each purchase waits for at least two commits: the claim and the product.
    assert!(
        more("purser_journal_commit_batches_count") >= 4.into()
            && more("purser_journal_commit_batches_sum") >= 4.into()
    );
    assert!(more("purser_journal_commit_duration_seconds_count") >= 4.into());
    assert!(
        more("purser_journal_written_bytes_total") > 4_000.into() && more("purser_journal_last_sequence") >= 8.into()
    );
    let syncs = more("purser_journal_syncs_total");
    assert!(syncs >= 4.into() && syncs <= more("purser_journal_commit_batches_count"));
    assert!(syncs <= more("purser_journal_commits_total"));
    // The sandbox's chain records each transfer, its issuer each card.
    assert!(more("purser_sandbox_journal_commits_total") >= 4.into());
    let syncs = more("purser_sandbox_journal_syncs_total");
    assert!(syncs >= 2.into() && syncs <= more("purser_sandbox_journal_commits_total"));
    assert!(after.value("purser_snapshot_syncs_total") > 0.into());
    assert!(more("purser_http_request_duration_seconds_sum{route=\"/get-card\",status=\"2xx\"}") > 0.into());
    assert!(after.value("purser_entities_active{entity=\"account\"}") >= 3.into());
    assert!(after.value("purser_admission_limit") > 1.into());
}

#[tokio::test(flavor = "multi_thread")]
async fn paid_call_makes_three_commits_in_the_sandbox() {
    // Checks: the claim with the signed bytes, the settlement with the card, and the issued card, on both chains.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let mut least = Decimal::MAX;
        // What runs in the background may add commits to one of them.
        for _ in 0..5 {
            let (_, before) = scrape(&service).await;
            agent.buy(&site, CARD).await.card();
            until("the card", async || {
                let (_, page) = scrape(&service).await;
                let attempts = "purser_outbox_attempts_total{job_type=\"issue_card\"}";
                let open = ["running", "scheduled"].map(|state| {
                    page.value(&format!(
                        "purser_outbox_jobs{{job_type=\"issue_card\",state=\"{state}\"}}"
                    ))
                });
                // One attempt orders the card, and another may ask for it.
                let ended = page.value(attempts) > before.value(attempts) && open == [Decimal::ZERO; 2];
                ended.then_some(())
            })
            .await;
            // The page before may have counted the commits first.
            let (_, after) = scrape(&service).await;
            let commits = "purser_journal_commits_total";
            least = least.min(after.value(commits) - before.value(commits));
        }
        assert_eq!(least, Decimal::from(3), "{network:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_show_dead_letters_unknown_payments_and_rate_limits() {
    // Checks: A job with too many attempts is a dead letter with its age. A payment without a response is unknown, with
    // its age, and its permit is released. A payer and a caller beyond their limits are counted.
    let host = Host::new()
        .with("PURSER_ENGINE__MAX_ATTEMPTS", "2")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1")
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "200")
        .with("PURSER_LIMITS__PAYMENTS_PER_WINDOW", "2");
    let service = host.start();
    let site = ServiceClient::of(&service);
    site.issuer_fault(json!({"fault": "unreachable", "times": 100})).await;
    let agent = Agent::new(Network::Base);
    agent.buy(&site, CARD).await.card();
    let lost = Agent::new(Network::Solana);
    site.chain_fault(json!({"fault": "slow", "delay_ms": 60_000, "wallet": lost.address()}))
        .await;
    let payment = lost.payment(&site, CARD).await;
    for status in [202, 202, 429] {
        assert_eq!(Agent::pay(&site, CARD, &payment).await.status, status);
    }
    let dead_letters = "purser_outbox_jobs{job_type=\"issue_card\",state=\"dead_letter\"}";
    let (_, page) = until("the card job to be dead-lettered", async || {
        let (text, page) = scrape(&service).await;
        (page.value(dead_letters) > Decimal::ZERO).then_some((text, page))
    })
    .await;
    let exactly = |series: &str, n: i64| assert!(page.value(series) == n.into(), "{series}: {page:?}");
    exactly(dead_letters, 1);
    exactly(
        "purser_outbox_attempt_failures_total{job_type=\"issue_card\",reason=\"temporary\"}",
        2,
    );
    exactly("purser_payments_unknown", 1);
    exactly(
        "purser_outbox_jobs{job_type=\"watch_payment\",state=\"dead_letter\"}",
        0,
    );
    exactly("purser_rate_limited_total{limit=\"payments\"}", 1);
    exactly("purser_paid_calls_total{outcome=\"rate_limited\"}", 1);
    exactly("purser_admission_in_flight", 0);
    let open = |state: &str| {
        page.value(&format!(
            "purser_outbox_jobs{{job_type=\"watch_payment\",state=\"{state}\"}}"
        ))
    };
    assert!(open("running") + open("scheduled") == 1.into());
    for oldest in [
        "purser_outbox_oldest_job_age_seconds{job_type=\"issue_card\",state=\"dead_letter\"}",
        "purser_outbox_oldest_job_age_seconds{job_type=\"watch_payment\",state=\"pending\"}",
        "purser_payments_unknown_oldest_age_seconds",
    ] {
        assert!(page.value(oldest) > 0.into(), "{oldest}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_and_public_addresses_share_no_route() {
    // Checks: No route of the operator address is reachable on the public one, or the other way round. Without the
    // setting there is no operator address.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for method in ["GET", "POST", "HEAD"] {
        assert_eq!(
            send(site.request(method, "/metrics")).await.unwrap().status,
            404,
            "{method}"
        );
    }
    for path in [
        "/healthz",
        "/get-card?amount=5",
        "/openapi.json",
        "/sandbox",
        "/metrics/",
        "/admin",
    ] {
        let answer = send_to_operator(client().get(service.operator_url(path)))
            .await
            .unwrap();
        assert_eq!((answer.status, answer.code()), (404, "route_not_found"), "{path}");
    }
    // Web pages cannot reach it, whatever host name they use for this machine.
    let metrics = || client().get(service.operator_url("/metrics"));
    let answer = send_to_operator(metrics().header("origin", "https://page.example"))
        .await
        .unwrap();
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (200, None)
    );
    let answer = send_to_operator(metrics().header("host", "page.example:8403"))
        .await
        .unwrap();
    assert_eq!((answer.status, answer.code()), (421, "host_not_allowed"));
    let preflight = client().request(reqwest::Method::OPTIONS, service.operator_url("/metrics"));
    let answer = send_to_operator(preflight).await.unwrap();
    assert_eq!(
        (answer.status, answer.header("access-control-allow-methods")),
        (405, None)
    );
    drop(site);
    service.stop();
    let silent = Host::new().with("PURSER_OPERATOR__LISTEN", "");
    let service = silent.start();
    assert_eq!(service.operator, None);
    assert_eq!(ServiceClient::of(&service).get("/healthz", &[]).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_is_documented() {
    // Checks: docs/metrics.md lists every metric with its kind and labels, and no other.
    let host = Host::new();
    let service = host.start();
    // A route that was never requested has no sample, so the page lacks its labels.
    assert_eq!(ServiceClient::of(&service).get("/version", &[]).await.status, 200);
    let (text, page) = scrape(&service).await;
    let document = include_str!("../../docs/metrics.md");
    // A test on real chains covers the rest.
    let (document, _) = document.split_once("\n## On the real chains").unwrap();
    let mut documented = BTreeMap::new();
    for row in document.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').to_owned();
        assert!(!cells[4].is_empty(), "{name} is not explained");
        let first = text.lines().find(|line| line.starts_with(&name)).unwrap_or_default();
        let labels: Vec<&str> = first
            .split(['{', ',', '}'])
            .filter_map(|part| part.split_once("=\"").map(|(label, _)| label))
            .filter(|label| *label != "le")
            .collect();
        let listed: Vec<&str> = cells[3]
            .split(", ")
            .map(|l| l.trim_matches('`'))
            .filter(|l| !l.is_empty())
            .collect();
        assert_eq!(listed, labels, "labels of {name}");
        documented.insert(name, cells[2].to_owned());
    }
    assert_eq!(documented, page.kinds);
}
