//! Webhooks for operators, and verification libraries of receivers.

use std::io::Write as _;
use std::process::Command;

use purser::system::SystemClock;
use purser_actors::id::Network;
use purser_actors::port::Clock as _;
use serde_json::json;

use super::agent::Agent;
use super::http::ServiceClient;
use super::operator_client::OperatorClient;
use super::receiver::Receiver;
use super::webhooks::{arrives, delivery, listening, register};

#[tokio::test(flavor = "multi_thread")]
async fn operators_list_and_redeliver_messages() {
    // Checks: operators list endpoints and deliveries of all accounts. Redelivery is in the audit log and needs a
    // permission beyond reading.
    let (host, receiver) = (listening(), Receiver::open().await);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let (id, _) = register(&site, &token, &receiver.url("/ok"), &["refund.*"]).await;
    arrives(&receiver, "/ok", 1).await;
    let sent = delivery(&site, &token, &id, "delivered", 1).await;
    let operator = OperatorClient::first(&host, &service);
    let all = operator.get("/admin/webhooks").await.body;
    assert_eq!(
        (&all["webhooks"][0]["webhook"]["webhook_id"], &all["has_more"]),
        (&json!(id), &json!(false))
    );
    let of_wallet = operator
        .get(&format!("/admin/webhooks?wallet={}", agent.address()))
        .await
        .body;
    assert_eq!(of_wallet["webhooks"], all["webhooks"]);
    let list = operator
        .get(&format!("/admin/webhooks/deliveries?webhook_id={id}"))
        .await
        .body;
    assert_eq!(list["deliveries"][0], sent);
    let again = operator
        .post("/admin/webhooks/redeliver", json!({"delivery_id": sent["delivery_id"]}))
        .await;
    assert_eq!(again.status, 202, "{}", again.text);
    assert_eq!(
        arrives(&receiver, "/ok", 2).await[1].id,
        sent["event_id"].as_str().unwrap()
    );
    let since = json!({"webhook_id": id, "since": "2026-11-20T00:00:00Z"});
    assert_eq!(operator.post("/admin/webhooks/redeliver", since).await.status, 202);
    let audit = operator.audit().await;
    let done: Vec<_> = audit
        .iter()
        .filter(|(_, what, _)| what == "webhook.redeliver")
        .map(|(.., of)| of.clone())
        .collect();
    assert_eq!(done, [sent["delivery_id"].as_str().unwrap(), &id]);
    let reader = operator.add_operator("reader", "read-only").await;
    let refused = reader
        .post("/admin/webhooks/redeliver", json!({"delivery_id": sent["delivery_id"]}))
        .await;
    assert_eq!((refused.status, refused.code()), (403, "role_not_permitted"));
    let unknown = operator.get("/admin/webhooks/deliveries?webhook_id=wh_x").await;
    assert_eq!((unknown.status, unknown.code()), (404, "webhook_not_found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_operators_see_no_whole_webhook_url() {
    // Checks: in the list, in the search, among the customer's resources and in the timeline the role read-only sees scheme
    // and host of an endpoint's URL. Support, which talks with customers, sees all of it.
    let (host, receiver) = (listening(), Receiver::open().await);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let url = receiver.url("/hook/s3cr3t-path?key=s3cr3t-key");
    let (id, _) = register(&site, &token, &url, &["refund.*"]).await;
    let boss = OperatorClient::first(&host, &service);
    let (support, reader) = (
        boss.add_operator("support", "support").await,
        boss.add_operator("reader", "read-only").await,
    );
    let (origin, _) = url.split_once("/hook").unwrap();
    let account = agent.address();
    for path in [
        "/admin/webhooks".to_owned(),
        format!("/admin/webhooks?wallet={account}"),
        format!("/admin/customers?q={account}"),
        format!("/admin/customers?q={id}"),
        format!("/admin/timeline?wallet={account}"),
        format!("/admin/timeline?id={id}"),
        format!("/admin/webhooks/deliveries?webhook_id={id}"),
        format!("/admin/search?q={id}"),
    ] {
        let seen = reader.get(&path).await;
        assert_eq!(seen.status, 200, "{path}: {}", seen.text);
        assert!(!seen.text.contains("s3cr3t"), "{path}: {}", seen.text);
        let whole = support.get(&path).await;
        let shows_url = !path.contains("/deliveries") && !path.contains("/search");
        assert_eq!(whole.text.contains(&url), shows_url, "{path}: {}", whole.text);
        assert_eq!(
            seen.text.contains(&format!("\"{origin}\"")),
            shows_url,
            "{path}: {}",
            seen.text
        );
    }
    let list = reader.get("/admin/webhooks").await.body;
    assert_eq!(list["webhooks"][0]["webhook"]["url"], origin, "{list}");
    // A response can quote the URL, so it is not shown either.
    let (failing, _) = register(&site, &token, &receiver.url("/500"), &["refund.*"]).await;
    let sent = delivery(&site, &token, &failing, "", 1).await;
    assert!(sent["attempts"][0]["response_excerpt"].is_string(), "{sent}");
    for path in [
        format!("/admin/webhooks/deliveries?webhook_id={failing}"),
        format!("/admin/customers?q={}", sent["delivery_id"].as_str().unwrap()),
    ] {
        let text = |answer: &super::http::Response| {
            let excerpt = format!("\"response_excerpt\":{}", sent["attempts"][0]["response_excerpt"]);
            answer.text.contains(&excerpt)
        };
        let (whole, seen) = (support.get(&path).await, reader.get(&path).await);
        assert!(text(&whole) && !text(&seen), "{path}: {} {}", whole.text, seen.text);
        assert!(seen.text.contains("\"response_excerpt\":null"), "{}", seen.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn published_libraries_verify_our_signatures() {
    // Checks: `standardwebhooks` of PyPI accepts a message with its secret, also in advanced sandbox time, and rejects
    // it with one changed byte.
    let Some(library) = library() else { return };
    let (host, receiver) = (listening(), Receiver::open().await);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let (_, old) = register(&site, &token, &receiver.url("/ok"), &["refund.*"]).await;
    let (_, new) = register(&site, &token, &receiver.url("/ok"), &["refund.*"]).await;
    let got = arrives(&receiver, "/ok", 2).await.remove(1);
    // Verifiers use the wall clock, which differs from sandbox time.
    site.advance(2 * 3_600).await;
    let token = Agent::new(Network::Base).token(&site).await;
    let (_, later) = register(&site, &token, &receiver.url("/later"), &["refund.*"]).await;
    let moved = arrives(&receiver, "/later", 1).await.remove(0);
    for (got, secret, body, verifies) in [
        (&got, &old, got.text.clone(), true),
        (&got, &new, got.text.clone(), true),
        (&got, &new, got.text.replace("webhook.test", "webhook.fest"), false),
        (&moved, &later, moved.text.clone(), true),
    ] {
        let script = "import sys, standardwebhooks as s; s.Webhook(sys.argv[1]).verify(sys.argv[2], {'webhook-id': \
                      sys.argv[3], 'webhook-timestamp': sys.argv[4], 'webhook-signature': sys.argv[5]})";
        let ran = Command::new("python3")
            .env("PYTHONPATH", library.path())
            .args(["-c", script, secret, &body, &got.id, &got.timestamp, &got.signature])
            .output()
            .unwrap();
        assert_eq!(
            ran.status.success(),
            verifies,
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_signature_uses_wall_clock_time() {
    // Checks: after sandbox time advanced two hours, messages are still signed with wall-clock time.
    let (host, receiver) = (listening(), Receiver::open().await);
    let service = host.start();
    let site = ServiceClient::of(&service);
    site.advance(2 * 3_600).await;
    let token = Agent::new(Network::Base).token(&site).await;
    let wall = || SystemClock.now().seconds();
    let before = wall();
    register(&site, &token, &receiver.url("/ok"), &["refund.*"]).await;
    let got = arrives(&receiver, "/ok", 1).await.remove(0);
    let (signed_at, after) = (got.timestamp.parse::<u64>().unwrap(), wall());
    assert!((before..=after).contains(&signed_at), "{before} {signed_at} {after}");
}

/// The published package in its own directory; `None`, with a log line, where it is unavailable.
fn library() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let installed = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--target"])
        .arg(folder.path())
        .arg("standardwebhooks==1.0.0")
        .output();
    match installed {
        Ok(ran) if ran.status.success() => Some(folder),
        other => {
            assert!(
                std::env::var_os("CI").is_none(),
                "standardwebhooks cannot be had: {other:?}"
            );
            drop(writeln!(
                std::io::stderr(),
                "skipped: standardwebhooks of PyPI cannot be had here"
            ));
            None
        }
    }
}
