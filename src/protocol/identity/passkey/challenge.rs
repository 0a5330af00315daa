//! Challenges of passkey ceremonies. Like sign-in nonces they need no table until they are used: a challenge is its
//! issue time, random bits, and a MAC over these, the ceremony, the session that asked and the origin.

use purser_actors::port::{Entropy, Timestamp};
use purser_host::secret::{Key32, MacKey};

use super::super::nonce::{CHALLENGE_LIFETIME_MS, UsedNonceKey};
use super::super::origin::Origin;

/// Bytes of a challenge: the time in milliseconds, the random bits, the MAC.
const TIME: usize = 6;
const NAMED: usize = 16;
const CHALLENGE_BYTES: usize = 32;

/// What a challenge is for. It is accepted for nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ceremony {
    /// An account owner signs in.
    SignIn = 1,
    /// An account owner adds a passkey.
    Register = 2,
    /// An account owner confirms what follows.
    Confirm = 3,
    /// An operator signs in.
    OperatorSignIn = 4,
    /// An operator adds a passkey.
    OperatorRegister = 5,
    /// An operator confirms what follows.
    OperatorConfirm = 6,
}

/// Issues and verifies challenges of one origin.
#[derive(Clone, Debug)]
pub struct PasskeyChallenges {
    mac: MacKey,
    origin: String,
    not_before: Timestamp,
}

/// A challenge that does not serve: another service's, another ceremony's or session's, or too old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChallengeRefused;

impl PasskeyChallenges {
    /// `key` must be used for nothing else.
    pub fn new(key: &Key32, origin: &Origin) -> Self {
        Self {
            mac: MacKey::new(key),
            origin: origin.as_str().to_owned(),
            not_before: Timestamp(0),
        }
    }

    /// Rejects challenges that were issued before this time.
    #[must_use]
    pub fn not_before(self, not_before: Timestamp) -> Self {
        Self { not_before, ..self }
    }

    fn parts(ceremony: Ceremony, session: u128) -> [u8; 17] {
        let mut parts = [ceremony as u8; 17];
        parts[1..].copy_from_slice(&session.to_be_bytes());
        parts
    }

    /// A challenge for a ceremony of this session; a sign-in has none yet and gives 0.
    pub fn issue(&self, ceremony: Ceremony, session: u128, now: Timestamp, entropy: &dyn Entropy) -> [u8; 32] {
        let mut bytes = [0; CHALLENGE_BYTES];
        bytes[..TIME].copy_from_slice(&now.0.to_be_bytes()[8 - TIME..]);
        bytes[TIME..NAMED].copy_from_slice(&entropy.random().to_be_bytes()[..NAMED - TIME]);
        let (named, mac) = bytes.split_at_mut(NAMED);
        let tag = self
            .mac
            .tag(&[named, &Self::parts(ceremony, session), self.origin.as_bytes()]);
        mac.copy_from_slice(&tag[..CHALLENGE_BYTES - NAMED]);
        bytes
    }

    /// Verifies that we issued the challenge for this ceremony and session at most five minutes ago. Returns the key under
    /// which the caller stores that it was used.
    ///
    /// # Errors
    /// [`ChallengeRefused`].
    pub fn verify(
        &self,
        challenge: &[u8],
        ceremony: Ceremony,
        session: u128,
        now: Timestamp,
    ) -> Result<UsedNonceKey, ChallengeRefused> {
        let challenge: &[u8; CHALLENGE_BYTES] = challenge.try_into().map_err(|_| ChallengeRefused)?;
        let (named, mac) = challenge.split_at(NAMED);
        let parts = Self::parts(ceremony, session);
        if !self.mac.verify(&[named, &parts, self.origin.as_bytes()], mac) {
            return Err(ChallengeRefused);
        }
        let mut time = [0; 8];
        time[8 - TIME..].copy_from_slice(&named[..TIME]);
        let issued = Timestamp(u64::from_be_bytes(time));
        let expires = issued.plus_ms(CHALLENGE_LIFETIME_MS);
        if issued < self.not_before || issued > now || now >= expires {
            return Err(ChallengeRefused);
        }
        let bytes = *named.first_chunk().ok_or(ChallengeRefused)?;
        Ok(UsedNonceKey { bytes, expires })
    }
}
