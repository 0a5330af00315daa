//! Payment ids, and the numbers of their stored forms.

use purser_storage::codec::Stored;

use super::{Event, Payment};
use crate::id::{PaymentId, Wallet};
use crate::port::Authorization;

impl Stored for Payment {
    const SCHEMA: u16 = 450;
}

impl Stored for Event {
    const SCHEMA: u16 = 451;
}

/// Id of a payment: a keyed digest of its authorization. The row with this id is therefore also the claim, and ids are
/// unlinkable without the key, but for the shard, which is the payer's.
pub fn id_for_authorization(authorization: &Authorization, secret: &[u8; 32]) -> PaymentId {
    id_for_claim(&authorization.payer(), &authorization.claim_key(), secret)
}

/// The same from [`Authorization::claim_key`].
pub fn id_for_claim(payer: &Wallet, claim_key: &[u8; 32], secret: &[u8; 32]) -> PaymentId {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    hash.update(secret);
    hash.update(claim_key);
    let hash = hash.finalize();
    let mut id = [0; 16];
    id.copy_from_slice(&hash[..16]);
    PaymentId::mint(payer.shard(), u128::from_be_bytes(id))
}
