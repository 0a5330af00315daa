//! Payments that must be rejected before a claim, requests that must not become payments, and headers that every
//! response carries.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::system::SystemClock;
use purser_actors::id::Network;
use purser_actors::port::{Clock as _, Timestamp};
use serde_json::{Value, json};

use super::agent::{Agent, required};
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::replay::transfer_count;

const CARD: &str = "/get-card?amount=5";
const PUBLIC: &str = "http://localhost:9999";

pub(crate) fn decoded(header: &str) -> Value {
    serde_json::from_slice(&STANDARD.decode(header).unwrap()).unwrap()
}

/// 402 with this reason, and a fresh challenge.
pub(crate) fn assert_payment_invalid(answer: &Response, reason: &str, what: &str) {
    assert_eq!(
        (answer.status, answer.code()),
        (402, "payment_invalid"),
        "{what}: {}",
        answer.text
    );
    assert_eq!(answer.str("error"), Some(reason), "{what}");
    assert!(required(answer).choose(None).is_ok());
}

pub(crate) async fn assert_nothing_moved(site: &ServiceClient<'_>) {
    assert_eq!(site.transfers().await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn case_06_payment_outside_its_validity_is_rejected() {
    // Checks: a payment is rejected before settlement when it is not yet valid, expired, about to expire or valid for
    // longer than the chain is followed.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let challenge = Agent::challenge(&site, CARD).await;
    let in_seconds = |s: i64| Timestamp(SystemClock.now().0.saturating_add_signed(s * 1000));
    let before = "invalid_exact_evm_payload_authorization_valid_before";
    // The clock of the wallet is off by this much; its payments are valid for 300 s.
    for (off, what) in [(-300, "expired"), (-298, "two seconds left"), (700, "too long")] {
        let payment = agent.sign_at(&challenge, in_seconds(off));
        assert_payment_invalid(&Agent::pay(&site, CARD, &payment).await, before, what);
    }
    // A v1 wallet back-dates by 600 s, so this payment becomes valid 300 s from now.
    let offer = challenge.choose(Some(Network::Base)).unwrap();
    let circumstances = purser::wallet::payment::SigningContext {
        now: in_seconds(900),
        entropy: &purser::system::SystemEntropy,
        blockhash: None,
    };
    let early = agent.wallet.pay_v1(&offer, &circumstances).unwrap();
    let answer = site.get(CARD, &[("x-payment", &early)]).await;
    assert_payment_invalid(
        &answer,
        "invalid_exact_evm_payload_authorization_valid_after",
        "not yet",
    );
    assert_nothing_moved(&site).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_15_malformed_payments_are_rejected_in_constant_memory() {
    // Checks: invalid encodings, two different payments and a megabyte of header are rejected repeatedly, without
    // growth of memory.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let (one, two) = (agent.payment(&site, CARD).await, agent.payment(&site, CARD).await);
    for nonsense in ["!!!", "e30", "bnVsbA==", &one[..one.len() / 2], &"A".repeat(9_000)] {
        let answer = Agent::pay(&site, CARD, nonsense).await;
        assert_eq!((answer.status, answer.code()), (402, "payment_invalid"), "{nonsense}");
    }
    let differing = [
        [("x-payment", &one), ("x-payment", &two)],
        [("payment-signature", &one), ("x-payment", &two)],
        [
            ("payment-signature", &one),
            ("authorization", &"Payment abc".to_owned()),
        ],
    ];
    for headers in differing {
        let mut request = site.request("GET", CARD);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        assert_eq!(send(request).await.unwrap().status, 400);
    }
    let huge = "A".repeat(1 << 20);
    let flood = async |times: usize| {
        for _ in 0..times {
            // The response may be cut off by the reset that follows it.
            if let Ok(answer) = send(site.request("GET", CARD).header("x-payment", &huge)).await {
                assert_eq!(answer.status, 431);
            }
        }
    };
    flood(20).await;
    let before = service.resident();
    flood(100).await;
    assert!(
        service.resident() < before + (32 << 20),
        "{before} grew to {}",
        service.resident()
    );
    assert_nothing_moved(&site).await;
    let same_twice = send(
        site.request("GET", CARD)
            .header("x-payment", &one)
            .header("payment-signature", &one),
    )
    .await;
    assert_eq!(
        same_twice.unwrap().status,
        200,
        "the same payment in both headers is one payment"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_18_paid_responses_are_never_cached() {
    // Checks: a challenge is `no-store`. Every paid response is `private, no-store`, including replays and pages.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    assert_eq!(site.get(CARD, &[]).await.header("cache-control"), Some("no-store"));
    let payment = agent.payment(&site, CARD).await;
    for path in [CARD, CARD, "/get-card?amount=5&format=html"] {
        let answer = Agent::pay(&site, path, &payment).await;
        assert_eq!(
            (answer.status, answer.header("cache-control")),
            (200, Some("private, no-store"))
        );
    }
    let declined = agent.buy(&site, "/get-card?amount=13.02").await;
    assert_eq!(
        (declined.status, declined.header("cache-control")),
        (402, Some("no-store"))
    );
    assert_eq!(declined.body["success"], false);
    // The chain may still settle it, so the response makes no promise.
    let guidance = declined.str("x_service_guidance").unwrap();
    assert!(
        guidance.starts_with("Nothing was charged so far. Until 20") && guidance.contains("credited"),
        "{guidance}"
    );
    let unknown = agent.buy(&site, "/get-card?amount=13.04").await;
    assert_eq!(
        (unknown.status, unknown.header("cache-control")),
        (202, Some("private, no-store"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_19_only_get_buys() {
    // Checks: HEAD, OPTIONS and all other methods with a valid payment claim nothing. GET with the same payment buys.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let payment = Agent::new(Network::Base).payment(&site, CARD).await;
    for (method, status) in [
        ("HEAD", 405),
        ("OPTIONS", 204),
        ("POST", 405),
        ("PUT", 405),
        ("DELETE", 405),
        ("TRACE", 405),
    ] {
        let request = site.request(method, CARD).header("payment-signature", &payment);
        assert_eq!(send(request).await.unwrap().status, status, "{method}");
    }
    assert_nothing_moved(&site).await;
    let bought = Agent::pay(&site, CARD, &payment).await;
    assert!(bought.body.get("auth").is_some(), "an earlier method had claimed it");
    assert_eq!(transfer_count(&site, &payment).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_24_26_amounts_and_numbers_are_exact() {
    // Checks: a value that is not a plain decimal in range is 400 first. Equal amounts cost the same. Numbers at and
    // beyond the limit of their type are rejected and change nothing.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let payment = agent.payment(&site, CARD).await;
    let forty = "9".repeat(40);
    let bad = [
        "5.001", "1e3", "-5", "%2B5", "NaN", "inf", "%D9%A5", "5,00", "0x5", "", "%205", "5%20", ".5", "5.", &forty,
    ];
    for amount in bad {
        let answer = Agent::pay(&site, &format!("/get-card?amount={amount}"), &payment).await;
        assert_eq!(answer.status, 400, "{amount}: {}", answer.text);
    }
    for amount in ["0", "4.99", "1000.01", "18446744073709551615", "184467440737095516.16"] {
        let answer = site.get(&format!("/get-card?amount={amount}"), &[]).await;
        assert_eq!((answer.status, answer.code()), (400, "amount_out_of_range"), "{amount}");
    }
    for amount in ["5", "5.0", "5.00", "05"] {
        let answer = site.get(&format!("/get-card?amount={amount}"), &[]).await;
        if amount == "05" && answer.status == 400 {
            continue;
        }
        let offer = required(&answer).choose(None).unwrap().amount.atomic();
        assert_eq!(offer, 5_000_000, "{amount}");
    }
    let token = agent.token(&site).await;
    for path in [
        "/events?limit=0",
        "/events?limit=101",
        "/events?limit=99999999999999999999",
        "/events?after=-1",
    ] {
        assert_eq!(site.get_as(&token, path).await.code(), "parameter_invalid", "{path}");
    }
    let ahead = site.get_as(&token, "/events?after=18446744073709551615").await;
    assert_eq!((ahead.status, ahead.code()), (400, "cursor_ahead"));
    let cards = site.get_as(&token, "/get-card-data?limit=100").await;
    assert_eq!(
        (cards.status, &cards.body["cards"]),
        (200, &json!([])),
        "{}",
        cards.text
    );
    let huge = json!({"wallet": agent.address(), "amount": "1000000000"});
    let balance = async || {
        site.get(&format!("/sandbox/balances?wallet={}", agent.address()), &[])
            .await
            .body
    };
    let rich = site.post("/sandbox/faucet", &huge).await.status;
    assert_eq!(rich, 200);
    let before = balance().await;
    for amount in ["1000000000.01", "18446744073709.56", &forty] {
        let answer = site
            .post("/sandbox/faucet", &json!({"wallet": agent.address(), "amount": amount}))
            .await;
        assert_eq!(answer.status, 400, "{amount}");
    }
    assert_eq!(balance().await, before);
    assert_nothing_moved(&site).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_25_the_fee_is_in_the_challenge() {
    // Checks: the challenge contains amount plus fee, rounded up to the cent, at both limits of the range.
    let host = Host::new()
        .with("PURSER_PRODUCTS__USA_PREPAID_CARD__FEE_RATE", "0.038")
        .with("PURSER_PRODUCTS__USA_PREPAID_CARD__MIN_FEE", "0.5");
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (amount, atomic) in [
        ("5", 5_500_000),
        ("13.15", 13_650_000),
        ("13.16", 13_670_000),
        ("100", 103_800_000),
        ("1000", 1_038_000_000),
    ] {
        let challenge = Agent::challenge(&site, &format!("/get-card?amount={amount}")).await;
        for network in Network::ALL {
            assert_eq!(
                challenge.choose(Some(network)).unwrap().amount.atomic(),
                atomic,
                "{amount}"
            );
        }
    }
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=100").await;
    assert_eq!(bought.receipt()["amount"], "103800000");
    let token = bought.body["auth"]["id_token"].as_str().unwrap();
    let card = site
        .get_as(token, &format!("/get-card-data?card_id={}", bought.card()))
        .await;
    assert!(
        card.text.contains("\"usd_amount\":100") && card.text.contains("\"charged_usd_amount\":103.8"),
        "{}",
        card.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_21_forged_host_does_not_change_the_challenge() {
    // Checks: the challenge names the configured resource under any Host and forwarding headers.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    for (name, value) in [
        ("host", "evil.example"),
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-for", "evil.example"),
        ("forwarded", "host=evil.example;proto=https"),
        ("x-original-url", "http://evil.example/"),
    ] {
        for path in [CARD, "/auth"] {
            let answer = site.get(path, &[(name, value)]).await;
            assert_eq!(answer.status, 402, "{name}: {}", answer.text);
            let challenge = decoded(answer.header("payment-required").unwrap());
            let url = challenge["resource"]["url"].as_str().unwrap();
            assert_eq!(url, format!("{PUBLIC}{path}"), "{name}");
            assert!(!answer.text.contains("evil") && !challenge.to_string().contains("evil"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_58_every_response_of_the_service_carries_rate_limit_headers() {
    // Checks: rate-limit, version and request-id headers are on 200, 400, 401, 402, 403, 404, 405, 409, 429, 503 and a
    // rejected upgrade.
    let host = Host::new()
        .with("PURSER_LIMITS__REQUESTS_PER_WINDOW", "60")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "10");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, CARD).await;
    let payment = agent.payment(&site, CARD).await;
    Agent::pay(&site, CARD, &payment).await;
    let conflict = Agent::pay(&site, "/get-card?amount=6", &payment).await;
    site.chain_fault(json!({"fault": "unreachable", "times": 0})).await;
    let away = agent.buy(&site, CARD).await;
    site.freeze(&agent.address(), Some("Wait.")).await;
    let token = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let frozen = site.get_as(&token, "/events").await;
    let mut answers = vec![bought, conflict, away, frozen];
    for path in ["/get-card?amount=x", "/events", CARD, "/nowhere", "/healthz", "/stream"] {
        answers.push(site.get(path, &[]).await);
    }
    answers.push(send(site.request("POST", CARD)).await.unwrap());
    let over = until("the ceiling", async || {
        let answer = site.get("/version", &[]).await;
        (answer.status == 429).then_some(answer)
    })
    .await;
    answers.push(over);
    let statuses: std::collections::BTreeSet<u16> = answers.iter().map(|a| a.status).collect();
    for status in [200, 400, 401, 402, 403, 404, 405, 409, 429, 503] {
        assert!(statuses.contains(&status), "{status} was not among {statuses:?}");
    }
    for answer in answers {
        for name in [
            "ratelimit-limit",
            "ratelimit-remaining",
            "ratelimit-reset",
            "x-ratelimit-limit",
            "request-id",
        ] {
            assert!(answer.header(name).is_some(), "{} has no {name}", answer.status);
        }
        assert_eq!(answer.header("x-service-api-version"), Some("2026-11-20"));
        if answer.status >= 400 && answer.status != 402 {
            assert_eq!(answer.str("request_id"), answer.header("request-id"));
        }
    }
}
