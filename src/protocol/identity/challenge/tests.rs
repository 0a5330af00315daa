#![allow(clippy::unwrap_used)]
use super::*;
use crate::identity::test_entropy::CountingEntropy;
use purser_host::secret::Key32;

const NOW: Timestamp = Timestamp(1_768_473_000_250);

fn challenges(origin: &str) -> (SignInChallenges, Nonces) {
    let origin = Origin::parse(origin).unwrap();
    let nonces = Nonces::new(&Key32::new([1; 32]), &origin);
    let terms = ChallengeTerms {
        base: BasePaymentTerms {
            asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913".to_owned(),
            pay_to: "0x00000000000000000000000000000000000000aA".to_owned(),
            name: "USD Coin".to_owned(),
            version: "2".to_owned(),
        },
        solana: SolanaPaymentTerms {
            asset: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v".to_owned(),
            pay_to: "PayTo".to_owned(),
            fee_payer: "FeePayer".to_owned(),
        },
        max_timeout_seconds: 300,
    };
    (SignInChallenges::new(&origin, &terms, nonces.clone()), nonces)
}

fn issue(challenges: &SignInChallenges, first: Network, refusal: Option<SignInError>) -> (Value, Value) {
    let challenge = challenges.issue(first, refusal, NOW, &CountingEntropy::new(4));
    let header = STANDARD.decode(&challenge.header).unwrap();
    (
        serde_json::from_slice(&header).unwrap(),
        serde_json::from_str(&challenge.body).unwrap(),
    )
}

/// Checks: the header is the PaymentRequired that stock sign-in clients accept, field by field.
#[test]
fn the_header_is_a_payment_required_with_the_extension() {
    let (challenges, nonces) = challenges("http://127.0.0.1:8402");
    let (header, _) = issue(&challenges, Network::Base, None);
    assert_eq!(header["x402Version"], 2);
    assert_eq!(header["error"], "Sign-in required");
    assert_eq!(header["resource"]["url"], "http://127.0.0.1:8402/auth");
    let extension = &header["extensions"]["sign-in-with-x"];
    let info = &extension["info"];
    assert_eq!(info["domain"], "127.0.0.1:8402");
    assert_eq!(info["uri"], "http://127.0.0.1:8402/auth");
    assert_eq!(info["version"], "1");
    assert_eq!(info["issuedAt"], "2026-01-15T10:30:00.250Z");
    assert_eq!(info["expirationTime"], "2026-01-15T10:35:00.250Z");
    assert!(info["statement"].as_str().unwrap().contains("127.0.0.1:8402"));
    assert!(nonces.verify(info["nonce"].as_str().unwrap()).is_some());
    assert_eq!(
        extension["supportedChains"],
        json!([
            {"chainId": "eip155:8453", "type": "eip191"},
            {"chainId": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "type": "ed25519"}
        ])
    );
    let recorded: Value = serde_json::from_str(include_str!("../../../../tests/vectors/siwx-evm.json")).unwrap();
    let stock = &recorded["cases"]["full"]["input"]["challenge"]["extensions"]["sign-in-with-x"];
    assert_eq!(extension["schema"], stock["schema"]);
}

/// Checks: both networks are offered at amount zero in a payable form, Base first unless Solana was requested.
#[test]
fn both_networks_are_offered_at_zero_in_the_order_asked_for() {
    let (challenges, _) = challenges("https://api.example.com");
    for (first, order, url) in [
        (
            Network::Base,
            [Network::Base, Network::Solana],
            "https://api.example.com/auth",
        ),
        (
            Network::Solana,
            [Network::Solana, Network::Base],
            "https://api.example.com/auth?network=solana",
        ),
    ] {
        let (header, body) = issue(&challenges, first, None);
        for answer in [&header, &body] {
            assert_eq!(answer["resource"]["url"], url);
            let accepts = answer["accepts"].as_array().unwrap();
            assert_eq!(accepts.len(), 2);
            for (entry, network) in accepts.iter().zip(order) {
                assert_eq!(entry["scheme"], "exact");
                assert_eq!(entry["network"], network.caip2());
                assert_eq!(entry["amount"], "0");
                assert_eq!(entry["maxTimeoutSeconds"], 300);
                let (asset, extra) = match network {
                    Network::Base => (
                        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
                        json!({"name": "USD Coin", "version": "2"}),
                    ),
                    Network::Solana => (
                        "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
                        json!({"feePayer": "FeePayer"}),
                    ),
                };
                assert_eq!((&entry["asset"], &entry["extra"]), (&json!(asset), &extra));
            }
            let chains = &answer["extensions"]["sign-in-with-x"]["supportedChains"];
            assert_eq!(chains[0]["chainId"], first.caip2());
        }
    }
}

/// Checks: the body adds the contract's names to the same challenge, and the header has none of them.
#[test]
fn the_body_is_the_header_with_the_contracts_names() {
    let (challenges, _) = challenges("https://api.example.com");
    let (header, mut body) = issue(&challenges, Network::Base, None);
    assert_eq!(
        (&body["error"], &body["code"]),
        (&json!("Sign-in required"), &json!("sign_in_required"))
    );
    body.as_object_mut().unwrap().remove("code");
    for entry in body["accepts"].as_array_mut().unwrap() {
        assert_eq!(entry["maxAmountRequired"], "0");
        assert_eq!(entry["resource"], "https://api.example.com/auth");
        for name in ["maxAmountRequired", "resource", "description", "mimeType"] {
            assert!(entry.as_object_mut().unwrap().remove(name).is_some(), "{name}");
        }
    }
    assert_eq!(body, header);
}

/// Checks (case 42): after a rejection the challenge is new and contains the reason, for people and for programs.
#[test]
fn case_42_rejection_is_named_in_a_new_challenge() {
    let (challenges, _) = challenges("https://api.example.com");
    for refusal in [
        SignInError::NonceUsed,
        SignInError::Header("not standard base64"),
        SignInError::UnsupportedChain,
    ] {
        let (header, body) = issue(&challenges, Network::Base, Some(refusal));
        assert_eq!(header["error"], refusal.reason());
        assert_eq!(body["reason"], refusal.reason());
        assert_eq!(body["error"], format!("Sign-in refused: {refusal}"));
        assert_eq!(body["code"], "sign_in_required");
    }
    let entropy = CountingEntropy::new(4);
    let first = challenges.issue(Network::Base, None, NOW, &entropy);
    assert_ne!(first, challenges.issue(Network::Base, None, NOW, &entropy));
}

/// Checks: the header leaves space for others: proxies limit all headers together to 8 KiB.
#[test]
fn the_header_is_small_padded_standard_base64() {
    let (challenges, _) = challenges("https://api.example.com");
    let header = challenges
        .issue(Network::Solana, Some(SignInError::Nonce), NOW, &CountingEntropy::new(1))
        .header;
    assert!(header.len() < 3500, "{}", header.len());
    assert_eq!(header.len() % 4, 0);
    assert!(
        header
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
    );
}
