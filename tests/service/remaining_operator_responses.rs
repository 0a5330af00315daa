//! Answers at the operator's address that no other test has a reason to bring about.

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
async fn a_token_ends_where_it_stands() {
    // Aim: one of the settings ends in the settings, and works until then; one that nobody has is not found.
    let hash = hex::encode(Sha256::digest("a token of the settings"));
    let tokens = format!("[{{ name = \"ana\", role = \"administrator\", sha256 = \"{hash}\" }}]");
    let host = Host::new().with("PURSER_OPERATOR__TOKENS", &tokens);
    let service = host.start();
    let desk = OperatorClient::of(&service, "a token of the settings");
    for (name, status, code) in [
        ("ana", 409, "operator_token_in_config"),
        ("nobody", 404, "operator_token_not_found"),
    ] {
        let told = desk.post("/admin/tokens/revoke", json!({"name": name})).await;
        assert_eq!(status_and_code(&told), (status, code));
    }
    assert_eq!(desk.get("/admin/tokens").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_issuer_knows_nothing_of_is_not_paid() {
    // Aim: the issuer has lost its books: an operator who claims a withdrawal is told that nothing is set aside for it, so
    // that nobody pays it.
    let (host, service) = start();
    let (agent, token) = loaded(&ServiceClient::of(&service), Network::Base, 20).await;
    let wanted = json!({"amount": 10, "destination_address": agent.address()});
    let asked = post_with_key(
        &ServiceClient::of(&service),
        &token,
        "/withdraw-card-balance",
        None,
        &wanted,
    )
    .await;
    let id = json!({"withdrawal_id": asked.body["withdrawal"]["id"]});
    let desk = OperatorClient::first(&host, &service);
    until("it waits for an operator", async || {
        let queue = desk.get("/admin/card-withdrawals").await.body;
        (queue["withdrawals"].as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    service.stop();
    // Its file, and the folder of the file's index.
    let books = host.data().join("sandbox/issuer.program");
    std::fs::remove_file(&books).unwrap();
    for file in std::fs::read_dir(host.data().join("sandbox"))
        .unwrap()
        .map(Result::unwrap)
    {
        if file.file_name().to_str().unwrap().starts_with("issuer.program.") {
            std::fs::remove_dir_all(file.path()).unwrap();
        }
    }
    let service = host.start();
    let told = OperatorClient::first(&host, &service)
        .post("/admin/card-withdrawals/claim", id)
        .await;
    assert_eq!(
        status_and_code(&told),
        (409, "withdrawal_hold_missing"),
        "{}",
        told.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nobodys_word_is_taken_for_work_that_is_under_way() {
    // Aim: what an operator has tried again and the issuer has not answered yet is neither tried nor decided meanwhile.
    let host = host_with_short_retries();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let desk = OperatorClient::first(&host, &service);
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    Agent::new(Network::Base).buy(&site, CARD).await.card();
    let effect = wait_for_dead_letter(&desk, "issue_card").await;
    site.issuer_fault(json!({"fault": "clear"})).await;
    site.issuer_fault(json!({"fault": "slow", "delay_ms": 8_000, "times": 0}))
        .await;
    let again = json!({"job_id": effect["job_id"]});
    desk.done("/admin/jobs/retry", again.clone()).await;
    for (path, body) in [
        ("/admin/jobs/retry", again),
        ("/admin/jobs/resolve", resolve(&effect, "not_completed")),
    ] {
        assert_eq!(
            status_and_code(&desk.post(path, body).await),
            (409, "job_not_dead_lettered"),
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_says_of_a_living_signature_that_it_never_lands() {
    // Aim: a payment in doubt on a chain that nobody reaches: until its signature is dead, that it did not land is nobody's to
    // say; when the chain is back it is what the chain shows.
    let host = Host::new()
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "300")
        .with("PURSER_ENGINE__RESPONSE_TIMEOUT_MS", "400");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let desk = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    site.chain_fault(json!({"fault": "hold"})).await;
    assert_eq!(agent.buy(&site, CARD).await.status, 202);
    let doubt = until("it is in doubt", async || {
        desk.get("/admin/dead-letters").await.body["unknown_payments"]
            .get(0)
            .cloned()
    })
    .await;
    site.chain_fault(json!({"fault": "unreachable", "times": 0})).await;
    let told = desk.post("/admin/jobs/resolve", resolve(&doubt, "not_completed")).await;
    assert_eq!(
        status_and_code(&told),
        (409, "payment_may_still_settle"),
        "{}",
        told.text
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
