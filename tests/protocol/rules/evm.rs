//! EIP-3009 payments.

use std::sync::Arc;

use purser::payment::evm::{SignatureRecovery, recover};
use purser::payment::terms::BASE_USDC;
use purser::payment::{BasePayee, OfflineVerification, Payee, Terms, decode, verify_against};
use purser_actors::id::Network;
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, EvmAuthorization, Timestamp};
use purser_chains::evm::contract_wallet::Undeployed;
use serde_json::{Value, json};

use crate::seller::{NOW, PAY_TO_BASE, PRICE, base, buyer, encode, offers, pay, terms};
use crate::verify::{verdict, verdict_by};

/// A payment whose signature is right for its fields, whatever they say.
fn signed(change: impl FnOnce(&mut EvmAuthorization)) -> Value {
    let mut fields = EvmAuthorization {
        from: [0; 20],
        to: PAY_TO_BASE,
        value: Usdc::from_atomic(PRICE),
        valid_after: 0,
        valid_before: NOW + 300,
        nonce: [9; 32],
        signature: [0; 65].into(),
    };
    change(&mut fields);
    buyer().sign_transfer(&BasePayee::usdc(PAY_TO_BASE).domain_separator, &mut fields);
    with(&fields)
}

/// A payment with these signed fields, whatever the signature.
pub(crate) fn with(fields: &EvmAuthorization) -> Value {
    let hex = |bytes: &[u8]| format!("0x{}", hex::encode(bytes));
    let mut payment = pay(&offers(), Network::Base);
    payment["payload"] = json!({
        "authorization": {
            "from": hex(&fields.from),
            "to": hex(&fields.to),
            "value": fields.value.atomic().to_string(),
            "validAfter": fields.valid_after.to_string(),
            "validBefore": fields.valid_before.to_string(),
            "nonce": hex(&fields.nonce),
        },
        "signature": hex(fields.signature.as_bytes()),
    });
    payment
}

fn reason(payment: &Value) -> Option<&'static str> {
    let first = verdict(payment, &offers());
    assert_eq!(
        first,
        verdict_by(payment, &offers(), SignatureRecovery::K256),
        "both libraries say the same"
    );
    first.err()
}

#[test]
fn case_5_the_amount_and_recipient_are_exact() {
    // Checks: an amount one unit short or long, or another recipient, is rejected despite a valid signature.
    const VALUE: Option<&str> = Some("invalid_exact_evm_payload_authorization_value_mismatch");
    assert_eq!(reason(&signed(|_| {})), None);
    assert_eq!(reason(&signed(|f| f.value = Usdc::from_atomic(PRICE - 1))), VALUE);
    assert_eq!(reason(&signed(|f| f.value = Usdc::from_atomic(PRICE + 1))), VALUE);
    assert_eq!(
        reason(&signed(|f| f.to = [0xab; 20])),
        Some("invalid_exact_evm_recipient_mismatch")
    );
    let mut beyond_64_bits = signed(|_| {});
    beyond_64_bits["payload"]["authorization"]["value"] = json!("18446744073714551616");
    assert_eq!(reason(&beyond_64_bits), VALUE);
}

#[test]
fn case_6_time_window_boundaries_are_exact() {
    // Checks: each boundary of the window, and one second beyond it.
    const AFTER: Option<&str> = Some("invalid_exact_evm_payload_authorization_valid_after");
    const BEFORE: Option<&str> = Some("invalid_exact_evm_payload_authorization_valid_before");
    let window = |after: u64, before: u64| {
        reason(&signed(|f| {
            f.valid_after = after;
            f.valid_before = before;
        }))
    };
    assert_eq!(window(NOW, NOW + 300), None);
    assert_eq!(window(NOW + 1, NOW + 300), AFTER);
    assert_eq!(window(0, NOW + 6), None);
    assert_eq!(window(0, NOW + 5), BEFORE);
    assert_eq!(window(0, NOW), BEFORE);
    assert_eq!(window(0, NOW + 900), None);
    assert_eq!(window(0, NOW + 901), BEFORE);
    assert_eq!(window(0, u64::MAX), BEFORE);
}

#[test]
fn case_14_only_a_plain_signature_of_the_payer_counts() {
    // Checks: malleated, foreign, wrapped and truncated signatures and changed fields are rejected. v 0/1 is
    // normalised.
    const INVALID_SIGNATURE: Option<&str> = Some("invalid_exact_evm_signature");
    let good = signed(|_| {});
    let signature = good["payload"]["signature"].as_str().unwrap().to_owned();
    let bytes: [u8; 65] = hex::decode(&signature[2..]).unwrap().try_into().unwrap();
    let replaced = |text: String| {
        let mut payment = good.clone();
        payment["payload"]["signature"] = json!(text);
        reason(&payment)
    };
    let hex = |bytes: &[u8]| format!("0x{}", hex::encode(bytes));

    let mut low_v = bytes;
    low_v[64] -= 27;
    assert_eq!(replaced(hex(&low_v)), None);
    let mut payment = good.clone();
    payment["payload"]["signature"] = json!(hex(&low_v));
    assert_eq!(
        verdict(&payment, &offers()),
        verdict(&good, &offers()),
        "v is stored as 27 or 28"
    );

    let mut twin = bytes;
    twin[32..64].copy_from_slice(&negated(&bytes[32..64]));
    twin[64] = if bytes[64] == 27 { 28 } else { 27 };
    assert_eq!(replaced(hex(&twin)), INVALID_SIGNATURE, "high s");
    let mut other_v = bytes;
    other_v[64] = 55 - bytes[64];
    assert_eq!(
        replaced(hex(&other_v)),
        INVALID_SIGNATURE,
        "the other v recovers another key"
    );
    let mut v_29 = bytes;
    v_29[64] = 29;
    assert_eq!(replaced(hex(&v_29)), INVALID_SIGNATURE, "v 29");
    assert_eq!(replaced(hex(&[0; 65])), INVALID_SIGNATURE, "zeros");
    assert_eq!(replaced(hex(&bytes[..64])), INVALID_SIGNATURE, "64 bytes");
    assert_eq!(replaced("0x".to_owned()), INVALID_SIGNATURE, "none");
    assert_eq!(
        replaced(format!("0xzz{}", &signature[4..])),
        INVALID_SIGNATURE,
        "not hex"
    );
    assert_eq!(
        replaced(hex(&[7; 130])),
        INVALID_SIGNATURE,
        "a contract wallet's (ERC-1271)"
    );
    let wrapped = [&[7; 96][..], &[0x64, 0x92].repeat(16)].concat();
    assert_eq!(replaced(hex(&wrapped)), Some("unsupported_payload_type"), "ERC-6492");

    let foreign = with(&{
        let mut fields = EvmAuthorization {
            from: [0; 20],
            to: PAY_TO_BASE,
            value: Usdc::from_atomic(PRICE),
            valid_after: 0,
            valid_before: NOW + 300,
            nonce: [9; 32],
            signature: [0; 65].into(),
        };
        buyer().sign_transfer(&BasePayee::usdc(PAY_TO_BASE).domain_separator, &mut fields);
        fields.from = [0x19; 20];
        fields
    });
    assert_eq!(reason(&foreign), INVALID_SIGNATURE, "another wallet's money");
}

#[test]
fn case_14_unverified_signature_is_left_to_the_chain() {
    // Checks: a payment that is valid except for its signature is left to the chain, with the signature unchanged. Any
    // other error has its own reason. A wallet deployed with the payment must use a listed factory.
    let judged = |payment: &Value, terms: &[Terms]| {
        let payment = decode(encode(payment).as_bytes()).unwrap();
        let judged = verify_against(
            &payment,
            terms,
            &[],
            Timestamp(NOW * 1000),
            SignatureRecovery::default(),
        );
        judged.map_err(|refusal| refusal.reason.as_str())
    };
    let with_signature = |bytes: &[u8]| {
        let mut payment = signed(|_| {});
        payment["payload"]["signature"] = json!(format!("0x{}", hex::encode(bytes)));
        payment
    };
    let is_unproven = |payment: &Value, terms: &[Terms], bytes: &[u8]| {
        let Ok(OfflineVerification::Unproven(verified, refusal)) = judged(payment, terms) else {
            panic!("{payment}")
        };
        let Authorization::Evm(authorization) = verified.authorization else {
            panic!()
        };
        assert_eq!(authorization.signature.as_bytes(), bytes, "as it was sent");
        assert_eq!(refusal.reason.as_str(), "invalid_exact_evm_signature");
    };
    for length in [1, 64, 65, 66, 1_024] {
        let bytes = vec![7; length];
        is_unproven(&with_signature(&bytes), &offers(), &bytes);
    }
    assert!(matches!(
        judged(&signed(|_| {}), &offers()),
        Ok(OfflineVerification::Proven(_))
    ));
    let mut other = with_signature(&[7; 80]);
    other["payload"]["authorization"]["to"] = json!(format!("0x{}", "ab".repeat(20)));
    assert_eq!(
        judged(&other, &offers()).unwrap_err(),
        "invalid_exact_evm_recipient_mismatch"
    );

    let wrapped = |factory: [u8; 20]| {
        let wallet = Undeployed {
            factory: factory.into(),
            call: vec![1, 2, 3, 4].into(),
            signature: vec![5; 65].into(),
        };
        wallet.wrap()
    };
    let payee = BasePayee::usdc(PAY_TO_BASE).with_factories(vec![[7; 20]]);
    let listed = [Terms::new(Usdc::from_atomic(PRICE), 300, Payee::Base(Arc::new(payee)))];
    is_unproven(&with_signature(&wrapped([7; 20])), &listed, &wrapped([7; 20]));
    const KIND: &str = "unsupported_payload_type";
    assert_eq!(judged(&with_signature(&wrapped([8; 20])), &listed).unwrap_err(), KIND);
    assert_eq!(judged(&with_signature(&wrapped([7; 20])), &offers()).unwrap_err(), KIND);
    let magic = [&[7; 96][..], &[0x64, 0x92].repeat(16)].concat();
    assert_eq!(
        judged(&with_signature(&magic), &listed).unwrap_err(),
        KIND,
        "nothing in it"
    );
}

/// n − s, by hand: the tests' own arithmetic.
fn negated(s: &[u8]) -> [u8; 32] {
    let order = hex::decode("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141").unwrap();
    let mut result = [0; 32];
    let mut borrow = 0i16;
    for at in (0..32).rev() {
        let difference = i16::from(order[at]) - i16::from(s[at]) - borrow;
        borrow = i16::from(difference < 0);
        result[at] = difference.rem_euclid(256) as u8;
    }
    result
}

#[test]
fn case_14_the_signature_binds_chain_token_and_every_field() {
    // Checks: a signature for another EIP-712 domain, or over another field value, is rejected.
    const BAD: Option<&str> = Some("invalid_exact_evm_signature");
    let domains = [
        (
            "chain id",
            purser::payment::evm::domain_separator("USD Coin", "2", 1, &BASE_USDC),
        ),
        (
            "name",
            purser::payment::evm::domain_separator("USDC", "2", 8453, &BASE_USDC),
        ),
        (
            "version",
            purser::payment::evm::domain_separator("USD Coin", "1", 8453, &BASE_USDC),
        ),
        (
            "contract",
            purser::payment::evm::domain_separator("USD Coin", "2", 8453, &[0x83; 20]),
        ),
    ];
    for (name, domain) in domains {
        let Ok(Authorization::Evm(mut fields)) = verdict(&signed(|_| {}), &offers()) else {
            panic!("a good payment")
        };
        buyer().sign_transfer(&domain, &mut fields);
        assert_eq!(reason(&with(&fields)), BAD, "{name}");
    }
    let changes: [(&str, Value); 3] = [
        ("validAfter", json!("1")),
        ("validBefore", json!((NOW + 299).to_string())),
        ("nonce", json!(format!("0x{}", "08".repeat(32)))),
    ];
    for (field, value) in changes {
        let mut payment = signed(|_| {});
        payment["payload"]["authorization"][field] = value;
        assert_eq!(reason(&payment), BAD, "{field}");
    }
}

#[test]
fn numbers_and_addresses_have_one_form() {
    // Checks: text that is no decimal number, address or 32-byte nonce is malformed, never zero or truncated.
    let cases = [
        ("value", json!("5e6")),
        ("value", json!("-5000000")),
        ("value", json!("0x4c4b40")),
        ("value", json!("")),
        ("value", json!("٥")),
        ("value", json!("5".repeat(79))),
        ("value", json!(5_000_000)),
        ("validAfter", json!(" 0")),
        ("validBefore", json!("soon")),
        ("from", json!("19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A")),
        ("to", json!("0xaa")),
        ("nonce", json!("0x00")),
        ("nonce", json!(null)),
    ];
    for (field, value) in cases {
        let mut payment = signed(|_| {});
        payment["payload"]["authorization"][field] = value.clone();
        assert_eq!(reason(&payment), Some("invalid_payload"), "{field} {value}");
    }
}

#[test]
fn case_22_earlier_price_is_honoured_but_an_unknown_one_is_not() {
    // Checks: any offered price may be paid, in v2 and v1, and the verdict names it. A price that was never offered is
    // rejected.
    let old = vec![terms(4_000_000, base())];
    let both: Vec<Terms> = vec![terms(PRICE, base()), terms(4_000_000, base())];
    let payment = pay(&old, Network::Base);
    assert_eq!(
        verdict(&payment, &both).map(|a| a.value()),
        Ok(Usdc::from_atomic(4_000_000))
    );
    let v1 = json!({"x402Version": 1, "scheme": "exact", "network": "base", "payload": payment["payload"]});
    assert_eq!(verdict(&v1, &both).map(|a| a.value()), Ok(Usdc::from_atomic(4_000_000)));
    for payment in [payment, v1] {
        let reason = Err("invalid_exact_evm_payload_authorization_value_mismatch");
        assert_eq!(verdict(&payment, &offers()), reason);
    }
}

#[test]
fn both_libraries_recover_the_same_signer() {
    // Checks: k256 is the oracle. Signatures of many keys, and each with one flipped bit at many places, recover the
    // same address or none in both.
    let Payee::Base(payee) = base() else { panic!("Base") };
    let mut recovered = 0;
    for seed in 1..=40u8 {
        let wallet = purser::wallet::TestWallet::from_bytes(&[seed; 32], &[seed; 32]).unwrap();
        let digest = purser::payment::evm::keccak(&[&payee.domain_separator[..], &[seed]].concat());
        let signature = wallet.sign_digest(&digest);
        assert_eq!(
            recover(&digest, &signature, SignatureRecovery::Libsecp256k1),
            Some(wallet.evm_address())
        );
        for bit in (0..65 * 8).step_by(usize::from(seed)) {
            let mut mutated = signature;
            mutated[bit / 8] ^= 1 << (bit % 8);
            let found = recover(&digest, &mutated, SignatureRecovery::Libsecp256k1);
            assert_eq!(
                found,
                recover(&digest, &mutated, SignatureRecovery::K256),
                "seed {seed}, bit {bit}"
            );
            assert_ne!(found, Some(wallet.evm_address()), "seed {seed}, bit {bit}");
            recovered += usize::from(found.is_some());
        }
    }
    assert!(
        recovered > 100,
        "the mutations must reach recovery, not only the parser"
    );
}
