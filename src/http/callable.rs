//! Callable functions: `POST /<name>` with a bearer token, `{"data": {…}}` in and `{"result": {…}}` out.
//!
//! The front writes errors of these routes as `{"error": {code, message, status, …}}`. The OpenAPI document wraps
//! what handlers describe, which is the inside of `data` and of `result`. Members are in camel case.
//!
//! ```text
//! async fn x(State(state): SharedState, BearerClaims(claims): BearerClaims, key: IdempotencyKey, body: Body) -> … {
//!     let call = state.read_call::<XRequest>(body).await?;                 // 400
//!     let params = parse(&call.data)?;                                    // 400
//!     state.admit(&claims, &call).await?;                                 // 403: another's userId, frozen
//!     key.run(&state.engine, &claims, "/x", &params, move |slot| async move {
//!         let recorder = slot.map(|slot| recorder(slot, move |result| … callable::reply(&view)));
//!         …
//!     }).await
//! }
//! ```
//!
//! A function that only reads ends with [`result`] instead of a key. One that spends from the managed wallet also calls
//! [`require_spend_rights`]. One that moves or creates anything else calls [`require_sign_in`].

use std::fmt;
use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use purser_actors::id::Wallet;
use purser_actors::kernel::to_json;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::account::refuse_frozen;
use super::app::App;
use super::auth::AuthClaims;
use super::error::{ApiError, ErrorCode};
use super::idempotency::RecordedReply;
use super::json;
use super::route::Access;
use super::routes;

/// Paths of all callable functions.
pub static FUNCTION_NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let callable = routes::all().filter(|route| route.access == Access::Callable);
    callable.map(|route| route.path).collect()
});

/// A parsed call.
#[derive(Debug)]
pub struct CallableCall<T> {
    /// Members that the function takes.
    pub data: T,
    /// `userId` in lower case, if given.
    user: Option<String>,
}

impl<T> CallableCall<T> {
    /// Checks that `userId`, if given, is this account.
    ///
    /// # Errors
    /// 403 `user_id_mismatch`.
    pub fn of(&self, wallet: &Wallet) -> Result<(), ApiError> {
        let own = wallet.user_id();
        if self.user.as_ref().is_none_or(|user| *user == own) {
            return Ok(());
        }
        let error = "`userId` is another account's; leave it out, or give the token's own.";
        Err(ApiError::new(ErrorCode::UserIdMismatch, error).param("userId"))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DataEnvelope {
    data: Box<RawValue>,
}

/// Members of `data`, each once. Numbers keep their digits.
#[derive(Default)]
struct DataMembers(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for DataMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = DataMembers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            // Clients of callable functions send null for no data.
            fn visit_unit<E>(self) -> Result<DataMembers, E> {
                Ok(DataMembers::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DataMembers, A::Error> {
                let mut members = DataMembers::default();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if members.0.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom("a member is there twice"));
                    }
                    members.0.push((name, value));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_any(MembersVisitor)
    }
}

impl App {
    /// Reads a call: the envelope, `userId`, and the rest of `data` as the function's request type.
    ///
    /// # Errors
    /// 413, 408, or 400 with the member at fault. For an unknown member the hint has the nearest known one.
    pub async fn read_call<T: DeserializeOwned>(&self, body: Body) -> Result<CallableCall<T>, ApiError> {
        self.read_call_up_to(body, self.config.server.max_body_bytes).await
    }

    /// As [`App::read_call`], with another body limit. The row of the route must allow it too.
    ///
    /// # Errors
    /// As [`App::read_call`].
    pub async fn read_call_up_to<T: DeserializeOwned>(
        &self,
        body: Body,
        max_bytes: usize,
    ) -> Result<CallableCall<T>, ApiError> {
        call(&json::collect(body, max_bytes).await?)
    }

    /// Admits the call: `userId`, if given, is the caller, and the account is not frozen.
    ///
    /// # Errors
    /// 403 `user_id_mismatch` or `account_frozen`; 500 when storage fails.
    pub async fn admit<T: Sync>(&self, claims: &AuthClaims, call: &CallableCall<T>) -> Result<(), ApiError> {
        call.of(&claims.wallet)?;
        refuse_frozen(&self.engine, claims).await
    }
}

fn call<T: DeserializeOwned>(body: &[u8]) -> Result<CallableCall<T>, ApiError> {
    let envelope: DataEnvelope = json::deserialize(body)?;
    let members: DataMembers = serde_json::from_str(envelope.data.get()).map_err(|_| {
        ApiError::parameter(
            ErrorCode::ParameterInvalid,
            "data",
            "`data` is not an object of members given once.",
        )
    })?;
    let mut user = None;
    let mut rest = String::from("{");
    for (name, value) in members.0 {
        if name == "userId" {
            let text: String = json::deserialize(value.get().as_bytes())
                .map_err(|_| ApiError::parameter(ErrorCode::ParameterInvalid, "userId", "`userId` is not a text."))?;
            user = Some(text.to_lowercase());
            continue;
        }
        let name = serde_json::to_string(&name).map_err(|_| ApiError::internal())?;
        let comma = if rest.len() > 1 { "," } else { "" };
        rest.push_str(&format!("{comma}{name}:{}", value.get()));
    }
    rest.push('}');
    let data = json::deserialize(rest.as_bytes())?;
    Ok(CallableCall { data, user })
}

/// Rejects a token issued for a payment where the change may affect something older than that payment. A party that
/// relayed the payment may have the token too.
///
/// # Errors
/// 403 `sign_in_required`.
pub fn may_change(claims: &AuthClaims) -> Result<(), ApiError> {
    require_spend_rights(claims)
}

/// Rejects a token issued for a payment for spending from the managed wallet, because a party that relayed the payment
/// may have it too. Tokens of an API key are allowed: the owner made the key for an agent and set the caps.
///
/// # Errors
/// 403 `sign_in_required`.
pub fn require_spend_rights(claims: &AuthClaims) -> Result<(), ApiError> {
    if claims.is_payment_token() {
        return Err(needs_sign_in(
            "This token was issued for a payment and does not permit this.",
        ));
    }
    Ok(())
}

/// Rejects every token except that of a wallet that signed in. No cap of the owner limits what the function moves or
/// creates.
///
/// # Errors
/// 403 `sign_in_required`.
pub fn require_sign_in(claims: &AuthClaims) -> Result<(), ApiError> {
    require_spend_rights(claims)?;
    if !claims.is_signed_in() {
        return Err(needs_sign_in(
            "This token was issued for an API key and does not permit this.",
        ));
    }
    Ok(())
}

fn needs_sign_in(error: &'static str) -> ApiError {
    ApiError::new(ErrorCode::SignInRequired, error).hint("Sign in with GET /auth.")
}

/// 200 with an answer as `result`, its members renamed to camel case.
pub fn result(answer: &impl Serialize) -> Response {
    json::private(json::bytes_as_json(wrapped(&to_camel_case(&to_json(answer)))))
}

/// 200 with an answer as `result` whose members keep their names: it may contain JSON of other servers.
pub fn result_verbatim(answer: &impl Serialize) -> Response {
    json::private(json::bytes_as_json(wrapped(&to_json(answer))))
}

/// [`result`], as recorded under an idempotency key.
pub fn reply(answer: &impl Serialize) -> RecordedReply {
    RecordedReply {
        status: StatusCode::OK,
        body: wrapped(&to_camel_case(&to_json(answer))),
    }
}

/// [`result_verbatim`], as recorded.
pub fn reply_verbatim(answer: &impl Serialize) -> RecordedReply {
    RecordedReply {
        status: StatusCode::OK,
        body: wrapped(&to_json(answer)),
    }
}

/// [`reply`] with 202: nothing was done yet.
pub fn accepted(answer: &impl Serialize) -> RecordedReply {
    RecordedReply {
        status: StatusCode::ACCEPTED,
        ..reply(answer)
    }
}

/// A part of a verbatim answer with its members in camel case.
///
/// # Errors
/// Never for a part that serializes.
pub fn in_camel_case(part: &impl Serialize) -> Result<Box<RawValue>, ApiError> {
    RawValue::from_string(to_camel_case(&to_json(part))).map_err(|_| ApiError::internal())
}

fn wrapped(json: &str) -> String {
    format!("{{\"result\":{json}}}")
}

/// Renames members of compact JSON to camel case: `created_at` becomes `createdAt`. Values stay the same.
fn to_camel_case(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(start) = rest.find('"') {
        let inside = &rest[start + 1..];
        let mut escaped = false;
        let end = inside.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let Some(end) = end else { break };
        out.push_str(&rest[..=start]);
        let text = &inside[..end];
        if inside[end + 1..].starts_with(':') {
            out.push_str(&member(text));
        } else {
            out.push_str(text);
        }
        out.push('"');
        rest = &inside[end + 1..];
    }
    out.push_str(rest);
    out
}

/// Renames one member to camel case.
pub fn member(name: &str) -> String {
    let mut parts = name.split('_');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.extend(part.chars().next().map(|c| c.to_ascii_uppercase()));
        out.push_str(part.get(1..).unwrap_or_default());
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct UserIdField {
        max_amount: Option<Box<RawValue>>,
        note: Option<String>,
    }

    // Checks: request members keep their exact digits, and `userId` always belongs to the envelope.
    #[test]
    fn call_keeps_digits_and_user_id() {
        let read =
            call::<UserIdField>(br#"{"data": {"maxAmount": 0.10, "userId": "0xAB", "note": "a \"b\""}}"#).unwrap();
        assert_eq!(read.data.max_amount.unwrap().get(), "0.10");
        assert_eq!(
            (read.user.as_deref(), read.data.note.as_deref()),
            (Some("0xab"), Some("a \"b\""))
        );
        for empty in [r#"{"data":{}}"#, r#"{"data":null}"#] {
            assert!(call::<UserIdField>(empty.as_bytes()).unwrap().user.is_none(), "{empty}");
        }
    }

    // Checks: errors name the member at fault, and a misspelled member finds the intended one.
    #[test]
    fn call_errors_name_the_member() {
        for (body, code, param, hint) in [
            ("", "body_malformed", None, None),
            ("[]", "body_malformed", None, None),
            ("{}", "parameter_missing", Some("data"), None),
            (r#"{"data":7}"#, "parameter_invalid", Some("data"), None),
            (
                r#"{"data":{},"x":1}"#,
                "parameter_unrecognized",
                Some("x"),
                Some("Expected `data`."),
            ),
            (
                r#"{"data":{"note":"a","note":"b"}}"#,
                "parameter_invalid",
                Some("data"),
                None,
            ),
            (r#"{"data":{"userId":7}}"#, "parameter_invalid", Some("userId"), None),
            (
                r#"{"data":{"maxAmuont":7}}"#,
                "parameter_unrecognized",
                Some("maxAmuont"),
                Some("Did you mean `maxAmount`?"),
            ),
            (
                r#"{"data":{"note":7}}"#,
                "parameter_invalid",
                Some("note"),
                Some("Expected a string."),
            ),
        ] {
            let error = call::<UserIdField>(body.as_bytes()).unwrap_err();
            let actual = (error.code.as_str(), error.param.as_deref(), error.hint.as_deref());
            assert_eq!(actual, (code, param, hint), "{body}");
        }
    }

    // Checks: member names change; values and text that looks like a name do not.
    #[test]
    fn camel_case_renames_members_and_keeps_values() {
        let json = r#"{"created_at":"a_b\":c_d","user_id":{"x_y_z":[1.50,"q_r"]},"n":null,"a_\\":"_"}"#;
        let expected = r#"{"createdAt":"a_b\":c_d","userId":{"xYZ":[1.50,"q_r"]},"n":null,"a\\":"_"}"#;
        assert_eq!(to_camel_case(json), expected);
    }
}
