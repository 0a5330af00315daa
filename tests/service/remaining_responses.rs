//! Responses that no other test covers; `docs/contract.md` lists them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::sandbox::chains::remote::{ChainRequest, ChainResponse, ChainRpcResponse};
use purser_actors::id::{Network, Wallet};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::agent::Agent;
use super::banking::{DOCUMENT_BASE64, approve, call, profile, quick, result};
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::listener::Stream;
use super::owner::Owner;
use super::reloadable_cards::{balance, loaded, opened, post_with_key, wait_for_reloadable_card};
use super::stream_limits::CARD;
use super::top_up::start;

fn assert_error(answer: &Response, status: u16, code: &str) {
    assert_eq!((answer.status, answer.code()), (status, code), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_ids_in_forms_are_not_found() {
    // Checks: limits without an agent wallet, and an unknown API key, signup and identity verification.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let owner = Owner::of(&site, &Agent::new(Network::Base)).await;
    for (path, body, code) in [
        (
            "/account/spending",
            json!({"per_call_usd": 5, "per_day_usd": null}),
            "agent_wallet_not_found",
        ),
        (
            "/account/api-keys/revoke",
            json!({"api_key_id": "unknown"}),
            "api_key_not_found",
        ),
    ] {
        assert_error(&owner.act(&site, path, &body).await, 404, code);
    }
    for (path, form, code) in [
        ("/claim", "signup=unknown&name=", "signup_not_found"),
        ("/sandbox/identity-check?token=unknown", "", "identity_check_not_found"),
    ] {
        assert_error(&owner.send(&site, path, form).await, 404, code);
    }
}

/// Another address that is the same in lower case.
fn case_variant(address: &str) -> Wallet {
    let mut others = address.char_indices().filter_map(|(at, letter)| {
        let other = match letter.is_ascii_lowercase() {
            true => letter.to_ascii_uppercase(),
            false => letter.to_ascii_lowercase(),
        };
        let text = format!("{}{other}{}", &address[..at], &address[at + 1..]);
        text.parse().ok().filter(|wallet: &Wallet| wallet.address() != address)
    });
    others.next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn lowercase_collision_of_solana_addresses_is_rejected() {
    // Checks: account names are in lower case, but Solana addresses are case-sensitive. A second address with the same
    // name can neither sign in nor pay, and nothing is charged.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let first = case_variant(&agent.address()).address();
    assert_eq!(first.to_lowercase(), agent.address().to_lowercase());
    site.freeze(&first, Some("The first of this name.")).await;
    let proof = agent.proof(&site).await;
    let signed_in = site.get("/auth", &[("sign-in-with-x", &proof)]).await;
    assert_error(&signed_in, 409, "wallet_id_collision");
    assert_error(&agent.buy(&site, CARD).await, 409, "wallet_id_collision");
    assert_eq!(site.transfers().await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn card_takes_one_action_at_a_time() {
    // Checks: resuming an open card is a no-op. While the issuer has not responded, the card takes no other action. An
    // amount that the issuer declines to hold stays on the balance.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = loaded(&site, Network::Base, 20).await;
    let card = json!({"card_id": opened(&site, &token, json!({"usd_amount": 5})).await});
    let done = post_with_key(&site, &token, "/resume-card", None, &card).await;
    assert_eq!(
        (done.status, done.str("requested_action")),
        (200, None),
        "{}",
        done.text
    );
    let program = async |fault: Value| assert_eq!(site.post("/sandbox/card-program", &fault).await.status, 200);
    program(json!({"fault": "unreachable", "times": 0})).await;
    assert_eq!(
        post_with_key(&site, &token, "/pause-card", None, &card).await.status,
        202
    );
    assert_error(
        &post_with_key(&site, &token, "/close-card", None, &card).await,
        409,
        "card_action_in_progress",
    );
    program(json!({"fault": "clear"})).await;
    wait_for_reloadable_card(&site, &token, card["card_id"].as_str().unwrap(), "paused").await;

    program(json!({"fault": "decline", "times": 0})).await;
    let request_body = json!({"amount": 10, "destination_address": agent.address()});
    let response = post_with_key(&site, &token, "/withdraw-card-balance", None, &request_body).await;
    assert_error(&response, 409, "withdrawal_declined");
    program(json!({"fault": "clear"})).await;
    assert_eq!(balance(&site, &token).await, json!(15));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn card_refresh_in_progress_is_not_repeated() {
    // Checks: while the issuer is slow, a second refresh reports that the first is in progress, regardless of the rate
    // limit.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let card = agent.buy(&site, CARD).await.card().to_owned();
    let token = agent.token(&site).await;
    until("the card", async || {
        let read = site.get_as(&token, &format!("/get-card-data?card_id={card}")).await;
        (read.str("status") == Some("ready")).then_some(())
    })
    .await;
    site.issuer_fault(json!({"fault": "slow", "delay_ms": 60_000, "times": 0}))
        .await;
    let body = json!({"card_id": card});
    let first = post_with_key(&site, &token, "/refresh-card-data", None, &body).await;
    assert_eq!(first.status, 200, "{}", first.text);
    let second = post_with_key(&site, &token, "/refresh-card-data", None, &body).await;
    assert_error(&second, 409, "refresh_in_progress");
}

#[tokio::test(flavor = "multi_thread")]
async fn unopened_bank_account_moves_no_money() {
    // Checks: the document limit is ten, and an account that the bank has not confirmed moves no money.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    result(&site, &token, "createBankingProfile", profile()).await;
    let paper = json!({"type": "other", "content": DOCUMENT_BASE64});
    for _ in 0..10 {
        result(&site, &token, "uploadBankingDocument", paper.clone()).await;
    }
    let eleventh = call(&site, &token, "uploadBankingDocument", paper).await;
    assert_error(&eleventh, 409, "document_limit_reached");

    let holder = Agent::new(Network::Solana);
    let token = holder.token(&site).await;
    Owner::of(&site, &holder).await.verify(&site, &token).await;
    approve(&site, &token, "Lovelace").await;
    let silence = json!({"operation": "open", "fault": "stall", "times": 0});
    assert_eq!(site.post("/sandbox/bank", &silence).await.status, 200);
    let made = result(&site, &token, "createBankingAccount", json!({"type": "offramp"})).await;
    let data = json!({"accountId": made["account"]["accountId"], "amount": 1});
    let moved = call(&site, &token, "createBankingTransfer", data).await;
    assert_error(&moved, 409, "bank_account_not_open");
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn unsignable_wallet_payment_reserves_nothing() {
    // Checks: when the chain is unreachable for preparing a transfer, the wallet payment fails and its cap reservation
    // is released.
    let host = Host::new().with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    result(&site, &token, "createAgentWallet", json!({})).await;
    site.chain_fault(json!({"fault": "unreachable", "times": 0})).await;
    let request_body = json!({"toAddress": agent.address(), "amountUsdc": 1});
    let unsigned = call(&site, &token, "agentWalletTransfer", request_body).await;
    assert_error(&unsigned, 409, "wallet_payment_failed");
    none_open(&site, &token).await;
    service.stop();
    host.assert_verified();
}

/// Waits until no cap reservation of an agent wallet is open.
async fn none_open(site: &ServiceClient<'_>, token: &str) {
    until("no open spends", async || {
        let now = result(site, token, "getAgentWallet", json!({})).await;
        (now["pendingPayments"] == json!([])).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_wallet_payments_are_limited() {
    // Checks: while the chain holds transfers, all up to the limit are pending and none is lost. One more is rejected
    // temporarily.
    let host = Host::new()
        .with("PURSER_AGENT_WALLET__MAX_CALLS_PER_MINUTE", "1000")
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "300")
        .with("PURSER_ENGINE__RESPONSE_TIMEOUT_MS", "400")
        .with("PURSER_SERVER__REQUEST_TIMEOUT_MS", "20000");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    result(&site, &token, "createAgentWallet", json!({})).await;
    site.chain_fault(json!({"fault": "hold"})).await;
    let request_body = json!({"toAddress": agent.address(), "amountUsdc": 0.01});
    let calls = (0..256).map(|_| call(&site, &token, "agentWalletTransfer", request_body.clone()));
    for response in futures_util::future::join_all(calls).await {
        assert_eq!(response.body["result"]["status"], "pending", "{}", response.text);
    }
    let beyond = call(&site, &token, "agentWalletTransfer", request_body).await;
    assert_error(&beyond, 503, "wallet_payment_limit_reached");
    site.chain_fault(json!({"fault": "clear"})).await;
    none_open(&site, &token).await;
    let path = format!("/sandbox/balances?wallet={}", agent.address());
    let held = site.get(&path, &[]).await.body;
    assert_eq!(held["atomic"], json!(10_000_000_000_u64 + 2_560_000), "{held}");
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_capacity_follows_its_setting() {
    // Checks: with a total of one stream, a stream of any other account gets a 503 with a retry time.
    let service = Host::new().with("PURSER_STREAM__MAX_CONNECTIONS", "1").start();
    let site = ServiceClient::of(&service);
    let (first, second) = (Agent::new(Network::Base), Agent::new(Network::Base));
    let _open = Stream::open(&site, &first.token(&site).await).await;
    let request = site.request("GET", "/stream").bearer_auth(second.token(&site).await);
    let request = request.header("connection", "upgrade").header("upgrade", "websocket");
    let request = request.header("sec-websocket-version", "13");
    let response = send(request.header("sec-websocket-key", STANDARD.encode([7; 16]))).await;
    let response = response.unwrap();
    assert_error(&response, 503, "stream_capacity_reached");
    assert_eq!(response.header("retry-after"), Some("5"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_chains_answer_their_clients() {
    // Checks: a stock Solana client, a remote bridge with its own encoding, and a seller that submits while the chain
    // is unreachable.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let called = json!({"jsonrpc": "2.0", "id": 7, "method": "getLatestBlockhash", "params": []});
    let rpc = site.post("/sandbox/solana", &called).await;
    assert_eq!((rpc.status, &rpc.body["id"]), (200, &json!(7)), "{}", rpc.text);
    assert!(rpc.body["result"]["value"]["blockhash"].is_string(), "{}", rpc.text);

    let wallet: Wallet = agent.address().parse().unwrap();
    let encoded = bincode::encode_to_vec(ChainRequest::Balance(wallet), bincode::config::standard()).unwrap();
    let question = json!({"request": STANDARD.encode(encoded)});
    let rpc = site.post("/sandbox/chain-rpc", &question).await;
    assert_eq!(rpc.status, 200, "{}", rpc.text);
    let reply: ChainRpcResponse = serde_json::from_value(rpc.body).unwrap();
    let rpc = STANDARD.decode(reply.response).unwrap();
    let (decoded, _): (Result<ChainResponse, (u8, String)>, usize) =
        bincode::decode_from_slice(&rpc, bincode::config::standard()).unwrap();
    assert_eq!(decoded, Ok(ChainResponse::Amount(10_000_000_000)));

    let payment = agent.payment(&site, CARD).await;
    site.chain_fault(json!({"fault": "unreachable", "times": 0})).await;
    let handed = site.post("/sandbox/base", &json!({"payment": payment})).await;
    assert_error(&handed, 503, "chain_unavailable");
    site.chain_fault(json!({"fault": "clear"})).await;
    assert_eq!(site.transfers().await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_service_reports_its_state() {
    // Checks: a sandbox chain whose journal cannot grow is unavailable. A stopping service is not ready, also on open
    // connections.
    let host = Host::new().with("RUST_LOG", "error");
    let service = host.start_with_files_up_to(100_000);
    let site = ServiceClient::of(&service);
    let faucet = async || {
        let wallet = Agent::new(Network::Base).address();
        let body = json!({"wallet": wallet, "amount": "1"});
        site.post("/sandbox/faucet", &body).await
    };
    // Enough to make its journal longer than the log, which has to grow.
    for _ in 0..30 {
        assert_eq!(faucet().await.status, 200);
    }
    let segment = std::fs::read(host.data().join("sandbox/sandbox.store/wal-000000000001.seg")).unwrap();
    let used = segment.iter().rposition(|byte| *byte != 0).unwrap();
    service.limit_files(used as u64);
    assert_error(&faucet().await, 503, "sandbox_unavailable");
    service.kill();

    let service = host.start();
    let mut late = TcpStream::connect(service.authority()).await.unwrap();
    let head = format!("GET /readyz HTTP/1.1\r\nhost: {}\r\n", service.authority());
    late.write_all(head.as_bytes()).await.unwrap();
    // Connections are accepted in order, so the first one was accepted once this responds.
    assert_eq!(ServiceClient::of(&service).get("/readyz", &[]).await.status, 200);
    service.terminate();
    let gone = async || TcpStream::connect(service.authority()).await.err();
    until("new connections to be rejected", gone).await;
    late.write_all(b"\r\n").await.unwrap();
    let mut response = String::new();
    late.read_to_string(&mut response).await.unwrap();
    assert!(
        response.starts_with("HTTP/1.1 503 ") && response.contains("\"not_ready\""),
        "{response}"
    );
    assert!(service.wait());
}
