//! The form of a proof: chain, type and encoding of signatures, and the header itself.

use super::*;

/// One changed member of a valid proof, and the expected rejection.
const MISMATCHES: [(Network, SignInError, &str, &str); 21] = [
    (Network::Base, SignInError::UnsupportedChain, "chainId", "eip155:1"),
    (Network::Base, SignInError::UnsupportedChain, "chainId", "eip155:84532"),
    (Network::Base, SignInError::UnsupportedChain, "chainId", "8453"),
    (Network::Base, SignInError::UnsupportedChain, "chainId", "base"),
    (Network::Base, SignInError::ChainId, "type", "ed25519"),
    (Network::Base, SignInError::ChainId, "type", "eip1271"),
    (
        Network::Base,
        SignInError::ChainId,
        "chainId",
        "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    ),
    (
        Network::Base,
        SignInError::SignatureScheme,
        "signatureScheme",
        "eip1271",
    ),
    (
        Network::Base,
        SignInError::SignatureScheme,
        "signatureScheme",
        "eip6492",
    ),
    (Network::Base, SignInError::SignatureScheme, "signatureScheme", "siws"),
    (Network::Base, SignInError::MalformedAddress, "address", "0x19E7"),
    (
        Network::Base,
        SignInError::MalformedAddress,
        "address",
        "Bow1CGKGDB9mNxeWdw85E2aCthQ1oZX4oFEe7fYT17ew",
    ),
    (
        Network::Base,
        SignInError::Signature,
        "address",
        "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2B",
    ),
    (
        Network::Base,
        SignInError::Signature,
        "address",
        "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a",
    ),
    (
        Network::Solana,
        SignInError::UnsupportedChain,
        "chainId",
        "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
    ),
    (Network::Solana, SignInError::ChainId, "type", "eip191"),
    (Network::Solana, SignInError::ChainId, "chainId", "eip155:8453"),
    (
        Network::Solana,
        SignInError::SignatureScheme,
        "signatureScheme",
        "eip191",
    ),
    (Network::Solana, SignInError::MalformedAddress, "address", EVM_ADDRESS),
    (
        Network::Solana,
        SignInError::MalformedAddress,
        "address",
        "Bow1CGKGDB9mNxeWdw85E2aCthQ1oZX4oFEe7fYT17",
    ),
    (
        Network::Solana,
        SignInError::Signature,
        "address",
        "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi",
    ),
];

/// Checks (case 42): chain, signature type, scheme and address must be one of our two sets.
#[test]
fn case_42_chain_and_kind_of_signature_must_agree() {
    let service = service();
    for (network, refusal, member, value) in MISMATCHES {
        let mut fields = fields(&sign(service.proof(network, NOW), network));
        fields.insert(member.to_owned(), json!(value));
        let header = STANDARD.encode(Value::Object(fields).to_string());
        assert_eq!(
            service.checker.check(header.as_bytes(), NOW),
            Err(refusal),
            "{network:?} {member} {value}"
        );
    }
}

/// Checks: an Ethereum signature has one accepted form; a second encoding of it and contract wallets' signatures are
/// rejected.
#[test]
fn an_ethereum_signature_has_one_form() {
    let service = service();
    let proof = service.proof(Network::Base, NOW);
    let good = evm_signature(&proof.message(Network::Base));
    let with = |bytes: &[u8]| SignInProof {
        signature: format!("0x{}", hex::encode(bytes)),
        ..proof.clone()
    };
    let mut ledger = good;
    ledger[64] -= 27;
    for accepted in [good, ledger] {
        assert!(service.check(&with(&accepted)).is_ok());
    }
    let mut other_v = good;
    other_v[64] = 55 - good[64];
    assert_eq!(service.check(&with(&other_v)), Err(SignInError::Signature));
    let mut zero = good;
    zero[..64].fill(0);
    assert_eq!(service.check(&with(&zero)), Err(SignInError::Signature));
    let mut wide_v = good;
    wide_v[64] = 29;
    for malformed in [
        &high_s(good)[..],
        &wide_v,
        &[0xff; 65],
        &good[..64],
        &[&good[..], &[0]].concat(),
        &[],
    ] {
        assert_eq!(
            service.check(&with(malformed)),
            Err(SignInError::MalformedSignature),
            "{malformed:?}"
        );
    }
    for text in [
        "",
        "0x",
        &hex::encode(good),
        &format!("0X{}", hex::encode(good)),
        "0xzz",
    ] {
        let proof = SignInProof {
            signature: text.to_owned(),
            ..proof.clone()
        };
        assert_eq!(service.check(&proof), Err(SignInError::MalformedSignature), "{text}");
    }
}

/// The same signature with s replaced by order - s and v flipped: valid to a reader that does not demand low s.
fn high_s(mut signature: [u8; 65]) -> [u8; 65] {
    let order = hex::decode("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141").unwrap();
    let mut borrow = 0;
    for at in (0..32).rev() {
        let difference = i16::from(order[at]) - i16::from(signature[32 + at]) - borrow;
        borrow = i16::from(difference < 0);
        signature[32 + at] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    signature[64] = 55 - signature[64];
    signature
}

/// Checks: a Solana signature is 64 bytes by that key. Keys of small order are not accepted as wallets, because one of
/// their signatures fits many messages.
#[test]
fn a_solana_signature_is_strict() {
    let service = service();
    let proof = service.proof(Network::Solana, NOW);
    let good = solana_key().sign(proof.message(Network::Solana).as_bytes()).to_bytes();
    let with = |bytes: &[u8]| SignInProof {
        signature: bs58::encode(bytes).into_string(),
        ..proof.clone()
    };
    assert!(service.check(&with(&good)).is_ok());
    let mut flipped = good;
    flipped[5] ^= 1;
    assert_eq!(service.check(&with(&flipped)), Err(SignInError::Signature));
    for malformed in [&good[..63], &[&good[..], &[0]].concat(), &[]] {
        assert_eq!(service.check(&with(malformed)), Err(SignInError::MalformedSignature));
    }
    for text in ["0OIl", "0xabcd"] {
        let proof = SignInProof {
            signature: text.to_owned(),
            ..proof.clone()
        };
        assert_eq!(service.check(&proof), Err(SignInError::MalformedSignature), "{text}");
    }
    // The neutral element and a point of order eight; R = the neutral element and s = 0 satisfy the plain equation.
    let order_eight = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a";
    let neutral = format!("01{}", "00".repeat(31));
    for key in [neutral.as_str(), order_eight] {
        let mut weak = proof.clone();
        weak.address = bs58::encode(hex::decode(key).unwrap()).into_string();
        weak.signature = bs58::encode(hex::decode(format!("{neutral}{}", "00".repeat(32))).unwrap()).into_string();
        assert_eq!(service.check(&weak), Err(SignInError::MalformedAddress), "{key}");
    }
}

/// Checks: a header that is not one bounded, unambiguous proof is rejected before anything is checked.
#[test]
fn header_without_a_proof_is_rejected() {
    let service = service();
    let good = fields(&sign(service.proof(Network::Base, NOW), Network::Base));
    let text = Value::Object(good.clone()).to_string();
    let mut cases = vec![
        String::new(),
        "not base64!".to_owned(),
        STANDARD.encode("not json"),
        STANDARD.encode("[]"),
        STANDARD.encode("{}"),
        STANDARD.encode(text.replacen('{', r#"{"domain":"evil.example","#, 1)),
        STANDARD.encode(text.clone() + "{}"),
        STANDARD.encode([text.as_bytes(), b"\xff"].concat()),
        STANDARD.encode(&text) + "====",
        STANDARD.encode(text.clone() + &" ".repeat(8192)),
    ];
    for name in good
        .keys()
        .filter(|name| !matches!(name.as_str(), "statement" | "expirationTime"))
    {
        let mut missing = good.clone();
        missing.remove(name);
        cases.push(STANDARD.encode(Value::Object(missing).to_string()));
        let mut number = good.clone();
        number.insert(name.clone(), json!(1));
        cases.push(STANDARD.encode(Value::Object(number).to_string()));
    }
    for name in ["statement", "requestId", "uri", "address", "nonce"] {
        let mut broken = good.clone();
        broken.insert(name.to_owned(), json!("one\nNonce: two"));
        cases.push(STANDARD.encode(Value::Object(broken).to_string()));
    }
    for header in cases {
        let refusal = service.checker.check(header.as_bytes(), NOW).unwrap_err();
        assert!(matches!(refusal, SignInError::Header(_)), "{refusal:?} for {header}");
        assert_eq!(refusal.reason(), "invalid_siwx_header");
    }
    let mut more = good;
    more.insert("somethingNew".to_owned(), json!({"a": 1}));
    let header = STANDARD.encode(Value::Object(more).to_string());
    assert!(
        service.checker.check(header.as_bytes(), NOW).is_ok(),
        "unknown members are ignored"
    );
}
