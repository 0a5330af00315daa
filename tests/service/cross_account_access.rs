//! Two users, every route that takes an id, every id of the other.

use std::collections::BTreeSet;

use purser::http::request_metrics::ROUTES;
use purser_actors::id::Network;
use serde_json::Value;

use super::access_matrix::{MATRIX, MatrixCall, StatusAndCode};
use super::crash_checks::Subscriber;
use super::full_account::{FullAccount, contains_secret};
use super::host::Host;
use super::http::{Response, ServiceClient, client, send, send_to_operator, until};
use super::owner::Owner;
use super::placeholder_values::{UNKNOWN_VALUES, WITHOUT_MEMBERS};
use super::recipient::debit_card;

/// Whether an answer is the one that the matrix has, and tells nothing.
fn assert_response_without_secrets(
    answer: &Response,
    (status, code): StatusAndCode,
    secrets: &BTreeSet<String>,
    asked: &str,
) {
    assert_eq!(
        (answer.status, answer.code()),
        (status, code),
        "{asked}: {}",
        answer.text
    );
    assert_no_secrets(answer, secrets, asked);
}

fn assert_no_secrets(answer: &Response, secrets: &BTreeSet<String>, asked: &str) {
    let headers = format!("{:?}", answer.headers);
    for secret in secrets {
        assert!(
            !contains_secret(&answer.text, secret),
            "{asked} tells {secret}: {}",
            answer.text
        );
        assert!(!headers.contains(secret.as_str()), "{asked} tells {secret}: {headers}");
    }
}

/// One row: another's id, nobody's, and one that is of another kind of thing, which no row may take for its own.
async fn check_row(
    site: &ServiceClient<'_>,
    ask: &MatrixCall,
    who: &FullAccount,
    owner: &FullAccount,
    secrets: &BTreeSet<String>,
) {
    let name = format!("{} {} {}={}", ask.method, ask.route, ask.by, ask.of);
    let id = owner.id(ask.of);
    let told = ask.of(site, Some(who), id).await;
    assert_response_without_secrets(&told, ask.other_wallet, secrets, &format!("{name}, another's"));
    let unknown = ask.of(site, Some(who), &who.unknown_id(ask.of)).await;
    assert_response_without_secrets(&unknown, ask.unknown_id, secrets, &format!("{name}, unknown"));
    if ask.other_wallet == ask.unknown_id {
        let named = |answer: &Response| match &answer.body["request_id"] {
            Value::Null => answer.body["error"]["requestId"].clone(),
            id => id.clone(),
        };
        let (told, unknown) = (
            told.text.replace(&named(&told).to_string(), ""),
            unknown.text.replace(&named(&unknown).to_string(), ""),
        );
        assert_eq!(
            told, unknown,
            "{name}: an id that somebody has reads like one that nobody has"
        );
    }
    let nobody = ask.of(site, None, id).await;
    // What the wallet pays for tells its price to anybody.
    let told: BTreeSet<String> = if ask.is_paid {
        BTreeSet::from([owner.agent.address()])
    } else {
        secrets.clone()
    };
    assert_response_without_secrets(&nobody, ask.without_token, &told, &format!("{name}, nobody"));
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

/// A payment that was seen on its way: with another's token it is refused, and without any it gives no credential.
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

/// The recipient's form has no token: the payout's id alone opens it for nobody, nor does the key of one's own link.
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

/// What needs no id, and what has one's own: nobody gets in without a token, and who is in sees themselves alone.
async fn sweeps(site: &ServiceClient<'_>, document: &Value, who: &FullAccount, secrets: &BTreeSet<String>) {
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if !requires_token(operation) {
                continue;
            }
            let method = method.to_uppercase();
            let nobody = send(site.request(&method, path)).await.unwrap();
            assert!(
                nobody.status == 401 || !only_with_token(operation),
                "{path}: {}",
                nobody.text
            );
            assert_no_secrets(&nobody, secrets, path);
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
    operation["security"].as_array().is_some_and(|ways| ways.len() == 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn case_48_no_id_of_another_user_opens_anything() {
    // Aim: two users with one of everything, on both chains: every id of the other on every route, by the other and by nobody,
    // is answered as the matrix says, without a text or an amount of its owner's; nothing of the owner's changes by it, and
    // the owner is served. An operator's route takes no client's token.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let one = FullAccount::furnished(&site, Network::Base, 31).await;
    let two = FullAccount::furnished(&site, Network::Solana, 47).await;
    let (of_one, of_two) = (one.reads(&site).await, two.reads(&site).await);
    let document = site.get("/openapi.json", &[]).await.body;
    for (who, owner, theirs, own) in [(&one, &two, &of_two, &of_one), (&two, &one, &of_one, &of_two)] {
        let secrets: BTreeSet<String> = theirs.difference(own).cloned().collect();
        assert!(secrets.len() > 20, "what could be told: {secrets:?}");
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
        // Cards that were looked at are told as looked at; by nobody but their owner.
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

/// The names that an operation takes: parameters but headers, and members of its body.
fn names(operation: &Value) -> BTreeSet<String> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let mut names: BTreeSet<String> = parameters
        .filter(|parameter| parameter["in"] != "header")
        .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
        .collect();
    let bodies = operation["requestBody"]["content"].as_object().into_iter().flatten();
    for (_, body) in bodies {
        names.extend(
            body["schema"]["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone()),
        );
        // A callable function's are inside.
        if let Some(data) = body["schema"]["properties"]["data"]["properties"].as_object() {
            names.remove("data");
            names.extend(data.keys().cloned());
        }
    }
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_that_takes_an_id_is_in_the_matrix() {
    // Aim: every route of the service is in its document; every name that an operation takes is in the matrix, or is known to
    // name nothing of anybody's; and the matrix has no row without an operation. The sandbox's desk is everybody's, the
    // operator's side has its own case.
    let service = Host::new().start();
    let document = ServiceClient::of(&service).get("/openapi.json", &[]).await.body;
    let paths = document["paths"].as_object().unwrap();
    let theirs = |route: &str| {
        ["/sandbox", "/admin", "/metrics", "/copy"]
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
                missing.push(format!("{method} {route}: nobody knows what its body takes"));
            }
            for name in names {
                let asked = MATRIX
                    .iter()
                    .any(|ask| (ask.method, ask.route, ask.by) == (method.as_str(), *route, name.as_str()));
                let nothing = UNKNOWN_VALUES.iter();
                let nothing = nothing.filter(|(of, _)| *of == "*" || of == route);
                if asked == nothing.clone().any(|(_, names)| names.contains(&name.as_str())) {
                    missing.push(format!(
                        "{method} {route} takes `{name}`: {}",
                        if asked { "twice" } else { "whose is it?" }
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
