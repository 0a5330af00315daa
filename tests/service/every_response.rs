//! Rules for every response: headers, members of every 402, forms posted by other pages, reused keys, and errors of
//! frozen accounts.

use purser::wallet::TestWallet;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::listener::{Listener, Stream};
use super::owner::Owner;

const CARD: &str = "/get-card?amount=5";
const WHY: &str = "<b>Call us.</b>";

#[tokio::test(flavor = "multi_thread")]
async fn freeze_is_pushed_with_its_reason() {
    // Checks: A subscribed stream gets account.frozen and is closed with 4003. An idle one is closed too, and a new one
    // is rejected. A login link created while frozen opens a page with the reason and no actions. `purser listen`
    // reports it and resumes after the account is unfrozen.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let file = host.sibling_path("wallet.json");
    let listener = Listener::start(&service.url, &file, &[]);
    until("the listener", async || {
        (listener.stderr_line_count("listening to") == 1).then_some(())
    })
    .await;
    let agent = Agent {
        wallet: TestWallet::load(&file).unwrap(),
        network: Network::Base,
    };
    let token = agent.token(&site).await;
    let mut subscribed = Stream::open(&site, &token).await;
    subscribed.send(&json!({"type": "subscribe"})).await;
    assert_eq!(subscribed.frame().await["type"], "ping");
    let mut silent = Stream::open(&site, &token).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let event = loop {
        let frame = subscribed.frame().await;
        if frame["type"] == "event" {
            break frame;
        }
    };
    assert_eq!(event["event"]["type"], "account.frozen", "{event}");
    assert_eq!(subscribed.until_closed().await, 4003);
    assert_eq!(silent.until_closed().await, 4003);
    let bearer = format!("Bearer {token}");
    assert_eq!(
        Stream::open_with_headers(&site, &[("authorization", &bearer)])
            .await
            .err(),
        Some(403)
    );
    let mut late = Stream::open_with_headers(&site, &[]).await.unwrap();
    late.send(&json!({"type": "auth", "token": token})).await;
    assert_eq!(late.until_closed().await, 4003);
    until("the listener's message", async || {
        (listener.stderr_line_count("the account is frozen") > 0).then_some(())
    })
    .await;
    let types = || -> Vec<Value> { listener.events().iter().map(|event| event["type"].clone()).collect() };
    until("its event", async || {
        (types().last() == Some(&json!("account.frozen"))).then_some(())
    })
    .await;

    let owner = Owner::by_token(&site, &token).await;
    let page = owner.page(&site).await;
    assert!(page.text.contains("frozen: &lt;b&gt;Call us."), "{}", page.text);
    let account = owner.account(&site).await;
    assert_eq!((account.status, account.code()), (403, "account_frozen"));
    assert!(
        account.str("frozen_message").unwrap().starts_with("<b>Call us."),
        "{}",
        account.text
    );
    for other in ["identity", "caps", "issuer_link", "balance", "api_keys"] {
        assert!(account.body.get(other).is_none(), "{other} is shown: {}", account.text);
    }
    site.freeze(&agent.address(), None).await;
    until("the account is unfrozen", async || {
        (types().last() == Some(&json!("account.unfrozen"))).then_some(())
    })
    .await;
    assert_eq!(owner.account(&site).await.body["rights"], "act");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_401_names_its_authentication_scheme() {
    // Checks: Every 401 has WWW-Authenticate: only Bearer without a token, and with the reason for an invalid token. A
    // 402 has only the payment challenge.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let asks = |answer: &Response| answer.header("www-authenticate").map(str::to_owned);
    for path in ["/get-card-data", "/events", "/account", "/get-withdrawal-status"] {
        let unauthenticated = site.get(path, &[]).await;
        assert_eq!(unauthenticated.status, 401, "{path}: {}", unauthenticated.text);
        assert!(asks(&unauthenticated).unwrap().starts_with("Bearer realm="), "{path}");
    }
    let unauthenticated = site.get("/get-account-balance", &[]).await;
    assert_eq!(
        (unauthenticated.status, asks(&unauthenticated).as_deref()),
        (401, Some("Bearer realm=\"purser\""))
    );
    let bad = site.get_as("not-a-token", "/get-account-balance").await;
    let scheme = asks(&bad).unwrap();
    assert!(
        bad.status == 401 && scheme.contains("error=\"invalid_token\"") && scheme.contains("error_description="),
        "{scheme}"
    );
    let body = json!({"grant_type": "refresh_token", "refresh_token": "rt_no"});
    let refused = site.post("/auth", &body).await;
    assert_eq!(
        (refused.status, asks(&refused).as_deref()),
        (401, Some("Bearer realm=\"purser\""))
    );
    assert!(asks(&site.get(CARD, &[]).await).unwrap().starts_with("Payment "));
}

#[tokio::test(flavor = "multi_thread")]
async fn allow_header_is_correct_on_every_path() {
    // Checks: For every path of the document, the Allow header of a 405 equals that of OPTIONS. It lists the documented
    // methods and OPTIONS, and HEAD if HEAD is served.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let document = site.document().await;
    let split = |answer: &Response| -> Vec<String> {
        let allow = answer
            .header("allow")
            .unwrap_or_else(|| panic!("no Allow: {}", answer.text));
        let mut methods: Vec<String> = allow.split(',').map(|method| method.trim().to_owned()).collect();
        methods.sort();
        methods
    };
    let ask = async |method: &str, path: &str| send(site.request(method, path)).await.unwrap();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let refused = ask("PATCH", path).await;
        assert_eq!(
            (refused.status, refused.code()),
            (405, "method_not_allowed"),
            "{path}: {}",
            refused.text
        );
        let allowed = split(&refused);
        let options = ask("OPTIONS", path).await;
        assert_eq!((options.status, split(&options)), (204, allowed.clone()), "{path}");
        let mut expected: Vec<String> = methods.as_object().unwrap().keys().map(|m| m.to_uppercase()).collect();
        expected.push("OPTIONS".to_owned());
        if expected.contains(&"GET".to_owned()) {
            let answers_head = ask("HEAD", path).await.status != 405;
            assert_eq!(allowed.contains(&"HEAD".to_owned()), answers_head, "{path}");
            if answers_head {
                expected.push("HEAD".to_owned());
            }
        }
        expected.sort();
        assert_eq!(allowed, expected, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn oversized_body_closes_the_connection() {
    // Checks: A 413 announces that the connection is closed, whether the length was declared or discovered.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let large = "x".repeat(70_000);
    let declared = site.request("POST", "/withdraw").bearer_auth(&token).body(large);
    let answer = send(declared).await.unwrap();
    let rejection = (answer.status, answer.code(), answer.header("connection"));
    assert_eq!(rejection, (413, "body_too_large", Some("close")), "{}", answer.text);
    assert_eq!(site.get("/version", &[]).await.header("connection"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_402_has_error_members() {
    // Checks: A price, an invalid payment, a failed settlement and a sign-in each have a code and are not terminal.
    // Each has the request id of the header.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let challenge = site.get(CARD, &[]).await;
    let bad = Agent::pay(&site, CARD, "bm9uc2Vuc2U=").await;
    site.chain_fault(json!({"fault": "insufficient"})).await;
    let failed = agent.buy(&site, CARD).await;
    let sign_in = site.get("/auth", &[]).await;
    let refused = site.get("/auth", &[("sign-in-with-x", "bm9uc2Vuc2U=")]).await;
    for (answer, code) in [
        (&challenge, "payment_required"),
        (&bad, "payment_invalid"),
        (&failed, "settlement_failed"),
        (&sign_in, "sign_in_required"),
        (&refused, "sign_in_required"),
    ] {
        assert_eq!((answer.status, answer.code()), (402, code), "{}", answer.text);
        assert_eq!(answer.body["terminal"], json!(false), "{}", answer.text);
        assert_eq!(answer.str("request_id"), answer.header("request-id"), "{}", answer.text);
    }
    assert_eq!(failed.body["success"], json!(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn form_of_another_page_does_not_sign_in() {
    // Checks: A login code posted from another origin, or without one by another site, opens no session and stays
    // valid. Our own page, which hides its address, and a client that isn't a browser use it up.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let code = async || {
        let link = site.get_as(&token, "/get-auth-link").await;
        let (_, code) = link.str("auth_url").unwrap().split_once("code=").unwrap();
        code.to_owned()
    };
    let post = async |code: &str, headers: &[(&str, &str)]| {
        let request = site.request("POST", "/login").body(format!("code={code}"));
        let request = headers
            .iter()
            .fold(request, |request, (name, value)| request.header(*name, *value));
        send(request).await.unwrap()
    };
    let first = code().await;
    for foreign in [
        &[("origin", "https://evil.example")][..],
        &[("origin", "null")],
        &[("origin", "null"), ("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "cross-site")],
    ] {
        let answer = post(&first, foreign).await;
        assert_eq!(
            (answer.status, answer.code()),
            (403, "origin_not_allowed"),
            "{foreign:?}: {}",
            answer.text
        );
        assert_eq!(answer.header("set-cookie"), None);
    }
    assert_eq!(post(&first, &[]).await.status, 303, "the code is still good");
    for own in [
        &[("origin", service.url.as_str())][..],
        &[("origin", "null"), ("sec-fetch-site", "same-origin")],
    ] {
        assert_eq!(post(&code().await, own).await.status, 303, "{own:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_with_control_characters_are_rejected() {
    // Checks: Labels, names and notes with a NUL, a bell, an escape or a line break are rejected everywhere.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    for control in ['\0', '\u{7}', '\u{1b}', '\n', '\u{9b}'] {
        let name = format!("a{control}b");
        let coded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let label = site
            .get(&format!("/order-intl-card?amount=100&label={coded}"), &[])
            .await;
        assert_eq!(
            (label.status, label.code()),
            (400, "parameter_invalid"),
            "{}",
            label.text
        );
        let people = format!(
            "/send-payment?amount=5&platform=venmo&recipient_id=x&recipient_first_name={coded}&recipient_last_name=B&recipient_email=a@b.co"
        );
        assert_eq!(site.get(&people, &[]).await.status, 400);
        let renamed = json!({"platform": "venmo", "recipient_id": "rcp_1", "display_name": name});
        let renamed = send(
            site.request("POST", "/payment-recipients")
                .bearer_auth(&token)
                .json(&renamed),
        )
        .await;
        assert_eq!(renamed.unwrap().status, 400);
        for (function, data) in [
            ("createAgentApiKey", json!({"name": name})),
            ("announceAgentConnection", json!({"name": name})),
            (
                "createBankingProfile",
                json!({"firstName": name, "lastName": "B", "email": "a@b.co"}),
            ),
        ] {
            let call = site.request("POST", &format!("/{function}")).bearer_auth(&token);
            let answer = send(call.json(&json!({"data": data}))).await.unwrap();
            assert_eq!(answer.status, 400, "{function}: {}", answer.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_53_key_of_another_route_is_422_for_any_body() {
    // Checks: A key used on one route is a 422 on every other, whether the body names nothing, an unknown id, or is
    // missing. On its own route another body is a 422 too. The same body gets the first response with all its members.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let ask = async |path: &str, body: &str| {
        let request = site
            .request("POST", path)
            .bearer_auth(&token)
            .header("idempotency-key", "used");
        send(request.body(body.to_owned())).await.unwrap()
    };
    let ordered = agent.buy(&site, "/order-intl-card?amount=100").await;
    let card = ordered.body["intl_card_order"]["card_id"].as_str().unwrap();
    let body = json!({"card_id": card}).to_string();
    let first = ask("/cancel-intl-order", &body).await;
    assert_eq!(first.status, 200, "{}", first.text);
    let nobodys = r#"{"card_id": "card_00000000000000000000000000000001"}"#;
    for (path, body) in [
        ("/pause-card", nobodys),
        ("/close-card", nobodys),
        ("/refresh-card-data", nobodys),
        ("/delete-webhook", r#"{"webhook_id": "none"}"#),
        ("/redeliver-webhook", r#"{"delivery_id": "none"}"#),
        ("/withdraw", r#"{"amount": "no"}"#),
        ("/withdraw", "["),
        ("/create-reloadable-card", r#"{"usd_amount": 0}"#),
        ("/createBankingRecipient", r#"{"data": {}}"#),
        ("/cancel-intl-order", nobodys),
        ("/cancel-intl-order", r#"{"card_id": "none"}"#),
    ] {
        let answer = ask(path, body).await;
        let code = answer.body["error"]["code"]
            .as_str()
            .unwrap_or(answer.code())
            .to_owned();
        assert_eq!(
            (answer.status, &*code),
            (422, "idempotency_key_reused"),
            "{path} {body}: {}",
            answer.text
        );
    }
    let again = ask("/cancel-intl-order", &body).await;
    assert_eq!((again.status, &again.text), (first.status, &first.text));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.header("content-type"), first.header("content-type"));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_55_replay_equals_the_first_response() {
    // Checks: An error under a key is as terminal in the first response as in its replay. An endpoint's registration
    // replays its requested types, even if a later registration changed them.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let ask = async |path: &str, key: &str, body: Value| {
        let request = site
            .request("POST", path)
            .bearer_auth(&token)
            .header("idempotency-key", key);
        let mut answer = send(request.json(&body)).await.unwrap();
        answer.body["request_id"].take();
        answer
    };
    let withdraw = async || ask("/withdraw", "poor", json!({"amount": 5})).await;
    let (first, again) = (withdraw().await, withdraw().await);
    assert_eq!((first.status, first.code()), (409, "insufficient_balance"));
    assert_eq!(first.body["terminal"], json!(true));
    assert_eq!((again.status, &again.body), (first.status, &first.body));

    let url = "https://hooks.unused.example/replayed";
    let register =
        async |key: &str, types: &[&str]| ask("/register-webhook", key, json!({"url": url, "types": types})).await;
    let first = register("one", &["card.ready"]).await;
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(register("two", &["payment.*"]).await.status, 200);
    let again = register("one", &["card.ready"]).await;
    assert_eq!((again.status, &again.body), (first.status, &first.body));
}
