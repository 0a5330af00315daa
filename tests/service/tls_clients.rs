//! Client commands against a service behind TLS.

use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;

use super::host::{Host, text};
use super::http::{ServiceClient, until};
use super::listener::Listener;
use super::tls::{Front, authority};

/// Runs a client command to its end.
async fn run(arguments: &[&str], wallet: &Path) -> Output {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_purser"));
    command
        .args(arguments)
        .arg("--wallet")
        .arg(wallet)
        .env_clear()
        .stdin(Stdio::null());
    command.output().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn client_commands_verify_tls_certificates() {
    // Checks: `pay`, `token`, `trigger` and `listen` work with an https:// certificate that the system or `--ca`
    // trusts, and sign nothing for an untrusted one. A file without a certificate is reported.
    let front = Front::new().await;
    let url = front.url.clone();
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", &url);
    let service = host.start_behind(&url);
    front.pass_on_to(service.authority());
    let (wallet, ca) = (host.sibling_path("wallet.json"), authority().display().to_string());
    let card = format!("{url}/get-card?amount=5");

    let stranger = run(&["pay", &card, "--json"], &wallet).await;
    assert_eq!(stranger.status.code(), Some(1), "{}", text(&stranger));
    assert!(text(&stranger).contains("cannot be reached"), "{}", text(&stranger));
    let empty = host.sibling_path("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let named = run(&["pay", &card, "--ca", &empty.display().to_string()], &wallet).await;
    assert!(text(&named).contains("no certificate"), "{}", text(&named));

    let bought = run(&["pay", &card, "--json", "--wait", "--ca", &ca], &wallet).await;
    assert!(bought.status.success(), "{}", text(&bought));
    let bought: Value = serde_json::from_slice(&bought.stdout).unwrap();
    assert_eq!(bought["status"], "ready", "{bought}");
    let token = run(&["token", &url, "--ca", &ca], &wallet).await;
    assert!(token.status.success(), "{}", text(&token));
    let token = String::from_utf8(token.stdout).unwrap();
    let site = ServiceClient::of(&service);
    assert_eq!(site.get_as(token.trim(), "/get-account-balance").await.status, 200);

    let listener = Listener::start(&url, &wallet, &["--ca", &ca, "--after", "0", "--types", "card.ready"]);
    until("the card over TLS", async || {
        (listener.events().len() == 1).then_some(())
    })
    .await;
    let triggered = run(&["trigger", "card.ready", "--url", &url, "--ca", &ca], &wallet).await;
    assert!(triggered.status.success(), "{}", text(&triggered));
    until("the next card", async || (listener.events().len() == 2).then_some(())).await;
}
