//! Payout and bank orders that were paid from balances in a history that a restore has lost.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::banking::{approve, call, open_account, quick, result};
use super::banking_money::transaction_is;
use super::host::{Host, text};
use super::http::{ServiceClient, until};
use super::incoming_transfers::waiting;
use super::operator_client::OperatorClient;
use super::owner::Owner;
use super::recipient::{balance_is, register, wait_for_payout_status};
use super::restore::{ATTRIBUTE, RESTORE_PAUSE_S, backup, restore};
use super::withdraw::{agent_with_balance, withdraw};

fn host() -> Host {
    quick()
        .with("PURSER_RECONCILIATION__STEP_INTERVAL_MS", "10")
        .with("PURSER_RECONCILIATION__GRACE_PERIOD_MS", "300")
        .with("PURSER_ENGINE__CHAIN_POLL_INTERVAL_MS", "50")
}

/// A customer with 506.66, a bank account with 100 and a destination.
pub(crate) struct Banked {
    pub(crate) agent: Agent,
    pub(crate) account: Value,
    destination: String,
}

pub(crate) async fn banked(site: &ServiceClient<'_>) -> Banked {
    let (agent, token) = agent_with_balance(site, Network::Base).await;
    Owner::of(site, &agent).await.verify(site, &token).await;
    approve(site, &token, "Lovelace").await;
    let on = open_account(site, &token, "onramp").await;
    let off = open_account(site, &token, "offramp").await;
    let deposit = json!({"account_id": on["accountId"], "amount": "600.00", "reference": "wire-1"});
    assert_eq!(site.post("/sandbox/bank-deposits", &deposit).await.status, 200);
    balance_is(site, &token, "606.66").await;
    let account = off["accountId"].clone();
    moves(site, &token, json!({"accountId": account, "amount": 100})).await;
    let destination = register(site, &agent).await;
    balance_is(site, &token, "506.66").await;
    Banked {
        agent,
        account,
        destination,
    }
}

/// Makes a transfer between balance and bank and waits until it completes. Returns its id.
async fn moves(site: &ServiceClient<'_>, token: &str, data: Value) -> Value {
    let moved = result(site, token, "createBankingTransfer", data).await;
    transaction_is(site, token, &moved["transactionId"], "complete").await;
    moved["transactionId"].clone()
}

/// Unexplained orders: list, direction and amount, with their key.
async fn orders(operator: &OperatorClient<'_>) -> Vec<(String, String)> {
    let dead_letters = operator.get("/admin/dead-letters").await.body;
    let orders = dead_letters["unexplained_orders"].as_array().unwrap().iter();
    let mut orders: Vec<(String, String)> = orders
        .map(|order| {
            let shown = format!("{} {} {}", order["list"], order["direction"], order["amount"]);
            (
                shown.replace('"', ""),
                order["transaction"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    orders.sort();
    orders
}

fn attribution(key: &str, to: Value) -> Value {
    let mut body = json!({"transaction": key, "evidence": "the rail's letter"});
    body.as_object_mut().unwrap().extend(to.as_object().unwrap().clone());
    body
}

async fn assert_attribution_rejected(operator: &OperatorClient<'_>, body: Value, refusal: (u16, &str)) {
    let refused = operator.post(ATTRIBUTE, body).await;
    assert_eq!((refused.status, refused.code()), refusal, "{}", refused.text);
}

async fn withdrawals_paused(operator: &OperatorClient<'_>) -> bool {
    operator.get("/admin/dead-letters").await.body["withdrawals_paused"] == true
}

#[tokio::test(flavor = "multi_thread")]
async fn bank_transfer_of_lost_history_is_not_spent_again() {
    // Checks: a restore loses a payout of 300 for 301.50, 50 moved to the customer's bank account and 20 moved back.
    // Withdrawals stay paused, also after the restore pause, until an operator attributes each. The balance is then as
    // before, and ledger, rails and bank agree. A payout that was returned in the lost history cannot be attributed;
    // one that is returned after its attribution is credited to its payer once.
    let host = host();
    let service = host.start();
    let banked_one = banked(&ServiceClient::of(&service)).await;
    service.stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = banked_one.agent.token(&site).await;
    let (paid, returned, moved) = lost_history(&site, &token, &banked_one).await;
    service.stop();
    restore(&host, &file);

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let token = banked_one.agent.token(&site).await;
    balance_is(&site, &token, "506.66").await;
    let key = |payout: &Value| payout.as_str().unwrap().replace("po_", "job_");
    let early = attribution(&key(&paid), json!({"loss": true}));
    assert_attribution_rejected(&operator, early, (409, "transfer_may_still_settle")).await;
    site.advance(RESTORE_PAUSE_S).await;
    let token = banked_one.agent.token(&site).await;
    let named = until("three orders that wait to be explained", async || {
        let named = orders(&operator).await;
        (named.len() == 3).then_some(named)
    })
    .await;
    let shown: Vec<&str> = named.iter().map(|(shown, _)| &**shown).collect();
    assert_eq!(
        shown,
        ["bank_transfers in 20", "bank_transfers out 50", "payouts out 300"]
    );
    for refused in [
        withdraw(&site, &token, None, &json!({"amount": 490})).await,
        call(
            &site,
            &token,
            "createBankingTransfer",
            json!({"accountId": banked_one.account, "amount": 1}),
        )
        .await,
    ] {
        assert_eq!((refused.status, refused.code()), (503, "withdrawals_paused"));
    }
    assert_attribution_rejected(
        &operator,
        attribution(&key(&returned), json!({"loss": true})),
        (409, "order_not_carried_out"),
    )
    .await;
    attribute_orders(&operator, &banked_one, &named).await;
    until("nothing is held any more", async || {
        (!withdrawals_paused(&operator).await).then_some(())
    })
    .await;
    balance_is(&site, &token, "175.16").await;
    let refused = withdraw(&site, &token, None, &json!({"amount": 490})).await;
    assert_eq!((refused.status, refused.code()), (409, "insufficient_balance"));
    pay_after_return(&site, &operator, &banked_one, &paid).await;
    return_payout(&site, &paid).await;
    let back = json!({"account_id": banked_one.account, "amount": "45.00", "returns": moved, "reference": "ach-1"});
    assert_eq!(site.post("/sandbox/bank-deposits", &back).await.status, 200);
    attribute_returned_money(&operator, &banked_one, &named).await;
    balance_is(&site, &token, "520.16").await;
    service.stop();
    assert_ledger_agrees(&host);
    let report = host.assert_verified();
    assert_eq!(report["balances"]["operating_costs"], Value::Null, "{report}");
}

/// Attributes the returned money of the rail, and of the bank's 50, to its payer, once.
async fn attribute_returned_money(operator: &OperatorClient<'_>, banked: &Banked, named: &[(String, String)]) {
    let own = json!({"account": banked.agent.address()});
    for (_, key) in &named[1..] {
        assert_attribution_rejected(
            operator,
            attribution(key, json!({"loss": true})),
            (409, "transfer_mismatch"),
        )
        .await;
        operator.done(ATTRIBUTE, attribution(key, own.clone())).await;
        assert_attribution_rejected(operator, attribution(key, own.clone()), (404, "transfer_not_found")).await;
    }
}

/// Makes the rail report an event about a payout.
async fn emit_payout_event(site: &ServiceClient<'_>, payout: &Value, event_name: &str) {
    let event = json!({"payout_id": payout, "event": event_name});
    let event = site.post("/sandbox/payouts", &event).await;
    assert_eq!(event.status, 200, "{}", event.text);
}

/// Makes the rail return the money of a payout.
async fn return_payout(site: &ServiceClient<'_>, payout: &Value) {
    emit_payout_event(site, payout, "returned").await;
}

/// An attributed payout is declined, credited, and completed after all: it is attributed once more.
async fn pay_after_return(site: &ServiceClient<'_>, operator: &OperatorClient<'_>, banked: &Banked, payout: &Value) {
    let key = payout.as_str().unwrap().replace("po_", "job_");
    let (token, account) = (banked.agent.token(site).await, banked.agent.address());
    emit_payout_event(site, payout, "failed").await;
    operator
        .done(ATTRIBUTE, attribution(&key, json!({"account": account})))
        .await;
    balance_is(site, &token, "476.66").await;
    emit_payout_event(site, payout, "complete").await;
    operator
        .done(
            ATTRIBUTE,
            attribution(&key, json!({"account": account, "amount": 301.5})),
        )
        .await;
    balance_is(site, &token, "175.16").await;
}

/// The lost history: 301.50 to a bank, 50 to the account's own bank account and 20 back, and a returned payout. Returns
/// the ids of both payouts and of the 50.
async fn lost_history(site: &ServiceClient<'_>, token: &str, banked: &Banked) -> (Value, Value, Value) {
    let data = json!({"destinationId": banked.destination, "amount": 300});
    let paid = result(site, token, "sendBankingPayout", data).await;
    transaction_is(site, token, &paid["transactionId"], "complete").await;
    let moved = moves(site, token, json!({"accountId": banked.account, "amount": 50})).await;
    let drawn = json!({"accountId": banked.account, "amount": 20, "direction": "to_balance"});
    moves(site, token, drawn).await;
    balance_is(site, token, "175.16").await;
    let data = json!({"destinationId": banked.destination, "amount": 25});
    let returned = result(site, token, "sendBankingPayout", data).await;
    transaction_is(site, token, &returned["transactionId"], "complete").await;
    return_payout(site, &returned["transactionId"]).await;
    transaction_is(site, token, &returned["transactionId"], "returned").await;
    (paid["transactionId"].clone(), returned["transactionId"].clone(), moved)
}

/// The operator attributes each order: wrongly, without permission, rightly, and again.
async fn attribute_orders(operator: &OperatorClient<'_>, banked: &Banked, named: &[(String, String)]) {
    let [(_, drawn), (_, moved), (_, paid)] = named else {
        unreachable!()
    };
    let account = banked.agent.address();
    let stranger = Agent::new(Network::Base).address();
    for (body, refusal) in [
        (
            attribution(paid, json!({"account": account})),
            (400, "parameter_missing"),
        ),
        (
            attribution(paid, json!({"account": account, "amount": 600})),
            (409, "insufficient_balance"),
        ),
        (
            attribution(paid, json!({"account": stranger, "amount": 301.5})),
            (409, "transfer_mismatch"),
        ),
        (
            attribution(paid, json!({"deposit_id": format!("dep_{:032x}", 1)})),
            (409, "transfer_mismatch"),
        ),
        (
            attribution(drawn, json!({"account": stranger})),
            (409, "transfer_mismatch"),
        ),
        (
            attribution(&format!("job_{:032x}", 1), json!({"loss": true})),
            (404, "transfer_not_found"),
        ),
    ] {
        assert_attribution_rejected(operator, body, refusal).await;
    }
    let support = operator.add_operator("sue", "support").await;
    let own = attribution(paid, json!({"account": account, "amount": 301.5}));
    assert_eq!(support.post(ATTRIBUTE, own.clone()).await.status, 403);
    for body in [
        own,
        attribution(moved, json!({"account": account})),
        attribution(drawn, json!({"account": account})),
    ] {
        assert!(withdrawals_paused(operator).await);
        operator.done(ATTRIBUTE, body.clone()).await;
        assert_attribution_rejected(operator, body, (404, "transfer_not_found")).await;
    }
    assert!(orders(operator).await.is_empty());
    let audited = operator.audit().await.into_iter();
    assert_eq!(audited.filter(|(_, what, _)| what == "order.book").count(), 3);
}

/// The rail declines a payout when the credit of its transfer is requested, and completes it before another operator
/// approves. The credit is then not made.
async fn not_approved(site: &ServiceClient<'_>, operator: &OperatorClient<'_>, (key, deposit): &(String, String)) {
    let payout = json!(key.replace("job_", "po_"));
    emit_payout_event(site, &payout, "failed").await;
    let credit = json!({"deposit_id": deposit, "evidence": "the rail has refused it"});
    let requested = operator.post("/admin/incoming-transfers/credit", credit).await;
    assert_eq!(requested.status, 202, "{}", requested.text);
    emit_payout_event(site, &payout, "complete").await;
    let other = operator.add_operator("ben", "operator").await;
    let approve = json!({"approval_id": requested.body["approval_id"], "amount": 41.5});
    let refused = other.post("/admin/approvals/approve", approve).await;
    assert_eq!((refused.status, refused.code()), (409, "product_delivered"));
}

/// Asserts that the ledger and all lists agree.
fn assert_ledger_agrees(host: &Host) {
    let output = host.run(&["reconcile"]);
    assert!(output.status.success(), "{}", text(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn payout_of_lost_history_is_attributed_to_its_payment() {
    // Checks: a bank payment of the lost history was paid by a transfer that waits. It pauses no withdrawals, can be
    // attributed only to that transfer, and credits no account. The transfer is then decided, and rails and ledger
    // agree.
    let host = host().with("PURSER_OPERATOR__ALONE_MAX_USD", "20");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agents = [Network::Base, Network::Solana].map(Agent::new);
    let mut destinations = Vec::new();
    for agent in &agents {
        destinations.push(register(&site, agent).await);
    }
    service.stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (agent, destination) in agents.iter().zip(&destinations) {
        let path = format!("/send-bank-payment?amount=40&destination_id={destination}");
        let bought = agent.buy(&site, &path).await;
        assert_eq!(bought.status, 200, "{}", bought.text);
        let token = agent.token(&site).await;
        let payout = bought.body["bank_payment"]["payout_id"].as_str().unwrap();
        wait_for_payout_status(&site, &token, payout, "complete").await;
    }
    service.stop();
    restore(&host, &file);

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let mut pairs = Vec::new();
    for agent in &agents {
        let waits = waiting(&operator, agent).await;
        let mut shows = waits["shows"].as_str().unwrap().split_whitespace();
        let key = shows.find(|text| text.starts_with("job_")).unwrap();
        pairs.push((key.to_owned(), waits["deposit_id"].as_str().unwrap().to_owned()));
    }
    site.advance(RESTORE_PAUSE_S).await;
    until("the gate opens", async || {
        (!withdrawals_paused(&operator).await).then_some(())
    })
    .await;
    assert!(orders(&operator).await.is_empty());
    let crossed = attribution(&pairs[0].0, json!({"deposit_id": pairs[1].1}));
    assert_attribution_rejected(&operator, crossed, (409, "transfer_mismatch")).await;
    not_approved(&site, &operator, &pairs[1]).await;
    for (key, deposit) in &pairs {
        let credit = json!({"deposit_id": deposit, "evidence": "it was not sold"});
        for what in ["credit", "return"] {
            let path = format!("/admin/incoming-transfers/{what}");
            let refused = operator.post(&path, credit.clone()).await;
            assert_eq!((refused.status, refused.code()), (409, "product_delivered"));
        }
        assert_attribution_rejected(
            &operator,
            attribution(key, json!({"loss": true})),
            (409, "transfer_mismatch"),
        )
        .await;
        let booked = [
            "untracked-transfers",
            "attribute",
            key,
            "--deposit",
            deposit,
            "--evidence",
            "its recipient has it",
        ];
        let attributed = admin(&host, &service, &booked, "").unwrap();
        assert_eq!(attributed["attributed_to"], json!(deposit), "{attributed}");
        let credit = json!({"deposit_id": deposit, "evidence": "once more"});
        let refused = operator.post("/admin/incoming-transfers/credit", credit).await;
        assert_eq!((refused.status, refused.code()), (409, "deposit_not_waiting"));
    }
    // Returned after its attribution, the money belongs to its payer only.
    let ((key, _), [payer, other]) = (&pairs[0], &agents);
    return_payout(&site, &json!(key.replace("job_", "po_"))).await;
    let to = |agent: &Agent| attribution(key, json!({"account": agent.address()}));
    assert_attribution_rejected(&operator, to(other), (409, "transfer_mismatch")).await;
    operator.done(ATTRIBUTE, to(payer)).await;
    for (agent, has) in [(payer, "40"), (other, "0")] {
        let token = agent.token(&site).await;
        balance_is(&site, &token, has).await;
    }
    service.stop();
    assert_ledger_agrees(&host);
    host.assert_verified();
}
