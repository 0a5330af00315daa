//! The statement of the agents' wallet: what it has, and whose it is.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::access::field;
use super::agent::Agent;
use super::agent_wallet::{assert_error, fund_wallet, keyed, opened, service_with_seller, with_open};
use super::agent_wallet_approvals::key_of;
use super::host::Host;
use super::http::{Response, ServiceClient};
use super::owner::Owner;
use super::withdraw::{agent_with_balance, ended, id_of, withdraw};

const PATH: &str = "/get-account-statement?of=agent_wallet";

async fn lines(site: &ServiceClient<'_>, token: &str, query: &str) -> Vec<Value> {
    let answer = site.get_as(token, &format!("{PATH}{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["entries"].as_array().unwrap().clone()
}

async fn sums(site: &ServiceClient<'_>, owner: &Owner, query: &str) -> Response {
    let path = format!("/account/statement-sums?of=agent_wallet{query}");
    site.get(&path, &[("cookie", owner.cookie())]).await
}

/// Type, amount, balance and held part of a line.
fn change(line: &Value) -> Value {
    json!([line["type"], line["amount"], line["balance"], line["held"]])
}

#[tokio::test(flavor = "multi_thread")]
async fn statement_of_the_agent_wallet_has_what_it_received_and_paid() {
    // Checks: purchases here and at another server, and transfers, each with its payment and the key that paid; what the wallet
    // received on each chain, from the balance too; the balance after each line is the chains'; periods, pages and sums;
    // a credit of a purchase goes to the balance. The same after a restart.
    let (seller, host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (agent, own, wallet) = opened(&site, Network::Base).await;
    let (key, courier) = key_of(&site, &own, "Courier").await;
    // The sandbox's issuer declines this card, and its price is credited.
    let declined = json!({"route": "/get-card", "params": {"amount": "6.66"}, "expectedNetwork": "base"});
    let bought = keyed(&site, &courier, "agentX402Pay", "card", &declined).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let price = &bought.body["result"]["walletPayment"]["amount"];
    super::withdraw::credited(&site, &own).await;
    with_open(&site, &own, 0).await;
    let to_wallet = json!({"amount": 2.5, "address": wallet["addresses"]["base"], "network": "base"});
    let moved = withdraw(&site, &own, None, &to_wallet).await;
    assert_eq!(ended(&site, &own, &id_of(&moved)).await["state"], "complete");
    let other_server = json!({"url": format!("http://{}/paid", seller.authority()), "method": "POST", "body": {"q": 1},
        "expectedNetwork": "solana"});
    let paid = keyed(&site, &own, "agentX402Pay", "other-server", &other_server).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    with_open(&site, &own, 0).await;
    let transfer = json!({"toAddress": agent.address(), "amountUsdc": 1.25, "note": "lunch"});
    let sent = keyed(&site, &courier, "agentWalletTransfer", "lunch", &transfer).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    let now = with_open(&site, &own, 0).await;

    let all = lines(&site, &own, "").await;
    let (price, amount) = (price.clone(), |value: f64| (value * 100.0).round() / 100.0);
    let cost = price.as_f64().unwrap();
    let after_card = amount(10_000.0 - cost);
    let after_all = amount(20_000.0 - cost + 2.5 - 1.0 - 1.25);
    let expected = json!([
        ["credited", 10_000, 10_000, 0],
        ["debited", price, after_card, 0],
        ["credited", 10_000, amount(after_card + 10_000.0), 0],
        ["debited", 1, amount(after_card + 9_999.0), 0],
        ["credited", 2.5, amount(after_card + 10_001.5), 0],
        ["debited", 1.25, after_all, 0],
    ]);
    let seen: Vec<Value> = all.iter().map(change).collect();
    assert_eq!(json!(seen), expected);
    let on = |network: &str| now["balances"][network]["balance"].as_f64().unwrap();
    assert_eq!(amount(on("base") + on("solana")), after_all, "as the chains have it");
    let causes = [0, 2, 4].map(|n| all[n]["cause"].clone());
    let addresses = &wallet["addresses"];
    assert_eq!(
        causes,
        ["base", "solana", "base"].map(|network| addresses[network].clone())
    );
    let of = |n: usize| {
        let paid = &all[n]["wallet_payment"];
        assert_eq!(paid["wallet_payment_id"], all[n]["cause"]);
        assert_eq!(paid["status"], "settled");
        [&paid["kind"], &paid["host"], &paid["note"]].map(Clone::clone)
    };
    assert_eq!(of(1), [json!("x402"), json!("route"), Value::Null]);
    assert_eq!(of(3), [json!("x402"), json!(seller.authority()), Value::Null]);
    assert_eq!(of(5), [json!("transfer"), Value::Null, json!("lunch")]);
    let by = json!({"api_key_id": key, "name": "Courier"});
    let keys = [1, 3, 5].map(|n| all[n]["api_key"].clone());
    assert_eq!(keys, [by.clone(), Value::Null, by]);

    // What the purchase gave back is in the statement of the balance, and so is what went to the wallet.
    let balance = site.get_as(&own, "/get-account-statement").await.body;
    let types: Vec<_> = balance["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l["type"].clone())
        .collect();
    assert_eq!(types, ["credited", "held", "withdrawn"]);

    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_eq!(lines(&site, &own, "").await, all);
    let newest = lines(&site, &own, "&order=desc&limit=2").await;
    assert_eq!(newest, [all[5].clone(), all[4].clone()]);
    let before = format!("&order=desc&starting_after={}", newest[1]["entry_id"].as_str().unwrap());
    assert_eq!(lines(&site, &own, &before).await[0], all[3]);
    let time = |n: usize| all[n]["created_at"].as_str().unwrap().to_owned();
    let period = format!("&from={}&until={}", time(2), time(4));
    assert_eq!(lines(&site, &own, &period).await, all[2..4]);
    let owner = Owner::by_token(&site, &own).await;
    let in_period = sums(&site, &owner, &period).await;
    assert_eq!(in_period.status, 200, "{}", in_period.text);
    let shown = ["opening", "credited", "debited", "balance"].map(|name| in_period.body[name].clone());
    assert_eq!(
        json!(shown),
        json!([after_card, 10_000, 1, amount(after_card + 9_999.0)])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn statement_of_the_agent_wallet_agrees_with_the_chains_when_it_is_read() {
    // Checks: the sums have what is on both chains before the wallet paid anything, and reads write each receipt once,
    // also reads at the same time; what a payment holds is held in the sums though it has no line; a period that is over
    // has no held part, and reading it writes nothing.
    let (seller, _host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (agent, own, wallet) = opened(&site, Network::Base).await;
    let owner = Owner::by_token(&site, &own).await;
    let past = sums(&site, &owner, "&until=2020-01-01T00:00:00Z").await;
    assert_eq!(past.body["balance"], 0, "{}", past.text);
    let shown = |answer: &Response| json!([answer.body["balance"], answer.body["held"], answer.body["available"]]);
    assert_eq!(shown(&past), json!([0, null, null]));
    let (first, second) = tokio::join!(sums(&site, &owner, ""), sums(&site, &owner, ""));
    assert_eq!(shown(&first), json!([20_000, 0, 20_000]), "{}", first.text);
    assert_eq!(shown(&second), shown(&first), "{}", second.text);
    assert_eq!(lines(&site, &own, "").await.len(), 2);

    fund_wallet(&site, wallet["addresses"]["base"].as_str().unwrap()).await;
    let newest = lines(&site, &own, "&order=desc&limit=1").await;
    assert_eq!(change(&newest[0]), json!(["credited", 1, 20_001, 0]));
    let unsettled = json!({"url": format!("http://{}/refuses", seller.authority()), "expectedNetwork": "solana"});
    let call = keyed(&site, &own, "agentX402Pay", "refused", &unsettled).await;
    assert_error(&call, 409, "unsettled");
    let now = with_open(&site, &own, 1).await;
    assert_eq!(now["balances"]["solana"]["held"], 1);
    let sums_now = sums(&site, &owner, "").await;
    assert_eq!(shown(&sums_now), json!([20_001, 1, 20_000]), "{}", sums_now.text);
    assert_eq!(lines(&site, &own, "").await.len(), 3, "a hold has no line");

    // What is received right after a payment has its line a little later.
    let transfer = json!({"toAddress": agent.address(), "amountUsdc": 1.25});
    let sent = keyed(&site, &own, "agentWalletTransfer", "lunch", &transfer).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    with_open(&site, &own, 1).await;
    fund_wallet(&site, wallet["addresses"]["base"].as_str().unwrap()).await;
    site.advance(31).await;
    let all = lines(&site, &own, "").await;
    let last = all
        .iter()
        .skip(3)
        .map(|l| json!([l["type"], l["amount"], l["balance"]]));
    let last: Vec<Value> = last.collect();
    assert_eq!(
        json!(last),
        json!([["debited", 1.25, 19_999.75], ["credited", 1, 20_000.75]])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn statement_of_the_agent_wallet_is_for_its_owner_only() {
    // Checks: tokens of a payment and of an API key get 403, and so do the pages of their links; another account has its
    // own, which is empty; an account without a wallet has an empty one.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (agent, own, _) = opened(&site, Network::Base).await;
    let (_, courier) = key_of(&site, &own, "Courier").await;
    assert_eq!(lines(&site, &own, "").await.len(), 2, "it has something on both chains");
    let transfer = json!({"toAddress": agent.address(), "amountUsdc": 1.25});
    let sent = keyed(&site, &courier, "agentWalletTransfer", "lunch", &transfer).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    with_open(&site, &own, 0).await;
    assert_eq!(lines(&site, &own, "").await.len(), 3);
    let by_payment = field(&agent.buy(&site, "/get-card?amount=5").await, "/auth/id_token");
    for token in [&courier, &by_payment] {
        assert_error(&site.get_as(token, PATH).await, 403, "sign_in_required");
        assert_eq!(site.get_as(token, "/get-account-statement").await.status, 200);
        let page = Owner::by_token(&site, token).await;
        assert_error(&sums(&site, &page, "").await, 403, "sign_in_required");
        let seen = site.get(PATH, &[("cookie", page.cookie())]).await;
        assert_error(&seen, 403, "sign_in_required");
    }
    let owner = Owner::of(&site, &agent).await;
    let seen = site.get(PATH, &[("cookie", owner.cookie())]).await;
    assert_eq!(seen.body["entries"].as_array().unwrap().len(), 3, "{}", seen.text);
    assert_eq!(sums(&site, &owner, "").await.body["debited"], json!(1.25));

    let (_, theirs, _) = opened(&site, Network::Base).await;
    let of_theirs: Vec<Value> = lines(&site, &theirs, "").await.iter().map(change).collect();
    assert_eq!(
        json!(of_theirs),
        json!([["credited", 10_000, 10_000, 0], ["credited", 10_000, 20_000, 0]])
    );
    let walletless = Agent::new(Network::Base);
    assert!(lines(&site, &walletless.token(&site).await, "").await.is_empty());
    let (_, with_balance) = agent_with_balance(&site, Network::Solana).await;
    assert!(lines(&site, &with_balance, "").await.is_empty(), "not the balance's");
    assert_error(
        &site.get_as(&own, "/get-account-statement?of=everything").await,
        400,
        "parameter_invalid",
    );
}
