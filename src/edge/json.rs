//! JSON in and out: exact numbers, bounded bodies.

use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use purser_actors::kernel::sanitize_text;
use purser_actors::money::{Cents, Usdc};
use rust_decimal::Decimal;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::ser::{CharEscape, Formatter};
use serde_json::value::RawValue;

use super::error::{ApiError, ErrorCode};
use purser_config::suggest::closest_match;

/// A decimal that serializes as a JSON number with exactly its digits. Serialize it straight to text:
/// `serde_json::Value` would convert it to a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactNumber(pub Decimal);

impl From<Cents> for ExactNumber {
    fn from(cents: Cents) -> Self {
        Self(cents.decimal())
    }
}

impl From<Usdc> for ExactNumber {
    fn from(usdc: Usdc) -> Self {
        Self(usdc.decimal())
    }
}

impl Serialize for ExactNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0.normalize().to_string();
        RawValue::from_string(text)
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

pub fn ok<T: Serialize>(value: &T) -> Response {
    with_status(StatusCode::OK, value)
}

/// 200 with a JSON body that has external text. Markup and terminal control characters are escaped, so the text is
/// inert wherever it is displayed.
pub fn inert<T: Serialize>(value: &T) -> Response {
    written(StatusCode::OK, serde_json::to_string(value).map(sanitize_text))
}

pub fn with_status<T: Serialize>(status: StatusCode, value: &T) -> Response {
    written(status, serde_json::to_vec(value))
}

fn written(status: StatusCode, body: Result<impl Into<bytes::Bytes>, serde_json::Error>) -> Response {
    match body {
        Ok(body) => {
            let mut response = bytes_as_json(body);
            *response.status_mut() = status;
            response
        }
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            ApiError::internal().into_response()
        }
    }
}

/// 200 with serialized JSON.
pub fn bytes_as_json(bytes: impl Into<bytes::Bytes>) -> Response {
    let mut response = Response::new(Body::from(bytes.into()));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer of 200 that belongs to one caller. Its text is written by [`escaped`].
pub struct Private<T>(pub T);

impl<T: Serialize> IntoResponse for Private<T> {
    fn into_response(self) -> Response {
        private(written(StatusCode::OK, escaped(&self.0)))
    }
}

/// JSON text as the views of entities have it: every character that could end a string or that a terminal or a page could
/// act upon is escaped by its number.
///
/// # Errors
/// When the value cannot be serialized.
pub fn escaped<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let mut out = Vec::with_capacity(256);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, EscapeByNumber))?;
    let text = String::from_utf8(out).map_err(serde::ser::Error::custom)?;
    Ok(sanitize_text(text))
}

/// Writes `\u000a` where serde_json writes `\n`.
struct EscapeByNumber;

impl Formatter for EscapeByNumber {
    fn write_char_escape<W: ?Sized + io::Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        let code = match escape {
            CharEscape::Quote => return writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => return writer.write_all(b"\\\\"),
            CharEscape::Solidus => return writer.write_all(b"/"),
            CharEscape::Backspace => 0x08,
            CharEscape::FormFeed => 0x0c,
            CharEscape::LineFeed => b'\n',
            CharEscape::CarriageReturn => b'\r',
            CharEscape::Tab => b'\t',
            CharEscape::AsciiControl(byte) => byte,
        };
        write!(writer, "\\u{code:04x}")
    }
}

/// Marks a response that belongs to one caller only (case 18).
pub fn private(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    response
}

/// Reads a JSON body within a size and a time.
///
/// # Errors
/// 413 `body_too_large`, 408 `request_timeout`, 400 `body_malformed`, or `parameter_…` with the field at fault.
pub async fn read<T: DeserializeOwned>(body: Body, max_bytes: usize, within: Duration) -> Result<T, ApiError> {
    deserialize(&collect(body, max_bytes, within).await?)
}

/// Reads a body within a size and a time.
///
/// # Errors
/// 413 `body_too_large`, 408 `request_timeout`, 400 `body_malformed`.
pub async fn collect(body: Body, max_bytes: usize, within: Duration) -> Result<bytes::Bytes, ApiError> {
    use http_body_util::{BodyExt, LengthLimitError, Limited};
    let collected = tokio::time::timeout(within, Limited::new(body, max_bytes).collect());
    match collected.await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {
            let none = http::HeaderMap::new();
            Err(ApiError::of_status(StatusCode::PAYLOAD_TOO_LARGE, &none))
        }
        Ok(Err(_)) => Err(malformed("The body broke off.")),
        Err(_) => {
            let none = http::HeaderMap::new();
            Err(ApiError::of_status(StatusCode::REQUEST_TIMEOUT, &none))
        }
    }
}

/// Deserializes a request. Errors name the field at fault without repeating its value.
///
/// # Errors
/// 400 `body_malformed`, or `parameter_…` with the field at fault.
pub fn deserialize<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let mut text = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut text).map_err(|error| {
        let (path, error) = (error.path().to_string(), error.into_inner());
        if error.is_data() {
            field_error(&path, &error.to_string())
        } else {
            malformed("The body is not valid JSON.")
        }
    })?;
    text.end().map_err(|_| malformed("The body is not valid JSON."))?;
    // Serde also accepts a list for a struct, in field order. Clients must not depend on that.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(malformed("The body is not what this route takes."));
    }
    Ok(read)
}

/// Maps a serde error for a missing, unknown or mistyped field. Only serde's expectation is passed on, because a path
/// may hold names from the caller.
fn field_error(path: &str, message: &str) -> ApiError {
    let quoted = |before: &str| message.strip_prefix(before)?.split('`').next();
    let (code, name, error) = if let Some(name) = quoted("missing field `") {
        (ErrorCode::ParameterMissing, name, "The body lacks this field.")
    } else if let Some(name) = quoted("unknown field `") {
        (
            ErrorCode::ParameterUnrecognized,
            name,
            "This route does not take that field.",
        )
    } else if path == "." {
        return malformed("The body is not what this route takes.");
    } else {
        (
            ErrorCode::ParameterInvalid,
            path,
            "The field does not have a value that it can have.",
        )
    };
    let shown: String = name.chars().filter(char::is_ascii_graphic).take(64).collect();
    let error = ApiError::parameter(code, shown, error);
    let expected = message.rsplit_once(", expected ").map(|(_, expected)| expected);
    // In a quoted list of names, every second part is a name.
    let known = expected.unwrap_or_default().split('`').skip(1).step_by(2);
    if code == ErrorCode::ParameterUnrecognized
        && let Some(near) = closest_match(name, known)
    {
        return error.hint(format!("Did you mean `{near}`?"));
    }
    match expected.and_then(|w| w.split(" at line ").next()) {
        Some(expected) => error.hint(format!("Expected {expected}.")),
        None => error,
    }
}

fn malformed(error: &'static str) -> ApiError {
    ApiError::new(ErrorCode::BodyMalformed, error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: an amount of any size is serialized with its exact digits.
    #[test]
    fn numbers_keep_their_digits() {
        for (text, json) in [
            ("5.00", "5"),
            ("0.0025", "0.0025"),
            ("9007199254740993.07", "9007199254740993.07"),
            ("0", "0"),
        ] {
            let number = ExactNumber(Decimal::from_str_exact(text).unwrap());
            assert_eq!(serde_json::to_string(&[number]).unwrap(), format!("[{json}]"));
        }
    }

    // Checks: a typed answer escapes every character as the view of an entity does.
    #[test]
    fn answers_escape_as_views_do() {
        #[derive(Serialize)]
        struct Answer {
            text: String,
        }
        let text: String = ('\0'..='\u{2100}').chain(['\u{1f600}']).collect();
        let view = purser_actors::kernel::JsonObject::new().text("text", &text);
        assert_eq!(escaped(&Answer { text }).unwrap(), view.to_json());
    }

    // Checks: a body one byte past the limit is 413, one at the limit is read.
    #[tokio::test]
    async fn body_over_the_limit_is_rejected() {
        let read_at = |limit| read::<String>(Body::from(r#""1,2""#), limit, Duration::from_secs(60));
        assert_eq!(read_at(5).await.unwrap(), "1,2");
        assert_eq!(read_at(4).await.unwrap_err().code, ErrorCode::BodyTooLarge);
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct FieldProbe {
        #[serde(rename = "fault")]
        _fault: BodyFault,
        #[serde(rename = "times")]
        _times: Option<u32>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum BodyFault {
        Slow,
        Drop,
    }

    // Checks: the error names the field at fault and its expected type, but none of the caller's values.
    #[test]
    fn body_errors_name_the_field_without_its_value() {
        for (body, code, param, hint) in [
            ("{}", "parameter_missing", Some("fault"), None),
            (
                r#"{"fault":"rt_secret"}"#,
                "parameter_invalid",
                Some("fault"),
                Some("Expected `slow` or `drop`."),
            ),
            (
                r#"{"fault":"slow","times":"rt_secret"}"#,
                "parameter_invalid",
                Some("times"),
                Some("Expected u32."),
            ),
            (
                r#"{"fault":"drop","time":1}"#,
                "parameter_unrecognized",
                Some("time"),
                Some("Did you mean `times`?"),
            ),
            (
                r#"{"fault":"drop","colour":1}"#,
                "parameter_unrecognized",
                Some("colour"),
                Some("Expected `fault` or `times`."),
            ),
            ("[]", "body_malformed", None, None),
            (r#" ["slow", 1]"#, "body_malformed", None, None),
            ("7", "body_malformed", None, None),
            ("{", "body_malformed", None, None),
            (r#"{"fault":"slow"} x"#, "body_malformed", None, None),
        ] {
            let error = deserialize::<FieldProbe>(body.as_bytes()).unwrap_err();
            let actual = (error.code.as_str(), error.param.as_deref(), error.hint.as_deref());
            assert_eq!(actual, (code, param, hint), "{body}");
            assert!(!format!("{error:?}").contains("rt_secret"), "{body}");
        }
    }
}
