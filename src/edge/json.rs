//! JSON in and out: inert answers, bounded bodies.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http::{HeaderValue, StatusCode, header};
use http_body_util::BodyExt as _;
use purser_actors::kernel::to_json;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{ApiError, ErrorCode};
use purser_config::suggest::closest_match;

/// 200. Text in it is inert wherever it is displayed.
pub fn ok(value: &impl Serialize) -> Response {
    bytes_as_json(to_json(value))
}

/// 200 for one caller only.
pub fn private_ok(value: &impl Serialize) -> Response {
    private(ok(value))
}

/// An answer of 200 for one caller only.
pub struct Private<T>(pub T);

impl<T: Serialize> IntoResponse for Private<T> {
    fn into_response(self) -> Response {
        private_ok(&self.0)
    }
}

pub fn with_status(status: StatusCode, value: &impl Serialize) -> Response {
    let mut response = ok(value);
    *response.status_mut() = status;
    response
}

/// 200 with serialized JSON.
pub fn bytes_as_json(bytes: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(bytes.into()));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Marks a response that belongs to one caller only.
pub fn private(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    response
}

/// Reads a JSON body of at most this size. The front has received it in time.
///
/// # Errors
/// 413 `body_too_large`, 400 `body_malformed`, or `parameter_…` with the field at fault.
pub async fn read<T: DeserializeOwned>(body: Body, max_bytes: usize) -> Result<T, ApiError> {
    deserialize(&collect(body, max_bytes).await?)
}

/// Reads a body of at most this size.
///
/// # Errors
/// 413 `body_too_large`, 400 `body_malformed`.
pub async fn collect(mut body: Body, max_bytes: usize) -> Result<Bytes, ApiError> {
    // Copied, so that a body of many small chunks takes no more memory than its length.
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| malformed("The body broke off."))?;
        let Some(data) = frame.data_ref() else { continue };
        if whole.len() + data.len() > max_bytes {
            return Err(ApiError::of_status(
                StatusCode::PAYLOAD_TOO_LARGE,
                &http::HeaderMap::new(),
            ));
        }
        whole.extend_from_slice(data);
    }
    Ok(whole.freeze())
}

/// Deserializes a request. Errors name the field at fault without repeating its value.
///
/// # Errors
/// 400 `body_malformed`, or `parameter_…` with the field at fault.
pub fn deserialize<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // Serde also accepts a list for a struct, in field order. Clients must not depend on that.
    let is_list = bytes.trim_ascii_start().first() == Some(&b'[');
    let list = || malformed("The body is not what this route takes.");
    let mut text = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut text).map_err(|error| {
        let (path, error) = (error.path().to_string(), error.into_inner());
        if error.is_data() && is_list {
            list()
        } else if error.is_data() {
            field_error(&path, &error.to_string())
        } else {
            malformed("The body is not valid JSON.")
        }
    })?;
    text.end().map_err(|_| malformed("The body is not valid JSON."))?;
    if is_list {
        return Err(list());
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

    // Checks: a body one byte past the limit is 413, one at the limit is read.
    #[tokio::test]
    async fn body_over_the_limit_is_rejected() {
        let read_at = |limit| read::<String>(Body::from(r#""1,2""#), limit);
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
