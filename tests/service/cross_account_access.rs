//! Two users, every route that takes an id, every id of the other user.

use std::collections::BTreeSet;

use purser::http::routes::PATHS as ROUTES;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::access_matrix::{MATRIX, MatrixCall, StatusAndCode};
use super::crash_checks::Subscriber;
use super::full_account::{FullAccount, contains_secret};
use super::host::Host;
use super::http::{Response, ServiceClient, client, send, send_to_operator, until};
use super::owner::Owner;
use super::placeholder_values::{UNKNOWN_VALUES, WITHOUT_MEMBERS};
use super::recipient::debit_card;

/// The response must match the matrix and contain no secret.
fn assert_response_without_secrets(
    answer: &Response,
    (status, code): StatusAndCode,
    secrets: &BTreeSet<String>,
    label: &str,
) {
    assert_eq!(
        (answer.status, answer.code()),
        (status, code),
        "{label}: {}",
        answer.text
    );
    assert_no_secrets(answer, secrets, label);
}

fn assert_no_secrets(answer: &Response, secrets: &BTreeSet<String>, label: &str) {
    let headers = format!("{:?}", answer.headers);
    for secret in secrets {
        assert!(
            !contains_secret(&answer.text, secret),
            "{label} tells {secret}: {}",
            answer.text
        );
        assert!(!headers.contains(secret.as_str()), "{label} tells {secret}: {headers}");
    }
}

/// Checks one row with another account's id, an unknown id, and ids of other kinds, which every row must reject.
async fn check_row(
    site: &ServiceClient<'_>,
    ask: &MatrixCall,
    who: &FullAccount,
    owner: &FullAccount,
    secrets: &BTreeSet<String>,
) {
    let name = format!("{} {} {}={}", ask.method, ask.route, ask.by, ask.of);
    let id = owner.id(ask.of);
    let denied = ask.of(site, Some(who), id).await;
    assert_response_without_secrets(&denied, ask.other_wallet, secrets, &format!("{name}, another's"));
    let unknown = ask.of(site, Some(who), &who.unknown_id(ask.of)).await;
    assert_response_without_secrets(&unknown, ask.unknown_id, secrets, &format!("{name}, unknown"));
    if ask.other_wallet == ask.unknown_id {
        let named = |answer: &Response| match &answer.body["request_id"] {
            Value::Null => answer.body["error"]["requestId"].clone(),
            id => id.clone(),
        };
        let (denied, unknown) = (
            denied.text.replace(&named(&denied).to_string(), ""),
            unknown.text.replace(&named(&unknown).to_string(), ""),
        );
        assert_eq!(
            denied, unknown,
            "{name}: another account's id must read like an unknown id"
        );
    }
    let anonymous = ask.of(site, None, id).await;
    // A paid route names its price and its payer's wallet to every caller.
    let hidden: BTreeSet<String> = if ask.is_paid {
        BTreeSet::from([owner.agent.address()])
    } else {
        secrets.clone()
    };
    assert_response_without_secrets(&anonymous, ask.without_token, &hidden, &format!("{name}, anonymous"));
    let kind = |id: &str| id.split_once('_').unwrap().0.to_owned();
    for other in owner
        .ids
        .values()
        .filter(|other| kind(other) != kind(id) && !ask.is_paid)
    {
        let answer = ask.of(site, Some(who), other).await;
        assert!(
            matches!(answer.status, 400 | 404),
            "{name} takes {other}: {}",
            answer.text
        );
        assert_no_secrets(&answer, secrets, &format!("{name}, {other}"));
    }
}

/// An intercepted payment: another wallet's token gets an error, and a request without a token gets no credential.
async fn replays(site: &ServiceClient<'_>, who: &FullAccount, owner: &FullAccount, secrets: &BTreeSet<String>) {
    for (path, payment) in &owner.purchases {
        let bearer = format!("Bearer {}", who.token);
        let headers = [("payment-signature", payment.as_str()), ("authorization", &bearer)];
        let refused = site.get(path, &headers).await;
        assert_response_without_secrets(&refused, (403, "wrong_wallet"), secrets, path);
        let bare = site.get(path, &headers[..1]).await;
        assert_eq!(
            (bare.status, &bare.body["auth"]),
            (200, &Value::Null),
            "{path}: {}",
            bare.text
        );
        for secret in ["redemption_url", "redemption_code", "pin_code", "card_details"] {
            assert!(
                !bare.text.contains(&format!("\"{secret}\":\"")),
                "{path}: {}",
                bare.text
            );
        }
    }
}

/// The recipient's form takes no token. Another payout's id opens it neither alone nor with the key of the caller's
/// own payment link.
async fn guesses(site: &ServiceClient<'_>, who: &FullAccount, owner: &FullAccount, secrets: &BTreeSet<String>) {
    let status = format!("/get-payment-status?payout_id={}", who.id("push"));
    let own = site.get_as(&who.token, &status).await;
    let (_, key) = own.str("redemption_url").unwrap().split_once("key=").unwrap();
    let id = owner.id("push");
    for query in [
        format!("payout_id={id}"),
        format!("payout_id={id}&key={key}"),
        format!("payout_id={}&key={key}", who.unknown_id("push")),
    ] {
        let form = format!("{query}&card_number={}&expiry=12%2F31", debit_card("840"));
        let posted = site.request("POST", "/redeem").body(form);
        let opened = site.get(&format!("/redeem?{query}"), &[]).await;
        for answer in [opened, send(posted).await.unwrap()] {
            assert_eq!(answer.status, 404, "{query}: {}", answer.text);
            assert_no_secrets(&answer, secrets, &query);
        }
    }
}

/// Routes without an id: a caller without a token gets nothing, and a signed-in caller sees only their own account.
async fn sweeps(site: &ServiceClient<'_>, document: &Value, who: &FullAccount, secrets: &BTreeSet<String>) {
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if !requires_token(operation) {
                continue;
            }
            let method = method.to_uppercase();
            let anonymous = send(site.request(&method, path)).await.unwrap();
            assert!(
                anonymous.status == 401 || !only_with_token(operation),
                "{path}: {}",
                anonymous.text
            );
            assert_no_secrets(&anonymous, secrets, path);
            if method == "GET" {
                assert_no_secrets(&site.get_as(&who.token, path).await, secrets, path);
            }
        }
    }
    let owner = Owner::of(site, &who.agent).await;
    let account = site.get("/account", &[("cookie", owner.cookie())]).await;
    assert_eq!(account.status, 200, "{}", account.text);
    for seen in [account, owner.page(site).await] {
        assert_no_secrets(&seen, secrets, "the account page");
    }
    let events = site.events(&who.token, 0).await;
    let last = events.last().unwrap()["seq"].as_u64().unwrap();
    let subscriber = Subscriber::new(who.token.clone());
    let listening = tokio::spawn(subscriber.clone().listen(site.service.url.clone()));
    until("the stream", async || (subscriber.cursor() >= last).then_some(())).await;
    listening.abort();
    for event in events.iter().chain(subscriber.events.lock().unwrap().iter()) {
        let event = event.to_string();
        assert!(!secrets.iter().any(|secret| contains_secret(&event, secret)), "{event}");
    }
}

pub(crate) fn requires_token(operation: &Value) -> bool {
    let ways = operation["security"].as_array().into_iter().flatten();
    ways.into_iter().any(|way| way.get("bearer").is_some())
}

pub(crate) fn only_with_token(operation: &Value) -> bool {
    let ways = operation["security"].as_array();
    let by_token = |ways: &Vec<Value>| ways.iter().any(|way| way.get("bearer").is_some());
    ways.is_some_and(|ways| by_token(ways) && ways.iter().all(|way| *way != json!({})))
}

#[tokio::test(flavor = "multi_thread")]
async fn case_48_ids_of_another_user_grant_no_access() {
    // Checks: Two users with one of everything, on both chains. Every id is sent to every route by the other user and
    // without a token. The responses match the matrix and contain no text or amount of the owner. Nothing of the
    // owner's changes, and the owner is still served. Operator routes accept no client token.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let one = FullAccount::furnished(&site, Network::Base, 31).await;
    let two = FullAccount::furnished(&site, Network::Solana, 47).await;
    let (of_one, of_two) = (one.reads(&site).await, two.reads(&site).await);
    let document = site.document().await;
    for (who, owner, theirs, own) in [(&one, &two, &of_two, &of_one), (&two, &one, &of_one, &of_two)] {
        let secrets: BTreeSet<String> = theirs.difference(own).cloned().collect();
        assert!(secrets.len() > 20, "secrets that could leak: {secrets:?}");
        let before = site.events(&owner.token, 0).await.len();
        for ask in MATRIX {
            check_row(&site, ask, who, owner, &secrets).await;
        }
        replays(&site, who, owner, &secrets).await;
        guesses(&site, who, owner, &secrets).await;
        sweeps(&site, &document, who, &secrets).await;
        for route in ROUTES.iter().filter(|route| route.starts_with("/admin")) {
            let request = client().get(service.operator_url(route)).bearer_auth(&who.token);
            let answer = send_to_operator(request).await.unwrap();
            assert!(matches!(answer.status, 401 | 405), "{route}: {}", answer.text);
            assert_no_secrets(&answer, &secrets, route);
        }
        // Viewed cards are marked as viewed, and only their owner sees that.
        assert_eq!(
            site.events(&owner.token, 0).await.len(),
            before,
            "something of another's changed"
        );
    }
    for owner in [&one, &two] {
        for ask in MATRIX {
            let answer = ask.of(&site, Some(owner), owner.id(ask.of)).await;
            assert_eq!(
                answer.status, ask.owner_status,
                "{} {}: {}",
                ask.route, ask.by, answer.text
            );
        }
    }
    service.stop();
    host.assert_verified();
}

/// Names that an operation takes: parameters except headers, and body members.
fn names(operation: &Value) -> BTreeSet<String> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let mut names: BTreeSet<String> = parameters
        .filter(|parameter| parameter["in"] != "header")
        .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
        .collect();
    let bodies = operation["requestBody"]["content"].as_object().into_iter().flatten();
    for (_, body) in bodies {
        // A body that may be left out has alternatives.
        let alternatives = body["schema"]["oneOf"].as_array().into_iter().flatten();
        for schema in alternatives.chain([&body["schema"]]) {
            let members = schema["properties"].as_object().into_iter().flatten();
            names.extend(members.map(|(name, _)| name.clone()));
        }
        // The parameters of a callable function are nested.
        if let Some(data) = body["schema"]["properties"]["data"]["properties"].as_object() {
            names.remove("data");
            names.extend(data.keys().cloned());
        }
    }
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_that_takes_an_id_is_in_the_matrix() {
    // Checks: Every route is in the document. Every name that an operation takes is in the matrix or is known to
    // identify no resource. Every row of the matrix has an operation. Sandbox controls are open to all, and the
    // operator API has its own case.
    let service = Host::new().start();
    let document = ServiceClient::of(&service).document().await;
    let paths = document["paths"].as_object().unwrap();
    let theirs = |route: &str| {
        ["/sandbox", "/admin", "/desk", "/metrics", "/copy"]
            .iter()
            .any(|prefix| route.starts_with(prefix))
    };
    let mut missing: Vec<String> = Vec::new();
    for route in ROUTES.iter().filter(|route| !theirs(route)) {
        let Some(methods) = paths.get(*route) else {
            missing.push(format!("{route} is not in the document"));
            continue;
        };
        for (method, operation) in methods.as_object().unwrap() {
            let method = method.to_uppercase();
            let names = names(operation);
            let has_body = operation.get("requestBody").is_some();
            if has_body && names.is_empty() && !WITHOUT_MEMBERS.contains(route) {
                missing.push(format!("{method} {route}: its body's members are not listed"));
            }
            for name in names {
                let is_covered = MATRIX
                    .iter()
                    .any(|ask| (ask.method, ask.route, ask.by) == (method.as_str(), *route, name.as_str()));
                let nothing = UNKNOWN_VALUES.iter();
                let nothing = nothing.filter(|(of, _)| *of == "*" || of == route);
                if is_covered == nothing.clone().any(|(_, names)| names.contains(&name.as_str())) {
                    missing.push(format!(
                        "{method} {route} takes `{name}`: {}",
                        if is_covered { "twice" } else { "not covered" }
                    ));
                }
            }
        }
    }
    for ask in MATRIX {
        let operation = &paths[ask.route][ask.method.to_lowercase()];
        if !names(operation).contains(ask.by) {
            missing.push(format!("{} {} does not take `{}`", ask.method, ask.route, ask.by));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
