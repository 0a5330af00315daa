//! Signatures: secp256k1 recovery by the C library against k256, and ed25519 in its strict form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bolero::check;
use purser::payment::evm::{SignatureRecovery, keccak, recover};
use purser::payment::solana::{SolanaRequirements, verify};
use purser::payment::{Payee, Terms};
use purser_actors::id::Network;

use crate::input::{FuzzInput, change_bytes};
use crate::seller::{PRICE, buyer, offers, pay, solana, terms};

/// The order of secp256k1's group.
const ORDER: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
/// Half of it.
const HALF_ORDER: &str = "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0";
/// The order of ed25519's group, least byte first.
const ED25519_ORDER: &str = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";

/// Numbers at the edges of a field: zero, one, the order and its neighbours, its half.
fn edge(dice: &mut FuzzInput<'_>) -> [u8; 32] {
    let mut number = [0; 32];
    match dice.byte() % 5 {
        0 => {}
        1 => number[31] = 1,
        2 => number = [0xff; 32],
        3 => hex::decode_to_slice(HALF_ORDER, &mut number).unwrap(),
        _ => hex::decode_to_slice(ORDER, &mut number).unwrap(),
    }
    number[31] = number[31].wrapping_add(dice.byte() % 3).wrapping_sub(1);
    number
}

#[test]
fn both_libraries_recover_the_same_signer_or_none() {
    // Checks: k256 is the oracle. For changed real signatures and numbers at the group's edges, the C library recovers
    // the same address. Only the signature or its malleated twin recovers the signer.
    check!()
        .with_iterations(3_000)
        .with_max_len(96)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let digest = keccak(&[dice.byte()]);
            let good = buyer().sign_digest(&digest);
            let mut signature = good.to_vec();
            (0..dice.below(3)).for_each(|_| change_bytes(&mut signature, &mut dice));
            signature.resize(65, dice.byte());
            if dice.one_in(3) {
                signature[..32].copy_from_slice(&edge(&mut dice));
            }
            if dice.one_in(3) {
                signature[32..64].copy_from_slice(&edge(&mut dice));
            }
            if dice.one_in(2) {
                signature[64] = *dice.of(&[0, 1, 26, 27, 28, 29, 35, 36, 255]);
            }
            let signature: [u8; 65] = signature.try_into().unwrap();
            let found = recover(&digest, &signature, SignatureRecovery::Libsecp256k1);
            assert_eq!(
                found,
                recover(&digest, &signature, SignatureRecovery::K256),
                "{signature:02x?}"
            );
            if found == Some(buyer().evm_address()) {
                let same_r = signature[..32] == good[..32];
                assert!(same_r && (signature[64] % 27 == good[64] % 27) == (signature[32..64] == good[32..64]));
            }
        });
}

/// s + L: the same signature to a verifier that does not look at its range.
fn beyond_the_order(s: &[u8]) -> Vec<u8> {
    let order = hex::decode(ED25519_ORDER).unwrap();
    let mut carry = 0;
    let add = |(a, b): (&u8, &u8)| {
        let sum = u16::from(*a) + u16::from(*b) + carry;
        carry = sum >> 8;
        sum as u8
    };
    s.iter().zip(&order).map(add).collect()
}

#[test]
fn an_ed25519_signature_has_one_form() {
    // Checks: no change of a payer's signature verifies, including the range of s and small commitments.
    let Terms {
        payee: Payee::Solana(payee),
        amount,
        ..
    } = terms(PRICE, solana(None))
    else {
        panic!("Solana")
    };
    let demand = SolanaRequirements { payee: &payee, amount };
    let payment = pay(&offers(), Network::Solana);
    let good = STANDARD
        .decode(payment["payload"]["transaction"].as_str().unwrap())
        .unwrap();
    check!()
        .with_iterations(2_000)
        .with_max_len(64)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut signature = good[65..129].to_vec();
            match dice.byte() % 4 {
                0 => {}
                1 => signature = [&signature[..32], &beyond_the_order(&signature[32..])].concat(),
                2 => {
                    // The neutral element and a point of order two.
                    signature[..32].fill(0);
                    signature[0] = *dice.of(&[0, 1]);
                }
                _ => change_bytes(&mut signature, &mut dice),
            }
            signature.resize(64, 0);
            let wire = [&good[..65], &signature, &good[129..]].concat();
            assert_eq!(verify(&wire, &demand).is_ok(), wire == good);
        });
}
