//! Signatures of contract wallets: verified by the contract (ERC-1271), or wrapped with the call that deploys it
//! (ERC-6492).

use alloy_primitives::{Address, B256, Bytes};
use alloy_sol_types::{SolCall as _, SolValue as _};

/// Suffix of an ERC-6492 signature.
pub const MAGIC: [u8; 32] = [
    0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64,
    0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92,
];

/// Result of `isValidSignature` for a valid signature: its own selector.
const ACCEPTED: [u8; 4] = [0x16, 0x26, 0xba, 0x7e];

mod abi {
    #![allow(missing_docs, reason = "generated; the standard is ERC-1271")]

    alloy_sol_types::sol! {
        function isValidSignature(bytes32 digest, bytes signature) external view returns (bytes4);
    }
}

/// An ERC-6492 signature, of a wallet that may not be deployed yet, with the call that deploys it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undeployed {
    /// The contract that deploys the wallet.
    pub factory: Address,
    /// Calldata for the factory.
    pub call: Bytes,
    /// The signature that the wallet accepts once it is deployed (ERC-1271).
    pub signature: Bytes,
}

/// Whether a signature has the ERC-6492 suffix.
pub fn is_wrapped(signature: &[u8]) -> bool {
    signature.ends_with(&MAGIC)
}

impl Undeployed {
    /// Unwraps a signature: `(address, bytes, bytes)` in ABI encoding, followed by the magic bytes. `None` for anything
    /// else.
    pub fn unwrap(signature: &[u8]) -> Option<Self> {
        let body = signature.strip_suffix(&MAGIC)?;
        let (factory, call, signature) = <(Address, Bytes, Bytes)>::abi_decode_params_validate(body).ok()?;
        Some(Self {
            factory,
            call,
            signature,
        })
    }

    /// The wrapped signature.
    pub fn wrap(&self) -> Vec<u8> {
        let fields = (self.factory, self.call.clone(), self.signature.clone());
        [fields.abi_encode_params(), MAGIC.to_vec()].concat()
    }
}

/// Calldata of `isValidSignature`, for the wallet.
pub fn signature_call(digest: B256, signature: &[u8]) -> Vec<u8> {
    let signature = Bytes::copy_from_slice(signature);
    abi::isValidSignatureCall { digest, signature }.abi_encode()
}

/// Whether the result of `isValidSignature` means that the signature is valid.
pub fn accepts(returned: &[u8]) -> bool {
    // At least one word, starting with the four bytes, and zeros after them.
    returned
        .first_chunk::<32>()
        .is_some_and(|word| word[..4] == ACCEPTED && word[4..].iter().all(|byte| *byte == 0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    // Checks: unwrapping reverses wrapping. A shorter text, another suffix and a body that is not such a triple are
    // rejected.
    #[test]
    fn a_wrapped_signature_has_one_form() {
        let whole = Undeployed {
            factory: Address::repeat_byte(7),
            call: Bytes::from(vec![1; 70]),
            signature: Bytes::from(vec![2; 65]),
        };
        let wrapped = whole.wrap();
        assert!(is_wrapped(&wrapped));
        assert_eq!(Undeployed::unwrap(&wrapped), Some(whole));
        assert_eq!(Undeployed::unwrap(&wrapped[..wrapped.len() - 1]), None);
        assert_eq!(Undeployed::unwrap(&wrapped[32..]), None);
        assert_eq!(Undeployed::unwrap(&MAGIC), None);
        assert_eq!(Undeployed::unwrap(&[[7; 96].as_slice(), &MAGIC].concat()), None);
        assert!(!is_wrapped(&[0x64; 65]));
    }

    // Checks: the calldata has the standard's selector, which is also the accepted return value; every other value
    // rejects.
    #[test]
    fn only_the_standards_value_accepts() {
        assert_eq!(signature_call(B256::ZERO, &[1])[..4], ACCEPTED);
        let mut word = [0; 32];
        word[..4].copy_from_slice(&ACCEPTED);
        assert!(accepts(&word));
        assert!(!accepts(&ACCEPTED));
        assert!(!accepts(&[]));
        assert!(!accepts(&[0xff; 32]));
        word[31] = 1;
        assert!(!accepts(&word));
    }
}
