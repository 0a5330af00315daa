//! A small server that answers by our own challenge and verification, and keeps what it saw.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use purser::payment::challenge::{ChallengeInput, PAYMENT_REQUIRED_ERROR, Resource, challenge};
use purser::payment::mpp::{BoundRequest, Mpp, credential};
use purser::payment::{BasePayee, Payee, Terms, decode, mpp_credential, payment_header, verify};
use purser::secret::{Key32, MacKey};
use purser::system::SystemClock;
use purser_actors::money::Usdc;
use purser_actors::port::Clock as _;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// What the server saw, in order.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
    mpp: Arc<Mpp>,
    /// The token and the first message of every stream connection.
    streams: mpsc::UnboundedSender<(String, Value)>,
}

impl Server {
    pub(crate) async fn start() -> (Self, mpsc::UnboundedReceiver<(String, Value)>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (streams, opened) = mpsc::unbounded_channel();
        let server = Self {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
            mpp: Arc::new(Mpp::new("shop.example", MacKey::new(&Key32::new([7; 32])), None, 0)),
            streams,
        };
        let router = Router::new()
            .route("/get-card", get(card))
            .route("/get-payment", get(payment))
            .route("/get-card-data", get(card_data))
            .route("/auth", get(auth))
            .route("/stream", get(stream))
            .with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (server, opened)
    }

    fn received(&self, what: impl Into<String>) -> usize {
        let what = what.into();
        let mut seen = self.requests.lock().unwrap();
        seen.push(what.clone());
        seen.iter().filter(|earlier| **earlier == what).count()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn reply(status: u16, headers: &[(&str, &str)], body: &Value) -> Response {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Body::from(body.to_string())).unwrap()
}

/// 402; then, for one and the same good payment: settlement pending at first, the card afterwards.
async fn card(State(server): State<Server>, request: Request) -> Response {
    let payee = Payee::Base(Arc::new(BasePayee::usdc([0xaa; 20])));
    let terms = [Terms::new(Usdc::from_atomic(5_000_000), 300, payee)];
    let bound = BoundRequest {
        route: "/get-card",
        request: &[5; 32],
    };
    let now = SystemClock.now();
    if let Some(sent) = mpp_credential(request.headers()).unwrap() {
        let credential = credential::decode(sent).unwrap();
        let recovery = purser::payment::evm::SignatureRecovery::K256;
        server.mpp.verify(credential, &terms, &bound, now, recovery).unwrap();
        server.received(format!("credential {}", String::from_utf8_lossy(sent)));
        return reply(
            200,
            &[],
            &json!({"user_id": "0x0", "card_id": "card_1", "status": "pending"}),
        );
    }
    let Some(header) = payment_header(request.headers()).unwrap() else {
        server.received("asked");
        let url = server.url("/get-card?amount=5");
        let challenge = challenge(&ChallengeInput {
            resource: Resource {
                url: &url,
                description: "A card",
                mime_type: "application/json",
            },
            terms: &terms,
            error: PAYMENT_REQUIRED_ERROR,
            code: "payment_required",
            extensions: None,
            body_members: None,
        });
        let header = String::from_utf8(challenge.header.to_vec()).unwrap();
        let issued = server.mpp.issue(&terms, &bound, "A card", now).unwrap();
        let issued = String::from_utf8(issued.header.to_vec()).unwrap();
        let headers = [("payment-required", header.as_str()), ("www-authenticate", &issued)];
        return reply(402, &headers, &json!({}));
    };
    verify(
        &decode(header).unwrap(),
        &terms,
        &[],
        now,
        purser::payment::evm::SignatureRecovery::K256,
    )
    .unwrap();
    let times = server.received(format!("paid {}", String::from_utf8_lossy(header)));
    if times == 1 {
        let body = json!({"status": "settlement_pending", "status_url": "/get-payment?payment_id=pay_1"});
        return reply(202, &[("retry-after", "1")], &body);
    }
    let auth = json!({"id_token": "good", "refresh_token": "r1", "expires_in": "3600"});
    let id = match request.uri().query() {
        Some("fails") => "card_failed",
        Some("away") => "card_away",
        Some("gone") => "card_gone",
        _ => "card_1",
    };
    reply(
        200,
        &[],
        &json!({"auth": auth, "user_id": "0x0", "card_id": id, "status": "pending"}),
    )
}

async fn payment(State(server): State<Server>) -> Response {
    server.received("status");
    reply(200, &[], &json!({"status": "fulfilled", "terminal": true}))
}

async fn card_data(State(server): State<Server>, request: Request) -> Response {
    let token = request
        .headers()
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .unwrap_or("none");
    let query = request.uri().query().unwrap_or_default();
    let looks = server.received(format!("card data {token} {query}"));
    let (query, details) = query
        .strip_suffix("&details=false")
        .map_or((query, true), |card| (card, false));
    match (query, looks) {
        ("card_id=card_failed", _) => {
            let declined = json!({"status": "failed", "failure_reason": "card_program_declined"});
            return reply(200, &[], &declined);
        }
        // More is promised than comes: the connection breaks off in the middle.
        ("card_id=card_away", 1) => {
            let broken = futures_util::stream::iter([Ok("{"), Err(std::io::Error::other("away"))]);
            return Response::new(Body::from_stream(broken));
        }
        ("card_id=card_away", 2) => {
            return reply(503, &[("retry-after", "1")], &json!({"code": "service_unavailable"}));
        }
        ("card_id=card_gone", _) => return reply(404, &[], &json!({"code": "card_not_found"})),
        _ => {}
    }
    let shown = json!({"card_number": "4000001234567899", "cvv": "123"});
    match details {
        true => reply(200, &[], &json!({"status": "ready", "card_details": shown})),
        false => reply(200, &[], &json!({"status": "ready", "last4": "7899"})),
    }
}

/// Serves the sign-in challenge, and tokens for a signed one.
async fn auth(State(server): State<Server>, request: Request) -> Response {
    let domain = server.address.to_string();
    if request.headers().contains_key("sign-in-with-x") {
        server.received("signed in");
        let auth = json!({"id_token": "good", "refresh_token": "r1", "expires_in": "3600"});
        return reply(200, &[], &json!({"auth": auth, "user_id": "0x0"}));
    }
    let info = json!({"domain": domain, "uri": server.url("/auth"), "version": "1", "nonce": "0123456789abcdef",
        "issuedAt": "2026-01-15T10:30:00.000Z", "statement": "Sign in"});
    let required = json!({"x402Version": 2, "accepts": [], "extensions": {"sign-in-with-x": {"info": info}}});
    reply(
        402,
        &[("payment-required", &STANDARD.encode(required.to_string()))],
        &json!({}),
    )
}

/// Rejects the first connection, as for a frozen account. Sends event 5 twice on the second and closes it. Stays silent
/// on later ones.
async fn stream(State(server): State<Server>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    if server.received("upgrade") == 1 {
        let body = json!({"error": "This account is frozen.", "code": "account_frozen", "frozen_message": "Call us."});
        return reply(403, &[], &body);
    }
    let token = headers["authorization"].to_str().unwrap().to_owned();
    upgrade
        .on_upgrade(move |socket| serve_stream(server, token, socket))
        .into_response()
}

async fn serve_stream(server: Server, token: String, mut socket: WebSocket) {
    let first = match socket.recv().await {
        Some(Ok(Message::Text(text))) => serde_json::from_str(&text).unwrap(),
        other => panic!("expected text, got {other:?}"),
    };
    let _ = server.streams.send((token, first));
    if server.received("stream") == 1 {
        let event =
            json!({"type": "event", "event": {"seq": 5, "type": "card.ready", "data": {"object": {}}}}).to_string();
        for _ in 0..2 {
            socket.send(Message::text(event.clone())).await.unwrap();
        }
        return;
    }
    let _ = socket.recv().await;
}
