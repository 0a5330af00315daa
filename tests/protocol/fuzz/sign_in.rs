//! `SIGN-IN-WITH-X`: the header, and the message that is rebuilt from it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bolero::check;
use purser::identity::nonce::Nonces;
use purser::identity::origin::Origin;
use purser::identity::proof::{ProofVerifier, SignInProof};
use purser::payment::evm::keccak;
use purser::rfc3339;
use purser::secret::Key32;
use purser_actors::id::{Network, Wallet};
use purser_actors::port::Timestamp;
use serde_json::{Value, json};

use crate::input::{FuzzInput, change_bytes, change_json, change_text};
use crate::seller::{Fixed, NOW, buyer};

const AT: Timestamp = Timestamp(NOW * 1000);

struct SignInHarness {
    checker: ProofVerifier,
    nonces: Nonces,
}

impl SignInHarness {
    fn new() -> Self {
        let origin = Origin::parse("https://api.example.com").unwrap();
        let nonces = Nonces::new(&Key32::new([1; 32]), &origin);
        Self {
            checker: ProofVerifier::new(origin, nonces.clone()),
            nonces,
        }
    }

    /// A good answer, with all optional fields or none, really signed.
    fn signed_proof(&self, network: Network, full: bool) -> Value {
        let kind = if network == Network::Base { "eip191" } else { "ed25519" };
        let mut fields = json!({
            "domain": "api.example.com", "address": buyer().address(network), "uri": "https://api.example.com/auth",
            "version": "1", "chainId": network.caip2(), "type": kind,
            "nonce": self.nonces.issue(AT, &Fixed(7)).text, "issuedAt": rfc3339::format(AT),
        });
        if full {
            fields["statement"] = json!("Sign in");
            fields["expirationTime"] = json!(rfc3339::format(AT.plus_ms(60_000)));
            fields["notBefore"] = json!(rfc3339::format(AT));
            fields["requestId"] = json!("request 1");
            fields["resources"] = json!(["https://a.example", "ipfs://b"]);
        }
        sign(&mut fields);
        fields
    }
}

/// Signs the fields unchanged, if they can be read at all.
fn sign(fields: &mut Value) {
    fields["signature"] = json!("");
    let Ok(proof) = SignInProof::decode(header(fields).as_bytes()) else {
        return;
    };
    let Ok(network) = proof.network() else { return };
    let message = proof.message(network);
    fields["signature"] = match network {
        Network::Base => {
            let prefixed = format!("\x19Ethereum Signed Message:\n{}{message}", message.len());
            json!(format!(
                "0x{}",
                hex::encode(buyer().sign_digest(&keccak(prefixed.as_bytes())))
            ))
        }
        Network::Solana => json!(bs58::encode(buyer().sign_message(message.as_bytes())).into_string()),
    };
}

fn header(fields: &Value) -> String {
    STANDARD.encode(fields.to_string())
}

/// The fields as a wallet's user reads them off the message.
fn fields_of(message: &str) -> Value {
    let all: Vec<&str> = message.split('\n').collect();
    let (domain, account) = all[0].rsplit_once(" wants you to sign in with your ").unwrap();
    let mut fields = json!({"domain": domain, "account": account, "address": all[1]});
    assert_eq!(all[2], "");
    // An empty line precedes and follows the statement. Without one, Ethereum keeps both empty lines and Solana the
    // first.
    let from = match (all[4], account) {
        ("", _) => {
            fields["statement"] = json!(all[3]);
            5
        }
        (_, "Ethereum account:") => 4,
        _ => 3,
    };
    let mut lines = all[from..].iter();
    while let Some(line) = lines.next() {
        if *line == "Resources:" {
            let items: Vec<_> = lines.by_ref().map(|line| line.strip_prefix("- ").unwrap()).collect();
            fields["resources"] = json!(items);
        } else {
            let (label, value) = line
                .split_once(": ")
                .unwrap_or_else(|| panic!("{line:?} in {message:?}"));
            fields[label] = json!(value);
        }
    }
    fields
}

fn proof_json(proof: &SignInProof, network: Network) -> Value {
    let (account, chain) = match network {
        Network::Base => ("Ethereum account:", "8453"),
        Network::Solana => ("Solana account:", proof.chain_id.strip_prefix("solana:").unwrap()),
    };
    let mut fields = json!({
        "domain": proof.domain, "account": account, "address": proof.address, "URI": proof.uri, "Version": proof.version,
        "Chain ID": chain, "Nonce": proof.nonce, "Issued At": proof.issued_at,
    });
    let optional = [
        ("statement", &proof.statement),
        ("Expiration Time", &proof.expiration_time),
        ("Not Before", &proof.not_before),
        ("Request ID", &proof.request_id),
    ];
    for (label, value) in optional {
        if let Some(value) = value {
            fields[label] = json!(value);
        }
    }
    if let Some(list) = proof.resources.as_ref().filter(|list| !list.is_empty()) {
        fields["resources"] = json!(list);
    }
    fields
}

/// What was read says in its message everything that was read, and nothing else.
fn read(header: &[u8]) {
    let Ok(proof) = SignInProof::decode(header) else { return };
    let Ok(network) = proof.network() else { return };
    assert_eq!(fields_of(&proof.message(network)), proof_json(&proof, network));
}

#[test]
fn any_bytes_in_a_sign_in_header_are_read_or_refused() {
    // Checks: no bytes panic the parser or the verification.
    let harness = SignInHarness::new();
    check!().with_iterations(30_000).for_each(|bytes: &[u8]| {
        for header in [bytes.to_vec(), STANDARD.encode(bytes).into_bytes()] {
            read(&header);
            assert!(harness.checker.check(&header, AT).is_err());
        }
    });
}

#[test]
fn a_changed_proof_signs_in_the_same_wallet_or_none() {
    // Checks: with any change after signing, an accepted caller is the signer, with the signed message and nonce.
    let harness = SignInHarness::new();
    let good: Vec<Value> = Network::ALL
        .into_iter()
        .flat_map(|network| [true, false].map(|full| harness.signed_proof(network, full)))
        .collect();
    let message = |header: &[u8]| {
        let proof = SignInProof::decode(header).unwrap();
        proof.message(proof.network().unwrap())
    };
    let signed: Vec<String> = good.iter().map(|fields| message(header(fields).as_bytes())).collect();
    for fields in &good {
        harness.checker.check(header(fields).as_bytes(), AT).unwrap();
    }
    check!()
        .with_iterations(3_000)
        .with_max_len(256)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let (changes, level) = (dice.below(4), dice.byte() % 4);
            let mut fields = dice.of(&good).clone();
            if level < 2 {
                (0..changes).for_each(|_| change_json(&mut fields, &good, &mut dice));
            }
            let mut text = fields.to_string();
            if level == 2 {
                (0..changes).for_each(|_| text = change_text(&text, &mut dice));
            }
            let mut header = STANDARD.encode(text).into_bytes();
            if level == 3 {
                (0..changes).for_each(|_| change_bytes(&mut header, &mut dice));
            }
            read(&header);
            let Ok(found) = harness.checker.check(&header, AT) else {
                return;
            };
            assert!(
                Network::ALL
                    .map(|network| buyer().account(network))
                    .contains(&found.wallet)
            );
            assert!(signed.contains(&message(&header)));
            let issued = harness.nonces.issue(AT, &Fixed(7)).text;
            assert!(issued.starts_with(&hex::encode(found.nonce.bytes)));
        });
}

#[test]
fn resigned_proof_is_valid_only_for_our_origin_and_time() {
    // Checks: for fields of every kind with a valid signature, an accepted proof names our domain and origin, a
    // supported chain, a current time and one of our nonces. The parsed message has exactly the fields that were sent.
    let harness = SignInHarness::new();
    check!()
        .with_iterations(1_500)
        .with_max_len(128)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let (network, full) = (*dice.of(&Network::ALL), dice.one_in(2));
            let mut fields = harness.signed_proof(network, full);
            let donors = [
                harness.signed_proof(Network::Base, true),
                harness.signed_proof(Network::Solana, true),
            ];
            (0..dice.below(3)).for_each(|_| change_json(&mut fields, &donors, &mut dice));
            if !fields.is_object() {
                return;
            }
            sign(&mut fields);
            let header = header(&fields);
            read(header.as_bytes());
            let Ok(found) = harness.checker.check(header.as_bytes(), AT) else {
                return;
            };
            let proof = SignInProof::decode(header.as_bytes()).unwrap();
            assert_eq!(
                (proof.domain.as_str(), proof.version.as_str()),
                ("api.example.com", "1")
            );
            assert!(proof.uri.to_lowercase().starts_with("https://api.example.com"));
            assert!(proof.nonce.starts_with(&hex::encode(found.nonce.bytes)));
            // The client's own time, by a clock that is up to five minutes off.
            let issued = rfc3339::parse(&proof.issued_at).unwrap();
            assert!(issued.0.abs_diff(AT.0) <= 300_000);
            let kind = match found.wallet {
                Wallet::Evm(_) => ("eip155:8453", "eip191"),
                Wallet::Solana(_) => (Network::Solana.caip2(), "ed25519"),
            };
            assert_eq!((proof.chain_id.as_str(), proof.kind.as_str()), kind);
            let time = |text: &Option<String>| text.as_ref().map(|text| rfc3339::parse(text).unwrap());
            assert!(time(&proof.expiration_time).is_none_or(|end| end > AT));
            assert!(time(&proof.not_before).is_none_or(|start| start <= AT));
        });
}
