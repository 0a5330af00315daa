//! API keys: what they grant, what their tokens may do, and revocation.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::{SinkExt as _, StreamExt as _};
use purser_actors::id::Network;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::access::refresh;
use super::agent::Agent;
use super::banking::{call, result};
use super::http::{Response, ServiceClient, send};
use super::owner::Owner;
use super::signup::{assert_error, complete_signup, form, is_final, patient, poll, sign_up};

/// Exchanges a key sent in the header.
async fn exchange(site: &ServiceClient<'_>, key: &str) -> Response {
    let request = site.request("POST", "/agentAuth").bearer_auth(key);
    send(request.json(&json!({"data": {}}))).await.unwrap()
}

fn token_of(answer: &Response) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["result"]["idToken"].as_str().unwrap().to_owned()
}

/// A key and the token from its exchange.
struct Used {
    signup: Response,
    id: Value,
    key: String,
    tokens: [String; 2],
    refresh: String,
}

/// The key of a claimed signup can be read until its first use, by header and by member, and its token is renewed.
async fn used(site: &ServiceClient<'_>, person: &Agent, (signup, claimed): (Response, Response)) -> Used {
    let key = claimed.str("api_key").unwrap().to_owned();
    assert_eq!(
        poll(site, &signup).await.body,
        claimed.body,
        "a lost answer costs nothing"
    );
    assert_eq!(claimed.str("user_id"), Some(&*person.address().to_lowercase()));
    let entered = exchange(site, &key).await;
    let first = token_of(&entered);
    let claims = URL_SAFE_NO_PAD.decode(first.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    let id = claimed.body["api_key_id"].clone();
    assert_eq!((&claims["amr"], &claims["key"]), (&json!(["api_key"]), &id));
    assert_eq!(entered.body["result"]["expiresIn"], "3600");
    is_final(&poll(site, &signup).await, 410, "api_key_no_longer_available");
    let refreshed = refresh(site, entered.body["result"]["refreshToken"].as_str().unwrap()).await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.text);
    let by_member = json!({"data": {"apiKey": key, "userId": person.address()}});
    let second = send(site.request("POST", "/agentAuth").json(&by_member)).await.unwrap();
    Used {
        signup,
        id,
        key,
        tokens: [first, token_of(&second)],
        refresh: refreshed.str("refresh_token").unwrap().to_owned(),
    }
}

/// The agent names itself. The owner sees the name and the key's record, never the key.
async fn check_owner_view(site: &ServiceClient<'_>, own: &str, owner: &Owner, used: &Used) {
    let identity = json!({"name": "Scout", "client": "a program", "version": "1.2"});
    let announced = result(site, &used.tokens[0], "announceAgentConnection", identity.clone()).await;
    assert_eq!(announced["agent"], identity);
    let events = site.events(own, 0).await;
    let announced = events.iter().find(|event| event["type"] == "session.agent_announced");
    let actor = &announced.unwrap()["actor"];
    let sender = [
        &actor["type"],
        &actor["api_key_id"],
        &actor["api_key_name"],
        &actor["in_browser"],
    ];
    assert_eq!(
        sender,
        [&json!("api_key"), &used.id, &json!("Ada's <agent>"), &json!(false)],
        "{actor}"
    );
    let object = &announced.unwrap()["data"]["object"];
    assert_eq!((&object["agent"], &object["api_key_id"]), (&identity, &used.id));
    site.wait_for_events(own, &["api_key.issued", "api_key.active issued"])
        .await;
    let listed = result(site, &used.tokens[0], "listAgentApiKeys", json!({})).await;
    let listed = &listed["keys"][0];
    assert_eq!(
        (&listed["status"], &listed["name"]),
        (&json!("active"), &json!("Ada's <agent>"))
    );
    let ends = [&listed["prefix"], &listed["last4"]].map(|text| text.as_str().unwrap());
    assert!(used.key.starts_with(ends[0]) && used.key.ends_with(ends[1]), "{listed}");
    let account = owner.account(site).await;
    let shown = &account.body["api_keys"][0];
    let key = [&shown["api_key_id"], &shown["name"], &shown["prefix"], &shown["last4"]];
    let expected = [&used.id, &listed["name"], &listed["prefix"], &listed["last4"]];
    assert!(key == expected && !account.text.contains(&used.key), "{}", account.text);
}

/// Nothing issued under the key is valid any more.
async fn assert_expired(site: &ServiceClient<'_>, used: &Used, browser: &Owner) {
    for token in &used.tokens {
        assert_error(&site.get_as(token, "/get-account-balance").await, 401, "token_revoked");
    }
    assert_error(&refresh(site, &used.refresh).await, 401, "refresh_token_revoked");
    assert_error(&exchange(site, &used.key).await, 401, "api_key_revoked");
    is_final(&poll(site, &used.signup).await, 410, "api_key_no_longer_available");
    let page = site.get("/account", &[("cookie", browser.cookie())]).await;
    assert_error(&page, 401, "token_revoked");
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_signs_up_and_its_key_is_revoked() {
    // Checks: Signup, page, approval, key, tokens. The key can be read again until its first use. Revocation ends its
    // tokens, refresh tokens, sessions, links and streams at once, also over a kill. Other accounts are not affected.
    let host = patient();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let person = Agent::new(Network::Base);
    let own = person.token(&site).await;
    let owner = Owner::by_token(&site, &own).await;
    let claimed = complete_signup(&site, &owner, "Ada%27s%20%3Cagent%3E").await;
    let used = used(&site, &person, claimed).await;
    check_owner_view(&site, &own, &owner, &used).await;
    let other = result(&site, &own, "createAgentApiKey", json!({"name": "Other"})).await;
    let unharmed = token_of(&exchange(&site, other["apiKey"].as_str().unwrap()).await);
    let link = site.get_as(&used.tokens[0], "/get-auth-link").await;
    let browser = Owner::by_link(&site, link.str("auth_url").unwrap()).await;
    let unopened = site.get_as(&used.tokens[0], "/get-auth-link").await;
    let mut stream = listening(&site, &used.tokens[0]).await;
    let revoke = json!({"api_key_id": used.id});
    let revoked = owner.act(&site, "/account/api-keys/revoke", &revoke).await;
    let status = (revoked.status, &revoked.body["api_key"]["status"]);
    assert_eq!(status, (200, &json!("revoked")), "{}", revoked.text);
    let closed = loop {
        if let Message::Close(Some(frame)) = stream.next().await.unwrap().unwrap() {
            break u16::from(frame.code);
        }
    };
    assert_eq!(closed, 4001);
    assert_expired(&site, &used, &browser).await;
    let (_, code) = unopened.str("auth_url").unwrap().split_once("code=").unwrap();
    let opened = site.request("POST", "/login").body(format!("code={code}"));
    assert_eq!(
        send(opened).await.unwrap().status,
        403,
        "a link that the key's token made"
    );
    let keys = result(&site, &own, "listAgentApiKeys", json!({})).await;
    assert_eq!(keys["keys"].as_array().unwrap().len(), 1);
    let events = site.events(&own, 0).await;
    for kind in ["api_key.issued", "api_key.active", "api_key.revoked"] {
        assert!(events.iter().any(|event| event["type"] == kind), "{kind}: {events:?}");
    }
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_expired(&site, &used, &browser).await;
    for token in [&own, &unharmed] {
        assert_eq!(site.get_as(token, "/get-account-balance").await.status, 200);
    }
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["entities"]["api_keys"], 2);
}

type Stream = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

/// A stream that has sent an event, which shows that it is subscribed.
pub(super) async fn listening(site: &ServiceClient<'_>, token: &str) -> Stream {
    let url = format!("ws://{}/stream", site.service.authority());
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    for frame in [
        json!({"type": "auth", "token": token}),
        json!({"type": "subscribe", "after": 0}),
    ] {
        socket.send(Message::text(frame.to_string())).await.unwrap();
    }
    socket.next().await.unwrap().unwrap();
    socket
}

#[tokio::test(flavor = "multi_thread")]
async fn api_key_token_has_limited_rights() {
    // Checks: The token reads, buys and spends from the agent wallet within its caps. It moves no other money, creates
    // no key and reveals nothing about the owner. A frozen account's key can be exchanged, but its token does nothing.
    // The key can revoke itself.
    let host = patient();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let person = Agent::new(Network::Base);
    let own = person.token(&site).await;
    let made = result(&site, &own, "createAgentApiKey", json!({"name": "Agent"})).await;
    let key = made["apiKey"].as_str().unwrap().to_owned();
    let token = token_of(&exchange(&site, &key).await);
    let wallet = result(&site, &token, "createAgentWallet", json!({})).await["wallet"].clone();
    let to = json!({"toAddress": person.address(), "amountUsdc": 1.5});
    assert_eq!(
        result(&site, &token, "agentWalletTransfer", to).await["status"],
        "settled"
    );
    let beyond = json!({"toAddress": person.address(), "amountUsdc": 1_000.5});
    assert_error(
        &call(&site, &token, "agentWalletTransfer", beyond).await,
        403,
        "policy_filtered",
    );
    assert_eq!(wallet["limits"]["perCallUsd"], 1000);
    assert_error(
        &call(&site, &token, "createAgentApiKey", json!({"name": "B"})).await,
        403,
        "sign_in_required",
    );
    let own_id = made["key"]["apiKeyId"].clone();
    let another = result(&site, &own, "createAgentApiKey", json!({"name": "Another"})).await;
    let another = json!({"apiKeyId": another["key"]["apiKeyId"]});
    assert_error(
        &call(&site, &token, "revokeAgentApiKey", another).await,
        403,
        "sign_in_required",
    );
    let withdrawal = json!({"amount": 1, "address": "0x1111111111111111111111111111111111111111"});
    let request = site.request("POST", "/withdraw").bearer_auth(&token).json(&withdrawal);
    assert_error(&send(request).await.unwrap(), 403, "sign_in_required");
    assert_error(&site.get_as(&token, "/get-kyc-link").await, 403, "sign_in_required");
    let link = site.get_as(&token, "/get-auth-link").await;
    let browser = Owner::by_link(&site, link.str("auth_url").unwrap()).await;
    let yes = form(&sign_up(&site).await, "Mine");
    let caps = browser.act(&site, "/account/caps", &json!({})).await;
    assert_error(&caps, 403, "sign_in_required");
    assert_error(&browser.send(&site, "/claim", &yes).await, 403, "sign_in_required");
    assert_eq!(browser.account(&site).await.body["rights"], "look");
    site.freeze(&person.address(), Some("Call us.")).await;
    let frozen = token_of(&exchange(&site, &key).await);
    assert_error(
        &site.get_as(&frozen, "/get-account-balance").await,
        403,
        "account_frozen",
    );
    site.freeze(&person.address(), None).await;
    let itself = result(&site, &token, "revokeAgentApiKey", json!({"apiKeyId": own_id})).await;
    assert_eq!(itself["key"]["status"], "revoked");
    for token in [&token, &frozen] {
        assert_error(&site.get_as(token, "/get-account-balance").await, 401, "token_revoked");
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn api_key_token_cannot_change_saved_addresses() {
    // Checks: An API key's token saves new addresses. Only the owner may change or delete an existing entry.
    let host = patient();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let person = Agent::new(Network::Base);
    let own = person.token(&site).await;
    let made = result(&site, &own, "createAgentApiKey", json!({"name": "Agent"})).await;
    let token = token_of(&exchange(&site, made["apiKey"].as_str().unwrap()).await);
    result(&site, &token, "createAgentWallet", json!({})).await;
    let mum = json!({"name": "mum", "address": person.address()});
    let saved = result(&site, &own, "saveAddressBookEntry", mum).await["entry"]["entryId"].clone();
    let other = json!({"entryId": saved, "name": "mum", "address": "0x1111111111111111111111111111111111111111"});
    for (function, data) in [
        ("saveAddressBookEntry", other),
        ("deleteAddressBookEntry", json!({"entryId": saved})),
    ] {
        assert_error(&call(&site, &token, function, data).await, 403, "sign_in_required");
    }
    let shop = json!({"name": "shop", "address": "0x1111111111111111111111111111111111111111"});
    assert_eq!(
        result(&site, &token, "saveAddressBookEntry", shop).await["entry"]["name"],
        "shop"
    );
}
