//! What a client echoes selects among our terms and can change none of them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use purser::payment::evm::SignatureRecovery;
use purser::payment::matching::AdvertisedExtension;
use purser::payment::{decode, verify};
use purser_actors::id::Network;
use purser_actors::port::Timestamp;
use serde_json::{Value, json};

use crate::seller::{NOW, offers, pay, solana, terms};
use crate::verify::verdict;

/// Good payments with one field of `accepted` changed, and what each is refused for.
fn assert_rejected(network: Network, cases: &[(&str, Value, &str)]) {
    for (field, value, reason) in cases {
        let mut payment = pay(&offers(), network);
        payment["accepted"][field] = value.clone();
        assert_eq!(verdict(&payment, &offers()), Err(*reason), "{field} {value}");
    }
}

#[test]
fn case_3_and_5_echoed_terms_on_base_must_be_ours() {
    // Checks: a change of each known field of `accepted` is rejected with its own reason.
    let value = "invalid_exact_evm_payload_authorization_value_mismatch";
    let name = "invalid_exact_evm_token_name_mismatch";
    let version = "invalid_exact_evm_token_version_mismatch";
    let other = json!("0x0000000000000000000000000000000000000001");
    let cases = [
        ("scheme", json!("upto"), "unsupported_scheme"),
        ("network", json!("eip155:1"), "invalid_network"),
        ("amount", json!("4999999"), value),
        ("amount", json!("05000000"), value),
        ("asset", other.clone(), "asset_mismatch"),
        ("payTo", other, "invalid_exact_evm_recipient_mismatch"),
        ("maxTimeoutSeconds", json!(301), "invalid_payment_requirements"),
        ("extra", json!({"name": "USDC", "version": "2"}), name),
        ("extra", json!({"name": "USD Coin", "version": "1"}), version),
        ("extra", json!(null), name),
    ];
    assert_rejected(Network::Base, &cases);
}

#[test]
fn case_3_and_5_echoed_terms_on_solana_must_be_ours() {
    // Checks: as on Base, for another network, amount, mint, recipient and fee payer.
    let fee_payer = "invalid_exact_svm_fee_payer_mismatch";
    let other = json!("So11111111111111111111111111111111111111112");
    let cases = [
        (
            "network",
            json!("solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"),
            "invalid_network",
        ),
        ("amount", json!("5000001"), "invalid_exact_svm_payload_amount_mismatch"),
        ("asset", other.clone(), "invalid_exact_svm_payload_mint_mismatch"),
        ("payTo", other.clone(), "invalid_exact_svm_payload_recipient_mismatch"),
        ("extra", json!({"feePayer": other}), fee_payer),
        ("extra", json!({}), fee_payer),
    ];
    assert_rejected(Network::Solana, &cases);
}

type Change = fn(&mut Value);

#[test]
fn fields_outside_the_terms_may_differ() {
    // Checks: unknown fields, other letter case, further extras, a missing or stale blockhash hint and a missing
    // resource are accepted.
    let changes: [(Network, Change); 6] = [
        (Network::Base, |p| p["accepted"]["maxAmountRequired"] = json!("1")),
        (Network::Base, |p| {
            let lower = p["accepted"]["payTo"].as_str().unwrap().to_lowercase();
            p["accepted"]["payTo"] = json!(lower);
        }),
        (Network::Base, |p| {
            p["accepted"]["extra"]["paymentFlow"] = json!("upfront")
        }),
        (Network::Base, |p| drop(p.as_object_mut().unwrap().remove("resource"))),
        (Network::Solana, |p| {
            p["accepted"]["extra"]["recentBlockhash"] = json!("11111111111111111111111111111111")
        }),
        (Network::Solana, |p| {
            drop(
                p["accepted"]["extra"]
                    .as_object_mut()
                    .unwrap()
                    .remove("lastValidBlockHeight"),
            )
        }),
    ];
    for (at, (network, change)) in changes.into_iter().enumerate() {
        let mut payment = pay(&offers(), network);
        change(&mut payment);
        assert!(verdict(&payment, &offers()).is_ok(), "change {at}");
    }
}

#[test]
fn a_payload_must_fit_its_network() {
    // Checks: Permit2, ERC-7710 and payloads of the other chain are rejected as unsupported kinds.
    let (base, svm) = (pay(&offers(), Network::Base), pay(&offers(), Network::Solana));
    let payloads = [
        json!({"permit2Authorization": {"from": "0x00"}, "signature": "0x00"}),
        json!({"delegationManager": "0x00", "permissionContext": "0x00", "delegator": "0x00"}),
        svm["payload"].clone(),
    ];
    for payload in payloads {
        let mut payment = base.clone();
        payment["payload"] = payload;
        assert_eq!(verdict(&payment, &offers()), Err("unsupported_payload_type"));
    }
    let mut payment = svm;
    payment["payload"] = base["payload"].clone();
    assert_eq!(verdict(&payment, &offers()), Err("unsupported_payload_type"));
}

#[test]
fn v1_network_is_accepted_by_name_and_caip2() {
    // Checks: v1 payments on both networks are accepted with both names, and no other name is a network.
    for network in Network::ALL {
        let payload = pay(&offers(), network)["payload"].clone();
        for name in [network.name(), network.caip2()] {
            let v1 = json!({"x402Version": 1, "scheme": "exact", "network": name, "payload": payload});
            assert!(verdict(&v1, &offers()).is_ok(), "{name}");
        }
        let v1 = json!({"x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": payload});
        assert_eq!(verdict(&v1, &offers()), Err("invalid_network"));
        let v3 = json!({"x402Version": 3, "scheme": "exact", "network": "base", "payload": payload});
        assert_eq!(verdict(&v3, &offers()), Err("invalid_x402_version"));
    }
}

#[test]
fn network_that_is_not_offered_is_rejected() {
    // Checks: with one network on offer, or none, a payment on another is rejected without a panic.
    let payment = pay(&offers(), Network::Base);
    assert_eq!(
        verdict(&payment, &[terms(5_000_000, solana(None))]),
        Err("invalid_network")
    );
    assert_eq!(verdict(&payment, &[]), Err("invalid_network"));
}

#[test]
fn every_base64_of_the_same_payment_is_read() {
    // Checks: both alphabets, with and without padding, decode to the same payment.
    let mut payment = pay(&offers(), Network::Base);
    // Text whose encoding uses the two characters in which the alphabets differ.
    payment["resource"]["description"] = json!("??>>??>>~~~");
    let json = payment.to_string();
    for encoded in [
        URL_SAFE.encode(&json),
        URL_SAFE_NO_PAD.encode(&json),
        STANDARD_NO_PAD.encode(&json),
    ] {
        let payment = decode(encoded.as_bytes()).unwrap();
        assert!(
            verify(
                &payment,
                &offers(),
                &[],
                Timestamp(NOW * 1000),
                SignatureRecovery::default()
            )
            .is_ok(),
            "{encoded}"
        );
    }
    assert!(URL_SAFE.encode(&json).contains(['-', '_']));
}

#[test]
fn an_echoed_extension_contains_what_was_advertised() {
    // Checks: additions and dynamic members are accepted, changes are rejected, a missing extension is accepted, and
    // unknown extensions are ignored.
    let info = json!({"domain": "localhost", "nonce": "1", "nested": {"a": 1}, "list": [1, 2]});
    let more = json!({"domain": "localhost", "nested": {"a": 1, "b": 2}, "list": [1, 2], "address": "x"});
    let advertised = [AdvertisedExtension {
        name: "sign-in-with-x",
        info: &info,
        dynamic: &["nonce"],
    }];
    let cases = [
        (json!(null), true),
        (json!({}), true),
        (json!({"other": {"info": 1}}), true),
        (json!({"sign-in-with-x": {"info": info}}), true),
        (json!({"sign-in-with-x": {"info": more}}), true),
        (
            json!({"sign-in-with-x": {"info": {"domain": "other.example", "nested": {"a": 1}, "list": [1, 2]}}}),
            false,
        ),
        (
            json!({"sign-in-with-x": {"info": {"domain": "localhost", "nested": {}, "list": [1, 2]}}}),
            false,
        ),
        (
            json!({"sign-in-with-x": {"info": {"domain": "localhost", "nested": {"a": 1}, "list": [1]}}}),
            false,
        ),
        (json!({"sign-in-with-x": {}}), false),
        (json!({"sign-in-with-x": 1}), false),
    ];
    for (extensions, accepted) in cases {
        let mut payment = pay(&offers(), Network::Base);
        payment["extensions"] = extensions.clone();
        let payment = decode(crate::seller::encode(&payment).as_bytes()).unwrap();
        let verdict = verify(
            &payment,
            &offers(),
            &advertised,
            Timestamp(NOW * 1000),
            SignatureRecovery::default(),
        );
        let reason = verdict.err().map(|refusal| refusal.reason.as_str());
        assert_eq!(reason, (!accepted).then_some("extension_echo_mismatch"), "{extensions}");
    }
}
