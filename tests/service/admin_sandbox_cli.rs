//! Sandbox controls of an operator, on the command line.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::StreamExt as _;
use purser::http::sandbox::remote_guard::CONTROLLED_PROVIDERS;
use purser_actors::id::Network;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::admin::admin;
use super::agent::Agent;
use super::api_keys::listening;
use super::cards::wait_for_card_status;
use super::host::{Host, Service};
use super::http::{ServiceClient, client, send, until};
use super::mpp;
use super::owner::{Owner, wait_for_kyc_status};
use super::remote_provider::Provider;

const CARD: &str = "/get-card?amount=5";

fn sandbox_command(host: &Host, service: &Service, line: &str) -> Value {
    let words: Vec<&str> = ["sandbox", "--service", &service.url]
        .into_iter()
        .chain(line.split(' '))
        .collect();
    admin(host, service, &words, "").unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_clock_advances_and_expires_due_items() {
    // Checks: After seven years the card, the old token and its stream have expired. Wallets on the real clock still
    // buy by x402 on both chains and by MPP, and sign in. A challenge is still good for one payment. The clock keeps
    // its time over a kill and never goes back, and the ledger balances.
    let host = Host::new().with("PURSER_STREAM__PING_INTERVAL_MS", "2000");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, CARD).await;
    let old = bought.body["auth"]["id_token"].as_str().unwrap();
    wait_for_card_status(&site, old, bought.card(), "ready").await;
    assert_eq!(sandbox_command(&host, &service, "clock")["offset_seconds"], 0);
    let mut stream = listening(&site, old).await;
    let years = 7 * 366 * 86_400;
    let moved = sandbox_command(&host, &service, "advance-clock 2562d");
    assert_eq!(moved["offset_seconds"], json!(years), "{moved}");
    assert_eq!(site.get_as(old, "/get-account-balance").await.code(), "token_expired");
    let closed = loop {
        if let Message::Close(Some(frame)) = stream.next().await.unwrap().unwrap() {
            break u16::from(frame.code);
        }
    };
    assert_eq!(closed, 4001);
    let token = agent.token(&site).await;
    wait_for_card_status(&site, &token, bought.card(), "expired").await;
    site.wait_for_events(&token, &["card.expired ready"]).await;
    for network in Network::ALL {
        let bought = Agent::new(network).buy(&site, CARD).await;
        let token = bought.body["auth"]["id_token"].as_str().unwrap();
        wait_for_card_status(&site, token, bought.card(), "ready").await;
    }
    let challenged = site.get(CARD, &[]).await;
    let (first, second) = (Agent::new(Network::Base), Agent::new(Network::Base));
    let paid = mpp::pay(&site, CARD, &first.credential(&challenged)).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    // Long enough for expired entries to be purged. The challenge must not be one of them.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let again = mpp::pay(&site, CARD, &second.credential(&challenged)).await;
    assert_eq!((again.status, again.code()), (409, "challenge_already_used"));
    for (body, code) in [
        (json!({"advance_seconds": 0}), "parameter_invalid"),
        (json!({"advance_seconds": 20 * 366 * 86_400_u64}), "parameter_invalid"),
        (json!({"advance_seconds": -5}), "parameter_invalid"),
        (json!({}), "parameter_missing"),
    ] {
        let refused = site.post("/sandbox/time", &body).await;
        assert_eq!((refused.status, refused.code()), (400, code), "{body}");
    }
    drop(site);
    service.kill();
    let service = host.start();
    assert_eq!(
        sandbox_command(&host, &service, "clock")["offset_seconds"],
        json!(years)
    );
    let site = ServiceClient::of(&service);
    assert_eq!(site.get_as(&token, "/get-account-balance").await.status, 200);
    drop(site);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_clock_is_not_advanced_for_a_remote_provider() {
    // Checks: With a provider in another process, which has its own clock, the sandbox rejects a time change and moves
    // nothing. The daily-cap error then doesn't suggest it.
    let host = Host::new().with("PURSER_CAPS__CARDS_PER_DAY", "1");
    let secret = host.sibling_path("merchants.token");
    std::fs::write(&secret, "a-secret-of-at-least-32-characters-000").unwrap();
    let settings = host.sibling_path("more.toml");
    let path = secret.to_str().unwrap();
    let merchants = format!("[providers.merchants]\nurl = \"http://127.0.0.1:9\"\ntoken_file = \"{path}\"\n");
    std::fs::write(&settings, merchants).unwrap();
    let service = host.start_with(&["--config", settings.to_str().unwrap()]);
    let site = ServiceClient::of(&service);
    let refused = site.post("/sandbox/time", &json!({"advance_seconds": 60})).await;
    assert_eq!((refused.status, refused.code()), (409, "clock_not_adjustable"));
    assert_eq!(site.get("/sandbox/time", &[]).await.body["offset_seconds"], 0);
    let hint = with_caps(&site, &Agent::new(Network::Base)).await;
    assert!(hint.contains("midnight") && !hint.contains("advance"), "{hint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn controls_of_remote_providers_are_rejected() {
    // Checks: With every provider in another process, sandbox controls are rejected over HTTP and on the command line,
    // and the error names the setting. `purser serve-providers` accepts its own controls at its address. Chains are
    // always local, so their controls still work.
    let provider = Provider::start();
    let host = provider.host(&provider.url);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let clear = json!({"fault": "clear"});
    for &(path, setting, there) in CONTROLLED_PROVIDERS {
        let refused = site.post(path, &clear).await;
        assert_eq!((refused.status, refused.code()), (409, "provider_is_remote"), "{path}");
        assert!(
            refused.str("error").unwrap().contains(&format!("{setting}.url")),
            "{path}"
        );
        let response = client()
            .post(format!("{}{path}", provider.url))
            .json(&clear)
            .send()
            .await;
        // It answers 401 to any path that is not one of its sandbox controls.
        let known = response.unwrap().status() != 401;
        assert_eq!(known, there, "{path} at `purser serve-providers`");
    }
    let controlled: BTreeSet<&str> = CONTROLLED_PROVIDERS.iter().map(|(_, setting, _)| *setting).collect();
    let all = purser::config::Config::load(&purser::config::ConfigSources::default())
        .unwrap()
        .providers;
    let all: BTreeSet<&str> = all.all().iter().map(|(setting, _)| *setting).collect();
    assert_eq!(controlled, all, "every provider that can be remote");
    let words = ["sandbox", "--service", &service.url, "fault", "issuer", "decline"];
    let output = admin(&host, &service, &words, "").unwrap_err();
    assert!(output.contains("provider_is_remote"), "{output}");
    let there = ["sandbox", "--service", &provider.url, "fault", "bank", "clear"];
    admin(&host, &service, &there, "").unwrap();
    sandbox_command(&host, &service, "fault chain clear");
}

/// The hint of the error for a day's second card when the cap is one.
async fn with_caps(site: &ServiceClient<'_>, agent: &Agent) -> String {
    agent.buy(site, CARD).await;
    let payment = agent.payment(site, CARD).await;
    let refused = Agent::pay(site, CARD, &payment).await;
    assert_eq!(
        (refused.status, refused.code()),
        (403, "cap_exceeded"),
        "{}",
        refused.text
    );
    refused.str("hint").unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn cap_error_names_the_sandbox_clock_command() {
    // Checks: In the sandbox, the cap error names the command that starts the next day, and the command works.
    let host = Host::new().with("PURSER_CAPS__CARDS_PER_DAY", "1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let hint = with_caps(&site, &agent).await;
    let command = hint.split('`').nth(1).unwrap();
    sandbox_command(&host, &service, command.strip_prefix("purser admin sandbox ").unwrap());
    let payment = agent.payment(&site, CARD).await;
    let bought = Agent::pay(&site, CARD, &payment).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_declines_a_card_and_decides_an_identity_check() {
    // Checks: The next card is declined and its payer credited; the one after it is issued. A pending identity check is
    // decided without the person, by one signed callback of the provider. A check that is not pending is rejected.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let token = agent.token(&site).await;
    sandbox_command(&host, &service, "fault issuer decline");
    let declined = agent.buy(&site, CARD).await;
    wait_for_card_status(&site, &token, declined.card(), "failed").await;
    site.wait_for_events(&token, &["card.failed pending"]).await;
    until("the credit", async || {
        let balance = site.get_as(&token, "/get-account-balance").await;
        (balance.body["balance"].as_f64() > Some(4.9)).then_some(())
    })
    .await;
    let made = agent.buy(&site, CARD).await;
    wait_for_card_status(&site, &token, made.card(), "ready").await;

    let wallet = agent.address();
    let line = ["sandbox", "--service", &service.url, "identity", &wallet, "passed"];
    let none = admin(&host, &service, &line, "").unwrap_err();
    assert!(none.contains("identity_check_not_open"), "{none}");
    let owner = Owner::by_token(&site, &token).await;
    for (result, status) in [("failed", "rejected"), ("passed", "verified")] {
        let begun = owner.act(&site, "/account/identity", &json!({})).await;
        assert_eq!(begun.status, 200, "{}", begun.text);
        until("the check's page", async || {
            let account = owner.account(&site).await.body;
            account["identity"]["check_url"].is_string().then_some(())
        })
        .await;
        let decided = sandbox_command(&host, &service, &format!("identity {wallet} {result}"));
        assert_eq!(
            (&decided["wallet"], &decided["decided"]),
            (&json!(wallet), &json!(true))
        );
        wait_for_kyc_status(&site, &token, status).await;
        assert!(
            admin(&host, &service, &line, "")
                .unwrap_err()
                .contains("identity_check_not_open")
        );
    }
    let wrong = json!({"wallet": wallet, "passed": true, "reason": "under_age"});
    assert_eq!(
        site.post("/sandbox/identity-result", &wrong).await.code(),
        "parameter_invalid"
    );
    let strange = send(
        site.client
            .post(format!("{}/sandbox/identity-result", service.url))
            .body("[]"),
    )
    .await;
    assert_eq!(strange.unwrap().code(), "body_malformed");
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_controls_work_over_http_as_on_the_command_line() {
    // Checks: Over HTTP, without `purser admin`: a check that is not pending is rejected, or started on request. A
    // pending check is decided, and the clock moves on.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let passed = json!({"wallet": agent.address(), "passed": true});
    let none = site.post("/sandbox/identity-result", &passed).await;
    assert_eq!(
        (none.status, none.code()),
        (409, "identity_check_not_open"),
        "{}",
        none.text
    );
    Owner::by_token(&site, &token).await.check(&site).await;
    let decided = site.post("/sandbox/identity-result", &passed).await;
    assert_eq!(
        (decided.status, &decided.body["decided"]),
        (200, &json!(true)),
        "{}",
        decided.text
    );
    wait_for_kyc_status(&site, &token, "verified").await;
    let other = Agent::new(Network::Solana);
    let begins = json!({"wallet": other.address(), "passed": true, "begin": true});
    let decided = site.post("/sandbox/identity-result", &begins).await;
    assert_eq!(decided.status, 200, "{}", decided.text);
    wait_for_kyc_status(&site, &other.token(&site).await, "verified").await;
    let again = site.post("/sandbox/identity-result", &begins).await;
    assert_eq!(
        (again.status, again.code()),
        (409, "identity_check_not_open"),
        "it is verified already"
    );
    let moved = site.post("/sandbox/time", &json!({"advance_seconds": 60})).await;
    assert_eq!(
        (moved.status, &moved.body["offset_seconds"]),
        (200, &json!(60)),
        "{}",
        moved.text
    );
}
