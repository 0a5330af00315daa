//! Errors of a paid call with the server's response: its status and the beginning of its body. For our own routes: the
//! code, message and hint of the error.

use serde_json::Value;

use super::super::error::{ApiError, Seller};

/// Maximum bytes of a server's body in an error.
const MAX_SELLER_BODY_BYTES: usize = 2_048;

/// Adds the server's response to an error. With `own`, the call went to our own route, and the error shows that route's
/// error instead of its body.
pub(super) fn with_seller_response(error: ApiError, own: bool, status: u16, body: &[u8]) -> ApiError {
    let Some(ours) = own.then(|| parse_local_error(body)).flatten() else {
        let body = Some(readable(body));
        return error.seller(Seller { status, body });
    };
    let error = error.seller(Seller { status, body: None }).reason(ours.code);
    let error = match &ours.error {
        Some(sentence) => error.because(sentence),
        None => error,
    };
    match (ours.hint, error.hint.clone()) {
        (Some(own), Some(known)) => error.hint(format!("{own} {known}")),
        (Some(own), None) => error.hint(own),
        (None, _) => error,
    }
}

/// The beginning of a body as plain text. Characters that move a cursor or are invisible become spaces.
fn readable(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut readable = String::new();
    for c in text.chars() {
        let c = if c.is_control() || c == '\u{feff}' { ' ' } else { c };
        if readable.len() + c.len_utf8() > MAX_SELLER_BODY_BYTES {
            break;
        }
        readable.push(c);
    }
    readable.trim().to_owned()
}

/// Fields of an error of our own routes.
struct LocalError {
    code: String,
    error: Option<String>,
    hint: Option<String>,
}

/// Parses an error of our own routes, plain or of a callable function.
fn parse_local_error(body: &[u8]) -> Option<LocalError> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let callable = body.get("error").filter(|error| error.is_object());
    let inside = callable.unwrap_or(&body);
    let text = |name: &str| inside.get(name).and_then(Value::as_str).map(str::to_owned);
    let error = if callable.is_some() {
        text("message")
    } else {
        text("error")
    };
    Some(LocalError {
        code: text("code")?,
        error,
        hint: text("hint"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::http::error::ErrorCode;

    fn error() -> ApiError {
        ApiError::new(ErrorCode::HttpError, "It answered with an error.").hint("Nothing was signed.")
    }

    // Checks: the server's response is shown bounded and readable; a code and hint appear only for our own routes.
    #[test]
    fn error_shows_bounded_server_response() {
        let plain = br#"{"error":"No.","code":"identity_verification_required","hint":"Verify."}"#;
        let callable = br#"{"error":{"code":"identity_verification_required","message":"No.","hint":"Verify."}}"#;
        for body in [&plain[..], &callable[..]] {
            let own = with_seller_response(error(), true, 412, body);
            assert_eq!(own.reason.as_deref(), Some("identity_verification_required"));
            assert_eq!(own.hint.as_deref(), Some("Verify. Nothing was signed."));
            assert_eq!(own.error, "It answered with an error. No.");
            let seller = own.seller.as_ref().unwrap();
            assert_eq!((seller.status, seller.body.as_deref()), (412, None));
            let other = with_seller_response(error(), false, 412, body);
            assert_eq!(
                (other.reason.as_deref(), other.hint.as_deref()),
                (None, Some("Nothing was signed."))
            );
            let seller = other.seller.as_ref().unwrap();
            assert_eq!(
                (seller.status, seller.body.as_deref()),
                (412, std::str::from_utf8(body).ok())
            );
        }
        let odd = with_seller_response(error(), true, 500, "é\u{1b}[2J\r\n".repeat(1_000).as_bytes());
        let shown = odd.seller.as_ref().unwrap().body.as_deref().unwrap();
        assert!(
            shown.len() <= MAX_SELLER_BODY_BYTES
                && shown.len() > MAX_SELLER_BODY_BYTES - 8
                && !shown.contains(char::is_control)
        );
        assert_eq!(
            with_seller_response(error(), true, 500, b"")
                .seller
                .as_ref()
                .unwrap()
                .body
                .as_deref(),
            Some("")
        );
    }
}
