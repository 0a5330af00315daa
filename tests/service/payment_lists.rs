//! Payment lists for clients that lost a response, saved recipients, and field names that stay the same from the first
//! response on.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::owner::Owner;
use super::precedence_table::PrecedenceTable;
use super::recipient::{balance_is, register, wait_for_payout_status};
use super::reloadable_cards::post_with_key;
use super::request::Request;

fn quick() -> Host {
    Host::new()
        .with("PURSER_SANDBOX__PAYOUT_DELAY_MS", "10")
        .with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10")
}

pub(crate) async fn payments(site: &ServiceClient<'_>, token: &str, query: &str) -> Response {
    let answer = site.get_as(token, &format!("/list-payments{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

/// All payments, read in pages of two.
async fn in_pages(site: &ServiceClient<'_>, token: &str) -> Vec<Value> {
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let page = payments(site, token, &format!("?limit=2{after}")).await.body;
        let ids = page["payments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["payment_id"].clone());
        seen.extend(ids);
        if page["has_more"] == false {
            return seen;
        }
        after = format!("&starting_after={}", seen.last().unwrap().as_str().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_are_listed_with_what_they_bought_and_their_receipts() {
    // Checks: payments are listed newest first, in pages, on both chains, with the current product status and the
    // original receipt. Declined and unknown payments are listed as such. No code, link, number or token is shown.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let token = agent.token(&site).await;
        assert_eq!(
            payments(&site, &token, "").await.body,
            json!({"payments": [], "has_more": false})
        );
        site.chain_fault(json!({"fault": "insufficient", "times": 1, "network": network.name()}))
            .await;
        let declined = agent.buy(&site, "/get-card?amount=7").await;
        assert_eq!(declined.status, 402, "{}", declined.text);
        let card = agent.buy(&site, "/get-card?amount=5").await;
        let gift = "/order-gift-card?product_id=gift_fernhill_grocers_gb&country=GB&amount=10";
        let gift = agent.buy(&site, gift).await;
        let order = agent.buy(&site, "/order-intl-card?amount=100").await;
        let push = agent.buy(&site, "/get-push-to-card?amount=25&currency=USD").await;
        until("the gift card", async || {
            let list = payments(&site, &token, "").await.body;
            (list["payments"][2]["gift_card"]["status"] == "completed").then_some(())
        })
        .await;
        let list = payments(&site, &token, "").await;
        let all = list.body["payments"].as_array().unwrap();
        assert_eq!(all.len(), 5, "{}", list.text);
        for (listed, bought) in all.iter().zip([&push, &order, &gift, &card]) {
            assert_eq!(listed["payment_id"], bought.body["payment_id"]);
            let (receipt, expected) = (&listed["receipt"], bought.receipt());
            for member in ["success", "transaction", "network", "payer", "amount"] {
                assert_eq!(receipt[member], expected[member], "{member}: {receipt} and {expected}");
            }
            assert_eq!(
                (&listed["status"], &listed["terminal"]),
                (&json!("fulfilled"), &json!(true))
            );
        }
        for (listed, product) in all.iter().zip(["payout", "intl_card_order", "gift_card", "card"]) {
            let status = &listed[product]["status"];
            assert!(status.is_string() && listed["product_status"] == *status, "{listed}");
            assert!(listed.get("credited_usd_amount").is_none(), "{listed}");
        }
        assert_eq!(all[4]["product_status"], Value::Null);
        assert_eq!(all[0]["payout"]["payout_id"], push.body["payout_id"]);
        assert_eq!(
            all[1]["intl_card_order"]["card_id"],
            order.body["intl_card_order"]["card_id"]
        );
        assert_eq!(all[2]["gift_card"]["card_id"], gift.body["card_id"]);
        assert_eq!(all[3]["card"]["card_id"], card.body["card_id"]);
        assert_eq!(
            (&all[4]["receipt"], &all[4]["error_reason"]),
            (&Value::Null, &json!("insufficient_funds"))
        );
        for secret in ["redemption", "pin_code", "card_number", "cvv", "token", "auth\""] {
            assert!(!list.text.contains(secret), "{secret}: {}", list.text);
        }
        let ids: Vec<_> = all.iter().map(|one| one["payment_id"].clone()).collect();
        assert_eq!(in_pages(&site, &token).await, ids);
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_list_errors_follow_precedence() {
    // Checks: one request, fixed step by step, gets the errors in the order of the document.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (agent, stranger) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let theirs = stranger.buy(&site, "/get-card?amount=5").await;
    let token = agent.token(&site).await;
    site.freeze(&agent.address(), Some("why")).await;
    let mut precedence = PrecedenceTable::of("GET /list-payments", "list-payments");
    let mut read = Request::new("GET", "/list-payments")
        .with("colour", "red")
        .with("limit", "0")
        .with("starting_after", "none");
    precedence.assert_next(&read.send(&site).await);
    read.bearer(&token);
    precedence.assert_next(&read.send(&site).await);
    read.drop("colour");
    precedence.assert_next(&read.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&read.send(&site).await);
    read.set("limit", "5");
    precedence.assert_next(&read.send(&site).await);
    read.set("starting_after", theirs.str("payment_id").unwrap());
    precedence.assert_next(&read.send(&site).await);
    read.drop("starting_after");
    precedence.assert_next(&read.send(&site).await);
    precedence.assert_complete();
}

/// A payment to a recipient saved as Ada King, on the route that pays her by id.
async fn assert_given_names_must_match(site: &ServiceClient<'_>, agent: &Agent, alone: &str) {
    for (query, status, code) in [
        ("&recipient_last_name=Lovelace", 409, "recipient_differs"),
        ("&platform=venmo", 404, "recipient_not_found"),
        (
            "&recipient_last_name=King&platform=paypal&recipient_email=ADA@example.com",
            200,
            "",
        ),
    ] {
        let answer = agent.buy(site, &format!("{alone}{query}")).await;
        assert_eq!(
            (answer.status, answer.code()),
            (status, code),
            "{query}: {}",
            answer.text
        );
    }
    let other = Agent::new(Network::Solana);
    let their_token = other.token(site).await;
    Owner::by_token(site, &their_token)
        .await
        .verify(site, &their_token)
        .await;
    let refused = other.buy(site, alone).await;
    assert_eq!(
        (refused.status, refused.code()),
        (404, "recipient_not_found"),
        "{}",
        refused.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn saved_recipient_shows_totals_and_is_payable_by_id() {
    // Checks: the list shows handle, totals and last payment. Amount and id pay the recipient again, and a replay joins
    // the same purchase. The id of another account is unknown, and extra parameters must match the saved ones.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    let first = "/send-payment?amount=10&platform=paypal&recipient_id=@ada&recipient_first_name=Ada&recipient_last_name=Lovelace\
                 &recipient_email=ada@example.com";
    let bought = agent.buy(&site, first).await;
    let id = bought.body["payment"]["recipient_id"].as_str().unwrap().to_owned();
    let alone = format!("/send-payment?amount=20&recipient_id={id}");
    let payment = agent.payment(&site, &alone).await;
    let paid = Agent::pay(&site, &alone, &payment).await;
    assert_eq!(
        (paid.status, &paid.body["payment"]["platform"]),
        (200, &json!("paypal")),
        "{}",
        paid.text
    );
    let payout = paid.body["payment"]["payout_id"].as_str().unwrap();
    wait_for_payout_status(&site, &token, payout, "complete").await;
    // A payment by handle may give another name; that name is then saved.
    let renamed = first.replace("Lovelace", "King");
    assert_eq!(agent.buy(&site, &renamed).await.status, 200);
    until("the new name", async || {
        let list = site.get_as(&token, "/payment-recipients").await.body;
        (list["recipients"][0]["last_name"] == "King").then_some(())
    })
    .await;
    let joined = Agent::pay(&site, &alone, &payment).await;
    assert_eq!(
        (joined.status, &joined.body["payment_id"]),
        (200, &paid.body["payment_id"]),
        "{}",
        joined.text
    );
    let saved = site.get_as(&token, "/payment-recipients").await.body["recipients"][0].clone();
    let shown = [
        ("recipient", json!("@ada")),
        ("currency", json!("USD")),
        ("payments_count", json!(3)),
        ("total_amount", json!(40)),
        ("platform", json!("paypal")),
    ];
    for (member, expected) in shown {
        assert_eq!(saved[member], expected, "{member}: {saved}");
    }
    assert_given_names_must_match(&site, &agent, &alone).await;
    service.stop();
    host.assert_verified();
}

/// Asserts that the fields of a first response have the same names in a poll or a list.
fn same(first: &Value, later: &Value, members: &[&str]) {
    for member in members {
        assert!(first.get(*member).is_some(), "{member}: {first}");
        assert!(later.get(*member).is_some(), "{member}: {later}");
    }
}

/// Cards of two kinds. The first is declined, so that its charge is on the balance.
async fn cards_in_purchase_order(site: &ServiceClient<'_>, agent: &Agent, token: &str) {
    let card = agent.buy(site, "/get-card?amount=6.66").await;
    balance_is(site, token, "6.66").await;
    let path = format!("/get-card-data?card_id={}", card.card());
    same(
        &card.body["card"],
        &site.get_as(token, &path).await.body,
        &["card_id", "usd_amount", "country", "status", "created_at"],
    );
    let order = agent.buy(site, "/order-intl-card?amount=100").await;
    let order = &order.body["intl_card_order"];
    let list = site
        .get_as(token, "/get-card-data?card_type=Non-Reloadable%20International")
        .await
        .body;
    let known = [
        "card_id",
        "on_card_usd_amount",
        "charged_usd_amount",
        "label",
        "status",
        "created_at",
    ];
    same(order, &list["cards"][0], &known);
    let one = format!("/get-card-data?card_id={}", order["card_id"].as_str().unwrap());
    let one = site.get_as(token, &one).await.body;
    same(
        &one,
        &list["cards"][0],
        &["state", "fees_paid", "usd_amount", "card_type"],
    );
}

/// A withdrawal, from its first response to its final state.
async fn withdraw_and_follow(site: &ServiceClient<'_>, token: &str) {
    let withdrawn = post_with_key(site, token, "/withdraw", None, &json!({"amount": 1})).await;
    let id = withdrawn.body["withdrawal"]["id"].as_str().unwrap();
    let mut states = Vec::new();
    until("the withdrawal", async || {
        let poll = site
            .get_as(token, &format!("/get-withdrawal-status?withdrawal_id={id}"))
            .await
            .body;
        same(
            &withdrawn.body["withdrawal"],
            &poll["withdrawal"],
            &["id", "amount", "state"],
        );
        let state = poll["withdrawal"]["state"].as_str().unwrap().to_owned();
        states.push(state.clone());
        (state == "complete").then_some(())
    })
    .await;
    assert!(
        states
            .iter()
            .all(|state| ["pending", "sent", "complete"].contains(&state.as_str())),
        "{states:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn field_names_match_in_response_poll_list_and_events() {
    // Checks: each field of a first response has the same name in its poll, list and events, for payouts, withdrawals
    // and cards. The states of a withdrawal are `pending`, `sent`, `complete` and `failed`.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    let destination = register(&site, &agent).await;
    let bank = agent
        .buy(
            &site,
            &format!("/send-bank-payment?amount=10&destination_id={destination}"),
        )
        .await;
    let bank = &bank.body["bank_payment"];
    let path = format!("/get-payment-status?payout_id={}", bank["payout_id"].as_str().unwrap());
    let poll = site.get_as(&token, &path).await.body;
    same(
        bank,
        &poll,
        &[
            "payout_id",
            "amount",
            "fee_amount",
            "charged_amount",
            "destination_id",
            "state",
            "destination",
        ],
    );
    let list = site.get_as(&token, "/get-payment-status").await.body;
    same(bank, &list["payouts"][0], &["payout_id", "amount", "state"]);
    cards_in_purchase_order(&site, &agent, &token).await;
    withdraw_and_follow(&site, &token).await;
    let events = site.events(&token, 0).await;
    let payout = events
        .iter()
        .find(|event| event["type"].as_str().unwrap().starts_with("payout."));
    assert!(payout.unwrap()["data"]["object"]["state"].is_string(), "{payout:?}");
    service.stop();
    host.assert_verified();
}
