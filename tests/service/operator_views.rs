//! What operators read to find and follow things: search, timeline, queues, the stream, the last hour, the preview of a
//! freeze, and the checked audit log; and leases that their holder extends.

use std::time::Duration;

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::{Host, Service};
use super::http::{ServiceClient, client, until};
use super::operator_client::OperatorClient;

const ORDER: &str = "/order-intl-card?amount=100";

async fn read(operator: &OperatorClient<'_>, path: &str) -> Value {
    let answer = operator.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.body
}

/// Kinds and ids of what a search finds.
fn hits(found: &Value) -> Vec<(&str, &str)> {
    let hits = found["hits"].as_array().unwrap().iter();
    hits.map(|hit| (hit["kind"].as_str().unwrap(), hit["id"].as_str().unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_search_finds_what_is_quoted() {
    // Checks: A wallet, a card, a payment, its transaction, the last four digits, the Request-Id and an approval's or
    // job's id find what they name, with its owner. Parts of ids and other texts find nothing, and the answer says what
    // was not searched. Nothing secret is shown.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service)
        .add_operator("eve", "read-only")
        .await;
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=37").await;
    let token = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let card = bought.card().to_owned();
    let shown = until("the card", async || {
        let card = site.get_as(&token, &format!("/get-card-data?card_id={card}")).await;
        (card.str("status") == Some("ready")).then_some(card.body)
    })
    .await;
    let number = shown["card_details"]["card_number"].as_str().unwrap().replace(' ', "");
    let last4 = &number[number.len() - 4..];
    let payment = bought.str("payment_id").unwrap();
    let transfers = site.transfers().await;
    let transaction = transfers[0]["id"].as_str().unwrap();
    let wallet = agent.address().to_lowercase();
    for (quoted, read_as, hit) in [
        (wallet.as_str(), "wallet", ("account", wallet.as_str())),
        (card.as_str(), "id", ("card", card.as_str())),
        (payment, "id", ("payment", payment)),
        (transaction, "transaction", ("payment", payment)),
        (transaction, "transaction", ("transfer", transaction)),
        (last4, "last4", ("card", card.as_str())),
        (bought.header("request-id").unwrap(), "request_id", ("payment", payment)),
    ] {
        let found = read(&operator, &format!("/admin/search?q={quoted}")).await;
        assert_eq!((&found["read_as"], &found["complete"]), (&json!(read_as), &json!(true)));
        assert!(hits(&found).contains(&hit), "{quoted}: {found}");
        let owners = found["hits"].as_array().unwrap().iter();
        assert!(owners.clone().all(|hit| hit["wallet"] == json!(wallet)), "{found}");
        for secret in [number.as_str(), "cvv", &token] {
            assert!(!found.to_string().contains(secret), "{quoted} shows {secret}");
        }
    }
    for (quoted, read_as) in [
        (&card[..card.len() - 1], "id"),
        ("Ada", "other"),
        ("job_00000000000000000000000000000001", "job_id"),
        ("apr_00000000000000000000000000000001", "approval_id"),
    ] {
        let found = read(&operator, &format!("/admin/search?q={quoted}")).await;
        assert_eq!((&found["read_as"], &found["hits"]), (&json!(read_as), &json!([])));
        assert_ne!(found["not_searched"], json!([]), "{quoted}");
    }
    for wrong in ["", "?q=", "?q=Ada&after=1"] {
        assert_eq!(
            operator.get(&format!("/admin/search{wrong}")).await.status,
            400,
            "{wrong}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn timeline_has_events_steps_and_operator_actions() {
    // Checks: Page by page, newest first, the timeline has every event of the owner once, the steps between them and
    // what operators did, with their requests, also where the record names more than the account or the refund. With an id
    // it has what names that id only. It shows no secret.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let token = agent.token(&site).await;
    let card = bought.card().to_owned();
    site.wait_for_events(&token, &["card.ready"]).await;
    let wallet = agent.address();
    let frozen = operator
        .post("/admin/freeze", json!({"wallet": wallet, "message": "Call us."}))
        .await;
    operator.done("/admin/unfreeze", json!({"wallet": wallet})).await;
    let refund = json!({
        "payment_id": bought.str("payment_id"), "amount": 2, "reason": "It came too late.", "holder_keeps_product": true,
    });
    let refund = operator.done("/admin/refunds", refund).await["refund_id"].clone();
    site.wait_for_events(&token, &["refund.credited"]).await;
    let (mut entries, mut before): (Vec<Value>, String) = (Vec::new(), String::new());
    loop {
        let page = read(&operator, &format!("/admin/timeline?wallet={wallet}&limit=3{before}")).await;
        assert_eq!(page["operator_actions_complete"], json!(true));
        entries.extend(page["entries"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next_before"].as_str() else {
            break;
        };
        before = format!("&before={next}");
    }
    let times: Vec<&str> = entries.iter().map(|entry| entry["at"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
    let seqs: Vec<u64> = entries
        .iter()
        .filter_map(|entry| entry["event"]["seq"].as_u64())
        .collect();
    let mut events = site.events(&token, 0).await;
    events.reverse();
    let expected: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, expected);
    assert!(
        entries.len() > seqs.len() + 2,
        "steps that are not announced are shown too"
    );
    let actions: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["operator_action"].is_object())
        .collect();
    let names: Vec<&Value> = actions
        .iter()
        .map(|entry| &entry["operator_action"]["action"])
        .collect();
    let expected = ["refund.request", "account.unfreeze", "account.freeze"].map(|name| json!(name));
    assert_eq!(names, expected.each_ref());
    assert_eq!(actions[2]["request_id"], json!(frozen.header("request-id").unwrap()));
    let of_refund = read(&operator, &format!("/admin/timeline?id={}", refund.as_str().unwrap())).await;
    let of_refund = of_refund["entries"].as_array().unwrap();
    assert!(
        of_refund
            .iter()
            .any(|entry| entry["operator_action"]["action"] == "refund.request"),
        "{of_refund:?}"
    );
    let of_card = read(&operator, &format!("/admin/timeline?id={card}")).await;
    let of_card = of_card["entries"].as_array().unwrap();
    assert!(of_card.len() >= 2 && of_card.len() < entries.len());
    for entry in of_card {
        assert!(
            entry["id"] == json!(card) || entry["event"].to_string().contains(&card),
            "{entry}"
        );
    }
    let text = json!(entries).to_string();
    for secret in ["card_number", "cvv", &token] {
        assert!(!text.contains(secret), "{secret}");
    }
    let stranger = Agent::new(Network::Base).address();
    let unknown = operator.get(&format!("/admin/timeline?wallet={stranger}")).await;
    assert_eq!((unknown.status, unknown.code()), (404, "account_not_found"));
    for wrong in ["", "?wallet=0x12", "?id=card_1&wallet=0x12", "?limit=0"] {
        assert_eq!(
            operator.get(&format!("/admin/timeline{wrong}")).await.status,
            400,
            "{wrong}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn series_has_provider_health_and_balanced_sums() {
    // Checks: After purchases on both chains, debits and credits are equal and contain them. The card issuer and both chains
    // have calls without a failure; when the issuer fails, it is the one that has failures.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    for network in Network::ALL {
        Agent::new(network).buy(&site, "/get-card?amount=5").await;
    }
    let provider = |series: &Value, name: &str| {
        let all = series["providers"].as_array().unwrap().iter();
        all.clone().find(|one| one["name"] == name).unwrap().clone()
    };
    let series = until("the issuer's answers", async || {
        let series = read(&operator, "/admin/series").await;
        (provider(&series, "card_issuer")["calls"].as_u64() >= Some(2)).then_some(series)
    })
    .await;
    let money = &series["money"];
    assert_eq!(
        (&money["complete"], &money["debits"]),
        (&json!(true), &money["credits"])
    );
    let accounts = money["accounts"].as_array().unwrap();
    for treasury in ["treasury_base", "treasury_solana"] {
        let account = accounts.iter().find(|account| account["account"] == treasury).unwrap();
        assert_eq!(
            (&account["side"], account["amount"].as_f64() >= Some(5.0)),
            (&json!("debit"), true)
        );
    }
    for name in ["card_issuer", "base", "solana"] {
        let one = provider(&series, name);
        assert_eq!((&one["state"], &one["failures"]), (&json!("ok"), &json!(0)), "{one}");
        let (half, most) = (one["half_within_ms"].as_u64(), one["p99_within_ms"].as_u64());
        assert!(half.is_some() && half <= most, "{one}");
    }
    assert_eq!(provider(&series, "bank")["state"], "idle");
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    Agent::new(Network::Base).buy(&site, "/get-card?amount=5").await;
    until("the failure", async || {
        let series = read(&operator, "/admin/series").await;
        (provider(&series, "card_issuer")["failures"].as_u64() >= Some(1)).then_some(())
    })
    .await;
}

/// The operators' stream, read frame by frame.
struct OperatorStream {
    response: reqwest::Response,
    text: String,
}

impl OperatorStream {
    async fn open(service: &Service, token: &str, last_id: Option<&str>) -> Self {
        let mut request = client()
            .get(service.operator_url("/admin/stream"))
            .bearer_auth(token)
            .header("accept", "text/event-stream");
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let text = String::new();
        Self { response, text }
    }

    /// The next frame: its id, its name and its data. `None` at the end.
    async fn next(&mut self) -> Option<(Option<String>, String, Value)> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    frame
                        .lines()
                        .find_map(|line| line.strip_prefix(name))
                        .map(str::to_owned)
                };
                let data = serde_json::from_str(&field("data: ").unwrap()).unwrap();
                let read = (field("id: "), field("event: ").unwrap(), data);
                self.text = rest.to_owned();
                return Some(read);
            }
            let chunk = tokio::time::timeout(Duration::from_secs(30), self.response.chunk());
            let chunk = chunk.await.unwrap().ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    async fn until(&mut self, wanted: &str, fits: impl Fn(&Value) -> bool) -> (Option<String>, Value) {
        loop {
            let (id, name, data) = self.next().await.unwrap();
            if name == wanted && fits(&data) {
                return (id, data);
            }
        }
    }
}

fn count(queues: &Value, name: &str) -> u64 {
    let all = queues["queues"].as_array().unwrap().iter();
    let found = all.clone().find(|queue| queue["queue"] == name).unwrap();
    found["count"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_stream_announces_changes_and_resumes() {
    // Checks: The stream begins with the queues, sends them when an order arrives or is claimed, and has system events
    // with ids. After a kill it resumes behind the last id, without a gap. It ends for a revoked token.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let boss = OperatorClient::first(&host, &service);
    let token = boss.add_operator("eve", "read-only").await.token;
    let mut stream = OperatorStream::open(&service, &token, None).await;
    let (_, first, data) = stream.next().await.unwrap();
    assert_eq!((first.as_str(), count(&data, "intl_orders")), ("queues", 0));
    let bought = Agent::new(Network::Base).buy(&site, ORDER).await;
    let order = bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned();
    let (_, one) = stream.until("queues", |data| count(data, "intl_orders") == 1).await;
    assert_eq!(one, read(&boss, "/admin/queues").await);
    boss.claim(&order).await;
    stream.until("queues", |data| *data != one).await;
    let close = json!({"line": "gift_card", "reason": "Maintenance"});
    boss.done("/admin/lines/close", close).await;
    let (id, closed) = stream.until("event", |_| true).await;
    assert_eq!(closed["type"], "line.closed");
    boss.done("/admin/lines/open", json!({"line": "gift_card", "reason": "Done"}))
        .await;
    drop(site);
    service.kill();
    while stream.next().await.is_some() {}
    let service = host.start();
    let mut stream = OperatorStream::open(&service, &token, id.as_deref()).await;
    let (_, opened) = stream.until("event", |_| true).await;
    assert_eq!(opened["type"], "line.opened");
    let boss = OperatorClient::first(&host, &service);
    boss.done("/admin/tokens/revoke", json!({"name": "eve"})).await;
    let (_, ended) = stream.until("ended", |_| true).await;
    assert_eq!(ended["reason"], "token_invalid");
    assert!(stream.next().await.is_none());
    let refused = boss.get("/admin/stream").await;
    assert_eq!((refused.status, refused.str("param")), (400, Some("Accept")));
}

#[tokio::test(flavor = "multi_thread")]
async fn freeze_preview_changes_nothing_and_is_what_happens() {
    // Checks: The preview has the answer that the freeze then gives, the jobs that wait and those that go on, and the
    // cards that still pay. The account is not frozen by it.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service)
        .add_operator("sam", "support")
        .await;
    let agent = Agent::new(Network::Base);
    agent.buy(&site, "/get-card?amount=5").await;
    let token = agent.token(&site).await;
    site.wait_for_events(&token, &["card.ready"]).await;
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    agent.buy(&site, "/get-card?amount=5").await;
    let wallet = agent.address();
    let preview = read(
        &operator,
        &format!("/admin/freeze/preview?wallet={wallet}&message=Call%20us."),
    )
    .await;
    assert_eq!(preview["frozen"], json!(false));
    assert_eq!(preview["continues"]["usable_cards"], json!(1));
    let going_on = preview["continues"]["jobs"].as_array().unwrap();
    assert!(going_on.iter().any(|job| job["job_type"] == "issue_card"), "{preview}");
    assert_eq!(site.get_as(&token, "/get-account-balance").await.status, 200);
    let freeze = json!({"wallet": wallet, "message": "Call us."});
    operator.done("/admin/freeze", freeze).await;
    let refused = site.get_as(&token, "/get-account-balance").await;
    assert_eq!(preview["answer"]["status"], json!(refused.status));
    let body = &preview["answer"]["body"];
    for field in ["code", "error", "frozen_message", "terminal"] {
        assert_eq!(body[field], refused.body[field], "{field}");
    }
    let again = read(&operator, &format!("/admin/freeze/preview?wallet={wallet}")).await;
    assert_eq!(again["frozen"], json!(true));
    let stranger = Agent::new(Network::Base).address();
    let unknown = operator.get(&format!("/admin/freeze/preview?wallet={stranger}")).await;
    assert_eq!(unknown.code(), "account_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn lease_of_an_order_is_extended_by_its_holder_only() {
    // Checks: The holder gets a later end under a new number, and the old number fulfils nothing. Another operator, an
    // administrator included, and a stale number get 409. An order in the queue has no lease to extend.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let boss = OperatorClient::first(&host, &service);
    let ana = boss.add_operator("ana", "operator").await;
    let bought = Agent::new(Network::Base).buy(&site, ORDER).await;
    let order = bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned();
    let renew = |lease: u64| json!({"card_id": order, "lease": lease});
    let early = ana.post("/admin/intl-orders/renew", renew(0)).await;
    assert_eq!((early.status, early.code()), (409, "lease_stale"));
    let claimed = ana.done("/admin/intl-orders/claim", json!({"card_id": order})).await;
    assert_eq!(claimed["lease"], json!(1));
    let other = boss.post("/admin/intl-orders/renew", renew(1)).await;
    assert_eq!((other.status, other.code()), (409, "lease_stale"));
    let renewed = ana.done("/admin/intl-orders/renew", renew(1)).await;
    assert_eq!(renewed["lease"], json!(2));
    assert!(renewed["leased_until"].as_str() > claimed["leased_until"].as_str());
    let listed = ana.queue().await;
    assert_eq!(
        (&listed[0]["lease"], &listed[0]["leased_by"]),
        (&json!(2), &json!("ana"))
    );
    let stale = ana.post("/admin/intl-orders/renew", renew(1)).await;
    assert_eq!(stale.code(), "lease_stale");
    assert_eq!(ana.fulfil(&order, 1).await.code(), "lease_stale");
    assert_eq!(ana.fulfil(&order, 2).await.status, 200);
    let ended = ana.post("/admin/intl-orders/renew", renew(2)).await;
    assert_eq!((ended.status, ended.code()), (409, "order_not_open"));
    let acts = boss.audit().await;
    let on_order: Vec<&str> = acts
        .iter()
        .filter(|(_, _, subject)| *subject == order)
        .map(|(_, action, _)| action.as_str())
        .collect();
    assert_eq!(on_order, ["intl_order.claim", "intl_order.renew", "intl_order.fulfil"]);
    let missing = ana
        .post(
            "/admin/card-withdrawals/renew",
            json!({"withdrawal_id": "wd_1", "lease": 1}),
        )
        .await;
    assert_eq!(missing.status, 404);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_log_is_read_newest_first_and_verified() {
    // Checks: Pages with `order=desc` are the log in reverse, and end at the first record. The check counts every record
    // and names the hash of the last one.
    let host = Host::new();
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    for name in ["ana", "ben", "eva", "kim"] {
        operator.add_operator(name, "support").await;
    }
    let all = read(&operator, "/admin/audit?limit=1000").await;
    let mut all = all["entries"].as_array().unwrap().clone();
    let last = all.last().unwrap()["hash"].clone();
    all.reverse();
    let (mut reversed, mut before): (Vec<Value>, String) = (Vec::new(), String::new());
    loop {
        let page = read(&operator, &format!("/admin/audit?order=desc&limit=2{before}")).await;
        assert_eq!(page["next_after"], Value::Null);
        reversed.extend(page["entries"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next_before"].as_str() else {
            break;
        };
        before = format!("&before={next}");
    }
    assert_eq!(reversed, all);
    let proof = read(&operator, "/admin/audit/verify").await;
    assert_eq!((&proof["intact"], &proof["records"]), (&json!(true), &json!(all.len())));
    assert_eq!((&proof["last_hash"], &proof["broken_at"]), (&last, &Value::Null));
    for wrong in ["order=up", "order=desc&after=1", "before=1", "order=desc&before=0"] {
        assert_eq!(
            operator.get(&format!("/admin/audit?{wrong}")).await.status,
            400,
            "{wrong}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_is_controlled_at_the_operator_address() {
    // Checks: Operators read and set the sandbox's controls at their address, with the errors of the controls. Support
    // can't. Paths that are no controls are rejected.
    let host = Host::new();
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    let time = operator.done("/admin/sandbox", json!({"path": "/sandbox/time"})).await;
    assert_eq!(time["offset_seconds"], json!(0));
    let hour = json!({"path": "/sandbox/time", "body": {"advance_seconds": 3_600}});
    let moved = operator.done("/admin/sandbox", hour.clone()).await;
    assert_eq!(moved["offset_seconds"], json!(3_600));
    let wrong = json!({"path": "/sandbox/issuer", "body": {"fault": "rain"}});
    assert_eq!(operator.post("/admin/sandbox", wrong).await.status, 400);
    let unknown = operator.post("/admin/sandbox", json!({"path": "/sandbox/rain"})).await;
    assert_eq!(unknown.status, 404);
    for path in ["/account", "/admin/system", "/sandboxes", ""] {
        let rejected = operator.post("/admin/sandbox", json!({"path": path})).await;
        assert_eq!((rejected.status, rejected.str("param")), (400, Some("path")), "{path}");
    }
    let sam = operator.add_operator("sam", "support").await;
    assert_eq!(sam.post("/admin/sandbox", hour).await.code(), "role_not_permitted");
}
