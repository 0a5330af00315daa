//! Sums of the statement on the account page.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::host::Host;
use super::http::{Response, ServiceClient};
use super::owner::Owner;
use super::withdraw::{agent_with_balance, ended, id_of, withdraw};

async fn sums(site: &ServiceClient<'_>, owner: &Owner, query: &str) -> Response {
    let path = format!("/account/statement-sums{query}");
    site.get(&path, &[("cookie", owner.cookie())]).await
}

fn amounts(answer: &Response) -> [Value; 6] {
    assert_eq!(answer.status, 200, "{}", answer.text);
    ["opening", "credited", "debited", "balance", "available", "held"].map(|name| answer.body[name].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_of_a_period_are_read_without_its_lines() {
    // Checks: a credit and a withdrawal add up over any period, with the balances at its ends, also after a restart.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, token) = agent_with_balance(&site, Network::Base).await;
    let asked = withdraw(&site, &token, None, &json!({"amount": 2.50})).await;
    ended(&site, &token, &id_of(&asked)).await;
    let lines = site.get_as(&token, "/get-account-statement").await.body;
    let time = |n: usize| lines["entries"][n]["created_at"].as_str().unwrap().to_owned();
    let owner = Owner::by_token(&site, &token).await;
    let all = [json!(0), json!(6.66), json!(2.5), json!(4.16), json!(4.16), json!(0)];
    assert_eq!(amounts(&sums(&site, &owner, "").await), all);
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (query, expected) in [
        (String::new(), all),
        (
            format!("?from={}", time(1)),
            [json!(6.66), json!(0), json!(2.5), json!(4.16), json!(4.16), json!(0)],
        ),
        (
            format!("?from={}&until={}", time(1), time(2)),
            [json!(6.66), json!(0), json!(0), json!(6.66), json!(4.16), json!(2.5)],
        ),
        (
            format!("?until={}", time(1)),
            [json!(0), json!(6.66), json!(0), json!(6.66), json!(6.66), json!(0)],
        ),
        (
            format!("?from={}&until={}", time(2), time(0)),
            [json!(6.66), json!(0), json!(0), json!(6.66), json!(4.16), json!(2.5)],
        ),
    ] {
        assert_eq!(amounts(&sums(&site, &owner, &query).await), expected, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_are_for_the_owners_page_only() {
    // Checks: the sums need the session of the account's own page; malformed times are rejected.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    let owner = Owner::by_token(&site, &token).await;
    const PATH: &str = "/account/statement-sums";
    let page = [("cookie", owner.cookie()), ("sec-fetch-site", "same-site")];
    for (answer, status, code) in [
        (site.get(PATH, &page).await, 403, "origin_not_allowed"),
        (site.get(PATH, &[]).await, 401, "token_missing"),
        (site.get_as(&token, PATH).await, 401, "token_missing"),
        (sums(&site, &owner, "?since=1").await, 400, "parameter_unrecognized"),
        (sums(&site, &owner, "?from=yesterday").await, 400, "parameter_invalid"),
        (sums(&site, &owner, "?until=1").await, 400, "parameter_invalid"),
    ] {
        assert_eq!((answer.status, answer.code()), (status, code), "{}", answer.text);
    }
    site.freeze(&agent.address(), Some("Call us.")).await;
    let frozen = sums(&site, &owner, "").await;
    assert_eq!((frozen.status, frozen.code()), (403, "account_frozen"));
}
