//! The checks of USDC on Base for an EIP-3009 authorization. The chain trusts no caller and repeats all of them.

use std::sync::LazyLock;

use purser_actors::id::Wallet;
use purser_actors::port::{Decline, EvmAuthorization, Timestamp};
use secp256k1::Message;
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use sha3::{Digest as _, Keccak256};

use super::contract_wallet;
use super::ledger::{ReplayKey, decline};
use crate::keys::evm_address;
use purser_settlement::chain::Acceptance;

/// EIP-712 name and version of this ledger's token. They differ from those of USDC on Base, so a signature for the
/// sandbox is worthless there.
const TOKEN: (&[u8], &[u8]) = (b"Purser Sandbox USDC", b"2");
/// Addresses of the token. Clients that sign what the challenge names use USDC's own address. Clients that know the
/// name of USDC at that address use the other one.
const CONTRACTS: [[u8; 20]; 2] = [
    [
        0x83, 0x35, 0x89, 0xfc, 0xd6, 0xed, 0xb6, 0xe0, 0x8f, 0x4c, 0x7c, 0x32, 0xd4, 0xf7, 0x1b, 0x54, 0xbd, 0xa0,
        0x29, 0x13,
    ],
    [
        0x97, 0xdd, 0x8e, 0x33, 0x92, 0xed, 0xb7, 0xff, 0xb4, 0xaa, 0x1e, 0x4e, 0x8d, 0x65, 0x33, 0x14, 0xd1, 0xd2,
        0x60, 0x20,
    ],
];
const CHAIN_ID: u64 = 8453;
/// Half of the curve's order, big-endian: the contract rejects an `s` above it.
const HALF_ORDER: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x5d, 0x57, 0x6e,
    0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
];

/// Hash of the token's domain at each of its addresses. A check needs seven hashes without it, and two with it.
static DOMAINS: LazyLock<[[u8; 32]; 2]> = LazyLock::new(|| CONTRACTS.map(|contract| domain(TOKEN, &contract)));
static TRANSFER_TYPE: LazyLock<[u8; 32]> = LazyLock::new(|| {
    hash(
        b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,\
          uint256 validBefore,bytes32 nonce)",
    )
});

pub(crate) const fn key(authorization: &EvmAuthorization) -> ReplayKey {
    ReplayKey {
        payer: Wallet::Evm(authorization.from),
        nonce: authorization.nonce,
    }
}

/// Recovers the signer of the EIP-712 digest and compares it with `from`, for each of the token's addresses in order.
pub(crate) fn check_signature(authorization: &EvmAuthorization) -> Result<(), Decline> {
    let [first, second] = &*DOMAINS;
    verify_signer(authorization, first).or_else(|_| verify_signer(authorization, second))
}

/// Whether a contract at the payer's address accepts the signature.
pub(crate) fn acceptance(authorization: &EvmAuthorization) -> Acceptance {
    match contract_wallet::signed_by(&authorization.from, authorization.signature.as_bytes()) {
        None => Acceptance::NotAContract,
        Some(_) if check_signature(authorization).is_ok() => Acceptance::Accepted,
        Some(_) => Acceptance::NotAccepted,
    }
}

fn verify_signer(authorization: &EvmAuthorization, domain: &[u8; 32]) -> Result<(), Decline> {
    let refused = || decline("invalid_exact_evm_signature", "the signature is not the payer's");
    let own = authorization.signature.as_ecdsa().map(|own| (authorization.from, own));
    let of_contract = || contract_wallet::signed_by(&authorization.from, authorization.signature.as_bytes());
    let (owner, [rs @ .., v]) = own.or_else(of_contract).ok_or_else(refused)?;
    let recovery = match v {
        27 => RecoveryId::Zero,
        28 => RecoveryId::One,
        _ => return Err(refused()),
    };
    if rs[32..] > HALF_ORDER[..] {
        return Err(refused());
    }
    let signature = RecoverableSignature::from_compact(rs, recovery).map_err(|_| refused())?;
    let signer = signature
        .recover(Message::from_digest(digest(authorization, domain)))
        .map_err(|_| refused())?;
    if evm_address(&signer) == owner {
        Ok(())
    } else {
        Err(refused())
    }
}

/// `validAfter < now < validBefore`, in the block's seconds.
pub(crate) fn check_time(authorization: &EvmAuthorization, now: Timestamp) -> Result<(), Decline> {
    if now.seconds() <= authorization.valid_after {
        return Err(decline(
            "invalid_exact_evm_payload_authorization_valid_after",
            "authorization is not yet valid",
        ));
    }
    if now.seconds() >= authorization.valid_before {
        return Err(decline(
            "invalid_exact_evm_payload_authorization_valid_before",
            "authorization is expired",
        ));
    }
    Ok(())
}

fn domain((name, version): (&[u8], &[u8]), contract: &[u8; 20]) -> [u8; 32] {
    words(&[
        hash(b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
        hash(name),
        hash(version),
        number(CHAIN_ID),
        address(contract),
    ])
}

/// The EIP-712 digest of `TransferWithAuthorization`.
fn digest(authorization: &EvmAuthorization, domain: &[u8; 32]) -> [u8; 32] {
    let transfer = words(&[
        *TRANSFER_TYPE,
        address(&authorization.from),
        address(&authorization.to),
        number(authorization.value.atomic()),
        number(authorization.valid_after),
        number(authorization.valid_before),
        authorization.nonce,
    ]);
    hash(&[b"\x19\x01".as_slice(), domain, &transfer].concat())
}

/// A transaction id for the submission of this key as the chain's `ordinal`th event.
pub(crate) fn transaction_id(key: &ReplayKey, submitter: &str, ordinal: u64) -> String {
    let text = format!("sandbox transaction {ordinal} by {submitter}");
    let id = hash(&[text.as_bytes(), &key.payer.key(), &key.nonce].concat());
    format!("0x{}", hex::encode(id))
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

fn words(words: &[[u8; 32]]) -> [u8; 32] {
    hash(&words.concat())
}

fn number(value: u64) -> [u8; 32] {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&value.to_be_bytes());
    word
}

fn address(address: &[u8; 20]) -> [u8; 32] {
    let mut word = [0; 32];
    word[12..].copy_from_slice(address);
    word
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use purser_actors::money::Usdc;
    use purser_actors::port::EvmSignature;
    use secp256k1::{PublicKey, SecretKey};

    use super::*;
    use purser_protocol::payment::Token;

    /// Signs like a wallet.
    pub(crate) fn signed(
        secret: [u8; 32],
        to: [u8; 20],
        value: Usdc,
        window: (u64, u64),
        nonce: u8,
    ) -> EvmAuthorization {
        let key = SecretKey::from_secret_bytes(secret).unwrap();
        let mut authorization = EvmAuthorization {
            from: evm_address(&PublicKey::from_secret_key(&key)),
            to,
            value,
            valid_after: window.0,
            valid_before: window.1,
            nonce: [nonce; 32],
            signature: [0; 65].into(),
        };
        let message = Message::from_digest(digest(&authorization, &domain(TOKEN, &CONTRACTS[0])));
        let (recovery, rs) = RecoverableSignature::sign_ecdsa_recoverable(message, &key).serialize_compact();
        flip_recovery_id(&mut authorization, |signature| {
            signature[..64].copy_from_slice(&rs);
            signature[64] = 27 + u8::from(recovery == RecoveryId::One);
        });
        authorization
    }

    /// Changes the 65 bytes of a signature.
    fn flip_recovery_id(authorization: &mut EvmAuthorization, change: impl FnOnce(&mut [u8; 65])) {
        let mut bytes = *authorization.signature.as_ecdsa().unwrap();
        change(&mut bytes);
        authorization.signature = bytes.into();
    }

    // A stock client's payment in real USDC verifies under the real token's domain, so the digest follows the standard.
    // This ledger rejects it under both of its own token's addresses.
    #[test]
    fn case_90_the_digest_is_the_standards_and_the_domain_is_not_the_real_tokens() {
        let array = |text: &str| -> [u8; 32] { hex::decode(text).unwrap().try_into().unwrap() };
        let authorization = EvmAuthorization {
            from: hex::decode("19e7e376e7c213b7e7e7e46cc70a5dd086daff2a")
                .unwrap()
                .try_into()
                .unwrap(),
            to: hex::decode("0d8e461687b7d06f86ec348e0c270b0f279855f0")
                .unwrap()
                .try_into()
                .unwrap(),
            value: Usdc::from_atomic(5_000_000),
            valid_after: 0,
            valid_before: 1_768_473_300,
            nonce: array("8212f540cbc825d0829d474d3381344c58a169220023cc470a0fc71e026d658e"),
            signature: hex::decode(concat!(
                "7be632331d2bfee19f914bd25b894aa11491b7e054e27c0fba972cd757089a4e",
                "0e327c0bb745d5e6101d51efe820a850e6e4eff17038f296a92e8cce836da0db1b"
            ))
            .map(|bytes| EvmSignature::new(&bytes).unwrap())
            .unwrap(),
        };
        let real = domain((b"USD Coin", b"2"), &CONTRACTS[0]);
        assert_eq!(verify_signer(&authorization, &real), Ok(()));
        assert!(check_signature(&authorization).is_err());
        let ours = CONTRACTS.map(|contract| domain(TOKEN, &contract));
        let advertised = [Token::SANDBOX.domain(), Token::SANDBOX.mpp_domain()];
        assert_eq!(ours, advertised, "what challenges name is what is checked");
    }

    // case_14: any change to the signed fields, a high s and an odd v are rejected.
    #[test]
    fn case_14_only_the_payers_own_low_s_signature_counts() {
        let good = signed([5; 32], [8; 20], Usdc::from_atomic(7), (0, 100), 1);
        assert_eq!(check_signature(&good), Ok(()));
        let changes: [fn(&mut EvmAuthorization); 8] = [
            |a| a.from[0] ^= 1,
            |a| a.to[0] ^= 1,
            |a| a.value = Usdc::from_atomic(8),
            |a| a.valid_after = 1,
            |a| a.valid_before = 101,
            |a| a.nonce[0] ^= 1,
            |a| flip_recovery_id(a, |bytes| bytes[64] ^= 7),
            |a| flip_recovery_id(a, |bytes| bytes[64] -= 27),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut changed = good.clone();
            change(&mut changed);
            assert!(check_signature(&changed).is_err(), "change {number}");
        }
        let mut high = good.clone();
        flip_recovery_id(&mut high, |bytes| {
            let low = negated(&bytes[32..64]);
            bytes[32..64].copy_from_slice(&low);
            bytes[64] = 55 - bytes[64];
        });
        assert!(check_signature(&high).is_err(), "the twin with a high s");
        // A contract wallet's signature may have any length except a key's; it is rejected with the code of a wrong
        // signature.
        for length in [0, 64, 66, EvmSignature::MAX_BYTES] {
            let long = EvmSignature::new(&vec![27; length]).unwrap();
            let of_contract = EvmAuthorization {
                signature: long,
                ..good.clone()
            };
            let refused = check_signature(&of_contract).unwrap_err();
            assert_eq!(refused.reason.as_str(), "invalid_exact_evm_signature", "{length} bytes");
        }
    }

    // case_14: a contract wallet accepts its owner's signature of the payment from the wallet. It rejects another
    // owner, another payment, the owner's own address as payer, and any other length. No other address is a contract.
    #[test]
    fn case_14_a_contract_wallet_accepts_its_owners_signature_alone() {
        let of_owner = |secret: [u8; 32], value: u64| {
            let key = SecretKey::from_secret_bytes(secret).unwrap();
            let owner = evm_address(&PublicKey::from_secret_key(&key));
            let wallet = contract_wallet::address_for(&owner);
            let mut payment = signed(secret, [8; 20], Usdc::from_atomic(value), (0, 100), 1);
            payment.from = wallet;
            let message = Message::from_digest(digest(&payment, &domain(TOKEN, &CONTRACTS[0])));
            let (recovery, rs) = RecoverableSignature::sign_ecdsa_recoverable(message, &key).serialize_compact();
            let v = 27 + u8::from(recovery == RecoveryId::One);
            let bytes = [owner.as_slice(), &rs, &[v]].concat();
            assert_eq!(bytes.len(), 85);
            payment.signature = EvmSignature::new(&bytes).unwrap();
            payment
        };
        let good = of_owner([5; 32], 7);
        assert_eq!(check_signature(&good), Ok(()));
        assert_eq!(acceptance(&good), Acceptance::Accepted);

        let other = of_owner([6; 32], 7);
        let mut forged = good.clone();
        forged.signature = other.signature.clone();
        assert_eq!(acceptance(&forged), Acceptance::NotAContract, "another owner's");
        let mut changed = good.clone();
        changed.value = Usdc::from_atomic(8);
        assert_eq!(acceptance(&changed), Acceptance::NotAccepted, "over another amount");
        assert!(check_signature(&changed).is_err());
        let cut = EvmSignature::new(&good.signature.as_bytes()[..84]).unwrap();
        let cut = EvmAuthorization { signature: cut, ..good };
        assert_eq!(acceptance(&cut), Acceptance::NotAContract, "another length");
        assert!(check_signature(&cut).is_err());
        let plain = signed([5; 32], [8; 20], Usdc::from_atomic(7), (0, 100), 1);
        assert_eq!(acceptance(&plain), Acceptance::NotAContract, "a key's");
    }

    fn negated(s: &[u8]) -> [u8; 32] {
        SecretKey::from_secret_bytes(s.try_into().unwrap())
            .unwrap()
            .negate()
            .to_secret_bytes()
    }

    // case_6: both ends of the window are exclusive.
    #[test]
    fn case_06_the_window_is_exclusive_at_both_ends() {
        let authorization = signed([5; 32], [8; 20], Usdc::from_atomic(7), (100, 200), 1);
        for (second, good) in [(100, false), (101, true), (199, true), (200, false)] {
            assert_eq!(
                check_time(&authorization, Timestamp(second * 1000)).is_ok(),
                good,
                "at {second}"
            );
        }
    }
}
