//! Agents without a wallet: signups, and the page where an account owner confirms them.

use std::collections::BTreeSet;
use std::time::Duration;

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::banking::{call, result};
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::owner::Owner;

pub(crate) async fn sign_up(site: &ServiceClient<'_>) -> Response {
    let answer = send(site.request("POST", "/signup")).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

async fn sign_up_from(site: &ServiceClient<'_>, forwarded: &str) -> Response {
    let request = site.request("POST", "/signup").header("x-forwarded-for", forwarded);
    send(request).await.unwrap()
}

pub(crate) async fn poll(site: &ServiceClient<'_>, signup: &Response) -> Response {
    let token = signup.str("claim_token").unwrap();
    site.get(&format!("/signup-status?claim_token={token}"), &[]).await
}

/// Waits for the outcome of a signup, retrying while no polling slot is free.
async fn wait(site: &ServiceClient<'_>, signup: &Response) -> Response {
    loop {
        let answer = poll(site, signup).await;
        if answer.header("retry-after") != Some("5") {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until two polls of a signup are open, so that a third gets an error at once.
async fn assert_too_many_waiting(site: &ServiceClient<'_>, signup: &Response) {
    let path = format!("/signup-status?claim_token={}", signup.str("claim_token").unwrap());
    until("two that wait", async || {
        // With a free slot the poll would wait, and times out.
        let poll_request = site.request("GET", &path).timeout(Duration::from_millis(500));
        let answer = send(poll_request).await.ok()?;
        assert_eq!((answer.status, answer.header("retry-after")), (204, Some("5")));
        Some(())
    })
    .await;
}

/// The form that the page sends.
pub(crate) fn form(signup: &Response, name: &str) -> String {
    let (_, pass) = signup.str("claim_url").unwrap().split_once("signup=").unwrap();
    format!("signup={pass}&name={name}")
}

pub(crate) fn assert_error(answer: &Response, status: u16, code: &str) {
    assert_eq!((answer.status, answer.code()), (status, code), "{}", answer.text);
}

/// A 410 or 401 without a remedy.
pub(crate) fn is_final(answer: &Response, status: u16, code: &str) {
    assert_error(answer, status, code);
    assert_eq!(answer.body["terminal"], true, "{}", answer.text);
}

/// Waits until the fixed windows have enough time left for the following requests.
async fn wait_for_new_window(site: &ServiceClient<'_>) {
    until("a window", async || {
        let answer = site.get("/version", &[]).await;
        let left: u32 = answer.header("ratelimit-reset").unwrap().parse().unwrap();
        (left > 15).then_some(())
    })
    .await;
}

/// Limit, remaining and policy, with and without the prefix.
fn rate_limit_headers(answer: &Response) -> (&str, &str, &str) {
    let of = |name: &str| {
        let value = answer.header(name).unwrap();
        assert_eq!(answer.header(&format!("x-{name}")), Some(value));
        value
    };
    (of("ratelimit-limit"), of("ratelimit-remaining"), of("ratelimit-policy"))
}

#[tokio::test(flavor = "multi_thread")]
async fn case_51_signup_limit_ignores_forwarded_addresses() {
    // Checks: without a trusted proxy no forwarded address counts, and the fourth signup in a minute is rejected.
    // Behind a proxy the client address counts, IPv6 by /64. The headers show the limit of signups with the least
    // remaining.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    wait_for_new_window(&site).await;
    for (n, left) in [(1, "2"), (2, "1"), (3, "0")] {
        let answer = sign_up_from(&site, &format!("192.0.2.{n}")).await;
        assert_eq!(
            (answer.status, rate_limit_headers(&answer)),
            (200, ("3", left, "3;w=60")),
            "{}",
            answer.text
        );
    }
    let fourth = sign_up_from(&site, "192.0.2.4").await;
    assert_error(&fourth, 429, "rate_limited");
    assert_eq!(rate_limit_headers(&fourth), ("3", "0", "3;w=60"));
    assert_eq!(fourth.header("retry-after"), fourth.header("ratelimit-reset"));
    let other = site.get("/version", &[]).await;
    assert_eq!(
        (other.status, rate_limit_headers(&other).0),
        (200, "1000000"),
        "no other route is touched"
    );
    drop(service);

    let host = Host::new()
        .with("PURSER_SERVER__TRUSTED_PROXIES", "[\"127.0.0.1\"]")
        .with("PURSER_SIGNUP__PER_HOUR", "4");
    let service = host.start();
    let site = ServiceClient::of(&service);
    wait_for_new_window(&site).await;
    for address in ["2001:db8:1:2::1", "2001:db8:1:2:ffff::2", "2001:db8:1:2:1:2:3:4"] {
        assert_eq!(sign_up_from(&site, address).await.status, 200, "{address}");
    }
    for address in ["2001:db8:1:2::5", "198.51.100.1, 2001:db8:1:2::6"] {
        assert_error(&sign_up_from(&site, address).await, 429, "rate_limited");
    }
    let neighbour = sign_up_from(&site, "2001:db8:1:2::1, 2001:db8:1:3::1").await;
    assert_eq!(
        (neighbour.status, rate_limit_headers(&neighbour)),
        (200, ("3", "2", "3;w=60"))
    );
    // The hourly limit applies as soon as less of it remains.
    let by_hour = Host::new().with("PURSER_SIGNUP__PER_MINUTE", "30").start();
    let site = ServiceClient::of(&by_hour);
    wait_for_new_window(&site).await;
    for n in 1..=20 {
        let answer = sign_up(&site).await;
        assert_eq!(rate_limit_headers(&answer), ("20", &*(20 - n).to_string(), "20;w=3600"));
    }
    let last = send(site.request("POST", "/signup")).await.unwrap();
    assert_error(&last, 429, "rate_limited");
    assert_eq!(rate_limit_headers(&last), ("20", "0", "20;w=3600"));
}

/// Creates a key of this account through the whole signup, while its agent polls.
pub(crate) async fn complete_signup(site: &ServiceClient<'_>, owner: &Owner, name: &str) -> (Response, Response) {
    let signup = sign_up(site).await;
    assert_eq!(signup.header("cache-control"), Some("private, no-store"));
    let code = signup.str("claim_code").unwrap();
    let url = signup.str("claim_url").unwrap();
    let message = signup.str("message_for_human").unwrap();
    assert!(message.contains(code) && message.contains(url), "{message}");
    assert_eq!(signup.body["expires_in"], 1_800);
    let page = send(site.client.get(url)).await.unwrap();
    assert!(page.status == 200 && page.text.contains(code), "{}", page.text);
    assert!(!page.text.contains("<script"), "{}", page.text);
    // Only an account owner who can confirm gets the form; others must sign in.
    assert!(
        !page.text.contains("<button") && page.text.contains("I am signed in: go on"),
        "{}",
        page.text
    );
    let own = send(site.client.get(url).header("cookie", owner.cookie()))
        .await
        .unwrap();
    assert!(
        own.text.contains("<button type=\"submit\">Yes") && !own.text.contains("I am signed in"),
        "{}",
        own.text
    );
    let anonymous = site.request("POST", "/claim").header("origin", &site.service.url);
    let anonymous = send(anonymous.body(form(&signup, name))).await.unwrap();
    let kind = anonymous.header("content-type");
    assert_eq!((anonymous.status, kind), (401, Some("text/html; charset=utf-8")));
    assert!(anonymous.text.contains("Open a login link"), "{}", anonymous.text);
    // Longer than any client timeout of the tests: only the confirmation ends the wait.
    let (waited, also, confirmed) = tokio::join!(wait(site, &signup), wait(site, &signup), async {
        assert_too_many_waiting(site, &signup).await;
        let yes = form(&signup, name);
        owner.send(site, "/claim", &yes).await
    });
    assert_eq!(waited.body, also.body);
    assert_eq!(
        (confirmed.status, confirmed.header("location")),
        (303, Some("/dashboard/agents")),
        "{}",
        confirmed.text
    );
    assert_eq!(
        (waited.status, waited.str("status")),
        (200, Some("claimed")),
        "{}",
        waited.text
    );
    (signup, waited)
}

pub(crate) fn patient() -> Host {
    Host::new()
        .with("PURSER_SIGNUP__LONG_POLL_SECONDS", "300")
        .with("PURSER_SIGNUP__PER_MINUTE", "100")
        .with("PURSER_SIGNUP__PER_HOUR", "100")
}

#[tokio::test(flavor = "multi_thread")]
async fn signup_becomes_one_key_of_one_account() {
    // Checks: of two concurrent confirmations one gets the key. Address, code and other tokens cannot read it, and the
    // token opens no page.
    let host = patient();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let people = [Agent::new(Network::Base), Agent::new(Network::Solana)];
    let owners = [Owner::of(&site, &people[0]).await, Owner::of(&site, &people[1]).await];
    for _ in 0..3 {
        let signup = sign_up(&site).await;
        let yes = form(&signup, "");
        let answers = tokio::join!(
            owners[0].send(&site, "/claim", &yes),
            owners[1].send(&site, "/claim", &yes)
        );
        let mut outcomes = [
            (answers.0.status, answers.0.code()),
            (answers.1.status, answers.1.code()),
        ];
        outcomes.sort_unstable();
        assert_eq!(outcomes, [(303, ""), (409, "signup_already_claimed")]);
        let claimed = poll(&site, &signup).await;
        let winner = people[usize::from(answers.0.status != 303)].address().to_lowercase();
        assert_eq!(claimed.str("user_id"), Some(&*winner), "{}", claimed.text);
        let gone = site
            .get(&format!("/claim?{}", yes.split('&').next().unwrap()), &[])
            .await;
        assert_eq!(gone.status, 410, "{}", gone.text);
        let (_, pass) = yes.split('&').next().unwrap().split_once('=').unwrap();
        for wrong in [
            pass.to_owned(),
            format!("st_{pass}"),
            signup.str("claim_code").unwrap().to_owned(),
        ] {
            let answer = site.get(&format!("/signup-status?claim_token={wrong}"), &[]).await;
            is_final(&answer, 401, "claim_token_invalid");
        }
        let own = site
            .get(
                &format!("/claim?signup={}", &signup.str("claim_token").unwrap()[3..]),
                &[],
            )
            .await;
        assert_eq!(own.status, 404, "{}", own.text);
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn api_keys_of_an_account_are_limited() {
    // Checks: concurrent requests create keys up to the limit of the account and no more. A revoked key frees one slot,
    // once.
    let host = patient().with("PURSER_SIGNUP__MAX_KEYS_PER_ACCOUNT", "4");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let person = Agent::new(Network::Base);
    let token = person.token(&site).await;
    let name = |n: usize| json!({"name": format!("Key {n}")});
    let responses =
        futures_util::future::join_all((0..12).map(|n| call(&site, &token, "createAgentApiKey", name(n)))).await;
    for answer in responses.iter().filter(|answer| answer.status != 200) {
        assert!(matches!(answer.status, 409 | 503), "{}", answer.text);
    }
    let made = responses.iter().filter(|answer| answer.status == 200).count();
    for n in made..4 {
        result(&site, &token, "createAgentApiKey", name(n)).await;
    }
    assert_error(
        &call(&site, &token, "createAgentApiKey", name(9)).await,
        409,
        "api_key_limit_reached",
    );
    let keys = result(&site, &token, "listAgentApiKeys", json!({})).await["keys"].clone();
    let ids: BTreeSet<&str> = keys
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["apiKeyId"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 4, "{keys}");
    for _ in 0..2 {
        result(
            &site,
            &token,
            "revokeAgentApiKey",
            json!({"apiKeyId": ids.first().unwrap()}),
        )
        .await;
    }
    result(&site, &token, "createAgentApiKey", name(5)).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn unanswered_signup_expires() {
    // Checks: a poll without confirmation ends with 204 and a retry time. Then the signup expires permanently, also on
    // the page, and cannot be confirmed. A poll without a free slot gets an error at once. A stop ends the wait.
    let host = patient()
        .with("PURSER_SIGNUP__LONG_POLL_SECONDS", "1")
        .with("PURSER_SIGNUP__CLAIM_TTL_SECONDS", "3");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let owner = Owner::of(&site, &Agent::new(Network::Base)).await;
    let signup = sign_up(&site).await;
    let first = poll(&site, &signup).await;
    assert_eq!(
        (first.status, first.header("retry-after"), &*first.text),
        (204, Some("1"), "")
    );
    until("the end of the signup", async || {
        (poll(&site, &signup).await.status == 410).then_some(())
    })
    .await;
    is_final(&poll(&site, &signup).await, 410, "signup_expired");
    let late = owner.send(&site, "/claim", &form(&signup, "Late")).await;
    assert_error(&late, 410, "signup_expired");
    let page = send(site.client.get(signup.str("claim_url").unwrap())).await.unwrap();
    assert!(page.status == 410 && page.text.contains("too old"), "{}", page.text);
    service.stop();

    let host = patient();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let signup = sign_up(&site).await;
    let stop = async {
        assert_too_many_waiting(&site, &signup).await;
        service.terminate();
    };
    let (waited, also, ()) = tokio::join!(wait(&site, &signup), wait(&site, &signup), stop);
    assert_eq!(also.status, 204, "{}", also.text);
    assert_eq!(waited.status, 204, "{}", waited.text);
    drop(site);
    assert!(service.wait());
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_signup_never_becomes_a_key() {
    // Checks: the page shows the agent's own name as text. A rejection ends the wait of the agent for ever, is repeated
    // without effect, and cannot be undone by an approval of the same or of another account; nor can an approved signup be
    // rejected. The account's events name the rejection, and its list of keys does not.
    let host = patient();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let people = [Agent::new(Network::Base), Agent::new(Network::Solana)];
    let owners = [Owner::of(&site, &people[0]).await, Owner::of(&site, &people[1]).await];
    let request = site
        .request("POST", "/signup")
        .json(&json!({"agent_name": "Ada's <agent>"}));
    let signup = send(request).await.unwrap();
    assert_eq!(signup.status, 200, "{}", signup.text);
    let page = send(
        site.client
            .get(signup.str("claim_url").unwrap())
            .header("cookie", owners[0].cookie()),
    );
    let page = page.await.unwrap();
    assert!(
        page.text.contains("Ada&#39;s &lt;agent&gt;") && !page.text.contains("<agent>"),
        "{}",
        page.text
    );

    let (_, pass) = signup.str("claim_url").unwrap().split_once("signup=").unwrap();
    let (no, yes) = (format!("signup={pass}&answer=no"), format!("signup={pass}&answer=yes"));
    let unclear = owners[0]
        .send(&site, "/claim", &format!("signup={pass}&answer=perhaps"))
        .await;
    assert_error(&unclear, 400, "parameter_invalid");
    let (waited, rejected) = tokio::join!(wait(&site, &signup), owners[0].send(&site, "/claim", &no));
    assert_eq!(rejected.status, 200, "{}", rejected.text);
    if waited.status != 204 {
        is_final(&waited, 410, "signup_rejected");
    }
    assert_eq!(owners[0].send(&site, "/claim", &no).await.status, 200);
    for (owner, form) in [(&owners[0], &yes), (&owners[1], &yes), (&owners[1], &no)] {
        let late = owner.send(&site, "/claim", form).await;
        assert_error(&late, 409, "signup_already_claimed");
    }
    is_final(&poll(&site, &signup).await, 410, "signup_rejected");
    let gone = send(site.client.get(signup.str("claim_url").unwrap())).await.unwrap();
    assert!(gone.status == 410 && gone.text.contains("rejected"), "{}", gone.text);
    let token = people[0].token(&site).await;
    let keys = result(&site, &token, "listAgentApiKeys", json!({})).await["keys"].clone();
    assert_eq!(keys, json!([]));
    let events = site.events(&token, 0).await;
    let types: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(
        types
            .iter()
            .filter(|name| name.starts_with("api_key."))
            .collect::<Vec<_>>(),
        [&"api_key.rejected"]
    );

    let approved = sign_up(&site).await;
    let name = form(&approved, "Helper");
    assert_eq!(owners[0].send(&site, "/claim", &name).await.status, 303);
    let late = owners[0].send(&site, "/claim", &format!("{name}&answer=no")).await;
    assert_error(&late, 409, "signup_already_claimed");
    assert_eq!(poll(&site, &approved).await.status, 200);
    service.stop();
    host.assert_verified();
}
