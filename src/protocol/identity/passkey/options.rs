//! What a page passes to the browser: the JSON forms of WebAuthn Level 3, for
//! `PublicKeyCredential.parseCreationOptionsFromJSON()` and `parseRequestOptionsFromJSON()`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use super::RelyingParty;
use super::public_key::ALGORITHMS;
use crate::identity::nonce::CHALLENGE_LIFETIME_MS;

/// The only type of credential.
const PUBLIC_KEY: &str = "public-key";

/// The person for whom a passkey is made.
#[derive(Clone, Debug)]
pub struct PasskeyUser<'a> {
    /// Handle that comes back at a sign-in. It names no one.
    pub handle: [u8; 32],
    /// Name that the browser's list of passkeys shows.
    pub name: &'a str,
    /// The same for people.
    pub display_name: &'a str,
}

/// Options for `navigator.credentials.create()`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PasskeyCreationOptions {
    rp: RelyingPartyOptions,
    user: UserOptions,
    /// Single-use, valid for five minutes.
    challenge: String,
    /// ES256, EdDSA, RS256.
    pub_key_cred_params: Vec<AlgorithmOptions>,
    /// Milliseconds.
    timeout: u64,
    /// The account's passkeys: a device adds no second one.
    exclude_credentials: Vec<CredentialDescriptor>,
    authenticator_selection: AuthenticatorSelection,
    /// Always `none`.
    attestation: &'static str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct RelyingPartyOptions {
    /// Host of the service.
    id: String,
    name: &'static str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct UserOptions {
    /// Handle in base64url.
    id: String,
    name: String,
    display_name: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AlgorithmOptions {
    #[serde(rename = "type")]
    kind: &'static str,
    /// COSE number of the algorithm.
    alg: i32,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CredentialDescriptor {
    #[serde(rename = "type")]
    kind: &'static str,
    /// Credential id in base64url.
    id: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct AuthenticatorSelection {
    /// Always `required`: the passkey signs in without a user name.
    resident_key: &'static str,
    /// Always true, for older browsers.
    require_resident_key: bool,
    /// Always `required`.
    user_verification: &'static str,
}

/// Options for `navigator.credentials.get()`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PasskeyRequestOptions {
    /// Single-use, valid for five minutes.
    challenge: String,
    /// Milliseconds.
    timeout: u64,
    /// Host of the service.
    rp_id: String,
    /// The account's passkeys; empty at a sign-in, where the browser offers those that it has.
    allow_credentials: Vec<CredentialDescriptor>,
    /// Always `required`.
    user_verification: &'static str,
}

fn descriptors<'a>(credential_ids: impl IntoIterator<Item = &'a [u8]>) -> Vec<CredentialDescriptor> {
    let descriptor = |id| CredentialDescriptor {
        kind: PUBLIC_KEY,
        id: URL_SAFE_NO_PAD.encode(id),
    };
    credential_ids.into_iter().map(descriptor).collect()
}

impl PasskeyCreationOptions {
    /// Options for a new passkey of this user, who has these already.
    pub fn new<'a>(
        relying_party: &RelyingParty,
        challenge: &[u8; 32],
        user: &PasskeyUser<'_>,
        credential_ids: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        let algorithm = |alg| AlgorithmOptions { kind: PUBLIC_KEY, alg };
        Self {
            rp: RelyingPartyOptions {
                id: relying_party.id().to_owned(),
                name: "Purser",
            },
            user: UserOptions {
                id: URL_SAFE_NO_PAD.encode(user.handle),
                name: user.name.to_owned(),
                display_name: user.display_name.to_owned(),
            },
            challenge: URL_SAFE_NO_PAD.encode(challenge),
            pub_key_cred_params: ALGORITHMS.into_iter().map(algorithm).collect(),
            timeout: CHALLENGE_LIFETIME_MS,
            exclude_credentials: descriptors(credential_ids),
            authenticator_selection: AuthenticatorSelection {
                resident_key: "required",
                require_resident_key: true,
                user_verification: "required",
            },
            attestation: "none",
        }
    }
}

impl PasskeyRequestOptions {
    /// Options for a sign-in, without credential ids, or for a confirmation by one of these.
    pub fn new<'a>(
        relying_party: &RelyingParty,
        challenge: &[u8; 32],
        credential_ids: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        Self {
            challenge: URL_SAFE_NO_PAD.encode(challenge),
            timeout: CHALLENGE_LIFETIME_MS,
            rp_id: relying_party.id().to_owned(),
            allow_credentials: descriptors(credential_ids),
            user_verification: "required",
        }
    }
}
