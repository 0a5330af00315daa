//! Who is calling: wallet sign-in, id tokens, refresh tokens, login links, and the keys behind them.
//!
//! Everything here but [`key_file`] is pure: time and randomness are arguments, and what must be remembered (used
//! nonces, the hashes of refresh tokens and login codes, revoked sessions) is the engine's. Keys never serve two
//! purposes; [`IdentityKeys`] names each purpose once.
//!
//! - [`challenge`] makes the 402 of `GET /auth`; [`proof`] checks the answer; [`nonce`] ties the two together.
//! - [`token`] mints and verifies id tokens; [`refresh`] writes and reads refresh tokens.
//! - [`login`] makes login codes and the dashboard's cookie.
//! - [`api_key`] writes API keys and what leads to them; [`arrivals`] is where agents wait for one.
//! - [`keys`] and [`key_file`] hold all of it up.

pub mod api_key;
pub mod authenticator;
pub mod challenge;
pub mod credentials;
pub mod key_file;
pub mod keys;
pub mod login;
pub mod nonce;
pub mod origin;
pub mod payout_form_link;
pub mod proof;
pub mod refresh;
pub mod rfc3339;
pub mod secret;
pub mod sign_in_error;
pub mod signup_waiters;
pub mod token;
mod wallet_signature;

#[cfg(test)]
pub(crate) mod test_entropy;

use keys::IdentityKeyRing;
use secret::{Key32, MacKey};

/// The keys of identity's keyed hashes, each derived from the master secret for one purpose.
#[derive(Clone, Debug)]
pub struct IdentityKeys {
    /// For [`nonce::Nonces`].
    pub nonce: Key32,
    /// For [`refresh::RefreshTokens`].
    pub refresh: Key32,
    /// For [`login::SessionCookies`].
    pub cookie: Key32,
    /// For [`form_link::FormLinks`].
    pub form: Key32,
    /// For [`api_key::ApiKeys`].
    pub api_key: Key32,
    /// For [`api_key::Signups`].
    pub signup: Key32,
    /// For the challenges of [`crate::payment::mpp::Mpp`]: the key of now, and the one before the last rotation.
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
            challenge: keys.rotating_macs("purser/payment/mpp-challenge"),
        }
    }
}
