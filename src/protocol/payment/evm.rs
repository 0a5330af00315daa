//! `exact` on Base: EIP-3009 `TransferWithAuthorization`, signed as EIP-712 typed data.
//!
//! The signature of an ordinary account is checked here. That of a contract wallet (ERC-1271, EIP-7702, ERC-6492) can
//! only be checked on the chain.

mod signature;

use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, EvmAuthorization, Timestamp};
use sha3::{Digest, Keccak256};

use self::signature::{any_signature, canonical_v, signature_bytes};
use super::decode::{EvmFields, EvmPayload};
use super::error::{InvalidReason, VerificationError};
use super::proof::OfflineVerification;
use super::terms::BasePayee;

/// A payment must stay valid at least this long, or it could expire before it is in a block (x402 reference).
pub const MIN_VALIDITY_SECONDS: u64 = 6;

/// A payment may outlive the price by this much. The chain is watched until the payment can never settle, so this
/// bounds the time.
pub const MAX_EXTRA_VALIDITY_SECONDS: u64 = 600;

/// The domain's type: the four fields USDC uses.
const DOMAIN_TYPE: &[u8] = b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";

#[cfg(test)]
const TRANSFER_TYPE: &[u8] = b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,\
    uint256 validBefore,bytes32 nonce)";

/// keccak256 of EIP-3009's primary type; a test recomputes it.
const TRANSFER_TYPE_HASH: [u8; 32] = [
    0x7c, 0x7c, 0x6c, 0xdb, 0x67, 0xa1, 0x87, 0x43, 0xf4, 0x9e, 0xc6, 0xfa, 0x9b, 0x35, 0xf5, 0x0d, 0x52, 0xed, 0x05,
    0xcb, 0xed, 0x4c, 0xc5, 0x92, 0xe1, 0x3b, 0x44, 0x50, 0x1c, 0x1a, 0x22, 0x67,
];

/// Half of secp256k1's group order. A larger s is the malleated twin of a signature, and USDC rejects it.
pub(crate) const HALF_ORDER: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x5d, 0x57, 0x6e,
    0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
];

/// Library that recovers the signer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignatureRecovery {
    /// The C library libsecp256k1: about twice as fast.
    #[default]
    Libsecp256k1,
    /// k256, in Rust; the tests also use it as the oracle for the C library.
    K256,
}

/// Requirements of our terms on an EIP-3009 payment.
#[derive(Clone, Copy, Debug)]
pub struct EvmRequirements<'a> {
    pub payee: &'a BasePayee,
    /// The EIP-712 domain that the payment is signed under: the payee's, for the payment's protocol.
    pub domain: &'a [u8; 32],
    /// The exact amount.
    pub amount: Usdc,
    /// From the terms.
    pub max_timeout_seconds: u32,
    /// Current Unix time in seconds.
    pub now: u64,
}

/// As [`verify_offline`], for a payment that must be signed by the payer's key.
///
/// # Errors
/// As [`verify_offline`], and [`InvalidReason::EvmSignature`].
pub fn verify(
    payload: &EvmPayload,
    demand: &EvmRequirements<'_>,
    recovery: SignatureRecovery,
) -> Result<Authorization, VerificationError> {
    verify_offline(payload, demand, recovery)?.proven()
}

/// Verifies an EIP-3009 payment: recipient, amount, time window, and last the signature, which costs the most.
///
/// # Errors
/// The `Evm…` reasons, [`InvalidReason::PayloadType`] for a wallet deployed by a factory that is not allowlisted,
/// [`InvalidReason::Malformed`] for text that is not a number or address.
pub fn verify_offline(
    payload: &EvmPayload,
    demand: &EvmRequirements<'_>,
    recovery: SignatureRecovery,
) -> Result<OfflineVerification<Authorization>, VerificationError> {
    let fields = &payload.authorization;
    let from = address(&fields.from)?;
    let to = address(&fields.to)?;
    let nonce = fixed_hex::<32>(&fields.nonce).ok_or_else(|| malformed("`nonce` must be 0x and 64 hex digits"))?;
    let value = decimal(&fields.value)?;
    let valid_after = decimal(&fields.valid_after)?;
    let valid_before = decimal(&fields.valid_before)?;
    let signature = signature_bytes(&payload.signature, &demand.payee.erc6492_factories)?;

    if to != demand.payee.pay_to {
        return Err(VerificationError::new(
            InvalidReason::EvmRecipient,
            "`to` is not the address in the challenge",
        ));
    }
    if value != Some(demand.amount.atomic()) {
        return Err(VerificationError::new(
            InvalidReason::EvmValue,
            "`value` is not exactly the amount in the challenge",
        ));
    }
    let (valid_after, valid_before) = window(valid_after, valid_before, demand)?;

    let mut authorization = EvmAuthorization {
        from,
        to,
        value: demand.amount,
        valid_after,
        valid_before,
        nonce,
        signature,
    };
    Ok(match signed_by_key(&authorization, demand, recovery) {
        Ok(signature) => {
            authorization.signature = signature.into();
            OfflineVerification::Proven(Authorization::Evm(authorization))
        }
        Err(refusal) => OfflineVerification::Unproven(Authorization::Evm(authorization), refusal),
    })
}

/// The signature of the payer's key, with v 27 or 28.
fn signed_by_key(
    authorization: &EvmAuthorization,
    demand: &EvmRequirements<'_>,
    recovery: SignatureRecovery,
) -> Result<[u8; 65], VerificationError> {
    let refused = |message: &'static str| VerificationError::new(InvalidReason::EvmSignature, message);
    let mut signature = *authorization
        .signature
        .as_ecdsa()
        .ok_or_else(|| refused("a signature must be 65 bytes, or one that the payer's contract accepts"))?;
    signature[64] = canonical_v(&signature)?;
    let is_signed_under = |domain: &[u8; 32]| {
        let digest = transfer_digest(domain, authorization);
        recover(&digest, &signature, recovery).is_some_and(|signer| signer == authorization.from)
    };
    // The same payment may be presented by the other protocol; the real token has one domain for both.
    let other = match *demand.domain == demand.payee.domain_separator {
        true => &demand.payee.mpp_domain_separator,
        false => &demand.payee.domain_separator,
    };
    if is_signed_under(demand.domain) || (other != demand.domain && is_signed_under(other)) {
        return Ok(signature);
    }
    Err(refused("the signature was not made by `from` over these fields"))
}

/// The amount in the payment itself, and the last moment at which it could have been claimed. `None` when it cannot be
/// parsed.
pub fn signed_amount_and_window(payload: &EvmPayload) -> Option<(Usdc, Timestamp)> {
    let number = |text: &str| decimal(text).ok().flatten();
    let fields = &payload.authorization;
    let last = number(&fields.valid_before)?.checked_sub(MIN_VALIDITY_SECONDS)?;
    let now = Timestamp(last.checked_mul(1000)?);
    Some((Usdc::from_atomic(number(&fields.value)?), now))
}

/// The payment as it was signed, without checks against our terms: only a chain can prove it. `None` if it is not a
/// payment.
pub fn parse_fields(payload: &EvmPayload) -> Option<EvmAuthorization> {
    let number = |text: &str| decimal(text).ok().flatten();
    let fields = &payload.authorization;
    Some(EvmAuthorization {
        from: address(&fields.from).ok()?,
        to: address(&fields.to).ok()?,
        value: Usdc::from_atomic(number(&fields.value)?),
        valid_after: number(&fields.valid_after)?,
        valid_before: number(&fields.valid_before)?,
        nonce: fixed_hex::<32>(&fields.nonce)?,
        signature: any_signature(&payload.signature)?,
    })
}

impl From<&EvmAuthorization> for EvmPayload {
    fn from(signed: &EvmAuthorization) -> Self {
        Self {
            authorization: EvmFields {
                from: checksummed(&signed.from),
                to: checksummed(&signed.to),
                value: signed.value.atomic().to_string(),
                valid_after: signed.valid_after.to_string(),
                valid_before: signed.valid_before.to_string(),
                nonce: format!("0x{}", hex::encode(signed.nonce)),
            },
            signature: format!("0x{}", hex::encode(&signed.signature)),
        }
    }
}

/// `None` for numbers above 64 bits: they exceed every limit here.
fn window(
    after: Option<u64>,
    before: Option<u64>,
    demand: &EvmRequirements<'_>,
) -> Result<(u64, u64), VerificationError> {
    let after = after
        .filter(|after| *after <= demand.now)
        .ok_or_else(|| VerificationError::new(InvalidReason::EvmValidAfter, "the payment is not valid yet"))?;
    let latest = demand
        .now
        .saturating_add(u64::from(demand.max_timeout_seconds))
        .saturating_add(MAX_EXTRA_VALIDITY_SECONDS);
    let before = before.filter(|before| *before <= latest).ok_or_else(|| {
        VerificationError::new(InvalidReason::EvmValidBefore, "`validBefore` is too far in the future")
    })?;
    if before < demand.now.saturating_add(MIN_VALIDITY_SECONDS) {
        return Err(VerificationError::new(
            InvalidReason::EvmValidBefore,
            "the payment has expired or expires within 6 seconds",
        ));
    }
    Ok((after, before))
}

/// The domain separator of EIP-712.
pub fn domain_separator(name: &str, version: &str, chain_id: u64, contract: &[u8; 20]) -> [u8; 32] {
    let mut hash = Keccak256::new();
    hash.update(keccak(DOMAIN_TYPE));
    hash.update(keccak(name.as_bytes()));
    hash.update(keccak(version.as_bytes()));
    hash.update(word_of_number(chain_id));
    hash.update(word_of_address(contract));
    hash.finalize().into()
}

/// The digest that the payer signs (EIP-712 over EIP-3009's struct). The signature of the argument is ignored.
pub fn transfer_digest(domain_separator: &[u8; 32], authorization: &EvmAuthorization) -> [u8; 32] {
    let mut structure = Keccak256::new();
    structure.update(TRANSFER_TYPE_HASH);
    structure.update(word_of_address(&authorization.from));
    structure.update(word_of_address(&authorization.to));
    structure.update(word_of_number(authorization.value.atomic()));
    structure.update(word_of_number(authorization.valid_after));
    structure.update(word_of_number(authorization.valid_before));
    structure.update(authorization.nonce);
    let mut hash = Keccak256::new();
    hash.update([0x19, 0x01]);
    hash.update(domain_separator);
    hash.update(structure.finalize());
    hash.finalize().into()
}

/// The address whose key made this signature (r, s, v with v 0, 1, 27 or 28) over this digest, if any.
pub fn recover(digest: &[u8; 32], signature: &[u8; 65], recovery: SignatureRecovery) -> Option<[u8; 20]> {
    let parity = match signature[64] {
        0 | 27 => 0,
        1 | 28 => 1,
        _ => return None,
    };
    let point: [u8; 65] = match recovery {
        SignatureRecovery::Libsecp256k1 => {
            use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
            let id = RecoveryId::try_from(parity).ok()?;
            let signature = RecoverableSignature::from_compact(&signature[..64], id).ok()?;
            let message = secp256k1::Message::from_digest(*digest);
            signature.recover_ecdsa(message).ok()?.serialize_uncompressed()
        }
        SignatureRecovery::K256 => {
            let id = RecoveryId::new(parity == 1, false);
            let signature = Signature::from_slice(&signature[..64]).ok()?;
            let key = VerifyingKey::recover_from_prehash(digest, &signature, id).ok()?;
            key.to_sec1_point(false).as_bytes().try_into().ok()?
        }
    };
    Some(address_of_point(&point))
}

/// The address of an uncompressed public key: the last 20 bytes of the hash of its coordinates.
pub fn address_of_point(point: &[u8; 65]) -> [u8; 20] {
    let mut address = [0; 20];
    address.copy_from_slice(&keccak(&point[1..])[12..]);
    address
}

/// Hashes with keccak256.
pub fn keccak(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

/// The address in EIP-55's mixed case.
pub fn checksummed(address: &[u8; 20]) -> String {
    let digits = hex::encode(address);
    let hash = keccak(digits.as_bytes());
    let mut text = String::with_capacity(42);
    text.push_str("0x");
    for (index, digit) in digits.chars().enumerate() {
        let nibble = if index % 2 == 0 {
            hash[index / 2] >> 4
        } else {
            hash[index / 2] & 15
        };
        text.push(if nibble >= 8 { digit.to_ascii_uppercase() } else { digit });
    }
    text
}

/// Parses an address by value, in any case.
pub fn parse_address(text: &str) -> Option<[u8; 20]> {
    fixed_hex::<20>(text)
}

fn address(text: &str) -> Result<[u8; 20], VerificationError> {
    parse_address(text).ok_or_else(|| malformed("an address must be 0x and 40 hex digits"))
}

fn fixed_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(text.strip_prefix("0x")?, &mut bytes).ok()?;
    Some(bytes)
}

/// A uint256 in decimal: `Ok(None)` when it is one but does not fit 64 bits.
fn decimal(text: &str) -> Result<Option<u64>, VerificationError> {
    // 2^256 has 78 digits.
    if text.is_empty() || text.len() > 78 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed("amounts and times must be decimal digits in a string"));
    }
    Ok(text.parse().ok())
}

fn word_of_number(number: u64) -> [u8; 32] {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&number.to_be_bytes());
    word
}

fn word_of_address(address: &[u8; 20]) -> [u8; 32] {
    let mut word = [0; 32];
    word[12..].copy_from_slice(address);
    word
}

fn malformed(message: &'static str) -> VerificationError {
    VerificationError::new(InvalidReason::Malformed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_hash_is_the_hash_of_the_type() {
        // Checks: the constant on the hot path is what EIP-712 prescribes.
        assert_eq!(keccak(TRANSFER_TYPE), TRANSFER_TYPE_HASH);
    }

    #[test]
    fn the_domain_of_usdc_is_the_published_one() {
        // Checks: name, version, chain and contract give the separator that another implementation computed from the
        // same fields.
        let separator = domain_separator("USD Coin", "2", 8453, &super::super::terms::BASE_USDC);
        assert_eq!(
            hex::encode(separator),
            "02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"
        );
    }
}
