//! Events that are posted to endpoints.

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

/// A host whose services post to this machine, soon and often.
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

/// Its id and its secret.
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

/// By code that shares nothing with the service's.
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

/// The first delivery of an endpoint, once it is in this state, or in any without one, and has had so many tries.
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
async fn events_arrive_signed_and_are_the_streams_own() {
    // Aim: from the purchase to the endpoint: the test first, then what it wants to hear of, each body byte for byte an event
    // of `GET /events`, signed by the secret of the answer; nothing of it in clear in the log, the store or another answer.
    let (host, receiver) = (listening(), Receiver::open().await);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let (id, secret) = register(&site, &token, &receiver.url("/ok"), &["card.*"]).await;
    arrives(&receiver, "/ok", 1).await;
    agent.buy(&site, "/get-card?amount=5").await;
    let got = until("the card is told of", async || {
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
    let told = [
        site.get_as(&token, "/get-webhook").await.text,
        page.text,
        Value::from(site.events(&token, 0).await).to_string(),
        host.logged(),
    ];
    assert!(told.iter().all(|text| !text.contains(key)), "a secret is told");
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
async fn case_59_no_inside_address_is_registered_or_posted_to() {
    // Aim: every form of an inside address is refused at registration; one that passed while it was listed is not posted to
    // once it is not; a redirect to the inside is not followed.
    let (mut host, receiver) = (listening(), Receiver::open().await);
    // This receiver alone, so that every other port of this machine is inside.
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
        "https://user:word@hooks.nobody.example/",
        "https://hooks.nobody.example:8443/",
        "ftp://hooks.nobody.example/",
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
    let asked = post(&site, &token, "/redeliver-webhook", None, &again).await;
    assert_eq!(asked.status, 202, "{}", asked.text);
    let tried = delivery(&site, &token, &id, "", 2).await;
    assert_eq!(tried["attempts"][1]["error"], "its port is not called");
    assert_eq!(receiver.at("/ok").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_60_whatever_a_receiver_does_it_is_bounded() {
    // Aim: each behaviour ends as one try with its reason, within the time-out; the status counts as soon as it is there; the
    // others are not kept waiting; what a receiver says is kept without long numbers.
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

/// Waits until every delivery is known to have arrived: what a kill leaves open is posted again.
async fn stored_secrets(site: &ServiceClient<'_>, token: &str, path: &str) {
    until("all to be written down", async || {
        let page = site.get_as(token, path).await.body;
        let mut states = page["deliveries"].as_array()?.iter().map(|one| &one["status"]);
        states.all(|state| state == "delivered").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_62_a_message_keeps_its_id_and_both_secrets_sign_while_they_overlap() {
    // Aim: registered again, both secrets sign, and after the overlap the new one alone; redelivered over a restart, the id is
    // the same; the same key shows the same secret, and says so once it is replaced for good.
    let mut host = listening().with("PURSER_WEBHOOKS__SECRET_OVERLAP_SECONDS", "3600");
    let receiver = Receiver::open().await;
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let wanted = json!({"url": receiver.url("/ok"), "types": ["refund.*"]});
    let first = post(&site, &token, "/register-webhook", Some("one"), &wanted).await;
    let replayed = post(&site, &token, "/register-webhook", Some("one"), &wanted).await;
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
    let withheld = post(&site, &token, "/register-webhook", Some("one"), &wanted).await;
    let secret = withheld.body["secret"].as_str();
    assert!(
        secret == Some(old) || withheld.body["secret_withheld"] == "secret_replaced",
        "{}",
        withheld.text
    );
    let gone = post(&site, &token, "/delete-webhook", None, &json!({"webhook_id": id})).await;
    assert_eq!(gone.body, json!({"deleted": true, "webhook_id": id}));
    let withheld = post(&site, &token, "/register-webhook", Some("one"), &wanted).await;
    let shown = (&withheld.body["secret"], &withheld.body["secret_withheld"]);
    assert_eq!(shown, (&json!(null), &json!("secret_replaced")));
    service.stop();
    host.assert_verified();
}
