//! The Machine Payments Protocol: the same products, prices and guarantees, and no response that makes a client pay
//! twice.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use purser::identity::key_file;
use purser::payment::mpp::params::challenges;
use purser::system::{SystemClock, SystemEntropy};
use purser_actors::id::Network;
use purser_actors::port::Clock as _;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, send};
use super::mpp::{altered, decoded, pay, read, resigned};
use super::payment::assert_nothing_moved;

const CARD: &str = "/get-card?amount=5";

/// Asserts a 402 with this problem and fresh challenges of both kinds.
fn assert_problem(answer: &Response, slug: &str, what: &str) {
    let uri = format!("https://paymentauth.org/problems/{slug}");
    assert_eq!(
        (answer.status, answer.code()),
        (402, "payment_invalid"),
        "{what}: {}",
        answer.text
    );
    assert_eq!(answer.str("type"), Some(uri.as_str()), "{what}: {}", answer.text);
    assert_eq!(
        answer.header("content-type"),
        Some("application/problem+json"),
        "{what}"
    );
    assert_eq!(
        (&answer.body["status"], answer.header("cache-control")),
        (&json!(402), Some("no-store"))
    );
    let fresh = challenges(answer.header("www-authenticate").unwrap()).unwrap();
    assert_eq!(
        answer.str("challengeId"),
        Some(fresh[0].params["id"].as_str()),
        "{what}"
    );
    assert!(answer.header("payment-required").is_some());
}

fn assert_no_challenge(answer: &Response, what: &str) {
    for name in ["www-authenticate", "payment-required"] {
        assert_eq!(answer.header(name), None, "{what}: {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mpp_client_buys_what_an_x402_client_buys() {
    // Checks: The price and response are the same, with the receipts of both protocols. The credential is sent again at
    // once, later, and after a restart with other keys. It returns the same card and receipt without credentials, with
    // one transfer.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Base));
    let by_x402 = other.buy(&site, CARD).await;
    assert_eq!(by_x402.header("payment-receipt"), None);
    let challenge = site.get(CARD, &[]).await;
    assert_eq!(challenge.header("content-type"), Some("application/json"));
    let credential = agent.credential(&challenge);
    let at_once = (0..20).map(|_| pay(&site, CARD, &credential));
    let answers: Vec<Response> = futures_util::future::join_all(at_once).await;
    let (winners, joined): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.body.get("auth").is_some());
    assert_eq!((winners.len(), joined.len()), (1, 19));

    let bought = winners[0];
    let members = |answer: &Response| answer.body.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(members(bought), members(&by_x402));
    assert_eq!(bought.str("user_id"), Some(agent.address().to_lowercase().as_str()));
    assert_eq!(bought.header("cache-control"), Some("private, no-store"));
    let receipt = decoded(bought.header("payment-receipt").unwrap());
    assert_eq!(receipt["reference"], bought.receipt()["transaction"]);
    let members = ["method", "status", "chainId"].map(|name| receipt[name].clone());
    assert_eq!(members, [json!("evm"), json!("success"), json!(8453)]);
    assert_eq!(receipt["challengeId"], read(&credential)["challenge"]["id"]);
    for again in joined {
        assert_eq!(again.card(), bought.card());
        assert_eq!(again.header("payment-receipt"), bought.header("payment-receipt"));
    }
    let token = bought.body["auth"]["id_token"].as_str().unwrap();
    assert_eq!(site.get_as(token, "/get-account-balance").await.status, 200);

    // A challenge from before a rotation can be paid after it. A second rotation invalidates it.
    let challenges = [site.get(CARD, &[]).await, site.get(CARD, &[]).await];
    let waiting = challenges.each_ref().map(|challenge| agent.credential(challenge));
    service.stop();
    let file = host.data().join("identity.keys");
    for (late, status) in waiting.iter().zip([200, 402]) {
        let keys = key_file::load(&file).unwrap();
        let keys = keys.rotated(SystemClock.now(), &SystemEntropy);
        key_file::replace(&file, &keys).unwrap();
        let service = host.start();
        let site = ServiceClient::of(&service);
        let again = pay(&site, CARD, &credential).await;
        assert_eq!((again.card(), again.body.get("auth")), (bought.card(), None));
        assert_eq!(again.header("payment-receipt"), bought.header("payment-receipt"));
        let answer = pay(&site, CARD, late).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        service.stop();
    }
    let report = host.assert_verified();
    assert_eq!(report["entities"]["cards"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_03_mpp_credential_is_valid_for_its_own_request_only() {
    // Checks: A credential for one amount is rejected for another before anything settles. The spelling of the request
    // does not matter.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let credential = agent.credential(&site.get(CARD, &[]).await);
    for path in ["/get-card?amount=500", "/get-card?amount=5.01"] {
        assert_problem(&pay(&site, path, &credential).await, "invalid-challenge", path);
    }
    // A challenge with another one's `opaque` is rejected even on the route of that `opaque`.
    let dearer = agent.credential(&site.get("/get-card?amount=6", &[]).await);
    let opaque = read(&credential)["challenge"]["opaque"].clone();
    let mixed = altered(&dearer, "/challenge/opaque", opaque);
    assert_problem(&pay(&site, CARD, &mixed).await, "invalid-challenge", "another's opaque");
    assert_nothing_moved(&site).await;
    let bought = pay(&site, "/get-card?format=json&amount=5.00", &credential).await;
    assert_eq!(
        pay(&site, "/get-card?amount=5.0", &credential).await.card(),
        bought.card()
    );
    assert_eq!(site.transfers().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_15_x402_and_mpp_in_one_request_are_rejected() {
    // Checks: Both protocols at once, or two different credentials, give a 400 without a challenge. A malformed one
    // gives a 402 with a fresh challenge. Nothing settles, and each payment alone is valid.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let challenge = site.get(CARD, &[]).await;
    let (credential, second) = (
        agent.credential(&challenge),
        agent.credential(&site.get(CARD, &[]).await),
    );
    let payment = agent.payment(&site, CARD).await;
    for headers in [
        [("authorization", &credential), ("payment-signature", &payment)],
        [("x-payment", &payment), ("authorization", &credential)],
        [("authorization", &credential), ("authorization", &second)],
    ] {
        let request = headers
            .iter()
            .fold(site.request("GET", CARD), |request, (name, value)| {
                request.header(*name, *value)
            });
        let answer = send(request).await.unwrap();
        assert_eq!((answer.status, answer.code()), (400, "multiple_payments"));
        assert_no_challenge(&answer, "ambiguous");
    }
    let half = &credential[..credential.len() / 2];
    let padded = format!("{credential}==");
    let long = format!("Payment {}", "A".repeat(9_000));
    for nonsense in [
        "Payment dGhpcyBpcyBnYXJiYWdl",
        "Payment !!!",
        "payment  e30",
        half,
        &padded,
        &long,
    ] {
        assert_problem(&pay(&site, CARD, nonsense).await, "malformed-credential", nonsense);
    }
    assert_nothing_moved(&site).await;
    assert_eq!(pay(&site, CARD, &credential).await.status, 200);
    assert_eq!(Agent::pay(&site, CARD, &payment).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_16_credential_for_another_challenge_is_rejected() {
    // Checks: Another realm, method, request, expiry or body digest, or a payment that doesn't match the challenge: 402
    // with its problem and fresh challenges. Nothing settles. An expired challenge has its own problem.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let credential = agent.credential(&site.get(CARD, &[]).await);
    let request = URL_SAFE_NO_PAD.encode(json!({"amount": "1"}).to_string());
    for (pointer, value, slug) in [
        ("/challenge/realm", json!("example.com"), "invalid-challenge"),
        ("/challenge/method", json!("tempo"), "invalid-challenge"),
        ("/challenge/intent", json!("session"), "invalid-challenge"),
        ("/challenge/request", json!(request), "invalid-challenge"),
        (
            "/challenge/expires",
            json!("2099-01-01T00:00:00.000Z"),
            "invalid-challenge",
        ),
        (
            "/challenge/digest",
            json!("sha-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),
            "invalid-challenge",
        ),
        (
            "/challenge/id",
            json!("iuR7vB0_YfsHu0WMAsEqNjjvV765hX5oV64X0BnJgGo"),
            "invalid-challenge",
        ),
        ("/payload/value", json!("5000001"), "verification-failed"),
        (
            "/payload/nonce",
            json!(format!("0x{}", "11".repeat(32))),
            "verification-failed",
        ),
        ("/payload/type", json!("permit2"), "malformed-credential"),
        (
            "/source",
            json!("did:pkh:eip155:1:0x00000000000000000000000000000000000000aa"),
            "verification-failed",
        ),
    ] {
        let answer = pay(&site, CARD, &altered(&credential, pointer, value)).await;
        assert_problem(&answer, slug, pointer);
    }
    assert_nothing_moved(&site).await;
    assert_eq!(
        pay(&site, CARD, &credential).await.status,
        200,
        "it was good as it stood"
    );

    let brief = Host::new().with("PURSER_PAYMENT__QUOTE_TTL_SECONDS", "5");
    let service = brief.start();
    let site = ServiceClient::of(&service);
    let late = agent.credential(&site.get(CARD, &[]).await);
    assert_problem(
        &pay(&site, CARD, &late).await,
        "payment-expired",
        "five seconds are less than six",
    );
    assert_nothing_moved(&site).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_17_challenge_is_answered_once() {
    // Checks: Once a challenge is answered, another wallet's answer or another signature is a 409 without a challenge,
    // before and after a restart. The credential that bought still gets its card, also by x402, because it is one
    // payment.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Base));
    let challenge = site.get(CARD, &[]).await;
    let credential = agent.credential(&challenge);
    let others = [other.credential(&challenge), resigned(&agent, &credential)];
    let bought = pay(&site, CARD, &credential).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let check = async |site: &ServiceClient<'_>| {
        for different in &others {
            let answer = pay(site, CARD, different).await;
            assert_eq!(
                (answer.status, answer.code()),
                (409, "challenge_already_used"),
                "{}",
                answer.text
            );
            assert!(!answer.text.contains(bought.card()));
            assert_no_challenge(&answer, "conflict");
        }
        assert_eq!(pay(site, CARD, &credential).await.card(), bought.card());
        let content = read(&credential);
        let mut authorization = content["payload"].clone();
        let signature = authorization.as_object_mut().unwrap().remove("signature");
        let payload = json!({"authorization": authorization, "signature": signature});
        let v1 = json!({"x402Version": 1, "scheme": "exact", "network": "base", "payload": payload});
        let same = Agent::pay(site, CARD, &STANDARD.encode(v1.to_string())).await;
        assert_eq!((same.card(), same.body.get("auth")), (bought.card(), None));
        // For another request the payment is already used.
        let other = pay(site, "/get-card?amount=6", &credential).await;
        assert_eq!((other.status, other.code()), (409, "payment_already_used"));
        assert_no_challenge(&other, "other");
        assert_eq!(site.transfers().await.len(), 1);
    };
    check(&site).await;
    service.kill();
    let service = host.start();
    check(&ServiceClient::of(&service)).await;

    // Two wallets answer at once. One of them gets a conflict.
    let site = ServiceClient::of(&service);
    let challenge = site.get("/get-card?amount=6", &[]).await;
    let both = [agent.credential(&challenge), other.credential(&challenge)];
    let answers = futures_util::future::join_all(both.iter().map(|c| pay(&site, "/get-card?amount=6", c))).await;
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    assert_eq!(site.transfers().await.len(), 2);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn mpp_client_never_pays_twice() {
    // Checks: Stock clients sign again for every 402 with a challenge. Responses that may still cost money, or that
    // payment cannot fix, have none. These are a failed or unknown settlement, a credit, a freeze, a cap and an
    // unreachable chain.
    let host = Host::new().with("PURSER_CAPS__CARD_USD_PER_DAY", "100");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let buy = async |agent: &Agent, amount: &str| {
        let path = format!("/get-card?amount={amount}");
        let credential = agent.credential(&site.get(&path, &[]).await);
        pay(&site, &path, &credential).await
    };
    let agent = Agent::new(Network::Base);
    for (amount, status) in [
        ("13.01", 402),
        ("13.02", 402),
        ("13.04", 202),
        ("6.66", 200),
        ("90", 403),
    ] {
        let answer = buy(&agent, amount).await;
        assert_eq!(answer.status, status, "{amount}: {}", answer.text);
        assert_no_challenge(&answer, amount);
        let receipt = answer.header("payment-receipt").is_some();
        assert_eq!(receipt, status == 200, "{amount}: a receipt is for what was paid");
        assert!(status != 402 || answer.body["success"] == false);
    }
    site.freeze(&agent.address(), Some("Please write to us.")).await;
    let frozen = buy(&agent, "5").await;
    assert_eq!((frozen.status, frozen.code()), (403, "account_frozen"));
    assert_no_challenge(&frozen, "frozen");
    site.chain_fault(json!({"fault": "unreachable", "times": 0})).await;
    let unreachable = buy(&Agent::new(Network::Base), "5").await;
    assert_eq!(
        (unreachable.status, unreachable.code()),
        (503, "settlement_unavailable")
    );
    assert_no_challenge(&unreachable, "unreachable");
    // Sign-in is free. A challenge there would make such clients pay for it.
    let credential = agent.credential(&site.get(CARD, &[]).await);
    for headers in [vec![], vec![("authorization", credential.as_str())]] {
        let sign_in = site.get("/auth", &headers).await;
        assert_eq!((sign_in.status, sign_in.code()), (402, "sign_in_required"));
        assert_eq!(sign_in.header("www-authenticate"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bearer_token_with_an_mpp_credential_must_be_the_payers() {
    // Checks: A credential and a bearer token have separate fields, in either order. Another wallet's token is rejected
    // and nothing settles. The payer's own token is accepted.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (payer, other) = (Agent::new(Network::Base), Agent::new(Network::Base));
    let (own, others) = (payer.token(&site).await, other.token(&site).await);
    let credential = payer.credential(&site.get(CARD, &[]).await);
    let call = async |token: &str, token_first: bool| {
        let bearer = format!("Bearer {token}");
        let mut fields = [
            ("authorization", bearer.as_str()),
            ("authorization", credential.as_str()),
        ];
        if !token_first {
            fields.reverse();
        }
        site.get(CARD, &fields).await
    };
    for token_first in [true, false] {
        let refused = call(&others, token_first).await;
        assert_eq!(
            (refused.status, refused.code()),
            (403, "wrong_wallet"),
            "{}",
            refused.text
        );
    }
    assert_nothing_moved(&site).await;
    assert_eq!(call(&own, true).await.status, 200);
}
