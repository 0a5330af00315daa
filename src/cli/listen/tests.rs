//! The stream cursor of `purser listen`.

#![allow(clippy::unwrap_used)]
use super::*;

fn event(seq: u64) -> String {
    json!({"type": "event", "event": {"seq": seq, "type": "card.ready"}}).to_string()
}

#[test]
fn case_64_a_reconnect_resumes_after_the_last_event() {
    // Checks: the cursor follows the printed events, never moves back, and is the start of the next subscription.
    let mut cursor = StreamCursor {
        after: None,
        types: vec!["card.ready".to_owned()],
        as_json: true,
        is_new: false,
    };
    assert_eq!(
        cursor.subscribe(),
        json!({"type": "subscribe", "types": ["card.ready"]})
    );
    for (seq, after) in [(5, 5), (7, 7), (7, 7), (6, 7), (9, 9)] {
        assert_eq!(cursor.handle_message(&event(seq)).unwrap(), None);
        assert_eq!(cursor.subscribe()["after"], after);
    }
    assert_eq!(cursor.handle_message(r#"{"type":"ping"}"#).unwrap(), None);
    assert_eq!(cursor.handle_message(r#"{"type":"later"}"#).unwrap(), None);
    assert!(
        cursor
            .handle_message(r#"{"type":"error","code":"types_invalid"}"#)
            .is_err()
    );
    assert!(matches!(
        cursor.handle_message("x").unwrap(),
        Some(ConnectionEnd::Failed(_))
    ));
    assert_eq!(cursor.after, Some(9));
}

#[test]
fn ping_contains_the_resume_position() {
    // Checks: without any event the client resumes where it started, not where it reconnects; a ping never moves the
    // cursor back.
    let mut cursor = StreamCursor {
        after: None,
        types: Vec::new(),
        as_json: true,
        is_new: false,
    };
    for (ping, after) in [
        (r#"{"type":"ping","cursor":4}"#, 4),
        (r#"{"type":"ping","cursor":9}"#, 9),
        (r#"{"type":"ping","cursor":5}"#, 9),
        (r#"{"type":"ping"}"#, 9),
    ] {
        assert_eq!(cursor.handle_message(ping).unwrap(), None);
        assert_eq!(cursor.after, Some(after));
    }
}

#[test]
fn a_cursor_that_is_too_old_moves_to_what_is_kept() {
    // Checks: after 4010 the next subscription starts at the oldest stored event, also when a restored service uses
    // other numbers. A server that repeats 4010 is not queried without a pause.
    let mut cursor = StreamCursor {
        after: Some(38),
        types: Vec::new(),
        as_json: true,
        is_new: false,
    };
    assert!(matches!(
        cursor.skip(r#"{"oldest":4294967356}"#),
        ConnectionEnd::Reconnect(_)
    ));
    assert_eq!(cursor.subscribe()["after"], 4_294_967_355u64);
    assert!(matches!(
        cursor.skip(r#"{"oldest":4294967356}"#),
        ConnectionEnd::Failed(_)
    ));
    assert!(matches!(cursor.skip("gone"), ConnectionEnd::Failed(_)));
    assert_eq!(cursor.after, Some(4_294_967_355));
}
