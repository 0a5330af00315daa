//! JSON in and out: exact numbers, bounded bodies.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use purser_actors::money::{Cents, Usdc};
use rust_decimal::Decimal;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::error::ApiError;
use crate::suggest::closest_match;

/// A decimal that serialises as a JSON number with exactly its digits. Must be written straight to text:
/// `serde_json::Value` would make a float of it.
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

/// 200 with a JSON body.
pub fn ok<T: Serialize>(value: &T) -> Response {
    with_status(StatusCode::OK, value)
}

/// 200 with a JSON body whose texts come from elsewhere: markup and what terminals obey is escaped, so that they stay texts
/// wherever they are shown.
pub fn inert<T: Serialize>(value: &T) -> Response {
    written(
        StatusCode::OK,
        serde_json::to_string(value).map(purser_actors::kernel::sanitize_text),
    )
}

/// Any status with a JSON body.
pub fn with_status<T: Serialize>(status: StatusCode, value: &T) -> Response {
    written(status, serde_json::to_vec(value))
}

fn written(status: StatusCode, body: Result<impl Into<bytes::Bytes>, serde_json::Error>) -> Response {
    use axum::response::IntoResponse;
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

/// 200 with a body that is JSON already.
pub fn bytes_as_json(bytes: impl Into<bytes::Bytes>) -> Response {
    let mut response = Response::new(Body::from(bytes.into()));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Marks an answer that belongs to one caller only (case 18).
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

/// Reads what a route takes, and names the field that does not fit without repeating its value.
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
    // Serde takes a list for an object too, its members in the order of ours: nobody is to depend on that.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(malformed("The body is not what this route takes."));
    }
    Ok(read)
}

/// A field that is missing, not known, or of another type. The texts are serde's, of which only what the route wants is
/// passed on; a path can hold the caller's own names.
fn field_error(path: &str, said: &str) -> ApiError {
    let quoted = |before: &str| said.strip_prefix(before)?.split('`').next();
    let (code, name, error) = if let Some(name) = quoted("missing field `") {
        ("parameter_missing", name, "The body lacks this field.")
    } else if let Some(name) = quoted("unknown field `") {
        ("parameter_unrecognized", name, "This route does not take that field.")
    } else if path == "." {
        return malformed("The body is not what this route takes.");
    } else {
        (
            "parameter_invalid",
            path,
            "The field does not have a value that it can have.",
        )
    };
    let shown: String = name.chars().filter(char::is_ascii_graphic).take(64).collect();
    let error = ApiError::parameter(code, shown, error);
    let wanted = said.rsplit_once(", expected ").map(|(_, wanted)| wanted);
    // Of a list of names every other part between the quotes is one.
    let known = wanted.unwrap_or_default().split('`').skip(1).step_by(2);
    if code == "parameter_unrecognized"
        && let Some(near) = closest_match(name, known)
    {
        return error.hint(format!("Did you mean `{near}`?"));
    }
    match wanted.and_then(|w| w.split(" at line ").next()) {
        Some(wanted) => error.hint(format!("Expected {wanted}.")),
        None => error,
    }
}

fn malformed(error: &'static str) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "body_malformed", error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Aim: an amount reaches the wire with exactly its digits, whatever its size.
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

    // Aim: a body one byte past the limit is 413, one at the limit is read.
    #[tokio::test]
    async fn a_body_has_a_limit() {
        let read_at = |limit| read::<String>(Body::from(r#""1,2""#), limit, Duration::from_secs(60));
        assert_eq!(read_at(5).await.unwrap(), "1,2");
        assert_eq!(read_at(4).await.unwrap_err().code, "body_too_large");
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

    // Aim: the field at fault is named with what it should be, and none of the caller's values is repeated.
    #[test]
    fn the_field_at_fault_is_named_and_its_value_is_not() {
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
            let said = (&*error.code, error.param.as_deref(), error.hint.as_deref());
            assert_eq!(said, (code, param, hint), "{body}");
            assert!(!format!("{error:?}").contains("rt_secret"), "{body}");
        }
    }
}
