//! Payees: recipients of the form, bank accounts, and a payout as its payer sees it.

use serde_json::{Value, json};

use super::agent::Agent;
use super::http::{Response, ServiceClient, send, until};

/// A U.S. account with a valid checksum.
pub(crate) const ROUTING: &str = "021000021";
pub(crate) const ACCOUNT: &str = "000123456789";

/// A sandbox debit card of a country (ISO 3166-1 numeric), with its check digit.
pub(crate) fn debit_card(country: &str) -> String {
    let body = format!("400000{country}000001");
    let luhn = |number: &str| -> u32 {
        let digits = number.bytes().rev().enumerate();
        digits
            .map(|(n, digit)| match (u32::from(digit - b'0'), n % 2) {
                (digit, 0) => digit,
                (digit, _) => digit * 2 / 10 + digit * 2 % 10,
            })
            .sum()
    };
    let check = (10 - luhn(&format!("{body}0")) % 10) % 10;
    format!("{body}{check}")
}

/// Registers a U.S. bank account for an agent.
pub(crate) async fn register(site: &ServiceClient<'_>, agent: &Agent) -> String {
    let answer = site
        .post("/sandbox/bank-recipients", &recipient(agent, ROUTING, ACCOUNT))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["destination_ids"][0].as_str().unwrap().to_owned()
}

/// A bank recipient with one U.S. account.
pub(crate) fn recipient(agent: &Agent, routing: &str, account: &str) -> Value {
    json!({"wallet": agent.address(), "name": "Ada <b>Lovelace", "destinations": [{
        "destination_type": "fiat_us", "nickname": "Rent", "bank_name": "First Bank",
        "routing_number": routing, "account_number": account}]})
}

/// Sends the recipient's form.
pub(crate) async fn enter(site: &ServiceClient<'_>, link: &str, number: &str, expiry: &str) -> Response {
    let (_, query) = link.split_once("/redeem?").unwrap();
    let form = format!("{query}&card_number={number}&expiry={expiry}");
    let request = site.request("POST", "/redeem");
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    send(request.body(form)).await.unwrap()
}

/// The status of a payout.
pub(crate) async fn status(site: &ServiceClient<'_>, token: &str, payout: &str) -> Response {
    let path = format!("/get-payment-status?payout_id={payout}");
    site.get_as(token, &path).await
}

/// Waits until a payout has this status.
pub(crate) async fn wait_for_payout_status(
    site: &ServiceClient<'_>,
    token: &str,
    payout: &str,
    expected: &str,
) -> Value {
    until(expected, async || {
        let answer = status(site, token, payout).await;
        (answer.str("status") == Some(expected)).then_some(answer.body)
    })
    .await
}

/// Waits until the balance has this exact text.
pub(crate) async fn balance_is(site: &ServiceClient<'_>, token: &str, expected: &str) {
    until("the balance", async || {
        let answer = site.get_as(token, "/get-account-balance").await;
        let shown = answer.body["balance"].to_string();
        (shown == expected).then_some(())
    })
    .await;
}

/// The types of the account's events about payouts, in order.
pub(crate) async fn payout_event_types(site: &ServiceClient<'_>, token: &str) -> Vec<String> {
    let events = site.events(token, 0).await;
    let types = events.iter().filter_map(|event| event["type"].as_str());
    types
        .filter(|name| name.starts_with("payout."))
        .map(str::to_owned)
        .collect()
}
