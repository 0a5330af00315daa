//! International cards: ordered and paid by an agent, then fulfilled, cancelled or rejected.

use purser_actors::id::Network;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::operator_client::{CVV, MISTYPED, OperatorClient, PAN, billing, entered};
use super::replay::transfer_count;

const ORDER: &str = "/order-intl-card?amount=100&label=%3Cb%3Etrip";
const CANCEL: &str = "/cancel-intl-order";
const PRICE_WITH_FEE: f64 = 103.8;

/// An agent with an order, its card id and a token.
async fn ordered(site: &ServiceClient<'_>, network: Network) -> (Agent, String, String) {
    let agent = Agent::new(network);
    let bought = agent.buy(site, ORDER).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let order = &bought.body["intl_card_order"];
    let id = order["card_id"].as_str().unwrap().to_owned();
    let token = agent.token(site).await;
    (agent, id, token)
}

async fn cancel(site: &ServiceClient<'_>, token: &str, id: &str) -> Response {
    let request = site.request("POST", CANCEL).bearer_auth(token);
    send(request.body(json!({"card_id": id}).to_string())).await.unwrap()
}

async fn read(site: &ServiceClient<'_>, token: &str, id: &str) -> Value {
    let answer = site.get_as(token, &format!("/get-card-data?card_id={id}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body
}

async fn balance(site: &ServiceClient<'_>, token: &str) -> Value {
    site.get_as(token, "/get-account-balance").await.body["balance"].clone()
}

/// A fulfilled card has everything the operator entered.
fn assert_opened(card: &Value) {
    let details = &card["card_details"];
    assert_eq!(
        (&card["status"], &details["card_number"]),
        (&json!("ready"), &json!(PAN))
    );
    assert_eq!(
        (&details["cvv"], &details["exp_month"], &details["exp_year"]),
        (&json!(CVV), &json!(12), &json!(2031))
    );
    assert_eq!(details["available_balance"].to_string(), card["usd_amount"].to_string());
    assert_eq!(details["billing_address"], billing());
}

#[tokio::test(flavor = "multi_thread")]
async fn intl_order_becomes_a_card_its_owner_reads() {
    // Checks: On both chains: paid, queued, claimed, entered. The owner reads number, expiry and CVV, and lists show
    // neither. Each change is an event, and all of it survives a kill.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let mut cards = Vec::new();
    for network in Network::ALL {
        let (agent, id, token) = ordered(&site, network).await;
        let queued = read(&site, &token, &id).await;
        assert_eq!(
            (&queued["status"], &queued["state"]),
            (&json!("queued"), &json!("queued"))
        );
        assert_eq!(queued["label"], "<b>trip");
        assert_eq!(queued["fees_paid"].to_string(), "3.8");
        assert!(queued.get("card_details").is_none());
        let listed = operator.queue().await;
        assert_eq!(listed.len(), 1);
        assert_eq!(
            (&listed[0]["card_id"], &listed[0]["overdue"]),
            (&json!(id), &json!(false))
        );
        let raw = operator.get("/admin/intl-orders").await.text;
        assert!(!raw.contains('<'), "a label is inert: {raw}");
        let lease = operator.claim(&id).await;
        assert_eq!(lease, 1);
        let made = operator.post("/admin/intl-orders/fulfil", entered(&id, lease)).await;
        assert_eq!((made.status, made.str("last4")), (200, Some("4560")), "{}", made.text);
        assert!(!made.text.contains(PAN));
        assert!(operator.queue().await.is_empty());
        cards.push((agent, id, token));
    }
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (agent, id, _) in &cards {
        let token = agent.token(&site).await;
        let card = read(&site, &token, id).await;
        assert_opened(&card);
        let path = "/get-card-data?card_type=Non-Reloadable%20International";
        let list = site.get_as(&token, path).await;
        assert_eq!(list.body["cards"][0]["card_id"], json!(id));
        assert!(!list.text.contains(PAN) && !list.text.contains("cvv"), "{}", list.text);
        assert_eq!(site.get_as(&token, "/get-card-data").await.body["cards"], json!([]));
        let events = site.events(&token, 0).await;
        let changes: Vec<_> = events
            .iter()
            .filter_map(|e| e["type"].as_str()?.strip_prefix("intl_order."))
            .collect();
        assert_eq!(changes, ["queued", "claimed", "ready", "details_viewed"]);
        assert!(!format!("{events:?}").contains(PAN));
        assert_eq!(cancel(&site, &token, id).await.code(), "not_cancellable");
    }
    drop(site);
    service.stop();
    host.assert_verified();
    let logged = host.logged();
    assert!(!logged.contains(PAN) && !logged.contains(&format!("\"{CVV}\"")));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_30_intl_order_is_cancelled_once() {
    // Checks: Ten concurrent cancellations give one credit of the whole charge, fee included. A claimed order cannot be
    // cancelled; a released one can. A rejection credits too, with the operator's reason. The ledger balances.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let (_, id, token) = ordered(&site, Network::Base).await;
    let lease = operator.claim(&id).await;
    let refused = cancel(&site, &token, &id).await;
    assert_eq!(
        (refused.status, refused.code()),
        (409, "not_cancellable"),
        "{}",
        refused.text
    );
    operator
        .done("/admin/intl-orders/release", json!({"card_id": id, "lease": lease}))
        .await;
    let answers = futures_util::future::join_all((0..10).map(|_| cancel(&site, &token, &id))).await;
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses.iter().filter(|s| **s == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|s| **s == 409).count(), 9, "{statuses:?}");
    until("the credit", async || {
        (balance(&site, &token).await == json!(PRICE_WITH_FEE)).then_some(())
    })
    .await;
    assert_eq!(read(&site, &token, &id).await["status"], "cancelled");
    let late = operator.post("/admin/intl-orders/claim", json!({"card_id": id})).await;
    assert_eq!((late.status, late.code()), (409, "order_not_open"), "{}", late.text);

    let (_, id, token) = ordered(&site, Network::Solana).await;
    operator
        .done(
            "/admin/intl-orders/reject",
            json!({"card_id": id, "reason": "no card for this"}),
        )
        .await;
    until("the credit", async || {
        (balance(&site, &token).await == json!(PRICE_WITH_FEE)).then_some(())
    })
    .await;
    assert_eq!(read(&site, &token, &id).await["rejection_reason"], "no card for this");
    site.wait_for_events(&token, &["intl_order.rejected queued"]).await;
    assert_eq!(cancel(&site, &token, &id).await.code(), "not_cancellable");
    let again = operator
        .post("/admin/intl-orders/reject", json!({"card_id": id, "reason": "again"}))
        .await;
    assert_eq!(again.code(), "order_not_open");
    drop(site);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_29_concurrent_cancel_and_fulfil_have_one_winner() {
    // Checks: Twenty orders over HTTP: the operator claims and fulfils each while its owner cancels it. Exactly one of
    // them succeeds, and the money is where that says.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let mut back = 0;
    for _ in 0..20 {
        let bought = agent.buy(&site, "/order-intl-card?amount=100").await;
        let id = bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned();
        let make = async {
            let claimed = operator.post("/admin/intl-orders/claim", json!({"card_id": id})).await;
            match claimed.body["lease"].as_u64() {
                Some(lease) => operator.fulfil(&id, lease).await.status == 200,
                None => false,
            }
        };
        let (made, cancelled) = tokio::join!(make, cancel(&site, &token, &id));
        assert_ne!(made, cancelled.status == 200, "made {made}, and {}", cancelled.text);
        back += i64::from(!made);
    }
    // 103.80 each, as the exact text of the response.
    let expected = Decimal::new(10_380, 2) * Decimal::from(back);
    until("the credits", async || {
        let balance = balance(&site, &token).await.to_string().parse::<Decimal>().unwrap();
        (balance == expected).then_some(())
    })
    .await;
    drop(site);
    service.stop();
    host.assert_verified();
}

/// An address with one line changed.
fn with_line(line: &str, text: &str) -> Value {
    let mut address = billing();
    address[line] = text.into();
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn mistyped_card_is_rejected_and_the_order_stays_open() {
    // Checks: A wrong digit, an expired or invalid expiry, an invalid CVV, an unknown field, another operator's lease
    // and an old lease. Each has its own error, nothing is stored, and no error repeats the input.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let (_, id, token) = ordered(&site, Network::Base).await;
    let lease = operator.claim(&id).await;
    for (field, value) in [
        ("card_number", json!(MISTYPED)),
        ("card_number", json!("4000 1234")),
        ("exp_month", json!(13)),
        ("exp_month", json!("12")),
        ("exp_year", json!(2020)),
        ("exp_year", json!(2099)),
        ("cvv", json!("73")),
        ("cvv", json!("７３９")),
        ("billing_address", with_line("country", "Malta")),
        ("billing_address", with_line("state", " ")),
        ("billing_address", with_line("line1", &"x".repeat(101))),
    ] {
        let mut body = entered(&id, lease);
        body[field] = value;
        let answer = operator.post("/admin/intl-orders/fulfil", body).await;
        assert_eq!(
            (answer.status, answer.code()),
            (400, "parameter_invalid"),
            "{field}: {}",
            answer.text
        );
        assert_eq!(answer.str("param"), Some(field));
        assert!(!answer.text.contains(MISTYPED) && !answer.text.contains(PAN));
    }
    let other = operator.add_operator("ben", "operator").await;
    for (who, lease) in [(&operator, lease + 1), (&operator, 0), (&other, lease)] {
        let answer = who.fulfil(&id, lease).await;
        assert_eq!((answer.status, answer.code()), (409, "lease_stale"), "{}", answer.text);
    }
    let held = other.post("/admin/intl-orders/claim", json!({"card_id": id})).await;
    assert_eq!((held.status, held.code()), (409, "order_leased"));
    let keys = || std::fs::read_dir(host.data().join("cvv.keys")).unwrap().count();
    assert_eq!(
        (keys(), &read(&site, &token, &id).await["status"]),
        (0, &json!("claimed"))
    );
    assert_eq!(operator.fulfil(&id, lease).await.status, 200);
    assert_eq!(keys(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_71_missing_cvv_key_stops_the_start() {
    // Checks: Without the key directory the service names the card whose key is missing and does not start. With the
    // directory restored, nothing is lost.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let (agent, id, _) = ordered(&site, Network::Base).await;
    let lease = operator.claim(&id).await;
    assert_eq!(operator.fulfil(&id, lease).await.status, 200);
    service.stop();
    let (keys, away) = (host.data().join("cvv.keys"), host.sibling_path("away"));
    std::fs::rename(&keys, &away).unwrap();
    let Err(output) = host.try_start() else {
        panic!("started without the keys of CVVs")
    };
    assert!(output.contains("cvv.keys") && output.contains(&id), "{output}");
    std::fs::remove_dir(&keys).unwrap();
    std::fs::rename(&away, &keys).unwrap();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let shown = read(&site, &agent.token(&site).await, &id).await;
    assert_eq!(shown["card_details"]["cvv"], CVV, "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_25_intl_order_price_follows_the_current_schedule() {
    // Checks: The fee vectors at both edges, whole dollars only, and a promotion's rate in the price and in the
    // schedule.
    let host = Host::new();
    let rate = async |site: &ServiceClient<'_>| {
        let pricing = site.get("/get-pricing", &[]).await;
        let entries = pricing.body["products"].as_array().unwrap().clone();
        let intl = entries
            .into_iter()
            .find(|p| p["product"] == "intl_prepaid_card")
            .unwrap();
        (intl["fee_rate"].to_string(), intl["available"].clone())
    };
    let asks = async |site: &ServiceClient<'_>, amount: &str| {
        let answer = site.get(&format!("/order-intl-card?amount={amount}"), &[]).await;
        answer.body["accepts"][0]["amount"]
            .as_str()
            .unwrap_or(answer.code())
            .to_owned()
    };
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_eq!(rate(&site).await, ("0.038".to_owned(), json!(true)));
    for (amount, price) in [
        ("100", "103800000"),
        ("100.00", "103800000"),
        ("101", "104840000"),
        ("1000", "1038000000"),
        ("99", "amount_out_of_range"),
        ("1001", "amount_out_of_range"),
        ("100.50", "amount_invalid"),
        ("1e2", "amount_invalid"),
    ] {
        assert_eq!(asks(&site, amount).await, price, "{amount}");
    }
    let long = format!("/order-intl-card?amount=100&label={}", "%C3%BC".repeat(101));
    assert_eq!(site.get(&long, &[]).await.str("param"), Some("label"));
    assert_eq!(site.get(&long[..long.len() - 6], &[]).await.status, 402);
    drop(site);
    service.stop();
    let mut host = host;
    let setting = |name: &str| format!("PURSER_PRODUCTS__INTL_PREPAID_CARD__PROMOTION_{name}");
    host.set(&setting("FEE_RATE"), "0.01");
    host.set(&setting("FROM"), "2020-01-01T00:00:00Z");
    host.set(&setting("UNTIL"), "2199-01-01T00:00:00Z");
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_eq!(rate(&site).await.0, "0.01");
    assert_eq!(asks(&site, "100").await, "101000000");
    // A quote from before the promotion is honoured while it is valid, and the payer pays once.
    let agent = Agent::new(Network::Base);
    let payment = agent.payment(&site, "/order-intl-card?amount=100").await;
    assert_eq!(
        Agent::pay(&site, "/order-intl-card?amount=100", &payment).await.status,
        200
    );
    assert_eq!(transfer_count(&site, &payment).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_48_order_of_another_wallet_is_inaccessible() {
    // Checks: Two users, each with the other's order: 403. Unknown ids and a card of another kind: 404. No response
    // contains the other's data.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let users = [
        ordered(&site, Network::Base).await,
        ordered(&site, Network::Solana).await,
    ];
    for (one, two) in [(0, 1), (1, 0)] {
        let (token, (_, order, _)) = (&users[one].2, &users[two]);
        let answer = cancel(&site, token, order).await;
        assert_eq!((answer.status, answer.code()), (403, "card_access_denied"));
        let answer = site.get_as(token, &format!("/get-card-data?card_id={order}")).await;
        assert_eq!((answer.status, answer.code()), (403, "card_access_denied"));
        let list = "/get-card-data?card_type=Non-Reloadable%20International";
        assert!(!site.get_as(token, list).await.text.contains(order.as_str()));
        let answer = cancel(&site, token, "card_00000000000000000000000000000001").await;
        assert_eq!((answer.status, answer.code()), (404, "card_not_found"));
    }
    let usa = users[0].0.buy(&site, "/get-card?amount=5").await;
    assert_eq!(cancel(&site, &users[0].2, usa.card()).await.status, 404);
    for (_, order, token) in &users {
        assert_eq!(read(&site, token, order).await["status"], "queued");
    }
}
