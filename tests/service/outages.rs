//! A provider that is down, lines that an operator closes, work that is late, and signatures that are worth nothing elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::payment::evm::{SignatureRecovery, checksummed, parse_address};
use purser::payment::terms::{BASE_USDC, SANDBOX_USDC};
use purser::payment::{BasePayee, Payee, Terms, Token, decode, verify};
use purser::system::SystemClock;
use purser::wallet::MppOffer;
use purser_actors::id::Network;
use purser_actors::money::Usdc;
use purser_actors::port::Clock as _;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::sync::Arc;

use super::admin::admin;
use super::agent::Agent;
use super::host::{Host, Service};
use super::http::{Response, ServiceClient, until};
use super::metrics::scrape;
use super::mpp;
use super::operator_client::OperatorClient;
use super::settlement_faults::finally;

const CARD: &str = "/get-card?amount=5";
const LINE: &str = "usa_prepaid_card";
const DOWN: &str = "unreachable";

/// Three failures close a line, which is tried again when `every` seconds have gone by.
pub(crate) fn with_line_settings(every: &str) -> Host {
    Host::new()
        .with("PURSER_ENGINE__LINE_FAILURES", "3")
        .with("PURSER_ENGINE__LINE_TRY_EVERY_SECONDS", every)
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1")
        .with("PURSER_ENGINE__MAX_BACKOFF_MS", "20")
        .with("PURSER_ENGINE__MAX_ATTEMPTS", "1000000")
}

pub(crate) async fn line_status(desk: &OperatorClient<'_>, line: &str) -> Value {
    let listed = desk.get("/admin/lines").await;
    let lines = listed.body["lines"].as_array().unwrap().clone();
    lines.into_iter().find(|one| one["line"] == line).unwrap()
}

async fn wait_for_status(desk: &OperatorClient<'_>, status: &str) -> Value {
    until(status, async || {
        let line = line_status(desk, LINE).await;
        // Written down, too.
        (line["status"] == status && line["since"].is_string()).then_some(line)
    })
    .await
}

pub(crate) async fn available(site: &ServiceClient<'_>, line: &str) -> Value {
    let prices = site.get("/get-pricing", &[]).await;
    let products = prices.body["products"].as_array().unwrap().clone();
    products.iter().find(|one| one["product"] == line).unwrap()["available"].clone()
}

pub(crate) fn not_sold(answer: &Response) {
    assert_eq!(
        (answer.status, answer.code()),
        (503, "product_unavailable"),
        "{}",
        answer.text
    );
    assert!(answer.header("retry-after").is_some());
    assert_eq!(answer.header("payment-required"), None, "nobody is to sign");
    assert_eq!(answer.header("www-authenticate"), None, "nobody is to sign");
}

/// What operators were told of lines.
async fn line_events(desk: &OperatorClient<'_>) -> Vec<(String, String)> {
    let events = desk.get("/admin/events").await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let events = events.body["events"].as_array().unwrap().clone();
    let lines = events.iter().filter(|event| text(&event["type"]).starts_with("line."));
    lines
        .map(|event| (text(&event["type"]), text(&event["data"]["object"]["line"])))
        .collect()
}

async fn gauge(service: &Service, status: &str) -> Decimal {
    let page = scrape(service).await.1;
    page.value(&format!("purser_lines{{line=\"{LINE}\",status=\"{status}\"}}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn case_89_a_provider_that_is_down_sells_nothing_more_and_says_so() {
    // Aim: after three failures in a row the line is refused before a price is told and before a signed payment is claimed, and
    // everything that somebody reads says so; other lines are sold, what was bought is answered; an operator opens it again.
    let host = with_line_settings("3600");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (first, second) = (Agent::new(Network::Base), Agent::new(Network::Base));
    let early = second.payment(&site, CARD).await;
    let credential = first.credential(&site.get(CARD, &[]).await);
    site.issuer_fault(json!({"fault": DOWN, "times": 0})).await;
    let payment = first.payment(&site, CARD).await;
    let bought = Agent::pay(&site, CARD, &payment).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let line = wait_for_status(&desk, "failing").await;
    assert!(line["reason"].as_str().unwrap().contains("issue"), "{line}");
    assert_eq!(
        (&line["by"], line["failures"].as_u64() >= Some(3)),
        (&Value::Null, true)
    );

    not_sold(&site.get(CARD, &[]).await);
    not_sold(&Agent::pay(&site, CARD, &early).await);
    not_sold(&mpp::pay(&site, CARD, &credential).await);
    not_sold(&Agent::pay(&site, CARD, "bm90IGEgcGF5bWVudA==").await);
    let transfers = site.transfers().await;
    assert_eq!(transfers.len(), 1, "only what was bought before: {transfers:?}");
    assert_eq!(
        Agent::pay(&site, CARD, &payment).await.status,
        200,
        "a replay is answered"
    );
    assert_eq!(available(&site, LINE).await, json!(false));
    assert_eq!(available(&site, "gift_card").await, json!(true));
    assert_eq!(site.get("/order-intl-card?amount=100", &[]).await.status, 402);
    let ready = site.get("/readyz", &[]).await;
    assert_eq!((ready.status, &ready.body["not_sold"]), (200, &json!([LINE])));
    assert_eq!(gauge(&service, "failing").await, Decimal::ONE);
    until("operators are told", async || {
        (line_events(&desk).await == [("line.closed".to_owned(), LINE.to_owned())]).then_some(())
    })
    .await;

    // It outlives a kill, and so does the order.
    service.kill();
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    not_sold(&site.get(CARD, &[]).await);
    site.issuer_fault(json!({"fault": "clear"})).await;
    let opened = json!({"line": LINE, "reason": "Their support says that it is up."});
    assert_eq!(desk.done("/admin/lines/open", opened).await["status"], "open");
    let token = first.token(&site).await;
    let path = format!("/get-card-data?card_id={}", bought.card());
    until("the card that waited", async || {
        (site.get_as(&token, &path).await.str("status") == Some("ready")).then_some(())
    })
    .await;
    finally(&site, CARD, &early).await;
    assert_eq!(available(&site, LINE).await, json!(true));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_89_a_failing_line_that_an_operator_closes_does_not_open_by_itself() {
    // Aim: opened by hand while its provider is still down it closes again; closed by hand it stays so though the provider is
    // back, and what was sold is delivered all the same.
    let host = with_line_settings("3600");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    site.issuer_fault(json!({"fault": DOWN, "times": 0})).await;
    let first = Agent::new(Network::Base);
    let bought = first.buy(&site, CARD).await;
    wait_for_status(&desk, "failing").await;
    let says = |reason: &str| json!({"line": LINE, "reason": reason});
    desk.done("/admin/lines/open", says("Let us see.")).await;
    wait_for_status(&desk, "failing").await;
    let closed = desk.done("/admin/lines/close", says("They take a day.")).await;
    assert_eq!(closed["status"], "closed");
    site.issuer_fault(json!({"fault": "clear"})).await;
    not_sold(&site.get(CARD, &[]).await);
    assert_eq!(
        desk.done("/admin/lines/open", says("They are back.")).await["status"],
        "open"
    );
    assert_eq!(site.get(CARD, &[]).await.status, 402);
    let token = first.token(&site).await;
    let path = format!("/get-card-data?card_id={}", bought.card());
    until("the card", async || {
        (site.get_as(&token, &path).await.str("status") == Some("ready")).then_some(())
    })
    .await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_89_orders_of_a_provider_that_was_down_are_delivered_and_the_line_opens_by_itself() {
    // Aim: orders that were sold before it was known wait, are tried one at a time, and are all delivered soon after the provider
    // is back, however long they would have paused otherwise; nobody has to open the line.
    let host = with_line_settings("1").with("PURSER_ENGINE__MAX_BACKOFF_MS", "3600000");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let agents: Vec<Agent> = (0..4).map(|n| Agent::new(Network::ALL[n % 2])).collect();
    let mut payments = Vec::new();
    for agent in &agents {
        payments.push(agent.payment(&site, CARD).await);
    }
    site.chain_fault(json!({"fault": "slow", "delay_ms": 300})).await;
    site.issuer_fault(json!({"fault": DOWN, "times": 0})).await;
    let calls = payments.iter().map(|payment| Agent::pay(&site, CARD, payment));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().any(|answer| answer.status == 200));
    wait_for_status(&desk, "failing").await;
    site.issuer_fault(json!({"fault": "clear"})).await;
    wait_for_status(&desk, "open").await;
    for (agent, payment) in agents.iter().zip(&payments) {
        let bought = finally(&site, CARD, payment).await;
        let token = agent.token(&site).await;
        let path = format!("/get-card-data?card_id={}", bought.card());
        until("the card", async || {
            (site.get_as(&token, &path).await.str("status") == Some("ready")).then_some(())
        })
        .await;
    }
    until("operators are told", async || {
        let told = line_events(&desk).await;
        let [(first, _), .., (last, _)] = &told[..] else {
            return None;
        };
        (first == "line.closed" && last == "line.opened").then_some(())
    })
    .await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_closes_and_opens_a_line() {
    // Aim: closed by hand it is not sold, restarts included, whoever reads sees it, and the log says who and why; only open lines
    // are closed, only closed ones opened, and only by whoever may.
    let host = Host::new();
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let close = |line: &str| json!({"line": line, "reason": "The contract ends."});
    let unknown = desk.post("/admin/lines/close", close("usa_card")).await;
    assert_eq!((unknown.status, unknown.code()), (404, "line_unknown"));
    let open = desk.post("/admin/lines/open", close(LINE)).await;
    assert_eq!((open.status, open.code()), (409, "line_unchanged"));
    let support = desk.add_operator("eva", "support").await;
    assert_eq!(support.post("/admin/lines/close", close(LINE)).await.status, 403);
    assert_eq!(desk.done("/admin/lines/close", close(LINE)).await["status"], "closed");
    let again = desk.post("/admin/lines/close", close(LINE)).await;
    assert_eq!((again.status, again.code()), (409, "line_unchanged"));
    not_sold(&site.get(CARD, &[]).await);
    service.kill();

    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    not_sold(&site.get(CARD, &[]).await);
    assert_eq!(available(&site, LINE).await, json!(false));
    let line = line_status(&desk, LINE).await;
    assert_eq!(
        (&line["reason"], &line["status"]),
        (&json!("The contract ends."), &json!("closed"))
    );
    let printed = admin(&host, &service, &["lines", "open", LINE, "--reason", "A new one."], "").unwrap();
    assert_eq!(printed["status"], "open");
    let listed = admin(&host, &service, &["lines", "list"], "").unwrap();
    assert_eq!(listed["lines"].as_array().map(Vec::len), Some(7));
    assert_eq!(site.get(CARD, &[]).await.status, 402);
    desk.done("/admin/lines/close", close(LINE)).await;
    not_sold(&site.get(CARD, &[]).await);
    let audit: Vec<String> = desk.audit().await.into_iter().map(|(_, what, _)| what).collect();
    assert!(
        ["line.close", "line.open"]
            .iter()
            .all(|what| audit.iter().any(|one| one == what)),
        "{audit:?}"
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_89_work_that_is_late_is_on_the_list_long_before_its_tries_are_used_up() {
    // Aim: an order that fails is on the list after the settings' minutes, marked as late, with what was tried and said; nobody
    // can resolve it while it is tried, and it leaves the list by itself.
    let host = Host::new()
        .with("PURSER_ENGINE__LATE_AFTER_MINUTES", "5")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1")
        .with("PURSER_ENGINE__MAX_BACKOFF_MS", "50")
        .with("PURSER_ENGINE__MAX_ATTEMPTS", "1000000");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    site.issuer_fault(json!({"fault": DOWN, "times": 0})).await;
    let bought = Agent::new(Network::Base).buy(&site, CARD).await;
    let effects = async || {
        desk.get("/admin/dead-letters").await.body["jobs"]
            .as_array()
            .unwrap()
            .clone()
    };
    assert_eq!(effects().await, Vec::<Value>::new(), "it is young");
    site.advance(301).await;
    let late = until("it is late", async || effects().await.pop()).await;
    assert_eq!((&late["late"], &late["subject"]), (&json!(true), &json!(bought.card())));
    assert!(
        late["next_try_at"].is_string() && late["last_error"].as_str().unwrap().contains("issue"),
        "{late}"
    );
    assert_eq!(late["actions"], json!([]));
    let word =
        json!({"job_id": late["job_id"], "outcome": "not_completed", "reference": "call-17", "evidence": "Told."});
    let resolved = desk.post("/admin/jobs/resolve", word).await;
    assert_eq!((resolved.status, resolved.code()), (409, "job_not_dead_lettered"));
    let page = scrape(&service).await.1;
    assert_eq!(page.value("purser_outbox_jobs_late{work=\"issue_card\"}"), Decimal::ONE);
    site.issuer_fault(json!({"fault": "clear"})).await;
    until("it is done", async || effects().await.is_empty().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_90_what_is_signed_for_the_sandbox_is_worth_nothing_on_the_real_chain() {
    // Aim: a 402 by x402 names a token that is not the real one by its name, one by MPP one that is not by its address; what a
    // client signs for it does not verify as a payment of real USDC, and buys here. What is signed of real USDC buys nothing.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let challenge = site.get(CARD, &[]).await;
    let header = STANDARD.decode(challenge.header("payment-required").unwrap()).unwrap();
    let required: Value = serde_json::from_slice(&header).unwrap();
    let offer = &required["accepts"][0];
    assert_eq!(
        offer["asset"],
        checksummed(&BASE_USDC),
        "stock clients refuse tokens that they do not know"
    );
    assert_eq!(offer["extra"]["name"], "Purser Sandbox USDC");
    assert_ne!(offer["extra"]["name"], Token::USDC.name);

    let payment = agent.payment(&site, CARD).await;
    let pay_to = parse_address(offer["payTo"].as_str().unwrap()).unwrap();
    let judged = |payee: BasePayee| {
        let amount: u64 = offer["amount"].as_str().unwrap().parse().unwrap();
        let terms = Terms::new(Usdc::from_atomic(amount), 300, Payee::Base(Arc::new(payee)));
        let mut paid = serde_json::from_slice::<Value>(&STANDARD.decode(&payment).unwrap()).unwrap();
        let Payee::Base(payee) = &terms.payee else {
            panic!("on Base")
        };
        paid["accepted"]["extra"]["name"] = json!(payee.name);
        let paid = decode(STANDARD.encode(paid.to_string()).as_bytes()).unwrap();
        verify(&paid, &[terms], &[], SystemClock.now(), SignatureRecovery::Libsecp256k1).is_ok()
    };
    assert!(
        judged(BasePayee::sandbox(pay_to)),
        "the test judges as the service does"
    );
    assert!(!judged(BasePayee::usdc(pay_to)), "it is worth money on the real chain");
    assert_eq!(Agent::pay(&site, CARD, &payment).await.status, 200);

    let field = challenge.header("www-authenticate").unwrap();
    let request = field.split("request=\"").nth(1).and_then(|rest| rest.split('"').next());
    let request = mpp::decoded(request.unwrap());
    assert_eq!(request["currency"], checksummed(&SANDBOX_USDC));
    assert_ne!(SANDBOX_USDC, BASE_USDC);
    assert!(MppOffer::from_header(field).is_ok());
    let paid = mpp::pay(&site, CARD, &agent.credential(&challenge)).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let sign_in = site.get("/auth", &[]).await;
    assert!(!sign_in.text.contains(Token::USDC.name), "{}", sign_in.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_that_the_settings_do_not_offer_is_not_sold() {
    // Aim: 503 before anybody signs, also for a payment that was signed while it was sold; the price list says so; nothing moves.
    let host = Host::new();
    let service = host.start();
    let agent = Agent::new(Network::Base);
    let signed = agent.payment(&ServiceClient::of(&service), CARD).await;
    service.stop();
    let host = host.with("PURSER_PRODUCTS__USA_PREPAID_CARD__AVAILABLE", "false");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let asked = site.get(CARD, &[]).await;
    let paid = Agent::pay(&site, CARD, &signed).await;
    for answer in [asked, paid] {
        assert_eq!(
            (answer.status, answer.code()),
            (503, "product_unavailable"),
            "{}",
            answer.text
        );
    }
    assert_eq!(available(&site, LINE).await, false);
    assert!(site.transfers().await.is_empty());
    service.stop();
    host.assert_verified();
}
