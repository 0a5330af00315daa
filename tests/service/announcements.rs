//! What waits for operators is announced at their webhook.

use purser::secret::SecretText;
use purser::webhooks::SigningSecret;
use purser_actors::id::Network;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, until};
use super::metrics::scrape;
use super::operator_client::OperatorClient;
use super::receiver::{ReceivedMessage, Receiver};
use super::webhooks::arrives;

const ORDER: &str = "/order-intl-card?amount=100";
const SECRET: &str = "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

fn host(receiver: &Receiver, path: &str) -> Host {
    Host::new()
        .with("PURSER_OPERATOR__WEBHOOK_URL", &receiver.url(path))
        .with("PURSER_OPERATOR__WEBHOOK_ALLOW_INTERNAL", "true")
        .with("PURSER_OPERATOR__WEBHOOK_SECRET", "env:DESK_SECRET")
        .with("DESK_SECRET", SECRET)
        .with(
            "PURSER_WEBHOOKS__RETRY_SCHEDULE_SECONDS",
            "[0, 1, 1, 1, 1, 1, 1, 1, 1, 1]",
        )
        .with("PURSER_WEBHOOKS__ATTEMPT_TIMEOUT_MS", "2000")
}

fn assert_signed(message: &ReceivedMessage) {
    let secret = SigningSecret::of_text(&SecretText::new(SECRET.to_owned())).unwrap();
    let expected = secret.sign(&message.id, message.timestamp.parse().unwrap(), message.text.as_bytes());
    assert_eq!(message.signature, expected);
    assert_eq!(message.body()["id"], json!(message.id));
}

async fn announced(operator: &OperatorClient<'_>, fits: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    until("the announcements", async || {
        let list = operator.get("/admin/announcements").await.body["announcements"].clone();
        let list = list.as_array()?.clone();
        fits(&list).then_some(list)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn announcements_are_signed_retried_and_survive_a_kill() {
    // Checks: A new order is posted to the operators' webhook, signed as Standard Webhooks says, with ids and nothing of
    // the customer. While the receiver fails it is tried again under the same id, also after a kill, until it is accepted;
    // then not again. What left its queue and comes back is announced again. A closed line, a stuck job and a test are
    // announced too. Operators read what was announced, and nothing else of the URL than its host.
    let receiver = Receiver::open().await;
    let host = host(&receiver, "/moody?key=hidden");
    let path = "/moody?key=hidden";
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, ORDER).await;
    let order = bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned();
    let failed = arrives(&receiver, path, 2).await;
    let operator = OperatorClient::first(&host, &service);
    let waiting = announced(&operator, |list| {
        list.first().is_some_and(|one| one["attempt_count"].as_u64() >= Some(2))
    })
    .await;
    let (_, page) = scrape(&service).await;
    let rejected = page.value("purser_announcement_attempts_total{outcome=\"rejected\"}");
    assert!(rejected >= Decimal::TWO, "{rejected}");
    assert_eq!(page.value("purser_announcements_pending"), Decimal::ONE);
    assert_eq!(
        (&waiting[0]["status"], &waiting[0]["item"], &waiting[0]["last_error"]),
        (&json!("pending"), &json!(order), &json!("it answered 500"))
    );
    service.kill();
    receiver.set_healthy(true);
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    let site = ServiceClient::of(&service);
    let done = announced(&operator, |list| list[0]["status"] == "delivered").await;
    let got = receiver.at(path);
    assert!(got.len() > failed.len(), "it was tried again after the kill");
    for message in &got {
        assert_signed(message);
        assert_eq!(json!(message.id), done[0]["announcement_id"]);
        assert_eq!(message.kind(), "queue.item_added");
        assert_eq!(message.body()["data"]["object"]["item"], json!(order));
        let text = message.text.to_lowercase();
        assert!(!text.contains(&agent.address().to_lowercase()), "{text}");
        assert!(!text.contains("usd") && !text.contains("card_number"), "{text}");
    }
    assert_eq!(done.len(), 1);

    // Others, and the same again.
    let line = json!({"line": "gift_card", "reason": "Maintenance"});
    for count in 1..=2 {
        operator.done("/admin/lines/close", line.clone()).await;
        announced(&operator, |list| {
            list.len() == 1 + count && list[0]["status"] == "delivered"
        })
        .await;
        operator.done("/admin/lines/open", line.clone()).await;
        announced(&operator, |list| list[0]["waits"] == json!(false)).await;
    }
    let lines: Vec<ReceivedMessage> = receiver
        .at(path)
        .into_iter()
        .filter(|got| got.text.contains("gift_card"))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_ne!(lines[0].id, lines[1].id);
    let test = admin(&host, &service, &["announcements", "test"], "").unwrap();
    assert_eq!(test["queue"], "test");
    let listed = announced(&operator, |list| {
        list[0]["queue"] == "test" && list[0]["status"] == "delivered"
    })
    .await;
    assert_eq!(listed.len(), 4);
    let sent = receiver
        .at(path)
        .into_iter()
        .find(|got| got.kind() == "webhook.test")
        .unwrap();
    assert_signed(&sent);
    let page = admin(&host, &service, &["announcements", "list"], "").unwrap();
    assert_eq!(page["webhook"], json!(receiver.url("").trim_end_matches('/')));
    assert!(!page.to_string().contains("hidden"));
    let reader = operator.add_operator("rea", "read-only").await;
    let refused = reader.post("/admin/announcements/test", json!({})).await;
    assert_eq!((refused.status, refused.code()), (403, "role_not_permitted"));
    let second = reader.get("/admin/announcements?limit=1").await.body;
    let after = second["next_after"].as_str().unwrap();
    let rest = reader.get(&format!("/admin/announcements?after={after}")).await.body;
    assert_eq!(rest["announcements"].as_array().unwrap().len(), 3);

    // Since the kill: the order, two closed lines and the test.
    let (_, page) = scrape(&service).await;
    let delivered = page.value("purser_announcement_attempts_total{outcome=\"delivered\"}");
    assert_eq!(delivered, Decimal::from(4));
    for series in [
        "purser_announcement_attempts_total{outcome=\"rejected\"}",
        "purser_announcements_given_up_total",
        "purser_announcements_pending",
    ] {
        assert_eq!(page.value(series), Decimal::ZERO, "{series}");
    }

    // Fulfilled, so it has left its queue.
    let lease = operator.claim(&order).await;
    assert_eq!(operator.fulfil(&order, lease).await.status, 200);
    announced(&operator, |list| list[3]["waits"] == json!(false)).await;
    drop(site);
    service.stop();
    host.assert_verified();
    assert!(!host.logged().contains(SECRET) && !host.logged().contains("key=hidden"));
}

#[tokio::test(flavor = "multi_thread")]
async fn old_announcements_are_removed_while_the_service_runs() {
    // Checks: without a restart, an announcement is gone a month after it was made, and one whose item still waits is not.
    let receiver = Receiver::open().await;
    let host = host(&receiver, "/ok");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let bought = Agent::new(Network::Base).buy(&site, ORDER).await;
    let order = bought.body["intl_card_order"]["card_id"].clone();
    let waits = |list: &[Value]| list.iter().any(|one| one["item"] == order);
    let has_test = |list: &[Value]| list.iter().any(|one| one["queue"] == "test");
    announced(&operator, waits).await;
    operator.done("/admin/announcements/test", json!({})).await;
    announced(&operator, |list| {
        list[0]["queue"] == "test" && list[0]["status"] == "delivered"
    })
    .await;
    site.advance(29 * 86_400).await;
    // The clock has moved once the next announcement is made.
    operator.done("/admin/announcements/test", json!({})).await;
    let both = announced(&operator, |list| list[0]["status"] == "delivered").await;
    assert_eq!(both.iter().filter(|one| one["queue"] == "test").count(), 2, "{both:?}");
    site.advance(31 * 86_400).await;
    let left = announced(&operator, |list| !has_test(list)).await;
    assert!(waits(&left), "{left:?}");
    drop(site);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn announcement_needs_an_allowed_address_and_a_secret() {
    // Checks: The service does not start with an internal address that the settings do not allow, without a secret, with
    // one in the settings or with another text. Without a webhook there is nothing to test.
    let receiver = Receiver::open().await;
    let changes: [(&str, &str); 5] = [
        ("PURSER_OPERATOR__WEBHOOK_ALLOW_INTERNAL", "false"),
        ("PURSER_OPERATOR__WEBHOOK_URL", "ftp://127.0.0.1/"),
        ("PURSER_OPERATOR__WEBHOOK_SECRET", ""),
        ("PURSER_OPERATOR__WEBHOOK_SECRET", SECRET),
        ("DESK_SECRET", "whsec_short"),
    ];
    for (name, value) in changes {
        let host = host(&receiver, "/ok").with(name, value);
        let refused = host
            .try_start()
            .err()
            .unwrap_or_else(|| panic!("{name}={value} starts"));
        assert!(refused.contains("operator.webhook_"), "{name}: {refused}");
        assert!(!refused.contains(SECRET), "{refused}");
    }
    let host = Host::new();
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    let list = operator.get("/admin/announcements").await.body;
    assert_eq!(list, json!({"webhook": null, "announcements": [], "next_after": null}));
    let refused = operator.post("/admin/announcements/test", json!({})).await;
    assert_eq!((refused.status, refused.code()), (404, "webhook_not_found"));
}
