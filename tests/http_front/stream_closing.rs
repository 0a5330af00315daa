//! How streams close, and paging events from the newest.

use futures_util::StreamExt as _;
use purser_actors::id::SessionId;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::harness::{ALICE, BOB, Harness};
use crate::stream::{open, open_as, send_frame, until_closed};

// Checks: the server echoes the close code and reason of the client, then the connection ends. This holds before
// authentication, while subscribed and while events are being sent. When the server closes, it waits a limited time for
// the response of the client.
#[tokio::test]
async fn stream_close_handshake_completes_from_either_side() {
    let world = Harness::with(&[("stream.close_grace_ms", "200")]).await;
    let mut listening = open_as(&world, "bob").await;
    send_frame(&mut listening, json!({"type": "subscribe", "after": 0})).await;
    let mut busy = open_as(&world, "alice").await;
    for _ in 0..50 {
        world.store.commit_event(ALICE, "card.ready", 100);
    }
    send_frame(&mut busy, json!({"type": "subscribe", "after": 0})).await;
    let silent = open(&world, &[]).await.unwrap();
    for (mut socket, code, reason) in [(silent, 1000, "done"), (listening, 3000, ""), (busy, 4321, "enough")] {
        let frame = CloseFrame {
            code: CloseCode::from(code),
            reason: reason.into(),
        };
        socket.close(Some(frame)).await.unwrap();
        let (_, answered, words) = until_closed(&mut socket).await;
        assert_eq!((answered, words.as_str()), (code, reason));
        assert!(
            socket.next().await.is_none(),
            "the server ends the connection, and does not reset it"
        );
    }

    let mut revoked = open_as(&world, "alice").await;
    world.hub.revoke(&ALICE, SessionId(1));
    assert_eq!(until_closed(&mut revoked).await.1, 4001);
    assert!(
        revoked.next().await.is_none(),
        "our close was answered, and the connection ended"
    );

    let mut mute = open_as(&world, "alice").await;
    world.hub.revoke(&ALICE, SessionId(1));
    // Reads all frames and never responds.
    let mut raw = Vec::new();
    mute.get_mut().read_to_end(&mut raw).await.unwrap();
    assert!(raw.windows(2).any(|two| two == 4001u16.to_be_bytes()), "{raw:?}");
}

// Checks: pages from the newest and from the oldest event have the same events. The two directions cannot be mixed. A
// session cookie reads them too, because the account page does.
#[tokio::test]
async fn events_are_paged_from_the_newest() {
    let world = Harness::start().await;
    for n in 0..5 {
        let kind = if n % 2 == 0 { "card.ready" } else { "card.pending" };
        world.store.commit_event(ALICE, kind, 0);
        world.store.commit_event(BOB, "card.ready", 0);
    }
    let ask = async |query: &str, header: &str| world.request("GET", &format!("/events?{query}"), &[header], "").await;
    let alice = "authorization: Bearer alice";
    let seqs = |page: &Value| -> Vec<u64> {
        let events = page["events"].as_array().unwrap().iter();
        events.map(|e| e["seq"].as_u64().unwrap()).collect()
    };
    let newest = ask("order=desc&limit=2", alice).await.json();
    assert_eq!((seqs(&newest), &newest["has_more"]), (vec![9, 7], &true.into()));
    assert_eq!(newest["next_after"], Value::Null);
    let next = ask(&format!("order=desc&before={}", newest["next_before"]), alice)
        .await
        .json();
    assert_eq!((seqs(&next), &next["has_more"]), (vec![5, 3, 1], &false.into()));
    assert_eq!(next["next_before"], Value::Null);
    let pending = ask("order=desc&types=card.pending&limit=1", alice).await.json();
    assert_eq!(seqs(&pending), [7]);
    for (query, param) in [
        ("order=newest", "order"),
        ("before=3", "before"),
        ("order=desc&after=3", "after"),
    ] {
        let refused = ask(query, alice).await;
        assert_eq!(
            (refused.status, &refused.json()["param"]),
            (400, &param.into()),
            "{query}"
        );
    }
    assert_eq!(
        seqs(&ask("order=desc", "cookie: purser_session=alice").await.json()),
        [9, 7, 5, 3, 1]
    );
    let stranger = ask("order=desc", "cookie: other=1").await;
    assert_eq!((stranger.status, stranger.code().as_str()), (401, "token_missing"));
}
