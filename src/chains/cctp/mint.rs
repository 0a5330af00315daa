//! The mint on Base: calldata of MessageTransmitterV2.

use alloy_sol_types::{SolCall, sol};

sol! {
    /// Verifies the attestation, uses up the nonce and mints.
    function receiveMessage(bytes message, bytes attestation) external returns (bool success);

    /// 0 for a nonce that was not used, 1 for one that was.
    function usedNonces(bytes32 nonce) external view returns (uint256 used);
}

/// Calldata that submits an attested message. Anyone may send it; a used nonce makes it revert.
pub fn receive_message(message: &[u8], attestation: &[u8]) -> Vec<u8> {
    receiveMessageCall {
        message: message.to_vec().into(),
        attestation: attestation.to_vec().into(),
    }
    .abi_encode()
}

/// Calldata that asks whether a nonce was used.
pub fn used_nonces(nonce: &[u8; 32]) -> Vec<u8> {
    usedNoncesCall { nonce: (*nonce).into() }.abi_encode()
}

/// Reads the result of [`used_nonces`]. `None` if it is neither 0 nor 1.
pub fn is_used(result: &[u8]) -> Option<bool> {
    let used = usedNoncesCall::abi_decode_returns(result).ok()?;
    match u64::try_from(used) {
        Ok(0) => Some(false),
        Ok(1) => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    #[test]
    fn calldata_has_the_published_selectors() {
        // Checks: selectors 0x57ecfd28 and 0xfeb61724, arguments by the ABI.
        let call = receive_message(&[1; 376], &[2; 130]);
        assert_eq!(hex::encode(&call[..4]), "57ecfd28");
        let words: Vec<&[u8]> = call[4..].chunks(32).collect();
        let number = |word: &[u8]| u64::from_be_bytes(*word.last_chunk().unwrap());
        assert_eq!((number(words[0]), number(words[2])), (64, 376));
        let second = 64 + 32 + 384;
        assert_eq!((number(words[1]), number(words[second / 32])), (second as u64, 130));
        assert_eq!(call.len(), 4 + second + 32 + 160);
        let nonce = used_nonces(&[7; 32]);
        assert_eq!(
            (hex::encode(&nonce[..4]), &nonce[4..]),
            ("feb61724".to_owned(), &[7; 32][..])
        );
    }

    #[test]
    fn only_0_and_1_answer() {
        let word = |last: u8| {
            let mut word = [0; 32];
            word[31] = last;
            word
        };
        assert_eq!(is_used(&word(0)), Some(false));
        assert_eq!(is_used(&word(1)), Some(true));
        assert_eq!(is_used(&word(2)), None);
        assert_eq!(is_used(&[255; 32]), None);
        assert_eq!(is_used(&[]), None);
        assert_eq!(is_used(&[0; 31]), None);
    }
}
