//! Client authentication: wallet sign-in, id tokens, refresh tokens, login links, and their keys.
//!
//! All of it except [`key_file`] is pure: time and randomness are arguments. The engine stores the state: used nonces,
//! the hashes of refresh tokens and login codes, revoked sessions. Keys never serve two purposes; [`IdentityKeys`]
//! names each purpose once.
//!
//! - [`challenge`] builds the 402 of `GET /auth`; [`proof`] checks the response; [`nonce`] ties the two
//!   together.
//! - [`token`] mints and verifies id tokens; [`refresh`] writes and parses refresh tokens.
//! - [`login`] creates login codes and the dashboard's cookie.
//! - [`api_key`] writes API keys and signups.
//! - [`passkey`] verifies passkeys of owners and operators.
//! - [`operator_token`] writes the tokens of operators.
//! - [`keys`] and [`key_file`] provide the keys for all of it.

pub mod api_key;
pub mod challenge;
pub mod credentials;
pub mod key_file;
pub mod keys;
pub mod login;
pub mod nonce;
pub mod operator_token;
pub mod origin;
pub mod passkey;
pub mod payout_form_link;
pub mod proof;
pub mod refresh;
pub mod sign_in_error;
pub mod token;
mod wallet_signature;

#[cfg(test)]
pub(crate) mod test_entropy;

use keys::IdentityKeyRing;
use purser_host::secret::{Key32, MacKey};

/// The keys of identity's keyed hashes, each derived from the master secret for one purpose.
#[derive(Clone, Debug)]
pub struct IdentityKeys {
    /// Key of [`nonce::Nonces`].
    pub nonce: Key32,
    /// Key of [`refresh::RefreshTokenCodec`].
    pub refresh: Key32,
    /// Key of [`login::SessionCookies`].
    pub cookie: Key32,
    /// Key of [`payout_form_link::PayoutFormLinks`].
    pub form: Key32,
    /// Key of [`api_key::ApiKeyCodec`].
    pub api_key: Key32,
    /// Key of [`api_key::SignupCodec`].
    pub signup: Key32,
    /// Key of [`passkey::challenge::PasskeyChallenges`].
    pub passkey_challenge: Key32,
    /// Key of the handles of [`passkey::options::PasskeyUser`].
    pub passkey_user: Key32,
    /// For the challenges of [`crate::payment::mpp::Mpp`]: the current key, and the one before the last rotation.
    pub challenge: (MacKey, Option<MacKey>),
}

impl IdentityKeys {
    /// The same keys for the same master secret, whatever token keys are in the ring.
    pub fn derive(keys: &IdentityKeyRing) -> Self {
        Self {
            nonce: keys.derive("purser/identity/nonce"),
            refresh: keys.derive("purser/identity/refresh-token"),
            cookie: keys.derive("purser/identity/session-cookie"),
            form: keys.derive("purser/identity/payout-form"),
            api_key: keys.derive("purser/identity/api-key"),
            signup: keys.derive("purser/identity/signup"),
            passkey_challenge: keys.derive("purser/identity/passkey-challenge"),
            passkey_user: keys.derive("purser/identity/passkey-user"),
            challenge: keys.rotating_macs("purser/payment/mpp-challenge"),
        }
    }
}
