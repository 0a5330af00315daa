//! One request, followed through the log by its id.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, until};

const CARD: &str = "/get-card?amount=5";

/// Log lines of a request.
fn lines(log: &str, request: &str) -> Vec<String> {
    log.lines()
        .filter(|line| line.contains(request))
        .map(str::to_owned)
        .collect()
}

/// Whether a line contains all these words.
fn any_line_contains(lines: &[String], words: &[&str]) -> bool {
    lines.iter().any(|line| words.iter().all(|word| line.contains(word)))
}

#[tokio::test(flavor = "multi_thread")]
async fn request_id_is_logged_from_edge_to_issuer() {
    // Checks: the log lines of the request, the claim, its commit, the settlement and the issuer have the request id of
    // the response. Lines of other requests do not. After a kill, the resumed job still logs it.
    let host = Host::new()
        .with("RUST_LOG", "info,purser=debug,purser_actors=debug")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "50")
        .with("PURSER_ENGINE__MAX_BACKOFF_MS", "200");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let unreachable = json!({"fault": "unreachable", "times": 1000});
    site.issuer_fault(unreachable.clone()).await;
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, CARD).await;
    let request = bought.header("request-id").unwrap().to_owned();
    let other = Agent::new(Network::Solana).buy(&site, CARD).await;
    let failing = ["issue_card", "a job is retried"];
    until("the issuer to fail", async || {
        any_line_contains(&lines(&host.logged(), &request), &failing).then_some(())
    })
    .await;
    drop(site);
    service.kill();

    let first = host.logged();
    let seen = lines(&first, &request);
    for words in [
        &["asked", "/get-card"][..],
        &["decided", "kind=\"account\"", "jobs=1"],
        &["durable", "kind=\"account\"", "seq="],
        &[
            "delivery",
            "work=\"settle_payment\"",
            "operation=\"submit\"",
            "answered=true",
        ],
        &["decided", "kind=\"payment\""],
        &["durable", "kind=\"payment\"", "seq="],
        &[
            "delivery",
            "work=\"issue_card\"",
            "operation=\"issue\"",
            "answered=false",
        ],
        &["WARN", "issue_card", "a job is retried"],
    ] {
        assert!(any_line_contains(&seen, words), "no line with {words:?} in {seen:#?}");
    }
    let stranger = other.header("request-id").unwrap();
    assert!(!any_line_contains(&seen, &[stranger]), "two requests share a line");

    let service = host.start();
    let site = ServiceClient::of(&service);
    site.issuer_fault(unreachable).await;
    let after = async || lines(&host.logged()[first.len()..], &request);
    until("the delivery after the restart", async || {
        any_line_contains(&after().await, &["issue_card"]).then_some(())
    })
    .await;
    drop(site);
    service.stop();
}
