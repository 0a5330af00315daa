//! Work that a restored backup finds already done, and work that operators reject: each ends once, with the outcome at
//! the provider.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, until};
use super::incoming_transfers::{self, submit_on_base};
use super::operator_client::OperatorClient;
use super::owner::fault;
use super::reloadable_cards::{balance as card_balance, loaded, post_with_key};
use super::restore::{backup, restore};
use super::withdraw::balance;

/// Never ordered from its issuer, so that nothing was bought.
const CARD: &str = "/get-card?amount=5";

const TX_HASH: &str = "0xefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef";

#[tokio::test(flavor = "multi_thread")]
async fn payment_of_lost_history_is_credited_once() {
    // Checks: a payment is signed after the backup for a product that no provider has, and settles after the restore,
    // so the service credits it. Presented again, it buys and charges nothing, whether the chain responds at once or
    // must be read.
    let host = incoming_transfers::host();
    host.start().stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let mut paid = Vec::new();
    for change in ["payment.credited settling", "payment.credited unknown"] {
        let agent = Agent::new(Network::Base);
        let payment = agent.payment(&site, CARD).await;
        paid.push((agent, payment, change));
    }
    service.stop();
    restore(&host, &file);
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (agent, payment, change) in &paid {
        submit_on_base(&site, payment).await;
        let token = agent.token(&site).await;
        balance(&site, &token, [5.0, 5.0, 0.0]).await;
        if change.ends_with("unknown") {
            site.chain_fault(json!({"fault": "lose_response", "wallet": agent.address()}))
                .await;
        }
        let again = until("it has its end", async || {
            let again = Agent::pay(&site, CARD, payment).await;
            (again.status != 202).then_some(again)
        })
        .await;
        assert_eq!(
            (again.status, again.str("status")),
            (200, Some("credited")),
            "{}",
            again.text
        );
        site.wait_for_events(&token, &[change]).await;
        balance(&site, &token, [5.0, 5.0, 0.0]).await;
    }
    assert_eq!(site.transfers().await.len(), 2);
    service.stop();
    host.assert_verified();
}

async fn request_withdrawal(site: &ServiceClient<'_>, token: &str, to: &str) -> String {
    let body = json!({"amount": 30, "destination_address": to});
    let answer = post_with_key(site, token, "/withdraw-card-balance", None, &body).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    answer.body["withdrawal"]["id"].as_str().unwrap().to_owned()
}

async fn withdrawal_status(site: &ServiceClient<'_>, token: &str, id: &str) -> Value {
    let path = format!("/get-withdrawal-status?withdrawal_id={id}");
    site.get_as(token, &path).await.body["withdrawal"]["status"].clone()
}

async fn claimed(operator: &OperatorClient<'_>, id: &str) -> Value {
    until("it is in the queue", async || {
        let claimed = operator
            .post("/admin/card-withdrawals/claim", json!({"withdrawal_id": id}))
            .await;
        (claimed.status == 200).then(|| claimed.body["lease"].clone())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn card_withdrawal_decisions_survive_a_restore() {
    // Checks: the backup has two withdrawals without a response of the issuer. Later one was paid, and the other was
    // claimed and rejected. After the restore both end the same way automatically, no operator is asked to pay, and the
    // balance is unchanged.
    let host = Host::new().with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token) = loaded(&site, Network::Base, 100).await;
    fault(&site, "/sandbox/card-program", "unreachable", 0).await;
    let ids = [
        request_withdrawal(&site, &token, &agent.address()).await,
        request_withdrawal(&site, &token, &agent.address()).await,
    ];
    for id in &ids {
        assert_eq!(withdrawal_status(&site, &token, id).await, "pending");
    }
    service.stop();
    let file = backup(&host);
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let lease = claimed(&operator, &ids[0]).await;
    let paid = json!({"withdrawal_id": ids[0], "lease": lease, "tx_hash": TX_HASH});
    operator.done("/admin/card-withdrawals/fulfil", paid).await;
    let lease = claimed(&operator, &ids[1]).await;
    let rejected = json!({"withdrawal_id": ids[1], "lease": lease, "reason": "no such place"});
    operator.done("/admin/card-withdrawals/reject", rejected).await;
    let expected = ["card_withdrawal.rejected claimed", "card_withdrawal.hold_released"];
    site.wait_for_events(&token, &expected).await;
    assert_eq!(card_balance(&site, &token).await, json!(70));
    service.stop();
    restore(&host, &file);
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let expected = ["card_withdrawal.complete pending", "card_withdrawal.rejected pending"];
    site.wait_for_events(&token, &expected).await;
    for (id, state) in ids.iter().zip(["complete", "rejected"]) {
        assert_eq!(withdrawal_status(&site, &token, id).await, state);
    }
    let queue = operator.get("/admin/card-withdrawals").await.body;
    assert_eq!(queue["withdrawals"], json!([]));
    assert_eq!(card_balance(&site, &token).await, json!(70));
    service.stop();
    host.assert_verified();
}
