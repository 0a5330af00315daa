//! What a WebSocket client may say, and which events it asks for.

use std::collections::BTreeSet;

use bolero::check;
use purser::stream::{ClientMessage, EventFilter};
use serde_json::{Value, json};

use crate::input::{FuzzInput, change_json, change_text};

fn valid_messages() -> [Value; 5] {
    [
        json!({"type": "auth", "token": "eyJ.x.y"}),
        json!({"type": "subscribe"}),
        json!({"type": "subscribe", "after": 7, "types": []}),
        json!({"type": "subscribe", "after": u64::MAX, "types": ["card.*", "payment.settled"]}),
        json!({"type": "pong"}),
    ]
}

/// The message as a document, from what was read of it.
fn written(frame: &ClientMessage) -> Value {
    match frame {
        ClientMessage::Auth { token } => json!({"type": "auth", "token": token}),
        ClientMessage::Subscribe { after, types } => json!({"type": "subscribe", "after": after, "types": types}),
        ClientMessage::Pong {} => json!({"type": "pong"}),
    }
}

#[test]
fn a_message_is_read_as_what_it_says_or_not_at_all() {
    // Checks: every member of a parsed message is known, given once, and parsed faithfully. Nothing panics.
    for message in valid_messages() {
        serde_json::from_value::<ClientMessage>(message).unwrap();
    }
    check!()
        .with_iterations(6_000)
        .with_max_len(256)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut text = String::from_utf8_lossy(bytes).into_owned();
            if !dice.one_in(8) {
                let mut message = dice.of(&valid_messages()).clone();
                (0..dice.below(3)).for_each(|_| change_json(&mut message, &valid_messages(), &mut dice));
                text = message.to_string();
                (0..dice.below(3)).for_each(|_| text = change_text(&text, &mut dice));
            }
            let Ok(frame) = serde_json::from_str::<ClientMessage>(&text) else {
                return;
            };
            let Ok(Value::Object(members)) = serde_json::from_str(&text) else {
                panic!("not an object: {text}")
            };
            let read = written(&frame);
            for (name, value) in &members {
                assert_eq!(&read[name], value, "{name} in {text}");
            }
            for (name, value) in read.as_object().unwrap() {
                assert!(
                    members.contains_key(name) || value.is_null() || *value == json!([]),
                    "{name} in {text}"
                );
            }
        });
}

/// Whether a pattern reads as a name: where in the name one may be after each character of the pattern.
fn reads(pattern: &[u8], name: &[u8]) -> bool {
    let mut places = BTreeSet::from([0]);
    for expected in pattern {
        places = match (expected, places.first()) {
            (b'*', Some(first)) => (*first..=name.len()).collect(),
            _ => places
                .iter()
                .filter(|at| name.get(**at) == Some(expected))
                .map(|at| at + 1)
                .collect(),
        };
    }
    places.contains(&name.len())
}

#[test]
fn filter_matches_exactly_the_named_types() {
    // Checks: for every event type, a filter's verdict matches its list. A filter that is not a list of names is
    // rejected.
    const TYPES: [&str; 5] = [
        "card.ready",
        "card.failed",
        "cardboard.ready",
        "payment.settled",
        "card",
    ];
    let known = purser_actors::engine::event_types();
    check!()
        .with_iterations(4_000)
        .with_max_len(96)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut text = String::from_utf8_lossy(bytes).into_owned();
            if dice.one_in(2) {
                let names = [
                    "card.*",
                    "card.ready",
                    "*",
                    "payment.*",
                    "c*d*.*a*d*",
                    "*.settled",
                    "",
                    "*.ready",
                ];
                text = (0..dice.below(70))
                    .map(|_| *dice.of(&names))
                    .collect::<Vec<_>>()
                    .join(",");
                (0..dice.below(2)).for_each(|_| text = change_text(&text, &mut dice));
            }
            let names: Vec<&str> = text.split(',').filter(|name| !name.is_empty()).collect();
            let plain = |name: &&str| {
                name.len() <= 64
                    && name
                        .bytes()
                        .all(|b| b"abcdefghijklmnopqrstuvwxyz0123456789_.-*".contains(&b))
            };
            let listed = names.len() <= 64 && names.iter().all(plain);
            let fits = |name: &&str| known.iter().any(|kind| reads(name.as_bytes(), kind.as_bytes()));
            let filter = EventFilter::from_query(&text);
            assert_eq!(filter.is_ok(), listed && names.iter().all(fits), "{text}");
            let Ok(filter) = filter else { return };
            for kind in TYPES {
                let named = |name: &&str| reads(name.as_bytes(), kind.as_bytes());
                assert_eq!(
                    filter.matches(kind),
                    names.is_empty() || names.iter().any(named),
                    "{text} and {kind}"
                );
            }
        });
}
