//! Credentials of authenticators, as passkeys of account owners and of operators store them.

/// Maximum number of passkeys of an account, and of an operator.
pub const MAX_PASSKEYS: u8 = 20;

/// What an authenticator gave for a new passkey, verified by the caller.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Credential {
    /// Id that the authenticator chose.
    pub id: Vec<u8>,
    /// Public key in the authenticator's form (COSE).
    pub public_key: Vec<u8>,
    /// Last signature counter; 0 for an authenticator without one.
    pub counter: u32,
    /// Whether it can be copied to other devices of its owner.
    pub backup_eligible: bool,
}

impl Credential {
    /// Whether a signature with this counter may follow the last one: it grows, or the authenticator has none.
    pub const fn may_follow(&self, counter: u32) -> bool {
        counter > self.counter || (counter == 0 && self.counter == 0)
    }
}

/// A challenge that was answered. Its row makes it single-use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweredChallenge {
    /// Its time and random bits.
    pub nonce: [u8; 16],
    /// Second from which it is expired anyway.
    pub expires_s: u64,
}
