//! What the browser states about the page that asked (WebAuthn, 5.8.1).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::PasskeyError;

/// Unknown members are permitted: the standard may add some. A repeated known member is rejected.
#[derive(Debug, Deserialize)]
pub(super) struct ClientData {
    #[serde(rename = "type")]
    ceremony: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
    #[serde(default, rename = "topOrigin")]
    top_origin: Option<String>,
}

impl ClientData {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, PasskeyError> {
        serde_json::from_slice(bytes).map_err(|_| PasskeyError::Malformed("its client data is not the expected JSON"))
    }

    /// The challenge that was answered. Unproven until [`super::RelyingParty`] has verified the response.
    pub(super) fn challenge(&self) -> Option<Vec<u8>> {
        URL_SAFE_NO_PAD.decode(&self.challenge).ok()
    }

    /// Our page asked for this ceremony with this challenge, and no other page was around it.
    pub(super) fn check(&self, ceremony: &str, challenge: &[u8], origin: &str) -> Result<(), PasskeyError> {
        if self.ceremony != ceremony {
            return Err(PasskeyError::OtherCeremony);
        }
        if self.challenge().as_deref() != Some(challenge) {
            return Err(PasskeyError::OtherChallenge);
        }
        if self.origin != origin || self.cross_origin || self.top_origin.is_some() {
            return Err(PasskeyError::OtherOrigin);
        }
        Ok(())
    }
}
