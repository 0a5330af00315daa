//! Provider outages, product lines that close, jobs that are late, and sandbox signatures that are worthless on real
//! chains.

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

/// Three failures close a line, which is probed again after `every` seconds.
pub(crate) fn with_line_settings(every: &str) -> Host {
    Host::new()
        .with("PURSER_ENGINE__LINE_FAILURES", "3")
        .with("PURSER_ENGINE__LINE_TRY_EVERY_SECONDS", every)
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1")
        .with("PURSER_ENGINE__MAX_BACKOFF_MS", "20")
        .with("PURSER_ENGINE__MAX_ATTEMPTS", "1000000")
}

pub(crate) async fn line_status(operator: &OperatorClient<'_>, line: &str) -> Value {
    let listed = operator.get("/admin/lines").await;
    let lines = listed.body["lines"].as_array().unwrap().clone();
    lines.into_iter().find(|one| one["line"] == line).unwrap()
}

async fn wait_for_status(operator: &OperatorClient<'_>, status: &str) -> Value {
    until(status, async || {
        let line = line_status(operator, LINE).await;
        // A persisted change has a time.
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
    assert_eq!(answer.header("payment-required"), None, "no challenge may be sent");
    assert_eq!(answer.header("www-authenticate"), None, "no challenge may be sent");
}

/// Line events that operators received.
async fn line_events(operator: &OperatorClient<'_>) -> Vec<(String, String)> {
    let events = operator.get("/admin/events").await;
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
async fn case_89_line_of_a_failing_provider_closes() {
    // Checks: After three consecutive failures the line rejects requests before a price and before a payment is
    // claimed, and every page says so. Other lines sell, and earlier purchases are answered. An operator reopens the
    // line.
    let host = with_line_settings("3600");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (first, second) = (Agent::new(Network::Base), Agent::new(Network::Base));
    let early = second.payment(&site, CARD).await;
    let credential = first.credential(&site.get(CARD, &[]).await);
    site.issuer_fault(json!({"fault": DOWN, "times": 0})).await;
    let payment = first.payment(&site, CARD).await;
    let bought = Agent::pay(&site, CARD, &payment).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let line = wait_for_status(&operator, "failing").await;
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
    until("operators are notified", async || {
        (line_events(&operator).await == [("line.closed".to_owned(), LINE.to_owned())]).then_some(())
    })
    .await;

    // The closed line and the order survive a kill.
    service.kill();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    not_sold(&site.get(CARD, &[]).await);
    site.issuer_fault(json!({"fault": "clear"})).await;
    let opened = json!({"line": LINE, "reason": "Their support says that it is up."});
    assert_eq!(operator.done("/admin/lines/open", opened).await["status"], "open");
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
async fn case_89_line_closed_by_an_operator_never_opens_automatically() {
    // Checks: A line opened by an operator while its provider is down closes again. A line closed by an operator stays
    // closed when the provider recovers, and earlier sales are still delivered.
    let host = with_line_settings("3600");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    site.issuer_fault(json!({"fault": DOWN, "times": 0})).await;
    let first = Agent::new(Network::Base);
    let bought = first.buy(&site, CARD).await;
    wait_for_status(&operator, "failing").await;
    let says = |reason: &str| json!({"line": LINE, "reason": reason});
    operator.done("/admin/lines/open", says("Let us see.")).await;
    wait_for_status(&operator, "failing").await;
    let closed = operator.done("/admin/lines/close", says("They take a day.")).await;
    assert_eq!(closed["status"], "closed");
    site.issuer_fault(json!({"fault": "clear"})).await;
    not_sold(&site.get(CARD, &[]).await);
    assert_eq!(
        operator.done("/admin/lines/open", says("They are back.")).await["status"],
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
async fn case_89_orders_are_delivered_and_the_line_opens_after_an_outage() {
    // Checks: Orders sold before the outage was noticed wait and are attempted one at a time. All are delivered soon
    // after the provider recovers, whatever their backoff. The line opens automatically.
    let host = with_line_settings("1").with("PURSER_ENGINE__MAX_BACKOFF_MS", "3600000");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
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
    wait_for_status(&operator, "failing").await;
    site.issuer_fault(json!({"fault": "clear"})).await;
    wait_for_status(&operator, "open").await;
    for (agent, payment) in agents.iter().zip(&payments) {
        let bought = finally(&site, CARD, payment).await;
        let token = agent.token(&site).await;
        let path = format!("/get-card-data?card_id={}", bought.card());
        until("the card", async || {
            (site.get_as(&token, &path).await.str("status") == Some("ready")).then_some(())
        })
        .await;
    }
    until("operators are notified", async || {
        let events = line_events(&operator).await;
        let [(first, _), .., (last, _)] = &events[..] else {
            return None;
        };
        (first == "line.closed" && last == "line.opened").then_some(())
    })
    .await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_closes_and_opens_a_line() {
    // Checks: A line closed by an operator sells nothing, also after restarts. Readers see it, and the log has operator
    // and reason. Only open lines can be closed, closed ones opened, and only with permission.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let close = |line: &str| json!({"line": line, "reason": "The contract ends."});
    let unknown = operator.post("/admin/lines/close", close("usa_card")).await;
    assert_eq!((unknown.status, unknown.code()), (404, "line_not_found"));
    let open = operator.post("/admin/lines/open", close(LINE)).await;
    assert_eq!((open.status, open.code()), (409, "line_unchanged"));
    let support = operator.add_operator("eva", "support").await;
    assert_eq!(support.post("/admin/lines/close", close(LINE)).await.status, 403);
    assert_eq!(
        operator.done("/admin/lines/close", close(LINE)).await["status"],
        "closed"
    );
    let again = operator.post("/admin/lines/close", close(LINE)).await;
    assert_eq!((again.status, again.code()), (409, "line_unchanged"));
    not_sold(&site.get(CARD, &[]).await);
    service.kill();

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    not_sold(&site.get(CARD, &[]).await);
    assert_eq!(available(&site, LINE).await, json!(false));
    let line = line_status(&operator, LINE).await;
    assert_eq!(
        (&line["reason"], &line["status"]),
        (&json!("The contract ends."), &json!("closed"))
    );
    let printed = admin(&host, &service, &["lines", "open", LINE, "--reason", "A new one."], "").unwrap();
    assert_eq!(printed["status"], "open");
    let listed = admin(&host, &service, &["lines", "list"], "").unwrap();
    assert_eq!(listed["lines"].as_array().map(Vec::len), Some(7));
    assert_eq!(site.get(CARD, &[]).await.status, 402);
    operator.done("/admin/lines/close", close(LINE)).await;
    not_sold(&site.get(CARD, &[]).await);
    let audit: Vec<String> = operator.audit().await.into_iter().map(|(_, what, _)| what).collect();
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
async fn case_89_late_job_is_listed_before_its_attempts_run_out() {
    // Checks: A failing order is listed as late after the configured minutes, with its attempts and errors. It cannot
    // be resolved while attempts continue, and it leaves the list automatically.
    let host = Host::new()
        .with("PURSER_ENGINE__LATE_AFTER_MINUTES", "5")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1")
        .with("PURSER_ENGINE__MAX_BACKOFF_MS", "50")
        .with("PURSER_ENGINE__MAX_ATTEMPTS", "1000000");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    site.issuer_fault(json!({"fault": DOWN, "times": 0})).await;
    let bought = Agent::new(Network::Base).buy(&site, CARD).await;
    let jobs = async || {
        operator.get("/admin/dead-letters").await.body["jobs"]
            .as_array()
            .unwrap()
            .clone()
    };
    assert_eq!(jobs().await, Vec::<Value>::new(), "it is not late yet");
    site.advance(301).await;
    let late = until("it is late", async || jobs().await.pop()).await;
    assert_eq!((&late["late"], &late["subject"]), (&json!(true), &json!(bought.card())));
    assert!(
        late["next_try_at"].is_string() && late["last_error"].as_str().unwrap().contains("issue"),
        "{late}"
    );
    assert_eq!(late["actions"], json!([]));
    let resolution =
        json!({"job_id": late["job_id"], "outcome": "not_completed", "reference": "call-17", "evidence": "By phone."});
    let resolved = operator.post("/admin/jobs/resolve", resolution).await;
    assert_eq!((resolved.status, resolved.code()), (409, "job_not_dead_lettered"));
    let page = scrape(&service).await.1;
    assert_eq!(
        page.value("purser_outbox_jobs_late{job_type=\"issue_card\"}"),
        Decimal::ONE
    );
    site.issuer_fault(json!({"fault": "clear"})).await;
    until("it is done", async || jobs().await.is_empty().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_90_sandbox_signatures_are_worthless_on_real_chains() {
    // Checks: A sandbox 402 names its token by another name than the real one in x402, and by another address in MPP. A
    // client's signature for it is no valid payment of real USDC, but buys here. A signature for real USDC buys
    // nothing.
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
async fn product_disabled_by_settings_is_not_sold() {
    // Checks: The response is a 503 before signing, also for a payment signed while the product was offered. The price
    // list says so, and nothing settles.
    let host = Host::new();
    let service = host.start();
    let agent = Agent::new(Network::Base);
    let signed = agent.payment(&ServiceClient::of(&service), CARD).await;
    service.stop();
    let host = host.with("PURSER_PRODUCTS__USA_PREPAID_CARD__AVAILABLE", "false");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let unpaid = site.get(CARD, &[]).await;
    let paid = Agent::pay(&site, CARD, &signed).await;
    for answer in [unpaid, paid] {
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
