//! Headers: which one, how large, how broken; and what goes back.

use http::{HeaderMap, HeaderValue};
use purser::payment::decode::MAX_HEADER_BYTES;
use purser::payment::receipt::{FailedReceipt, SettledReceipt, contract_reason};
use purser::payment::{InvalidReason, PaymentHeaderError, decode, payment_header};
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::Decline;
use serde_json::{Value, json};

use crate::seller::{build_challenge, encode, offers, pay};

fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in list {
        map.append(*name, HeaderValue::from_str(value).unwrap());
    }
    map
}

#[test]
fn case_15_one_request_carries_one_payment() {
    // Checks: either header is accepted, and two equal ones count as one. Two different ones, and x402 beside MPP, are
    // a 400.
    let ambiguous = |list: &[(&'static str, &str)]| {
        let headers = headers(list);
        matches!(payment_header(&headers), Err(PaymentHeaderError::Ambiguous(_)))
    };
    let found = |list: &[(&'static str, &str)]| payment_header(&headers(list)).unwrap().map(<[u8]>::to_vec);
    assert_eq!(found(&[]), None);
    assert_eq!(found(&[("x-payment", "a")]), Some(b"a".to_vec()));
    assert_eq!(found(&[("payment-signature", " a ")]), Some(b"a".to_vec()));
    assert_eq!(
        found(&[("payment-signature", "a"), ("x-payment", "a")]),
        Some(b"a".to_vec())
    );
    assert_eq!(
        found(&[("x-payment", "a"), ("authorization", "Bearer t")]),
        Some(b"a".to_vec())
    );
    assert_eq!(found(&[("authorization", "Payment c")]), None);
    assert!(ambiguous(&[("payment-signature", "a"), ("x-payment", "b")]));
    assert!(ambiguous(&[("x-payment", "a"), ("x-payment", "b")]));
    assert!(ambiguous(&[("x-payment", "a"), ("authorization", "payment c")]));
}

#[test]
fn case_15_malformed_header_is_rejected_with_a_clear_error() {
    // Checks: a header that is too long, not base64, not JSON, of the wrong shape or too deep is rejected as malformed
    // before allocation.
    let good = pay(&offers(), Network::Base);
    let without = |field: &str| {
        let mut payment = good.clone();
        payment.as_object_mut().unwrap().remove(field);
        encode(&payment)
    };
    let mut odd_extensions = good.clone();
    odd_extensions["extensions"] = json!(1);
    let deep = format!("{}{}", "[".repeat(3000), "]".repeat(3000));
    let cases = [
        "A".repeat(1024 * 1024),
        "A".repeat(MAX_HEADER_BYTES + 1),
        String::new(),
        "%%%".to_owned(),
        "a-b/".to_owned(),
        encode(&json!("text")),
        encode(&json!({})),
        without("x402Version"),
        without("accepted"),
        without("payload"),
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &deep),
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, good.to_string() + "x"),
        encode(&json!({"x402Version": 1, "scheme": "exact", "payload": {}})),
        encode(&odd_extensions),
        encode(&json!({"x402Version": 2, "accepted": good["accepted"], "payload": {"signature": "0x"}})),
    ];
    for header in cases {
        let refusal = decode(header.as_bytes()).unwrap_err();
        assert_eq!(refusal.reason, InvalidReason::Malformed, "{} bytes", header.len());
        assert!(refusal.message.len() < 120, "a refusal does not quote its input");
    }
}

#[test]
fn challenge_escapes_caller_input() {
    // Checks: quotes, backslashes, control characters and non-ASCII in a URL stay data, in header and body.
    let url = "http://localhost/get-card?amount=5&x=\"},{\\\u{1}\n é";
    let parts = purser::payment::challenge::ChallengeInput {
        resource: purser::payment::challenge::Resource {
            url,
            description: "\"",
            mime_type: "text/html",
        },
        terms: &offers(),
        error: InvalidReason::EvmValue.as_str(),
        code: "payment_invalid",
        extensions: Some("{\"x\":{\"info\":{}}}"),
        body_members: Some("\"terminal\":false"),
    };
    let challenge = purser::payment::challenge::challenge(&parts);
    let header = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, &challenge.header).unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    let body: Value = serde_json::from_slice(&challenge.body).unwrap();
    assert_eq!(header["resource"]["url"], url);
    assert_eq!(body["resource"]["url"], url);
    assert_eq!(body["accepts"][1]["resource"], url);
    assert_eq!(body["code"], "payment_invalid");
    assert_eq!(body["terminal"], false);
    assert_eq!(
        header["error"],
        "invalid_exact_evm_payload_authorization_value_mismatch"
    );
    assert_eq!(
        (&header["extensions"], &header["code"]),
        (&json!({"x": {"info": {}}}), &Value::Null)
    );
    assert_eq!(header["accepts"][1]["extra"]["lastValidBlockHeight"], "1000");
    assert!(header["accepts"][0]["extra"].get("recentBlockhash").is_none());
    assert!(
        build_challenge(&offers(), None).header.len() < 1500,
        "all headers together have 8 KB"
    );
}

#[test]
fn receipt_carries_the_payment_outcome() {
    // Checks: success and failure have every field that stock parsers require. The failure is the contract's body:
    // `success: false` without `accepts` distinguishes it from a challenge.
    let payer: Wallet = "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a".parse().unwrap();
    let read = |bytes: &[u8]| -> Value {
        let json = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, bytes).unwrap();
        serde_json::from_slice(&json).unwrap()
    };
    let settled = SettledReceipt {
        transaction: "0xabc",
        network: Network::Base,
        payer: &payer,
        amount: Usdc::from_atomic(5_000_000),
    };
    let expected = json!({"success": true, "transaction": "0xabc", "network": "eip155:8453",
        "payer": "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A", "amount": "5000000"});
    assert_eq!(read(&settled.header()), expected);

    let decline = Decline {
        reason: "invalid_exact_evm_insufficient_balance".into(),
        message: "the wallet holds less than the amount".into(),
    };
    let failed = FailedReceipt {
        network: Network::Base,
        payer: &payer,
        decline: &decline,
        guidance: Some("Fund the wallet."),
    };
    let mut body: Value = serde_json::from_slice(&failed.body()).unwrap();
    let code = body.as_object_mut().unwrap().remove("code");
    assert!(
        body.as_object_mut()
            .unwrap()
            .remove("error")
            .is_some_and(|error| error.is_string())
    );
    assert_eq!(code, Some(json!("settlement_failed")));
    let expected = json!({"success": false, "errorReason": "insufficient_funds",
        "errorMessage": "the wallet holds less than the amount", "transaction": "", "network": "eip155:8453",
        "payer": "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A", "x_service_guidance": "Fund the wallet."});
    assert_eq!(body, expected);
    assert_eq!(read(&failed.header()), expected);
}

#[test]
fn low_balance_reasons_use_the_contracts_name() {
    // Checks: clients branch on `insufficient_funds`. A simulation that failed for another cause keeps its own reason.
    const SVM: &str = "invalid_exact_svm_transaction_simulation_failed";
    let cases = [
        ("insufficient_funds", "", "insufficient_funds"),
        ("invalid_exact_evm_insufficient_balance", "", "insufficient_funds"),
        (SVM, "custom program error: 0x1", "insufficient_funds"),
        (SVM, "Error: Insufficient funds", "insufficient_funds"),
        (SVM, "custom program error: 0x11", SVM),
        (SVM, "account is frozen", SVM),
        (
            "invalid_exact_evm_nonce_already_used",
            "insufficient funds",
            "invalid_exact_evm_nonce_already_used",
        ),
    ];
    for (reason, message, expected) in cases {
        assert_eq!(contract_reason(reason, message), expected, "{reason} {message}");
    }
}

#[test]
fn reasons_have_distinct_names() {
    let mut names: Vec<&str> = InvalidReason::ALL.iter().map(|reason| reason.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), InvalidReason::ALL.len());
}
