#![allow(clippy::panic, reason = "tests")]

use serde_json::json;

use super::*;

const BASE: ExpectedNetwork = ExpectedNetwork {
    network: Network::Base,
    caip2: "eip155:8453",
};
const SOLANA: ExpectedNetwork = ExpectedNetwork {
    network: Network::Solana,
    caip2: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
};

fn hash() -> String {
    format!("0x{}", "ab".repeat(32))
}

fn signature() -> String {
    bs58::encode([7; 64]).into_string()
}

fn settle(status: u16, body: &Value, expected: ExpectedNetwork) -> SettleResult {
    settled(status, body.to_string().as_bytes(), expected)
}

fn success(transaction: &str, expected: ExpectedNetwork) -> Value {
    json!({"success": true, "transaction": transaction, "network": expected.caip2, "payer": "0x1"})
}

fn failure(reason: &str, transaction: &str) -> Value {
    json!({"success": false, "errorReason": reason, "errorMessage": "why", "transaction": transaction, "network": "eip155:8453"})
}

// Checks: only `success: true` on our network with a valid transaction id reports a settlement.
#[test]
fn a_settlement_is_reported_by_success_network_and_transaction_together() {
    assert_eq!(
        settle(200, &success(&hash(), BASE), BASE),
        SettleResult::Reported(hash())
    );
    assert_eq!(
        settle(200, &success(&signature(), SOLANA), SOLANA),
        SettleResult::Reported(signature())
    );
    let other_network = success(
        &hash(),
        ExpectedNetwork {
            caip2: "eip155:1",
            ..BASE
        },
    );
    let no_form = [
        success("", BASE),
        success(&signature(), BASE),
        success(&hash()[..64], BASE),
        json!({"success": true, "network": BASE.caip2}),
        json!({"success": true, "network": BASE.caip2, "transaction": 7}),
        json!({"success": "true", "network": BASE.caip2, "transaction": hash()}),
        json!({"network": BASE.caip2, "transaction": hash()}),
        json!([]),
        other_network,
    ];
    for body in no_form {
        assert!(
            matches!(settle(200, &body, BASE), SettleResult::Unknown { .. }),
            "{body}"
        );
    }
    assert!(matches!(
        settle(200, &success(&hash(), BASE), SOLANA),
        SettleResult::Unknown { .. }
    ));
}

// Checks: a server error, an HTML page, a redirect and a second 402 prove nothing, whatever their body.
#[test]
fn invalid_response_is_an_unknown_outcome() {
    for status in [301, 402, 500, 502, 503, 504] {
        for body in ["", "<html>not available</html>", "{\"error\":\"x\"}", "{\"success\":tr"] {
            assert!(
                matches!(settled(status, body.as_bytes(), BASE), SettleResult::Unknown { .. }),
                "{status} {body}"
            );
        }
    }
    for status in [500, 502] {
        let declined = failure("insufficient_funds", "");
        assert!(matches!(settle(status, &declined, BASE), SettleResult::Unknown { .. }));
        let success = success(&hash(), BASE);
        assert!(matches!(settle(status, &success, BASE), SettleResult::Unknown { .. }));
    }
}

// Checks: a pending response, or a failure without a known reason, keeps the named transaction; a definite reason
// declines.
#[test]
fn pending_keeps_its_transaction_and_a_known_reason_declines() {
    for reason in ["settlement_pending", "unexpected_settle_error", "anything", ""] {
        let SettleResult::Unknown { transaction, .. } = settle(200, &failure(reason, &hash()), BASE) else {
            panic!("{reason}")
        };
        assert_eq!(transaction, Some(hash()), "{reason}");
    }
    for status in [200, 400, 402, 412] {
        let SettleResult::Declined(decline) = settle(status, &failure("insufficient_funds", ""), BASE) else {
            panic!("{status}")
        };
        assert_eq!((&*decline.reason, &*decline.message), ("insufficient_funds", "why"));
    }
    let used = failure("invalid_exact_evm_nonce_already_used", "");
    assert_eq!(settle(200, &used, BASE), SettleResult::Used);
}

// Checks: a result of `/verify` is `isValid` and, if that is false, a known reason.
#[test]
fn a_verdict_needs_is_valid_and_a_known_reason() {
    let verify = |status: u16, body: Value| verified(status, body.to_string().as_bytes(), BASE);
    assert_eq!(
        verify(200, json!({"isValid": true, "payer": "0x1"})),
        VerifyResult::Valid
    );
    let invalid = |reason: &str| json!({"isValid": false, "invalidReason": reason, "payer": ""});
    for status in [200, 400] {
        let VerifyResult::Declined(decline) = verify(status, invalid("invalid_exact_evm_insufficient_balance")) else {
            panic!("{status}")
        };
        assert_eq!(&*decline.reason, "insufficient_funds");
    }
    let used = verify(200, invalid("invalid_exact_evm_nonce_already_used"));
    assert_eq!(used, VerifyResult::Used);
    let unknown = [
        (500, json!({"isValid": true})),
        (500, invalid("insufficient_funds")),
        (200, invalid("unexpected_verify_error")),
        (200, json!({"isValid": "yes"})),
        (200, json!({})),
    ];
    for (status, body) in unknown {
        let shown = body.to_string();
        assert!(
            matches!(verify(status, body), VerifyResult::Unknown(_)),
            "{status} {shown}"
        );
    }
}
