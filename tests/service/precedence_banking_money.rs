//! Error precedence of banking recipients and money.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::banking::{approve, open_account, quick, result};
use super::callable_precedence::{AccessRule, Caller, with};
use super::host::Host;
use super::http::ServiceClient;
use super::owner::Owner;
use super::precedence_table::PrecedenceTable;
use super::recipient::balance_is;
use super::request::Request;
use super::withdraw::credited;

fn bank() -> Value {
    json!({"type": "fiat_us", "bankName": "Bank", "routingNumber": "021000021", "accountNumber": "123456789"})
}

/// A recipient with one destination. Returns their ids.
async fn recipient(site: &ServiceClient<'_>, token: &str, destination: Value) -> (Value, Value) {
    let data = json!({"name": "Ada Lovelace", "destination": destination});
    let made = result(site, token, "createBankingRecipient", data).await;
    (
        made["recipientId"].clone(),
        made["destination"]["destinationId"].clone(),
    )
}

/// The list as a separate route.
async fn same_by_get(caller: &Caller<'_>) {
    let (site, wallet) = (caller.site, caller.agent.address());
    let mut precedence = PrecedenceTable::of("GET /bank-recipients", "bank-recipients");
    let mut ask = Request::new("GET", "/bank-recipients")
        .with("limits", "1")
        .with("limit", "0");
    ask.set("starting_after", "dst_1");
    site.freeze(&wallet, Some("Please write to us.")).await;
    precedence.assert_next(&ask.send(site).await);
    ask.bearer(&caller.token);
    precedence.assert_next(&ask.send(site).await);
    ask.drop("limits");
    precedence.assert_next(&ask.send(site).await);
    ask.set("limit", "1");
    precedence.assert_next(&ask.send(site).await);
    site.freeze(&wallet, None).await;
    precedence.assert_next(&ask.send(site).await);
    ask.drop("starting_after");
    precedence.assert_next(&ask.send(site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn banking_recipient_creation_errors_follow_precedence() {
    // Checks: saving a recipient and adding a destination, from token to state.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let caller = Caller::new(&site).await;
    let good = json!({"name": "Ada Lovelace", "destination": bank()});
    let checksum = with(&bank(), "routingNumber", json!("021000022"));
    let wrong = [
        with(&good, "nickname", json!("Ada")),
        json!({"name": ""}),
        json!({"name": "", "destination": checksum}),
        with(&good, "destination", checksum.clone()),
    ];
    let mut save = caller
        .check_precedence("/createBankingRecipient", AccessRule::Keyed, &wrong, &good)
        .await;
    save.data(&good).await;
    save.assert_complete();
    let (whom, _) = recipient(&site, &caller.token, bank()).await;

    let good = json!({"recipientId": "rcp_1", "destination": bank()});
    let wrong = [
        with(&good, "name", json!("Ada")),
        json!({"destination": checksum}),
        with(&good, "destination", checksum),
    ];
    let mut add = caller
        .check_precedence("/addBankingDestination", AccessRule::Keyed, &wrong, &good)
        .await;
    add.data(&good).await;
    add.data(&with(&good, "recipientId", whom.clone())).await;
    for _ in 2..20 {
        let more = json!({"recipientId": whom, "destination": bank()});
        result(&site, &caller.token, "addBankingDestination", more).await;
    }
    add.assert_replayed().await;
    add.key("2");
    add.assert_next().await;
    add.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn banking_recipient_errors_follow_precedence() {
    // Checks: renaming, listing and deleting, from token to state. A used key replays its response after its recipient
    // is deleted.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let caller = Caller::new(&site).await;
    let (whom, which) = recipient(&site, &caller.token, bank()).await;
    let wrong = [
        json!({"name": ""}),
        json!({"nickname": ""}),
        json!({"destinationId": "dst_1", "nickname": ""}),
    ];
    let good = json!({"destinationId": "dst_1", "nickname": "rent"});
    let mut rename = caller
        .check_precedence("/updateBankingDestination", AccessRule::SpendRights, &wrong, &good)
        .await;
    rename.data(&good).await;
    rename.data(&with(&good, "destinationId", which.clone())).await;
    let wrong = [json!({"most": 1}), json!({"limit": 101})];
    let mut list = caller
        .check_precedence("/listBankingRecipients", AccessRule::Reads, &wrong, &json!({}))
        .await;
    list.data(&json!({"startingAfter": "dst_1"})).await;
    list.data(&json!({"limit": 1})).await;
    list.assert_complete();
    same_by_get(&caller).await;
    let wrong = [json!({"recipient": "brc_1"}), json!({})];
    let good = json!({"recipientId": "brc_1"});
    let mut delete = caller
        .check_precedence("/deleteBankingRecipient", AccessRule::SpendRights, &wrong, &good)
        .await;
    delete.data(&good).await;
    delete.data(&json!({"recipientId": whom})).await;
    delete.assert_replayed().await;
    rename.assert_replayed().await;
    // A page may end with a recipient that has been deleted since.
    result(
        &site,
        &caller.token,
        "listBankingRecipients",
        json!({ "startingAfter": which }),
    )
    .await;
    delete.assert_complete();
    rename.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn bank_transfer_errors_follow_precedence() {
    // Checks: a transfer from token to balance, where the last, valid call moves the money; then reading transactions,
    // one by one and as a list.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let caller = Caller::of(&site, Network::Base, "/get-card?amount=6.66").await;
    credited(&site, &caller.token).await;
    Owner::of(&site, &caller.agent).await.verify(&site, &caller.token).await;
    approve(&site, &caller.token, "Lovelace").await;
    let on = open_account(&site, &caller.token, "onramp").await["accountId"].clone();
    let off = open_account(&site, &caller.token, "offramp").await["accountId"].clone();
    let good = json!({"accountId": "ba_1", "amount": 9000, "note": "savings"});
    let empty = with(&good, "note", json!(""));
    let wrong = [
        json!({"acountId": "ba_1"}),
        json!({"direction": "away"}),
        json!({"amount": "1e3", "note": ""}),
        with(&empty, "amount", json!("1e3")),
        with(&empty, "amount", json!(0)),
        empty,
    ];
    let mut moving = caller
        .check_precedence("/createBankingTransfer", AccessRule::SpendRights, &wrong, &good)
        .await;
    for account in [json!("ba_1"), on, off.clone()] {
        moving.data(&with(&good, "accountId", account)).await;
    }
    moving.key("2");
    let mended = with(&with(&good, "accountId", off), "amount", json!(6.66));
    moving.data(&mended).await;
    moving.assert_replayed().await;
    moving.assert_complete();

    let all = result(&site, &caller.token, "listBankingTransactions", json!({})).await;
    let one = all["transactions"][0]["transactionId"].clone();
    let wrong = [json!({"transaction": one}), json!({})];
    let good = json!({"transactionId": "btr_1"});
    let mut read = caller
        .check_precedence("/getBankingTransaction", AccessRule::Reads, &wrong, &good)
        .await;
    read.data(&good).await;
    balance_is(&site, &caller.token, "0").await;
    super::banking_money::transaction_is(&site, &caller.token, &one, "complete").await;
    read.data(&json!({"transactionId": one})).await;
    read.assert_complete();
    let wrong = [json!({"most": 1}), json!({"limit": 0})];
    let mut list = caller
        .check_precedence("/listBankingTransactions", AccessRule::Reads, &wrong, &json!({}))
        .await;
    list.data(&json!({"startingAfter": "btr_1"})).await;
    list.data(&json!({})).await;
    list.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn balance_payout_errors_follow_precedence() {
    // Checks: from token to balance. The last, valid call pays, and its key replays the response after the destination
    // is deleted.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let caller = Caller::of(&site, Network::Solana, "/get-card?amount=6.66").await;
    credited(&site, &caller.token).await;
    let iban = json!({"type": "fiat_iban", "bankName": "Bank", "iban": "DE89370400440532013000"});
    let (_, iban) = recipient(&site, &caller.token, iban).await;
    let (whom, us) = recipient(&site, &caller.token, bank()).await;
    let good = json!({"destinationId": "rent", "amount": 10});
    let wrong = [
        json!({"destination": "rent"}),
        json!({"amount": "1e3"}),
        with(&good, "amount", json!("1e3")),
        with(&good, "amount", json!(9.99)),
    ];
    let mut pay = caller
        .check_precedence("/sendBankingPayout", AccessRule::SpendRights, &wrong, &good)
        .await;
    for destination in [json!("rent"), iban, us.clone()] {
        pay.data(&with(&good, "destinationId", destination)).await;
    }
    // Two more declined cards.
    for _ in 0..2 {
        let again: &Agent = &caller.agent;
        assert_eq!(again.buy(&site, "/get-card?amount=6.66").await.status, 200);
    }
    balance_is(&site, &caller.token, "19.98").await;
    pay.key("2");
    pay.data(&with(&good, "destinationId", us)).await;
    result(
        &site,
        &caller.token,
        "deleteBankingRecipient",
        json!({"recipientId": whom}),
    )
    .await;
    pay.assert_replayed().await;
    pay.assert_complete();
}
