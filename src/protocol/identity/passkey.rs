//! Passkeys (WebAuthn Level 3): what a browser answers for a discoverable credential of this service is verified here.
//!
//! Only what Purser needs: no attestation (a passkey proves that the same person comes back, not who made the device),
//! user verification always required, ES256, EdDSA and RS256. Every check of the standard's ceremonies that applies is
//! made, and each failure has a name. Pure: the caller passes the expected ceremony, and stores what is returned.
//!
//! - [`challenge`] makes single-use challenges that need no table until they are used.
//! - [`site`] joins them: the ceremonies of one address.
//! - [`options`] are the texts that a page passes to the browser.
//! - [`response`] are the texts that the browser gives back.
//! - `cbor` and `public_key` read the authenticator's bytes; `ring` verifies the signature.

mod authenticator_data;
mod cbor;
pub mod challenge;
mod client_data;
pub mod options;
mod public_key;
pub mod response;
pub mod site;

#[cfg(test)]
mod tests;

use purser_actors::credential::Credential;
use sha2::{Digest, Sha256};

use self::authenticator_data::AuthenticatorData;
use self::client_data::ClientData;
use self::response::{AssertionResponse, RegistrationResponse};
use super::origin::Origin;

pub use self::public_key::PublicKey;

/// Longest credential id (WebAuthn, 7.1).
pub const MAX_CREDENTIAL_ID: usize = 1023;
/// Longest public key in the authenticator's form: an RSA key of 4096 bits fits.
pub const MAX_PUBLIC_KEY: usize = 1024;

/// Why an answer of a browser is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyError {
    #[error("browsers offer passkeys only under a host name with TLS, or on localhost")]
    Unavailable,
    #[error("the response is malformed: {0}")]
    Malformed(&'static str),
    #[error("the response belongs to another ceremony")]
    OtherCeremony,
    #[error("the challenge is not the one that was issued for this")]
    OtherChallenge,
    #[error("the response was made on a page of another origin")]
    OtherOrigin,
    #[error("the passkey belongs to another site")]
    OtherRelyingParty,
    #[error("the authenticator did not verify the user")]
    UserNotVerified,
    #[error("the key's algorithm is not supported")]
    AlgorithmNotSupported,
    #[error("the signature does not match")]
    SignatureMismatch,
}

/// The service as browsers and authenticators know it.
#[derive(Clone, Debug)]
pub struct RelyingParty {
    /// The origin of the pages.
    origin: String,
    /// The host of that origin; passkeys are bound to it.
    id: String,
    id_hash: [u8; 32],
}

impl RelyingParty {
    /// `None` if browsers offer no passkeys at this origin: its host is an IP address, or it has no TLS and is not
    /// `localhost`.
    pub fn of(origin: &Origin) -> Option<Self> {
        let host = origin.host();
        let is_local = host == "localhost" || host.ends_with(".localhost");
        let is_address = host.starts_with('[') || host.parse::<std::net::IpAddr>().is_ok();
        if is_address || !(origin.is_https() || is_local) {
            return None;
        }
        Some(Self {
            origin: origin.as_str().to_owned(),
            id: host.to_owned(),
            id_hash: Sha256::digest(host).into(),
        })
    }

    /// `rp.id` of the options.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// A verified answer of a known passkey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// Signature counter; 0 if the authenticator has none. The caller compares it with the stored one.
    pub counter: u32,
}

impl RelyingParty {
    /// Verifies the answer of `navigator.credentials.create()` (WebAuthn, 7.1). Attestation statements are not read: none
    /// was requested, and what a client sends all the same proves nothing here.
    ///
    /// # Errors
    /// [`PasskeyError`].
    pub fn verify_registration(
        &self,
        response: &RegistrationResponse,
        challenge: &[u8],
    ) -> Result<Credential, PasskeyError> {
        let client_data = ClientData::parse(&response.client_data)?;
        client_data.check("webauthn.create", challenge, &self.origin)?;
        let mut reader = cbor::Reader::new(&response.attestation_object);
        let data = authenticator_data::of_attestation_object(&mut reader)?;
        let data = AuthenticatorData::parse(data)?;
        self.check(&data)?;
        let credential = data.credential.ok_or(PasskeyError::Malformed("it has no credential"))?;
        if credential.id != response.raw_id {
            return Err(PasskeyError::Malformed("its id is not the credential's"));
        }
        PublicKey::parse(credential.public_key)?;
        Ok(Credential {
            id: credential.id.to_vec(),
            public_key: credential.public_key.to_vec(),
            counter: data.counter,
            backup_eligible: data.is_backup_eligible(),
        })
    }

    /// Verifies the answer of `navigator.credentials.get()` (WebAuthn, 7.2) by the passkey whose id it names.
    ///
    /// # Errors
    /// [`PasskeyError`].
    pub fn verify_assertion(
        &self,
        response: &AssertionResponse,
        challenge: &[u8],
        known: &Credential,
    ) -> Result<Assertion, PasskeyError> {
        let client_data = ClientData::parse(&response.client_data)?;
        client_data.check("webauthn.get", challenge, &self.origin)?;
        let data = AuthenticatorData::parse(&response.authenticator_data)?;
        self.check(&data)?;
        if data.is_backup_eligible() != known.backup_eligible {
            return Err(PasskeyError::Malformed("its backup eligibility has changed"));
        }
        let key = PublicKey::parse(&known.public_key)?;
        let hash = Sha256::digest(&response.client_data);
        let signed = [&response.authenticator_data[..], &hash[..]].concat();
        if !key.verifies(&signed, &response.signature) {
            return Err(PasskeyError::SignatureMismatch);
        }
        Ok(Assertion { counter: data.counter })
    }

    fn check(&self, data: &AuthenticatorData<'_>) -> Result<(), PasskeyError> {
        if *data.rp_id_hash != self.id_hash {
            return Err(PasskeyError::OtherRelyingParty);
        }
        if !data.is_user_present() || !data.is_user_verified() {
            return Err(PasskeyError::UserNotVerified);
        }
        if data.is_backed_up() && !data.is_backup_eligible() {
            return Err(PasskeyError::Malformed("it is backed up but not eligible for that"));
        }
        Ok(())
    }
}
