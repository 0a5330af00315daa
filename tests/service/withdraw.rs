//! Withdrawals on both chains.

use purser_actors::id::{Network, Wallet};
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::{Host, Service};
use super::http::{Response, ServiceClient, send, until};

/// A wallet whose card the issuer declined, so that 6.66 are on its balance. The token comes from a sign-in.
pub(crate) async fn agent_with_balance(site: &ServiceClient<'_>, network: Network) -> (Agent, String) {
    let agent = Agent::new(network);
    assert_eq!(agent.buy(site, "/get-card?amount=6.66").await.status, 200);
    let token = agent.token(site).await;
    credited(site, &token).await;
    (agent, token)
}

/// Waits until the 6.66 of the declined card are on the balance.
pub(crate) async fn credited(site: &ServiceClient<'_>, token: &str) {
    until("the credit", async || {
        let balance = site.get_as(token, "/get-account-balance").await;
        (balance.body["balance"] == json!(6.66)).then_some(())
    })
    .await;
}

pub(crate) async fn withdraw(site: &ServiceClient<'_>, token: &str, key: Option<&str>, body: &Value) -> Response {
    let request = site.request("POST", "/withdraw").bearer_auth(token);
    let request = match key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    };
    send(request.body(body.to_string())).await.unwrap()
}

pub(crate) async fn ended(site: &ServiceClient<'_>, token: &str, id: &str) -> Value {
    let path = format!("/get-withdrawal-status?withdrawal_id={id}");
    until("the withdrawal's end", async || {
        let answer = site.get_as(token, &path).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let state = answer.body["withdrawal"]["state"].as_str().unwrap();
        matches!(state, "complete" | "failed").then(|| answer.body["withdrawal"].clone())
    })
    .await
}

pub(crate) fn id_of(answer: &Response) -> String {
    assert_eq!(answer.status, 202, "{}", answer.text);
    answer.body["withdrawal"]["id"].as_str().unwrap().to_owned()
}

/// Treasury transfers to a wallet that were not reorged, on both chains.
pub(crate) async fn received(site: &ServiceClient<'_>, agent: &Agent) -> Vec<u64> {
    let mut all = Vec::new();
    for network in Network::ALL {
        let path = format!("/sandbox/transfers?limit=1000&network={}", network.name());
        let page = site.get(&path, &[]).await.body;
        let own = agent.wallet.address(network);
        let own = page["transfers"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|t| t["to"].as_str().unwrap().eq_ignore_ascii_case(&own) && t["reorged"] == false);
        all.extend(own.map(|t| t["amount"].as_u64().unwrap()));
    }
    all
}

/// Waits until balance, available and held have these values.
pub(crate) async fn balance(site: &ServiceClient<'_>, token: &str, expected: [f64; 3]) {
    until("the balance", async || {
        let read = site.get_as(token, "/get-account-balance").await.body;
        let shown = ["balance", "available", "held"].map(|name| read[name].as_f64());
        (shown == expected.map(Some)).then_some(())
    })
    .await;
}

pub(crate) fn start() -> (Host, Service) {
    let host = Host::new();
    let service = host.start();
    (host, service)
}

#[tokio::test(flavor = "multi_thread")]
async fn withdrawal_arrives_on_both_chains_and_in_the_statement() {
    // Checks: the amount is held at once, sent, then complete with its transaction. The balance falls by exactly the
    // amount. Every step is an event and a line of the statement, and the ledger balances.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let (agent, token) = agent_with_balance(&site, network).await;
        let id = id_of(&withdraw(&site, &token, None, &json!({"amount": 2.50})).await);
        let done = ended(&site, &token, &id).await;
        let own: Wallet = agent.wallet.address(network).parse().unwrap();
        assert_eq!(
            (&done["state"], &done["amount"], &done["address"]),
            (&json!("complete"), &json!(2.5), &json!(own.address())),
            "{done}"
        );
        assert!(done["tx_hash"].is_string() && done["failure_reason"].is_null());
        balance(&site, &token, [4.16, 4.16, 0.0]).await;
        assert_eq!(received(&site, &agent).await, [2_500_000]);

        let lines = site.get_as(&token, "/get-account-statement").await.body;
        let lines_of_statement: Vec<String> = lines["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| {
                format!(
                    "{} {} -> {} ({})",
                    line["type"], line["amount"], line["balance"], line["held"]
                )
            })
            .collect();
        assert_eq!(
            lines_of_statement,
            [
                r#""credited" 6.66 -> 6.66 (0)"#,
                r#""held" 2.5 -> 6.66 (2.5)"#,
                r#""withdrawn" 2.5 -> 4.16 (0)"#,
            ]
        );
        assert_eq!(lines["entries"][2]["cause"], id);
        let first = site.get_as(&token, "/get-account-statement?limit=1").await.body;
        let after = first["entries"][0]["entry_id"].as_str().unwrap();
        assert_eq!(first["has_more"], true);
        let rest = format!("/get-account-statement?starting_after={after}");
        let rest = site.get_as(&token, &rest).await.body;
        assert_eq!(
            rest["entries"].as_array().unwrap()[..],
            lines["entries"].as_array().unwrap()[1..]
        );
        let newest = site
            .get_as(&token, "/get-account-statement?order=desc&limit=2")
            .await
            .body;
        let mut expected = lines["entries"].as_array().unwrap()[1..].to_vec();
        expected.reverse();
        assert_eq!(
            (&newest["entries"], &newest["has_more"]),
            (&json!(expected), &json!(true))
        );
        let time = |n: usize| lines["entries"][n]["created_at"].as_str().unwrap();
        let period = format!("/get-account-statement?from={}&until={}", time(1), time(2));
        let period = site.get_as(&token, &period).await.body;
        assert_eq!(
            (&period["entries"], &period["has_more"]),
            (&json!([lines["entries"][1]]), &json!(false))
        );

        let events = site.events(&token, 0).await;
        let types: Vec<&str> = events.iter().filter_map(|e| e["type"].as_str()).collect();
        for kind in [
            "withdrawal.pending",
            "withdrawal.sent",
            "withdrawal.complete",
            "balance.held",
            "balance.withdrawn",
        ] {
            assert_eq!(types.iter().filter(|t| **t == kind).count(), 1, "{kind} in {types:?}");
        }
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_27_concurrent_withdrawals_of_the_whole_balance_send_once() {
    // Checks: of twenty concurrent withdrawals of the whole balance one is accepted and nineteen are rejected. The
    // chain has one transfer.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    let body = json!({"amount": "6.66"});
    let answers = futures_util::future::join_all((0..20).map(|_| withdraw(&site, &token, None, &body))).await;
    let taken: Vec<_> = answers.iter().filter(|a| a.status == 202).collect();
    assert_eq!(taken.len(), 1);
    let refused = answers
        .iter()
        .filter(|a| (a.status, a.code()) == (409, "insufficient_balance"));
    assert_eq!(refused.count(), 19);
    assert_eq!(ended(&site, &token, &id_of(taken[0])).await["state"], "complete");
    balance(&site, &token, [0.0, 0.0, 0.0]).await;
    assert_eq!(received(&site, &agent).await, [6_660_000]);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_28_credit_during_a_withdrawal_is_not_lost() {
    // Checks: while the chain holds a withdrawal, declined cards are credited; both count in the end.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Solana).await;
    site.chain_fault(json!({"fault": "hold", "network": "solana"})).await;
    let id = id_of(&withdraw(&site, &token, None, &json!({"amount": 6})).await);
    balance(&site, &token, [6.66, 0.66, 6.0]).await;
    site.chain_fault(json!({"fault": "resume", "network": "solana"})).await;
    let credits = (0..3).map(|_| agent.buy(&site, "/get-card?amount=6.66"));
    futures_util::future::join_all(credits).await;
    assert_eq!(ended(&site, &token, &id).await["state"], "complete");
    balance(&site, &token, [20.64, 20.64, 0.0]).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn withdrawal_is_sent_once_under_every_chain_fault() {
    // Checks: under every chain fault a withdrawal ends with the outcome of the chain and one transfer.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let treasury =
            site.get("/sandbox", &[]).await.body["chains"][usize::from(network == Network::Solana)]["treasury"]
                .as_str()
                .unwrap()
                .to_owned();
        for fault in [
            json!({"fault": "lose_response", "times": 1}),
            json!({"fault": "decline", "reason": "busy", "times": 2}),
            json!({"fault": "fail_then_land", "delay_ms": 300, "times": 1}),
            json!({"fault": "unreachable", "times": 2}),
            json!({"fault": "front_run", "times": 1}),
        ] {
            let (agent, token) = agent_with_balance(&site, network).await;
            let mut targeted = fault.clone();
            targeted["network"] = json!(network.name());
            targeted["wallet"] = json!(treasury);
            site.chain_fault(targeted).await;
            let id = id_of(&withdraw(&site, &token, None, &json!({"amount": 6.66})).await);
            assert_eq!(
                ended(&site, &token, &id).await["state"],
                "complete",
                "{fault} on {network:?}"
            );
            balance(&site, &token, [0.0, 0.0, 0.0]).await;
            assert_eq!(received(&site, &agent).await, [6_660_000], "{fault}");
        }
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn declined_withdrawal_stays_held_while_it_can_settle() {
    // Checks: while the chain declines the transfer, the amount stays held across a kill and the ledger balances. Once
    // the chain accepts it, the same bytes settle.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (_, token) = agent_with_balance(&site, Network::Solana).await;
    let stranger = Agent::new(Network::Solana);
    let funded = site
        .post("/sandbox/faucet", &json!({"wallet": stranger.address(), "amount": "1"}))
        .await;
    assert_eq!(funded.status, 200, "{}", funded.text);
    let ours = purser::sandbox::keys::treasury(Network::Solana).address();
    site.chain_fault(json!({"network": "solana", "fault": "insufficient", "times": 0, "wallet": ours}))
        .await;
    let body = json!({"amount": 5, "address": stranger.address(), "network": "solana"});
    let id = id_of(&withdraw(&site, &token, None, &body).await);
    let path = format!("/get-withdrawal-status?withdrawal_id={id}");
    until("it is sent", async || {
        let read = site.get_as(&token, &path).await.body;
        (read["withdrawal"]["state"] == "sent").then_some(())
    })
    .await;
    balance(&site, &token, [6.66, 1.66, 5.0]).await;
    service.kill();
    host.assert_verified();
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_eq!(ended(&site, &token, &id).await["state"], "complete");
    balance(&site, &token, [1.66, 1.66, 0.0]).await;
    assert_eq!(received(&site, &stranger).await, [5_000_000]);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_token_withdraws_only_to_its_own_wallet() {
    // Checks: a payment token can withdraw only to its own wallet; a sign-in can withdraw to any address.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, signed_in) = agent_with_balance(&site, Network::Base).await;
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let relayed = bought.body["auth"]["id_token"].as_str().unwrap();
    let other_address = json!({"amount": 1, "address": Agent::new(Network::Base).address()});
    let refused = withdraw(&site, relayed, None, &other_address).await;
    assert_eq!((refused.status, refused.code()), (403, "sign_in_required"));
    id_of(&withdraw(&site, relayed, None, &json!({"amount": 1})).await);
    id_of(&withdraw(&site, &signed_in, None, &other_address).await);
    for (body, param) in [
        (json!({"amount": 1, "address": "0x12"}), "address"),
        (json!({"amount": 1, "network": "solana"}), "network"),
        (json!({"amount": 1, "network": "eth"}), "network"),
        (json!({"amount": 1e-3}), "amount"),
        (json!({"amount": "-1"}), "amount"),
        (json!({"amount": 1, "to": "x"}), "to"),
        (json!({}), "amount"),
    ] {
        let refused = withdraw(&site, &signed_in, None, &body).await;
        assert_eq!(
            (refused.status, refused.str("param")),
            (400, Some(param)),
            "{body}: {}",
            refused.text
        );
    }
}
