//! Login links of an account.

use purser_storage::codec::Stored;

use crate::entity::session::AuthMethod;
use crate::id::{SessionId, Wallet};

/// A one-time code for a login link.
#[derive(Clone, Copy, Debug)]
pub struct LoginCode {
    /// Hash of the code.
    pub hash: [u8; 32],
    /// Expiry of the code, in seconds.
    pub expires_s: u64,
}

/// Grant of a login link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LoginGrant {
    /// Account that the link signs in to.
    pub wallet: Wallet,
    /// Authentication method: no more than that of the session that created the link.
    pub amr: AuthMethod,
    /// Expiry of the link, in seconds.
    pub expires_s: u64,
    /// Session that created it: the link ends with the session.
    pub created_by: SessionId,
}

impl Stored for LoginGrant {
    const SCHEMA: u16 = 412;
}
