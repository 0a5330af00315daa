//! Authentication and authorization: proofs, tokens, login links, other accounts' ids, frozen accounts, headers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::id::Network;
use purser_actors::kernel::event_record::rfc3339;
use purser_actors::port::Timestamp;
use serde_json::{Value, json};

use super::agent::{Agent, required};
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::listener::Stream;
use super::owner::Owner;

const CARD: &str = "/get-card?amount=5";
const PUBLIC: &str = "http://localhost:9999";

/// Every route that needs a token.
const PROTECTED: [&str; 8] = [
    "/get-account-balance",
    "/get-card-data",
    "/get-auth-link",
    "/get-kyc-status",
    "/get-kyc-link",
    "/get-account-statement",
    "/get-withdrawal-status",
    "/events",
];

#[tokio::test(flavor = "multi_thread")]
async fn case_42_sign_in_proof_works_once() {
    // Checks: A signed message signs in once: not again, not a hundred times at once, not after a restart. Every other
    // client gets a fresh challenge.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let proof = Agent::new(network).proof(&site).await;
        let header = [("sign-in-with-x", proof.as_str())];
        let answers = futures_util::future::join_all((0..100).map(|_| site.get("/auth", &header))).await;
        let signed_in = answers.iter().filter(|a| a.status == 200).count();
        assert_eq!(signed_in, 1, "{network:?}");
        let refused = answers
            .iter()
            .filter(|a| a.status == 402 && a.header("payment-required").is_some());
        assert_eq!(refused.count(), 99);
    }
    let agent = Agent::new(Network::Base);
    let proof = agent.proof(&site).await;
    assert_eq!(site.get("/auth", &[("sign-in-with-x", &proof)]).await.status, 200);
    service.kill();
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let again = site.get("/auth", &[("sign-in-with-x", &proof)]).await;
    assert_eq!(again.status, 402, "{}", again.text);
    agent.sign_in(&site).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_43_client_issued_at_signs_in_within_five_minutes() {
    // Checks: With our nonce, the client's own `issuedAt` within five minutes signs in on both networks. Ten minutes
    // early or late does not. Our nonce works once, whatever time the client states.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let now = || {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        Timestamp(u64::try_from(since.as_millis()).unwrap())
    };
    for network in Network::ALL {
        let agent = Agent::new(network);
        let signed = async |offset_ms: i64| {
            let path = format!("/auth?network={}", network.name());
            let mut info = required(&site.get(&path, &[]).await).sign_in().unwrap();
            info.issued_at = rfc3339(Timestamp(now().0.saturating_add_signed(offset_ms)));
            agent.wallet.sign_in(&info, network).unwrap()
        };
        for accepted in [-240_000, -1_000, 3_000] {
            let proof = signed(accepted).await;
            let answer = site.get("/auth", &[("sign-in-with-x", &proof)]).await;
            assert_eq!(answer.status, 200, "{network:?} {accepted}: {}", answer.text);
            let again = site.get("/auth", &[("sign-in-with-x", &proof)]).await;
            assert_eq!((again.status, again.str("reason")), (402, Some("invalid_siwx_nonce")));
        }
        for bad in [-600_000, 600_000] {
            let answer = site.get("/auth", &[("sign-in-with-x", &signed(bad).await)]).await;
            assert_eq!(answer.status, 402, "{network:?} {bad}: {}", answer.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_44_forged_tokens_are_rejected() {
    // Checks: A token with alg none, no signature, another key id, another algorithm or changed claims gets 401 on
    // every route. So does a huge token.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let parts: Vec<&str> = token.split('.').collect();
    let part = |n: usize| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[n]).unwrap()).unwrap() };
    let written = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = |name: &str, value: &str| {
        let mut header = part(0);
        header[name] = json!(value);
        format!("{}.{}.{}", written(&header), parts[1], parts[2])
    };
    let claim = |name: &str, value: Value| {
        let mut claims = part(1);
        assert!(claims.get(name).is_some(), "there is no claim {name}");
        claims[name] = value;
        format!("{}.{}.{}", parts[0], written(&claims), parts[2])
    };
    let none = format!("{}.{}.", written(&json!({"alg": "none", "typ": "JWT"})), parts[1]);
    let forged = [
        none,
        format!("{}.{}.", parts[0], parts[1]),
        header("alg", "HS256"),
        header("alg", "none"),
        header("kid", "another"),
        claim("exp", json!(u32::MAX)),
        claim("iss", json!("someone")),
        claim("aud", json!("someone")),
        format!("{token}{}", "A".repeat(5_000)),
        "a.b.c".to_owned(),
    ];
    for path in PROTECTED {
        assert_ne!(site.get_as(&token, path).await.status, 401, "{path}");
        for bad in &forged {
            let answer = site.get_as(bad, path).await;
            assert_eq!(answer.status, 401, "{path} {bad}: {}", answer.text);
        }
        assert_eq!(site.get(path, &[]).await.status, 401);
    }
}

pub(crate) async fn refresh(site: &ServiceClient<'_>, token: &str) -> Response {
    site.post("/auth", &json!({"grant_type": "refresh_token", "refresh_token": token}))
        .await
}

/// Asserts that a payment token cannot see what was bought with other payments.
pub(crate) fn assert_not_visible(answer: &Response, what: &str) {
    assert_eq!(
        (answer.status, answer.code()),
        (403, "sign_in_required"),
        "{what}: {}",
        answer.text
    );
}

pub(crate) fn field(answer: &Response, name: &str) -> String {
    answer
        .body
        .pointer(name)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no {name} in {}", answer.text))
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_45_reused_refresh_token_revokes_its_family() {
    // Checks: Reusing an old refresh token revokes its whole family, including tokens issued by a payment, and the
    // browser session that its login link opened, with the stream of that. The owner sees an event. Another session of
    // the wallet stays valid. A kill changes nothing.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let first = agent.sign_in(&site).await;
    let other = agent.token(&site).await;
    let mut tokens = vec![field(&first, "/auth/refresh_token")];
    let mut newest = field(&first, "/auth/id_token");
    for _ in 0..3 {
        let next = refresh(&site, tokens.last().unwrap()).await;
        assert_eq!(next.status, 200, "{}", next.text);
        newest = field(&next, "/id_token");
        tokens.push(field(&next, "/refresh_token"));
    }
    assert_eq!(site.get_as(&newest, "/get-account-balance").await.status, 200);
    let (browser, kept) = (
        Owner::by_token(&site, &newest).await,
        Owner::by_token(&site, &other).await,
    );
    let overview = async |site: &ServiceClient<'_>, owner: &Owner| {
        site.get("/account", &[("cookie", owner.cookie())]).await.status
    };
    assert_eq!(overview(&site, &browser).await, 200);
    let of_page = [("cookie", browser.cookie()), ("origin", service.url.as_str())];
    let mut stream = Stream::open_with_headers(&site, &of_page).await.unwrap();
    stream.send(&json!({"type": "subscribe", "after": 0})).await;
    let reused = refresh(&site, &tokens[0]).await;
    assert_eq!(
        (reused.status, reused.code()),
        (401, "refresh_token_revoked"),
        "{}",
        reused.text
    );
    until("the family's tokens to end", async || {
        (site.get_as(&newest, "/get-account-balance").await.status == 401).then_some(())
    })
    .await;
    for token in &tokens {
        assert_eq!(refresh(&site, token).await.status, 401);
    }
    assert_eq!(stream.until_closed().await, 4001);
    assert_eq!(overview(&site, &browser).await, 401);
    let caps = browser
        .act(&site, "/account/spending", &json!({"per_call_usd": 50000}))
        .await;
    assert_eq!(caps.status, 401, "{}", caps.text);
    assert_eq!(overview(&site, &kept).await, 200);
    let events = site.events(&other, 0).await;
    assert!(
        events.iter().any(|e| e["type"] == "session.revoked"),
        "the owner was not notified: {events:?}"
    );
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_eq!(site.get_as(&newest, "/get-account-balance").await.status, 401);
    assert_eq!(site.get_as(&other, "/get-account-balance").await.status, 200);
    assert_eq!(
        (overview(&site, &browser).await, overview(&site, &kept).await),
        (401, 200)
    );
    assert_eq!(refresh(&site, tokens.last().unwrap()).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_47_login_link_opens_one_session() {
    // Checks: Link previews may read the page any number of times. The first POST opens a session; the second does not.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let link = site.get_as(&token, "/get-auth-link").await;
    let url = field(&link, "/auth_url");
    let pages = service.url.replace("127.0.0.1", "localhost");
    let path = url.strip_prefix(&pages).unwrap();
    for _ in 0..3 {
        let page = site.get(path, &[]).await;
        assert_eq!(
            (page.status, page.header("referrer-policy")),
            (200, Some("no-referrer"))
        );
        assert!(page.header("set-cookie").is_none());
    }
    assert!(matches!(
        send(site.request("HEAD", path)).await.unwrap().status,
        200 | 405
    ));
    let code = url.split_once("code=").unwrap().1;
    let open = async |code: &str| {
        send(site.request("POST", "/login").body(format!("code={code}")))
            .await
            .unwrap()
    };
    assert_eq!(open("AAAAAAAAAAAAAAAAAAAAAA").await.status, 403);
    let opened = open(code).await;
    assert_eq!(opened.status, 303, "{}", opened.text);
    let cookie = opened.header("set-cookie").unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap().to_owned();
    assert_eq!(site.get("/account", &[("cookie", &cookie)]).await.status, 200);
    let again = open(code).await;
    assert_eq!((again.status, again.header("set-cookie")), (403, None));
    let without = site.get("/account", &[]).await;
    assert_eq!(
        (without.status, without.code()),
        (401, "token_missing"),
        "{}",
        without.text
    );
    let altered = site.get("/account", &[("cookie", "purser=none")]).await;
    assert_eq!(
        (altered.status, altered.code()),
        (401, "token_invalid"),
        "{}",
        altered.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn account_page_lists_newest_cards_of_all_kinds_first() {
    // Checks: If an account has more cards than the page shows, the newest cards of all kinds are listed, newest first.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let mut bought = Vec::new();
    for n in 0..52 {
        let path = match n % 17 {
            3 => "/order-gift-card?product_id=gift_quietshield_vpn&amount=15&country=US",
            5 => "/order-intl-card?amount=100",
            _ => CARD,
        };
        let answer = agent.buy(&site, path).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let order = answer.body["intl_card_order"]["card_id"].as_str();
        bought.push(order.unwrap_or_else(|| answer.card()).to_owned());
    }
    let owner = Owner::of(&site, &agent).await;
    let account = site.get("/account", &[("cookie", owner.cookie())]).await;
    let shown = account.body["cards"].as_array().unwrap();
    let shown: Vec<_> = shown.iter().map(|card| card["card_id"].as_str().unwrap()).collect();
    let expected: Vec<_> = bought.iter().rev().take(50).collect();
    assert_eq!(shown, expected);
}
