#![allow(clippy::unwrap_used)]
use super::*;

fn read(values: &[&[u8]]) -> Result<IdempotencyKey, ApiError> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(HEADER, HeaderValue::from_bytes(value).unwrap());
    }
    IdempotencyKey::read(&headers)
}

// Aim (case 54): 1 to 255 ASCII characters are a key; none at all is no key; everything else is refused.
#[test]
fn case_54_what_can_be_a_key() {
    assert_eq!(read(&[]).unwrap().0, None);
    for good in ["k", "a key, with = signs", &"x".repeat(255)] {
        assert_eq!(read(&[good.as_bytes()]).unwrap().0.as_deref(), Some(good));
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
        assert_eq!(read(values).unwrap_err().code, "idempotency_key_invalid", "{values:?}");
    }
}

// Aim: a refusal is remembered with every field that it had, and what must not be remembered is not.
#[test]
fn a_refusal_comes_back_as_it_was() {
    let refusal = ApiError::new(StatusCode::CONFLICT, "not_cancellable", "Too late.")
        .param("card_id")
        .hint("Nothing to be done.");
    let Some(RecordedResponse::Body { status, body }) = to_recorded_response(&Err(refusal.clone())) else {
        panic!("it is remembered");
    };
    assert_eq!(replay(status, body), Err(refusal));
    for passing in [
        ApiError::parameter("parameter_invalid", "x", "no"),
        ApiError::unauthorized("token_missing", "no"),
        ApiError::frozen("no"),
        ApiError::rate_limited(1),
        ApiError::unavailable("service_unavailable", "no", 1),
        ApiError::internal(),
    ] {
        assert_eq!(to_recorded_response(&Err(passing)), None);
    }
}

// Aim: what is remembered is answered again to the same request, so it is terminal then, whatever mends it for another key.
#[test]
fn a_remembered_refusal_is_terminal() {
    let first = ApiError::forbidden("cap_exceeded", "no");
    let again = ApiError::of_record(first.status, &first.to_record());
    assert_eq!((first.terminal, again.terminal), (false, true));
}

// Aim (case 53): a key stands for its route and what was asked, not for how the body was written.
#[test]
fn case_53_the_fingerprint_is_of_route_and_body() {
    let print =
        |route, text: &str| fingerprint(route, &serde_json::from_str::<serde_json::Value>(text).unwrap()).unwrap();
    let first = print("/withdraw", r#"{"a":1,"b":2}"#);
    assert_eq!(first, print("/withdraw", r#"{ "b":2, "a":1 }"#));
    assert_ne!(first, print("/withdraw", r#"{"a":1,"b":3}"#));
    let elsewhere = print("/withdraws", r#"{"a":1,"b":2}"#);
    assert_ne!(first[ROUTE_FINGERPRINT_BYTES..], elsewhere[ROUTE_FINGERPRINT_BYTES..]);
    assert!(
        first.starts_with(&route_fingerprint("/withdraw")) && !elsewhere.starts_with(&route_fingerprint("/withdraw"))
    );
}
