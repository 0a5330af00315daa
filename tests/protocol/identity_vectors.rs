//! Sign-in proofs recorded from stock wallet libraries: our rebuilt message equals theirs byte for byte, and their
//! signatures are valid. Their nonces are foreign, so the full check must stop exactly there.

use purser::identity::nonce::Nonces;
use purser::identity::origin::Origin;
use purser::identity::proof::{ProofVerifier, SignInProof};
use purser::identity::sign_in_error::SignInError;
use purser::rfc3339;
use purser::secret::Key32;
use purser_actors::id::Wallet;
use purser_actors::port::Timestamp;
use serde_json::Value;

/// Both recordings, each with its cases.
fn recordings() -> [Value; 2] {
    [
        include_str!("../vectors/siwx-evm.json"),
        include_str!("../vectors/siwx-solana.json"),
    ]
    .map(|text| serde_json::from_str(text).unwrap())
}

fn each_case(mut test: impl FnMut(&Value, &str, &Value)) {
    let mut seen = 0;
    for recording in recordings() {
        for (name, case) in recording["cases"].as_object().unwrap() {
            test(&recording, name, &case["output"]);
            seen += 1;
        }
    }
    assert_eq!(seen, 4, "two chains, each with and without a statement");
}

/// Checks: both chains, with and without a statement.
#[test]
fn rebuilt_message_equals_the_signed_one() {
    each_case(|_, name, output| {
        let proof = SignInProof::decode(output["headerValue"].as_str().unwrap().as_bytes()).unwrap();
        let message = proof.message(proof.network().unwrap());
        assert_eq!(message, output["message"].as_str().unwrap(), "{name}");
        assert_eq!(hex::encode(&message), output["messageHex"].as_str().unwrap(), "{name}");
    });
}

#[test]
fn the_recorded_signature_proves_the_wallet() {
    each_case(|recording, name, output| {
        let proof = SignInProof::decode(output["headerValue"].as_str().unwrap().as_bytes()).unwrap();
        let wallet = proof.signer().unwrap();
        let expected: Wallet = recording["expectedAddress"].as_str().unwrap().parse().unwrap();
        assert_eq!(wallet, expected, "{name}");
        assert_eq!(
            wallet.user_id(),
            recording["expectedUserId"].as_str().unwrap(),
            "{name}"
        );
    });
}

#[test]
fn a_changed_field_breaks_the_signature() {
    each_case(|_, name, output| {
        let proof = SignInProof::decode(output["headerValue"].as_str().unwrap().as_bytes()).unwrap();
        let changes: [fn(&mut SignInProof); 10] = [
            |p| p.domain = "api.example.org".to_owned(),
            |p| p.uri.push('x'),
            |p| p.version = "2".to_owned(),
            |p| p.nonce.push('0'),
            |p| p.issued_at = "2026-01-15T10:30:00.001Z".to_owned(),
            |p| p.expiration_time = Some("2027-01-15T10:35:00.000Z".to_owned()),
            |p| p.statement = Some("Something else".to_owned()),
            |p| p.not_before = Some("2026-01-15T10:30:00.000Z".to_owned()),
            |p| p.request_id = Some("1".to_owned()),
            |p| p.resources = Some(vec!["https://evil.example".to_owned()]),
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut changed = proof.clone();
            change(&mut changed);
            assert_eq!(changed.signer(), Err(SignInError::Signature), "{name}, change {at}");
        }
    });
}

/// Checks: a recorded proof passes every check except the nonce, which another server issued.
#[test]
fn case_42_genuine_proof_with_a_foreign_nonce_is_rejected() {
    let origin = Origin::parse("https://api.example.com").unwrap();
    let checker = ProofVerifier::new(origin.clone(), Nonces::new(&Key32::new([1; 32]), &origin));
    each_case(|recording, name, output| {
        let now = Timestamp(recording["clock"]["unix"].as_u64().unwrap() * 1000);
        assert_eq!(rfc3339::parse(recording["clock"]["iso"].as_str().unwrap()), Some(now));
        let header = output["headerValue"].as_str().unwrap();
        assert_eq!(checker.check(header.as_bytes(), now), Err(SignInError::Nonce), "{name}");
        assert_eq!(
            checker.check(header.trim_end_matches('=').as_bytes(), now),
            Err(SignInError::Nonce),
            "{name}"
        );
    });
}
