//! `/stream`: cursors, invalid messages and limits on streams.

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::harness::{ALICE, BOB, Harness};
use crate::stream::{Socket, frame, open, open_as, request, send_frame, seqs, until_closed};

/// The cursor of the next ping.
async fn ping(socket: &mut Socket) -> Option<u64> {
    loop {
        let Message::Text(text) = socket.next().await.unwrap().unwrap() else {
            panic!("not a text")
        };
        let frame: Value = serde_json::from_str(&text).unwrap();
        if frame["type"] == "ping" {
            return frame["cursor"].as_u64();
        }
    }
}

// Checks: a subscription is confirmed with its cursor. Later pings advance past filtered events, so that resuming there
// neither misses nor repeats an event.
#[tokio::test]
async fn case_64_ping_carries_a_resumable_cursor() {
    let world = Harness::with(&[
        ("stream.ping_interval_ms", "100"),
        ("stream.messages_per_minute", "2000"),
    ])
    .await;
    world.store.commit_event(ALICE, "card.ready", 0);
    let mut socket = open_as(&world, "alice").await;
    assert_eq!(ping(&mut socket).await, None, "no place before there is a subscription");
    send_frame(&mut socket, json!({"type": "subscribe", "types": ["payout.*"]})).await;
    let mut place = ping(&mut socket).await;
    while place.is_none() {
        place = ping(&mut socket).await;
    }
    assert_eq!(place, Some(1));
    for _ in 0..3 {
        world.store.commit_event(ALICE, "card.ready", 0);
    }
    while place != Some(4) {
        place = ping(&mut socket).await;
    }
    drop(socket);
    world.store.commit_event(ALICE, "payout.complete", 0);
    let mut again = open_as(&world, "alice").await;
    send_frame(
        &mut again,
        json!({"type": "subscribe", "after": 4, "types": ["payout.*"]}),
    )
    .await;
    assert_eq!(seqs(&mut again, 1).await, [5]);
}

// Checks: types are chosen by name and by pattern. Another subscription replaces the first.
#[tokio::test]
async fn subscription_filters_types_by_pattern() {
    let world = Harness::start().await;
    for kind in [
        "card.pending",
        "card.ready",
        "card_order.ready",
        "payout.failed",
        "top_up.failed",
    ] {
        world.store.commit_event(ALICE, kind, 0);
        world.store.commit_event(BOB, kind, 0);
    }
    let mut socket = open_as(&world, "alice").await;
    for (types, wanted) in [
        (json!(["card.*"]), &[1, 3][..]),
        (json!(["*.failed", "card.ready"]), &[3, 7, 9]),
        (json!(["card*.ready"]), &[3, 5]),
        (json!(["*"]), &[1, 3, 5, 7, 9]),
    ] {
        send_frame(&mut socket, json!({"type": "subscribe", "after": 0, "types": types})).await;
        assert_eq!(seqs(&mut socket, wanted.len()).await, wanted, "{types}");
    }
}

// Checks: an invalid message is answered with a code and field, and the existing subscription continues.
#[tokio::test]
async fn invalid_message_is_answered_and_keeps_the_subscription() {
    let world = Harness::start().await;
    world.store.commit_event(ALICE, "card.ready", 0);
    let mut socket = open_as(&world, "alice").await;
    send_frame(&mut socket, json!({"type": "subscribe", "types": ["card.ready"]})).await;
    let many: Vec<String> = (0..65).map(|n| format!("card.{n}")).collect();
    for (message, code, param) in [
        (json!([1]), "message_malformed", Value::Null),
        (json!({"type": "unsubscribe"}), "message_invalid", "type".into()),
        (
            json!({"type": "subscribe", "after": "1"}),
            "message_invalid",
            "after".into(),
        ),
        (
            json!({"type": "subscribe", "types": "card.*"}),
            "message_invalid",
            "types".into(),
        ),
        (json!({"type": "subscribe", "typs": []}), "message_invalid", Value::Null),
        (
            json!({"type": "subscribe", "types": ["Card.ready"]}),
            "types_invalid",
            "types".into(),
        ),
        (
            json!({"type": "subscribe", "types": many}),
            "types_invalid",
            "types".into(),
        ),
        (
            json!({"type": "subscribe", "types": ["card.redy"]}),
            "types_invalid",
            "types".into(),
        ),
        (json!({"type": "subscribe", "after": 2}), "cursor_ahead", "after".into()),
        (
            json!({"type": "auth", "token": "bob"}),
            "already_authenticated",
            Value::Null,
        ),
    ] {
        send_frame(&mut socket, message.clone()).await;
        let answer = frame(&mut socket).await;
        assert_eq!(
            (&answer["type"], &answer["code"]),
            (&json!("error"), &json!(code)),
            "{message}"
        );
        assert_eq!(answer["param"], param, "{message}");
        assert!(answer["error"].is_string(), "{message}");
    }
    world.store.commit_event(ALICE, "card.closed", 0);
    world.store.commit_event(ALICE, "card.ready", 0);
    assert_eq!(seqs(&mut socket, 1).await, [3]);
}

// Checks: streams of an account are limited. A client with a token or cookie gets an HTTP error before the upgrade;
// with the token in the first message it gets 4029. A closed stream frees its slot.
#[tokio::test]
async fn streams_of_an_account_are_limited() {
    let world = Harness::with(&[("stream.max_per_account", "1")]).await;
    let first = open_as(&world, "alice").await;
    let ours = format!("http://{}", world.addr);
    for headers in [
        &[("authorization", "Bearer alice")][..],
        &[("cookie", "purser_session=alice"), ("origin", &ours)],
    ] {
        match open(&world, headers).await {
            Err(tungstenite::Error::Http(answer)) => {
                assert_eq!(
                    (answer.status().as_u16(), &answer.headers()["retry-after"]),
                    (429, &"5".parse().unwrap())
                );
                assert_eq!(answer.headers()["ratelimit-limit"], "600");
            }
            other => panic!("{other:?}"),
        }
    }
    let mut late = open(&world, &[]).await.unwrap();
    send_frame(&mut late, json!({"type": "auth", "token": "alice"})).await;
    assert_eq!(until_closed(&mut late).await.1, 4029);
    let _other = open_as(&world, "bob").await;
    drop(first);
    while world.hub.subscriptions() > 1 {
        tokio::task::yield_now().await;
    }
    let _again = open_as(&world, "alice").await;
}

// Checks: the response that opens a stream carries the rate-limit headers and counts as a request.
#[tokio::test]
async fn case_58_upgrade_response_carries_rate_limit_headers() {
    let world = Harness::start().await;
    let stream = tokio::net::TcpStream::connect(world.addr).await.unwrap();
    let (_socket, answer) = client_async(request(&world, &[]), stream).await.unwrap();
    assert_eq!(answer.status(), 101);
    for name in ["ratelimit-remaining", "x-ratelimit-remaining"] {
        assert_eq!(answer.headers()[name], "599");
    }
}
