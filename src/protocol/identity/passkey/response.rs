//! What a page sends of the browser's answer: the JSON forms of WebAuthn Level 3 (`credential.toJSON()`).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer};

use super::client_data::ClientData;

/// An answer of `navigator.credentials.create()`, decoded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "RegistrationJson")]
pub struct RegistrationResponse {
    /// Credential id.
    pub raw_id: Vec<u8>,
    pub client_data: Vec<u8>,
    pub attestation_object: Vec<u8>,
}

/// An answer of `navigator.credentials.get()`, decoded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "AssertionJson")]
pub struct AssertionResponse {
    /// Credential id.
    pub raw_id: Vec<u8>,
    pub client_data: Vec<u8>,
    pub authenticator_data: Vec<u8>,
    pub signature: Vec<u8>,
    /// The handle of the user for whom the passkey was made.
    pub user_handle: Option<Vec<u8>>,
}

/// Bytes in base64url without padding.
#[derive(Clone, Debug)]
struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let decoded = URL_SAFE_NO_PAD.decode(text);
        decoded
            .map(Self)
            .map_err(|_| serde::de::Error::custom("not base64url without padding"))
    }
}

/// Members that are not read here, such as transports and extensions, are permitted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RegistrationJson {
    raw_id: Bytes,
    response: AttestationJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttestationJson {
    #[serde(rename = "clientDataJSON")]
    client_data: Bytes,
    attestation_object: Bytes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssertionJson {
    raw_id: Bytes,
    response: SignedJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignedJson {
    #[serde(rename = "clientDataJSON")]
    client_data: Bytes,
    authenticator_data: Bytes,
    signature: Bytes,
    #[serde(default)]
    user_handle: Option<Bytes>,
}

impl From<RegistrationJson> for RegistrationResponse {
    fn from(json: RegistrationJson) -> Self {
        Self {
            raw_id: json.raw_id.0,
            client_data: json.response.client_data.0,
            attestation_object: json.response.attestation_object.0,
        }
    }
}

impl From<AssertionJson> for AssertionResponse {
    fn from(json: AssertionJson) -> Self {
        Self {
            raw_id: json.raw_id.0,
            client_data: json.response.client_data.0,
            authenticator_data: json.response.authenticator_data.0,
            signature: json.response.signature.0,
            user_handle: json.response.user_handle.map(|handle| handle.0),
        }
    }
}

/// The challenge that these client data answer. Unproven until the response is verified.
fn challenge_of(client_data: &[u8]) -> Option<Vec<u8>> {
    ClientData::parse(client_data).ok()?.challenge()
}

impl RegistrationResponse {
    /// The challenge that it answers. Unproven until the response is verified.
    pub fn challenge(&self) -> Option<Vec<u8>> {
        challenge_of(&self.client_data)
    }
}

impl AssertionResponse {
    /// The challenge that it answers. Unproven until the response is verified.
    pub fn challenge(&self) -> Option<Vec<u8>> {
        challenge_of(&self.client_data)
    }
}
