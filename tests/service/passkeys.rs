//! Passkeys of account owners: added, used, confirmed with and removed, and every answer that is not accepted.

use purser::http::route::{Access, Confirmed};
use purser::http::routes;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::authenticator::Authenticator;
use super::host::Host;
use super::http::{Response, ServiceClient, send};
use super::owner::Owner;

pub(crate) const PUBLIC: &str = "http://localhost:9999";

pub(crate) fn assert_error(answer: &Response, status: u16, code: &str, what: &str) {
    assert_eq!(
        (answer.status, answer.code()),
        (status, code),
        "{what}: {}",
        answer.text
    );
}

pub(crate) async fn act(site: &ServiceClient<'_>, owner: &Owner, path: &str, body: &Value) -> Response {
    owner.act_from(site, PUBLIC, path, body).await
}

pub(crate) async fn done(site: &ServiceClient<'_>, owner: &Owner, path: &str, body: &Value) -> Value {
    let answer = act(site, owner, path, body).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.body
}

pub(crate) async fn advance(site: &ServiceClient<'_>, seconds: u64) {
    let moved = site.post("/sandbox/time", &json!({"advance_seconds": seconds})).await;
    assert_eq!(moved.status, 200, "{}", moved.text);
}

pub(crate) async fn add(site: &ServiceClient<'_>, owner: &Owner, device: &mut Authenticator, name: &str) -> Response {
    let options = done(site, owner, "/account/passkeys/options", &json!({})).await;
    let credential = device.create(&options);
    act(
        site,
        owner,
        "/account/passkeys",
        &json!({"name": name, "credential": credential}),
    )
    .await
}

pub(crate) async fn from_page(site: &ServiceClient<'_>, path: &str, body: &Value) -> Response {
    send(site.request("POST", path).header("origin", PUBLIC).json(body))
        .await
        .unwrap()
}

async fn answer_of(site: &ServiceClient<'_>, device: &mut Authenticator) -> Value {
    let options = from_page(site, "/login/passkey/options", &json!({})).await;
    assert_eq!(options.status, 200, "{}", options.text);
    json!({"credential": device.get(&options.body)})
}

pub(crate) async fn sign_in(site: &ServiceClient<'_>, device: &mut Authenticator) -> Response {
    let answer = answer_of(site, device).await;
    from_page(site, "/login/passkey", &answer).await
}

pub(crate) fn signed_in(answer: &Response) -> Owner {
    assert_eq!(answer.status, 200, "{}", answer.text);
    Owner::by_set_cookie(answer.header("set-cookie").unwrap())
}

pub(crate) async fn confirm(site: &ServiceClient<'_>, owner: &Owner, device: &mut Authenticator) -> Response {
    let options = done(site, owner, "/account/confirm/options", &json!({})).await;
    act(
        site,
        owner,
        "/account/confirm",
        &json!({"credential": device.get(&options)}),
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn passkey_signs_in_without_the_agent() {
    // Checks: A link's session adds a passkey in its first ten minutes. The passkey opens a session of the owner, which
    // outlives the agent's; it adds another passkey after a confirmation only. A removed passkey opens nothing, and its
    // sessions end. Everything is in the account's events, without a key.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let owner = Owner::by_token(&site, &token).await;
    let mut phone = Authenticator::new(1, PUBLIC);
    let added = add(&site, &owner, &mut phone, "Phone").await;
    assert_eq!(
        (added.status, added.str("name")),
        (200, Some("Phone")),
        "{}",
        added.text
    );
    let id = added.str("passkey_id").unwrap().to_owned();

    let own = signed_in(&sign_in(&site, &mut phone).await);
    let account = own.account(&site).await.body;
    assert_eq!((&account["rights"], &account["passkeys"]), (&json!("act"), &json!(1)));
    assert_eq!(account["confirmed_until"], Value::Null);
    let mut key = Authenticator::new(2, PUBLIC);
    let refused = act(&site, &own, "/account/passkeys/options", &json!({})).await;
    assert_error(&refused, 403, "confirmation_required", "a second passkey");
    assert_eq!(refused.body["reason"], "passkey");
    let confirmed = confirm(&site, &own, &mut phone).await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.text);
    let second = add(&site, &own, &mut key, "Key").await;
    assert_eq!(second.status, 200, "{}", second.text);
    let again = add(&site, &own, &mut key, "Key").await;
    assert_error(&again, 409, "passkey_already_added", "the same passkey");
    let renamed = json!({"passkey_id": id, "name": "Old phone"});
    assert_eq!(
        done(&site, &own, "/account/passkeys/rename", &renamed).await["name"],
        "Old phone"
    );

    let key_session = signed_in(&sign_in(&site, &mut key).await);
    let removed = done(&site, &own, "/account/passkeys/remove", &json!({"passkey_id": id})).await;
    assert_eq!(removed["status"], "removed");
    assert_error(
        &own.account(&site).await,
        401,
        "token_revoked",
        "a session of the removed passkey",
    );
    assert_error(
        &sign_in(&site, &mut phone).await,
        403,
        "passkey_removed",
        "a removed passkey",
    );
    let listed = site.get("/account/passkeys", &[("cookie", key_session.cookie())]).await;
    let names: Vec<_> = listed.body["passkeys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!((names, &listed.body["available"]), (vec![&json!("Key")], &json!(true)));

    let events = site.get_as(&token, "/events?limit=100").await;
    let types: Vec<_> = events.body["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["type"].as_str().unwrap())
        .collect();
    for kind in [
        "passkey.added",
        "passkey.renamed",
        "passkey.removed",
        "session.confirmed",
    ] {
        assert!(types.contains(&kind), "{kind} is not in {types:?}");
    }
    assert!(!events.text.contains("public_key") && !events.text.contains("credential"));
    // They are the owner's: the token of a payment sees none.
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let of_payment = bought.body["auth"]["id_token"].as_str().unwrap();
    let seen = site.get_as(of_payment, "/events?types=passkey.*").await;
    assert_eq!(seen.body["events"], json!([]), "{}", seen.text);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_other_passkeys_pages_and_ceremonies_are_rejected() {
    // Checks: A replayed answer, another origin's or site's, one without user verification, with an old counter, of an
    // unknown passkey, of another account's user, for another ceremony, too late, and of a frozen account: each by name,
    // none opens a session.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let (agent, other_agent) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let (owner, other) = (Owner::of(&site, &agent).await, Owner::of(&site, &other_agent).await);
    let (mut phone, mut foreign) = (Authenticator::new(1, PUBLIC), Authenticator::new(2, PUBLIC));
    assert_eq!(add(&site, &owner, &mut phone, "Phone").await.status, 200);
    assert_eq!(add(&site, &other, &mut foreign, "Phone").await.status, 200);

    let answer = answer_of(&site, &mut phone).await;
    signed_in(&from_page(&site, "/login/passkey", &answer).await);
    let replayed = from_page(&site, "/login/passkey", &answer).await;
    assert!(
        ["passkey_counter_regressed", "passkey_challenge_invalid"].contains(&replayed.code()),
        "{}",
        replayed.text
    );
    assert_eq!(replayed.header("set-cookie"), None);

    let with = |change: &dyn Fn(&mut Authenticator)| {
        let mut changed = phone.clone();
        change(&mut changed);
        changed
    };
    for (mut device, code) in [
        (
            with(&|device| device.origin = "http://localhost:9998".into()),
            "passkey_origin_mismatch",
        ),
        (
            with(&|device| device.host = "evil.example".into()),
            "passkey_origin_mismatch",
        ),
        (with(&|device| device.flags = 0b001), "passkey_user_not_verified"),
        (with(&|device| device.flags = 0b100), "passkey_user_not_verified"),
        (with(&|device| device.counter = 1), "passkey_counter_regressed"),
        (
            with(&|device| device.handle = foreign.handle.clone()),
            "passkey_unknown",
        ),
        (Authenticator::new(9, PUBLIC), "passkey_unknown"),
    ] {
        let refused = sign_in(&site, &mut device).await;
        assert_error(&refused, 403, code, "a sign-in");
        assert_eq!(refused.header("set-cookie"), None);
    }
    // The key of another passkey under this one's id.
    let mut forged = answer_of(&site, &mut foreign).await;
    for member in ["id", "rawId"] {
        forged["credential"][member] = answer["credential"]["rawId"].clone();
    }
    forged["credential"]["response"]["userHandle"] = json!(phone.handle);
    let refused = from_page(&site, "/login/passkey", &forged).await;
    assert_error(&refused, 403, "passkey_signature_invalid", "another key");

    // A confirmation is no sign-in, is bound to its session, and to the account.
    let options = done(&site, &owner, "/account/confirm/options", &json!({})).await;
    let confirmation = json!({"credential": phone.get(&options)});
    let refused = from_page(&site, "/login/passkey", &confirmation).await;
    assert_error(
        &refused,
        403,
        "passkey_challenge_invalid",
        "a confirmation as a sign-in",
    );
    let another = Owner::of(&site, &agent).await;
    let refused = act(&site, &another, "/account/confirm", &confirmation).await;
    assert_error(
        &refused,
        403,
        "passkey_challenge_invalid",
        "another session's confirmation",
    );
    let refused = confirm(&site, &owner, &mut foreign).await;
    assert_error(&refused, 403, "passkey_unknown", "another account's passkey");
    let sign_in_answer = answer_of(&site, &mut phone).await;
    let refused = act(&site, &owner, "/account/confirm", &sign_in_answer).await;
    assert_error(
        &refused,
        403,
        "passkey_challenge_invalid",
        "a sign-in as a confirmation",
    );
    assert_eq!(confirm(&site, &owner, &mut phone).await.status, 200);

    let late = answer_of(&site, &mut phone).await;
    advance(&site, 301).await;
    let refused = from_page(&site, "/login/passkey", &late).await;
    assert_error(&refused, 403, "passkey_challenge_invalid", "a late answer");
    let malformed = json!({"credential": {"rawId": "AQ"}});
    assert_eq!(from_page(&site, "/login/passkey", &malformed).await.status, 400);
    // Other pages.
    let answer = answer_of(&site, &mut phone).await;
    let request = site
        .request("POST", "/login/passkey")
        .header("origin", "http://evil.example");
    let refused = send(request.json(&answer)).await.unwrap();
    assert_error(&refused, 403, "origin_not_allowed", "another page");

    let operator = super::operator_client::OperatorClient::first(&host, &service);
    operator
        .done(
            "/admin/freeze",
            json!({"wallet": agent.address(), "message": "Please write."}),
        )
        .await;
    let refused = sign_in(&site, &mut phone).await;
    assert_error(&refused, 403, "account_frozen", "a frozen account");
    assert_eq!(refused.header("set-cookie"), None);
    service.stop();
    host.assert_verified();
}

/// A request of a page that reaches the confirmation of its route.
async fn ask(site: &ServiceClient<'_>, owner: &Owner, method: &str, path: &str) -> Response {
    let path_and_query = match path {
        "/get-card-data" => "/get-card-data?card_id=card_00000000000000000000000000000001",
        path => path,
    };
    let request = site.request(method, path_and_query).header("cookie", owner.cookie());
    let request = request.header("origin", PUBLIC);
    let body = match path {
        "/account/caps" => json!({}),
        "/account/spending" => json!({"per_call_usd": 50000}),
        "/account/merchant-limits" => json!({"hosts": []}),
        path if path.starts_with('/') && path[1..].chars().any(char::is_uppercase) => json!({"data": {}}),
        _ => json!({}),
    };
    let request = match (method, path) {
        ("GET", _) => request,
        (_, "/claim") => request.body("signup=x"),
        _ => request.json(&body),
    };
    send(request).await.unwrap()
}

/// Limits that the requests of [`ask`] raise.
async fn limit(site: &ServiceClient<'_>, owner: &Owner) {
    let limits = json!({"per_call_usd": 1, "per_day_usd": 2});
    done(site, owner, "/account/balance-limits", &limits).await;
    let limits = json!({"hosts": [{"host": "shop.example.com", "per_day_usd": 1}], "others_per_day_usd": 2});
    done(site, owner, "/account/merchant-limits", &limits).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn acts_that_matter_need_a_confirmation() {
    // Checks: Each route whose row says so. A link's session of the wallet acts for ten minutes while the account has no
    // passkey; then the error names a new link. With a passkey, only its confirmation serves, for five minutes, in its
    // session. Tokens need none. A card's details without its number need none.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let owner = Owner::by_token(&site, &token).await;
    let caps = json!({"gift_card_count": 1, "gift_card_usd": "10.00"});
    done(&site, &owner, "/account/caps", &caps).await;
    let wallet = site
        .request("POST", "/createAgentWallet")
        .bearer_auth(&token)
        .json(&json!({"data": {}}));
    assert_eq!(send(wallet).await.unwrap().status, 200);
    done(
        &site,
        &owner,
        "/account/spending",
        &json!({"per_call_usd": 5, "per_day_usd": 10}),
    )
    .await;
    limit(&site, &owner).await;
    let confirmed: Vec<_> = routes::public()
        .filter(|route| route.confirmed != Confirmed::Nothing)
        // Its limits are compared with those of a key, which this account does not have.
        .filter(|route| route.path != "/account/api-keys/limits")
        .collect();
    assert!(confirmed.len() > 15, "{}", confirmed.len());
    let of_passkeys = |path: &str| path.starts_with("/account/passkeys");
    for route in &confirmed {
        // The options are harmless, and the removal of no passkey is not found.
        let answer = ask(&site, &owner, route.method, route.path).await;
        assert_ne!(answer.code(), "confirmation_required", "{}", route.path);
    }
    done(&site, &owner, "/account/caps", &caps).await;
    done(
        &site,
        &owner,
        "/account/spending",
        &json!({"per_call_usd": 5, "per_day_usd": 10}),
    )
    .await;
    limit(&site, &owner).await;
    advance(&site, 601).await;
    for route in &confirmed {
        let answer = ask(&site, &owner, route.method, route.path).await;
        assert_error(&answer, 403, "confirmation_required", route.path);
        if route.access != Access::Callable {
            // Errors of callable functions have the contract's members only.
            assert_eq!(answer.body["reason"], "login_link", "{}", route.path);
        }
    }
    // A lower limit needs none.
    done(
        &site,
        &owner,
        "/account/caps",
        &json!({"gift_card_count": 0, "gift_card_usd": "10.00"}),
    )
    .await;
    done(
        &site,
        &owner,
        "/account/spending",
        &json!({"per_call_usd": 4, "per_day_usd": 10}),
    )
    .await;
    let details = "/get-card-data?card_id=card_00000000000000000000000000000001&details=false";
    let answer = site.get(details, &[("cookie", owner.cookie())]).await;
    assert_error(&answer, 404, "card_not_found", details);
    // Nor do lists, which have no numbers.
    for list in [
        "/get-card-data",
        "/get-card-data?card_type=Gift%20Card&include_failed=true&order=desc&limit=5",
    ] {
        let answer = site.get(list, &[("cookie", owner.cookie())]).await;
        assert_eq!(answer.status, 200, "{list}: {}", answer.text);
    }
    for evasion in ["%64etails=false", "details=%66alse", "details=false&details=true"] {
        let path = format!("/get-card-data?%63ard_id=card_00000000000000000000000000000001&{evasion}");
        let answer = site.get(&path, &[("cookie", owner.cookie())]).await;
        assert!([404, 403].contains(&answer.status), "{path}: {}", answer.text);
    }
    let bearer = site
        .request("POST", "/withdraw")
        .bearer_auth(&token)
        .json(&json!({"amount": 1}));
    assert_ne!(send(bearer).await.unwrap().code(), "confirmation_required");

    let fresh = Owner::of(&site, &agent).await;
    let mut phone = Authenticator::new(1, PUBLIC);
    assert_eq!(add(&site, &fresh, &mut phone, "Phone").await.status, 200);
    for route in &confirmed {
        let answer = ask(&site, &fresh, route.method, route.path).await;
        assert_error(&answer, 403, "confirmation_required", route.path);
        if route.access != Access::Callable {
            assert_eq!(answer.body["reason"], "passkey", "{}", route.path);
        }
    }
    assert_eq!(confirm(&site, &fresh, &mut phone).await.status, 200);
    for route in confirmed.iter().filter(|route| !of_passkeys(route.path)) {
        let answer = ask(&site, &fresh, route.method, route.path).await;
        assert_ne!(answer.code(), "confirmation_required", "{}", route.path);
    }
    assert_error(
        &ask(&site, &owner, "POST", "/withdraw").await,
        403,
        "confirmation_required",
        "another session",
    );
    advance(&site, 301).await;
    assert_error(
        &ask(&site, &fresh, "POST", "/withdraw").await,
        403,
        "confirmation_required",
        "too late",
    );
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_at_most_twenty_passkeys() {
    // Checks: The twenty-first is rejected, a removed one frees its place. At an IP address browsers offer none, and the
    // routes say so.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let owner = Owner::of(&site, &Agent::new(Network::Base)).await;
    let mut first = Authenticator::new(1, PUBLIC);
    assert_eq!(add(&site, &owner, &mut first, "1").await.status, 200);
    confirm(&site, &owner, &mut first).await;
    // The session's confirmation is the first one's.
    let mut last = Value::Null;
    for n in 2..=20 {
        let added = add(&site, &owner, &mut Authenticator::new(n, PUBLIC), &n.to_string()).await;
        assert_eq!(added.status, 200, "{n}: {}", added.text);
        last = added.body["passkey_id"].clone();
    }
    let more = || Authenticator::new(21, PUBLIC);
    assert_error(
        &add(&site, &owner, &mut more(), "21").await,
        409,
        "passkey_limit_reached",
        "21",
    );
    for name in ["", " ", "a\u{202e}b", &"n".repeat(61)] {
        let answer = add(&site, &owner, &mut more(), name).await;
        assert_error(&answer, 400, "parameter_invalid", name);
    }
    let unknown = json!({"passkey_id": "pk_00000000000000000000000000000001"});
    assert_error(
        &act(&site, &owner, "/account/passkeys/remove", &unknown).await,
        404,
        "passkey_not_found",
        "unknown",
    );
    done(&site, &owner, "/account/passkeys/remove", &json!({"passkey_id": last})).await;
    assert_eq!(add(&site, &owner, &mut more(), "21").await.status, 200);
    service.stop();
    host.assert_verified();

    // A host name without TLS.
    let other = "http://pay.example";
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", other);
    let service = host.start_behind(other);
    let site = ServiceClient::of(&service);
    let owner = Owner::of(&site, &Agent::new(Network::Base)).await;
    let credential = json!({"rawId": "AQ", "response": {
        "clientDataJSON": "AQ", "attestationObject": "AQ", "authenticatorData": "AQ", "signature": "AQ",
    }});
    for (path, body) in [
        ("/account/passkeys/options", json!({})),
        ("/account/passkeys", json!({"name": "Key", "credential": credential})),
        ("/account/confirm/options", json!({})),
        ("/account/confirm", json!({"credential": credential})),
        ("/login/passkey/options", json!({})),
        ("/login/passkey", json!({"credential": credential})),
    ] {
        let answer = owner.act_from(&site, other, path, &body).await;
        assert_error(&answer, 409, "passkeys_unavailable", path);
    }
    let listed = site.get("/account/passkeys", &[("cookie", owner.cookie())]).await;
    assert_eq!(listed.body["available"], json!(false), "{}", listed.text);
}

/// Routes that take a session, with a body that fits as far as its form.
const OWNER_ROUTES: [(&str, &str); 7] = [
    ("GET", "/account/passkeys"),
    ("POST", "/account/passkeys/options"),
    ("POST", "/account/passkeys"),
    ("POST", "/account/passkeys/rename"),
    ("POST", "/account/passkeys/remove"),
    ("POST", "/account/confirm/options"),
    ("POST", "/account/confirm"),
];
const SIGN_IN_ROUTES: [&str; 2] = ["/login/passkey/options", "/login/passkey"];

#[tokio::test(flavor = "multi_thread")]
async fn passkey_routes_reject_what_does_not_fit() {
    // Checks: Each route without a session, from another page, and with a body that does not fit. An account without
    // passkeys confirms nothing, and there is no other account's passkey.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let owner = Owner::of(&site, &Agent::new(Network::Base)).await;
    for (method, path) in OWNER_ROUTES {
        let request = || match method {
            "GET" => site.request(method, path),
            _ => site.request(method, path).json(&json!({})),
        };
        let none = send(request().header("origin", PUBLIC)).await.unwrap();
        assert_error(&none, 401, "token_missing", path);
        let foreign = request().header("cookie", owner.cookie());
        let foreign = match method {
            "GET" => foreign.header("sec-fetch-site", "cross-site"),
            _ => foreign.header("origin", "http://evil.example"),
        };
        assert_error(&send(foreign).await.unwrap(), 403, "origin_not_allowed", path);
    }
    for path in OWNER_ROUTES
        .iter()
        .filter(|(method, _)| *method == "POST")
        .map(|(_, path)| *path)
    {
        let answer = act(&site, &owner, path, &json!({"unknown": 1})).await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.text);
    }
    for path in SIGN_IN_ROUTES {
        let answer = from_page(&site, path, &json!({"unknown": 1})).await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.text);
        let foreign = site.request("POST", path).header("origin", "http://evil.example");
        let answer = send(foreign.json(&json!({}))).await.unwrap();
        assert_error(&answer, 403, "origin_not_allowed", path);
    }
    let none = act(&site, &owner, "/account/confirm/options", &json!({})).await;
    assert_error(&none, 404, "passkey_not_found", "no passkey");
    let other = Owner::of(&site, &Agent::new(Network::Solana)).await;
    let mut device = Authenticator::new(1, PUBLIC);
    let added = add(&site, &other, &mut device, "Phone").await;
    let body = json!({"passkey_id": added.body["passkey_id"], "name": "Mine"});
    assert_error(
        &act(&site, &owner, "/account/passkeys/rename", &body).await,
        404,
        "passkey_not_found",
        "another's",
    );
    let body = json!({"passkey_id": added.body["passkey_id"]});
    assert_error(
        &act(&site, &owner, "/account/passkeys/remove", &body).await,
        404,
        "passkey_not_found",
        "another's",
    );
    let options = done(&site, &owner, "/account/passkeys/options", &json!({})).await;
    let mut credential = Authenticator::new(2, PUBLIC).create(&options);
    credential["response"]["attestationObject"] = json!("oA");
    let body = json!({"name": "Key", "credential": credential});
    assert_error(
        &act(&site, &owner, "/account/passkeys", &body).await,
        400,
        "passkey_malformed",
        "no attestation",
    );
    let mut credential = Authenticator::new(3, PUBLIC).create_with_algorithm(&options, 0x37);
    credential["clientExtensionResults"] = json!({"credProps": {"rk": true}});
    let body = json!({"name": "Key", "credential": credential});
    let answer = act(&site, &owner, "/account/passkeys", &body).await;
    assert_error(&answer, 400, "passkey_algorithm_unsupported", "another algorithm");
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_passkey_confirms_nothing_in_any_session() {
    // Checks: a confirmation in another session, which the passkey did not open, ends with the passkey at once, and stays
    // ended after a crash. One by another passkey goes on.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let owner = Owner::of(&site, &agent).await;
    let (mut lost, mut kept) = (Authenticator::new(1, PUBLIC), Authenticator::new(2, PUBLIC));
    let id = add(&site, &owner, &mut lost, "Lost").await.body["passkey_id"].clone();
    assert_eq!(confirm(&site, &owner, &mut lost).await.status, 200);
    assert_eq!(add(&site, &owner, &mut kept, "Laptop").await.status, 200);
    let (by_lost, by_kept) = (Owner::of(&site, &agent).await, Owner::of(&site, &agent).await);
    assert_eq!(confirm(&site, &by_lost, &mut lost).await.status, 200);
    assert_eq!(confirm(&site, &by_kept, &mut kept).await.status, 200);
    done(&site, &by_kept, "/account/passkeys/remove", &json!({"passkey_id": id})).await;
    let is_confirmed = async |site: &ServiceClient<'_>, owner: &Owner| {
        let withdrawal = ask(site, owner, "POST", "/withdraw").await;
        let confirmed = withdrawal.code() != "confirmation_required";
        assert_eq!(owner.account(site).await.body["confirmed_until"].is_string(), confirmed);
        confirmed
    };
    for (session, expected) in [(&owner, false), (&by_lost, false), (&by_kept, true)] {
        assert_eq!(is_confirmed(&site, session).await, expected);
    }
    service.kill();
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    for (session, expected) in [(&owner, false), (&by_lost, false), (&by_kept, true)] {
        assert_eq!(is_confirmed(&site, session).await, expected);
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn payout_link_needs_a_confirmation_on_a_page() {
    // Checks: the holder of the link is paid. So the page of the owner shows it while the session is confirmed, and a page
    // that an API key opened or that is not confirmed does not. Nor is a webhook registered there. A token sees it.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let bought = agent.buy(&site, "/get-push-to-card?amount=25&currency=USD").await;
    let path = format!("/get-payment-status?payout_id={}", bought.str("payout_id").unwrap());
    let owner = Owner::by_token(&site, &token).await;
    let link = async || {
        let shown = site.get(&path, &[("cookie", owner.cookie())]).await;
        assert_eq!(shown.status, 200, "{}", shown.text);
        shown.str("redemption_url").map(str::to_owned)
    };
    assert_eq!(link().await.as_deref(), bought.str("redemption_url"));
    advance(&site, 601).await;
    assert_eq!(link().await, None);
    let hook = json!({"url": "https://example.com/hook"});
    let refused = owner.act(&site, "/register-webhook", &hook).await;
    assert_error(&refused, 403, "confirmation_required", "a webhook");
    let own = site.get_as(&token, &path).await;
    assert_eq!(own.str("redemption_url"), bought.str("redemption_url"));
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_wallet_makes_no_link_for_an_owner_with_a_passkey() {
    // Checks: without a passkey the link is the owner's way back. With one it would only let in an agent that has the
    // wallet's key.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    for (agent, has_passkey) in [(Agent::new(Network::Base), false), (Agent::new(Network::Solana), true)] {
        let owner = Owner::of(&site, &agent).await;
        if has_passkey {
            let mut phone = Authenticator::new(1, PUBLIC);
            assert_eq!(add(&site, &owner, &mut phone, "Phone").await.status, 200);
        }
        done(&site, &owner, "/account/stop-agents", &json!({})).await;
        let link = site.get_as(&agent.token(&site).await, "/get-auth-link").await;
        if has_passkey {
            assert_error(&link, 403, "agents_stopped", "a link");
        } else {
            assert_eq!(link.status, 200, "{}", link.text);
        }
    }
}
