//! Operator lookups: a customer by any identifier, and the state of the system.

use std::collections::BTreeSet;

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, until};
use super::operator_client::OperatorClient;

/// The card of a token's owner, once it is issued.
async fn ready(site: &ServiceClient<'_>, token: &str, card: &str) -> Value {
    until("the card", async || {
        let seen = site.get_as(token, &format!("/get-card-data?card_id={card}")).await;
        (seen.str("status") == Some("ready")).then_some(seen.body)
    })
    .await
}

pub(crate) async fn find(operator: &OperatorClient<'_>, quoted: &str) -> Value {
    let answer = operator.get(&format!("/admin/customers?q={quoted}")).await;
    assert_eq!(answer.status, 200, "{quoted}: {}", answer.text);
    answer.body
}

#[tokio::test(flavor = "multi_thread")]
async fn customer_is_found_by_any_identifier() {
    // Checks: Wallet, user_id, card, payment, last four digits and the paid call's Request-Id all lead support to one
    // customer, also after a kill. The page shows the balance, resources with their status and pending jobs. It never
    // shows another's resources, or a number, code or token.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let bought = agent.buy(&site, "/get-card?amount=37").await;
    // Without the card's last digits: another card could have the same.
    let other = Agent::new(Network::Base)
        .buy(&site, "/order-intl-card?amount=100")
        .await;
    let other = other.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned();
    let token = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let card = bought.card().to_owned();
    let seen = ready(&site, &token, &card).await;
    let number = seen["card_details"]["card_number"].as_str().unwrap().replace(' ', "");
    let last4 = number[number.len() - 4..].to_owned();
    let request = bought.header("request-id").unwrap().to_owned();
    let payment = bought.str("payment_id").unwrap().to_owned();
    drop(site);
    service.kill();

    let service = host.start();
    let site = ServiceClient::of(&service);
    let boss = OperatorClient::first(&host, &service);
    let operator = boss.add_operator("sam", "support").await;
    for (quoted, kind) in [
        (agent.address(), "account"),
        // In the service's own spelling, which has lost the case of base58.
        (bought.str("user_id").unwrap().to_owned(), "account"),
        (card.clone(), "card"),
        (payment, "payment"),
        (last4.clone(), "card"),
        (request, "payment"),
    ] {
        let found = find(&operator, &quoted).await;
        let kinds: Vec<&Value> = found["found"]
            .as_array()
            .unwrap()
            .iter()
            .map(|thing| &thing["kind"])
            .collect();
        assert!(kinds.contains(&&json!(kind)), "{quoted}: {found}");
        let customer = &found["customer"];
        assert_eq!(customer["wallet"], json!(agent.address()), "{quoted}: {found}");
        assert_eq!((&customer["balance"], &customer["frozen"]), (&json!(0), &json!(false)));
        let owns = customer["resources"].as_array().unwrap();
        let cards = owns.iter().find(|owned| owned["kind"] == "card").unwrap();
        assert_eq!((&cards["count"], &cards["newest"][0]["id"]), (&json!(1), &json!(card)));
        assert_eq!(cards["newest"][0]["status"], "ready");
        let text = found.to_string();
        for secret in [number.as_str(), "cvv", &token, &other] {
            assert!(!text.contains(secret), "{quoted} shows {secret}");
        }
    }
    let read = site.get_as(&token, "/get-account-balance").await;
    let digits = format!("{:04}", (last4.parse::<u32>().unwrap() + 1) % 10_000);
    assert_nothing_found(&operator, &[read.header("request-id").unwrap(), &digits]).await;
    let beyond = format!("{}&after={}", agent.address().to_lowercase(), agent.address());
    assert_eq!(
        find(&operator, &beyond).await["found"],
        json!([]),
        "it goes on behind an account"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn customer_page_shows_the_newest_of_each_kind() {
    // Checks: Of payments and cards, the newest are shown first, up to the limit, with the number of those left out.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let mut bought = Vec::new();
    for _ in 0..7 {
        let card = agent.buy(&site, "/get-card?amount=5").await;
        bought.push((card.card().to_owned(), card.str("payment_id").unwrap().to_owned()));
    }
    bought.reverse();
    let operator = OperatorClient::first(&host, &service);
    for (limit, shown) in [("", 5), ("&limit=2", 2), ("&limit=100", 7)] {
        let found = find(&operator, &format!("{}{limit}", agent.address())).await;
        let owns = found["customer"]["resources"].as_array().unwrap();
        let of = |kind: &str| owns.iter().find(|owned| owned["kind"] == kind).unwrap().clone();
        let (cards, payments) = (of("card"), of("payment"));
        for (owned, ids) in [
            (&cards, bought.iter().map(|(card, _)| card).collect::<Vec<_>>()),
            (&payments, bought.iter().map(|(_, payment)| payment).collect()),
        ] {
            assert_eq!((&owned["count"], &owned["not_shown"]), (&json!(7), &json!(7 - shown)));
            let newest = owned["newest"].as_array().unwrap();
            let newest: Vec<&str> = newest.iter().filter_map(|thing| thing["id"].as_str()).collect();
            assert_eq!(newest, ids[..shown], "{limit}");
        }
    }
    let line = ["customers", &agent.address(), "--limit", "1"];
    let found = admin(&host, &service, &line, "").unwrap();
    let owns = found["customer"]["resources"].as_array().unwrap();
    assert!(
        owns.iter().all(|owned| owned["newest"].as_array().unwrap().len() == 1),
        "{found}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn customer_search_without_match_exits_1() {
    // Checks: On the command line, a search without a match fails with a sentence. For a Request-Id it explains what
    // can be found. A rejected call created nothing.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let refused = site.get("/get-card?amount=0", &[]).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    let request = refused.header("request-id").unwrap();
    let output = admin(&host, &service, &["customers", request], "").unwrap_err();
    for part in ["no customer matches", request, "a call that was rejected"] {
        assert!(output.contains(part), "{output}");
    }
    let stranger = Agent::new(Network::Solana).address();
    let output = admin(&host, &service, &["customers", &stranger], "").unwrap_err();
    assert!(
        output.contains("no customer matches") && !output.contains("Request-Id"),
        "{output}"
    );
}

/// An unknown identifier finds nothing, and an invalid one is rejected.
async fn assert_nothing_found(operator: &OperatorClient<'_>, more: &[&str]) {
    let stranger = Agent::new(Network::Base).address();
    let others = ["card_00000000000000000000000000000001", &stranger, "stranger"];
    for nothing in more.iter().chain(&others) {
        let found = find(operator, nothing).await;
        let page = (&found["found"], &found["customer"]);
        assert_eq!(page, (&json!([]), &Value::Null), "{nothing}: {found}");
    }
    let wrong_after = format!("?q={}&after=zz", "a".repeat(40));
    for wrong in [
        "",
        "?q=",
        "?q=1234&after=zz",
        "?q=stranger&after=6503",
        &wrong_after,
        "?w=1",
    ] {
        let refused = operator.get(&format!("/admin/customers{wrong}")).await;
        assert_eq!(refused.status, 400, "{wrong}: {}", refused.text);
    }
    let long = "1".repeat(65);
    assert_eq!(
        operator.get(&format!("/admin/customers?q={long}")).await.code(),
        "parameter_invalid"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn customer_page_shows_freeze_and_dead_letters() {
    // Checks: The customer shows a frozen account's message and its dead-lettered job, also by the job's id. The
    // command line shows the same.
    let host = Host::new()
        .with("PURSER_ENGINE__MAX_ATTEMPTS", "1")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let wallet = agent.address().to_lowercase();
    let work = until("the job is dead-lettered", async || {
        let customer = find(&operator, &wallet).await["customer"].clone();
        let work = customer["open_jobs"].as_array().unwrap().clone();
        work.into_iter().find(|work| work["dead_lettered"] == true)
    })
    .await;
    assert_eq!(
        (&work["job_type"], &work["subject"]),
        (&json!("issue_card"), &json!(bought.card()))
    );
    assert_eq!(work["request_id"], json!(bought.header("request-id").unwrap()));
    let by_effect = find(&operator, work["job_id"].as_str().unwrap()).await;
    assert_eq!(by_effect["customer"]["wallet"], json!(wallet));
    operator
        .done("/admin/freeze", json!({"wallet": wallet, "message": "Call us."}))
        .await;
    let shown = admin(&host, &service, &["customers", bought.card()], "").unwrap();
    let customer = &shown["customer"];
    assert_eq!(
        (&customer["frozen"], &customer["frozen_message"]),
        (&json!(true), &json!("Call us."))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn system_page_shows_the_supervision_tree() {
    // Checks: The root is healthy. Each entity kind has a supervisor for its actors and one for its deliveries, with
    // the children of the purchase. Scheduled jobs are listed by type, and the store and its commits are counted.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let before = operator.get("/admin/system").await.body;
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    Agent::new(Network::Base).buy(&site, "/get-card?amount=5").await;
    let order = |system: &Value| {
        let work = system["jobs"].as_array().unwrap().iter();
        work.clone()
            .find(|work| work["job_type"] == "issue_card")
            .unwrap()
            .clone()
    };
    let system = until("the order's attempts", async || {
        let system = operator.get("/admin/system").await.body;
        let tried = order(&system)["failures"][0]["of"] == "temporary";
        tried.then_some(system)
    })
    .await;
    let supervision = &system["supervision"];
    assert_eq!(
        (&supervision["healthy"], &supervision["status"]),
        (&json!(true), &json!("running"))
    );
    let supervisors = supervision["supervisors"].as_array().unwrap();
    let kinds = |watches: &str| -> BTreeSet<&str> {
        let of = supervisors.iter().filter(|one| one["supervises"] == watches);
        of.map(|one| one["kind"].as_str().unwrap()).collect()
    };
    let entities = system["entities"].as_array().unwrap();
    let every: BTreeSet<&str> = entities.iter().map(|entity| entity["kind"].as_str().unwrap()).collect();
    assert!(every.len() > 20 && kinds("entities") == every && kinds("outbox") == every);
    for watches in ["reconciliation", "incoming_transfers"] {
        let mut all = supervisors.iter();
        assert!(all.any(|one| one["supervises"] == watches && one["status"] == "running"));
    }
    for (watches, kind) in [("entities", "account"), ("entities", "payment")] {
        let children = |system: &Value| {
            let all = system["supervision"]["supervisors"].as_array().unwrap().iter();
            let mut of = all.filter(|one| one["supervises"] == watches && one["kind"] == kind);
            of.next().unwrap()["children"].as_u64().unwrap()
        };
        let active = entities.iter().find(|entity| entity["kind"] == kind).unwrap()["active"].as_u64();
        assert_eq!(
            (children(&before), children(&system), active),
            (0, 1, Some(1)),
            "{kind}"
        );
    }
    let order = order(&system);
    let open = order["in_flight"].as_u64().unwrap() + order["scheduled"].as_u64().unwrap();
    assert_eq!((open, &order["dead_lettered"]), (1, &json!(0)), "{order}");
    let storage = &system["storage"];
    assert!(
        storage["durable_seq"].as_u64() > before["storage"]["durable_seq"].as_u64(),
        "{storage}"
    );
    assert!(
        storage["commits"].as_u64().unwrap() > 0 && storage["commit_median_us"].is_u64(),
        "{storage}"
    );
    assert!(storage["segments"].as_u64().unwrap() > 0 && storage["snapshot_seq"].is_u64());
    let printed = admin(&host, &service, &["system"], "").unwrap();
    assert_eq!(printed["supervision"]["root"], supervision["root"]);
}
