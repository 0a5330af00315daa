//! Spends over the owner's limits over HTTP: the owner's approval, its use, and the limits of API keys.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::agent_wallet::{assert_error, keyed, opened, outgoing_amounts};
use super::banking::{call, result};
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::listener::Stream;
use super::owner::Owner;
use super::precedence_table::PrecedenceTable;
use super::request::Request;
use super::webhooks::register;
use super::withdraw::withdraw;

async fn decide(site: &ServiceClient<'_>, owner: &Owner, decision: &str, id: &str) -> Response {
    let path = format!("/account/approvals/{decision}");
    owner.act(site, &path, &json!({"approval_id": id})).await
}

async fn listed(site: &ServiceClient<'_>, owner: &Owner) -> Value {
    let answer = site.get("/account/approvals", &[("cookie", owner.cookie())]).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["approvals"].clone()
}

/// The owner is asked about spends over 1.50 US dollars.
async fn ask_me(site: &ServiceClient<'_>, owner: &Owner) {
    let limits = json!({"per_call_usd": 1.5, "approvals": true});
    let set = owner.act(site, "/account/spending", &limits).await;
    assert_eq!(set.status, 200, "{}", set.text);
    assert_eq!(set.body["agent_wallet"]["limits"]["approvals"], true);
}

/// The approval that a call waits for.
fn waiting(answer: &Response) -> String {
    let result = &answer.body["result"];
    assert_eq!(
        (answer.status, &result["status"]),
        (202, &json!("approval_required")),
        "{}",
        answer.text
    );
    assert_eq!(result["approval"]["approvalId"], result["approvalId"]);
    result["approvalId"].as_str().unwrap().to_owned()
}

/// An API key of the account and a token of it.
pub(crate) async fn key_of(site: &ServiceClient<'_>, token: &str, name: &str) -> (String, String) {
    let made = result(site, token, "createAgentApiKey", json!({ "name": name })).await;
    let key = made["apiKey"].as_str().unwrap();
    let exchanged = result(site, key, "agentAuth", json!({})).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&made["key"]["apiKeyId"]), text(&exchanged["idToken"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn spend_over_a_limit_waits_for_the_owner() {
    // Checks: A transfer and a paid call over a limit are 202, for an agent with an API key. The owner sees what, to
    // whom, how much, which limit and which agent. After the consent the same call passes once, under its key and
    // without; the key then answers as the first time. The limit stays. Without `approvals` the contract's refusal.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, own, wallet) = opened(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    let (key, token) = key_of(&site, &own, "Courier").await;
    result(&site, &token, "announceAgentConnection", json!({"name": "Scout"})).await;
    ask_me(&site, &owner).await;
    let transfer = json!({"toAddress": agent.address(), "amountUsdc": 2, "note": "lunch"});
    let asked = keyed(&site, &token, "agentWalletTransfer", "lunch", &transfer).await;
    let id = waiting(&asked);
    assert_eq!(
        waiting(&keyed(&site, &token, "agentWalletTransfer", "lunch", &transfer).await),
        id,
        "asked once"
    );
    let all = listed(&site, &owner).await;
    let one = &all[0];
    assert_eq!(all.as_array().unwrap().len(), 1);
    for (member, value) in [
        ("approval_id", json!(id)),
        ("status", json!("pending")),
        ("kind", json!("transfer")),
        ("amount", json!(2)),
        ("note", json!("lunch")),
        ("api_key_id", json!(key)),
        ("api_key_name", json!("Courier")),
        ("wallet_payment_id", json!(null)),
    ] {
        assert_eq!(one[member], value, "{member}: {one}");
    }
    assert_eq!(one["agent"]["name"], "Scout");
    assert_eq!(
        one["limits"],
        json!([{"limit": "per_call_usd", "cap_usd": 1.5, "left_usd": 1.5}])
    );
    let seen = site.get_as(&token, &format!("/get-approval?approval_id={id}")).await;
    assert_eq!(
        (seen.status, seen.str("status")),
        (200, Some("pending")),
        "{}",
        seen.text
    );
    let approved = decide(&site, &owner, "approve", &id).await;
    assert_eq!(
        (approved.status, approved.str("status")),
        (200, Some("approved")),
        "{}",
        approved.text
    );
    // Another agent of the same account cannot use it.
    waiting(&call(&site, &own, "agentWalletTransfer", transfer.clone()).await);
    let sent = keyed(&site, &token, "agentWalletTransfer", "lunch", &transfer).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    let again = keyed(&site, &token, "agentWalletTransfer", "lunch", &transfer).await;
    assert_eq!(again.body, sent.body);
    let payment = &sent.body["result"]["walletPayment"]["walletPaymentId"];
    until("the approval is used", async || {
        let now = site.get_as(&token, &format!("/get-approval?approval_id={id}")).await;
        (now.str("status") == Some("used") && now.body["wallet_payment_id"] == *payment).then_some(())
    })
    .await;
    let named = json!({"toAddress": agent.address(), "amountUsdc": 2, "note": "lunch", "approvalId": id});
    assert_error(
        &call(&site, &token, "agentWalletTransfer", named).await,
        409,
        "approval_used",
    );
    // A paid call, by the same arguments with the approval's id.
    let mut buy = json!({"route": "/get-card", "params": {"amount": "5"}, "expectedNetwork": "base"});
    let bought = waiting(&call(&site, &token, "agentX402Pay", buy.clone()).await);
    assert_eq!(
        listed(&site, &owner).await[0]["purchase"],
        json!({"route": "/get-card", "amount": "5", "currency": null})
    );
    assert_eq!(decide(&site, &owner, "approve", &bought).await.status, 200);
    buy["approvalId"] = json!(bought);
    let paid = call(&site, &token, "agentX402Pay", buy.clone()).await;
    assert_eq!(
        (paid.status, &paid.body["result"]["response"]["httpStatus"]),
        (200, &json!(200)),
        "{}",
        paid.text
    );
    assert_error(&call(&site, &token, "agentX402Pay", buy).await, 409, "approval_used");
    assert_eq!(outgoing_amounts(&site, &wallet, Network::Base).await.len(), 2);
    site.wait_for_events(
        &own,
        &[
            "approval.requested",
            "approval.approved pending",
            "approval.used approved",
        ],
    )
    .await;
    let set = owner
        .act(&site, "/account/spending", &json!({"per_call_usd": "1.50"}))
        .await;
    assert!(set.status < 400, "{}", set.text);
    assert_error(
        &call(&site, &token, "agentWalletTransfer", transfer).await,
        403,
        "policy_filtered",
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_calls_that_name_one_approval_ask_for_no_other_one() {
    // Checks: of eight calls at once that name one approval, one passes, and the others learn that it was used, also
    // though the day's limit is exceeded by then. The owner has one approval in the list, and is not asked again.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, wallet) = opened(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    let limits = json!({"per_call_usd": "1.50", "per_day_usd": 3, "approvals": true});
    let set = owner.act(&site, "/account/spending", &limits).await;
    assert_eq!(set.status, 200, "{}", set.text);
    let mut transfer = json!({"toAddress": agent.address(), "amountUsdc": 2});
    let id = waiting(&call(&site, &token, "agentWalletTransfer", transfer.clone()).await);
    assert_eq!(decide(&site, &owner, "approve", &id).await.status, 200);
    transfer["approvalId"] = json!(id);
    let (client, data) = (&site, transfer);
    let calls = (0..8).map(|_| call(client, &token, "agentWalletTransfer", data.clone()));
    let (paid, refused): (Vec<_>, Vec<_>) = futures_util::future::join_all(calls)
        .await
        .into_iter()
        .partition(|answer| answer.status == 200);
    assert_eq!(paid.len(), 1, "{refused:?}");
    for answer in &refused {
        assert_error(answer, 409, "approval_used");
    }
    until("the approval is used", async || {
        let all = listed(&site, &owner).await;
        let only = all
            .as_array()
            .filter(|all| all.len() == 1)
            .map(|all| all[0]["status"].clone());
        (only == Some(json!("used"))).then_some(())
    })
    .await;
    assert_error(
        &call(&site, &token, "agentWalletTransfer", data).await,
        409,
        "approval_used",
    );
    assert_eq!(listed(&site, &owner).await.as_array().unwrap().len(), 1);
    assert_eq!(outgoing_amounts(&site, &wallet, Network::Base).await.len(), 1);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_sees_only_the_approvals_that_it_asked_for() {
    // Checks: the owner and a token of the wallet see the requests of all agents; an agent with an API key, and the page of
    // its link, its own; a token of a payment none. The same holds for events, over HTTP and on the stream, and for spends
    // that a limit refused, in the wallet too.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, own, _) = opened(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    let (_, courier) = key_of(&site, &own, "Courier").await;
    let (_, buyer) = key_of(&site, &own, "Buyer").await;
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let payment = bought.body["auth"]["id_token"].as_str().unwrap();
    let transfer = |amount: u32| json!({"toAddress": agent.address(), "amountUsdc": amount});
    let set = owner
        .act(&site, "/account/spending", &json!({"per_call_usd": "1.50"}))
        .await;
    assert_eq!(set.status, 200, "{}", set.text);
    let mut hooks = Vec::new();
    for (n, token) in [&own, &courier, &buyer].into_iter().enumerate() {
        let url = format!("https://hooks.unknown.example/{n}");
        hooks.push(register(&site, token, &url, &["approval.*", "agent_wallet.*"]).await.0);
    }
    let mut streams = Vec::new();
    for token in [&own, &courier, &buyer] {
        let mut stream = Stream::open(&site, token).await;
        stream.send(&json!({"type": "subscribe"})).await;
        // The position from which it goes on.
        while stream.frame().await["cursor"].is_null() {}
        streams.push(stream);
    }
    for token in [&courier, &buyer] {
        let refused = call(&site, token, "agentWalletTransfer", transfer(2)).await;
        assert_error(&refused, 403, "policy_filtered");
    }
    ask_me(&site, &owner).await;
    let mut asked = Vec::new();
    for (token, amount) in [(&own, 2), (&courier, 3), (&buyer, 4)] {
        asked.push(waiting(
            &call(&site, token, "agentWalletTransfer", transfer(amount)).await,
        ));
    }
    let pages = [
        (Owner::of(&site, &agent).await, vec![2, 1, 0]),
        (Owner::by_token(&site, &courier).await, vec![1]),
        (Owner::by_token(&site, &buyer).await, vec![2]),
        (Owner::by_token(&site, payment).await, vec![]),
    ];
    for (page, expected) in &pages {
        let shown = listed(&site, page).await;
        let ids: Vec<_> = shown
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["approval_id"])
            .collect();
        assert_eq!(ids, expected.iter().map(|n: &usize| &asked[*n]).collect::<Vec<_>>());
    }
    let of_other = format!("/account/approvals?starting_after={}", asked[2]);
    let refused = site.get(&of_other, &[("cookie", pages[1].0.cookie())]).await;
    assert_error(&refused, 403, "approval_access_denied");

    let types = "/events?limit=100&types=approval.*,agent_wallet.*";
    let events_of = async |headers: &[(&str, &str)]| {
        let answer = site.get(types, headers).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body["events"].as_array().unwrap().clone()
    };
    let amounts = |events: &[Value], kind: &str| -> Vec<Value> {
        let of_kind = events.iter().filter(|event| event["type"] == kind);
        let amount = |event: &Value| match kind {
            "approval.requested" => event["data"]["object"]["amount"].clone(),
            _ => event["data"]["object"]["last_refused_spend"]["api_key_id"].clone(),
        };
        of_kind.map(amount).collect()
    };
    let all = events_of(&[("authorization", format!("Bearer {own}").as_str())]).await;
    assert_eq!(amounts(&all, "approval.requested"), [json!(2), json!(3), json!(4)]);
    assert_eq!(amounts(&all, "agent_wallet.spend_refused").len(), 2);
    for ((token, page), amount) in [(&courier, &pages[1].0), (&buyer, &pages[2].0)].into_iter().zip([3, 4]) {
        let bearer = format!("Bearer {token}");
        for headers in [("authorization", bearer.as_str()), ("cookie", page.cookie())] {
            let seen = events_of(&[headers]).await;
            assert_eq!(amounts(&seen, "approval.requested"), [json!(amount)]);
            let refused = amounts(&seen, "agent_wallet.spend_refused");
            assert_eq!(refused.len(), 1);
            for event in &seen {
                let (now, before) = (&event["data"]["object"], &event["data"]["previous"]);
                for shown in [&now["last_refused_spend"], &before["last_refused_spend"]] {
                    assert!(shown.is_null() || shown["api_key_id"] == refused[0], "{event}");
                }
            }
        }
    }
    let of_payment = events_of(&[("authorization", format!("Bearer {payment}").as_str())]).await;
    assert!(of_payment.iter().all(|event| event["type"] != "approval.requested"));
    assert!(!json!(of_payment).to_string().contains("last_refused_spend"));

    // On the stream, up to the last event of all.
    result(
        &site,
        &buyer,
        "saveAddressBookEntry",
        json!({"name": "Shop", "address": agent.address()}),
    )
    .await;
    for (stream, expected) in streams.iter_mut().zip([vec![2, 3, 4], vec![3], vec![4]]) {
        let mut seen = Vec::new();
        loop {
            let frame = stream.frame().await;
            let event = &frame["event"];
            if event["type"] == "agent_wallet.address_saved" {
                break;
            }
            if event["type"] == "approval.requested" {
                seen.push(event["data"]["object"]["amount"].clone());
            }
        }
        assert_eq!(
            seen,
            expected.into_iter().map(|amount| json!(amount)).collect::<Vec<_>>()
        );
    }
    // Deliveries: each endpoint gets the last event, and of the requests those that its registrant sees.
    for (hook, expected) in hooks.iter().zip([(3, 2), (1, 1), (1, 1)]) {
        until("the deliveries", async || {
            let page = site
                .get_as(&own, &format!("/webhook-deliveries?webhook_id={hook}&limit=100"))
                .await;
            let deliveries = page.body["deliveries"].as_array().unwrap();
            let of = |kind: &str| deliveries.iter().filter(|one| one["type"] == kind).count();
            (of("agent_wallet.address_saved") == 1
                && (of("approval.requested"), of("agent_wallet.spend_refused")) == expected)
                .then_some(())
        })
        .await;
    }
    for (token, sees) in [(&own, true), (&courier, false), (&buyer, true)] {
        let shown = result(&site, token, "getAgentWallet", json!({})).await;
        assert_eq!(shown["wallet"]["lastRefusedSpend"].is_object(), sees, "{shown}");
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn declined_and_expired_approvals_are_refused_by_name() {
    // Checks: declined before and after the consent, expired before and after it, another spend, and the refusal that
    // the owner is notified of. Nothing leaves the wallet.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, wallet) = opened(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    let transfer = |amount: u32| json!({"toAddress": agent.address(), "amountUsdc": amount});
    let with = |amount: u32, id: &str| json!({"toAddress": agent.address(), "amountUsdc": amount, "approvalId": id});
    let ask = async |data: Value| call(&site, &token, "agentWalletTransfer", data).await;
    let set = owner
        .act(&site, "/account/spending", &json!({"per_call_usd": "1.50"}))
        .await;
    assert!(set.status < 400, "{}", set.text);
    assert_error(&ask(transfer(2)).await, 403, "policy_filtered");
    site.wait_for_events(&token, &["agent_wallet.spend_refused"]).await;
    let shown = result(&site, &token, "getAgentWallet", json!({})).await;
    assert_eq!(shown["wallet"]["lastRefusedSpend"]["amount"], 2, "{shown}");
    ask_me(&site, &owner).await;
    let declined = waiting(&ask(transfer(2)).await);
    let taken_back = waiting(&ask(transfer(3)).await);
    assert_eq!(decide(&site, &owner, "decline", &declined).await.status, 200);
    assert_eq!(decide(&site, &owner, "approve", &taken_back).await.status, 200);
    assert_eq!(decide(&site, &owner, "decline", &taken_back).await.status, 200);
    for (amount, id) in [(2, &declined), (3, &taken_back)] {
        assert_error(&ask(transfer(amount)).await, 403, "approval_declined");
        assert_error(&ask(with(amount, id)).await, 403, "approval_declined");
        assert_error(&decide(&site, &owner, "approve", id).await, 403, "approval_declined");
    }
    assert_error(&ask(with(2, &taken_back)).await, 409, "approval_mismatch");
    assert_error(&ask(with(2, "sap_x")).await, 404, "approval_not_found");
    let unanswered = waiting(&ask(transfer(4)).await);
    let unused = waiting(&ask(transfer(5)).await);
    assert_eq!(decide(&site, &owner, "approve", &unused).await.status, 200);
    let later = site.post("/sandbox/time", &json!({"advance_seconds": 86_400})).await;
    assert_eq!(later.status, 200, "{}", later.text);
    let token = agent.token(&site).await;
    let owner = Owner::of(&site, &agent).await;
    for (amount, id) in [(4, &unanswered), (5, &unused)] {
        until("it expires", async || {
            let now = site.get_as(&token, &format!("/get-approval?approval_id={id}")).await;
            (now.str("status") == Some("expired")).then_some(())
        })
        .await;
        let refused = call(&site, &token, "agentWalletTransfer", with(amount, id)).await;
        assert_error(&refused, 409, "approval_expired");
        for decision in ["approve", "decline"] {
            assert_error(&decide(&site, &owner, decision, id).await, 409, "approval_expired");
        }
    }
    site.wait_for_events(
        &token,
        &[
            "approval.declined pending",
            "approval.declined approved",
            "approval.expired pending",
            "approval.expired approved",
        ],
    )
    .await;
    assert!(outgoing_amounts(&site, &wallet, Network::Base).await.is_empty());
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_an_api_key_hold_for_wallet_and_balance() {
    // Checks: Only the owner's page sets them. Per call and per day, for transfers and withdrawals of the key together,
    // also of many at once, and of a token for a payment that was sent with the key's. Another key and the wallet's own
    // session are not counted. What was spent is shown. A consent to a spend of a key that is revoked in between is not given.
    let host = Host::new().with("PURSER_AGENT_WALLET__MAX_CALLS_PER_MINUTE", "1000");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, own, wallet) = opened(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    let (key, token) = key_of(&site, &own, "Courier").await;
    let (_, other) = key_of(&site, &own, "Buyer").await;
    let path = "/account/api-keys/limits";
    let limits = json!({"api_key_id": key, "per_call_usd": 2, "per_day_usd": "5.00"});
    let unsigned = send(
        site.request("POST", path)
            .header("origin", &site.service.url)
            .json(&limits),
    )
    .await;
    assert_error(&unsigned.unwrap(), 401, "token_missing");
    let foreign = Owner::of(&site, &Agent::new(Network::Base)).await;
    assert_error(&foreign.act(&site, path, &limits).await, 403, "api_key_access_denied");
    let unknown = json!({"api_key_id": "key_x"});
    assert_error(&owner.act(&site, path, &unknown).await, 404, "api_key_not_found");
    let bad = json!({"api_key_id": key, "per_day_usd": "x"});
    assert_error(&owner.act(&site, path, &bad).await, 400, "parameter_invalid");
    let set = owner.act(&site, path, &limits).await;
    assert_eq!(set.status, 200, "{}", set.text);
    assert_eq!(
        set.body["api_key"]["limits"],
        json!({"per_call_usd": 2, "per_day_usd": 5})
    );
    assert_eq!(set.body["api_key"]["spent_today_usd"], 0);
    site.wait_for_events(&own, &["api_key.limits_updated"]).await;
    let transfer = |amount: u32| json!({"toAddress": agent.address(), "amountUsdc": amount});
    let large = call(&site, &token, "agentWalletTransfer", transfer(3)).await;
    assert_error(&large, 403, "policy_filtered");
    let (client, data) = (&site, transfer(1));
    let calls = (0..8).map(|_| call(client, &token, "agentWalletTransfer", data.clone()));
    let answers = futures_util::future::join_all(calls).await;
    let paid = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(paid, 5, "{answers:?}");
    let withdrawn = withdraw(&site, &token, None, &json!({"amount": 1})).await;
    assert_error(&withdrawn, 403, "policy_filtered");
    // The token of a payment that was sent with the key's token is the same agent's.
    let (card, bearer) = ("/get-card?amount=5", format!("Bearer {token}"));
    let payment = agent.payment(&site, card).await;
    let headers = [
        ("payment-signature", payment.as_str()),
        ("authorization", bearer.as_str()),
    ];
    let bought = site.get(card, &headers).await;
    let beside = bought.body["auth"]["id_token"].as_str().unwrap();
    let withdrawn = withdraw(&site, beside, None, &json!({"amount": 1})).await;
    assert_error(&withdrawn, 403, "policy_filtered");
    for free in [&own, &other] {
        let sent = call(&site, free, "agentWalletTransfer", transfer(3)).await;
        assert_eq!(sent.status, 200, "{}", sent.text);
    }
    assert_eq!(outgoing_amounts(&site, &wallet, Network::Base).await.len(), 7);
    let raised = json!({"api_key_id": key, "per_day_usd": 6});
    let raised = owner.act(&site, path, &raised).await;
    assert_eq!(raised.body["api_key"]["spent_today_usd"], 5, "{}", raised.text);
    assert_eq!(raised.body["api_key"]["limits"]["per_call_usd"], json!(null));
    let account = owner.account(&site).await.body;
    let shown = account["api_keys"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["api_key_id"] == key);
    assert_eq!(shown, Some(&raised.body["api_key"]));
    // The limits of the key are the owner's too: one spend may pass them.
    ask_me(&site, &owner).await;
    let first = call(&site, &token, "agentWalletTransfer", transfer(1)).await;
    assert_eq!(first.status, 200, "{}", first.text);
    let asked = waiting(&call(&site, &token, "agentWalletTransfer", transfer(1)).await);
    let all = listed(&site, &owner).await;
    assert_eq!(all[0]["limits"][0]["limit"], "api_key_per_day_usd", "{all}");
    let revoked = result(&site, &own, "revokeAgentApiKey", json!({"apiKeyId": key})).await;
    assert_eq!(revoked["key"]["status"], "revoked");
    assert_error(
        &decide(&site, &owner, "approve", &asked).await,
        409,
        "approval_key_revoked",
    );
    assert_error(&owner.act(&site, path, &limits).await, 401, "api_key_revoked");
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_an_agent_end_with_its_access() {
    // Checks: What a revoked key had asked for is declined, with the reason and an event, and can't be approved. Other
    // agents' requests stay, until the owner stops all agents.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, own, _) = opened(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    ask_me(&site, &owner).await;
    let (key, token) = key_of(&site, &own, "Courier").await;
    let transfer = |dollars: u32| json!({"toAddress": agent.address(), "amountUsdc": dollars});
    let asked = waiting(&call(&site, &token, "agentWalletTransfer", transfer(2)).await);
    let wallets = waiting(&call(&site, &own, "agentWalletTransfer", transfer(3)).await);
    let status_of = async |id: &str| {
        let all = listed(&site, &owner).await;
        let one = all.as_array().unwrap().iter().find(|one| one["approval_id"] == id);
        let one = one.unwrap_or_else(|| panic!("{id} is not in {all}"));
        (one["status"].clone(), one["decline_reason"].clone())
    };
    let until_declined = async |id: &str| {
        let declined = (json!("declined"), json!("agent_ended"));
        until("it is declined", async || {
            (status_of(id).await == declined).then_some(())
        })
        .await;
    };
    result(&site, &own, "revokeAgentApiKey", json!({"apiKeyId": key})).await;
    until_declined(&asked).await;
    assert_eq!(status_of(&wallets).await, (json!("pending"), Value::Null));
    let events = site.events(&own, 0).await;
    let declined: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "approval.declined")
        .collect();
    assert_eq!(declined.len(), 1, "{events:?}");
    let object = &declined[0]["data"]["object"];
    assert_eq!(
        (&object["approval_id"], &object["decline_reason"]),
        (&json!(asked), &json!("agent_ended"))
    );
    let late = decide(&site, &owner, "approve", &asked).await;
    assert_error(&late, 409, "approval_key_revoked");
    assert_eq!(
        decide(&site, &owner, "decline", &asked).await.status,
        200,
        "it is declined"
    );

    let stopped = owner.act(&site, "/account/stop-agents", &json!({})).await;
    assert_eq!(stopped.status, 200, "{}", stopped.text);
    until_declined(&wallets).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_errors_follow_precedence() {
    // Checks: the owner's list and decision, and the agent's read, each error in its place.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (agent, token, _) = opened(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let payment_token = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let looking = Owner::by_token(&site, &payment_token).await;
    let transfer = json!({"toAddress": agent.address(), "amountUsdc": 2});
    ask_me(&site, &owner).await;
    let (_, key_token) = key_of(&site, &token, "Courier").await;
    let id = waiting(&call(&site, &token, "agentWalletTransfer", transfer.clone()).await);
    let other = Agent::new(Network::Solana);
    let other_token = other.token(&site).await;
    result(&site, &other_token, "createAgentWallet", json!({})).await;
    let other_owner = Owner::of(&site, &other).await;
    ask_me(&site, &other_owner).await;
    let foreign = waiting(&call(&site, &other_token, "agentWalletTransfer", transfer).await);
    assert_eq!(decide(&site, &owner, "decline", &id).await.status, 200);
    site.freeze(&agent.address(), Some("Please write to us.")).await;

    let mut precedence = PrecedenceTable::of("GET /account/approvals", "account-approvals");
    let mut ask = Request::new("GET", "/account/approvals?limi=1");
    ask.header("sec-fetch-site", "cross-site");
    precedence.assert_next(&ask.send(&site).await);
    let mut ask = Request::new("GET", "/account/approvals?limi=1");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("cookie", owner.cookie());
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    for (name, value) in [
        ("limit", "0"),
        ("starting_after", "sap_x"),
        ("starting_after", &foreign),
        ("limit", "1"),
    ] {
        let mut ask = Request::new("GET", "/account/approvals").with(name, value);
        ask.header("cookie", owner.cookie());
        precedence.assert_next(&ask.send(&site).await);
    }
    precedence.assert_complete();

    let mut precedence = PrecedenceTable::of("POST /account/approvals/approve", "approve-spend");
    let mut ask = Request::new("POST", "/account/approvals/approve");
    ask.body(&json!({"approval": foreign}));
    precedence.assert_next(&ask.send(&site).await);
    ask.header("origin", &site.service.url);
    ask.header("content-type", "application/json");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), Some("Please write to us.")).await;
    ask.header("cookie", owner.cookie());
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ask.header("cookie", looking.cookie());
    precedence.assert_next(&ask.send(&site).await);
    ask.header("cookie", owner.cookie());
    precedence.assert_next(&ask.send(&site).await);
    for body in [
        json!({}),
        json!({"approval_id": "sap_x"}),
        json!({"approval_id": foreign}),
        json!({"approval_id": id}),
    ] {
        ask.body(&body);
        precedence.assert_next(&ask.send(&site).await);
    }
    let mine = waiting(
        &call(
            &site,
            &token,
            "agentWalletTransfer",
            json!({"toAddress": agent.address(), "amountUsdc": 3}),
        )
        .await,
    );
    ask.body(&json!({"approval_id": mine}));
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
    for (body, status) in [
        (json!({}), 400),
        (json!({"approval_id": "sap_x"}), 404),
        (json!({"approval_id": foreign}), 403),
    ] {
        let answer = owner.act(&site, "/account/approvals/decline", &body).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    let anonymous = send(
        site.request("POST", "/account/approvals/decline")
            .header("origin", &site.service.url)
            .json(&json!({})),
    );
    assert_error(&anonymous.await.unwrap(), 401, "token_missing");

    let mut precedence = PrecedenceTable::of("GET /get-approval", "get-approval");
    let mut ask = Request::new("GET", "/get-approval?approval=x");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    let mut ask = Request::new("GET", "/get-approval");
    ask.bearer(&token);
    site.freeze(&agent.address(), Some("Please write to us.")).await;
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ask.bearer(&payment_token);
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    let mut missing = Request::new("GET", "/get-approval?approval_id=sap_x");
    missing.bearer(&token);
    precedence.assert_next(&missing.send(&site).await);
    let mut ask = Request::new("GET", "/get-approval").with("approval_id", &id);
    ask.bearer(&key_token);
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}
