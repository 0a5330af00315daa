#![allow(clippy::unwrap_used, reason = "a test")]

use alloy_primitives::{address, hex};
use zeroize::Zeroizing;

use super::*;

fn key(secret: &str) -> EvmKey {
    let bytes: [u8; 32] = hex::decode(secret).unwrap().try_into().unwrap();
    EvmKey::from_bytes(Zeroizing::new(bytes)).unwrap()
}

struct Vector {
    secret: &'static str,
    sender: Address,
    transaction: Transaction,
    hash: &'static str,
    bytes: &'static str,
}

// Signed with viem 2.55.18 (`privateKeyToAccount(...).signTransaction`, type eip1559).
fn vectors() -> Vec<Vector> {
    let usdc = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
    let transaction =
        |chain_id, nonce, max_fee, max_priority_fee, gas_limit, to, value: u64, data: Vec<u8>| Transaction {
            chain_id,
            nonce,
            fee: Fee {
                max_fee,
                max_priority_fee,
            },
            gas_limit,
            to,
            value: U256::from(value),
            data: data.into(),
        };
    let multicall = address!("cA11bde05977b3631167028862bE2a173976CA11");
    vec![
        Vector {
            secret: "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
            sender: address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
            transaction: transaction(8453, 0, 1_000_000_000, 1_000_000, 120_000, usdc, 0, vec![]),
            hash: "a007233cf3fde8e915fac3e7ac1e65902de04b4547762d9b6a035d5e2175d120",
            bytes: "02f86c82210580830f4240843b9aca008301d4c094833589fcd6edb6e08f4c7c32d4f71b54bda029138080c001a00a94c4a77797aa6015925a3777a0efe87d7af228ea26ce257be3bf785e596100a0034e463fcc3fb46b001205cdf148630cd480bdcda11301fb0f92f5e195640e87",
        },
        Vector {
            secret: "4646464646464646464646464646464646464646464646464646464646464646",
            sender: address!("9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"),
            transaction: transaction(84532, 127, 5_000_000_000, 0, 16_000_000, multicall, 1, vec![0]),
            hash: "379e53b693ae2a9400d4b26adefae608d9d287a10b00e06ff5d72a36266ed778",
            bytes: "02f86b83014a347f8085012a05f20083f4240094ca11bde05977b3631167028862be2a173976ca110100c080a0c0a0fa5b9401dc7a2d31c08aa7176f6321e9f6921292117a80456d6a57e4c134a040b694dfcb921624d6e6d49c892f9fddfa2f554b0c70a161c27be36f6597ad02",
        },
        Vector {
            secret: "0000000000000000000000000000000000000000000000000000000000000001",
            sender: address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf"),
            transaction: transaction(
                8453,
                128,
                1 << 64,
                1 << 63,
                21_000,
                usdc,
                1_000_000_000_000_000_000,
                vec![0x7f],
            ),
            hash: "1f606a19a349772842bb2f83f89e6347d43120141075a61b13f293e8f4d22705",
            bytes: "02f87e82210581808880000000000000008901000000000000000082520894833589fcd6edb6e08f4c7c32d4f71b54bda02913880de0b6b3a76400007fc080a08107ef624020158064cca4de5f6bbf78e18f004851c13833c9151b98e54811fea0394a405d87ded2f51b1c1136213ff0ae5bcaa22562d217fe3275d8db5fca9045",
        },
        Vector {
            secret: "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140",
            sender: address!("80C0dbf239224071c59dD8970ab9d542E3414aB2"),
            transaction: transaction(1, 1 << 32, 127, 127, 90_000, Address::ZERO, 0, vec![0xab; 60]),
            hash: "8db7fd685ddf45b828551a7af9526c33824686b4e789b7c8739ab5dc4bbea165",
            bytes: "02f8a5018501000000007f7f83015f9094000000000000000000000000000000000000000080b83cababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababc080a0eeca3b96553335deba903ccfba882aab754b2c1b64b8f3de2c5499854550ff8ba07d49678fd39a096f50d4bf0a6a0bfe1c8456546c4412843bd542a5bcbd8970dc",
        },
    ]
}

#[test]
fn signed_transactions_match_viem() {
    for vector in vectors() {
        let key = key(vector.secret);
        assert_eq!(key.address(), vector.sender);
        let signed = vector.transaction.clone().sign(&key).unwrap();
        assert_eq!(hex::encode(&signed.bytes), vector.bytes);
        assert_eq!(hex::encode(signed.hash), vector.hash);
        let parsed = SignedTransaction::parse(&signed.bytes).unwrap();
        assert_eq!(parsed, signed);
        assert_eq!(parsed.sender(), Ok(vector.sender));
    }
}

// Checks: every changed, missing or additional byte is an error or a different transaction.
#[test]
fn changed_bytes_never_parse_as_the_same_transaction() {
    for vector in vectors() {
        let bytes = hex::decode(vector.bytes).unwrap();
        for end in 0..bytes.len() {
            assert!(SignedTransaction::parse(&bytes[..end]).is_err());
        }
        assert!(SignedTransaction::parse(&[&bytes[..], &[0]].concat()).is_err());
        for at in 0..bytes.len() {
            for flip in [1, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                if let Ok(parsed) = SignedTransaction::parse(&changed) {
                    let same = parsed.transaction == vector.transaction && parsed.sender() == Ok(vector.sender);
                    assert!(!same, "byte {at}");
                }
            }
        }
    }
}

#[test]
fn high_s_is_rejected() {
    let order = HALF_ORDER * U256::from(2) + U256::from(1);
    let vector = vectors().remove(0);
    let signed = SignedTransaction::parse(&hex::decode(vector.bytes).unwrap()).unwrap();
    let mut twin = signed.clone();
    twin.signature.s = (order - U256::from_be_bytes(signed.signature.s.0)).into();
    twin.signature.y_parity = !signed.signature.y_parity;
    assert_eq!(twin.signature.recover(signed.transaction.digest()), Some(vector.sender));
    assert_eq!(twin.sender(), Err(ParseError::Signature));
}

#[test]
fn key_is_never_printed() {
    let vector = &vectors()[0];
    let text = format!("{:?}", key(vector.secret));
    assert_eq!(text, "EvmKey(0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266)");
    for secret in [[0; 32], [0xff; 32]] {
        assert_eq!(EvmKey::from_bytes(Zeroizing::new(secret)).err(), Some(KeyError));
    }
}

#[test]
fn max_cost_counts_gas_and_value() {
    let mut transaction = vectors().remove(2).transaction;
    let gas = U256::from(21_000) * U256::from(1_u128 << 64);
    assert_eq!(
        transaction.max_cost(),
        Some(gas + U256::from(1_000_000_000_000_000_000_u64))
    );
    transaction.value = U256::MAX;
    assert_eq!(transaction.max_cost(), None);
}
