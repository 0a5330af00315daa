//! Banking over HTTP: deposits, transfers, payouts and idempotency keys.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::banking::{
    DOCUMENT_BASE64, application_answers, application_is, approve, assert_not_served, call, open_account, profile,
    quick, result,
};
use super::http::{ServiceClient, send, until};
use super::owner::{Owner, fault};
use super::recipient::balance_is;
use super::withdraw::{agent_with_balance, credited};

const NUMBER: &str = "000123456789";

pub(crate) async fn transaction_is(site: &ServiceClient<'_>, token: &str, id: &Value, status: &str) -> Value {
    until(status, async || {
        let answer = result(site, token, "getBankingTransaction", json!({"transactionId": id})).await;
        (answer["transaction"]["status"] == status).then(|| answer["transaction"].clone())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn bank_deposits_transfers_and_payouts_happen_once() {
    // Checks: Deposits reported twice and out of order, transfers both ways with lost responses and declines, a payout
    // to a registered destination. The balance is right to the cent, also over a kill, and the ledger balances.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    approve(&site, &token, "Lovelace").await;
    let on = open_account(&site, &token, "onramp").await;
    assert_eq!(on["routingNumber"].as_str().unwrap().len(), 9);
    let off = open_account(&site, &token, "offramp").await;
    fault(&site, "/sandbox/bank", "out_of_order", 1).await;
    fault(&site, "/sandbox/bank", "duplicate", 3).await;
    for (reference, amount) in [("wire-1", "100.00"), ("wire-2", "0.01"), ("wire-1", "100.00")] {
        let deposit = json!({"account_id": on["accountId"], "amount": amount, "reference": reference});
        assert_eq!(site.post("/sandbox/bank-deposits", &deposit).await.status, 200);
    }
    balance_is(&site, &token, "106.67").await;
    let wrong = json!({"account_id": off["accountId"], "amount": 5});
    assert_eq!(site.post("/sandbox/bank-deposits", &wrong).await.status, 400);

    fault(&site, "/sandbox/bank", "lose_response", 1).await;
    let data = json!({"accountId": off["accountId"], "amount": 50.5, "note": "savings"});
    let moved = result(&site, &token, "createBankingTransfer", data).await;
    let id = moved["transactionId"].clone();
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let seen = transaction_is(&site, &token, &id, "complete").await;
    assert_eq!(
        (&seen["direction"], &seen["note"]),
        (&json!("to_account"), &json!("savings"))
    );
    balance_is(&site, &token, "56.17").await;
    let all = result(&site, &token, "listBankingAccounts", json!({})).await;
    assert_eq!(all["accounts"][1]["balance"].to_string(), "50.5");
    for (amount, direction, end) in [
        ("10.13", "to_account", "failed"),
        ("20", "to_balance", "complete"),
        ("31", "to_balance", "failed"),
    ] {
        let data = json!({"accountId": off["accountId"], "amount": amount, "direction": direction});
        let moved = result(&site, &token, "createBankingTransfer", data).await;
        transaction_is(&site, &token, &moved["transactionId"], end).await;
    }
    balance_is(&site, &token, "76.17").await;
    let data = json!({"accountId": on["accountId"], "amount": 1});
    let refused = call(&site, &token, "createBankingTransfer", data).await;
    assert_eq!((refused.status, refused.code()), (409, "bank_account_receive_only"));
    pays_out(&site, &token).await;
    balance_is(&site, &token, "54.67").await;
    let changes = [
        "bank_account.pending",
        "bank_account.open pending",
        "bank_destination.registered",
        "bank_transfer.failed pending",
        "bank_destination.renamed",
        "bank_destination.removed active",
    ];
    site.wait_for_events(&token, &changes).await;
    service.stop();
    host.assert_verified();
    assert_not_served(&host, &[NUMBER]);
}

/// A recipient with a U.S. account and one with an IBAN.
async fn registers(site: &ServiceClient<'_>, token: &str) -> (Value, Value) {
    let destination = json!({"type": "fiat_us", "bankName": "First Bank", "routingNumber": "021000021",
        "accountNumber": NUMBER});
    let made = json!({"name": "Ada <b>Lovelace", "address": "1 Main St", "destination": destination});
    let made = result(site, token, "createBankingRecipient", made).await;
    let iban = json!({"recipientId": made["recipientId"], "destination": {"type": "fiat_iban", "bankName": "Bank",
        "iban": "DE89370400440532013000", "nickname": "Home"}});
    let iban = result(site, token, "addBankingDestination", iban).await;
    let renamed = json!({"destinationId": iban["destination"]["destinationId"], "nickname": "Away"});
    result(site, token, "updateBankingDestination", renamed).await;
    let listed = result(site, token, "listBankingRecipients", json!({})).await;
    assert_eq!(listed["recipients"][0]["destinations"][1]["nickname"], "Away");
    let plain = site.get_as(token, "/bank-recipients").await.body;
    assert_eq!(
        plain["recipients"][0]["recipient_id"],
        listed["recipients"][0]["recipientId"]
    );
    (made, iban)
}

/// Pays out 20.00 for 21.50, and tries invalid payouts.
async fn pays_out(site: &ServiceClient<'_>, token: &str) {
    let (made, iban) = registers(site, token).await;
    let id = &made["destination"]["destinationId"];
    for (data, status, code) in [
        (json!({"destinationId": id, "amount": 1}), 400, "amount_out_of_range"),
        (
            json!({"destinationId": id, "amount": 5000}),
            409,
            "insufficient_balance",
        ),
        (
            json!({"destinationId": iban["destination"]["destinationId"], "amount": 20}),
            409,
            "destination_type_not_supported",
        ),
    ] {
        let refused = call(site, token, "sendBankingPayout", data).await;
        assert_eq!((refused.status, refused.code()), (status, code), "{}", refused.text);
    }
    let data = json!({"destinationId": id, "amount": 20});
    let request = || {
        let request = site.request("POST", "/sendBankingPayout").bearer_auth(token);
        request.header("idempotency-key", "rent").json(&json!({"data": data}))
    };
    let paid = send(request()).await.unwrap();
    assert_eq!(
        paid.body["result"]["chargedAmount"].to_string(),
        "21.5",
        "{}",
        paid.text
    );
    let again = send(request()).await.unwrap();
    assert_eq!(
        (&again.text, again.header("idempotency-replayed")),
        (&paid.text, Some("true"))
    );
    let gone = json!({"recipientId": made["recipientId"]});
    result(site, token, "deleteBankingRecipient", gone.clone()).await;
    let again = call(site, token, "deleteBankingRecipient", gone).await;
    assert_eq!((again.status, again.code()), (404, "recipient_not_found"));
    let refused = call(
        site,
        token,
        "sendBankingPayout",
        json!({"destinationId": id, "amount": 20}),
    )
    .await;
    assert_eq!((refused.status, refused.code()), (404, "destination_not_found"));
    transaction_is(site, token, &paid.body["result"]["transactionId"], "complete").await;
    let all = result(site, token, "listBankingTransactions", json!({"limit": 3})).await;
    assert_eq!(
        (all["transactions"].as_array().unwrap().len(), &all["hasMore"]),
        (3, &json!(true))
    );
    let next = json!({"startingAfter": all["transactions"][2]["transactionId"], "limit": 100});
    let next = result(site, token, "listBankingTransactions", next).await;
    let last = next["transactions"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&last["type"], &last["feeAmount"].to_string()),
        (&json!("payout"), &"1.5".to_owned())
    );
    assert_eq!(next["transactions"].as_array().unwrap().len(), 4);
    for (kind, own) in [("transfer", 6), ("payout", 1)] {
        let asked = json!({"type": kind, "order": "desc"});
        let found = result(site, token, "listBankingTransactions", asked).await;
        let found = found["transactions"].as_array().unwrap();
        assert_eq!(found.len(), own, "{found:?}");
        assert!(found.iter().all(|one| one["type"] == kind), "{found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_token_moves_no_bank_money() {
    // Checks: A payment token reads and prepares, and moves no money out.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=6.66").await;
    let payment_token = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let token = agent.token(&site).await;
    credited(&site, &token).await;
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    approve(&site, &payment_token, "Lovelace").await;
    let off = open_account(&site, &payment_token, "offramp").await;
    let data = json!({"accountId": off["accountId"], "amount": 1});
    let refused = call(&site, &payment_token, "createBankingTransfer", data).await;
    assert_eq!((refused.status, refused.code()), (403, "sign_in_required"));
    let data = json!({"destinationId": "dst_1", "amount": 20});
    let refused = call(&site, &payment_token, "sendBankingPayout", data).await;
    assert_eq!((refused.status, refused.code()), (403, "sign_in_required"));
    balance_is(&site, &token, "6.66").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn banking_functions_execute_once_per_key() {
    // Checks: Each function that changes state, sent twice under a key, is executed once and gives the same response.
    // Another call under the key is rejected.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Solana).await;
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    let twice = async |name: &str, data: Value| -> Value {
        let request = || {
            let request = site.request("POST", &format!("/{name}")).bearer_auth(&token);
            request.header("idempotency-key", name).json(&json!({"data": data}))
        };
        let first = send(request()).await.unwrap();
        assert_eq!(first.status, 200, "{name}: {}", first.text);
        let again = send(request()).await.unwrap();
        assert_eq!(
            (&again.text, again.header("idempotency-replayed")),
            (&first.text, Some("true")),
            "{name}"
        );
        first.body["result"].clone()
    };
    twice("createBankingProfile", profile()).await;
    twice("updateBankingApplicationDetails", application_answers()).await;
    twice(
        "uploadBankingDocument",
        json!({"type": "proof_of_address", "content": DOCUMENT_BASE64}),
    )
    .await;
    twice("submitBankingApplication", json!({})).await;
    application_is(&site, &token, "approved").await;
    let account = twice("createBankingAccount", json!({"type": "offramp"})).await;
    let destination =
        json!({"type": "fiat_us", "bankName": "Bank", "routingNumber": "021000021", "accountNumber": NUMBER});
    let made = twice(
        "createBankingRecipient",
        json!({"name": "Ada", "destination": destination}),
    )
    .await;
    let other = json!({"recipientId": made["recipientId"], "destination": destination});
    twice("addBankingDestination", other).await;
    let renamed = json!({"destinationId": made["destination"]["destinationId"], "nickname": "Rent"});
    twice("updateBankingDestination", renamed).await;
    let id = &account["account"]["accountId"];
    until("an open account", async || {
        let all = result(&site, &token, "listBankingAccounts", json!({})).await;
        assert_eq!(all["accounts"].as_array().unwrap().len(), 1);
        (all["accounts"][0]["status"] == "open").then_some(())
    })
    .await;
    twice("createBankingTransfer", json!({"accountId": id, "amount": "2.00"})).await;
    balance_is(&site, &token, "4.66").await;
    twice("deleteBankingRecipient", json!({"recipientId": made["recipientId"]})).await;
    let none = result(&site, &token, "listBankingRecipients", json!({})).await;
    assert_eq!(none["recipients"], json!([]));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_32_late_return_of_a_transfer_is_credited_once() {
    // Checks: A completed transfer to an account is returned, less the bank's fee. Reported twice and over a kill, it
    // is credited once, its owner gets one event, and the ledger balances. More than the account holds cannot be
    // returned.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    approve(&site, &token, "Lovelace").await;
    let off = open_account(&site, &token, "offramp").await["accountId"].clone();
    let data = json!({"accountId": off, "amount": 5.5});
    let moved = result(&site, &token, "createBankingTransfer", data).await;
    let id = moved["transactionId"].clone();
    transaction_is(&site, &token, &id, "complete").await;
    balance_is(&site, &token, "1.16").await;
    let mut back = json!({"account_id": off, "amount": "5.51", "returns": id, "reference": "ach-1"});
    assert_eq!(site.post("/sandbox/bank-deposits", &back).await.status, 400);
    fault(&site, "/sandbox/bank", "duplicate", 3).await;
    back["amount"] = json!("5.25");
    let answer = site.post("/sandbox/bank-deposits", &back).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let seen = transaction_is(&site, &token, &id, "returned").await;
    assert_eq!(
        (seen["returnedAmount"].to_string(), &seen["reference"]),
        ("5.25".to_owned(), &json!("ach-1"))
    );
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    balance_is(&site, &token, "6.41").await;
    let events = site.events(&token, 0).await;
    let returned = events.iter().filter(|event| event["type"] == "bank_transfer.returned");
    assert_eq!(returned.count(), 1);
    let changes = [
        "bank_transfer.pending",
        "balance.debited",
        "bank_transfer.complete pending",
    ];
    site.wait_for_events(&token, &changes).await;
    service.stop();
    host.assert_verified();
}
