//! Login links.

use purser_storage::codec::Stored;

use crate::id::{SessionId, Wallet};
use crate::session::AuthMethod;

/// A one-time code for a login link.
#[derive(Clone, Copy, Debug)]
pub struct LoginCode {
    /// Hash of the code.
    pub hash: [u8; 32],
    /// Worthless from this second on.
    pub expires_s: u64,
}

/// Who a login link lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LoginGrant {
    /// The account.
    pub wallet: Wallet,
    /// No more than the session that made the link.
    pub amr: AuthMethod,
    /// Worthless from this second on.
    pub expires_s: u64,
    /// The session that made it: the link dies with it.
    pub created_by: SessionId,
}

impl Stored for LoginGrant {
    const SCHEMA: u16 = 412;
}
