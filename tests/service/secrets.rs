//! Secrets that only their owner may see, and only as the contract specifies.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use purser::payment::decode;
use purser::payment::decode::Payload;
use purser_actors::id::Network;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::metrics::scrape;

const CARD: &str = "/get-card?amount=5";

/// All secrets that one agent received, and all texts that must not contain them.
#[derive(Default)]
struct Visit {
    secrets: Vec<(&'static str, String)>,
    /// Secret until used, or public only on its chain: stored on disk, but never in a response.
    signed: Vec<String>,
    responses: Vec<String>,
}

impl Visit {
    fn secret(&mut self, name: &'static str, value: &Value) -> String {
        let text = value.as_str().unwrap_or_else(|| panic!("no {name}")).to_owned();
        assert!(text.len() >= 16, "{name} is too short to search for");
        self.secrets.push((name, text.clone()));
        text
    }

    fn record(&mut self, answer: Response) -> Response {
        self.responses.push(format!("{:?} {}", answer.headers, answer.text));
        answer
    }
}

async fn details(site: &ServiceClient<'_>, token: &str, card: &str) -> Value {
    until("the card", async || {
        let read = site.get_as(token, &format!("/get-card-data?card_id={card}")).await;
        read.body.get("card_details").cloned()
    })
    .await
}

/// One agent uses every route that shows or takes a secret.
async fn visit(site: &ServiceClient<'_>, network: Network) -> Visit {
    let mut visit = Visit::default();
    let agent = Agent::new(network);
    let payment = agent.payment(site, CARD).await;
    visit.signed.extend(signatures(&payment));
    let bought = Agent::pay(site, CARD, &payment).await;
    let token = visit.secret("id_token", &bought.body["auth"]["id_token"]);
    let refresh = visit.secret("refresh_token", &bought.body["auth"]["refresh_token"]);
    let body = json!({"grant_type": "refresh_token", "refresh_token": refresh});
    let next = site.post("/auth", &body).await;
    visit.secret("id_token", &next.body["id_token"]);
    let second = visit.secret("refresh_token", &next.body["refresh_token"]);
    let proof = agent.proof(site).await;
    let signed_in = site.get("/auth", &[("sign-in-with-x", &proof)]).await;
    visit.signed.push(proof);
    let own = visit.secret("id_token", &signed_in.body["auth"]["id_token"]);
    visit.secret("refresh_token", &signed_in.body["auth"]["refresh_token"]);
    let shown = details(site, &own, bought.card()).await;
    let number = visit.secret("card number", &shown["card_number"]);
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    visit.secret("card number", &json!(digits));
    let link = site.get_as(&own, "/get-auth-link").await;
    let url = link.str("auth_url").unwrap();
    let code = visit.secret("login code", &json!(url.split_once("code=").unwrap().1));
    // The page is for the bearer of the link: it posts the code that opened it.
    assert_eq!(site.get(&format!("/login?code={code}"), &[]).await.status, 200);
    let open = send(site.request("POST", "/login").body(format!("code={code}")))
        .await
        .unwrap();
    let cookie = open.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    visit.secret("cookie", &json!(cookie.split_once('=').unwrap().1));
    keyed(site, &mut visit, &cookie).await;

    // Errors of every request that carries a secret.
    let changed = refresh.replace("rt_", "rt-");
    visit.record(
        site.post(
            "/auth",
            &json!({"grant_type": "refresh_token", "refresh_token": changed}),
        )
        .await,
    );
    visit.record(
        site.post(
            "/auth",
            &json!({"grant_type": "refresh_token", "refresh_token": format!("{second}x")}),
        )
        .await,
    );
    visit.record(
        site.post("/auth", &json!({"grant_type": second, "refresh_token": 7}))
            .await,
    );
    visit.record(
        send(site.request("POST", "/login").body(format!("code={code}")))
            .await
            .unwrap(),
    );
    visit.record(site.get_as(&own, &format!("/events?after={token}")).await);
    visit.record(site.get_as(&format!("{own}x"), "/events").await);
    visit.record(site.get_as(&own, "/get-card-data").await);
    visit.record(site.get_as(&own, "/get-account-balance").await);
    visit.record(Agent::pay(site, CARD, &token).await);
    visit.record(site.get("/auth", &[("sign-in-with-x", &own)]).await);
    let events = site.events(&own, 0).await;
    assert!(events.iter().any(|e| e["type"] == "card.ready"));
    visit.responses.extend(events.iter().map(ToString::to_string));
    visit.responses.push(listen(site, &own).await);
    visit
}

/// An agent without a wallet signs up, receives a key and uses it.
async fn keyed(site: &ServiceClient<'_>, visit: &mut Visit, cookie: &str) {
    let signup = send(site.request("POST", "/signup")).await.unwrap();
    let token = visit.secret("claim token", &signup.body["claim_token"]);
    let (_, pass) = signup.str("claim_url").unwrap().split_once("signup=").unwrap();
    let yes = site.request("POST", "/claim").header("cookie", cookie);
    let yes = yes
        .header("origin", &site.service.url)
        .body(format!("signup={pass}&name=A"));
    assert_eq!(send(yes).await.unwrap().status, 303);
    let status = format!("/signup-status?claim_token={token}");
    let claimed = site.get(&status, &[]).await;
    let key = visit.secret("API key", &claimed.body["api_key"]);
    let exchange = site
        .request("POST", "/agentAuth")
        .bearer_auth(&key)
        .body(r#"{"data": {}}"#);
    let entered = send(exchange).await.unwrap();
    let own = visit.secret("id_token", &entered.body["result"]["idToken"]);
    visit.secret("refresh_token", &entered.body["result"]["refreshToken"]);
    visit.record(site.get(&status, &[]).await);
    visit.record(site.get(&format!("{status}x"), &[]).await);
    visit.record(site.get_as(&key, "/events").await);
    let wrong = json!({"data": {"apiKey": format!("{key}x")}});
    visit.record(site.post("/agentAuth", &wrong).await);
    let list = site.request("POST", "/listAgentApiKeys").bearer_auth(&own);
    visit.record(send(list.body(r#"{"data": {}}"#)).await.unwrap());
    for page in ["/account", "/login"] {
        visit.record(site.get(page, &[("cookie", cookie)]).await);
    }
}

/// The payment as sent, and its signature.
fn signatures(payment: &str) -> Vec<String> {
    let signature = match decode(payment.as_bytes()).unwrap().payload {
        Payload::Evm(evm) => evm.signature.trim_start_matches("0x").to_owned(),
        Payload::Solana(wire) => STANDARD.encode(&wire),
        Payload::Unsupported(kind) => panic!("{kind}"),
    };
    vec![payment.to_owned(), signature]
}

/// Payments with every fault of the sandbox, and one whose service is killed meanwhile.
async fn error_responses(site: &ServiceClient<'_>) -> Vec<String> {
    let mut signed = Vec::new();
    for amount in ["6.66", "8.88", "9.99", "13.01", "13.02", "13.04", "13.05", "13.07"] {
        let path = format!("/get-card?amount={amount}");
        let payment = Agent::new(Network::Base).payment(site, &path).await;
        signed.extend(signatures(&payment));
        Agent::pay(site, &path, &payment).await;
    }
    let fault = json!({"fault": "malformed_response", "times": 2});
    site.issuer_fault(fault).await;
    let payment = Agent::new(Network::Solana).payment(site, CARD).await;
    signed.extend(signatures(&payment));
    Agent::pay(site, CARD, &payment).await;
    // The last character of a valid signature is changed: the error names the field without repeating its value.
    let forged = format!("{}AAAA", &payment[..payment.len() - 4]);
    Agent::pay(site, CARD, &forged).await;
    signed.push(forged);
    signed
}

/// The first event of the stream, with the token in a message.
async fn listen(site: &ServiceClient<'_>, token: &str) -> String {
    let url = format!("ws://{}/stream", site.service.authority());
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    for frame in [
        json!({"type": "auth", "token": token}),
        json!({"type": "subscribe", "after": 0}),
    ] {
        socket.send(Message::text(frame.to_string())).await.unwrap();
    }
    loop {
        let frame = socket.next().await.unwrap().unwrap().into_text().unwrap();
        if frame.contains("\"event\"") {
            return frame.to_string();
        }
    }
}

pub(crate) fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

pub(crate) fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn case_70_no_secret_leaks_or_is_stored_in_clear() {
    // Checks: at the most verbose log level, through purchases, sign-ins, errors, a stream, faults of chains and
    // issuers, a kill, a restart and a stop. No card number, token, code, cookie or key is in a log line, metric,
    // event, error or file of the data directory. Signatures are only in the files.
    let host = Host::new().with("RUST_LOG", "trace");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let mut visits = Vec::new();
    for network in Network::ALL {
        visits.push(visit(&site, network).await);
    }
    let mut signed = error_responses(&site).await;
    signed.extend(visits.iter().flat_map(|visit| visit.signed.iter().cloned()));
    let mut responses = vec![scrape(&service).await.0];
    drop(site);
    service.kill();
    let service = host.start();
    responses.push(scrape(&service).await.0);
    service.stop();
    responses.extend(visits.iter_mut().flat_map(|visit| std::mem::take(&mut visit.responses)));
    let log = host.logged();
    assert!(log.contains("TRACE") && log.contains("get-card"), "the log is empty");
    let verified = host.run(&["verify"]);
    let mut stored = Vec::new();
    files(&host.data(), &mut stored);
    let (keys, stored): (Vec<_>, Vec<_>) = stored.into_iter().partition(|(name, _)| name.ends_with(".keys"));
    assert!(keys.len() == 2 && stored.len() > 3, "{}", stored.len());
    let mut secrets: Vec<(&str, String)> = Vec::new();
    for (_, bytes) in &keys {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let words = text
            .split_whitespace()
            .filter(|word| word.len() >= 43)
            .map(str::to_owned);
        secrets.extend(words.map(|word| ("key", word)));
    }
    assert!(secrets.len() >= 2, "no key was recognised in the key files");
    for visit in &visits {
        secrets.extend(visit.secrets.iter().cloned());
    }
    for (name, secret) in &secrets {
        assert!(!log.contains(secret.as_str()), "a log line holds a {name}");
        assert!(!contains(&verified.stdout, secret), "verify prints a {name}");
        for response in &responses {
            assert!(!response.contains(secret.as_str()), "a {name} in {response}");
        }
        for (file, bytes) in &stored {
            assert!(!contains(bytes, secret), "{file} holds a {name} in clear");
        }
    }
    for text in responses.iter().chain([&log]) {
        for signature in &signed {
            assert!(
                !text.contains(signature.as_str()),
                "a response shows a signature: {signature}"
            );
        }
        // Matched as a whole word: a random base58 address may contain the three letters, and so does the job `shred_cvv`.
        let lower = text.to_ascii_lowercase();
        let is_word = |at: &usize| {
            let (before, after) = (lower[..*at].chars().next_back(), lower[at + 3..].chars().next());
            ![before, after]
                .into_iter()
                .flatten()
                .any(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let at = lower.match_indices("cvv").map(|(at, _)| at).find(is_word);
        let about = at.map(|at| text[at.saturating_sub(200)..].chars().take(400).collect::<String>());
        assert_eq!(about, None, "a CVV is mentioned");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_72_card_details_are_shown_to_the_owner_when_ready() {
    // Checks: pending: no details. Ready: details for the owner only, never cached, with an event recorded before they
    // are shown, and not in the list. Control characters and markup in our text are escaped.
    let host = Host::new().with("PURSER_SANDBOX__CARD_ISSUE_DELAY_MS", "1500");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let bought = agent.buy(&site, CARD).await;
    let token = agent.token(&site).await;
    let path = format!("/get-card-data?card_id={}", bought.card());
    let early = site.get_as(&token, &path).await;
    assert_eq!(early.status, 200);
    assert_eq!(
        early.body.get("card_details").is_none(),
        early.str("status") == Some("pending"),
        "{}",
        early.text
    );
    let viewed = async || {
        let events = site.events(&token, 0).await;
        events.iter().filter(|e| e["type"] == "card.details_viewed").count()
    };
    let before = viewed().await;
    let quiet = format!("{path}&details=false");
    until("the card", async || {
        let list = site.get_as(&token, "/get-card-data").await;
        (list.body["cards"][0]["status"] == "ready").then_some(())
    })
    .await;
    let without = site.get_as(&token, &quiet).await;
    assert_eq!((without.status, without.str("status")), (200, Some("ready")));
    assert!(without.body.get("card_details").is_none(), "{}", without.text);
    assert_eq!(viewed().await, before, "nothing was shown");
    let shown = site.get_as(&token, &path).await;
    assert_eq!(shown.header("cache-control"), Some("private, no-store"));
    let number = shown.body["card_details"]["card_number"].as_str().unwrap().to_owned();
    assert!(shown.body["card_details"]["cvv"].is_string());
    assert_eq!(viewed().await, before + 1);
    let list = site.get_as(&token, "/get-card-data").await;
    assert!(!list.text.contains(&number) && !list.text.contains("card_details") && !list.text.contains("cvv"));
    let stranger = Agent::new(Network::Base).token(&site).await;
    let refused = site.get_as(&stranger, &path).await;
    assert!(refused.status == 403 && !refused.text.contains(&number));
    assert_eq!(viewed().await, before + 1, "a refusal is no view");

    let echoed = site.get("/get-card?%C2%9B31m%E2%80%AE%3Cb%3E=1", &[]).await;
    assert_eq!(echoed.status, 400);
    assert!(
        !echoed.text.contains(['\u{9b}', '\u{202e}', '<']),
        "{}",
        echoed.text.escape_debug()
    );

    let nasty = "\u{1b}[2J<script>alert(1)</script>\u{202e}\r\nX-Evil: 1";
    site.freeze(&agent.address(), Some(nasty)).await;
    let frozen = site.get_as(&token, &path).await;
    assert_eq!((frozen.status, frozen.header("x-evil")), (403, None));
    assert!(frozen.header("content-type").unwrap().contains("json"));
    assert!(
        !frozen.text.chars().any(|c| c.is_control() || c == '\u{202e}'),
        "{}",
        frozen.text.escape_debug()
    );
    drop(site);
    service.stop();
    assert!(!host.logged().contains('\u{202e}') && !host.logged().contains("\u{1b}[2J"));
}
