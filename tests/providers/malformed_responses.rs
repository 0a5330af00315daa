//! What the client makes of answers that are none: nothing but the provider's own definite word decides anything.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use purser::provider::cards::RemoteIssuer;
use purser::provider::payouts::{PayoutApi as _, RemotePayouts};
use purser::provider::remote::{RemoteClient, RemoteEndpoint};
use purser::provider::wire::ErrorCode;
use purser::provider::{CardIssuerApi as _, PlainIssueResult};
use purser::secret::Secret;
use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{ErrorKind, IssueCardRequest};
use serde_json::{Value, json};

use super::processes::SandboxOverHttp;

const ADDRESS: &str = r#"{"line1":"1 A St","city":"B","state":"CA","postal_code":"94105","country":"US"}"#;

/// Answers every order alike, and what its cards have in common as it should.
#[derive(Clone)]
pub(crate) struct LyingServer {
    pub(crate) status: u16,
    pub(crate) body: Arc<String>,
}

pub(crate) async fn serve_fault(State(liar): State<LyingServer>, request: axum::extract::Request) -> Response<Body> {
    let (status, body) = match request.uri().path() {
        "/v1/billing-address" => (200, ADDRESS.to_owned()),
        _ => (liar.status, liar.body.to_string()),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    if status == 307 {
        response.headers_mut().insert("location", "/v1/other".parse().unwrap());
    }
    response
}

pub(crate) async fn serving(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

pub(crate) fn remote(url: &str) -> RemoteClient {
    RemoteClient::new(RemoteEndpoint {
        base_url: url.parse().unwrap(),
        token: Secret::new("sixteen-or-more-visible".to_owned()),
        timeout: Duration::from_millis(500),
    })
    .unwrap()
}

fn order() -> IssueCardRequest {
    IssueCardRequest {
        key: JobId(1),
        card: CardId(2),
        amount: Cents::new(500),
    }
}

/// What an order comes to, and what a reading does.
async fn order_result(status: u16, body: &str) -> (Result<PlainIssueResult, ErrorKind>, ErrorKind) {
    let body = Arc::new(body.to_owned());
    let url = serving(
        Router::new()
            .fallback(serve_fault)
            .with_state(LyingServer { status, body }),
    )
    .await;
    let issuer = RemoteIssuer(remote(&url));
    let ordered = issuer.issue(&order()).await.map_err(|e| e.kind);
    (ordered, issuer.card_snapshot("x").await.unwrap_err().kind)
}

fn ready(card: CardId, amount: &str) -> Value {
    json!({"card_id": card.to_string(), "amount": amount, "status": "ready", "card": {
        "reference": "iss_1", "number": "4000001234567899", "exp_month": 12, "exp_year": 2031,
    }})
}

// Checks: an order has failed only if the provider says so with the protocol's body and status. A proxy's page, another
// order's response, a truncated or too long response, or a redirect leave it open.
#[tokio::test]
async fn only_a_definite_provider_response_decides() {
    let yes = ready(CardId(2), "5.00").to_string();
    let (made, _) = order_result(200, &yes).await;
    assert!(matches!(made, Ok(PlainIssueResult::Ready { .. })), "{made:?}");
    let refusal = |code: &str| json!({"error": {"code": code, "message": "no"}}).to_string();
    let huge = format!("{{\"padding\":\"{}\"}}", "x".repeat(5 * 1024 * 1024));
    for (status, body) in [
        (404, "<html>no such page</html>".to_owned()),
        (422, json!({"error": "rejected"}).to_string()),
        (500, refusal("rejected")),
        (200, refusal("rejected")),
        (422, refusal("not_found")),
        (418, refusal("idempotency_key_reused")),
        (502, "Bad Gateway".to_owned()),
        (204, String::new()),
        (307, String::new()),
        (200, String::new()),
        (200, yes[..yes.len() / 2].to_owned()),
        (200, ready(CardId(3), "5.00").to_string()),
        (200, ready(CardId(2), "50.00").to_string()),
        (
            200,
            json!({"card_id": CardId(3).to_string(), "amount": "5", "status": "declined", "reason": "x"}).to_string(),
        ),
        (200, json!({"status": "declined", "reason": "x"}).to_string()),
        (200, huge),
    ] {
        let (ordered, _) = order_result(status, &body).await;
        let shown: String = body.chars().take(80).collect();
        assert!(
            matches!(ordered, Err(ErrorKind::Unknown)),
            "{status} {shown}: {ordered:?}"
        );
    }
    for code in ErrorCode::ALL {
        let name = serde_json::to_value(code).unwrap();
        let (ordered, read) = order_result(code.status(), &refusal(name.as_str().unwrap())).await;
        let ordered_kind = match code {
            ErrorCode::NotFound => ErrorKind::Temporary,
            code => code.kind(),
        };
        assert_eq!(ordered.unwrap_err(), ordered_kind, "{code:?}");
        let kind = match code.kind() {
            ErrorKind::Unknown => ErrorKind::Temporary,
            kind => kind,
        };
        assert_eq!(read, kind, "a reading changes nothing: {code:?}");
    }
}

// Checks: an order that the provider does not know was not executed. Without a response it may have been.
#[tokio::test]
async fn missing_response_differs_from_missing_order() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let rails = RemotePayouts(remote(&url));
    let silent = rails.recall(JobId(1), purser_actors::id::PayoutId(1)).await;
    assert_eq!(silent.unwrap_err().kind, ErrorKind::Unknown);
    drop(listener);
    let absent = rails.recall(JobId(1), purser_actors::id::PayoutId(1)).await;
    assert_eq!(absent.unwrap_err().kind, ErrorKind::Temporary);
}

// Checks: with a wrong secret nothing is ordered or read, and the order waits instead of failing.
#[tokio::test]
async fn wrong_secret_orders_nothing() {
    let served = SandboxOverHttp::start(&[]).await;
    assert!(RemoteIssuer(remote(served.url())).billing_address().await.is_err());
    let rails = RemotePayouts(remote(served.url()));
    let refused = rails.events_after(0, 1).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Temporary, "{refused}");
    let issuer = served.providers().await.issuer;
    assert!(issuer.issue(&order()).await.is_ok());
}
