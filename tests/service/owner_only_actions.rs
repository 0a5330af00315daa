//! Actions that only the owner can take, on the account page or by the provider's signed callback.

use purser::sandbox::keys;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::frozen_accounts::FORMS;
use super::host::{Host, Service};
use super::http::{Response, ServiceClient, send, until};
use super::owner::{Owner, fault, wait_for_kyc_status};
use super::replay::transfer_count;

fn quick() -> Host {
    Host::new().with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10")
}

async fn status(site: &ServiceClient<'_>, token: &str) -> String {
    let answer = site.get_as(token, "/get-kyc-status").await;
    answer
        .str("status")
        .unwrap_or_else(|| panic!("{}", answer.text))
        .to_owned()
}

fn event_count(events: &[Value], kind: &str) -> usize {
    events.iter().filter(|event| event["type"] == kind).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_verifies_and_links_on_the_page() {
    // Checks: The agent requests a link, and the owner opens it, submits the form, links and unlinks. The agent reads
    // the result, events report it, it survives a kill, and `verify` passes.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let token = agent.token(&site).await;
        assert_eq!(status(&site, &token).await, "none");
        let link = site.get_as(&token, "/get-kyc-link").await;
        assert_eq!(
            (link.str("status"), &link.body["expires_in"]),
            (Some("none"), &json!(900))
        );
        let url = link.str("kyc_url").unwrap();
        assert!(url.contains("/login?to=identity&code="), "{url}");
        let owner = Owner::by_link(&site, url).await;
        owner.verify(&site, &token).await;
        let again = owner.act(&site, "/account/identity", &json!({})).await;
        assert_eq!((again.status, again.code()), (409, "identity_already_verified"));
        owner.link(&site).await;
        let unlinked = owner.act(&site, "/account/unlink", &json!({})).await;
        assert_eq!(unlinked.status, 200, "{}", unlinked.text);
        assert_eq!(
            owner.account(&site).await.body["issuer_link"],
            unlinked.body["issuer_link"]
        );
        assert_eq!(unlinked.body["issuer_link"]["status"], "unlinked");
        owner.link(&site).await;
        let events = site.events(&token, 0).await;
        let seen = [
            "identity.in-review",
            "identity.verified",
            "issuer_link.requested",
            "issuer_link.linked",
            "issuer_link.unlinked",
        ];
        assert_eq!(
            seen.map(|kind| event_count(&events, kind)),
            [1, 1, 2, 2, 1],
            "{events:#?}"
        );
        for event in &events {
            assert!(
                !event.to_string().contains("identity-check?"),
                "the check's address must not be in an event: {event}"
            );
        }
    }
    service.kill();
    let report = host.assert_verified();
    assert_eq!(
        (&report["entities"]["identities"], &report["entities"]["issuer_links"]),
        (&json!(2), &json!(2))
    );
}

/// A verdict in the provider's format, signed with a key.
async fn post_callback(
    service: &Service,
    body: &Value,
    key: &purser::provider::callback::CallbackKey,
    at: u64,
) -> Response {
    let site = ServiceClient::of(service);
    let (body, at) = (body.to_string(), at.to_string());
    let request = site
        .request("POST", "/identity-callback")
        .header("webhook-id", "msg_1")
        .header("webhook-timestamp", &at)
        .header("webhook-signature", key.sign("msg_1", &at, body.as_bytes()));
    send(request.body(body)).await.unwrap()
}

fn now_s() -> u64 {
    use purser_actors::port::Clock as _;
    purser::system::SystemClock.now().seconds()
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_cannot_verify_or_link() {
    // Checks: Bearer tokens of every origin, the cookie of a payment token's link, forms of other or missing origins,
    // and callbacks with wrong or old keys. All are rejected, and nothing has changed.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let born_of_payment = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let token = agent.token(&site).await;
    for path in FORMS {
        for token in [&token, &born_of_payment] {
            let request = site
                .request("POST", path)
                .header("authorization", format!("Bearer {token}"))
                .header("accept", "application/json");
            let ours = request.header("origin", &service.url);
            let answer = send(ours).await.unwrap();
            assert_eq!((answer.status, answer.code()), (401, "token_missing"), "{path}");
        }
        let owner = Owner::of(&site, &agent).await;
        for origin in ["http://evil.example", "null", ""] {
            let answer = owner.act_without_fields(&site, origin, path).await;
            assert_eq!(
                (answer.status, answer.code()),
                (403, "origin_not_allowed"),
                "{path} {origin}"
            );
        }
        let relayed = Owner::by_token(&site, &born_of_payment).await;
        let answer = relayed.act_without_fields(&site, &service.url, path).await;
        assert_eq!((answer.status, answer.code()), (403, "sign_in_required"), "{path}");
        assert_eq!(relayed.account(&site).await.body["rights"], "look");
        assert_eq!(owner.account(&site).await.body["rights"], "act");
    }
    let refused = site.get_as(&born_of_payment, "/get-kyc-link").await;
    assert_eq!((refused.status, refused.code()), (403, "sign_in_required"));
    let verdict = json!({"type": "identity_check.passed", "reference": "sbx_check_1", "wallet": agent.address()});
    let key = keys::identity_callback();
    let other = purser::provider::callback::CallbackKey::new(&purser::secret::Key32::new([1; 32]));
    for (key, at, status) in [(&other, now_s(), 401), (&key, now_s() - 400, 401), (&key, now_s(), 404)] {
        let answer = post_callback(&service, &verdict, key, at).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    assert_eq!(status(&site, &token).await, "none");
    let events = site.events(&token, 0).await;
    assert!(
        !events
            .iter()
            .any(|e| e["type"].as_str().unwrap().starts_with("issuer_link.")),
        "{events:#?}"
    );
    assert_eq!(event_count(&events, "account.caps_updated"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_is_verified_once_whatever_the_provider_does() {
    // Checks: Callbacks that are missing, duplicated, forged, contradictory or malformed, and calls that fail, hang or
    // return garbage. There is one verdict and one event.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (name, expected) in [
        ("Silent", "verified"),
        ("Twice", "verified"),
        ("Forged", "verified"),
        ("Contrary", "verified"),
        ("Garbage", "verified"),
        ("Reject", "rejected"),
    ] {
        let agent = Agent::new(Network::Base);
        let token = agent.token(&site).await;
        let owner = Owner::by_token(&site, &token).await;
        for fault_name in ["unreachable", "malformed_response", "timeout"] {
            fault(&site, "/sandbox/identity", fault_name, 1).await;
        }
        owner.complete_check_as(&site, name).await;
        let seen = wait_for_kyc_status(&site, &token, expected).await;
        assert_eq!(seen["checks"], 1, "{name}");
        let events = site.events(&token, 0).await;
        let verdicts = event_count(&events, "identity.verified") + event_count(&events, "identity.rejected");
        assert_eq!(verdicts, 1, "{name}: {events:#?}");
        if expected == "rejected" {
            assert_eq!(seen["rejection_reason"], "document_mismatch");
            owner.verify(&site, &token).await;
        }
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn identity_check_and_link_continue_after_a_kill() {
    // Checks: Killed while the person fills in the form and while the issuer doesn't respond, both complete afterwards.
    let host = quick().with("PURSER_IDENTITY__ISSUER", "purser-under-test");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let owner = Owner::by_token(&site, &token).await;
    fault(&site, "/sandbox/accounts", "timeout", 0).await;
    assert_eq!(owner.act(&site, "/account/link", &json!({})).await.status, 200);
    owner.complete_check_as(&site, "Silent").await;
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    wait_for_kyc_status(&site, &token, "verified").await;
    until("the link", async || {
        (event_count(&site.events(&token, 0).await, "issuer_link.linked") == 1).then_some(())
    })
    .await;
    service.kill();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_caps_are_enforced_before_settlement() {
    // Checks: Caps set on the page are enforced before any money moves, and only the owner can raise them. A value that
    // is not a number changes nothing.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let owner = Owner::by_token(&site, &token).await;
    let set = json!({"usa_prepaid_card_usd": "5", "usa_prepaid_card_count": "", "gift_card_count": 0});
    let set = owner.act(&site, "/account/caps", &set).await;
    assert_eq!(set.status, 200, "{}", set.text);
    assert_eq!(owner.account(&site).await.body["caps"], set.body["caps"]);
    let own = |name: &str| {
        set.body["caps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|cap| cap["name"] == name)
            .unwrap()["own"]
            .clone()
    };
    assert_eq!(own("usa_prepaid_card"), json!({"count": null, "usd": 5}));
    assert_eq!(own("gift_card"), json!({"count": 0, "usd": null}));
    let form = "application/x-www-form-urlencoded";
    let json = "application/json";
    for (kind, body, status, code, param) in [
        (
            json,
            r#"{"usa_prepaid_card_usd": "5.001"}"#,
            400,
            "parameter_invalid",
            Some("usa_prepaid_card_usd"),
        ),
        (
            json,
            r#"{"usa_prepaid_card_count": -1}"#,
            400,
            "parameter_invalid",
            Some("usa_prepaid_card_count"),
        ),
        (
            json,
            r#"{"gift_card_count": "99999999999"}"#,
            400,
            "parameter_invalid",
            Some("gift_card_count"),
        ),
        (
            json,
            r#"{"gift_card_count": 1.5}"#,
            400,
            "parameter_invalid",
            Some("gift_card_count"),
        ),
        (
            json,
            r#"{"gift_card_count": [1]}"#,
            400,
            "parameter_invalid",
            Some("gift_card_count"),
        ),
        (json, r#"{"cards": 1}"#, 400, "parameter_unrecognized", Some("cards")),
        (
            json,
            r#"{"gift_card_count": 1, "gift_card_count": 2}"#,
            400,
            "body_malformed",
            None,
        ),
        (json, "gift_card_count=1", 400, "body_malformed", None),
        (form, "gift_card_count=1", 403, "origin_not_allowed", None),
    ] {
        let request = owner.form(&site, "/account/caps").header("content-type", kind);
        let refused = send(request.body(body)).await.unwrap();
        assert_eq!((refused.status, refused.code()), (status, code), "{body}");
        assert!(param.is_none() || refused.str("param") == param, "{}", refused.text);
    }
    let balance = site.get_as(&token, "/get-account-balance").await;
    let caps = json!({"usa_prepaid_card": {"sum_per_day": 5.0}, "gift_card": {"count_per_day": 0}});
    assert_eq!(
        balance.body["owner_caps"].to_string().replace("5.0", "5"),
        caps.to_string().replace("5.0", "5")
    );
    assert_eq!(agent.buy(&site, "/get-card?amount=5").await.status, 200);
    let payment = agent.payment(&site, "/get-card?amount=5").await;
    let refused = Agent::pay(&site, "/get-card?amount=5", &payment).await;
    assert_eq!(
        (refused.status, refused.code()),
        (403, "cap_exceeded"),
        "{}",
        refused.text
    );
    assert_eq!(transfer_count(&site, &payment).await, 0);
    assert_eq!(owner.act(&site, "/account/caps", &json!({})).await.status, 200);
    assert_eq!(Agent::pay(&site, "/get-card?amount=5", &payment).await.status, 200);
    let events = site.events(&token, 0).await;
    assert_eq!(event_count(&events, "account.caps_updated"), 2);
    // The owner did it at the page. Of everything else, nothing was done at a page or in a session.
    for event in &events {
        let by_owner = event["type"] == "account.caps_updated";
        let actor = &event["actor"];
        assert_eq!(actor["in_browser"], json!(by_owner), "{event}");
        assert_eq!(actor["session_id"].is_string(), by_owner, "{event}");
        assert_eq!(actor["type"] == "wallet", by_owner, "{event}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_gets_errors_as_a_page() {
    // Checks: For a client that accepts HTML, the error of a form is a page with its code and a link back. Actions of the
    // account page get JSON, whatever the client accepts.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let link = site.get_as(&token, "/get-auth-link").await;
    let owner = Owner::by_link(&site, link.str("auth_url").unwrap()).await;
    let html = "text/html,*/*;q=0.8";
    let request = owner.form(&site, "/claim").header("accept", html);
    let answer = send(request.body("colour=red")).await.unwrap();
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (400, Some("text/html; charset=utf-8"))
    );
    assert!(answer.text.contains("<code>parameter_unrecognized</code>") && answer.text.contains("href=\"/dashboard\""));
    let request = owner.form(&site, "/account/caps").header("accept", html);
    let answer = send(request.json(&json!({"gift_card_count": "many"}))).await.unwrap();
    let kind = (answer.status, answer.header("content-type"));
    assert_eq!(kind, (400, Some("application/json")), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_form_with_unknown_ids_is_rejected() {
    // Checks: Limits of a missing wallet, an unknown key and an unknown signup: each is a 404 with its code.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let owner = Owner::of(&site, &Agent::new(Network::Base)).await;
    for (path, body, code) in [
        (
            "/account/spending",
            json!({"per_call_usd": 5, "per_day_usd": 5}),
            "agent_wallet_not_found",
        ),
        (
            "/account/api-keys/revoke",
            json!({"api_key_id": "key_1"}),
            "api_key_not_found",
        ),
    ] {
        let refused = owner.act(&site, path, &body).await;
        assert_eq!(
            (refused.status, refused.code()),
            (404, code),
            "{path}: {}",
            refused.text
        );
    }
    let refused = owner.send(&site, "/claim", "signup=none&name=Ada").await;
    assert_eq!(
        (refused.status, refused.code()),
        (404, "signup_not_found"),
        "{}",
        refused.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_controls_link_and_decline() {
    // Checks: Sandbox controls link and unlink as the owner would, and the issuer can decline. Invalid fields are
    // rejected.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let wallet = agent.address();
    let link = async |linked: bool| {
        site.post("/sandbox/link", &json!({"wallet": wallet, "linked": linked}))
            .await
            .body
    };
    fault(&site, "/sandbox/accounts", "decline", 1).await;
    assert_eq!(link(true).await["linked"], false);
    site.wait_for_events(&agent.token(&site).await, &["issuer_link.declined"])
        .await;
    let linked = link(true).await;
    assert_eq!(linked["linked"], true);
    assert!(
        linked["deposit_address"].as_str().unwrap().starts_with("0x"),
        "{linked}"
    );
    assert_eq!(link(false).await["deposit_address"], Value::Null);
    assert_eq!(link(true).await, linked);
    for (path, body) in [
        ("/sandbox/link", json!({"wallet": "me", "linked": true})),
        ("/sandbox/identity", json!({"fault": "timeout", "delay_ms": 5})),
        ("/sandbox/accounts", json!({"fault": "slow", "delay_ms": 600_001})),
    ] {
        let answer = site.post(path, &body).await;
        assert_eq!((answer.status, answer.code()), (400, "parameter_invalid"), "{path}");
    }
    for path in ["/sandbox/identity", "/sandbox/accounts"] {
        fault(&site, path, "unreachable", 3).await;
        let cleared = site.post(path, &json!({"fault": "clear"})).await;
        assert_eq!(cleared.body["faults"], json!([]));
    }
    assert_eq!(
        site.get("/sandbox/identity-check?token=no", &[]).await.code(),
        "identity_check_not_found"
    );
    let form = site.request("POST", "/sandbox/identity-check?token=no").body("a=b");
    let answered = send(form).await.unwrap();
    assert_eq!(
        (answered.status, answered.code()),
        (404, "identity_check_not_found"),
        "{}",
        answered.text
    );
}
