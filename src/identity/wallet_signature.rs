//! Signatures of sign-in messages by externally owned accounts.

use ed25519_dalek::{Signature as Ed25519Signature, VerifyingKey};
use secp256k1::Message;
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use sha3::{Digest, Keccak256};

use super::refusal::Refusal;

/// Half the order of secp256k1, big-endian: s above it is the same signature written a second way (EIP-2).
const HALF_ORDER: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x5d, 0x57, 0x6e,
    0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
];

/// The address that signed `message` by `personal_sign` (EIP-191, version 0x45): r, s, v in 0x hex, exactly 65 bytes,
/// low s, v 27 or 28, or 0 or 1 as hardware wallets write it.
pub(super) fn recover_eip191(message: &str, signature: &str) -> Result<[u8; 20], Refusal> {
    let mut bytes = [0; 65];
    let digits = signature.strip_prefix("0x").ok_or(Refusal::MalformedSignature)?;
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| Refusal::MalformedSignature)?;
    let recovery = match bytes[64] {
        0 | 27 => RecoveryId::Zero,
        1 | 28 => RecoveryId::One,
        _ => return Err(Refusal::MalformedSignature),
    };
    if bytes[32..64] > HALF_ORDER[..] {
        return Err(Refusal::MalformedSignature);
    }
    let parsed = RecoverableSignature::from_compact(&bytes[..64], recovery).map_err(|_| Refusal::MalformedSignature)?;
    let mut hash = Keccak256::new();
    hash.update(format!("\x19Ethereum Signed Message:\n{}", message.len()));
    hash.update(message);
    let digest = Message::from_digest(hash.finalize().into());
    let key = parsed
        .recover_ecdsa(digest)
        .map_err(|_| Refusal::Signature)?
        .serialize_uncompressed();
    let mut address = [0; 20];
    address.copy_from_slice(&Keccak256::digest(&key[1..])[12..]);
    Ok(address)
}

/// Whether `key` signed `message` by Ed25519 (RFC 8032): base58, exactly 64 bytes. Strict: keys and commitments of
/// small order, which make one signature fit many messages, are refused.
pub(super) fn verify_ed25519(message: &str, key: &[u8; 32], signature: &str) -> Result<(), Refusal> {
    let mut bytes = [0; 64];
    match bs58::decode(signature).onto(&mut bytes) {
        Ok(64) => {}
        _ => return Err(Refusal::MalformedSignature),
    }
    let key = VerifyingKey::from_bytes(key).map_err(|_| Refusal::MalformedAddress)?;
    if key.is_weak() {
        return Err(Refusal::MalformedAddress);
    }
    key.verify_strict(message.as_bytes(), &Ed25519Signature::from_bytes(&bytes))
        .map_err(|_| Refusal::Signature)
}
