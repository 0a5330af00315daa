//! Reading a credential: base64url of JSON, what follows `Payment` in `Authorization`.
//!
//! Memory is bounded by [`MAX_HEADER_BYTES`]; nothing here looks at amounts, times or signatures. Members that we do not
//! know are not looked at.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::port::Timestamp;
use serde::Deserialize;

use super::CredentialError;
use super::challenge::ChallengeFields;
use super::problem::MppProblem;
use crate::identity::rfc3339;
use crate::payment::decode::{EvmFields, EvmPayload, MAX_HEADER_BYTES};

/// A credential as it was sent, with its form checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// What it says that it answers.
    pub challenge: EchoedChallenge,
    /// The signed part.
    pub payload: EvmPayload,
    /// The payer as a DID, if it was sent.
    pub source: Option<String>,
}

/// A challenge as the client echoes it. Its description is nobody's business.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct EchoedChallenge {
    /// Names it.
    pub id: String,
    /// Whose it is.
    pub realm: String,
    /// Payment method.
    pub method: String,
    /// Payment intent.
    pub intent: String,
    /// What was to be paid, in base64url.
    pub request: String,
    /// Until when, as RFC 3339.
    pub expires: Option<String>,
    /// Of a body.
    pub digest: Option<String>,
    /// The server's own, in base64url.
    pub opaque: Option<String>,
}

impl EchoedChallenge {
    /// What its id would stand for.
    pub fn covered(&self) -> ChallengeFields<'_> {
        ChallengeFields {
            realm: &self.realm,
            method: &self.method,
            intent: &self.intent,
            request: &self.request,
            expires: self.expires.as_deref().unwrap_or_default(),
            digest: self.digest.as_deref().unwrap_or_default(),
            opaque: self.opaque.as_deref().unwrap_or_default(),
        }
    }

    /// Until when it was to be answered.
    pub fn expires(&self) -> Option<Timestamp> {
        rfc3339::parse(self.expires.as_deref()?)
    }
}

#[derive(Deserialize)]
struct Wire {
    challenge: EchoedChallenge,
    payload: WirePayload,
    source: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePayload {
    r#type: String,
    from: String,
    to: String,
    value: String,
    valid_after: String,
    valid_before: String,
    nonce: String,
    signature: String,
}

/// Reads a credential.
///
/// # Errors
/// [`Problem::MalformedCredential`].
pub fn decode(text: &[u8]) -> Result<Credential, CredentialError> {
    if text.len() > MAX_HEADER_BYTES {
        return Err(malformed("the credential is too long"));
    }
    let json = URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| malformed("the credential is not base64url without padding"))?;
    // serde's own message can quote as much of the input as the client likes; the place is enough.
    let wire: Wire = serde_json::from_slice(&json).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        CredentialError::new(
            MppProblem::MalformedCredential,
            format!("not a credential in JSON (line {line}, column {column})"),
        )
    })?;
    let payload = wire.payload;
    if payload.r#type != "authorization" {
        return Err(malformed("only the credential type `authorization` is taken"));
    }
    Ok(Credential {
        challenge: wire.challenge,
        payload: EvmPayload {
            authorization: EvmFields {
                from: payload.from,
                to: payload.to,
                value: payload.value,
                valid_after: payload.valid_after,
                valid_before: payload.valid_before,
                nonce: payload.nonce,
            },
            signature: payload.signature,
        },
        source: wire.source,
    })
}

fn malformed(detail: &'static str) -> CredentialError {
    CredentialError::new(MppProblem::MalformedCredential, detail)
}
