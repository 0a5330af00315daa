//! Contract wallets of the sandbox's Base, which runs no code: a wallet of one owner, at an address that follows from the owner's.
//!
//! Its signature is not one of a key: the owner's address (20 bytes), and behind it the owner's signature (65 bytes) over the
//! digest of the payment. Its money is the ledger's like anybody's.

use sha3::{Digest as _, Keccak256};

/// What its address is made from, in front of the owner's.
const NAME: &[u8] = b"purser sandbox contract wallet";

/// The wallet of an owner.
pub(crate) fn of(owner: &[u8; 20]) -> [u8; 20] {
    let mut hash = Keccak256::new();
    hash.update(NAME);
    hash.update(owner);
    let hash: [u8; 32] = hash.finalize().into();
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    address
}

/// The owner and its signature, if the payer is such a wallet; `None` for any other payer, and for a signature of another form.
pub(crate) fn signed_by<'a>(payer: &[u8; 20], signature: &'a [u8]) -> Option<([u8; 20], &'a [u8; 65])> {
    let (owner, rest) = signature.split_first_chunk::<20>()?;
    let of_owner: &[u8; 65] = rest.try_into().ok()?;
    (of(owner) == *payer).then_some((*owner, of_owner))
}
