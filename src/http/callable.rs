//! Callable functions: `POST /<name>` with a bearer token, `{"data": {…}}` in and `{"result": {…}}` out.
//!
//! By [`FUNCTION_NAMES`] the front writes refusals as `{"error": {code, message, status, …}}`, and the document wraps what handlers
//! describe, which is the inside of `data` and of `result`. Members are in camel case.
//!
//! ```text
//! async fn x(State(room): Shared, Holder(claims): Holder, key: Key, body: Body) -> Result<Response, ApiError> {
//!     let call = room.callables.read::<Wanted>(body).await?;       // 400
//!     let order = understood(&call.data)?;                         // 400
//!     room.callables.admit(&claims, &call).await?;                 // 403: another's userId, frozen
//!     key.once(&room.callables.engine, &claims, "/x", &order, move |place| async move {
//!         let memo = place.map(|place| memo(place, move |told| … callable::reply(&view)));
//!         …
//!     }).await
//! }
//! ```
//!
//! A function that only reads ends with [`result`] instead of a key. One that spends from the managed wallet calls [`require_spend_rights`]
//! too, one that moves or makes anything else [`require_sign_in`].

use std::fmt;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use purser_actors::engine::Engine;
use purser_actors::id::Wallet;
use purser_actors::kernel::JsonObject;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::account::authenticated_account;
use super::auth::AuthClaims;
use super::error::ApiError;
use super::idempotency::RecordedReply;
use super::json;

/// Every callable function's path.
pub const FUNCTION_NAMES: &[&str] = &[
    "/agentWalletTransfer",
    "/agentX402Pay",
    "/createAgentWallet",
    "/deleteAddressBookEntry",
    "/getAgentSpendLimit",
    "/getAgentWallet",
    "/listAddressBook",
    "/saveAddressBookEntry",
    "/createBankingProfile",
    "/getBankingProfileStatus",
    "/getBankingApplication",
    "/updateBankingApplicationDetails",
    "/uploadBankingDocument",
    "/submitBankingApplication",
    "/createBankingAccount",
    "/listBankingAccounts",
    "/createBankingRecipient",
    "/addBankingDestination",
    "/listBankingRecipients",
    "/updateBankingDestination",
    "/deleteBankingRecipient",
    "/createBankingTransfer",
    "/sendBankingPayout",
    "/getBankingTransaction",
    "/listBankingTransactions",
    "/createAgentApiKey",
    "/listAgentApiKeys",
    "/revokeAgentApiKey",
    "/agentAuth",
    "/announceAgentConnection",
];

/// What is needed to read a call and to let it in.
pub struct CallableState {
    /// Knows who is frozen.
    pub engine: Engine,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

/// A call as it was read.
#[derive(Debug)]
pub struct CallableCall<T> {
    /// What the function takes.
    pub data: T,
    /// `userId`, in lower case, if it was given.
    user: Option<String>,
}

impl<T> CallableCall<T> {
    /// `userId`, if given, is this account's.
    ///
    /// # Errors
    /// 403 `user_id_mismatch`.
    pub fn of(&self, wallet: &Wallet) -> Result<(), ApiError> {
        let own = wallet.user_id();
        if self.user.as_ref().is_none_or(|user| *user == own) {
            return Ok(());
        }
        let error = "`userId` is another account's; leave it out, or give the token's own.";
        Err(ApiError::forbidden("user_id_mismatch", error).param("userId"))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DataEnvelope {
    data: Box<RawValue>,
}

/// The members of `data`, each once, as they are written: numbers keep their digits.
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

            // Clients of such functions send null where there is nothing to say.
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

impl CallableState {
    /// Reads a call: the envelope, `userId`, and the rest of `data` as what the function takes.
    ///
    /// # Errors
    /// 413, 408, 400 with the member at fault; of one that is not known with the nearest that is.
    pub async fn read<T: DeserializeOwned>(&self, body: Body) -> Result<CallableCall<T>, ApiError> {
        self.read_up_to(body, self.max_body_bytes).await
    }

    /// As [`CallableState::read`], for a body of another size. The front lets it through by `FrontConfig::body_limit_overrides`.
    ///
    /// # Errors
    /// As [`CallableState::read`].
    pub async fn read_up_to<T: DeserializeOwned>(
        &self,
        body: Body,
        max_bytes: usize,
    ) -> Result<CallableCall<T>, ApiError> {
        call(&json::collect(body, max_bytes, self.body_timeout).await?)
    }

    /// Lets the call in: `userId`, if given, is the caller, and the account is not frozen.
    ///
    /// # Errors
    /// 403 `user_id_mismatch` or `account_frozen`; 500 when storage fails.
    pub async fn admit<T: Sync>(&self, claims: &AuthClaims, call: &CallableCall<T>) -> Result<(), ApiError> {
        call.of(&claims.wallet)?;
        authenticated_account(&self.engine, claims).await
    }
}

fn call<T: DeserializeOwned>(body: &[u8]) -> Result<CallableCall<T>, ApiError> {
    let envelope: DataEnvelope = json::deserialize(body)?;
    let members: DataMembers = serde_json::from_str(envelope.data.get()).map_err(|_| {
        ApiError::parameter(
            "parameter_invalid",
            "data",
            "`data` is not an object of members given once.",
        )
    })?;
    let mut user = None;
    let mut rest = String::from("{");
    for (name, value) in members.0 {
        if name == "userId" {
            let text: String = json::deserialize(value.get().as_bytes())
                .map_err(|_| ApiError::parameter("parameter_invalid", "userId", "`userId` is not a text."))?;
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

/// Refuses a token that a payment brought about where something is changed that may have been there before that payment:
/// whoever relayed the payment may have the token too.
///
/// # Errors
/// 403 `sign_in_required`.
pub fn may_change(claims: &AuthClaims) -> Result<(), ApiError> {
    require_spend_rights(claims)
}

/// Refuses a token that a payment brought about: whoever relayed the payment may have it too, so it does not spend from the
/// managed wallet. An API key's does: its owner made it for an agent, and a person has set the caps.
///
/// # Errors
/// 403 `sign_in_required`.
pub fn require_spend_rights(claims: &AuthClaims) -> Result<(), ApiError> {
    if claims.is_payment_token() {
        return Err(needs_sign_in("This token was born of a payment and may not do that."));
    }
    Ok(())
}

/// Refuses every token but that of a wallet that signed in: no cap of a person's stands before what it moves or makes.
///
/// # Errors
/// 403 `sign_in_required`.
pub fn require_sign_in(claims: &AuthClaims) -> Result<(), ApiError> {
    require_spend_rights(claims)?;
    if !claims.is_signed_in() {
        return Err(needs_sign_in("This token was born of an API key and may not do that."));
    }
    Ok(())
}

fn needs_sign_in(error: &'static str) -> ApiError {
    ApiError::forbidden("sign_in_required", error).hint("Sign in with GET /auth.")
}

/// 200 with this inside of `result`.
pub fn result(view: &JsonObject) -> Response {
    result_of(&view.to_json())
}

/// 200 with a JSON object inside of `result`, its members renamed to camel case.
pub fn result_of(json: &str) -> Response {
    json::private(json::bytes_as_json(wrapped(&to_camel_case(json))))
}

/// 200 with a JSON object inside of `result`, byte for byte: for what others wrote.
pub fn result_verbatim(json: &str) -> Response {
    json::private(json::bytes_as_json(wrapped(json)))
}

/// [`result`] as it is remembered under an idempotency key.
pub fn reply(view: &JsonObject) -> RecordedReply {
    RecordedReply {
        status: StatusCode::OK,
        body: wrapped(&to_camel_case(&view.to_json())),
    }
}

/// [`result_verbatim`] as it is remembered.
pub fn reply_verbatim(json: &str) -> RecordedReply {
    RecordedReply {
        status: StatusCode::OK,
        body: wrapped(json),
    }
}

fn wrapped(json: &str) -> String {
    format!("{{\"result\":{json}}}")
}

/// JSON text without spaces, with the names of members in camel case: `created_at` is `createdAt`. Values stay as they are.
pub fn to_camel_case(json: &str) -> String {
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

/// One name in camel case.
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

    // Aim: what a function takes is read with exactly its digits; `userId` is the envelope's, whatever the function takes.
    #[test]
    fn a_call_is_read_with_its_digits_and_its_user() {
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

    // Aim: whatever is wrong with a call is named, and a slip finds the member that was meant.
    #[test]
    fn what_is_wrong_with_a_call_is_named() {
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
            let said = (&*error.code, error.param.as_deref(), error.hint.as_deref());
            assert_eq!(said, (code, param, hint), "{body}");
        }
    }

    // Aim: names of members change, values and text that only looks like a name do not.
    #[test]
    fn members_are_in_camel_case_and_values_as_they_were() {
        let json = r#"{"created_at":"a_b\":c_d","user_id":{"x_y_z":[1.50,"q_r"]},"n":null,"a_\\":"_"}"#;
        let expected = r#"{"createdAt":"a_b\":c_d","userId":{"xYZ":[1.50,"q_r"]},"n":null,"a\\":"_"}"#;
        assert_eq!(to_camel_case(json), expected);
    }
}
