//! What the published `standardwebhooks` library makes of our messages.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::node::Node;
use crate::server_process::ServerProcess;

#[tokio::test(flavor = "multi_thread")]
async fn the_published_library_of_npm_verifies_our_signatures() {
    // Aim: a receiver that is written with it takes what we post, and refuses it changed by a letter.
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
    let wanted = json!({"url": format!("http://127.0.0.1:{port}/hook"), "types": ["refund.*"]});
    let made: Value = request.json(&wanted).send().await.unwrap().json().await.unwrap();
    writeln!(input, "{}", made["secret"].as_str().unwrap()).unwrap();
    let judged: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    receiver.kill().unwrap();
    receiver.wait().unwrap();
    assert_eq!(judged["event"], "webhook.test", "{judged}");
    assert_eq!(judged["changed"]["error"], "No matching signature found");
}
