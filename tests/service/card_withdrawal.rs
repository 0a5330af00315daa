//! Withdrawals from the balance at the card issuer, which an operator pays.

use purser_actors::id::Network;
use purser_actors::kernel::table;
use purser_storage::Write;
use serde_json::json;

use super::agent::Agent;
use super::http::{ServiceClient, until};
use super::operator_client::OperatorClient;
use super::reloadable_cards::{balance, event_types, loaded, opened, post_with_key};
use super::restore::{backup, restore};
use super::top_up::start;
use super::verify::{assert_problem, rewritten};

/// Withdraws 30 and 40 of 100 dollars, and tries to withdraw more than the remainder.
async fn request_withdrawals(site: &ServiceClient<'_>, token: &str, to: &str) -> Vec<String> {
    let request_withdrawal = async |amount: u32, key: &str| {
        let body = json!({"amount": amount, "destination_address": to});
        post_with_key(site, token, "/withdraw-card-balance", Some(key), &body).await
    };
    let mut ids = Vec::new();
    for (amount, key) in [(30, "a"), (40, "b")] {
        let answer = request_withdrawal(amount, key).await;
        assert_eq!(answer.status, 202, "{}", answer.text);
        assert_eq!(
            request_withdrawal(amount, key).await.text,
            answer.text,
            "a key is for one withdrawal"
        );
        ids.push(answer.body["withdrawal"]["id"].as_str().unwrap().to_owned());
    }
    let dear = request_withdrawal(31, "c").await;
    assert_eq!(
        (dear.status, dear.code()),
        (409, "insufficient_card_balance"),
        "{}",
        dear.text
    );
    let card = json!({"usd_amount": 31});
    let dear = post_with_key(site, token, "/create-reloadable-card", None, &card).await;
    assert_eq!(dear.code(), "insufficient_card_balance", "held money loads no card");
    assert_eq!(balance(site, token).await, json!(30));
    ids
}

/// An operator pays the first and rejects the second. Invalid requests in between are rejected.
async fn decide_withdrawals(operator: &OperatorClient<'_>, ids: &[String]) {
    let of = |id: &str| json!({"withdrawal_id": id});
    let lease = operator.done("/admin/card-withdrawals/claim", of(&ids[0])).await["lease"].clone();
    let paid = json!({"withdrawal_id": ids[0], "lease": lease, "tx_hash": TX_HASH});
    operator.done("/admin/card-withdrawals/fulfil", paid.clone()).await;
    assert_eq!(
        operator.post("/admin/card-withdrawals/fulfil", paid).await.code(),
        "withdrawal_not_open"
    );
    let lease = operator.done("/admin/card-withdrawals/claim", of(&ids[1])).await["lease"].clone();
    let held = operator.add_operator("ben", "operator").await;
    assert_eq!(
        held.post("/admin/card-withdrawals/claim", of(&ids[1])).await.code(),
        "withdrawal_leased"
    );
    let twice = json!({"withdrawal_id": ids[1], "lease": lease, "tx_hash": TX_HASH});
    assert_eq!(
        operator.post("/admin/card-withdrawals/fulfil", twice).await.code(),
        "transaction_already_used"
    );
    operator
        .done(
            "/admin/card-withdrawals/release",
            json!({"withdrawal_id": ids[1], "lease": lease}),
        )
        .await;
    let old = json!({"withdrawal_id": ids[1], "lease": lease, "tx_hash": OTHER});
    assert_eq!(
        operator.post("/admin/card-withdrawals/fulfil", old).await.code(),
        "lease_stale"
    );
    let no = json!({"withdrawal_id": ids[1], "reason": "No such <b>place</b>."});
    operator.done("/admin/card-withdrawals/reject", no).await;
}

const TX_HASH: &str = "0xabababababababababababababababababababababababababababababababab";
const OTHER: &str = "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";
#[tokio::test(flavor = "multi_thread")]
async fn card_withdrawal_is_paid_or_released() {
    // Checks: The amount is held on request. An operator claims the withdrawal and records the paying transaction, or
    // the reason for a rejection, which releases the hold. Both are listed with other withdrawals, every change is an
    // event, and the treasury pays nothing.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let (_, token) = loaded(&site, Network::Base, 100).await;
    let to = Agent::new(Network::Solana).address();
    let ids = request_withdrawals(&site, &token, &to).await;
    let queue = operator.get("/admin/card-withdrawals").await.body;
    let queued: Vec<_> = queue["withdrawals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["withdrawal_id"].clone())
        .collect();
    assert_eq!(queued, [json!(ids[0]), json!(ids[1])]);
    assert_eq!(
        (&queue["withdrawals"][0]["address"], &queue["withdrawals"][0]["amount"]),
        (&json!(to), &json!(30))
    );
    decide_withdrawals(&operator, &ids).await;
    until("the hold is released", async || {
        (balance(&site, &token).await == json!(70)).then_some(())
    })
    .await;
    let all = site.get_as(&token, "/get-withdrawal-status").await.body;
    let seen: Vec<_> = all["withdrawals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| (w["state"].clone(), w["status"].clone(), w["source"].clone()))
        .collect();
    let source = json!("card_balance");
    assert_eq!(
        seen,
        [("complete", "complete"), ("failed", "rejected"), ("failed", "failed")].map(|(state, status)| (
            json!(state),
            json!(status),
            source.clone()
        )),
        "{all}"
    );
    let one = site
        .get_as(&token, &format!("/get-withdrawal-status?withdrawal_id={}", ids[0]))
        .await;
    assert_eq!(one.body["withdrawal"]["tx_hash"], TX_HASH, "{}", one.text);
    site.wait_for_events(&token, &["card_withdrawal.hold_released"]).await;
    let kinds = event_types(&site.events(&token, 0).await, "card_withdrawal");
    for (kind, times) in [
        ("pending", 3),
        ("failed", 1),
        ("queued", 3),
        ("claimed", 2),
        ("complete", 1),
        ("rejected", 1),
        ("hold_released", 1),
    ] {
        assert_eq!(kinds.iter().filter(|k| *k == kind).count(), times, "{kind}: {kinds:?}");
    }
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["entities"]["card_withdrawals"], json!(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn card_withdrawal_paid_after_the_backup_is_not_paid_again() {
    // Checks: A restored backup queues both withdrawals again, though one was paid and one rejected since. Claiming
    // either fails with the issuer's report. Both get their earlier outcome, and the balance does not change.
    let (host, service) = start();
    let (_, token) = loaded(&ServiceClient::of(&service), Network::Base, 100).await;
    let to = Agent::new(Network::Solana).address();
    let ids = request_withdrawals(&ServiceClient::of(&service), &token, &to).await;
    service.stop();
    let file = backup(&host);
    let service = host.start();
    decide_withdrawals(&OperatorClient::first(&host, &service), &ids).await;
    let site = ServiceClient::of(&service);
    until("the hold is released", async || {
        (balance(&site, &token).await == json!(70)).then_some(())
    })
    .await;
    service.stop();
    restore(&host, &file);
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let queue = operator.get("/admin/card-withdrawals").await.body;
    assert_eq!(queue["withdrawals"].as_array().unwrap().len(), 2, "{queue}");
    for (id, state) in ids.iter().zip(["complete", "rejected"]) {
        let path = "/admin/card-withdrawals/claim";
        for _ in 0..2 {
            let refused = operator.post(path, json!({"withdrawal_id": id})).await;
            assert_eq!(
                (refused.status, refused.code()),
                (409, "withdrawal_closed_at_issuer"),
                "{}",
                refused.text
            );
        }
        let path = format!("/get-withdrawal-status?withdrawal_id={id}");
        let seen = site.get_as(&token, &path).await.body;
        assert_eq!(seen["withdrawal"]["status"], state, "{seen}");
    }
    let queue = operator.get("/admin/card-withdrawals").await.body;
    assert_eq!(queue["withdrawals"], json!([]));
    assert_eq!(balance(&site, &token).await, json!(70));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_names_inconsistent_card_withdrawals_and_missing_card_numbers() {
    // Checks: `verify` names a withdrawal that is missing from the queue, a transaction without a known payment, and a
    // card whose number is gone.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let (agent, token) = loaded(&site, Network::Base, 100).await;
    opened(&site, &token, json!({"usd_amount": 5})).await;
    for n in [1, 2] {
        let body = json!({"amount": 10 * n, "destination_address": agent.address()});
        let answer = post_with_key(&site, &token, "/withdraw-card-balance", None, &body).await;
        let id = &answer.body["withdrawal"]["id"];
        if n == 1 {
            let lease = operator
                .done("/admin/card-withdrawals/claim", json!({"withdrawal_id": id}))
                .await["lease"]
                .clone();
            let paid = json!({"withdrawal_id": id, "lease": lease, "tx_hash": TX_HASH});
            operator.done("/admin/card-withdrawals/fulfil", paid).await;
        }
    }
    service.stop();
    host.assert_verified();
    for (name, prefix, rule, subject) in [
        (
            "queue",
            table::CARD_WITHDRAWAL_QUEUE,
            "card_withdrawal.queue_mismatch",
            "wd_",
        ),
        (
            "paid-by",
            table::WITHDRAWAL_TRANSACTION,
            "card_withdrawal.transaction_mismatch",
            "wd_",
        ),
        ("vault", table::VAULT, "reloadable_card.vault_mismatch", "card_"),
    ] {
        let (copy, changed) = rewritten(&host, name, &[prefix], |key, _| {
            Some(vec![Write::Delete { key: key.clone() }])
        })
        .await;
        assert_eq!(changed, 1, "{name}");
        assert_problem(&host, &copy, rule, subject);
    }
}
