//! Developer commands next to the service: `purser listen --forward-to` and `purser trigger`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use super::host::Host;
use super::http::{ServiceClient, until};
use super::receiver::Receiver;
use super::webhooks::signed;

const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn purser(wallet: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_purser"));
    command.args(arguments).env_clear().env("PURSER_WALLET", wallet);
    command.stdin(Stdio::null());
    command
}

fn triggers(wallet: &Path, url: &str, event: &str) -> Output {
    purser(wallet, &["trigger", event, "--url", url]).output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_forwarded_like_webhooks() {
    // Checks: A trigger makes its event happen for real. Each requested event reaches the developer's URL once, with
    // the bytes a webhook endpoint would get, whether or not it answers, and although it closes its connections. An
    // unknown name lists the known ones.
    let (host, receiver) = (Host::new(), Receiver::open().await);
    let service = host.start();
    let (wallet, target) = (host.sibling_path("wallet.json"), receiver.url("/stale"));
    let listen = ["listen", &service.url, "--after", "0", "--types", "card.*,account.*"];
    let forward = ["--forward-to", &target, "--secret", SECRET];
    let child = purser(&wallet, &[&listen[..], &forward[..]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _listening = Listening(child);
    for event in ["card.ready", "account.frozen"] {
        let ran = triggers(&wallet, &service.url, event);
        assert!(
            ran.status.success(),
            "{event}: {}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
    let got = until("both are forwarded", async || {
        let got = receiver.at("/stale");
        let has = |kind: &str| got.iter().any(|got| got.kind() == kind);
        (has("card.ready") && has("account.unfrozen")).then_some(got)
    })
    .await;
    for one in &got {
        assert!(signed(one, SECRET), "{one:?}");
        assert_eq!(one.body()["id"], one.id.as_str());
        assert!(one.kind().starts_with("card.") || one.kind().starts_with("account."));
    }
    let mut ids: Vec<&str> = got.iter().map(|one| one.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), got.len(), "each once");
    let unknown = triggers(&wallet, &service.url, "card.lost");
    assert_eq!(unknown.status.code(), Some(2));
    let list = purser(&wallet, &["trigger"]).output().unwrap();
    assert!(
        String::from_utf8_lossy(&list.stdout)
            .lines()
            .any(|line| line == "payout.returned")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_trigger_causes_its_event() {
    // Checks: Each listed event happens for a new wallet by its command alone, except the test of an endpoint that
    // doesn't exist. Commands that need the bridge say so on Base.
    let host = Host::new();
    let service = host.start();
    let (site, wallet) = (ServiceClient::of(&service), host.sibling_path("wallet.json"));
    let list = purser(&wallet, &["trigger"]).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert_eq!(triggers(&wallet, &service.url, "top_up.failed").status.code(), Some(2));
    assert!(list.lines().count() > 10);
    for event in list.lines().filter(|event| *event != "webhook.test") {
        let network = if event == "top_up.failed" { "solana" } else { "base" };
        let run = |arguments: &[&str]| {
            let ran = purser(&wallet, &[arguments, &["--network", network]].concat())
                .output()
                .unwrap();
            assert!(
                ran.status.success(),
                "{event}: {}",
                String::from_utf8_lossy(&ran.stderr)
            );
            String::from_utf8(ran.stdout).unwrap()
        };
        run(&["trigger", event, "--url", &service.url]);
        let token = run(&["token", &service.url]);
        until(event, async || {
            let events = site.events(token.trim(), 0).await;
            events.iter().any(|one| one["type"] == event).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn printed_token_is_valid() {
    // Checks: The token saved next to the wallet is renewed if the service rejects it, even if it is still valid by
    // this machine's clock.
    let host = Host::new();
    let service = host.start();
    let (site, wallet) = (ServiceClient::of(&service), host.sibling_path("wallet.json"));
    let token = || {
        let ran = purser(&wallet, &["token", &service.url]).output().unwrap();
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    let first = token();
    assert_eq!(first, token(), "reused");
    let day = serde_json::json!({"advance_seconds": 86_400});
    assert_eq!(site.post("/sandbox/time", &day).await.status, 200);
    let second = token();
    assert_ne!(first, second);
    assert_eq!(site.get_as(&second, "/get-account-balance").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn client_finds_the_service_of_the_data_directory() {
    // Checks: Without an address, a token, a stream and a trigger use the service that last listened on the data
    // directory, at any address. The token is valid there.
    let host = Host::new();
    let service = host.start();
    let (wallet, data) = (host.sibling_path("wallet.json"), host.data());
    let data = data.to_str().unwrap();
    let signed_in = purser(&wallet, &["token", "--data", data]).output().unwrap();
    let printed_token = String::from_utf8_lossy(&signed_in.stdout).into_owned();
    assert!(signed_in.status.success(), "{signed_in:?}");
    let read = ServiceClient::of(&service)
        .get_as(printed_token.trim(), "/get-account-balance")
        .await;
    assert_eq!(read.status, 200, "{}", read.text);
    let triggered = purser(&wallet, &["trigger", "card.ready"])
        .env("PURSER_DATA_DIR", data)
        .output()
        .unwrap();
    assert!(triggered.status.success(), "{triggered:?}");
    let cards = ServiceClient::of(&service)
        .get_as(printed_token.trim(), "/get-card-data")
        .await;
    assert!(cards.text.contains("card_"), "{}", cards.text);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_output_pipe_ends_listening_quietly() {
    // Checks: As with `| head -1`, the reader closes the pipe after the first event. The next event ends the command
    // without an error.
    let host = Host::new();
    let service = host.start();
    let wallet = host.sibling_path("wallet.json");
    let bought = triggers(&wallet, &service.url, "card.ready");
    assert!(bought.status.success(), "{bought:?}");
    let mut listening = purser(&wallet, &["listen", &service.url, "--after", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(listening.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    assert!(!first.is_empty());
    let bought = triggers(&wallet, &service.url, "card.ready");
    assert!(bought.status.success(), "{bought:?}");
    let ended = listening.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(!stderr.contains("error"), "{stderr}");
    service.stop();
}
