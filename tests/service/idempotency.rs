//! Idempotency keys of withdrawals and order cancellations.

use purser::http::callable::FUNCTION_NAMES;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::access_matrix::MATRIX;
use super::agent::Agent;
use super::cross_account_access::requires_token;
use super::full_account::FullAccount;
use super::host::Host;
use super::http::{Response, ServiceClient, send};
use super::operator_client::OperatorClient;
use super::withdraw::{agent_with_balance, balance, ended, id_of, received, start, withdraw};

#[tokio::test(flavor = "multi_thread")]
async fn case_52_concurrent_requests_with_one_key_make_one_withdrawal() {
    // Checks: One request is executed. The others get `in progress` or its response, and later all get its response. A
    // new key is a new withdrawal.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (_, token) = agent_with_balance(&site, Network::Base).await;
    let body = json!({"amount": 1});
    let calls = (0..20).map(|_| withdraw(&site, &token, Some("one"), &body));
    let answers = futures_util::future::join_all(calls).await;
    let first: Vec<_> = answers.iter().filter(|a| a.status == 202).collect();
    let fresh = first.iter().filter(|a| a.header("idempotency-replayed").is_none());
    assert_eq!(fresh.count(), 1);
    for answer in &answers {
        match answer.status {
            202 => assert_eq!(answer.text, first[0].text),
            _ => assert_eq!((answer.status, answer.code()), (409, "idempotency_key_in_progress")),
        }
    }
    let again = withdraw(&site, &token, Some("one"), &body).await;
    assert_eq!((again.status, &again.text), (202, &first[0].text));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let other = withdraw(&site, &token, Some("two"), &body).await;
    assert_ne!(id_of(&other), id_of(&again));
    let all = site.get_as(&token, "/get-withdrawal-status").await.body;
    assert_eq!(all["withdrawals"].as_array().unwrap().len(), 2, "{all}");
    for answer in [again, other] {
        ended(&site, &token, &id_of(&answer)).await;
    }
    balance(&site, &token, [4.66, 4.66, 0.0]).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_53_key_covers_one_body_and_one_account() {
    // Checks: Another body is a 422. An equivalent body is a replay. Another account's key is independent.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let ((agent, token), (_, other)) = (
        agent_with_balance(&site, Network::Base).await,
        agent_with_balance(&site, Network::Solana).await,
    );
    let first = withdraw(&site, &token, Some("k"), &json!({"amount": 1})).await;
    let same = json!({"network": "base", "amount": "1.00", "address": agent.address()});
    let same = withdraw(&site, &token, Some("k"), &same).await;
    assert_eq!(
        (id_of(&same), same.header("idempotency-replayed")),
        (id_of(&first), Some("true"))
    );
    let changed = withdraw(&site, &token, Some("k"), &json!({"amount": 2})).await;
    assert_eq!((changed.status, changed.code()), (422, "idempotency_key_reused"));
    let theirs = withdraw(&site, &other, Some("k"), &json!({"amount": 1})).await;
    assert_eq!(theirs.header("idempotency-replayed"), None);
    assert_ne!(id_of(&theirs), id_of(&first));
    let seen = format!("/get-withdrawal-status?withdrawal_id={}", id_of(&first));
    let refused = site.get_as(&other, &seen).await;
    assert_eq!((refused.status, refused.code()), (403, "withdrawal_access_denied"));
    assert!(!refused.text.contains("amount"), "{}", refused.text);
}

/// Routes that change state with a token, and the event of each change. [`MATRIX`] has the bodies that need an id.
const CHANGES: &[(&str, &str, &str)] = &[
    ("POST", "/cancel-intl-order", "intl_order.cancelled"),
    ("POST", "/close-card", "reloadable_card.close_requested"),
    ("POST", "/create-reloadable-card", "reloadable_card.creating"),
    ("POST", "/pause-card", "reloadable_card.pause_requested"),
    ("POST", "/payment-recipients", "payment_recipient.renamed"),
    ("POST", "/refresh-card-data", "card.refresh_requested"),
    ("POST", "/resume-card", "reloadable_card.resume_requested"),
    ("POST", "/withdraw", "withdrawal.pending"),
    ("POST", "/withdraw-card-balance", "card_withdrawal.pending"),
    ("POST", "/register-webhook", "webhook.registered"),
    ("POST", "/redeliver-webhook", "webhook.redelivery_requested"),
    ("POST", "/delete-webhook", "webhook.deleted"),
    // Last, because it deletes resources that other rows need.
    ("DELETE", "/payment-recipients", "payment_recipient.deleted"),
];

/// The body of a route that takes no id.
fn request_body(path: &str, person: &FullAccount) -> Value {
    match path {
        "/create-reloadable-card" => json!({"usd_amount": 1}),
        "/register-webhook" => json!({"url": "https://hooks.unused.example/c"}),
        "/withdraw-card-balance" => json!({"amount": 2, "destination_address": person.agent.address()}),
        _ => json!({"amount": 1}),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_that_changes_state_takes_a_key() {
    // Checks: Every documented route that changes state with a token, so new routes are covered too. Sent twice under a
    // key, it is executed once and gives the same response.
    let host = Host::new().with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let document = site.document().await;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let method = method.to_uppercase();
            // Callable functions have their own tests.
            if !requires_token(operation) || method == "GET" || FUNCTION_NAMES.contains(&path.as_str()) {
                continue;
            }
            let known = |(m, p, _): &&(&str, &str, &str)| (*m, *p) == (&*method, path);
            assert!(
                CHANGES.iter().any(|change| known(&change)),
                "{method} {path}: what does it change?"
            );
            for status in ["409", "422"] {
                assert!(
                    operation["responses"].get(status).is_some(),
                    "{method} {path} does not know {status}"
                );
            }
        }
    }
    let person = FullAccount::furnished(&site, Network::Base, 31).await;
    let keyed = |method: &str, path: &str, key: &str| {
        let ask = MATRIX.iter().find(|ask| (ask.method, ask.route) == (method, path));
        let request = match ask {
            Some(ask) => ask.request(&site, person.id(ask.of)),
            None => site.request(method, path).body(request_body(path, &person).to_string()),
        };
        request.bearer_auth(&person.token).header("idempotency-key", key)
    };
    for (method, path, event) in CHANGES {
        let changed = async || {
            let events = site.events(&person.token, 0).await;
            events.iter().filter(|one| one["type"] == *event).count()
        };
        let before = changed().await;
        let key = format!("{method} {path}");
        let first = send(keyed(method, path, &key)).await.unwrap();
        assert!(matches!(first.status, 200 | 202), "{key}: {}", first.text);
        let again = send(keyed(method, path, &key)).await.unwrap();
        assert_eq!((again.status, &again.text), (first.status, &first.text), "{key}");
        let replayed = [&first, &again].map(|answer| answer.header("idempotency-replayed"));
        assert_eq!(replayed, [None, Some("true")], "{key}");
        assert_eq!(changed().await, before + 1, "{key} was done once");
    }
    let recorded = format!("{} {}", CHANGES[0].0, CHANGES[0].1);
    for (method, path, _) in &CHANGES[1..] {
        let reused = send(keyed(method, path, &recorded)).await.unwrap();
        assert_eq!(
            (reused.status, reused.code()),
            (422, "idempotency_key_reused"),
            "{method} {path}"
        );
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_54_key_length_is_limited_to_255_characters() {
    // Checks: A key may have 255 characters. 256, none, or other characters give a 400 that changes nothing.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let (_, token) = agent_with_balance(&site, Network::Base).await;
    let body = json!({"amount": 1});
    for bad in ["x".repeat(256), String::new(), "ключ".to_owned()] {
        let refused = withdraw(&site, &token, Some(&bad), &body).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "idempotency_key_invalid"),
            "{bad}"
        );
    }
    let all = site.get_as(&token, "/get-withdrawal-status").await.body;
    assert_eq!(all, json!({"withdrawals": [], "has_more": false}));
    id_of(&withdraw(&site, &token, Some(&"x".repeat(255)), &body).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotency_record_lasts_one_day() {
    // Checks: 23 hours later the key still gives the first response. Two hours after that it makes a new withdrawal.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    let body = json!({"amount": 1});
    let first = id_of(&withdraw(&site, &token, Some("rent"), &body).await);
    ended(&site, &token, &first).await;
    for (hours, replayed) in [(23, Some("true")), (2, None)] {
        site.advance(hours * 3_600).await;
        let token = agent.token(&site).await;
        let later = withdraw(&site, &token, Some("rent"), &body).await;
        assert_eq!(later.header("idempotency-replayed"), replayed, "{}", later.text);
        assert_eq!(id_of(&later) == first, replayed.is_some());
        ended(&site, &token, &id_of(&later)).await;
    }
    assert_eq!(received(&site, &agent).await, [1_000_000, 1_000_000]);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_55_only_executed_commands_are_replayed() {
    // Checks: An executed command's 409 is replayed although it would succeed now, over a restart, and its first
    // response says so. Without a key it may succeed later. A 400, a 401 and a frozen account's 403 are not stored.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    let much = json!({"amount": 7});
    let refused = withdraw(&site, &token, Some("much"), &much).await;
    assert_eq!((refused.status, refused.code()), (409, "insufficient_balance"));
    assert_eq!(refused.header("idempotency-replayed"), None);
    assert_eq!(refused.body["terminal"], true);
    let for_now = withdraw(&site, &token, None, &much).await;
    assert_eq!(
        (for_now.code(), &for_now.body["terminal"]),
        ("insufficient_balance", &json!(false))
    );
    let wrong = withdraw(&site, &token, Some("later"), &json!({"amount": 0})).await;
    assert_eq!((wrong.status, wrong.code()), (400, "amount_out_of_range"));
    assert_eq!(withdraw(&site, "no token", Some("later"), &much).await.status, 401);
    site.freeze(&agent.address(), Some("Please write to us.")).await;
    let frozen = withdraw(&site, &token, Some("later"), &json!({"amount": 1})).await;
    assert_eq!((frozen.status, frozen.code()), (403, "account_frozen"));
    site.freeze(&agent.address(), None).await;
    agent.buy(&site, "/get-card?amount=6.66").await;
    balance(&site, &token, [13.32, 13.32, 0.0]).await;
    service.kill();

    let service = host.start();
    let site = ServiceClient::of(&service);
    let again = withdraw(&site, &token, Some("much"), &much).await;
    assert_eq!((again.status, again.code()), (409, "insufficient_balance"));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.body["error"], refused.body["error"]);
    assert_eq!(again.body["terminal"], true);
    assert_eq!(
        again.str("request_id"),
        again.header("request-id"),
        "the refusal names its own request"
    );
    id_of(&withdraw(&site, &token, Some("later"), &json!({"amount": 1})).await);
    id_of(&withdraw(&site, &token, Some("much, again"), &much).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_56_retry_after_kills_moves_the_money_once() {
    // Checks: The process is killed at random moments around the withdrawal. The same request, sent under the same key
    // until it is answered, makes one withdrawal and one transfer.
    let (host, mut service) = start();
    let (agent, token) = agent_with_balance(&ServiceClient::of(&service), Network::Base).await;
    let body = json!({"amount": 6.66});
    for after_ms in [0, 2, 5, 10, 20] {
        let site = ServiceClient::of(&service);
        let request = site.request("POST", "/withdraw").bearer_auth(&token);
        let request = request.header("idempotency-key", "once").body(body.to_string());
        let call = tokio::spawn(send(request));
        tokio::time::sleep(std::time::Duration::from_millis(after_ms)).await;
        service.kill();
        if let Ok(answer) = call.await.unwrap() {
            id_of(&answer);
        }
        service = host.start();
    }
    let site = ServiceClient::of(&service);
    let answer = withdraw(&site, &token, Some("once"), &body).await;
    assert_eq!(ended(&site, &token, &id_of(&answer)).await["state"], "complete");
    balance(&site, &token, [0.0, 0.0, 0.0]).await;
    assert_eq!(received(&site, &agent).await, [6_660_000]);
    service.stop();
    host.assert_verified();
}

async fn cancel(site: &ServiceClient<'_>, token: &str, key: Option<&str>, order: &str) -> Response {
    let request = site.request("POST", "/cancel-intl-order").bearer_auth(token);
    let request = match key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    };
    send(request.body(json!({"card_id": order}).to_string())).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_30_cancellation_under_a_key_happens_once() {
    // Checks: Twenty concurrent cancellations under a key give one credit and one response, also after a kill. Without
    // the key it is a 409. A stored 409 is replayed although the order was released since; another key cancels it.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let order = async |site: &ServiceClient<'_>| {
        let bought = agent.buy(site, "/order-intl-card?amount=100").await;
        bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (order(&site).await, order(&site).await);
    let calls = (0..20).map(|_| cancel(&site, &token, Some("one"), &first));
    let answers = futures_util::future::join_all(calls).await;
    let done = cancel(&site, &token, Some("one"), &first).await;
    assert_eq!((done.status, done.header("idempotency-replayed")), (200, Some("true")));
    assert!(answers.iter().any(|answer| answer.status == 200));
    for answer in &answers {
        match answer.status {
            200 => assert_eq!(answer.text, done.text),
            _ => assert_eq!((answer.status, answer.code()), (409, "idempotency_key_in_progress")),
        }
    }
    let reused = cancel(&site, &token, Some("one"), &second).await;
    assert_eq!((reused.status, reused.code()), (422, "idempotency_key_reused"));
    let lease = operator.claim(&second).await;
    let refused = cancel(&site, &token, Some("two"), &second).await;
    assert_eq!((refused.status, refused.code()), (409, "not_cancellable"));
    operator
        .done("/admin/intl-orders/release", json!({"card_id": second, "lease": lease}))
        .await;
    balance(&site, &token, [103.8, 103.8, 0.0]).await;
    service.kill();

    let service = host.start();
    let site = ServiceClient::of(&service);
    let again = cancel(&site, &token, Some("one"), &first).await;
    assert_eq!((again.status, &again.text), (200, &done.text));
    assert_eq!(cancel(&site, &token, None, &first).await.code(), "not_cancellable");
    let again = cancel(&site, &token, Some("two"), &second).await;
    assert_eq!((again.status, again.code()), (409, "not_cancellable"));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(cancel(&site, &token, Some("three"), &second).await.status, 200);
    balance(&site, &token, [207.6, 207.6, 0.0]).await;
    service.stop();
    host.assert_verified();
}
