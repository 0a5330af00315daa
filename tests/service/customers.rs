//! Operators look: at a customer, by whatever is quoted to them, and at the house itself.

use std::collections::BTreeSet;

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, until};
use super::operator_client::OperatorClient;

/// The card of a token's owner, once it is made.
async fn ready(site: &ServiceClient<'_>, token: &str, card: &str) -> Value {
    until("the card", async || {
        let seen = site.get_as(token, &format!("/get-card-data?card_id={card}")).await;
        (seen.str("status") == Some("ready")).then_some(seen.body)
    })
    .await
}

pub(crate) async fn find(desk: &OperatorClient<'_>, quoted: &str) -> Value {
    let answer = desk.get(&format!("/admin/customers?q={quoted}")).await;
    assert_eq!(answer.status, 200, "{quoted}: {}", answer.text);
    answer.body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_is_found_by_whatever_they_quote() {
    // Aim: wallet, user_id, card, payment, last four digits and the Request-Id of the paid call all lead support to the one
    // customer, after a kill too; it shows the balance, what is owned with its state and what is still to be done, another's
    // things never, and no number, code or token.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let bought = agent.buy(&site, "/get-card?amount=37").await;
    // Without digits of a card: another's could be the same.
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
    let desk = boss.add_operator("sam", "support").await;
    for (quoted, kind) in [
        (agent.address(), "account"),
        // As the service itself tells it, though base58 has lost its case by then.
        (bought.str("user_id").unwrap().to_owned(), "account"),
        (card.clone(), "card"),
        (payment, "payment"),
        (last4.clone(), "card"),
        (request, "payment"),
    ] {
        let found = find(&desk, &quoted).await;
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
    assert_nothing_found(&desk, &[read.header("request-id").unwrap(), &digits]).await;
    let beyond = format!("{}&after={}", agent.address().to_lowercase(), agent.address());
    assert_eq!(
        find(&desk, &beyond).await["found"],
        json!([]),
        "it goes on behind an account"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_is_shown_with_the_newest_of_each_kind() {
    // Aim: of payments as of cards the newest are shown, the newest first, as many as are asked for, and how many are not.
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
    let desk = OperatorClient::first(&host, &service);
    for (limit, shown) in [("", 5), ("&limit=2", 2), ("&limit=100", 7)] {
        let found = find(&desk, &format!("{}{limit}", agent.address())).await;
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
    let told = admin(&host, &service, &line, "").unwrap();
    let owns = told["customer"]["resources"].as_array().unwrap();
    assert!(
        owns.iter().all(|owned| owned["newest"].as_array().unwrap().len() == 1),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_finds_nobody_is_told_so() {
    // Aim: on the command line nothing found is a failure with a sentence, which says of a Request-Id what such a one finds; a
    // call that was refused opened nothing.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let refused = site.get("/get-card?amount=0", &[]).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    let request = refused.header("request-id").unwrap();
    let said = admin(&host, &service, &["customers", request], "").unwrap_err();
    for part in ["nobody is found", request, "a call that was refused"] {
        assert!(said.contains(part), "{said}");
    }
    let stranger = Agent::new(Network::Solana).address();
    let said = admin(&host, &service, &["customers", &stranger], "").unwrap_err();
    assert!(
        said.contains("nobody is found") && !said.contains("Request-Id"),
        "{said}"
    );
}

/// What is nobody's leads nowhere, and what cannot be anybody's is refused.
async fn assert_nothing_found(desk: &OperatorClient<'_>, more: &[&str]) {
    let stranger = Agent::new(Network::Base).address();
    let others = ["card_00000000000000000000000000000001", &stranger, "somebody"];
    for nothing in more.iter().chain(&others) {
        let found = find(desk, nothing).await;
        let said = (&found["found"], &found["customer"]);
        assert_eq!(said, (&json!([]), &Value::Null), "{nothing}: {found}");
    }
    let wrong_after = format!("?q={}&after=zz", "a".repeat(40));
    for wrong in [
        "",
        "?q=",
        "?q=1234&after=zz",
        "?q=somebody&after=6503",
        &wrong_after,
        "?w=1",
    ] {
        let refused = desk.get(&format!("/admin/customers{wrong}")).await;
        assert_eq!(refused.status, 400, "{wrong}: {}", refused.text);
    }
    let long = "1".repeat(65);
    assert_eq!(
        desk.get(&format!("/admin/customers?q={long}")).await.code(),
        "parameter_invalid"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_customer_is_shown() {
    // Aim: a frozen account with its message, work that is stuck for it, by the effect's own id too; the same from the
    // command line.
    let host = Host::new()
        .with("PURSER_ENGINE__MAX_ATTEMPTS", "1")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let desk = OperatorClient::first(&host, &service);
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let wallet = agent.address().to_lowercase();
    let work = until("the order is stuck", async || {
        let customer = find(&desk, &wallet).await["customer"].clone();
        let work = customer["open_jobs"].as_array().unwrap().clone();
        work.into_iter().find(|work| work["dead_lettered"] == true)
    })
    .await;
    assert_eq!(
        (&work["job_type"], &work["subject"]),
        (&json!("issue_card"), &json!(bought.card()))
    );
    assert_eq!(work["request_id"], json!(bought.header("request-id").unwrap()));
    let by_effect = find(&desk, work["job_id"].as_str().unwrap()).await;
    assert_eq!(by_effect["customer"]["wallet"], json!(wallet));
    desk.done("/admin/freeze", json!({"wallet": wallet, "message": "Call us."}))
        .await;
    let shown = admin(&host, &service, &["customers", bought.card()], "").unwrap();
    let customer = &shown["customer"];
    assert_eq!(
        (&customer["frozen"], &customer["frozen_message"]),
        (&json!(true), &json!("Call us."))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_system_is_shown_as_it_lives() {
    // Aim: the root is sound, each kind of entity has a supervisor for its actors and one for its deliveries, which have the
    // children that the purchase gave them; work waits under its name; the store and the commits are counted.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let desk = OperatorClient::first(&host, &service);
    let before = desk.get("/admin/system").await.body;
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    Agent::new(Network::Base).buy(&site, "/get-card?amount=5").await;
    let order = |system: &Value| {
        let work = system["jobs"].as_array().unwrap().iter();
        work.clone()
            .find(|work| work["job_type"] == "issue_card")
            .unwrap()
            .clone()
    };
    let system = until("the order's tries", async || {
        let system = desk.get("/admin/system").await.body;
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
