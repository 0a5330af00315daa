//! Requests that their clients hold open while their credentials end.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::agent::Agent;
use super::banking::result;
use super::host::Host;
use super::http::{ServiceClient, send};
use super::operator_client::OperatorClient;
use super::owner::Owner;
use purser_actors::id::Network;

/// What a held request is answered with.
struct Answer {
    status: u16,
    body: Value,
}

/// A POST of which the last byte is missing.
struct HeldRequest {
    stream: TcpStream,
    last: u8,
}

impl HeldRequest {
    async fn begin(url: &str, headers: &[(&str, &str)], body: &Value) -> Self {
        let (authority, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(authority).await.unwrap();
        let body = body.to_string();
        let mut head = format!(
            "POST /{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let (last, rest) = body.as_bytes().split_last().unwrap();
        stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        stream.write_all(rest).await.unwrap();
        Self { stream, last: *last }
    }

    /// Sends the rest.
    async fn finish(mut self) -> Answer {
        self.stream.write_all(&[self.last]).await.unwrap();
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer {
            status,
            body: serde_json::from_str(body).unwrap_or_default(),
        }
    }
}

fn assert_refused(answer: &Answer, code: &str) {
    let seen = (answer.status, answer.body["code"].as_str());
    assert_eq!(seen, (401, Some(code)), "{}", answer.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn held_request_of_a_revoked_api_key_does_nothing() {
    // Checks: a call of which the body is complete only after the owner has revoked its key is refused. That of another key
    // is executed.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let own = Agent::new(Network::Base).token(&site).await;
    let owner = Owner::by_token(&site, &own).await;
    let mut held = Vec::new();
    let mut ids = Vec::new();
    for name in ["Active", "Revoked"] {
        let made = result(&site, &own, "createAgentApiKey", json!({"name": name})).await;
        let exchange = site.request("POST", "/agentAuth");
        let exchange = exchange.bearer_auth(made["apiKey"].as_str().unwrap());
        let entered = send(exchange.json(&json!({"data": {}}))).await.unwrap();
        let token = entered.body["result"]["idToken"].as_str().unwrap();
        let authorization = format!("Bearer {token}");
        let identity = json!({"data": {"name": name, "client": "a program", "version": "1"}});
        let url = format!("{}/announceAgentConnection", service.url);
        held.push(HeldRequest::begin(&url, &[("authorization", &authorization)], &identity).await);
        let keys = owner.account(&site).await.body["api_keys"].clone();
        let key = keys.as_array().unwrap().iter().find(|key| key["name"] == name).cloned();
        ids.push(key.unwrap()["api_key_id"].clone());
    }
    let revoked = owner
        .act(&site, "/account/api-keys/revoke", &json!({"api_key_id": ids[1]}))
        .await;
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    let refused = held.pop().unwrap().finish().await;
    assert_eq!(refused.status, 401, "{}", refused.body);
    let done = held.pop().unwrap().finish().await;
    assert_eq!(
        (done.status, &done.body["result"]["agent"]["name"]),
        (200, &json!("Active")),
        "{}",
        done.body
    );
    let events = site.events(&own, 0).await;
    let announced = events.iter().filter(|event| event["type"] == "session.agent_announced");
    assert_eq!(announced.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn held_request_of_an_ended_session_does_nothing() {
    // Checks: an action of a page of which the session has ended meanwhile is refused and changes nothing.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let own = Owner::of(&site, &agent).await;
    let other = Owner::of(&site, &agent).await;
    let headers = [("cookie", other.cookie()), ("origin", &*service.url)];
    let url = format!("{}/account/stop-agents", service.url);
    let held = HeldRequest::begin(&url, &headers, &json!({})).await;
    let out = other.act(&site, "/account/sign-out", &json!({})).await;
    assert_eq!(out.status, 200, "{}", out.text);
    assert_refused(&held.finish().await, "token_revoked");
    let account = own.account(&site).await;
    assert_eq!(
        (account.status, &account.body["agents_stopped_at"]),
        (200, &Value::Null),
        "{}",
        account.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn held_request_of_a_revoked_operator_does_nothing() {
    // Checks: an operator whose token is revoked creates no token by a request that has begun before.
    let host = Host::new();
    let service = host.start();
    let first = OperatorClient::first(&host, &service);
    let gone = first.add_operator("gone", "administrator").await;
    let authorization = format!("Bearer {}", gone.token);
    let another = json!({"name": "another", "role": "administrator"});
    let url = service.operator_url("/admin/tokens");
    let held = HeldRequest::begin(&url, &[("authorization", &authorization)], &another).await;
    first.done("/admin/tokens/revoke", json!({"name": "gone"})).await;
    assert_refused(&held.finish().await, "token_invalid");
    let tokens = first.get("/admin/tokens").await;
    assert!(!tokens.text.contains("another"), "{}", tokens.text);
}
