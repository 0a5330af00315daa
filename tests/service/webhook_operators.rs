//! Who else has to do with webhooks: operators, and the libraries that receivers use.

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
async fn operators_see_deliveries_and_post_them_again() {
    // Aim: endpoints and deliveries of all accounts, and posting again, which is written down; a look by who may only look.
    let (host, receiver) = (listening(), Receiver::open().await);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let (id, _) = register(&site, &token, &receiver.url("/ok"), &["refund.*"]).await;
    arrives(&receiver, "/ok", 1).await;
    let sent = delivery(&site, &token, &id, "delivered", 1).await;
    let desk = OperatorClient::first(&host, &service);
    let all = desk.get("/admin/webhooks").await.body;
    assert_eq!(
        (&all["webhooks"][0]["webhook"]["webhook_id"], &all["has_more"]),
        (&json!(id), &json!(false))
    );
    let of_wallet = desk
        .get(&format!("/admin/webhooks?wallet={}", agent.address()))
        .await
        .body;
    assert_eq!(of_wallet["webhooks"], all["webhooks"]);
    let list = desk
        .get(&format!("/admin/webhooks/deliveries?webhook_id={id}"))
        .await
        .body;
    assert_eq!(list["deliveries"][0], sent);
    let again = desk
        .post("/admin/webhooks/redeliver", json!({"delivery_id": sent["delivery_id"]}))
        .await;
    assert_eq!(again.status, 202, "{}", again.text);
    assert_eq!(
        arrives(&receiver, "/ok", 2).await[1].id,
        sent["event_id"].as_str().unwrap()
    );
    let since = json!({"webhook_id": id, "since": "2026-11-20T00:00:00Z"});
    assert_eq!(desk.post("/admin/webhooks/redeliver", since).await.status, 202);
    let audit = desk.audit().await;
    let done: Vec<_> = audit
        .iter()
        .filter(|(_, what, _)| what == "webhook.redeliver")
        .map(|(.., of)| of.clone())
        .collect();
    assert_eq!(done, [sent["delivery_id"].as_str().unwrap(), &id]);
    let reader = desk.add_operator("reader", "read-only").await;
    let refused = reader
        .post("/admin/webhooks/redeliver", json!({"delivery_id": sent["delivery_id"]}))
        .await;
    assert_eq!((refused.status, refused.code()), (403, "role_not_permitted"));
    let unknown = desk.get("/admin/webhooks/deliveries?webhook_id=wh_x").await;
    assert_eq!((unknown.status, unknown.code()), (404, "webhook_not_found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn published_libraries_verify_our_signatures() {
    // Aim: `standardwebhooks` of PyPI takes what arrives with the secret that was given, in moved time too, and refuses it
    // changed by a byte.
    let Some(library) = library() else { return };
    let (host, receiver) = (listening(), Receiver::open().await);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let (_, old) = register(&site, &token, &receiver.url("/ok"), &["refund.*"]).await;
    let (_, new) = register(&site, &token, &receiver.url("/ok"), &["refund.*"]).await;
    let got = arrives(&receiver, "/ok", 2).await.remove(1);
    // Whoever verifies goes by the wall clock, and the sandbox's time is not it.
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
async fn a_signature_carries_wall_time_wherever_the_sandbox_is() {
    // Aim: after the sandbox's time went two hours ahead, a message is signed with the machine's time all the same.
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

/// The published package, in a directory of its own; `None`, and a line about it, where it cannot be had.
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
