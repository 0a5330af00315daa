#![allow(clippy::unwrap_used)]
use http::HeaderValue;

use super::*;

fn read(values: &[&[u8]]) -> Result<IdempotencyKey, ApiError> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(HEADER, HeaderValue::from_bytes(value).unwrap());
    }
    IdempotencyKey::read(&headers)
}

// Checks (case 54): a key has 1 to 255 ASCII characters; a request without one has no key; anything else is rejected.
#[test]
fn case_54_key_has_1_to_255_ascii_characters() {
    assert_eq!(read(&[]).unwrap().0, None);
    for valid in ["k", "a key, with = signs", &"x".repeat(255)] {
        assert_eq!(read(&[valid.as_bytes()]).unwrap().0.as_deref(), Some(valid));
    }
    let long = "x".repeat(256);
    let bad: [&[&[u8]]; 5] = [
        &[b""],
        &[long.as_bytes()],
        &["ключ".as_bytes()],
        &[b"a", b"a"],
        &[b"a\tb"],
    ];
    for values in bad {
        assert_eq!(
            read(values).unwrap_err().code,
            ErrorCode::IdempotencyKeyInvalid,
            "{values:?}"
        );
    }
}

// Checks: a recorded error keeps all its fields, and errors that must not be recorded are not.
#[test]
fn recorded_error_keeps_all_fields() {
    let refusal = ApiError::new(ErrorCode::NotCancellable, "Too late.")
        .param("card_id")
        .hint("Nothing to be done.");
    let Some(RecordedResponse::Body { status, body }) = to_recorded_response(&Err(refusal.clone())) else {
        panic!("it is remembered");
    };
    assert_eq!(replay(status, body), Err(refusal));
    for passing in [
        ApiError::parameter(ErrorCode::ParameterInvalid, "x", "no"),
        ApiError::unauthorized(ErrorCode::TokenMissing, "no"),
        ApiError::frozen("no"),
        ApiError::rate_limited(1),
        ApiError::unavailable(ErrorCode::ServiceUnavailable, "no", 1),
        ApiError::internal(),
    ] {
        assert_eq!(to_recorded_response(&Err(passing)), None);
    }
}

// Checks: a recorded error is replayed to the same request, so it is terminal under its key.
#[test]
fn recorded_error_is_terminal() {
    let first = ApiError::new(ErrorCode::CapExceeded, "no");
    let again = ApiError::of_record(first.status, &first.to_record());
    assert_eq!((first.terminal, again.terminal), (false, true));
}

// Checks (case 53): a key stands for its route and the parsed request, not for the exact bytes of the body.
#[test]
fn case_53_fingerprint_covers_route_and_body() {
    let print =
        |route, text: &str| fingerprint(route, &serde_json::from_str::<serde_json::Value>(text).unwrap()).unwrap();
    let first = print("/withdraw", r#"{"a":1,"b":2}"#);
    assert_eq!(first, print("/withdraw", r#"{ "b":2, "a":1 }"#));
    assert_ne!(first, print("/withdraw", r#"{"a":1,"b":3}"#));
    let other_route = print("/withdraws", r#"{"a":1,"b":2}"#);
    assert_ne!(first[ROUTE_FINGERPRINT_BYTES..], other_route[ROUTE_FINGERPRINT_BYTES..]);
    assert!(
        first.starts_with(&route_fingerprint("/withdraw")) && !other_route.starts_with(&route_fingerprint("/withdraw"))
    );
}
