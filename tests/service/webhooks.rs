//! Webhook events.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use purser_actors::id::Network;
use serde_json::{Value, json};
use sha2::Sha256;

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::receiver::{ReceivedMessage, Receiver};

/// A host that posts to this machine, with short delays.
pub(crate) fn listening() -> Host {
    Host::new()
        .with("PURSER_OUTBOUND__ALLOWED_HOSTS", r#"["127.0.0.1:*"]"#)
        .with(
            "PURSER_WEBHOOKS__RETRY_SCHEDULE_SECONDS",
            "[0, 1, 1, 1, 1, 1, 1, 1, 1, 1]",
        )
        .with("PURSER_WEBHOOKS__ATTEMPT_TIMEOUT_MS", "2000")
}

pub(crate) async fn post(
    site: &ServiceClient<'_>,
    token: &str,
    path: &str,
    key: Option<&str>,
    body: &Value,
) -> Response {
    let request = site.request("POST", path).bearer_auth(token).body(body.to_string());
    let request = match key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    };
    send(request).await.unwrap()
}

/// Returns its id and its secret.
pub(crate) async fn register(site: &ServiceClient<'_>, token: &str, url: &str, types: &[&str]) -> (String, String) {
    let made = post(
        site,
        token,
        "/register-webhook",
        None,
        &json!({"url": url, "types": types}),
    )
    .await;
    assert_eq!(made.status, 200, "{}", made.text);
    let text = |name: &str| made.body[name].as_str().unwrap().to_owned();
    (text("webhook_id"), text("secret"))
}

/// Verifies the signature with code that is independent of the service.
pub(crate) fn signed(got: &ReceivedMessage, secret: &str) -> bool {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{}.{}.{}", got.id, got.timestamp, got.text).as_bytes());
    let tag = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    got.signature.split(' ').any(|one| one == tag)
}

pub(crate) async fn arrives(receiver: &Receiver, path: &str, count: usize) -> Vec<ReceivedMessage> {
    until("it arrives", async || {
        let got = receiver.at(path);
        (got.len() >= count).then_some(got)
    })
    .await
}

/// The first delivery of an endpoint, once it has this status, if any, and this many attempts.
pub(crate) async fn delivery(site: &ServiceClient<'_>, token: &str, endpoint: &str, state: &str, tries: u64) -> Value {
    let path = format!("/webhook-deliveries?webhook_id={endpoint}");
    until("a delivery comes to something", async || {
        let page = site.get_as(token, &path).await.body;
        let one = page["deliveries"].as_array()?.last()?.clone();
        let reached = (state.is_empty() || one["status"] == state) && one["attempt_count"].as_u64()? >= tries;
        reached.then_some(one)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_events_are_signed_and_match_the_stream() {
    // Checks: the endpoint receives the test message first, then the events of its types after a purchase. Each body
    // equals an event of `GET /events` byte for byte and is signed with the registered secret. The secret is in clear
    // in no log, store or other response.
    let (host, receiver) = (listening(), Receiver::open().await);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let (id, secret) = register(&site, &token, &receiver.url("/ok"), &["card.*"]).await;
    arrives(&receiver, "/ok", 1).await;
    agent.buy(&site, "/get-card?amount=5").await;
    let got = until("the card.ready event", async || {
        let got = receiver.at("/ok");
        got.iter().any(|got| got.kind() == "card.ready").then_some(got)
    })
    .await;
    assert_eq!(got[0].kind(), "webhook.test");
    site.wait_for_events(&token, &["webhook.registered"]).await;
    let events = site.events(&token, 0).await;
    for got in &got {
        assert!(signed(got, &secret), "{got:?}");
        let event = events.iter().find(|event| event["id"] == got.id.as_str()).unwrap();
        assert_eq!(got.body(), *event);
        assert!(got.kind() == "webhook.test" || got.kind().starts_with("card."));
    }
    let page = site
        .get_as(&token, &format!("/webhook-deliveries?webhook_id={id}&status=delivered"))
        .await;
    let attempt = &page.body["deliveries"][0]["attempts"][0];
    assert_eq!(
        (&attempt["status"], &attempt["response_excerpt"]),
        (&json!(200), &json!("no"))
    );
    let named = site.get_as(&token, &format!("/get-webhook?webhook_id={id}")).await.body;
    assert_eq!(
        named["webhook"]["webhook_id"],
        json!(id),
        "as it was registered: {named}"
    );
    assert!(page.body["deliveries"][0]["delivery_id"].is_string(), "{}", page.text);
    let key = secret.strip_prefix("whsec_").unwrap();
    let texts = [
        site.get_as(&token, "/get-webhook").await.text,
        page.text,
        Value::from(site.events(&token, 0).await).to_string(),
        host.logged(),
    ];
    assert!(
        texts.iter().all(|text| !text.contains(key)),
        "a response or log line has the secret"
    );
    service.stop();
    host.assert_verified();
    let raw = STANDARD.decode(key).unwrap();
    for file in files_under(&host.data()) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let found = bytes.windows(raw.len()).any(|w| w == raw) || bytes.windows(key.len()).any(|w| w == key.as_bytes());
        assert!(!found, "case 70: {} has a secret in clear", file.display());
    }
}

fn files_under(root: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => files_under(&path),
            path => vec![path],
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_59_internal_address_is_never_registered_or_posted_to() {
    // Checks: every form of an internal address is rejected at registration. An address that was allowlisted at
    // registration receives nothing after its removal. Redirects to internal addresses are not followed.
    let (mut host, receiver) = (listening(), Receiver::open().await);
    // Only this receiver is allowed; all other ports of this machine count as internal.
    let own = receiver.url("").trim_start_matches("http://").to_owned();
    host.set("PURSER_OUTBOUND__ALLOWED_HOSTS", &format!("[\"{own}\"]"));
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    for url in [
        "http://localhost/hook",
        "http://127.1/",
        "http://2130706433/",
        "http://017700000001/",
        "http://0x7f000001/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://printer.local/",
        "https://user:word@hooks.unknown.example/",
        "https://hooks.unknown.example:8443/",
        "ftp://hooks.unknown.example/",
        "no url",
    ] {
        let refused = post(&site, &token, "/register-webhook", None, &json!({"url": url})).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "webhook_url_not_allowed"),
            "{url}"
        );
    }
    let none = site.get_as(&token, "/get-webhook").await;
    assert_eq!(none.body, json!({"webhooks": []}));
    let (moved, _) = register(&site, &token, &receiver.url("/302"), &["refund.*"]).await;
    let tried = delivery(&site, &token, &moved, "", 1).await;
    assert_eq!(tried["attempts"][0]["error"], "redirects are not followed");
    assert!(receiver.at("/inside").is_empty());
    let (id, _) = register(&site, &token, &receiver.url("/ok"), &["refund.*"]).await;
    let first = delivery(&site, &token, &id, "delivered", 1).await;
    service.stop();

    host.set("PURSER_OUTBOUND__ALLOWED_HOSTS", "[]");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let again = json!({"delivery_id": first["delivery_id"]});
    let redelivery = post(&site, &token, "/redeliver-webhook", None, &again).await;
    assert_eq!(redelivery.status, 202, "{}", redelivery.text);
    let tried = delivery(&site, &token, &id, "", 2).await;
    assert_eq!(tried["attempts"][1]["error"], "its port is not allowed");
    assert_eq!(receiver.at("/ok").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_60_every_receiver_behavior_is_bounded() {
    // Checks: each behavior ends as one attempt with its reason, within the timeout. The status counts as soon as it
    // arrives. Other endpoints are not delayed. A stored response excerpt has no long numbers.
    let (host, receiver) = (listening(), Receiver::open().await);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let mut endpoints = Vec::new();
    for (path, state, error, excerpt) in [
        ("/hang", "", json!("no answer in time"), json!(null)),
        ("/drip", "", json!("no answer in time"), json!(null)),
        ("/reset", "", json!("the connection broke off"), json!(null)),
        ("/302", "", json!("redirects are not followed"), json!("no")),
        ("/429", "", json!("not a 2xx status"), json!("no")),
        ("/500", "", json!("not a 2xx status"), json!("card [hidden] no")),
        ("/410", "failed", json!("gone: the endpoint is disabled"), json!("no")),
        ("/drip-ok", "delivered", json!(null), json!("x")),
        ("/flood", "delivered", json!(null), json!("[hidden]")),
        ("/ok", "delivered", json!(null), json!("no")),
    ] {
        let (id, _) = register(&site, &token, &receiver.url(path), &["refund.*"]).await;
        endpoints.push((path, id, state, error, excerpt));
    }
    for (path, id, state, error, excerpt) in endpoints {
        let tried = delivery(&site, &token, &id, state, 1).await;
        let first = &tried["attempts"][0];
        assert_eq!(first["error"], error, "{path}: {tried}");
        if path != "/drip-ok" {
            assert_eq!(first["response_excerpt"], excerpt, "{path}: {tried}");
        }
        let took = first["duration_ms"].as_u64().unwrap();
        assert!(took < 20_000, "{path} took {took} ms");
    }
    let gone = site.get_as(&token, "/get-webhook").await.body;
    let gone = gone["webhooks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["status"] == "disabled")
        .cloned();
    let gone = gone.unwrap();
    assert_eq!(
        (&gone["disabled_reason"], gone["url"].as_str()),
        (&json!("gone"), Some(&*receiver.url("/410")))
    );
    site.wait_for_events(&token, &["webhook.disabled active"]).await;
    let since = json!({"webhook_id": gone["webhook_id"], "since": "2026-11-20T00:00:00Z"});
    let refused = post(&site, &token, "/redeliver-webhook", None, &since).await;
    assert_eq!((refused.status, refused.code()), (409, "webhook_disabled"));
    arrives(&receiver, "/500", 3).await;
    let got = receiver.at("/500");
    assert!(got.iter().all(|one| (&one.id, &one.text) == (&got[0].id, &got[0].text)));
    assert!(
        got.windows(2).all(|two| two[0].timestamp < two[1].timestamp),
        "signed anew each time"
    );
    let late = arrives(&receiver, "/429", 2).await;
    let seconds = |got: &ReceivedMessage| got.timestamp.parse::<u64>().unwrap();
    assert!(seconds(&late[1]) >= seconds(&late[0]) + 3, "Retry-After is honoured");
}

/// Waits until every delivery is recorded as delivered: a delivery that a kill leaves open is posted again.
async fn stored_secrets(site: &ServiceClient<'_>, token: &str, path: &str) {
    until("all deliveries to be recorded", async || {
        let page = site.get_as(token, path).await.body;
        let mut states = page["deliveries"].as_array()?.iter().map(|one| &one["status"]);
        states.all(|state| state == "delivered").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_62_message_keeps_its_id_and_overlapping_secrets_both_sign() {
    // Checks: after another registration both secrets sign, and after the overlap only the new one. A redelivery across
    // a restart keeps its id. The same key shows the same secret, and reports it once the secret is replaced.
    let mut host = listening().with("PURSER_WEBHOOKS__SECRET_OVERLAP_SECONDS", "3600");
    let receiver = Receiver::open().await;
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let registration = json!({"url": receiver.url("/ok"), "types": ["refund.*"]});
    let first = post(&site, &token, "/register-webhook", Some("one"), &registration).await;
    let replayed = post(&site, &token, "/register-webhook", Some("one"), &registration).await;
    assert_eq!(
        (&first.text, replayed.header("idempotency-replayed")),
        (&replayed.text, Some("true"))
    );
    let old = first.body["secret"].as_str().unwrap();
    let test = arrives(&receiver, "/ok", 1).await.remove(0);
    let (id, new) = register(&site, &token, &receiver.url("/ok"), &["refund.*"]).await;
    assert_eq!(first.body["webhook_id"], id.as_str());
    site.wait_for_events(&token, &["webhook.secret_rotated"]).await;
    let both = arrives(&receiver, "/ok", 2).await.remove(1);
    assert!(signed(&both, old) && signed(&both, &new) && signed(&test, old) && !signed(&test, &new));
    let path = format!("/webhook-deliveries?webhook_id={id}");
    stored_secrets(&site, &token, &path).await;
    service.kill();

    host.set("PURSER_WEBHOOKS__SECRET_OVERLAP_SECONDS", "6");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, newest) = register(&site, &token, &receiver.url("/ok"), &["refund.*"]).await;
    let three = arrives(&receiver, "/ok", 3).await.remove(2);
    assert!(signed(&three, old) && signed(&three, &new) && signed(&three, &newest));
    tokio::time::sleep(std::time::Duration::from_millis(6_100)).await;
    let page = site.get_as(&token, &path).await.body;
    let of_test = page["deliveries"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(of_test["event_id"], test.id.as_str());
    let again = post(
        &site,
        &token,
        "/redeliver-webhook",
        None,
        &json!({"delivery_id": of_test["delivery_id"]}),
    )
    .await;
    assert_eq!(again.status, 202, "{}", again.text);
    let four = arrives(&receiver, "/ok", 4).await.remove(3);
    assert_eq!((&four.id, &four.text), (&test.id, &test.text));
    assert!(
        signed(&four, &newest) && !signed(&four, &new),
        "the one before had six seconds left"
    );
    let withheld = post(&site, &token, "/register-webhook", Some("one"), &registration).await;
    let secret = withheld.body["secret"].as_str();
    assert!(
        secret == Some(old) || withheld.body["secret_withheld"] == "secret_replaced",
        "{}",
        withheld.text
    );
    let gone = post(&site, &token, "/delete-webhook", None, &json!({"webhook_id": id})).await;
    assert_eq!(gone.body, json!({"deleted": true, "webhook_id": id}));
    let withheld = post(&site, &token, "/register-webhook", Some("one"), &registration).await;
    let shown = (&withheld.body["secret"], &withheld.body["secret_withheld"]);
    assert_eq!(shown, (&json!(null), &json!("secret_replaced")));
    service.stop();
    host.assert_verified();
}
