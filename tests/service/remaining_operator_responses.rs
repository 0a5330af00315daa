//! Operator API responses that no other test covers.

use purser_actors::id::Network;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::agent::Agent;
use super::dead_letters::{host_with_short_retries, resolve, status_and_code, wait_for_dead_letter};
use super::host::Host;
use super::http::{ServiceClient, until};
use super::operator_client::OperatorClient;
use super::reloadable_cards::{loaded, post_with_key};
use super::stream_limits::CARD;
use super::top_up::start;

#[tokio::test(flavor = "multi_thread")]
async fn operator_token_of_settings_cannot_be_revoked() {
    // Checks: a token of the settings works and can only be removed there. An unknown token is not found.
    let hash = hex::encode(Sha256::digest("a token of the settings"));
    let tokens = format!("[{{ name = \"ana\", role = \"administrator\", sha256 = \"{hash}\" }}]");
    let host = Host::new().with("PURSER_OPERATOR__TOKENS", &tokens);
    let service = host.start();
    let operator = OperatorClient::of(&service, "a token of the settings");
    for (name, status, code) in [
        ("ana", 409, "operator_token_in_config"),
        ("unknown", 404, "operator_token_not_found"),
    ] {
        let response = operator.post("/admin/tokens/revoke", json!({"name": name})).await;
        assert_eq!(status_and_code(&response), (status, code));
    }
    assert_eq!(operator.get("/admin/tokens").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn withdrawal_unknown_to_the_issuer_is_not_paid() {
    // Checks: after the issuer lost its records, an operator who claims a withdrawal gets an error, because nothing is
    // held for it.
    let (host, service) = start();
    let (agent, token) = loaded(&ServiceClient::of(&service), Network::Base, 20).await;
    let withdrawal = json!({"amount": 10, "destination_address": agent.address()});
    let requested = post_with_key(
        &ServiceClient::of(&service),
        &token,
        "/withdraw-card-balance",
        None,
        &withdrawal,
    )
    .await;
    let id = json!({"withdrawal_id": requested.body["withdrawal"]["id"]});
    let operator = OperatorClient::first(&host, &service);
    until("it waits for an operator", async || {
        let queue = operator.get("/admin/card-withdrawals").await.body;
        (queue["withdrawals"].as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    service.stop();
    // The issuer's records, with those of the whole sandbox.
    std::fs::remove_dir_all(host.data().join("sandbox/sandbox.store")).unwrap();
    let service = host.start();
    let response = OperatorClient::first(&host, &service)
        .post("/admin/card-withdrawals/claim", id)
        .await;
    assert_eq!(
        status_and_code(&response),
        (409, "withdrawal_hold_missing"),
        "{}",
        response.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn job_in_progress_cannot_be_retried_or_resolved() {
    // Checks: while a retried job waits for the issuer, it cannot be retried or resolved.
    let host = host_with_short_retries();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    Agent::new(Network::Base).buy(&site, CARD).await.card();
    let dead_letter = wait_for_dead_letter(&operator, "issue_card").await;
    site.issuer_fault(json!({"fault": "clear"})).await;
    site.issuer_fault(json!({"fault": "slow", "delay_ms": 8_000, "times": 0}))
        .await;
    let again = json!({"job_id": dead_letter["job_id"]});
    operator.done("/admin/jobs/retry", again.clone()).await;
    for (path, body) in [
        ("/admin/jobs/retry", again),
        ("/admin/jobs/resolve", resolve(&dead_letter, "not_completed")),
    ] {
        assert_eq!(
            status_and_code(&operator.post(path, body).await),
            (409, "job_not_dead_lettered"),
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unexpired_payment_cannot_be_resolved_as_not_completed() {
    // Checks: a payment with an unknown outcome, on an unreachable chain, cannot be resolved as not completed until its
    // authorization has expired. When the chain is back, the chain decides.
    let host = Host::new()
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "300")
        .with("PURSER_ENGINE__RESPONSE_TIMEOUT_MS", "400");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    site.chain_fault(json!({"fault": "hold"})).await;
    assert_eq!(agent.buy(&site, CARD).await.status, 202);
    let doubt = until("it is in doubt", async || {
        operator.get("/admin/dead-letters").await.body["unknown_payments"]
            .get(0)
            .cloned()
    })
    .await;
    site.chain_fault(json!({"fault": "unreachable", "times": 0})).await;
    let response = operator
        .post("/admin/jobs/resolve", resolve(&doubt, "not_completed"))
        .await;
    assert_eq!(
        status_and_code(&response),
        (409, "payment_may_still_settle"),
        "{}",
        response.text
    );
    site.chain_fault(json!({"fault": "clear"})).await;
    let token = agent.token(&site).await;
    until("the card", async || {
        let cards = site.get_as(&token, "/get-card-data").await;
        (cards.body["cards"].as_array()?.len() == 1).then_some(())
    })
    .await;
    service.stop();
    host.assert_verified();
}
