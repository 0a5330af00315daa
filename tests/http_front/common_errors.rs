//! Errors that any handler can cause, checked on every operation of the OpenAPI document with a handler that fails.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::Router;
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use purser::config::{Config, ConfigSources};
use purser::http::callable::FUNCTION_NAMES;
use purser::http::front::{Front, FrontConfig, PathRules};
use purser::http::rate_limit::RateLimiter;
use purser::http::request_metrics::RequestMetrics;
use purser::http::routes::PATHS;
use serde_json::Value;

use crate::conformance::{format_response, record_response};
use crate::harness::{Counter, FixedClock, NameAuthenticator};

/// Every operation with its statuses. Another test compares this list with the service.
const OPERATIONS: &str = include_str!("../contract/snapshots/openapi.200-operations.snap");

/// Sends a request to every operation of a server with these routes and expects this status and code.
async fn assert_every_operation_responds(routes: Router, settings: &[(&str, &str)], status: u16, code: &str) {
    let flags = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let sources = ConfigSources {
        flags: flags.collect(),
        ..ConfigSources::default()
    };
    let config = Config::load(&sources).unwrap();
    let clock = Arc::new(FixedClock(AtomicU64::new(1_800_000_000_000)));
    let inside = FrontConfig {
        routes,
        rules: PathRules {
            callables: FUNCTION_NAMES.to_vec(),
            ..PathRules::default()
        },
        authenticator: Arc::new(NameAuthenticator(clock.clone())),
        limiter: Arc::new(RateLimiter::new(&config.limits)),
        request_metrics: Arc::new(RequestMetrics::new(&PATHS, &[])),
        clock,
        entropy: Arc::new(Counter(AtomicU64::new(7))),
        docs_version: "0".to_owned(),
        cors: true,
    };
    let front = Front::new(&config, inside);
    let mut checked = 0;
    for line in OPERATIONS.lines() {
        let Some((operation, statuses)) = line.split_once(": ").filter(|(operation, _)| operation.contains(" /"))
        else {
            continue;
        };
        let (method, path) = operation.split_once(' ').unwrap();
        assert!(statuses.split(' ').any(|known| known == status.to_string()), "{line}");
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "purser.example");
        let request = request.body(Body::empty()).unwrap();
        let given = front.respond(request, SocketAddr::from(([127, 0, 0, 1], 9))).await;
        let (head, body) = given.into_parts();
        let body: Value = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
        let actual = if FUNCTION_NAMES.contains(&path) {
            &body["error"]["code"]
        } else {
            &body["code"]
        };
        assert_eq!(
            (head.status.as_u16(), actual.as_str()),
            (status, Some(code)),
            "{operation}: {body}"
        );
        record_response(&format_response(method, path, status, &body.to_string()));
        checked += 1;
    }
    assert!(checked > 100, "the operations were not found");
}

// Checks: a handler that panics produces a 500 in the error format of its operation.
#[tokio::test]
async fn every_operation_answers_500_when_its_handler_panics() {
    let panics = || async { panic!("on purpose") as () };
    let routes = Router::new().fallback(panics);
    assert_every_operation_responds(routes, &[], 500, "internal_error").await;
}

// Checks: a handler that never responds produces a 503 in the error format of its operation.
#[tokio::test]
async fn every_operation_answers_503_when_its_handler_hangs() {
    let hangs = || std::future::pending::<()>();
    let routes = Router::new().fallback(hangs);
    let soon = [
        ("engine.settlement_timeout_ms", "1"),
        ("engine.response_timeout_ms", "2"),
        ("server.request_timeout_ms", "3"),
    ];
    assert_every_operation_responds(routes, &soon, 503, "processing_timeout").await;
}
