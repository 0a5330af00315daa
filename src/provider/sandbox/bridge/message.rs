//! The bridge's message in the layout of CCTP v2: 148 bytes of envelope, 228 of body, numbers big-endian, addresses
//! padded to 32 bytes. The attesters fill in nonce, finality, fee and expiry.

use purser_actors::money::Usdc;
use purser_actors::port::EvmAuthorization;

use purser_protocol::payment::evm::keccak;
use purser_protocol::payment::terms::{SOLANA_USDC, Token};
use purser_protocol::wallet::TestWallet;

const SOLANA: u32 = 5;
const BASE: u32 = 6;
/// The finality threshold of a fast transfer: confirmed, not final.
const FAST: u32 = 1_000;
const LENGTH: usize = 376;
/// Byte offsets in the message.
const NONCE: usize = 12;
const TOKEN: usize = 152;
const RECIPIENT: usize = 184;
const AMOUNT: usize = 216;
const FEE: usize = 312;

/// Fields of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) nonce: [u8; 32],
    pub(super) to: [u8; 20],
    /// Burned amount in atomic units.
    pub(super) amount: u64,
    /// Fee that the bridge deducts.
    pub(super) fee: u64,
}

fn word(bytes: &[u8]) -> [u8; 32] {
    let mut word = [0; 32];
    let from = word.len().saturating_sub(bytes.len());
    word[from..].copy_from_slice(bytes);
    word
}

fn number(value: u64) -> [u8; 32] {
    word(&value.to_be_bytes())
}

impl Message {
    /// Minted amount: burned less the fee.
    pub(super) fn delivered_amount(&self) -> Usdc {
        Usdc::from_atomic(self.amount.saturating_sub(self.fee))
    }

    /// The bytes that the attesters sign.
    pub(super) fn bytes(&self, sender: &[u8; 32]) -> Vec<u8> {
        let envelope = [1, SOLANA, BASE].map(u32::to_be_bytes).concat();
        let parts: [&[u8]; 15] = [
            &envelope,
            &self.nonce,
            sender,
            &word(&self.to),
            // Anyone may mint.
            &[0; 32],
            &FAST.to_be_bytes(),
            &FAST.to_be_bytes(),
            &1_u32.to_be_bytes(),
            &SOLANA_USDC,
            &word(&self.to),
            &number(self.amount),
            sender,
            &number(self.fee),
            &number(self.fee),
            &[0; 32],
        ];
        parts.concat()
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != LENGTH {
            return None;
        }
        let at = |from: usize| bytes.get(from..from + 32)?.try_into().ok();
        let last_8 = |word: [u8; 32]| word.last_chunk().map(|b| u64::from_be_bytes(*b));
        Some(Self {
            nonce: at(NONCE)?,
            to: *at(RECIPIENT)?.last_chunk()?,
            amount: last_8(at(AMOUNT)?)?,
            fee: last_8(at(FEE)?)?,
        })
    }

    /// Whether the message moves USDC.
    pub(super) fn is_of_usdc(bytes: &[u8]) -> bool {
        bytes.get(TOKEN..TOKEN + 32) == Some(&SOLANA_USDC[..])
    }

    /// The mint on Base: a transfer from the bridge, made only once because of its nonce.
    pub(super) fn mint(&self, bridge: &TestWallet) -> EvmAuthorization {
        let mut mint = EvmAuthorization {
            from: bridge.evm_address(),
            to: self.to,
            value: self.delivered_amount(),
            valid_after: 0,
            valid_before: u64::MAX,
            nonce: self.nonce,
            signature: [0; 65].into(),
        };
        bridge.sign_transfer(&Token::SANDBOX.domain(), &mut mint);
        mint
    }
}

/// The attesters' signature.
pub(super) fn attest(bridge: &TestWallet, message: &[u8]) -> [u8; 65] {
    bridge.sign_digest(&keccak(message))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: a message is 376 bytes, its fields are at the offsets of CCTP v2, and it reads back as it was written.
    #[test]
    fn message_has_the_cctp_layout() {
        let message = Message {
            nonce: [7; 32],
            to: [9; 20],
            amount: 5_000_500,
            fee: 500,
        };
        let bytes = message.bytes(&[3; 32]);
        assert_eq!(bytes.len(), LENGTH);
        assert_eq!(bytes[..12], [0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 6]);
        assert_eq!(bytes[148..152], [0, 0, 0, 1], "the body begins at 148");
        assert_eq!(
            (Message::read(&bytes), Message::read(&bytes[1..])),
            (Some(message), None)
        );
        assert_eq!(message.delivered_amount(), Usdc::from_atomic(5_000_000));
        let mut other = bytes.clone();
        other[TOKEN] ^= 1;
        assert_eq!(
            (Message::is_of_usdc(&bytes), Message::is_of_usdc(&other)),
            (true, false)
        );
    }
}
