//! An external seller that behaves like a stock x402 v2 server. It asks for a payment on Base or Solana, pays the
//! Solana fee, settles on the chain, and only then serves.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer as _;
use purser::payment::Token;
use purser::payment::evm::checksummed;
use purser::payment::solana::address::{associated_token_account, base58, parse};
use purser::payment::terms::{BASE_USDC, SOLANA_USDC};
use purser::wallet::TestWallet;
use purser_actors::id::Network;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::agent_wallet::payment;
use super::http::{client, send};

/// Price of every resource, in atomic USDC.
const PRICE: &str = "1000000";

/// A token that one of its responses contains.
pub(crate) const RESPONSE_TOKEN: &str = "shown-to-one-caller";

/// A server on its own port.
pub(crate) struct Seller {
    authority: String,
    /// URL of the service on whose sandbox chain it settles.
    chain: Arc<Mutex<String>>,
}

/// A complete request.
struct ReceivedRequest {
    path: String,
    payment: Option<String>,
    body: Value,
}

impl Seller {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let chain = Arc::new(Mutex::new(String::new()));
        let of = chain.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let chain = of.lock().unwrap().clone();
                tokio::spawn(serve(stream, chain));
            }
        });
        Self { authority, chain }
    }

    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// The address that receives the payment.
    pub(crate) fn address() -> String {
        keys().1.address(Network::Solana)
    }

    pub(crate) fn settles_on(&self, url: &str) {
        *self.chain.lock().unwrap() = url.to_owned();
    }
}

/// Two keys; the one on Solana pays fees and receives payments.
fn keys() -> ([u8; 32], TestWallet) {
    let seed = [42; 32];
    (seed, TestWallet::from_bytes(&[41; 32], &seed).unwrap())
}

async fn read(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    loop {
        let mut some = [0; 4_096];
        let n = stream.read(&mut some).await.ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&some[..n]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let header = |name: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            let mut found = lines.filter(|(of, _)| of.eq_ignore_ascii_case(name));
            found.next().map(|(_, value)| value.to_owned())
        };
        let length = header("content-length").map_or(0, |length| length.parse().unwrap());
        if body.len() < length {
            continue;
        }
        return Some(ReceivedRequest {
            path: head.split(' ').nth(1)?.to_owned(),
            payment: header("payment-signature"),
            body: serde_json::from_str(body).unwrap_or_default(),
        });
    }
}

async fn serve(mut stream: TcpStream, chain: String) {
    let Some(call) = read(&mut stream).await else { return };
    let plain = |status: &str, headers: &str, body: &Value| {
        let body = body.to_string();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let challenge = format!("payment-required: {}\r\n", STANDARD.encode(terms().to_string()));
    let answer = match (call.path.as_str(), &call.payment) {
        ("/ours" | "/our-account", _) => plain(
            "402 Payment Required",
            &others_terms(&chain, &call.path).await,
            &json!({}),
        ),
        ("/signed-amount" | "/padded-amount" | "/zero" | "/no-time", _) => {
            plain("402 Payment Required", &odd_terms(&call.path), &json!({}))
        }
        ("/real-token", _) => plain("402 Payment Required", &real_terms(), &json!({})),
        ("/broken", _) => plain("500 Internal Server Error", "", &json!({})),
        ("/moved", _) => plain("302 Found", "location: http://169.254.169.254/\r\n", &json!({})),
        ("/untermed", _) => plain("402 Payment Required", "", &json!({"x402Version": 1})),
        ("/endless", _) => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            while stream.write_all(&[b'x'; 65_536]).await.is_ok() {}
            return;
        }
        (_, None) | ("/refuses", _) => plain("402 Payment Required", &challenge, &json!({})),
        (path, Some(header)) => {
            let transaction = settle(header, &chain).await;
            let receipt = json!({"success": true, "transaction": transaction, "network": Network::Solana.caip2()});
            let receipt = format!("payment-response: {}\r\n", STANDARD.encode(receipt.to_string()));
            let status = if path == "/fails-paid" {
                "503 Service Unavailable"
            } else {
                "200 OK"
            };
            let body = match path {
                "/tells-token" => json!({"access_token": RESPONSE_TOKEN, "for": "you"}),
                _ => json!({"echo": call.body}),
            };
            plain(status, &receipt, &body)
        }
    };
    let _ = stream.write_all(answer.as_bytes()).await;
}

/// The card terms of the service, offered by this server: unchanged, or with the treasury token account as payee.
async fn others_terms(service: &str, path: &str) -> String {
    let call = send(client().get(format!("{service}/get-card?amount=5")))
        .await
        .unwrap();
    let header = call.header("payment-required").unwrap();
    if path == "/ours" {
        return format!("payment-required: {header}\r\n");
    }
    let mut terms: Value = serde_json::from_slice(&STANDARD.decode(header).unwrap()).unwrap();
    let offers = terms["accepts"].as_array_mut().unwrap();
    offers.retain(|offer| offer["network"] == Network::Solana.caip2());
    let owner = parse(offers[0]["payTo"].as_str().unwrap()).unwrap();
    let account = associated_token_account(&owner, &SOLANA_USDC).unwrap();
    offers[0]["payTo"] = json!(base58(&account));
    format!("payment-required: {}\r\n", STANDARD.encode(terms.to_string()))
}

fn terms() -> Value {
    let own = Seller::address();
    json!({"x402Version": 2, "error": "Payment required", "resource": {"url": "http://shop.example.com/paid"},
        "accepts": [{"scheme": "exact", "network": Network::Base.caip2(), "amount": PRICE,
            "asset": checksummed(&BASE_USDC), "payTo": keys().1.address(Network::Base), "maxTimeoutSeconds": 60,
            "extra": {"name": Token::SANDBOX.name, "version": Token::SANDBOX.version}}, {"scheme": "exact", "network": Network::Solana.caip2(), "amount": PRICE,
            "asset": base58(&SOLANA_USDC), "payTo": own, "maxTimeoutSeconds": 60, "extra": {"feePayer": own}}]})
}

/// The same terms for the real USDC token on Base, for which a signature would have value.
fn real_terms() -> String {
    let mut terms = terms();
    let offers = terms["accepts"].as_array_mut().unwrap();
    offers.truncate(1);
    offers[0]["extra"] = json!({"name": Token::USDC.name, "version": Token::USDC.version});
    format!("payment-required: {}\r\n", STANDARD.encode(terms.to_string()))
}

/// Terms that no client should sign: an amount in another notation than x402 uses, zero, or no time.
fn odd_terms(path: &str) -> String {
    let (member, value) = match path {
        "/signed-amount" => ("amount", json!("+5000")),
        "/padded-amount" => ("amount", json!("0001000000")),
        "/zero" => ("amount", json!("0")),
        _ => ("maxTimeoutSeconds", json!(0)),
    };
    let mut terms = terms();
    for offer in terms["accepts"].as_array_mut().unwrap() {
        offer[member] = value.clone();
    }
    format!("payment-required: {}\r\n", STANDARD.encode(terms.to_string()))
}

/// Checks the amount, signs as the fee payer and submits the payment to the chain. Returns its transaction id.
async fn settle(header: &str, chain: &str) -> Value {
    let paid = payment(header);
    assert_eq!(paid["x402Version"], 2);
    let offers = terms()["accepts"].clone();
    if paid["accepted"] == offers[0] {
        let request = client().post(format!("{chain}/sandbox/base"));
        let response = send(request.json(&json!({"payment": header}))).await.unwrap().body;
        assert_eq!(response["success"], true, "{response}");
        return response["transaction"].clone();
    }
    assert_eq!(paid["accepted"], offers[1]);
    let mut wire = STANDARD
        .decode(paid["payload"]["transaction"].as_str().unwrap())
        .unwrap();
    let (seed, _) = keys();
    assert_eq!(wire[0], 2, "the fee payer and the payer sign");
    let message = &wire[1 + 2 * 64..];
    let signature = ed25519_dalek::SigningKey::from_bytes(&seed).sign(message);
    // The first of the two signature slots, after their count.
    wire[1..65].copy_from_slice(&signature.to_bytes());
    let encoded = STANDARD.encode(&wire);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "sendTransaction",
        "params": [encoded, {"encoding": "base64", "skipPreflight": true}]});
    let request = client().post(format!("{chain}/sandbox/solana"));
    let response = send(request.json(&call)).await.unwrap().body;
    assert!(response["result"].is_string(), "{response}");
    response["result"].clone()
}
