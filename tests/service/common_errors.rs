//! Errors of the HTTP layer on every documented operation. No route escapes a limit, and each uses its documented form.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::agent::Agent;
use super::conformance::{CheckedResponse, Conformance};
use super::host::{Host, Service};
use super::http::{Response, ServiceClient, send};
use super::owner::Owner;
use purser_actors::id::Network;

/// Every operation of the service's document.
async fn operations(site: &ServiceClient<'_>) -> (Value, Vec<(String, String)>) {
    let document = site.document().await;
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        all.extend(
            methods
                .as_object()
                .unwrap()
                .keys()
                .map(|m| (m.to_uppercase(), path.clone())),
        );
    }
    assert!(all.len() > 100);
    (document, all)
}

/// Sends the head of a request without a body, and checks the response against the document.
async fn head_alone(service: &Service, contract: &Conformance, head: &str) -> u16 {
    let mut stream = TcpStream::connect(service.authority()).await.unwrap();
    let host = service.authority();
    let text = format!("{head}\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    let (head_of_answer, body) = answer
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{head}: {answer}"));
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let kind = head_of_answer
        .lines()
        .find_map(|line| line.strip_prefix("content-type: "));
    let status = head_of_answer.split(' ').nth(1).unwrap().parse().unwrap();
    contract.check(&CheckedResponse {
        method,
        path,
        status,
        content_type: kind,
        body,
    });
    status
}

fn assert_error(answer: &Response, status: u16, code: &str, operation: &(String, String)) {
    assert_eq!(
        (answer.status, answer.code()),
        (status, code),
        "{operation:?}: {}",
        answer.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_rejects_oversized_or_ambiguous_requests() {
    // Checks: 414, 431, 400 for two hosts and 413 for a declared length, on every operation and before any other check.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (document, operations) = operations(&site).await;
    let contract = Conformance::new(document);
    let long = "x".repeat(9_000);
    for operation in &operations {
        let (method, path) = operation;
        let answer = send(site.request(method, &format!("{path}?x={long}"))).await.unwrap();
        assert_error(&answer, 414, "url_too_long", operation);
        let padded = site.request(method, path).header("x-a", &long).header("x-b", &long);
        assert_error(&send(padded).await.unwrap(), 431, "headers_too_large", operation);
        let twice = site.request(method, path).header("host", "a").header("host", "b");
        assert_error(&send(twice).await.unwrap(), 400, "invalid_request", operation);
        let head = format!("{method} {path} HTTP/1.1\r\ncontent-length: 999999999");
        assert_eq!(head_alone(&service, &contract, &head).await, 413, "{operation:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_rate_limited() {
    // Checks: Once the caller's rate limit is used up, every operation except the health check is a 429.
    let unlimited = Host::new().start();
    let (_, operations) = operations(&ServiceClient::of(&unlimited)).await;
    let host = Host::new().with("PURSER_LIMITS__WINDOW_SECONDS", "86400");
    let service = host.with("PURSER_LIMITS__REQUESTS_PER_WINDOW", "1").start();
    let site = ServiceClient::of(&service);
    send(site.request("GET", "/version")).await.unwrap();
    for operation in &operations {
        let answer = send(site.request(&operation.0, &operation.1)).await.unwrap();
        if ["/healthz", "/readyz"].contains(&operation.1.as_str()) {
            assert_eq!(answer.status, 200, "{}", answer.text);
        } else {
            assert_error(&answer, 429, "rate_limited", operation);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_body_has_a_read_timeout() {
    // Checks: Every operation with a body ends with a 408 if the body does not arrive. The caller is signed in, with a
    // cookie and from our page, so no other error comes first.
    let service = Host::new().with("PURSER_SERVER__BODY_TIMEOUT_MS", "50").start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let owner = Owner::by_token(&site, &token).await;
    let (document, operations) = operations(&site).await;
    let check = owner.check(&site).await.replace(&service.url, "");
    let contract = Conformance::new(document.clone());
    let (mut held, mut wrong) = (0, Vec::new());
    for (method, path) in &operations {
        let answers = &document["paths"][path][method.to_lowercase()]["responses"];
        if answers.get("408").is_none() {
            continue;
        }
        // The path of an identity check's form needs an existing id.
        let path = if *path == check.split('?').next().unwrap() {
            &check
        } else {
            path
        };
        let (origin, cookie) = (&service.url, owner.cookie());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nauthorization: Bearer {token}\r\ncookie: {cookie}\r\norigin: {origin}\r\n\
             content-type: application/json\r\ncontent-length: 2"
        );
        let status = head_alone(&service, &contract, &head).await;
        wrong.extend((status != 408).then(|| format!("{method} {path}: {status}")));
        held += 1;
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(held > 50, "{held} operations take a body");
}
