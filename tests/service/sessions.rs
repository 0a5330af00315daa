//! Sessions of an account on the account page: listed, ended, signed out of.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::access::{field, refresh};
use super::agent::Agent;
use super::banking::result;
use super::host::Host;
use super::http::{Response, ServiceClient};
use super::listener::Stream;
use super::owner::Owner;

async fn list(site: &ServiceClient<'_>, owner: &Owner) -> Vec<Value> {
    let listed = site.get("/account/sessions", &[("cookie", owner.cookie())]).await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    listed.body["sessions"].as_array().unwrap().clone()
}

fn assert_error(answer: &Response, status: u16, code: &str) {
    assert_eq!((answer.status, answer.code()), (status, code), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_lists_and_ends_sessions() {
    // Checks: Sessions of a sign-in, a payment and a login link are listed with what opened them. Ending one ends its
    // tokens, the browser sessions of its links and their streams, also over a kill. It is then no longer listed.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let signed_in = agent.sign_in(&site).await;
    let lost = field(&signed_in, "/auth/id_token");
    let stolen = Owner::by_token(&site, &lost).await;
    let owner = Owner::of(&site, &agent).await;
    let seen = list(&site, &owner).await;
    let of = |name: &str, value: Value| seen.iter().filter(|one| one[name] == value).count();
    let kinds = (of("kind", json!("browser")), of("kind", json!("token")));
    assert_eq!((seen.len(), kinds), (5, (2, 3)), "{seen:#?}");
    assert_eq!(
        (of("opened_by", json!("payment")), of("current", json!(true))),
        (1, 1),
        "{seen:#?}"
    );
    assert_eq!(of("payment_id", bought.body["payment_id"].clone()), 1, "{seen:#?}");
    let browser = site.get("/account/sessions", &[("cookie", stolen.cookie())]).await;
    let browser = browser.body["sessions"].as_array().unwrap();
    let browser = browser.iter().find(|one| one["current"] == true).unwrap();
    let parent = browser["parent_session_id"].clone();
    assert!(
        seen.iter()
            .any(|one| one["session_id"] == parent && one["kind"] == "token"),
        "{seen:#?}"
    );

    let of_page = [("cookie", stolen.cookie()), ("origin", service.url.as_str())];
    let mut streams = [
        Stream::open(&site, &lost).await,
        Stream::open_with_headers(&site, &of_page).await.unwrap(),
    ];
    let ended = owner
        .act(&site, "/account/sessions/end", &json!({"session_id": parent}))
        .await;
    assert_eq!(ended.status, 200, "{}", ended.text);
    for stream in &mut streams {
        assert_eq!(stream.until_closed().await, 4001);
    }
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_error(&site.get_as(&lost, "/get-account-balance").await, 401, "token_revoked");
    let refreshed = refresh(&site, &field(&signed_in, "/auth/refresh_token")).await;
    assert_error(&refreshed, 401, "refresh_token_revoked");
    assert_error(&stolen.account(&site).await, 401, "token_revoked");
    assert_eq!(list(&site, &owner).await.len(), 3);
    let again = owner
        .act(&site, "/account/sessions/end", &json!({"session_id": parent}))
        .await;
    assert_error(&again, 404, "session_not_found");
    let out = owner.act(&site, "/account/sign-out", &json!({})).await;
    assert_eq!(out.status, 200, "{}", out.text);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_act_for_their_own_account_only() {
    // Checks: Another account's session, API key or an invented id is not found or not permitted, and nothing of it ends.
    // A session that only looks ends nothing and can sign itself out. No one else's page signs it out.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (one, two) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let token = one.token(&site).await;
    let victim = Owner::by_token(&site, &token).await;
    let made = site.request("POST", "/createAgentApiKey").bearer_auth(&token);
    let made = super::http::send(made.json(&json!({"data": {"name": "Ada"}})))
        .await
        .unwrap();
    let key = made.body["result"]["key"]["apiKeyId"].clone();
    let thief = Owner::of(&site, &two).await;
    for session in list(&site, &victim).await {
        let end = json!({"session_id": session["session_id"]});
        assert_error(
            &thief.act(&site, "/account/sessions/end", &end).await,
            404,
            "session_not_found",
        );
    }
    let invented = thief
        .act(&site, "/account/sessions/end", &json!({"session_id": "ses_1"}))
        .await;
    assert_error(&invented, 404, "session_not_found");
    let missing = thief.act(&site, "/account/sessions/end", &json!({})).await;
    assert_error(&missing, 400, "parameter_missing");
    let revoked = thief
        .act(&site, "/account/api-keys/revoke", &json!({"api_key_id": key}))
        .await;
    assert_error(&revoked, 403, "api_key_access_denied");
    assert_eq!(victim.account(&site).await.status, 200);

    let bought = one.buy(&site, "/get-card?amount=5").await;
    let visitor = Owner::by_token(&site, bought.body["auth"]["id_token"].as_str().unwrap()).await;
    let own = list(&site, &visitor).await;
    let end = json!({"session_id": own[0]["session_id"]});
    assert_error(
        &visitor.act(&site, "/account/sessions/end", &end).await,
        403,
        "sign_in_required",
    );
    for origin in ["https://evil.example", "null"] {
        let forged = visitor.act_from(&site, origin, "/account/sign-out", &json!({})).await;
        assert_error(&forged, 403, "origin_not_allowed");
    }
    let out = visitor.act(&site, "/account/sign-out", &json!({})).await;
    assert_eq!(out.status, 200, "{}", out.text);
    assert!(
        out.header("set-cookie").unwrap().contains("Max-Age=0"),
        "{:?}",
        out.headers
    );
    assert_error(&visitor.account(&site).await, 401, "token_revoked");
    let anonymous = site.get("/account/sessions", &[]).await;
    assert_error(&anonymous, 401, "token_missing");
    let other_page = site
        .get(
            "/account/sessions",
            &[("cookie", victim.cookie()), ("sec-fetch-site", "same-site")],
        )
        .await;
    assert_error(&other_page, 403, "origin_not_allowed");
    site.freeze(&one.address(), Some("Call us.")).await;
    let frozen = site.get("/account/sessions", &[("cookie", victim.cookie())]).await;
    assert_error(&frozen, 403, "account_frozen");
    let out = victim.act(&site, "/account/sign-out", &json!({})).await;
    assert_eq!(out.status, 200, "a frozen account signs out: {}", out.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_see_their_own_sessions_and_key_only() {
    // Checks: A page of a link of an API key's token, or of a payment's, lists the sessions of that key or payment, and
    // no other key. So do the tokens. The owner's page lists all, and so does the wallet's token.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let own = agent.token(&site).await;
    let mut keys = Vec::new();
    for name in ["Courier", "Larder"] {
        let made = result(&site, &own, "createAgentApiKey", json!({ "name": name })).await;
        let entered = result(&site, made["apiKey"].as_str().unwrap(), "agentAuth", json!({})).await;
        let page = Owner::by_token(&site, entered["idToken"].as_str().unwrap()).await;
        let listed = result(
            &site,
            entered["idToken"].as_str().unwrap(),
            "listAgentApiKeys",
            json!({}),
        )
        .await;
        let listed = listed["keys"].as_array().unwrap();
        assert_eq!(
            (listed.len(), &listed[0]["apiKeyId"]),
            (1, &made["key"]["apiKeyId"]),
            "{listed:?}"
        );
        let of_key = entered["idToken"].as_str().unwrap();
        let events = site
            .get_as(of_key, "/events?types=api_key.*,session.*&limit=100")
            .await
            .body;
        let events = events["events"].as_array().unwrap();
        let is_own = |event: &Value| event["data"]["object"]["api_key_id"] == made["key"]["apiKeyId"];
        assert!(!events.is_empty() && events.iter().all(is_own), "{events:#?}");
        keys.push((made["key"]["apiKeyId"].clone(), page));
    }
    let listed = result(&site, &own, "listAgentApiKeys", json!({})).await;
    assert_eq!(
        listed["keys"].as_array().unwrap().len(),
        2,
        "the wallet sees all: {listed}"
    );
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let of_payment = bought.body["auth"]["id_token"].as_str().unwrap();
    let listed = result(&site, of_payment, "listAgentApiKeys", json!({})).await;
    assert_eq!(listed["keys"], json!([]));
    let events = site.get_as(of_payment, "/events?types=api_key.*,session.*").await;
    assert_eq!(events.body["events"], json!([]), "{}", events.text);
    let payer = Owner::by_token(&site, of_payment).await;
    for (key, page) in &keys {
        let seen = list(&site, page).await;
        assert_eq!(seen.len(), 2, "its token and its page: {seen:#?}");
        assert!(seen.iter().all(|one| one["api_key_id"] == *key), "{seen:#?}");
        let account = page.account(&site).await.body;
        let shown = account["api_keys"].as_array().unwrap();
        assert_eq!((shown.len(), &shown[0]["api_key_id"]), (1, key), "{account}");
        let connected = account["connected_agents"].as_array().unwrap();
        assert!(connected.iter().all(|one| one["api_key_id"] == *key), "{account}");
    }
    let seen = list(&site, &payer).await;
    let payment = &bought.body["payment_id"];
    assert_eq!(seen.len(), 2, "{seen:#?}");
    assert!(seen.iter().all(|one| one["payment_id"] == *payment), "{seen:#?}");
    assert_eq!(payer.account(&site).await.body["api_keys"], json!([]));
    let owner = Owner::of(&site, &agent).await;
    let seen = list(&site, &owner).await;
    assert!(seen.len() >= 8, "{seen:#?}");
    assert_eq!(owner.account(&site).await.body["api_keys"].as_array().unwrap().len(), 2);
    service.stop();
    host.assert_verified();
}
