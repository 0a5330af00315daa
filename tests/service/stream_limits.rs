//! Long-running streams, and rate limits of costly functions, on the running service.

use purser::wallet::TestWallet;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::agent_wallet::keyed;
use super::banking::{call, result};
use super::host::Host;
use super::http::{ServiceClient, send, until};
use super::listener::{Listener, Stream};
use super::owner::Owner;

pub(crate) const CARD: &str = "/get-card?amount=5";

#[tokio::test(flavor = "multi_thread")]
async fn case_64_listen_survives_kills_of_the_service() {
    // Checks: `purser listen --types` continues after kills of the service, once before its first event and once after,
    // with the events from the downtime. It prints every event of its types once and in order, no other event, and logs
    // what it does.
    let host = Host::new();
    let service = host.start();
    let (url, authority) = (service.url.clone(), service.authority().to_owned());
    let file = host.sibling_path("wallet.json");
    let listener = Listener::start(&url, &file, &["--types", "card.*,payment.settled"]);
    until("the listener", async || {
        (listener.stderr_line_count("listening to") == 1).then_some(())
    })
    .await;
    let agent = Agent {
        wallet: TestWallet::load(&file).unwrap(),
        network: Network::Base,
    };
    service.kill();
    until("the loss", async || {
        (listener.stderr_line_count("reconnecting") > 0).then_some(())
    })
    .await;

    let is_printed = |event: &Value| {
        let kind = event["type"].as_str().unwrap();
        kind.starts_with("card.") || kind == "payment.settled"
    };
    for life in 1..=2 {
        let service = host.restart_at(&authority);
        let site = ServiceClient::of(&service);
        agent.buy(&site, CARD).await.card();
        let token = agent.token(&site).await;
        let events = until("the card", async || {
            let events = site.events(&token, 0).await;
            let ready = events.iter().filter(|e| e["type"] == "card.ready").count();
            (ready == life).then_some(events)
        })
        .await;
        let due: Vec<Value> = events.into_iter().filter(is_printed).collect();
        until("the listener to catch up", async || {
            (listener.events().len() >= due.len()).then_some(())
        })
        .await;
        assert_eq!(listener.events(), due);
        assert_eq!(listener.stderr_line_count("listening to"), life + 1);
        service.kill();
    }
    assert!(listener.stderr_line_count("after event") >= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn listen_ends_on_a_permanent_error() {
    // Checks: an invalid filter ends the command with the error of the stream, without retries.
    let host = Host::new();
    let service = host.start();
    let mut listener = Listener::start(&service.url, &host.sibling_path("wallet.json"), &["--types", "Card!"]);
    assert_eq!(until("the end", async || listener.ended()).await, 2);
    until("its words", async || {
        (listener.stderr_line_count("types_invalid") == 1).then_some(())
    })
    .await;
    let mut listener = Listener::start(
        &service.url,
        &host.sibling_path("wallet.json"),
        &["--after", "9007199254740991"],
    );
    assert_eq!(until("the end", async || listener.ended()).await, 2);
    until("its words", async || {
        (listener.stderr_line_count("cursor_ahead") == 1).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_session_closes_only_its_own_stream() {
    // Checks: reuse of an old refresh token ends the session and closes its stream with 4001 at once. A stream of
    // another session of the account continues until the account is frozen.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let auth = agent.sign_in(&site).await.body["auth"].clone();
    let mut stolen = Stream::open(&site, auth["id_token"].as_str().unwrap()).await;
    let mut other = Stream::open(&site, &agent.token(&site).await).await;
    other.send(&json!({"type": "subscribe"})).await;
    assert_eq!(other.frame().await["type"], "ping");
    let renew = async |refresh: &Value| {
        let body = json!({"grant_type": "refresh_token", "refresh_token": refresh});
        send(site.request("POST", "/auth").json(&body)).await.unwrap()
    };
    let second = renew(&auth["refresh_token"]).await.body["refresh_token"].clone();
    assert!(second.is_string());
    assert_eq!(renew(&second).await.status, 200);
    assert_eq!(renew(&auth["refresh_token"]).await.status, 401);
    assert_eq!(stolen.until_closed().await, 4001);
    other.send(&json!({"type": "subscribe"})).await;
    let mut kinds = Vec::new();
    while !kinds.contains(&json!("ping")) {
        kinds.push(other.frame().await["type"].clone());
    }
    site.freeze(&agent.address(), Some("Wait.")).await;
    assert_eq!(other.until_closed().await, 4003);
}

#[tokio::test(flavor = "multi_thread")]
async fn total_streams_are_limited() {
    // Checks: beyond the limit a stream is rejected before its upgrade with an error code. It is accepted when another
    // has closed.
    let service = Host::new().with("PURSER_STREAM__MAX_CONNECTIONS", "1").start();
    let site = ServiceClient::of(&service);
    let bearer = format!("Bearer {}", Agent::new(Network::Base).token(&site).await);
    let first = Stream::open_with_headers(&site, &[("authorization", &bearer)])
        .await
        .unwrap();
    let upgrade = [
        ("authorization", &*bearer),
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let full = site.get("/stream", &upgrade).await;
    assert_eq!(
        (full.status, full.code()),
        (503, "stream_capacity_reached"),
        "{}",
        full.text
    );
    drop(first);
    until("a place", async || {
        Stream::open_with_headers(&site, &[("authorization", &bearer)])
            .await
            .ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_frame_closes_stream_with_1002() {
    // Checks: an invalid RFC 6455 frame closes with 1002: before authentication, while nothing is subscribed, and
    // after.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let mask = [0; 4];
    // Reserved bits; an unassigned opcode; and a fragmented control frame.
    for head in [[0xf1, 0x80], [0x83, 0x80], [0x09, 0x80]] {
        let frame = [&head[..], &mask].concat();
        for way in ["no token", "open", "subscribed"] {
            let mut stream = match way {
                "no token" => Stream::open_with_headers(&site, &[]).await.unwrap(),
                _ => Stream::open(&site, &token).await,
            };
            if way == "subscribed" {
                stream.send(&json!({"type": "subscribe", "after": 0})).await;
                assert_eq!(stream.frame().await["type"], "ping");
            }
            stream.send_bytes(&frame).await;
            assert_eq!(stream.until_closed().await, 1002, "{way}: {head:02x?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cookie_opens_stream_only_for_our_origin() {
    // Checks: the session cookie opens a stream only with our Origin; a token needs none. Without both the stream
    // opens, but sends no events before authentication.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let owner = Owner::of(&site, &Agent::new(Network::Base)).await;
    let (cookie, ours) = (("cookie", owner.cookie()), ("origin", service.url.as_str()));
    let foreign = ("origin", "https://shop.example");
    for refused in [&[cookie][..], &[cookie, foreign], &[cookie, ("origin", "null")]] {
        assert_eq!(
            Stream::open_with_headers(&site, refused).await.err(),
            Some(403),
            "{refused:?}"
        );
    }
    let mut own = Stream::open_with_headers(&site, &[cookie, ours]).await.unwrap();
    own.send(&json!({"type": "subscribe", "after": 0})).await;
    assert_eq!(own.frame().await, json!({"type": "ping", "cursor": 0}));
    assert_eq!(own.frame().await["type"], "event");
    let mut anonymous = Stream::open_with_headers(&site, &[foreign]).await.unwrap();
    anonymous.send(&json!({"type": "subscribe", "after": 0})).await;
    assert_eq!(anonymous.until_closed().await, 4001);
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_wallet_takes_a_limited_number_of_pending_transfers() {
    // Checks: while the chain holds transfers, an agent wallet accepts transfers up to its limit of pending ones. The
    // others get a retry error and reserve nothing.
    let host = Host::new()
        .with("PURSER_AGENT_WALLET__MAX_CALLS_PER_MINUTE", "100000")
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "500")
        .with("PURSER_ENGINE__RESPONSE_TIMEOUT_MS", "1000");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    result(&site, &token, "createAgentWallet", json!({})).await;
    site.chain_fault(json!({"fault": "hold"})).await;
    let transfer = json!({"amountUsdc": 1, "toAddress": Agent::new(Network::Base).address()});
    let calls = (0..270).map(|_| call(&site, &token, "agentWalletTransfer", transfer.clone()));
    let answers = futures_util::future::join_all(calls).await;
    let busy: Vec<_> = answers.iter().filter(|answer| answer.status != 200).collect();
    assert_eq!(busy.len(), 270 - 256);
    for answer in busy {
        assert_eq!(
            (answer.status, answer.code()),
            (503, "wallet_payment_limit_reached"),
            "{}",
            answer.text
        );
    }
    let wallet = result(&site, &token, "getAgentWallet", json!({})).await;
    assert_eq!(wallet["balances"]["base"]["held"], 256);
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_wallet_spending_calls_are_rate_limited() {
    // Checks: beyond `agent_wallet.max_calls_per_minute` both spending functions are 429 with the wait, and nothing is
    // signed. Replays under a key still work, and so do other functions and accounts.
    let host = Host::new().with("PURSER_AGENT_WALLET__MAX_CALLS_PER_MINUTE", "3");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let free = json!({"route": "/healthz"});
    let transfer = json!({"amountUsdc": 1, "toAddress": Agent::new(Network::Base).address()});
    // A call without a wallet spends nothing, but counts.
    for _ in 0..2 {
        let answer = call(&site, &token, "agentWalletTransfer", transfer.clone()).await;
        assert_eq!(
            (answer.status, answer.code()),
            (404, "agent_wallet_not_found"),
            "{}",
            answer.text
        );
    }
    result(&site, &token, "createAgentWallet", json!({})).await;
    let first = keyed(&site, &token, "agentWalletTransfer", "one", &transfer).await;
    assert_eq!(first.status, 200, "{}", first.text);
    // The window may have changed meanwhile; in one of the two the calls run out.
    let over = until("the budget's end", async || {
        let answer = call(&site, &token, "agentX402Pay", free.clone()).await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    assert_eq!((over.status, over.code()), (429, "rate_limited"), "{}", over.text);
    let wait: u64 = over.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(over.body["error"]["retryAfterSeconds"], wait);
    // The headers still show the service-wide limit.
    assert_eq!(over.header("ratelimit-limit"), Some("1000000"));
    let over = until("the budget's end for transfers", async || {
        let answer = call(&site, &token, "agentWalletTransfer", transfer.clone()).await;
        (answer.status == 429).then_some(answer)
    })
    .await;
    assert_eq!(over.code(), "rate_limited");
    let again = keyed(&site, &token, "agentWalletTransfer", "one", &transfer).await;
    assert_eq!(
        (again.status, again.header("idempotency-replayed")),
        (200, Some("true"))
    );
    result(&site, &token, "getAgentWallet", json!({})).await;
    let other = Agent::new(Network::Base).token(&site).await;
    let answer = call(&site, &other, "agentWalletTransfer", transfer).await;
    assert_eq!(answer.status, 404, "{}", answer.text);
}
