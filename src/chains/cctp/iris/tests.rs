#![allow(clippy::unwrap_used, clippy::type_complexity, reason = "a test")]

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::super::{MAINNET, THRESHOLD_FAST};
use super::*;
use crate::solana::address::USDC_MAINNET;

const BURN: Signature = [7; 64];

fn order() -> BurnOrder {
    BurnOrder {
        owner: [3; 32],
        mint: USDC_MAINNET,
        recipient: [0xaa; 20],
        amount: 5_000_500,
        max_fee: 500,
        min_finality_threshold: THRESHOLD_FAST,
    }
}

fn attested(fee_executed: u64) -> BurnMessage {
    BurnMessage {
        nonce: [5; 32],
        fee_executed,
        finality_threshold_executed: THRESHOLD_FAST,
        ..BurnMessage::emitted_by(&order(), &MAINNET)
    }
}

fn listed(status: &str, message: &BurnMessage) -> Value {
    let complete = status == "complete";
    json!({
        "status": status,
        "message": format!("0x{}", hex::encode(message.encode())),
        "attestation": if complete { format!("0x{}", "ab".repeat(130)) } else { "PENDING".to_owned() },
        "eventNonce": format!("0x{}", "05".repeat(32)),
        "cctpVersion": 2, "decodedMessage": null, "delayReason": null,
    })
}

/// A server that gives these responses in turn (status line, further headers, body), and the request lines it received.
async fn serve(responses: Vec<(&'static str, &'static str, String)>) -> (Iris, Arc<Mutex<Vec<String>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/prefix/", listener.local_addr().unwrap());
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = lines.clone();
    tokio::spawn(async move {
        for (status, headers, body) in responses {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            let line = String::from_utf8_lossy(&request)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            seen.lock().unwrap().push(line);
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
            stream.write_all((head + &body).as_bytes()).await.unwrap();
        }
    });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    (Iris::new(client, &base, Duration::from_secs(5)).unwrap(), lines)
}

fn body(messages: &[Value]) -> String {
    json!({ "messages": messages }).to_string()
}

#[tokio::test]
async fn a_burn_is_followed_from_unseen_to_complete() {
    let (iris, lines) = serve(vec![
        (
            "404 Not Found",
            "",
            r#"{"code":404,"error":"Message not found"}"#.to_owned(),
        ),
        ("200 OK", "", body(&[listed("pending_confirmations", &attested(0))])),
        ("200 OK", "", body(&[listed("expired", &attested(400))])),
        (
            "200 OK",
            "",
            r#"{"message":"Re-attestation successfully requested for nonce."}"#.to_owned(),
        ),
        ("200 OK", "", body(&[listed("complete", &attested(400))])),
    ])
    .await;
    let ask = async || attestation_for(iris.messages(&BURN).await.unwrap(), &order(), &MAINNET).unwrap();
    assert_eq!(ask().await, Attestation::Pending { delay_reason: None });
    assert_eq!(ask().await, Attestation::Pending { delay_reason: None });
    assert_eq!(ask().await, Attestation::Expired { nonce: [5; 32] });
    assert_eq!(iris.reattest(&[5; 32]).await, Ok(()));
    let Attestation::Complete {
        message,
        bytes,
        attestation,
    } = ask().await
    else {
        panic!("complete")
    };
    assert_eq!((message.arrives(), attestation.len()), (5_000_100, 130));
    assert_eq!(bytes, attested(400).encode());
    let get = format!("GET /prefix/v2/messages/5?transactionHash={} HTTP/1.1", base58(&BURN));
    let post = format!("POST /prefix/v2/reattest/0x{} HTTP/1.1", "05".repeat(32));
    assert_eq!(
        *lines.lock().unwrap(),
        [get.clone(), get.clone(), get.clone(), post, get]
    );
}

#[tokio::test]
async fn failures_say_nothing_about_the_burn() {
    let (iris, _) = serve(vec![
        ("429 Too Many Requests", "retry-after: 7\r\n", String::new()),
        ("429 Too Many Requests", "", String::new()),
        ("429 Too Many Requests", "retry-after: 999999\r\n", String::new()),
        ("503 Service Unavailable", "", String::new()),
        ("400 Bad Request", "", String::new()),
        ("200 OK", "", "<html>".to_owned()),
        ("200 OK", "", " ".repeat(MAX_RESPONSE_BYTES + 1)),
    ])
    .await;
    let limited = |seconds| IrisError::RateLimited {
        retry_after: Duration::from_secs(seconds),
    };
    let expected = [
        (limited(7), true),
        (limited(300), true),
        (limited(3600), true),
        (IrisError::Status(503), true),
        (IrisError::Status(400), false),
        (IrisError::Malformed("not a list of messages"), true),
        (IrisError::Malformed("the response is too long"), true),
    ];
    for (error, temporary) in expected {
        let got = iris.messages(&BURN).await.unwrap_err();
        assert_eq!((got.is_temporary(), got), (temporary, error));
    }
    assert_eq!(
        iris.messages(&BURN).await,
        Err(IrisError::Unreachable),
        "the server is gone"
    );
}

#[tokio::test]
async fn fees_are_exact() {
    let (iris, lines) = serve(vec![
        (
            "200 OK",
            "",
            r#"[{"finalityThreshold":1000,"minimumFee":1.3},{"finalityThreshold":2000,"minimumFee":0}]"#.to_owned(),
        ),
        (
            "200 OK",
            "",
            r#"[{"finalityThreshold":1000,"minimumFee":-1}]"#.to_owned(),
        ),
        ("200 OK", "", r#"{"finalityThreshold":1000}"#.to_owned()),
    ])
    .await;
    let fees = iris.fees().await.unwrap();
    let rates: Vec<_> = fees.iter().map(|fee| (fee.finality_threshold, fee.rate)).collect();
    let fast = FeeRate::parse_basis_points("1.3").unwrap();
    assert_eq!(rates, [(1000, fast), (2000, FeeRate::ZERO)]);
    assert!(iris.fees().await.is_err() && iris.fees().await.is_err());
    assert_eq!(lines.lock().unwrap()[0], "GET /prefix/v2/burn/USDC/fees/5/6 HTTP/1.1");
}

#[test]
fn only_the_orders_own_message_is_minted_on() {
    let messages = |list: &[Value]| decode_messages(body(list).as_bytes()).unwrap();
    let other = BurnMessage {
        amount: 9_000_000,
        ..attested(0)
    };
    let wrong = attestation_for(messages(&[listed("complete", &other)]), &order(), &MAINNET);
    assert_eq!(wrong, Err(MessageError::Mismatch("amount")));
    let both = messages(&[listed("complete", &other), listed("complete", &attested(1))]);
    assert!(matches!(
        attestation_for(both, &order(), &MAINNET),
        Ok(Attestation::Complete { .. })
    ));
    let empty = json!({"status": "pending_confirmations", "message": "0x", "delayReason": "insufficient_fee"});
    let delayed = Attestation::Pending {
        delay_reason: Some("insufficient_fee".to_owned()),
    };
    assert_eq!(attestation_for(messages(&[empty]), &order(), &MAINNET), Ok(delayed));
    // A fee above the limit contradicts the chain's rules.
    let mut bytes = attested(500).encode();
    bytes[148 + 195] += 1;
    let taken = json!({"status": "complete", "message": format!("0x{}", hex::encode(bytes)), "attestation": format!("0x{}", "00".repeat(65))});
    assert_eq!(
        attestation_for(messages(&[taken]), &order(), &MAINNET),
        Err(MessageError::Fee)
    );
}

#[test]
fn a_complete_message_has_bytes_and_signatures() {
    let good = listed("complete", &attested(0));
    assert!(decode_messages(body(std::slice::from_ref(&good)).as_bytes()).is_ok());
    let changes = [
        ("attestation", json!("PENDING")),
        ("attestation", json!("0x")),
        ("attestation", json!(format!("0x{}", "00".repeat(64)))),
        ("attestation", Value::Null),
        ("message", json!("0x")),
        ("message", json!("zz")),
        ("message", json!(format!("0x{}", "00".repeat(MAX_BYTES + 1)))),
        ("message", Value::Null),
    ];
    for (field, value) in changes {
        let mut changed = good.clone();
        changed[field] = value.clone();
        assert!(decode_messages(body(&[changed]).as_bytes()).is_err(), "{field} {value}");
    }
    assert!(decode_messages(body(&vec![good; MAX_MESSAGES + 1]).as_bytes()).is_err());
}
