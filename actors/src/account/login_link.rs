//! Login links.

use purser_storage::codec::Stored;

use crate::id::{SessionId, Wallet};
use crate::session::Amr;

/// A one-time code for a login link.
#[derive(Clone, Copy, Debug)]
pub struct LinkCode {
    /// Hash of the code.
    pub hash: [u8; 32],
    /// Worthless from this second on.
    pub expires_s: u64,
}

/// Who a login link lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LinkGrant {
    /// The account.
    pub wallet: Wallet,
    /// No more than the session that made the link.
    pub amr: Amr,
    /// Worthless from this second on.
    pub expires_s: u64,
    /// The session that made it: the link dies with it.
    pub maker: SessionId,
}

impl Stored for LinkGrant {
    const SCHEMA: u16 = 412;
}
