//! Parses a credential: base64url of JSON, after `Payment` in `Authorization`.
//!
//! Memory is bounded by [`MAX_HEADER_BYTES`]. This module does not check amounts, times or signatures, and ignores
//! unknown members.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::port::Timestamp;
use serde::Deserialize;

use super::CredentialError;
use super::challenge::ChallengeFields;
use super::problem::MppProblem;
use crate::payment::decode::{EvmFields, EvmPayload, MAX_HEADER_BYTES};
use crate::rfc3339;

/// A credential as it was sent, with its form checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The challenge that it claims to answer.
    pub challenge: EchoedChallenge,
    /// The signed part.
    pub payload: EvmPayload,
    /// The payer as a DID, if it was sent.
    pub source: Option<String>,
}

/// A challenge as the client echoes it. Its description is ignored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct EchoedChallenge {
    pub id: String,
    /// Realm of the server that issued it.
    pub realm: String,
    pub method: String,
    pub intent: String,
    /// The payment request, in base64url.
    pub request: String,
    /// Expiry (RFC 3339).
    pub expires: Option<String>,
    /// Digest of the body.
    pub digest: Option<String>,
    /// Server data, in base64url.
    pub opaque: Option<String>,
}

impl EchoedChallenge {
    /// The fields that its id covers.
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

/// Parses a credential.
///
/// # Errors
/// [`MppProblem::MalformedCredential`].
pub fn decode(text: &[u8]) -> Result<Credential, CredentialError> {
    if text.len() > MAX_HEADER_BYTES {
        return Err(malformed("the credential is too long"));
    }
    let json = URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| malformed("the credential is not base64url without padding"))?;
    // serde's own message can quote any amount of the input; the position is enough.
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
