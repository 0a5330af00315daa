//! `/stream` and `/events`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use http::Request;
use purser_actors::id::{EventId, SessionId};
use purser_actors::kernel::event_record::API_VERSION;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::harness::{ALICE, BOB, Harness};

pub type Socket = WebSocketStream<TcpStream>;

pub fn request(world: &Harness, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::get(format!("ws://{}/stream", world.addr))
        .header("host", world.addr.to_string())
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", tungstenite::handshake::client::generate_key());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

/// Uses a small receive buffer, so that the server notices early when a client stops reading.
pub async fn open(world: &Harness, headers: &[(&str, &str)]) -> Result<Socket, tungstenite::Error> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 << 10).unwrap();
    let stream = socket.connect(world.addr).await.unwrap();
    client_async(request(world, headers), stream)
        .await
        .map(|(socket, _)| socket)
}

pub async fn open_as(world: &Harness, token: &str) -> Socket {
    let mut socket = open(world, &[("authorization", &format!("Bearer {token}"))])
        .await
        .unwrap();
    settled(&mut socket).await;
    socket
}

/// Waits for a response, which shows that the stream is subscribed.
pub async fn settled(socket: &mut Socket) {
    send_frame(socket, json!({"type": "hello"})).await;
    assert_eq!(frame(socket).await["code"], "message_invalid");
}

pub async fn send_frame(socket: &mut Socket, frame: Value) {
    socket.send(Message::text(frame.to_string())).await.unwrap();
}

/// The next frame other than a ping.
pub async fn frame(socket: &mut Socket) -> Value {
    loop {
        match socket.next().await.unwrap().unwrap() {
            Message::Text(text) => {
                let frame: Value = serde_json::from_str(&text).unwrap();
                if frame["type"] != "ping" {
                    return frame;
                }
            }
            other => panic!("expected a frame, got {other:?}"),
        }
    }
}

pub async fn seqs(socket: &mut Socket, count: usize) -> Vec<u64> {
    let mut seqs = Vec::new();
    while seqs.len() < count {
        let frame = frame(socket).await;
        assert_eq!(frame["type"], "event", "{frame}");
        seqs.push(frame["event"]["seq"].as_u64().unwrap());
    }
    seqs
}

/// Reads until the stream closes. Returns the received sequences, the close code and the reason.
pub async fn until_closed(socket: &mut Socket) -> (Vec<u64>, u16, String) {
    let mut seqs = Vec::new();
    while let Some(message) = socket.next().await {
        match message.unwrap() {
            Message::Close(Some(close)) => return (seqs, close.code.into(), close.reason.to_string()),
            Message::Text(text) => {
                let frame: Value = serde_json::from_str(&text).unwrap();
                seqs.extend(frame["event"]["seq"].as_u64());
            }
            _ => {}
        }
    }
    panic!("closed without a reason");
}

/// Reads until this event arrives or the stream closes. Returns the received sequences.
async fn read_until(socket: &mut Socket, last: u64) -> Vec<u64> {
    let mut seqs = Vec::new();
    while seqs.last() != Some(&last) {
        match socket.next().await.unwrap().unwrap() {
            Message::Close(Some(close)) => {
                assert_eq!(u16::from(close.code), 4008, "{close}");
                break;
            }
            Message::Text(text) => {
                let frame: Value = serde_json::from_str(&text).unwrap();
                seqs.extend(frame["event"]["seq"].as_u64());
            }
            _ => {}
        }
    }
    seqs
}

// Checks: a subscriber that connects while events are committed receives each of its events once, in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_64_replay_and_live_meet_without_gap_or_duplicate() {
    let world = Harness::with(&[("stream.buffer_bytes", "20000")]).await;
    let store = world.store.clone();
    let writer = std::thread::spawn(move || {
        for n in 0..4_000 {
            store.commit_event(if n % 4 == 3 { BOB } else { ALICE }, "card.ready", 10);
        }
    });
    let mut socket = open_as(&world, "alice").await;
    send_frame(&mut socket, json!({"type": "subscribe", "after": 0})).await;
    let seen = seqs(&mut socket, 3_000).await;
    let expected: Vec<u64> = (1..=4_000).filter(|n| n % 4 != 0).collect();
    assert_eq!(seen, expected);
    writer.join().unwrap();
}

// Checks: resuming after a sequence starts directly behind it. Type filters keep the cursor. Without `after` only later
// events are sent.
#[tokio::test]
async fn subscription_starts_at_its_cursor() {
    let world = Harness::start().await;
    for kind in ["card.pending", "card.ready", "payment.settled", "card.ready"] {
        world.store.commit_event(ALICE, kind, 0);
    }
    let mut socket = open_as(&world, "alice").await;
    send_frame(
        &mut socket,
        json!({"type": "subscribe", "after": 1, "types": ["card.ready"]}),
    )
    .await;
    assert_eq!(seqs(&mut socket, 2).await, [2, 4]);
    send_frame(&mut socket, json!({"type": "subscribe", "after": 2})).await;
    assert_eq!(seqs(&mut socket, 2).await, [3, 4]);

    let mut fresh = open_as(&world, "alice").await;
    send_frame(&mut fresh, json!({"type": "subscribe"})).await;
    send_frame(&mut fresh, json!({"type": "nonsense"})).await;
    assert_eq!(frame(&mut fresh).await["code"], "message_invalid");
    world.store.commit_event(ALICE, "card.closed", 0);
    let event = frame(&mut fresh).await;
    assert_eq!(
        event["event"],
        json!({
            "seq": 5, "id": EventId(1), "type": "card.closed", "api_version": API_VERSION,
            "created_at": "1970-01-01T00:00:00.000Z", "user_id": ALICE.user_id(),
            "data": {"object": {"pad": ""}}, "previous": {}, "actor": {"type": "provider", "in_browser": false},
        })
    );
}

// Checks: a first message can carry the token. Silence, another message and an invalid token end with 4001, a frozen
// account with 4003.
#[tokio::test]
async fn first_message_can_carry_the_token() {
    let world = Harness::with(&[("stream.auth_timeout_ms", "100")]).await;
    let mut good = open(&world, &[]).await.unwrap();
    send_frame(&mut good, json!({"type": "auth", "token": "alice"})).await;
    settled(&mut good).await;
    for (first, code) in [
        (None, 4001),
        (Some(json!({"type": "subscribe"})), 4001),
        (Some(json!({"type": "auth", "token": "unknown"})), 4001),
        (Some(json!({"type": "auth", "token": "frozen"})), 4003),
    ] {
        let mut socket = open(&world, &[]).await.unwrap();
        if let Some(message) = first {
            send_frame(&mut socket, message).await;
        }
        assert_eq!(until_closed(&mut socket).await.1, code);
    }
}

#[tokio::test]
async fn session_cookie_requires_our_origin() {
    let world = Harness::start().await;
    let ours = format!("http://{}", world.addr);
    let cookie = ("cookie", "purser_session=alice");
    assert!(open(&world, &[cookie, ("origin", &ours)]).await.is_ok());
    for (headers, status) in [
        (&[cookie, ("origin", "https://evil.example")][..], 403),
        (&[cookie], 403),
        (&[cookie, ("origin", "null")], 403),
        (&[("cookie", "purser_session=expired"), ("origin", &ours)], 401),
        (&[("authorization", "Bearer expired")], 401),
        (&[("authorization", "Bearer frozen")], 403),
    ] {
        match open(&world, headers).await {
            Err(tungstenite::Error::Http(answer)) => {
                assert_eq!(answer.status(), status, "{headers:?}");
                // Rejected upgrades carry the rate-limit headers too (case 58).
                assert_eq!(answer.headers()["ratelimit-limit"], "600");
            }
            other => panic!("{headers:?}: {other:?}"),
        }
    }
}

// Checks: a client that stops reading is closed with 4008 and its cursor. Resuming there neither misses nor repeats an
// event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_64_slow_consumer_is_closed_with_its_cursor() {
    let world = Harness::with(&[("stream.send_timeout_ms", "100"), ("stream.close_grace_ms", "60000")]).await;
    let last = 1_500;
    for _ in 0..last {
        world.store.commit_event(ALICE, "card.ready", 12_000);
    }
    let mut socket = open_as(&world, "alice").await;
    send_frame(&mut socket, json!({"type": "subscribe", "after": 0})).await;
    // The server ends the subscription when its send buffer is full. The test reads nothing until then.
    while world.hub.subscriptions() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (mut seen, code, reason) = until_closed(&mut socket).await;
    assert_eq!(code, 4008);
    let reason: Value = serde_json::from_str(&reason).unwrap();
    let cursor = reason["cursor"].as_u64().unwrap();
    assert!(cursor > 0 && cursor < last, "{cursor}");
    assert_eq!(seen.last(), Some(&cursor));

    // On a busy machine the reader may be too slow again. It then resumes at the cursor of the close frame.
    while seen.last() != Some(&last) {
        let mut again = open_as(&world, "alice").await;
        let after = seen.last().copied().unwrap_or_default();
        send_frame(&mut again, json!({"type": "subscribe", "after": after})).await;
        seen.extend(read_until(&mut again, last).await);
    }
    assert_eq!(seen, (1..=last).collect::<Vec<u64>>());
}

// Checks: revocation and expiry close with 4001, a stop with 1001 and the cursor, an expired cursor with 4010.
#[tokio::test]
async fn stream_closes_with_the_matching_code() {
    let world = Harness::start().await;
    let mut revoked = open_as(&world, "alice").await;
    let mut bob = open_as(&world, "bob").await;
    world.hub.revoke(&ALICE, SessionId(1));
    assert_eq!(until_closed(&mut revoked).await.1, 4001);

    let mut expiring = open_as(&world, "alice-for-a-moment").await;
    assert_eq!(until_closed(&mut expiring).await.1, 4001);

    world.store.commit_event(ALICE, "card.ready", 0);
    world.store.oldest.store(100, Ordering::SeqCst);
    let mut lost = open_as(&world, "alice").await;
    send_frame(&mut lost, json!({"type": "subscribe", "after": 1})).await;
    let (_, code, reason) = until_closed(&mut lost).await;
    assert_eq!((code, reason.as_str()), (4010, r#"{"oldest":100}"#));

    world.hub.stop();
    let (_, code, reason) = until_closed(&mut bob).await;
    assert_eq!((code, reason.as_str()), (1001, r#"{"cursor":0}"#));
}

// Checks: unauthenticated connections count against the limit, so that silent clients cannot fill the memory. The error
// is an ordinary 503.
#[tokio::test]
async fn unauthenticated_streams_count_against_the_limit() {
    let world = Harness::with(&[("stream.max_connections", "1")]).await;
    let _silent = open(&world, &[]).await.unwrap();
    match open(&world, &[("authorization", "Bearer alice")]).await {
        Err(tungstenite::Error::Http(answer)) => {
            assert_eq!(
                (answer.status().as_u16(), &answer.headers()["retry-after"]),
                (503, &"5".parse().unwrap())
            );
        }
        other => panic!("{other:?}"),
    }
}

// Checks: a client can send a limited number of messages in a minute. One more closes the stream, and the next minute
// starts at zero.
#[tokio::test]
async fn client_messages_are_rate_limited() {
    let world = Harness::with(&[("stream.messages_per_minute", "6")]).await;
    let (mut patient, mut hasty) = (open_as(&world, "alice").await, open_as(&world, "bob").await);
    // The first message of each connection was its greeting.
    for n in 2..=6 {
        for socket in [&mut patient, &mut hasty] {
            send_frame(socket, json!({"type": "subscribe", "types": [n]})).await;
            assert_eq!(frame(socket).await["code"], "message_invalid", "message {n}");
        }
    }
    send_frame(&mut hasty, json!({"type": "subscribe"})).await;
    assert_eq!(until_closed(&mut hasty).await.1, 4029);
    assert_eq!(world.hub.rate_limited(), 1);
    world.clock.0.fetch_add(60_000, Ordering::SeqCst);
    settled(&mut patient).await;
}

// Checks: a page of the newest events reads about as many as it shows, however many there are, and one with a filter
// reads no more than the limit of a scan.
#[tokio::test]
async fn page_of_events_reads_few_of_many() {
    let world = Harness::start().await;
    for _ in 0..6_000 {
        world.store.commit_event(ALICE, "card.ready", 0);
    }
    let reads = async |query: &str| {
        let before = world.store.read.load(Ordering::SeqCst);
        let path = format!("/events?{query}");
        let page = world.request("GET", &path, &["authorization: Bearer alice"], "").await;
        assert_eq!(page.json()["has_more"], true);
        world.store.read.load(Ordering::SeqCst) - before
    };
    assert_eq!(reads("order=desc&limit=20").await, 41);
    assert_eq!(reads("limit=20&after=1000").await, 41);
    assert!(reads("order=desc&types=card.pending").await <= 5_500);
}

// Checks: pages contain the events of the caller, in order, without gaps and with the filter. An expired cursor is a
// 410.
#[tokio::test]
async fn events_are_paged() {
    let world = Harness::start().await;
    for n in 0..5 {
        world
            .store
            .commit_event(ALICE, if n % 2 == 0 { "card.ready" } else { "card.pending" }, 0);
        world.store.commit_event(BOB, "card.ready", 0);
    }
    let ask = async |query: &str| {
        world
            .request("GET", &format!("/events{query}"), &["authorization: Bearer alice"], "")
            .await
    };
    let seqs = |page: &Value| -> Vec<u64> {
        page["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["seq"].as_u64().unwrap())
            .collect()
    };
    let first = ask("?limit=2").await;
    assert_eq!(first.header("cache-control"), "private, no-store");
    let first = first.json();
    assert_eq!((seqs(&first), &first["has_more"]), (vec![1, 3], &true.into()));
    let rest = ask(&format!("?after={}", first["next_after"])).await.json();
    assert_eq!((seqs(&rest), &rest["has_more"]), (vec![5, 7, 9], &false.into()));
    assert_eq!(seqs(&ask("?types=card.pending").await.json()), [3, 7]);
    assert_eq!(seqs(&ask("?types=card.*&limit=5").await.json()), [1, 3, 5, 7, 9]);
    assert_eq!(ask("?limit=101").await.code(), "parameter_invalid");
    for types in ["a;b", "card.redy", "card.ready,cards.*"] {
        assert_eq!(
            ask(&format!("?types={types}")).await.code(),
            "parameter_invalid",
            "{types}"
        );
    }
    let ahead = ask("?after=1000000").await;
    assert_eq!((ahead.status, ahead.code().as_str()), (400, "cursor_ahead"));
    let frozen = world
        .request("GET", "/events", &["authorization: Bearer frozen"], "")
        .await;
    assert_eq!(
        (frozen.status, &frozen.json()["frozen_message"]),
        (403, &"Please write to us.".into())
    );
    world.store.oldest.store(5, Ordering::SeqCst);
    let lost = ask("?after=1").await;
    assert_eq!((lost.status, lost.code().as_str()), (410, "cursor_expired"));
    // No cursor, or 0, never counts as expired: the page starts with the oldest stored event.
    for query in ["", "?after=0"] {
        assert_eq!(seqs(&ask(query).await.json()), [5, 7, 9]);
    }
}
