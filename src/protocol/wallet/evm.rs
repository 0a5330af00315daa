//! Signing on Base: EIP-3009 payments and EIP-191 messages.

use purser_actors::port::EvmAuthorization;

use super::keys::TestWallet;
use crate::payment::evm::{keccak, transfer_digest};

impl TestWallet {
    /// Sets the payer and its signature over the other fields.
    pub fn sign_transfer(&self, domain_separator: &[u8; 32], authorization: &mut EvmAuthorization) {
        authorization.from = self.evm_address();
        let digest = transfer_digest(domain_separator, authorization);
        authorization.signature = self.sign_digest(&digest).into();
    }

    /// EIP-191 `personal_sign` of a text.
    pub fn sign_text(&self, text: &str) -> [u8; 65] {
        let prefixed = format!("\x19Ethereum Signed Message:\n{}{text}", text.len());
        self.sign_digest(&keccak(prefixed.as_bytes()))
    }

    /// r, s, v with low s and v 27 or 28; the same digest always gives the same signature (RFC 6979).
    pub fn sign_digest(&self, digest: &[u8; 32]) -> [u8; 65] {
        let (signature, id) = self.evm.sign_prehash_recoverable(digest);
        // The other s mirrors the point, and so flips the parity in v.
        let low = signature.normalize_s();
        let flipped = low != signature;
        let mut bytes = [0; 65];
        bytes[..64].copy_from_slice(&low.to_bytes());
        bytes[64] = 27 + u8::from(id.is_y_odd() != flipped);
        bytes
    }
}
