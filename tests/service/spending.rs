//! What an account spent by period, on the account page.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::access::field;
use super::agent_wallet::{assert_error, keyed, opened, service_with_seller, with_open};
use super::agent_wallet_approvals::key_of;
use super::http::{Response, ServiceClient};
use super::owner::Owner;
use super::withdraw::{agent_with_balance, credited};

async fn read(site: &ServiceClient<'_>, owner: &Owner, starts: &str) -> Response {
    let path = format!("/account/spending-sums?starts={starts}");
    site.get(&path, &[("cookie", owner.cookie())]).await
}

async fn sums(site: &ServiceClient<'_>, owner: &Owner, starts: &[&str]) -> Vec<[f64; 2]> {
    let answer = read(site, owner, &starts.join(",")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let sums = answer.body["sums"].as_array().unwrap();
    for (sum, start) in sums.iter().zip(starts) {
        assert_eq!(sum["from"], *start);
    }
    let sum = |sum: &Value| ["spent", "credited"].map(|name| sum[name].as_f64().unwrap());
    sums.iter().map(sum).collect()
}

async fn from_own_wallets(site: &ServiceClient<'_>, owner: &Owner) -> f64 {
    let answer = read(site, owner, LONG_AGO).await;
    answer.body["sums"][0]["from_own_wallets"].as_f64().unwrap()
}

const LONG_AGO: &str = "2020-01-01T00:00:00.000Z";
const LATE: &str = "2199-01-01T00:00:00.000Z";

#[tokio::test(flavor = "multi_thread")]
async fn spending_counts_purchases_and_what_the_agent_wallet_paid_elsewhere() {
    // Checks: a purchase of the wallet at this service is counted once, a paid call and a transfer to others too; what
    // other wallets paid is a sum of its own, for every page; a credit is apart; periods begin and end at their times; an agent's page has no payments of the wallet to others; the
    // same after a restart.
    let (seller, host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (agent, own, _) = opened(&site, Network::Base).await;
    let (_, courier) = key_of(&site, &own, "Courier").await;
    let owner = Owner::of(&site, &agent).await;
    assert_eq!(sums(&site, &owner, &[LONG_AGO]).await, [[0.0, 0.0]]);
    let declined = json!({"route": "/get-card", "params": {"amount": "6.66"}, "expectedNetwork": "base"});
    let bought = keyed(&site, &courier, "agentX402Pay", "card", &declined).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    credited(&site, &own).await;
    with_open(&site, &own, 0).await;
    let first = site.get_as(&own, "/list-payments").await.body["payments"][0].clone();
    let price = first["amount"].as_f64().unwrap();
    assert_eq!(sums(&site, &owner, &[LONG_AGO]).await, [[price, 6.66]]);
    assert_eq!(from_own_wallets(&site, &owner).await, 0.0);
    let own_card = agent.buy(&site, "/get-card?amount=5").await;
    let cost = site.get_as(&own, "/list-payments").await.body["payments"][0]["amount"].clone();
    let cost = cost.as_f64().unwrap();
    assert_eq!(from_own_wallets(&site, &owner).await, cost);
    let other_server = json!({"url": format!("http://{}/paid", seller.authority()), "method": "POST", "body": {"q": 1},
        "expectedNetwork": "base"});
    let paid = keyed(&site, &own, "agentX402Pay", "other-server", &other_server).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let transfer = json!({"toAddress": agent.address(), "amountUsdc": 1.25});
    let sent = keyed(&site, &courier, "agentWalletTransfer", "lunch", &transfer).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    with_open(&site, &own, 0).await;
    let whole = |spent: f64| (spent * 1_000_000.0).round() / 1_000_000.0;
    let all = [[whole(price + cost + 1.0 + 1.25), 6.66]];
    assert_eq!(sums(&site, &owner, &[LONG_AGO]).await, all);
    // Each start ends the period before it; what lies before the first is in none.
    let at = |payment: &Value| payment["created_at"].as_str().unwrap().to_owned();
    let split = sums(&site, &owner, &[LONG_AGO, &at(&first), LATE]).await;
    assert_eq!(split, [[0.0, 0.0], all[0], [0.0, 0.0]]);
    assert_eq!(sums(&site, &owner, &[LATE]).await, [[0.0, 0.0]]);
    let payment_page = Owner::by_token(&site, &field(&own_card, "/auth/id_token")).await;
    for page in [payment_page, Owner::by_token(&site, &courier).await] {
        assert_eq!(sums(&site, &page, &[LONG_AGO]).await, [[whole(price + cost), 6.66]]);
        assert_eq!(from_own_wallets(&site, &page).await, cost);
    }
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_eq!(sums(&site, &owner, &[LONG_AGO]).await, all);
    assert_eq!(from_own_wallets(&site, &owner).await, cost);
}

#[tokio::test(flavor = "multi_thread")]
async fn spending_is_for_the_owners_page_only() {
    // Checks: the sums need the session of the account's own page; missing, malformed, unordered and too many times are
    // rejected.
    let service = super::host::Host::new().start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    let owner = Owner::by_token(&site, &token).await;
    let path = format!("/account/spending-sums?starts={LONG_AGO}");
    let page = [("cookie", owner.cookie()), ("sec-fetch-site", "same-site")];
    for (answer, status, code) in [
        (site.get(&path, &page).await, 403, "origin_not_allowed"),
        (site.get(&path, &[]).await, 401, "token_missing"),
        (site.get_as(&token, &path).await, 401, "token_missing"),
        (read(&site, &owner, "").await, 400, "parameter_missing"),
        (read(&site, &owner, "today").await, 400, "parameter_invalid"),
        (
            read(&site, &owner, &[LATE, LONG_AGO].join(",")).await,
            400,
            "parameter_invalid",
        ),
        (
            read(&site, &owner, &[LATE, LATE].join(",")).await,
            400,
            "parameter_invalid",
        ),
    ] {
        assert_error(&answer, status, code);
    }
    let days = |count: usize| {
        let day = |n| format!("2026-{:02}-{:02}T00:00:00.000Z", 1 + n / 28, 1 + n % 28);
        (0..count).map(day).collect::<Vec<_>>().join(",")
    };
    assert_error(&read(&site, &owner, &days(33)).await, 400, "parameter_invalid");
    assert_eq!(read(&site, &owner, &days(32)).await.status, 200);
    site.freeze(&agent.address(), Some("Call us.")).await;
    assert_error(&read(&site, &owner, LONG_AGO).await, 403, "account_frozen");
}
