//! For each route, one request that breaks every rule and is fixed rule by rule, in the order of `docs/precedence.md`.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::{Agent, required};
use super::host::{Host, Service};
use super::http::{ServiceClient, send, until};
use super::listener::Stream;
use super::mpp::altered;
use super::precedence_table::{PrecedenceTable, RecordedResponse};
use super::request::{Request, recorded};

const WHY: &str = "Please write to us.";
/// Payment identifier of a purchase.
const NAME: &str = "pay_0123456789abcdef";

/// An agent with a card, and the response of its purchase.
struct CardOwner {
    agent: Agent,
    card: String,
    payment: String,
    /// Token that was issued for the payment.
    token: String,
}

impl CardOwner {
    async fn new(site: &ServiceClient<'_>, network: Network) -> Self {
        Self::of(site, Agent::new(network)).await
    }

    async fn of(site: &ServiceClient<'_>, agent: Agent) -> Self {
        let bought = agent.buy(site, "/get-card?amount=6").await;
        let text = |name: &str| bought.body[name].as_str().unwrap().to_owned();
        Self {
            card: bought.card().to_owned(),
            payment: text("payment_id"),
            token: bought.body["auth"]["id_token"].as_str().unwrap().to_owned(),
            agent,
        }
    }

    /// Waits until the card is ready.
    async fn ready(&self, site: &ServiceClient<'_>) {
        let path = format!("/get-card-data?card_id={}", self.card);
        until("the card", async || {
            (site.get_as(&self.token, &path).await.str("status") == Some("ready")).then_some(())
        })
        .await;
    }

    async fn frozen(&self, site: &ServiceClient<'_>) {
        site.freeze(&self.agent.address(), Some(WHY)).await;
    }

    async fn thawed(&self, site: &ServiceClient<'_>) {
        site.freeze(&self.agent.address(), None).await;
    }
}

fn start(settings: &[(&str, &str)]) -> (Host, Service) {
    let mut host = Host::new();
    settings.iter().for_each(|(name, value)| host.set(name, value));
    let service = host.start();
    (host, service)
}

#[tokio::test(flavor = "multi_thread")]
async fn paid_call_errors_follow_precedence() {
    // Checks: all errors of a purchase, in their order. The last, valid request buys the card.
    let (_host, service) = start(&[
        ("PURSER_LIMITS__PAYMENTS_PER_WINDOW", "1"),
        ("PURSER_LIMITS__WINDOW_SECONDS", "1"),
        ("PURSER_ENGINE__MAX_PAID_CALLS_IN_FLIGHT", "1"),
        ("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "60000"),
        ("PURSER_ENGINE__RESPONSE_TIMEOUT_MS", "70000"),
        ("PURSER_SERVER__REQUEST_TIMEOUT_MS", "80000"),
        ("PURSER_CAPS__CARD_USD_PER_DAY", "20"),
    ]);
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let mut six = Agent::challenge(&site, "/get-card?amount=6").await;
    assert!(six.identify(NAME));
    let used = agent.sign(&six);
    assert_eq!(Agent::pay(&site, "/get-card?amount=6", &used).await.status, 200);
    let other = Agent::new(Network::Solana).token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    site.chain_fault(json!({"fault": "insufficient", "wallet": agent.address()}))
        .await;
    site.chain_fault(json!({"fault": "hold"})).await;
    let slow = Agent::new(Network::Solana).payment(&site, "/get-card?amount=5").await;
    let slow = site
        .request("GET", "/get-card?amount=5")
        .header("payment-signature", slow);
    let slow = tokio::spawn(send(slow));

    let mut precedence = PrecedenceTable::of("GET /get-card", "get-card");
    let mut ask = Request::new("GET", "/get-card")
        .with("colour", "red")
        .with("amount", "five")
        .with("amount", "500")
        .with("format", "%zz");
    ask.header("payment-signature", &used);
    ask.header("x-payment", "bm8=");
    ask.bearer(&other);
    fix_parameters(&mut precedence, &mut ask, &site).await;
    for name in ["payment-signature", "x-payment"] {
        ask.header(name, "");
    }
    let challenge = ask.send_and_check(&site).await;
    precedence.assert_next(&recorded(&challenge));
    fix_payment(&mut precedence, &mut ask, (&site, &agent)).await;

    ask.header("x-payment", &used);
    precedence.assert_next(&past(&site, &ask, &[403]).await);
    precedence.assert_next(&past(&site, &ask, &[429]).await);
    ask.header("authorization", "");
    let mut named = required(&challenge);
    assert!(named.identify(NAME));
    ask.header("x-payment", &agent.sign(&named));
    precedence.assert_next(&past(&site, &ask, &[429]).await);
    ask.header("x-payment", &used);
    precedence.assert_next(&past(&site, &ask, &[429]).await);
    ask.header("x-payment", &agent.sign(&required(&challenge)));
    // The next rule applies until the slow call has the only permit; nothing is claimed.
    precedence.assert_next(&past(&site, &ask, &[429, 403]).await);
    site.chain_fault(json!({"fault": "resume"})).await;
    assert_eq!(slow.await.unwrap().unwrap().status, 200);
    precedence.assert_next(&past(&site, &ask, &[429, 503]).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&past(&site, &ask, &[429]).await);
    ask.set("amount", "10");
    ask.header("x-payment", &agent.payment(&site, &ask.target()).await);
    precedence.assert_next(&past(&site, &ask, &[429]).await);
    precedence.assert_next(&past(&site, &ask, &[429]).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn mpp_call_errors_follow_precedence() {
    // Checks: the errors of MPP, from a request with both protocols to a challenge that was answered before.
    let (_host, service) = start(&[
        ("PURSER_LIMITS__PAYMENTS_PER_WINDOW", "1"),
        ("PURSER_LIMITS__WINDOW_SECONDS", "1"),
    ]);
    let site = ServiceClient::of(&service);
    let (first, agent) = (Agent::new(Network::Base), Agent::new(Network::Base));
    let mut ask = Request::new("GET", "/get-card").with("amount", "25");
    let answered = ask.send_and_check(&site).await;
    ask.header("authorization", &first.credential(&answered));
    assert_eq!(ask.send_and_check(&site).await.status, 200);
    let other_price = agent.credential(&site.get("/get-card?amount=6", &[]).await);
    let good = agent.credential(&answered);

    let mut precedence = PrecedenceTable::of("GET /get-card by MPP", "get-card-mpp");
    ask.header("x-payment", "bm8=");
    ask.header("authorization", "Payment bm8");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("x-payment", "");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("authorization", &altered(&other_price, "/payload/value", json!("1")));
    precedence.assert_next(&ask.send(&site).await);
    ask.header("authorization", &altered(&good, "/payload/value", json!("1")));
    precedence.assert_next(&ask.send(&site).await);
    ask.header("authorization", &good);
    precedence.assert_next(&past(&site, &ask, &[409]).await);
    precedence.assert_next(&past(&site, &ask, &[429]).await);
    let mut fresh = Request::new("GET", "/get-card").with("amount", "25");
    let credential = agent.credential(&fresh.send_and_check(&site).await);
    fresh.header("authorization", &credential);
    precedence.assert_next(&past(&site, &fresh, &[429]).await);
    precedence.assert_complete();
}

/// An unreadable payment, one with an invalid identifier, one for another price.
async fn fix_payment(precedence: &mut PrecedenceTable, ask: &mut Request, (site, agent): (&ServiceClient<'_>, &Agent)) {
    ask.header("x-payment", "bm8=");
    precedence.assert_next(&ask.send(site).await);
    let mut nameless = Agent::challenge(site, "/get-card?amount=6").await;
    assert!(nameless.identify("short"));
    ask.header("x-payment", &agent.sign(&nameless));
    precedence.assert_next(&ask.send(site).await);
    ask.header("x-payment", &agent.payment(site, "/get-card?amount=6").await);
    precedence.assert_next(&ask.send(site).await);
}

/// Fixes parameters up to the first rule about payments.
async fn fix_parameters(precedence: &mut PrecedenceTable, ask: &mut Request, site: &ServiceClient<'_>) {
    precedence.assert_next(&ask.send(site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(site).await);
    ask.drop("format");
    ask.set("amount", "five");
    *ask = ask.clone().with("format", "%zz");
    precedence.assert_next(&ask.send(site).await);
    ask.set("format", "xml");
    precedence.assert_next(&ask.send(site).await);
    ask.set("amount", "1");
    precedence.assert_next(&ask.send(site).await);
    ask.set("amount", "25");
    precedence.assert_next(&ask.send(site).await);
    ask.drop("format");
    precedence.assert_next(&ask.send(site).await);
}

/// The first response with none of these statuses. They end with time: 429 ends with the payer's window.
async fn past(site: &ServiceClient<'_>, ask: &Request, passing: &[u16]) -> RecordedResponse {
    let through = async || {
        let answer = ask.send_and_check(site).await;
        (!passing.contains(&answer.status)).then(|| recorded(&answer))
    };
    until("what passes", through).await
}

#[tokio::test(flavor = "multi_thread")]
async fn card_read_errors_follow_precedence() {
    // Checks: reading one card, then the list.
    let (_host, service) = start(&[("PURSER_IDENTITY__PAYMENT_TOKEN_CAN_READ_CARDS", "false")]);
    let site = ServiceClient::of(&service);
    let (first, stranger) = (
        CardOwner::new(&site, Network::Base).await,
        CardOwner::new(&site, Network::Solana).await,
    );
    let own = first.agent.token(&site).await;
    let card = first.card.clone();
    let ready = format!("/get-card-data?card_id={card}");
    until("the card", async || {
        let answer = site.get_as(&own, &ready).await;
        (answer.body["status"] == "ready").then_some(())
    })
    .await;
    let second = CardOwner::of(&site, first.agent).await;
    second.frozen(&site).await;

    let mut precedence = PrecedenceTable::of("GET /get-card-data with `card_id`", "get-card-data-one");
    let mut ask = Request::new("GET", "/get-card-data")
        .with("colour", "red")
        .with("card_id", "card_5");
    ask.bearer("nonsense");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&second.token);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    second.thawed(&site).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.set("card_id", &stranger.card);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("card_id", &card);
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&own);
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    precedence.assert_next(&ask.send(&site).await);
    site.issuer_fault(json!({"fault": "clear"})).await;
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();

    second.frozen(&site).await;
    let mut precedence = PrecedenceTable::of("GET /get-card-data", "get-card-data");
    let mut ask = Request::new("GET", "/get-card-data")
        .with("colour", "red")
        .with("card_type", "Gold")
        .with("include_failed", "maybe")
        .with("limit", "1000")
        .with("starting_after", "card_5");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&own);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    second.thawed(&site).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("card_type");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("include_failed", "true");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("limit", "1");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("starting_after", &stranger.card);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("starting_after", &second.card);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_read_errors_follow_precedence() {
    // Checks: the route responds without a token, and shows more with the right one.
    let (_host, service) = start(&[]);
    let site = ServiceClient::of(&service);
    let (holder, stranger) = (
        CardOwner::new(&site, Network::Base).await,
        Agent::new(Network::Solana).token(&site).await,
    );
    holder.frozen(&site).await;
    let mut precedence = PrecedenceTable::of("GET /get-payment", "get-payment");
    let mut ask = Request::new("GET", "/get-payment").with("colour", "red");
    ask.bearer("nonsense");
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("payment_id", "pay_5");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("payment_id", "pay_00000000000000000000000000000005");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&stranger);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("payment_id", &holder.payment);
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&holder.token);
    precedence.assert_next(&ask.send(&site).await);
    holder.thawed(&site).await;
    holder.ready(&site).await;
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn account_read_errors_follow_precedence() {
    // Checks: balance and login link check the token, then the parameters. The balance then checks whether the account
    // is frozen.
    let (_host, service) = start(&[]);
    let site = ServiceClient::of(&service);
    let holder = CardOwner::new(&site, Network::Base).await;
    for (heading, path) in [
        ("GET /get-account-balance", "/get-account-balance"),
        ("GET /get-auth-link", "/get-auth-link"),
    ] {
        holder.frozen(&site).await;
        let mut precedence = PrecedenceTable::of(heading, &path[1..]);
        let mut ask = Request::new("GET", path).with("colour", "red");
        precedence.assert_next(&ask.send(&site).await);
        ask.bearer(&holder.token);
        precedence.assert_next(&ask.send(&site).await);
        ask.drop("colour");
        precedence.assert_next(&ask.send(&site).await);
        holder.thawed(&site).await;
        // The login link works for a frozen account too.
        if path != "/get-auth-link" {
            precedence.assert_next(&ask.send(&site).await);
        }
        precedence.assert_complete();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn event_and_stream_errors_follow_precedence() {
    // Checks: a page of events, and the stream up to its upgrade: token, parameters, account, capacity.
    let (_host, service) = start(&[("PURSER_STREAM__MAX_PER_ACCOUNT", "1")]);
    let site = ServiceClient::of(&service);
    let holder = CardOwner::new(&site, Network::Base).await;
    holder.ready(&site).await;
    holder.frozen(&site).await;
    let mut precedence = PrecedenceTable::of("GET /events", "events");
    let mut ask = Request::new("GET", "/events")
        .with("colour", "red")
        .with("order", "newest")
        .with("before", "7")
        .with("after", "never")
        .with("limit", "0")
        .with("types", "Card!");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&holder.token);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("order", "asc");
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("before");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("after", "0");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("limit", "100");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("types", "card.*,payment.settled");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("after", "9007199254740991");
    holder.thawed(&site).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.set("after", "0");
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();

    holder.frozen(&site).await;
    let mut precedence = PrecedenceTable::of("GET /stream", "stream");
    let mut ask = Request::new("GET", "/stream");
    ask.bearer("nonsense");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&holder.token);
    precedence.assert_next(&ask.send(&site).await);
    holder.thawed(&site).await;
    precedence.assert_next(&ask.send(&site).await);
    let _only = Stream::open(&site, &holder.token).await;
    for (name, value) in [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA=="),
    ] {
        ask.header(name, value);
    }
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}
