#![allow(clippy::unwrap_used)]
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use secp256k1::ecdsa::RecoverableSignature;
use secp256k1::{Message, SecretKey};
use serde_json::{Map, Value, json};
use sha3::{Digest, Keccak256};

use super::*;
use crate::identity::test_entropy::CountingEntropy;
use purser_host::secret::Key32;

const NOW: Timestamp = Timestamp(1_768_473_000_250);
const EVM_SECRET: [u8; 32] = [0x11; 32];
const EVM_ADDRESS: &str = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";
const SOLANA_SEED: [u8; 32] = [0x22; 32];

mod forms;

struct Service {
    checker: ProofVerifier,
    nonces: Nonces,
    entropy: CountingEntropy,
}

fn service() -> Service {
    let origin = Origin::parse("https://api.example.com").unwrap();
    let nonces = Nonces::new(&Key32::new([1; 32]), &origin);
    Service {
        checker: ProofVerifier::new(origin, nonces.clone()),
        nonces,
        entropy: CountingEntropy::new(6),
    }
}

fn solana_key() -> SigningKey {
    SigningKey::from_bytes(&SOLANA_SEED)
}

impl Service {
    /// A valid proof's fields, unsigned, for a challenge issued at `issued`.
    fn proof(&self, network: Network, issued: Timestamp) -> SignInProof {
        let (address, kind) = match network {
            Network::Base => (EVM_ADDRESS.to_owned(), "eip191"),
            Network::Solana => (
                Wallet::Solana(solana_key().verifying_key().to_bytes()).address(),
                "ed25519",
            ),
        };
        SignInProof {
            domain: "api.example.com".to_owned(),
            address,
            statement: Some("Sign in to api.example.com".to_owned()),
            uri: "https://api.example.com/auth".to_owned(),
            version: "1".to_owned(),
            chain_id: network.caip2().to_owned(),
            kind: kind.to_owned(),
            nonce: self.nonces.issue(issued, &self.entropy).text,
            issued_at: rfc3339::format(issued),
            expiration_time: Some(rfc3339::format(issued.plus_ms(CHALLENGE_LIFETIME_MS))),
            not_before: None,
            request_id: None,
            resources: None,
            signature_scheme: None,
            signature: String::new(),
        }
    }

    fn check(&self, proof: &SignInProof) -> Result<VerifiedWallet, SignInError> {
        self.checker.check(header(proof).as_bytes(), NOW)
    }
}

fn evm_signature(message: &str) -> [u8; 65] {
    let mut hash = Keccak256::new();
    hash.update(format!("\x19Ethereum Signed Message:\n{}{message}", message.len()));
    let secret = SecretKey::from_secret_bytes(EVM_SECRET).unwrap();
    let digest = Message::from_digest(hash.finalize().into());
    let (recovery, compact) = RecoverableSignature::sign_ecdsa_recoverable(digest, &secret).serialize_compact();
    let mut bytes = [27 + recovery.to_u8(); 65];
    bytes[..64].copy_from_slice(&compact);
    bytes
}

/// Signs the fields as they are, with the address's own key.
fn sign(mut proof: SignInProof, network: Network) -> SignInProof {
    let message = proof.message(network);
    proof.signature = match network {
        Network::Base => format!("0x{}", hex::encode(evm_signature(&message))),
        Network::Solana => bs58::encode(solana_key().sign(message.as_bytes()).to_bytes()).into_string(),
    };
    proof
}

fn fields(proof: &SignInProof) -> Map<String, Value> {
    let all = json!({
        "domain": proof.domain, "address": proof.address, "statement": proof.statement, "uri": proof.uri,
        "version": proof.version, "chainId": proof.chain_id, "type": proof.kind, "nonce": proof.nonce,
        "issuedAt": proof.issued_at, "expirationTime": proof.expiration_time, "notBefore": proof.not_before,
        "requestId": proof.request_id, "resources": proof.resources, "signatureScheme": proof.signature_scheme,
        "signature": proof.signature,
    });
    let Value::Object(map) = all else {
        unreachable!("an object")
    };
    map.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

fn header(proof: &SignInProof) -> String {
    STANDARD.encode(Value::Object(fields(proof)).to_string())
}

/// Checks: a valid response to our challenge signs the wallet in, on both chains, with all optional fields or none.
#[test]
fn a_proper_answer_signs_in_on_both_chains() {
    let service = service();
    for network in Network::ALL {
        let full = SignInProof {
            not_before: Some(rfc3339::format(NOW)),
            request_id: Some("request 1".to_owned()),
            resources: Some(vec!["https://a.example".to_owned(), "ipfs://b".to_owned()]),
            signature_scheme: Some(if network == Network::Base { "eip191" } else { "siws" }.to_owned()),
            ..service.proof(network, NOW)
        };
        let bare = SignInProof {
            statement: None,
            expiration_time: None,
            ..service.proof(network, NOW)
        };
        let empty_list = SignInProof {
            resources: Some(Vec::new()),
            ..service.proof(network, NOW)
        };
        for proof in [full, bare, empty_list] {
            let proof = sign(proof, network);
            let signed_in = service.check(&proof).unwrap();
            assert_eq!(signed_in.wallet, proof.address.parse().unwrap());
            assert_eq!(hex::encode(signed_in.nonce.bytes), proof.nonce[..32]);
            assert_eq!(signed_in.nonce.expires, NOW.plus_ms(CHALLENGE_LIFETIME_MS));
        }
    }
}

/// Checks (case 42): one nonce has one key on both chains and for every wallet, so a second use is detected.
#[test]
fn case_42_a_nonce_on_another_chain_is_the_same_nonce() {
    let service = service();
    let on_base = service.proof(Network::Base, NOW);
    let on_solana = SignInProof {
        nonce: on_base.nonce.clone(),
        ..service.proof(Network::Solana, NOW)
    };
    let first = service.check(&sign(on_base, Network::Base)).unwrap();
    let second = service.check(&sign(on_solana, Network::Solana)).unwrap();
    assert_ne!(first.wallet, second.wallet);
    assert_eq!(first.nonce, second.nonce);
}

/// Checks (case 42): a proof is valid for exactly five minutes, with and without its own expiry.
#[test]
fn case_42_a_challenge_is_good_for_five_minutes() {
    let service = service();
    for (age_ms, with_expiry, without) in [
        (0, Ok(()), Ok(())),
        (299_999, Ok(()), Ok(())),
        (300_000, Err(SignInError::Expired), Ok(())),
        (300_001, Err(SignInError::IssuedTooOld), Err(SignInError::IssuedTooOld)),
        (
            86_400_000,
            Err(SignInError::IssuedTooOld),
            Err(SignInError::IssuedTooOld),
        ),
    ] {
        let proof = service.proof(Network::Base, Timestamp(NOW.0 - age_ms));
        let open = SignInProof {
            expiration_time: None,
            ..proof.clone()
        };
        assert_eq!(
            service.check(&sign(proof, Network::Base)).map(drop),
            with_expiry,
            "{age_ms}"
        );
        let checked = service.check(&sign(open, Network::Base));
        assert_eq!(checked.map(drop), without, "{age_ms} without expirationTime");
        assert!(
            checked.is_err() || checked.unwrap().nonce.expires >= NOW,
            "remembered while it could come again"
        );
    }
}

/// Checks (case 43): a client's own `issuedAt` is valid within five minutes of now, before or after the challenge's. It
/// does not extend an old challenge.
#[test]
fn case_43_a_clients_own_time_of_issue_is_right() {
    let service = service();
    for network in Network::ALL {
        for own in [NOW.0 - 300_000, NOW.0 - 61_000, NOW.0, NOW.0 + 2_000, NOW.0 + 300_000] {
            let mut proof = service.proof(network, Timestamp(NOW.0 - 60_000));
            proof.issued_at = rfc3339::format(Timestamp(own));
            let signed_in = service.check(&sign(proof, network)).unwrap();
            assert_eq!(
                signed_in.nonce.expires,
                Timestamp(NOW.0 + 240_000),
                "remembered for as long as the challenge lives"
            );
        }
        let mut old = service.proof(network, Timestamp(NOW.0 - 300_001));
        (old.issued_at, old.expiration_time) = (rfc3339::format(NOW), None);
        assert_eq!(service.check(&sign(old, network)), Err(SignInError::IssuedTooOld));
    }
}

/// Changes one field of a proof before it is signed.
type Change = Box<dyn Fn(&mut SignInProof)>;

/// Signs each changed proof and expects the given rejection, on both chains.
fn assert_each_rejected(changes: &[(SignInError, Change)]) {
    let service = service();
    for network in Network::ALL {
        for (at, (refusal, change)) in changes.iter().enumerate() {
            let mut proof = service.proof(network, NOW);
            change(&mut proof);
            assert_eq!(
                service.check(&sign(proof, network)),
                Err(*refusal),
                "{network:?}, row {at}"
            );
        }
    }
}

/// Checks (case 42): a correctly signed message for another domain or URI is rejected with the matching reason.
#[test]
fn case_42_message_for_another_origin_is_rejected_by_name() {
    assert_each_rejected(&[
        (
            SignInError::DomainMismatch,
            Box::new(|p| p.domain = "evil.example".to_owned()),
        ),
        (
            SignInError::DomainMismatch,
            Box::new(|p| p.domain = "API.example.com".to_owned()),
        ),
        (
            SignInError::DomainMismatch,
            Box::new(|p| p.domain = "api.example.com:443".to_owned()),
        ),
        (SignInError::DomainMismatch, Box::new(|p| p.domain.clear())),
        (
            SignInError::UriMismatch,
            Box::new(|p| p.uri = "http://api.example.com/auth".to_owned()),
        ),
        (
            SignInError::UriMismatch,
            Box::new(|p| p.uri = "https://api.example.com.evil.example/auth".to_owned()),
        ),
        (
            SignInError::UriMismatch,
            Box::new(|p| p.uri = "https://api.example.com@evil.example/".to_owned()),
        ),
        (SignInError::UriMismatch, Box::new(|p| p.uri = "/auth".to_owned())),
        (SignInError::Version, Box::new(|p| p.version = "2".to_owned())),
    ]);
}

/// Checks (cases 42 and 43): a correctly signed message of another time or challenge is rejected with the matching
/// reason.
#[test]
fn case_43_message_of_another_time_is_rejected_by_name() {
    let later = |ms| rfc3339::format(NOW.plus_ms(ms));
    let earlier = |ms| rfc3339::format(Timestamp(NOW.0 - ms));
    assert_each_rejected(&[
        (
            SignInError::IssuedAt,
            Box::new(|p| p.issued_at = "2026-01-15T10:30:00+00:00".to_owned()),
        ),
        (SignInError::IssuedAt, Box::new(|p| p.issued_at.clear())),
        (
            SignInError::IssuedInFuture,
            Box::new(move |p| p.issued_at = later(300_001)),
        ),
        (
            SignInError::IssuedInFuture,
            Box::new(move |p| p.issued_at = later(3_600_000)),
        ),
        (
            SignInError::IssuedTooOld,
            Box::new(move |p| p.issued_at = earlier(300_001)),
        ),
        (
            SignInError::Nonce,
            Box::new(|p| p.nonce = "a1b2c3d4e5f67890a1b2c3d4e5f67890".to_owned()),
        ),
        (SignInError::Nonce, Box::new(|p| p.nonce.clear())),
        (
            SignInError::ExpirationTime,
            Box::new(|p| p.expiration_time = Some("tomorrow".to_owned())),
        ),
        (
            SignInError::Expired,
            Box::new(move |p| p.expiration_time = Some(earlier(0))),
        ),
        (SignInError::NotBefore, Box::new(|p| p.not_before = Some(String::new()))),
        (
            SignInError::NotYetValid,
            Box::new(move |p| p.not_before = Some(later(1))),
        ),
    ]);
}

/// Checks: a signature for a sign-in recovers nothing and one for a recovery signs in nowhere. What its signer saw, address
/// and statement, must be that of a recovery.
#[test]
fn signature_counts_for_its_purpose_only() {
    let service = service();
    let origin = Origin::parse("https://api.example.com").unwrap();
    let recovery = ProofVerifier::for_recovery(origin, &service.nonces);
    let nonces = service.nonces.of_path("/recover-account");
    let purpose = Purpose::Recovery;
    for network in Network::ALL {
        let good = SignInProof {
            uri: "https://api.example.com/recover-account".to_owned(),
            statement: Some(purpose.statement("api.example.com")),
            nonce: nonces.issue(NOW, &service.entropy).text,
            ..service.proof(network, NOW)
        };
        let check = |proof: &SignInProof| {
            let signed = sign(proof.clone(), network);
            recovery.check(header(&signed).as_bytes(), NOW).map(drop)
        };
        assert_eq!(check(&good), Ok(()));
        assert_eq!(service.check(&sign(good.clone(), network)), Err(SignInError::Nonce));
        let sign_in = service.proof(network, NOW);
        assert_eq!(service.check(&sign(sign_in.clone(), network)).map(drop), Ok(()));
        assert_eq!(check(&sign_in), Err(SignInError::UriMismatch));
        let nonce = sign_in.nonce.clone();
        assert_eq!(check(&SignInProof { nonce, ..good.clone() }), Err(SignInError::Nonce));
        for statement in [None, sign_in.statement, Some(String::new())] {
            let other = SignInProof {
                statement,
                ..good.clone()
            };
            assert_eq!(check(&other), Err(SignInError::Statement));
        }
        for uri in ["https://api.example.com", "https://api.example.com/recover-account?x"] {
            let uri = uri.to_owned();
            assert_eq!(
                check(&SignInProof { uri, ..good.clone() }),
                Err(SignInError::UriMismatch)
            );
        }
    }
}
