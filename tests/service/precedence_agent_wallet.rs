//! Error precedence of the agent wallet functions.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::banking::result;
use super::callable_precedence::{AccessRule, Caller, with};
use super::host::Host;
use super::http::{ServiceClient, until};
use super::owner::Owner;
use super::precedence_table::PrecedenceTable;
use super::request::Request;
use super::withdraw::withdraw;

const WHY: &str = "Please write to us.";

#[tokio::test(flavor = "multi_thread")]
async fn agent_x402_pay_errors_follow_precedence() {
    // Checks: token, key, fields, owner, account, kind of token, wallet, address, caps, balance, called URL; then the
    // payment succeeds.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let payment_token = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let token = agent.token(&site).await;
    let taken = withdraw(&site, &token, Some("one"), &json!({"amount": 9000})).await;
    assert_eq!(taken.status, 409, "{}", taken.text);
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("POST /agentX402Pay", "agent-x402-pay");
    let mut ask = Request::new("POST", "/agentX402Pay");
    ask.header("idempotency-key", &"k".repeat(256));
    ask.body(&json!({"data": {"rout": "/get-card"}}));
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "one");
    precedence.assert_next(&ask.send(&site).await);
    let inside = json!({"url": "http://127.0.0.1/"});
    let unowned = with(&inside, "userId", json!(other.address()));
    let unpriced = with(&unowned, "maxAmountUsdc", json!(0));
    for data in [
        json!({"method": "GET"}),
        with(&unpriced, "route", json!("/get-card")),
        unpriced,
        unowned,
        inside,
    ] {
        ask.body(&json!({ "data": data }));
        precedence.assert_next(&ask.send(&site).await);
    }
    site.freeze(&agent.address(), None).await;
    ask.bearer(&payment_token);
    ask.header("idempotency-key", "none");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ask.header("idempotency-key", "one");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "two");
    precedence.assert_next(&ask.send(&site).await);
    result(&site, &token, "createAgentWallet", json!({})).await;
    precedence.assert_next(&ask.send(&site).await);
    let owner = Owner::of(&site, &agent).await;
    let set = owner
        .act(&site, "/account/spending", &json!({"per_call_usd": 50000}))
        .await;
    assert_eq!(set.status, 200, "{}", set.text);
    // More than the balance of a new wallet on either chain.
    let drain = json!({"toAddress": agent.address(), "amountUsdc": 9999.5});
    result(&site, &token, "agentWalletTransfer", drain).await;
    until("the rest to be free again", async || {
        let wallet = result(&site, &token, "getAgentWallet", json!({})).await;
        (wallet["balances"]["base"]["available"] == json!(0.5)).then_some(())
    })
    .await;
    let priced = json!({"route": "/get-card", "params": {"amount": 5}});
    ask.body(&json!({"data": with(&priced, "expectedNetwork", json!("base"))}));
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "three");
    ask.body(&json!({"data": {"route": "/get-card", "params": {"amount": 4}}}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"data": {"route": "/healthz"}}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"data": with(&priced, "expectedNetwork", json!("solana"))}));
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_wallet_transfer_errors_follow_precedence() {
    // Checks: token, key, fields, account, kind of token, wallet, entry, caps, balance; then the transfer is sent. Its
    // key replays the response after the entry is deleted.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let caller = Caller::new(&site).await;
    let own = caller.agent.address();
    let unknown_entry = json!({"amountUsdc": 1_000.5, "addressBookEntryId": format!("adr_{:032x}", 1)});
    let wrong = [
        json!({"amount": 1}),
        json!({"note": ""}),
        json!({"amountUsdc": "1.0000001", "note": ""}),
        json!({"amountUsdc": 1, "note": ""}),
        json!({"amountUsdc": 1}),
        json!({"amountUsdc": 1, "toAddress": own, "network": "solana"}),
    ];
    let mut send = caller
        .check_precedence("/agentWalletTransfer", AccessRule::SpendRights, &wrong, &unknown_entry)
        .await;
    send.data(&unknown_entry).await;
    let made = result(&site, &caller.token, "createAgentWallet", json!({})).await;
    send.assert_next().await;
    let managed = made["wallet"]["addresses"]["base"].clone();
    send.data(&json!({"amountUsdc": 10_000.5, "toAddress": managed})).await;
    let stranger = Agent::new(Network::Solana).address();
    send.data(&json!({"amountUsdc": 10_000.5, "toAddress": stranger})).await;
    let entry_id = json!({"name": "me", "address": own});
    let entry_id = result(&site, &caller.token, "saveAddressBookEntry", entry_id).await["entry"]["entryId"].clone();
    send.data(&json!({"amountUsdc": 10_000.5, "addressBookEntryId": entry_id}))
        .await;
    let owner = Owner::of(&site, &caller.agent).await;
    let set = owner
        .act(&site, "/account/spending", &json!({"per_call_usd": 50000}))
        .await;
    assert_eq!(set.status, 200, "{}", set.text);
    send.key("2");
    send.assert_next().await;
    send.key("3");
    send.data(&json!({"amountUsdc": 1, "addressBookEntryId": entry_id}))
        .await;
    result(
        &site,
        &caller.token,
        "deleteAddressBookEntry",
        json!({"entryId": entry_id}),
    )
    .await;
    send.assert_replayed().await;
    send.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_wallet_errors_follow_precedence() {
    // Checks: creating and reading the wallet, its limits and its address book, from the token to the stored state. A
    // used key replays its response after the entry is deleted.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let caller = Caller::new(&site).await;
    let (unknown, nothing) = ([json!({"walletPayment": "wpay_1"})], json!({}));
    let query = json!({"walletPaymentId": "wpay_1"});
    let mut read = caller
        .check_precedence("/getAgentWallet", AccessRule::Reads, &unknown, &query)
        .await;
    read.data(&query).await;
    let mut limits = caller
        .check_precedence("/getAgentSpendLimit", AccessRule::Reads, &unknown, &nothing)
        .await;
    limits.data(&nothing).await;
    let mut list = caller
        .check_precedence("/listAddressBook", AccessRule::Reads, &unknown, &nothing)
        .await;
    list.data(&nothing).await;
    let entry = json!({"entryId": "adr_1", "name": "shop", "address": Agent::new(Network::Solana).address()});
    let wrong = [
        with(&entry, "nme", json!("")),
        json!({"name": ""}),
        json!({"name": "", "address": ""}),
        json!({"name": "shop", "address": ""}),
        with(&entry, "network", json!("base")),
    ];
    let mut save = caller
        .check_precedence("/saveAddressBookEntry", AccessRule::SpendRights, &wrong, &entry)
        .await;
    save.data(&entry).await;
    let wrong = [json!({"entry": "adr_1"}), nothing.clone()];
    let gone = json!({"entryId": "adr_1"});
    let mut forget = caller
        .check_precedence("/deleteAddressBookEntry", AccessRule::SpendRights, &wrong, &gone)
        .await;
    forget.data(&gone).await;

    let mut make = caller
        .check_precedence("/createAgentWallet", AccessRule::SpendRights, &unknown, &nothing)
        .await;
    make.data(&nothing).await;
    make.assert_replayed().await;
    make.assert_complete();
    read.assert_next().await;
    read.data(&nothing).await;
    limits.assert_next().await;
    save.assert_next().await;
    let mut new = entry.clone();
    new.as_object_mut().unwrap().remove("entryId");
    save.data(&new).await;
    list.assert_next().await;
    let entry_id = result(&site, &caller.token, "listAddressBook", nothing).await["entries"][0]["entryId"].clone();
    forget.assert_next().await;
    forget.data(&json!({"entryId": entry_id})).await;
    forget.assert_replayed().await;
    save.assert_replayed().await;
    for _ in 0..100 {
        result(&site, &caller.token, "saveAddressBookEntry", new.clone()).await;
    }
    save.key("2");
    save.assert_next().await;
    for precedence in [read, limits, list, save, forget] {
        precedence.assert_complete();
    }
}
