//! The mint on Base: calldata of MessageTransmitterV2.

use alloy_primitives::{B256, Bytes};
use alloy_sol_types::{SolCall, SolEvent as _, SolValue as _, sol};

use crate::evm::usdc::Log;

sol! {
    /// Verifies the attestation, uses the nonce and mints.
    function receiveMessage(bytes message, bytes attestation) external returns (bool success);

    /// 0 for a nonce that was not used, 1 for one that was.
    function usedNonces(bytes32 nonce) external view returns (uint256 used);

    /// A message was received.
    event MessageReceived(
        address indexed caller,
        uint32 sourceDomain,
        bytes32 indexed nonce,
        bytes32 sender,
        uint32 indexed finalityThresholdExecuted,
        bytes messageBody
    );
}

/// First topic of the transmitter's log of a received message; the third topic is the nonce.
pub const RECEIVED: B256 = MessageReceived::SIGNATURE_HASH;

/// Revert text for a nonce that was used before.
pub const NONCE_USED: &str = "Nonce already used";

/// The nonce that a log reports as used. `None` for other logs.
pub fn nonce_of(log: &Log) -> Option<B256> {
    let received = log.topics.len() == 4 && log.topics.first() == Some(&RECEIVED);
    received.then(|| log.topics.get(2).copied()).flatten()
}

/// Calldata that submits an attested message. Any account may send it; a used nonce makes it revert.
pub fn receive_message(message: &[u8], attestation: &[u8]) -> Vec<u8> {
    receiveMessageCall {
        message: message.to_vec().into(),
        attestation: attestation.to_vec().into(),
    }
    .abi_encode()
}

/// Message and attestation in calldata of [`receive_message`]. `None` for other calldata.
pub fn read_receive_message(call: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let arguments = call.strip_prefix(&receiveMessageCall::SELECTOR)?;
    let (message, attestation) = <(Bytes, Bytes)>::abi_decode_params_validate(arguments).ok()?;
    Some((message.to_vec(), attestation.to_vec()))
}

/// Calldata that queries whether a nonce was used.
pub fn used_nonces(nonce: &[u8; 32]) -> Vec<u8> {
    usedNoncesCall { nonce: (*nonce).into() }.abi_encode()
}

/// Parses the result of [`used_nonces`]. `None` if it is neither 0 nor 1.
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
    fn calldata_reads_back_and_no_other_does() {
        let call = receive_message(&[1; 376], &[2; 130]);
        assert_eq!(read_receive_message(&call), Some((vec![1; 376], vec![2; 130])));
        assert_eq!(read_receive_message(&call[1..]), None);
        assert_eq!(read_receive_message(&call[..call.len() - 32]), None);
        assert_eq!(read_receive_message(&used_nonces(&[7; 32])), None);
        assert_eq!(read_receive_message(&[]), None);
    }

    #[test]
    fn a_log_of_the_transmitter_names_its_nonce() {
        // Checks: keccak256 of the published signature; nonce as the third topic.
        let signature = "MessageReceived(address,uint32,bytes32,bytes32,uint32,bytes)";
        assert_eq!(RECEIVED, alloy_primitives::keccak256(signature));
        let word = B256::repeat_byte;
        let log = |topics: Vec<B256>| Log {
            address: alloy_primitives::Address::ZERO,
            topics,
            data: Bytes::new(),
            block_number: 1,
            block_hash: word(1),
            transaction: word(2),
            log_index: 0,
        };
        assert_eq!(nonce_of(&log(vec![RECEIVED, word(3), word(4), word(5)])), Some(word(4)));
        assert_eq!(nonce_of(&log(vec![word(9), word(3), word(4), word(5)])), None);
        assert_eq!(nonce_of(&log(vec![RECEIVED, word(3), word(4)])), None);
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
