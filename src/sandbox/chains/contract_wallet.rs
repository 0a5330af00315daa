//! Simulated contract wallets of the sandbox's Base, which runs no code. Each has one owner, from whose address the
//! wallet's address is derived.
//!
//! A signature is the owner's address (20 bytes) and the owner's signature (65 bytes) of the payment's digest. The
//! balance is in the ledger like that of any wallet.

use sha3::{Digest as _, Keccak256};

/// Hashed before the owner's address.
const NAME: &[u8] = b"purser sandbox contract wallet";

/// The address of an owner's wallet.
pub(crate) fn address_for(owner: &[u8; 20]) -> [u8; 20] {
    let mut hash = Keccak256::new();
    hash.update(NAME);
    hash.update(owner);
    let hash: [u8; 32] = hash.finalize().into();
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    address
}

/// The owner and the owner's signature. `None` if the payer is not such a wallet or the signature has another form.
pub(crate) fn signed_by<'a>(payer: &[u8; 20], signature: &'a [u8]) -> Option<([u8; 20], &'a [u8; 65])> {
    let (owner, rest) = signature.split_first_chunk::<20>()?;
    let of_owner: &[u8; 65] = rest.try_into().ok()?;
    (address_for(owner) == *payer).then_some((*owner, of_owner))
}
