//! Parses and checks the form of signatures.

use purser_actors::port::EvmSignature;
use purser_chains::evm::contract_wallet::{Undeployed, is_wrapped};

use super::HALF_ORDER;
use crate::payment::error::{InvalidReason, VerificationError};

/// Decodes the signature of a key, of a contract, or of a wallet that one of these factories deploys (ERC-6492).
pub(super) fn signature_bytes(text: &str, factories: &[[u8; 20]]) -> Result<EvmSignature, VerificationError> {
    let refused = |message: &'static str| VerificationError::new(InvalidReason::EvmSignature, message);
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let mut of_key = [0; 65];
    if digits.len() == 2 * of_key.len() {
        hex::decode_to_slice(digits, &mut of_key).map_err(|_| refused("the signature is not hex"))?;
        return Ok(of_key.into());
    }
    if digits.len() > 2 * EvmSignature::MAX_BYTES {
        return Err(refused("a signature has at most 4096 bytes"));
    }
    let bytes = hex::decode(digits).map_err(|_| refused("the signature is not hex"))?;
    if bytes.is_empty() {
        return Err(refused("there is no signature"));
    }
    if is_wrapped(&bytes) {
        let listed = Undeployed::unwrap(&bytes).is_some_and(|wallet| factories.contains(&wallet.factory.into_array()));
        if !listed {
            return Err(VerificationError::new(
                InvalidReason::PayloadType,
                "an ERC-6492 signature must name a listed factory",
            ));
        }
    }
    EvmSignature::new(&bytes).ok_or_else(|| refused("a signature has at most 4096 bytes"))
}

/// The signature of a key or of a contract wallet, as sent.
pub(super) fn any_signature(text: &str) -> Option<EvmSignature> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let short_enough = digits.len() <= 2 * EvmSignature::MAX_BYTES;
    let bytes = short_enough.then(|| hex::decode(digits).ok())??;
    EvmSignature::new(&bytes)
}

/// 27 or 28, of a signature with a low s.
pub(super) fn canonical_v(signature: &[u8; 65]) -> Result<u8, VerificationError> {
    if signature[32..64] > HALF_ORDER[..] {
        return Err(VerificationError::new(
            InvalidReason::EvmSignature,
            "the signature's s is in the upper half",
        ));
    }
    match signature[64] {
        v @ (27 | 28) => Ok(v),
        v @ (0 | 1) => Ok(v + 27),
        _ => Err(VerificationError::new(
            InvalidReason::EvmSignature,
            "the signature's v must be 27 or 28",
        )),
    }
}
