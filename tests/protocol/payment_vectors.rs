//! The golden vectors of the stock clients against our own challenge, decoding and verification, at their own clock.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::payment::challenge::{ChallengeInput, PAYMENT_REQUIRED_ERROR, Resource, challenge};
use purser::payment::evm::{SignatureRecovery, checksummed, transfer_digest};
use purser::payment::mpp::challenge::{ChallengeFields, request};
use purser::payment::mpp::problem::MppProblem;
use purser::payment::mpp::receipt::Receipt;
use purser::payment::mpp::{self, BoundRequest, INTENT, METHOD, Mpp};
use purser::payment::solana::address::parse as pubkey;
use purser::payment::{BasePayee, Payee, SolanaPayee, Terms, decode, verify};
use purser::secret::{MacKey, SecretText};
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, Timestamp};
use serde_json::Value;

fn vector(name: &str) -> Value {
    let path = format!("{}/tests/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn now(vector: &Value) -> Timestamp {
    Timestamp(vector["clock"]["unix"].as_u64().unwrap() * 1000)
}

/// Base first, then Solana, both 5 USDC for 300 seconds: what all vectors were made from.
fn offers() -> Vec<Terms> {
    let Ok(Wallet::Evm(pay_to)) = "0x0D8e461687b7D06f86EC348E0c270b0F279855F0".parse() else {
        panic!("an address")
    };
    let base = Payee::Base(Arc::new(BasePayee::usdc(pay_to)));
    let pay_to = pubkey("4So8kA2BCfQD4zhvfYVqhWiyrXBgRPNRuoicJdh9G36c").unwrap();
    let fee_payer = pubkey("2btLJAAb1S3x6hZYdVyAePjqtQYi2ZBSRGy4569RZu8h").unwrap();
    let solana = Payee::Solana(Arc::new(SolanaPayee::usdc(pay_to, fee_payer, None).unwrap()));
    [base, solana]
        .map(|payee| Terms::new(Usdc::from_atomic(5_000_000), 300, payee))
        .to_vec()
}

fn accept(vector: &Value, header: &str) -> Authorization {
    let payment = decode(header.as_bytes()).unwrap();
    let first = verify(&payment, &offers(), &[], now(vector), SignatureRecovery::Libsecp256k1).unwrap();
    let second = verify(&payment, &offers(), &[], now(vector), SignatureRecovery::K256).unwrap();
    assert_eq!(first, second);
    first.authorization
}

#[test]
fn challenge_equals_the_reference_servers_byte_for_byte() {
    // Checks: our server's header equals the one that the vectors' clients received.
    let vector = vector("x402-v2-evm");
    let parts = ChallengeInput {
        resource: Resource {
            url: "https://api.example.com/get-card?amount=5",
            description: "Vector product",
            mime_type: "application/json",
        },
        terms: &offers(),
        error: PAYMENT_REQUIRED_ERROR,
        code: "payment_required",
        extensions: None,
        body_members: None,
    };
    let challenge = challenge(&parts);
    assert_eq!(
        challenge.header,
        vector["input"]["paymentRequiredHeader"].as_str().unwrap()
    );

    // The body is the same object with the contract's fields in each entry.
    let mut body: Value = serde_json::from_slice(&challenge.body).unwrap();
    assert_eq!(
        body.as_object_mut().unwrap().remove("code").unwrap(),
        "payment_required"
    );
    for entry in body["accepts"].as_array_mut().unwrap() {
        let entry = entry.as_object_mut().unwrap();
        assert_eq!(entry.remove("maxAmountRequired").unwrap(), "5000000");
        assert_eq!(
            entry.remove("resource").unwrap(),
            "https://api.example.com/get-card?amount=5"
        );
        assert_eq!(entry.remove("description").unwrap(), "Vector product");
        assert_eq!(entry.remove("mimeType").unwrap(), "application/json");
    }
    assert_eq!(body, vector["input"]["paymentRequired"]);
}

#[test]
fn evm_payments_of_every_stock_client_are_accepted() {
    // Checks: x402 v2, x402 v1 and mppx payments verify, name their payer, and hash to the digest from viem.
    for name in ["x402-v2-evm", "x402-v1-evm", "x402-v2-evm-from-mppx"] {
        let vector = vector(name);
        let authorization = accept(&vector, vector["output"]["headerValue"].as_str().unwrap());
        let Authorization::Evm(evm) = &authorization else {
            panic!("{name} is a payment on Base")
        };
        assert_eq!(checksummed(&evm.from), vector["expectedPayer"], "{name}");
        assert_eq!(authorization.value(), Usdc::from_atomic(5_000_000));
        let Payee::Base(payee) = &offers()[0].payee else {
            panic!("Base comes first")
        };
        let digest = format!("0x{}", hex::encode(transfer_digest(&payee.domain_separator, evm)));
        if let Some(expected) = vector["output"]["eip712"]["digest"].as_str() {
            assert_eq!(digest, expected, "{name}");
        }
    }
}

#[test]
fn solana_payments_of_the_stock_client_are_accepted() {
    // Checks: the transaction verifies with and without the server's blockhash hint, which is not part of the terms.
    let vector = vector("x402-v2-svm");
    let hinted = &vector["withServerBlockhashHint"];
    for header in [&vector["output"]["headerValue"], &hinted["headerValue"]] {
        let authorization = accept(&vector, header.as_str().unwrap());
        let Authorization::Solana(transfer) = &authorization else {
            panic!("a payment on Solana")
        };
        assert_eq!(
            authorization.payer().address(),
            vector["expectedPayer"].as_str().unwrap()
        );
        assert_eq!(authorization.network(), Network::Solana);
        assert_eq!(
            bs58::encode(transfer.blockhash).into_string(),
            vector["rpcStub"]["blockhash"]
        );
    }
}

#[test]
fn the_co_signed_transaction_is_the_same_payment() {
    // Checks: adding the fee payer's signature changes neither the verdict nor the claim key.
    use purser::payment::solana::{SolanaRequirements, verify};
    let vector = vector("x402-v2-svm");
    let offers = offers();
    let Payee::Solana(payee) = &offers[1].payee else {
        panic!("Solana comes second")
    };
    let demand = SolanaRequirements {
        payee,
        amount: Usdc::from_atomic(5_000_000),
    };
    let decode = |text: &Value| STANDARD.decode(text.as_str().unwrap()).unwrap();
    let sent = verify(&decode(&vector["output"]["decoded"]["payload"]["transaction"]), &demand).unwrap();
    let co_signed = verify(&decode(&vector["output"]["coSigned"]["wireBase64"]), &demand).unwrap();
    assert_ne!(sent, co_signed);
    assert_eq!(sent.claim_key(), co_signed.claim_key());
}

/// The vectors' own key, and a server that has it.
fn mpp_server(vector: &Value) -> (MacKey, Mpp) {
    let secret = SecretText::new(vector["secretKeyUtf8"].as_str().unwrap().to_owned());
    let key = MacKey::of_text(&secret).unwrap();
    (key.clone(), Mpp::new("api.example.com", key, None, 0))
}

fn parameter<'a>(field: &'a str, name: &str) -> &'a str {
    let (_, rest) = field.split_once(&format!("{name}=\"")).unwrap();
    rest.split('"').next().unwrap()
}

#[test]
fn mpp_challenge_equals_the_reference_servers_byte_for_byte() {
    // Checks: the canonical JSON request, the HMAC id and the header equal the mppx server's, with and without
    // `opaque`.
    let vector = vector("mpp-evm-charge");
    let (key, _) = mpp_server(&vector);
    let Payee::Base(payee) = &offers()[0].payee else {
        panic!("Base comes first")
    };
    let request = request(payee, Usdc::from_atomic(5_000_000));
    for (field, opaque) in [
        (&vector["challenge"]["headerValue"], ""),
        (
            &vector["scoped"]["challengeHeader"],
            parameter(vector["scoped"]["challengeHeader"].as_str().unwrap(), "opaque"),
        ),
    ] {
        let covered = ChallengeFields {
            realm: "api.example.com",
            method: METHOD,
            intent: INTENT,
            request: &request,
            expires: "2026-01-15T10:35:00.000Z",
            digest: "",
            opaque,
        };
        let id = covered.id(&key);
        assert!(covered.matches_id(&id, &key));
        assert_eq!(covered.header(&id, "Vector product"), field.as_str().unwrap());
    }
}

#[test]
fn mpp_credentials_of_the_stock_client_are_accepted() {
    // Checks: our code recognises the mppx server's challenge by its id and rejects it only for its missing request
    // binding. The payment inside is valid and has the expected payer.
    let vector = vector("mpp-evm-charge");
    let (_, server) = mpp_server(&vector);
    let Payee::Base(payee) = &offers()[0].payee else {
        panic!("Base comes first")
    };
    let bound = BoundRequest {
        route: "/get-card",
        request: &[0; 32],
    };
    for header in [
        &vector["credential"]["headerValue"],
        &vector["scoped"]["credentialHeader"],
    ] {
        let credential = header.as_str().unwrap().strip_prefix("Payment ").unwrap();
        let credential = mpp::credential::decode(credential.as_bytes()).unwrap();
        let judge = |credential| {
            server.verify(
                credential,
                &offers(),
                &bound,
                now(&vector),
                SignatureRecovery::default(),
            )
        };
        let rejection = judge(credential.clone()).unwrap_err();
        assert_eq!(rejection.detail, "the challenge was given for another request");
        let mut of_another_id = credential.clone();
        of_another_id.challenge.id = vector["scoped"]["onAnotherRoute"]["problem"]["challengeId"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_ne!(judge(of_another_id).unwrap_err().detail, rejection.detail);

        for recovery in [SignatureRecovery::Libsecp256k1, SignatureRecovery::K256] {
            let answered = mpp::verify_for_replay(credential.clone(), payee, recovery).unwrap();
            let Authorization::Evm(evm) = &answered.authorization else {
                panic!("a payment on Base")
            };
            assert_eq!(checksummed(&evm.from), vector["expectedPayer"]);
            assert_eq!(answered.authorization.value(), Usdc::from_atomic(5_000_000));
            assert_eq!(answered.challenge, credential.challenge.id);
        }
        let mut tampered = credential;
        tampered.payload.authorization.value = "5000001".to_owned();
        assert_eq!(
            mpp::verify_for_replay(tampered, payee, SignatureRecovery::default()),
            None
        );
    }
}

#[test]
fn the_mpp_problem_and_receipt_have_the_reference_servers_members() {
    // Checks: type, title and status equal the mppx server's, and so does every receipt member that it writes.
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let vector = vector("mpp-evm-charge");
    for (problem, reference) in [
        (MppProblem::PaymentRequired, &vector["challenge"]["problem"]),
        (MppProblem::VerificationFailed, &vector["tampered"]["problem"]),
        (
            MppProblem::InvalidChallenge,
            &vector["scoped"]["onAnotherRoute"]["problem"],
        ),
    ] {
        let ours: Value = serde_json::from_str(&format!("{{{}}}", problem.members("why", Some("id")))).unwrap();
        for member in ["type", "title", "status"] {
            assert_eq!(ours[member], reference[member]);
        }
        assert_eq!(ours["type"], problem.uri());
        assert_eq!((&ours["detail"], &ours["challengeId"]), (&"why".into(), &"id".into()));
    }
    let reference = &vector["receipt"]["decoded"];
    let receipt = Receipt {
        transaction: reference["reference"].as_str().unwrap(),
        challenge: "id",
        at: now(&vector),
    };
    let ours: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(receipt.header()).unwrap()).unwrap();
    for (member, value) in reference.as_object().unwrap() {
        assert_eq!(&ours[member], value);
    }
    assert_eq!((&ours["challengeId"], &ours["chainId"]), (&"id".into(), &8453.into()));
}
