//! Transactions with several of our transfers, and transfers that belong to no account: provider payments, operator
//! funds and gas.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::host::{Host, Service};
use super::http::{ServiceClient, until};
use super::incoming_transfers::{host, listed, submit_on_base};
use super::operator_client::OperatorClient;
use super::reconciliation::reconcile;
use super::restore::{ATTRIBUTE, backup, restore};
use super::withdraw::{agent_with_balance, balance, ended, id_of, received, withdraw};

const CARD: &str = "/get-card?amount=5";
const INCOMING: &str = "/admin/incoming-transfers";

/// Turns on or off that later transfers on Base share a transaction.
async fn together(site: &ServiceClient<'_>, on: bool) {
    let fault = if on { "together" } else { "clear" };
    site.chain_fault(json!({"network": "base", "fault": fault})).await;
}

fn treasury() -> String {
    purser::sandbox::keys::treasury(Network::Base).address()
}

/// A plain transfer on Base, which is no payment.
async fn sends(site: &ServiceClient<'_>, from: &str, to: &str, amount: &str) {
    let body = json!({"wallet": to, "amount": amount, "from": from});
    let sent = site.post("/sandbox/faucet", &body).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
}

/// Transfers on Base between these two: transaction and index.
async fn moved(site: &ServiceClient<'_>, from: &str, to: &str) -> Vec<(String, u64)> {
    let page = site.get("/sandbox/transfers?limit=1000&network=base", &[]).await.body;
    let all = page["transfers"].as_array().unwrap().iter();
    let is = |name: &Value, wallet: &str| name.as_str().unwrap().eq_ignore_ascii_case(wallet);
    let own = all.filter(|t| is(&t["from"], from) && is(&t["to"], to));
    own.map(|t| (t["id"].as_str().unwrap().to_owned(), t["index"].as_u64().unwrap()))
        .collect()
}

/// Kinds of the open discrepancies, once there are this many.
async fn differs(operator: &OperatorClient<'_>, count: usize) -> Vec<String> {
    until("reconciliation says it", async || {
        let status = operator.get("/admin/reconciliation").await.body;
        let open = status["discrepancies"].as_array().unwrap();
        let kinds = open.iter().map(|one| one["kind"].as_str().unwrap().to_owned());
        (open.len() == count).then(|| kinds.collect())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_of_one_transaction_are_each_counted_once() {
    // Checks: two payments of one transaction and two withdrawals of another are each credited and sent once. Their
    // owners see the transaction, and neither ledger nor reconciliation misses one.
    let host = host();
    let service = host.start();
    let site = ServiceClient::of(&service);
    together(&site, true).await;
    let holders = [
        agent_with_balance(&site, Network::Base).await,
        agent_with_balance(&site, Network::Base).await,
    ];
    together(&site, false).await;
    together(&site, true).await;
    let mut hashes = Vec::new();
    for (agent, token) in &holders {
        balance(&site, token, [6.66, 6.66, 0.0]).await;
        let id = id_of(&withdraw(&site, token, None, &json!({"amount": 2.50})).await);
        let done = ended(&site, token, &id).await;
        assert_eq!(done["state"], "complete");
        hashes.push(done["tx_hash"].as_str().unwrap().to_owned());
        balance(&site, token, [4.16, 4.16, 0.0]).await;
        assert_eq!(received(&site, agent).await, [2_500_000]);
    }
    assert_eq!(hashes[0], hashes[1]);
    let paid: Vec<_> = [
        moved(&site, &holders[0].0.address(), &treasury()).await,
        moved(&site, &holders[1].0.address(), &treasury()).await,
    ]
    .concat();
    let [(first, 0), (second, 1)] = &paid[..] else {
        panic!("{paid:?}")
    };
    assert_eq!(first, second);
    assert_ne!(*first, hashes[0]);
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["unclaimed_transfers"], json!(0));
    assert_eq!(reconcile(&host), (Some(0), Vec::new()));
}

/// The operator attributes three transfers, wrongly and rightly.
async fn explained(host: &Host, service: &Service, hash: &str) {
    let operator = OperatorClient::first(host, service);
    let attribution = |name: &str, target: Value| {
        let mut body = json!({"transaction": name, "evidence": "the invoice"});
        body.as_object_mut()
            .unwrap()
            .extend(target.as_object().unwrap().clone());
        body
    };
    let named = [0, 1, 2].map(|index| format!("{hash}#{index}"));
    let ambiguous = operator
        .post(ATTRIBUTE, attribution(hash, json!({"network_fees": true})))
        .await;
    assert_eq!(
        (ambiguous.status, ambiguous.code()),
        (409, "transfer_ambiguous"),
        "{}",
        ambiguous.text
    );
    assert!(
        named.iter().all(|name| ambiguous.text.contains(name)),
        "{}",
        ambiguous.text
    );
    for (body, refusal) in [
        (attribution(&named[0], json!({})), (400, "parameter_missing")),
        (
            attribution(&named[0], json!({"network_fees": true, "loss": true})),
            (400, "parameter_invalid"),
        ),
        (
            attribution(&named[0], json!({"provider": "unknown"})),
            (400, "parameter_invalid"),
        ),
        (
            attribution(&format!("{hash}#3"), json!({"network_fees": true})),
            (404, "transfer_not_found"),
        ),
    ] {
        let refused = operator.post(ATTRIBUTE, body).await;
        assert_eq!((refused.status, refused.code()), refusal, "{}", refused.text);
    }
    let paid = [
        "untracked-transfers",
        "attribute",
        named[0].as_str(),
        "--provider",
        "gift_cards",
        "--evidence",
        "invoice 7",
    ];
    let booked = admin(host, service, &paid, "").unwrap();
    assert_eq!(booked["attributed_to"], json!("provider gift_cards"));
    let again = operator
        .post(ATTRIBUTE, attribution(&named[0], json!({"loss": true})))
        .await;
    assert_eq!(
        (again.status, again.code()),
        (404, "transfer_not_found"),
        "{}",
        again.text
    );
    for (name, target, booked_to) in [
        (&named[1], json!({"operator_funds": true}), "operator_funds"),
        (&named[2], json!({"network_fees": true}), "network_fees"),
    ] {
        let booked = operator.done(ATTRIBUTE, attribution(name, target)).await;
        assert_eq!(booked["attributed_to"], json!(booked_to), "{booked}");
    }
    let audited = operator.audit().await.into_iter();
    let audited = audited.filter(|(_, what, _)| what == "transfer.attribute");
    assert_eq!(audited.count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn untracked_treasury_transfers_are_attributed_without_a_restore() {
    // Checks: reconciliation reports three plain treasury transfers of one transaction. The hash alone is rejected with
    // their names. Each is attributed once, as the operator says, which leaves no discrepancy and changes no balance.
    // Withdrawals continue meanwhile.
    let host = host().with("PURSER_RECONCILIATION__RUN_INTERVAL_MS", "50");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, token) = agent_with_balance(&site, Network::Base).await;
    let funded = site
        .post("/sandbox/faucet", &json!({"wallet": treasury(), "amount": "50"}))
        .await;
    assert_eq!(funded.status, 200, "{}", funded.text);
    let payee = Agent::new(Network::Base).address();
    together(&site, true).await;
    for amount in ["3", "3", "4"] {
        sends(&site, &treasury(), &payee, amount).await;
    }
    together(&site, false).await;
    let sent = moved(&site, &treasury(), &payee).await;
    let hash = sent[0].0.clone();
    assert_eq!(sent, [0, 1, 2].map(|index| (hash.clone(), index)));
    assert_eq!(
        differs(&OperatorClient::first(&host, &service), 3).await,
        ["unmatched_transfer"; 3]
    );
    explained(&host, &service, &hash).await;
    assert!(differs(&OperatorClient::first(&host, &service), 0).await.is_empty());
    let id = id_of(&withdraw(&site, &token, None, &json!({"amount": 1})).await);
    assert_eq!(ended(&site, &token, &id).await["state"], "complete");
    balance(&site, &token, [5.66, 5.66, 0.0]).await;
    service.stop();
    let report = host.assert_verified();
    let balance_of = |place: &str| report["balances"][place].as_i64();
    assert_eq!(balance_of("network_fees"), Some(4_000_000));
    assert_eq!(balance_of("operator_funds"), Some(3_000_000));
    assert_eq!(reconcile(&host), (Some(0), Vec::new()));
}

/// Transfers of the funder that wait for the operator.
async fn funds(operator: &OperatorClient<'_>, funder: &Agent, count: usize) -> Vec<Value> {
    let own = |one: &Value| one["sender"].as_str().unwrap().eq_ignore_ascii_case(&funder.address());
    until("what was put into the treasury waits", async || {
        let waits = listed(operator).await.into_iter();
        let waits: Vec<_> = waits.filter(|one| own(one) && one["status"] == "waiting").collect();
        (waits.len() == count).then_some(waits)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn case_79_payments_of_shared_transactions_are_credited_once_after_restore() {
    // Checks: the backup precedes three transactions: we settled two payments, the operator funded the treasury twice,
    // and later another party submits two payments. Each payer has a card or a credit, once, across a kill. The
    // operator's money is on no balance until the operator decides about each transfer.
    let host = host();
    host.start().stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let [one, two, three, four, funder] = [Network::Base; 5].map(Agent::new);
    together(&site, true).await;
    for agent in [&one, &two] {
        assert_eq!(agent.buy(&site, CARD).await.status, 200);
    }
    together(&site, false).await;
    together(&site, true).await;
    for amount in ["20", "20"] {
        sends(&site, &funder.address(), &treasury(), amount).await;
    }
    together(&site, false).await;
    let mut signed = Vec::new();
    for agent in [&three, &four] {
        signed.push(agent.payment(&site, CARD).await);
    }
    service.stop();
    restore(&host, &file);
    let service = host.start();
    let site = ServiceClient::of(&service);
    together(&site, true).await;
    for payment in &signed {
        submit_on_base(&site, payment).await;
    }
    service.kill();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    for (agent, has) in [(&one, 0.0), (&two, 0.0), (&three, 5.0), (&four, 5.0)] {
        let token = agent.token(&site).await;
        balance(&site, &token, [has, has, 0.0]).await;
    }
    let waits = funds(&operator, &funder, 2).await;
    let token = funder.token(&site).await;
    balance(&site, &token, [0.0, 0.0, 0.0]).await;
    let body = |one: &Value| json!({"deposit_id": one["deposit_id"], "evidence": "our own transfer"});
    let decided = operator
        .done(&format!("{INCOMING}/operator-funds"), body(&waits[0]))
        .await;
    assert_eq!(decided["status"], "operator_funds");
    funds(&operator, &funder, 1).await;
    operator
        .done(&format!("{INCOMING}/operator-funds"), body(&waits[1]))
        .await;
    until("all incoming transfers to be decided", async || {
        listed(&operator).await.is_empty().then_some(())
    })
    .await;
    balance(&site, &token, [0.0, 0.0, 0.0]).await;
    service.stop();
    let report = host.assert_verified();
    assert_eq!(
        (
            &report["unclaimed_transfers"],
            &report["entities"]["incoming_transfers"]
        ),
        (&json!(0), &json!(6))
    );
    assert_eq!(report["balances"]["operator_funds"].as_i64(), Some(-40_000_000));
}
