//! What the published `standardwebhooks` library makes of our messages.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::node::Node;
use crate::server_process::ServerProcess;

#[tokio::test(flavor = "multi_thread")]
async fn published_npm_library_verifies_our_signatures() {
    // Checks: a receiver built with the library accepts our message and rejects one with a changed byte.
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start_with(&[("PURSER_OUTBOUND__ALLOWED_HOSTS", r#"["127.0.0.1:*"]"#)]);
    let mut receiver = node
        .script("receiver.mjs")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(receiver.stdout.take().unwrap()).lines();
    let mut input = receiver.stdin.take().unwrap();
    let port = lines.next().unwrap().unwrap();
    let call = node.call(&purser.url("/get-card?amount=5"), &crate::buyer(&purser, "base"));
    let token = call["body"]["auth"]["id_token"].as_str().unwrap();
    let request = purser.http.post(purser.url("/register-webhook")).bearer_auth(token);
    let endpoint = json!({"url": format!("http://127.0.0.1:{port}/hook"), "types": ["refund.*"]});
    let made: Value = request.json(&endpoint).send().await.unwrap().json().await.unwrap();
    writeln!(input, "{}", made["secret"].as_str().unwrap()).unwrap();
    let judged: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    receiver.kill().unwrap();
    receiver.wait().unwrap();
    assert_eq!(judged["event"], "webhook.test", "{judged}");
    assert_eq!(judged["changed"]["error"], "No matching signature found");
}
