//! Signatures of sign-in messages by externally owned accounts.

use ed25519_dalek::{Signature as Ed25519Signature, VerifyingKey};

use super::sign_in_error::SignInError;
use crate::payment::evm::{HALF_ORDER, SignatureRecovery, keccak, recover};

/// The address that signed `message` by `personal_sign` (EIP-191, version 0x45). The signature is r, s, v in 0x hex,
/// exactly 65 bytes, with low s. v is 27 or 28, or 0 or 1 as hardware wallets write it.
pub(super) fn recover_eip191(message: &str, signature: &str) -> Result<[u8; 20], SignInError> {
    let mut bytes = [0; 65];
    let digits = signature.strip_prefix("0x").ok_or(SignInError::MalformedSignature)?;
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| SignInError::MalformedSignature)?;
    let known_parity = matches!(bytes[64], 0 | 1 | 27 | 28);
    if !known_parity || bytes[32..64] > HALF_ORDER[..] {
        return Err(SignInError::MalformedSignature);
    }
    let digest = keccak(format!("\x19Ethereum Signed Message:\n{}{message}", message.len()).as_bytes());
    recover(&digest, &bytes, SignatureRecovery::Libsecp256k1).ok_or(SignInError::Signature)
}

/// Whether `key` signed `message` by Ed25519 (RFC 8032): base58, exactly 64 bytes. Strict: keys and commitments of
/// small order, which make one signature fit many messages, are rejected.
pub(super) fn verify_ed25519(message: &str, key: &[u8; 32], signature: &str) -> Result<(), SignInError> {
    let mut bytes = [0; 64];
    match bs58::decode(signature).onto(&mut bytes) {
        Ok(64) => {}
        _ => return Err(SignInError::MalformedSignature),
    }
    let key = VerifyingKey::from_bytes(key).map_err(|_| SignInError::MalformedAddress)?;
    if key.is_weak() {
        return Err(SignInError::MalformedAddress);
    }
    key.verify_strict(message.as_bytes(), &Ed25519Signature::from_bytes(&bytes))
        .map_err(|_| SignInError::Signature)
}
