//! *Stop my agents*: the owner's button on the account page, felt by everything that acts for the account.

use purser::http::callable::FUNCTION_NAMES;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::access::{field, refresh};
use super::access_matrix::MATRIX;
use super::agent::Agent;
use super::agent_wallet::opened;
use super::banking::{call, result};
use super::cross_account_access::requires_token;
use super::frozen_accounts::BODIES;
use super::full_account::FullAccount;
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::listener::Stream;
use super::owner::Owner;
use super::replay::transfer_count;

const CARD: &str = "/get-card?amount=5";

fn assert_stopped(answer: &Response, what: &str) {
    let error = (answer.status, answer.code());
    assert_eq!(error, (403, "agents_stopped"), "{what}: {}", answer.text);
}

async fn set_stopped(site: &ServiceClient<'_>, owner: &Owner, stopped: bool) -> Value {
    let path = if stopped {
        "/account/stop-agents"
    } else {
        "/account/resume-agents"
    };
    let answer = owner.act(site, path, &json!({})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.body["agents_stopped_at"].is_string(), stopped, "{}", answer.text);
    answer.body["agents_stopped_at"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_agents_are_rejected_on_every_route() {
    // Checks: After the stop, every route with a token returns 403 agents_stopped to tokens of any age, the account's own
    // ids included; only a login link can still be made. Nothing is charged. Streams of tokens close at once, the page's
    // stays open and shows the event. It survives a kill. Resumed, earlier tokens stay ended and new ones work.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let mut person = FullAccount::furnished(&site, Network::Base, 31).await;
    let owner = Owner::of(&site, &person.agent).await;
    let signed_in = person.agent.sign_in(&site).await;
    let old_refresh = field(&signed_in, "/auth/refresh_token");
    let payment = person.agent.payment(&site, CARD).await;
    let mut stream = Stream::open(&site, &person.token).await;
    let of_page = [("cookie", owner.cookie()), ("origin", service.url.as_str())];
    let mut page = Stream::open_with_headers(&site, &of_page).await.unwrap();
    page.send(&json!({"type": "subscribe", "types": ["account.*"]})).await;
    page.frame().await;
    assert_eq!(owner.account(&site).await.body["api_keys"].as_array().unwrap().len(), 1);

    let since = set_stopped(&site, &owner, true).await;
    assert_eq!(set_stopped(&site, &owner, true).await, since, "stopped once");
    assert_eq!(stream.until_closed().await, 4001);
    assert_eq!(page.frame().await["event"]["type"], "account.agents_stopped");
    let (old, newest) = (person.token.clone(), person.agent.token(&site).await);
    for token in [&old, &newest] {
        person.token.clone_from(token);
        for ask in MATRIX.iter().filter(|ask| !ask.is_paid) {
            assert_stopped(&ask.of(&site, Some(&person), person.id(ask.of)).await, ask.route);
        }
        let document = site.document().await;
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let method = method.to_uppercase();
                if path == "/get-auth-link" || !requires_token(operation) {
                    continue;
                }
                if MATRIX.iter().any(|ask| ask.requires_id(&method, path)) {
                    continue;
                }
                let mut request = site.request(&method, path).bearer_auth(token);
                if let Some((_, body)) = BODIES.iter().find(|(of, _)| of == path) {
                    request = request.body(*body);
                } else if FUNCTION_NAMES.contains(&path.as_str()) {
                    request = request.body(r#"{"data": {}}"#);
                }
                assert_stopped(&send(request).await.unwrap(), &format!("{method} {path}"));
            }
        }
    }
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_stopped(&Agent::pay(&site, CARD, &payment).await, CARD);
    assert_eq!(transfer_count(&site, &payment).await, 0, "nothing is charged");
    let account = owner.account(&site).await;
    assert_eq!(account.body["agents_stopped_at"], since, "{}", account.text);
    until("the key is revoked", async || {
        (owner.account(&site).await.body["api_keys"] == json!([])).then_some(())
    })
    .await;
    // The owner still gets in.
    let again = Owner::by_token(&site, &newest).await;
    assert_eq!(again.account(&site).await.status, 200);

    set_stopped(&site, &owner, false).await;
    let ended = site.get_as(&old, "/get-account-balance").await;
    assert_eq!((ended.status, ended.code()), (401, "token_revoked"), "{}", ended.text);
    let ended = refresh(&site, &old_refresh).await;
    assert_eq!(
        (ended.status, ended.code()),
        (401, "refresh_token_revoked"),
        "{}",
        ended.text
    );
    let token = person.agent.token(&site).await;
    assert_eq!(site.get_as(&token, "/get-account-balance").await.status, 200);
    assert_eq!(Agent::pay(&site, CARD, &payment).await.status, 200);
    let types = site.events(&token, 0).await;
    let of_stop = |kind: &str| types.iter().filter(|event| event["type"] == kind).count();
    assert_eq!(
        (of_stop("account.agents_stopped"), of_stop("account.agents_resumed")),
        (1, 1)
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_reaches_keys_and_the_managed_wallet() {
    // Checks: A key from before the stop is revoked, and one that the owner makes meanwhile is valid after it. The managed
    // wallet pays for nothing, for any caller, and moves nothing. Only the owner's own page can stop and resume.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, _) = opened(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    let made = result(&site, &token, "createAgentApiKey", json!({"name": "Ada"})).await;
    let exchange = async |key: &Value| {
        let request = site.request("POST", "/agentAuth").bearer_auth(key.as_str().unwrap());
        send(request.json(&json!({"data": {}}))).await.unwrap()
    };
    let of_key = exchange(&made["apiKey"]).await.body["result"]["idToken"]
        .as_str()
        .unwrap()
        .to_owned();
    let visitor = Owner::by_token(&site, &of_key).await;
    for path in ["/account/stop-agents", "/account/resume-agents"] {
        let refused = visitor.act(&site, path, &json!({})).await;
        assert_eq!((refused.status, refused.code()), (403, "sign_in_required"), "{path}");
        let other_page = owner.act_from(&site, "https://evil.example", path, &json!({})).await;
        assert_eq!(
            (other_page.status, other_page.code()),
            (403, "origin_not_allowed"),
            "{path}"
        );
        let by_token = site
            .request("POST", path)
            .bearer_auth(&token)
            .header("origin", &service.url);
        let by_token = send(by_token.json(&json!({}))).await.unwrap();
        assert_eq!((by_token.status, by_token.code()), (401, "token_missing"), "{path}");
    }
    set_stopped(&site, &owner, true).await;
    let revoked = exchange(&made["apiKey"]).await;
    assert_eq!(
        (revoked.status, revoked.code()),
        (401, "api_key_revoked"),
        "{}",
        revoked.text
    );
    let ended = visitor.account(&site).await;
    assert_eq!((ended.status, ended.code()), (401, "token_revoked"), "{}", ended.text);
    let by_page =
        async |function: &str, data: Value| owner.act(&site, &format!("/{function}"), &json!({"data": data})).await;
    let transfer = json!({"toAddress": agent.address(), "amountUsdc": 1});
    let paid_call = json!({"route": CARD});
    for (function, data) in [("agentWalletTransfer", transfer.clone()), ("agentX402Pay", paid_call)] {
        assert_stopped(&call(&site, &token, function, data.clone()).await, function);
        assert_stopped(&by_page(function, data).await, function);
    }
    let new = by_page("createAgentApiKey", json!({"name": "Ben"})).await;
    assert_eq!(new.status, 200, "{}", new.text);
    let new = &new.body["result"]["apiKey"];
    assert_stopped(&exchange(new).await, "the new key");
    set_stopped(&site, &owner, false).await;
    assert_eq!(exchange(new).await.status, 200);
    let sent = by_page("agentWalletTransfer", transfer).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    service.stop();
    host.assert_verified();
}
