//! Notes of operators on customers.

use purser_actors::id::Network;
use purser_actors::kernel::table;
use purser_storage::Write;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::host::Host;
use super::http::ServiceClient;
use super::operator_client::OperatorClient;
use super::restore::{backup, restore};
use super::verify::{assert_problem, rewritten};

fn texts(list: &Value) -> Vec<&str> {
    let notes = list["notes"].as_array().unwrap().iter();
    notes.map(|note| note["text"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn customer_notes_are_for_operators_only_and_survive_a_restore() {
    // Checks: Support writes notes, read-only reads them. A note is in the list, in the timeline and in the audit log with
    // who and when; a repetition within a minute is the same note. Its owner gets it in no event and no answer. Pages are
    // newest first. Notes survive a backup, and can be written in the name of the account by each of its addresses. Empty
    // and long texts and card numbers are rejected.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let boss = OperatorClient::first(&host, &service);
    let (sam, reader) = (
        boss.add_operator("sam", "support").await,
        boss.add_operator("rea", "read-only").await,
    );
    let agent = Agent::new(Network::Base);
    agent.buy(&site, "/get-card?amount=5").await;
    let token = agent.token(&site).await;
    site.wait_for_events(&token, &["card.ready"]).await;
    let wallet = agent.address();
    let note = |text: &str| json!({"wallet": wallet, "text": text});
    let first = sam
        .done("/admin/notes", note("Called at 10:30: the card was lost."))
        .await;
    let again = sam
        .done("/admin/notes", note("Called at 10:30: the card was lost."))
        .await;
    assert_eq!(first, again);
    assert_eq!((&first["operator"], &first["role"]), (&json!("sam"), &json!("support")));
    for number in 1..=3 {
        boss.done("/admin/notes", note(&format!("Note {number}"))).await;
    }
    let refused = reader.post("/admin/notes", note("No")).await;
    assert_eq!((refused.status, refused.code()), (403, "role_not_permitted"));
    let long = "x".repeat(2_001);
    let numbers = ["4242 4242 4242 4242", "card4242424242424242", "٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢"];
    for wrong in ["", " ", &long, "a\u{202e}b"].into_iter().chain(numbers) {
        let refused = sam.post("/admin/notes", note(wrong)).await;
        assert_eq!((refused.status, refused.str("param")), (400, Some("text")), "{wrong:?}");
    }
    let stranger = Agent::new(Network::Base).address();
    let unknown = sam
        .post("/admin/notes", json!({"wallet": stranger, "text": "Who?"}))
        .await;
    assert_eq!((unknown.status, unknown.code()), (404, "account_not_found"));

    let path = format!("/admin/notes?wallet={wallet}&limit=2");
    let page = reader.get(&path).await.body;
    assert_eq!(texts(&page), ["Note 3", "Note 2"]);
    let page = reader.get(&format!("{path}&before={}", page["next_before"])).await.body;
    assert_eq!(texts(&page), ["Note 1", "Called at 10:30: the card was lost."]);
    assert_eq!((&page["next_before"], &page["notes"][1]), (&Value::Null, &first));

    let timeline = reader
        .get(&format!("/admin/timeline?wallet={wallet}&limit=200"))
        .await
        .body;
    let entries = timeline["entries"].as_array().unwrap().iter();
    let notes: Vec<&Value> = entries
        .filter_map(|entry| entry["operator_action"]["note"].as_str().map(|_| entry))
        .collect();
    let written: Vec<&Value> = notes.iter().map(|entry| &entry["operator_action"]["note"]).collect();
    assert_eq!(
        written,
        ["Note 3", "Note 2", "Note 1", "Called at 10:30: the card was lost."]
    );
    assert_eq!(notes[3]["operator_action"]["sequence"], first["sequence"]);
    let audited = boss
        .audit()
        .await
        .into_iter()
        .filter(|(_, action, _)| action == "customer.note");
    let audited: Vec<_> = audited.map(|(operator, _, subject)| (operator, subject)).collect();
    assert_eq!(audited.len(), 4);
    assert_eq!(
        (audited[0].0.as_str(), audited[0].1.to_lowercase()),
        ("sam", wallet.to_lowercase())
    );

    // Its owner.
    let events = json!(site.events(&token, 0).await).to_string();
    let account = site.get_as(&token, "/account").await.text;
    for shown in [&events, &account] {
        assert!(
            !shown.contains("Note 1") && !shown.contains("the card was lost"),
            "{shown}"
        );
    }

    // The command line.
    let added = admin(
        &host,
        &service,
        &["notes", "add", &wallet, "--text", "From a terminal"],
        "",
    )
    .unwrap();
    assert_eq!(added["text"], "From a terminal");
    let listed = admin(&host, &service, &["notes", "list", &wallet], "").unwrap();
    assert_eq!(texts(&listed).len(), 5);
    service.stop();
    host.assert_verified();
    let file = backup(&host);
    restore(&host, &file);
    let service = host.start();
    let boss = OperatorClient::first(&host, &service);
    assert_eq!(boss.get(&format!("/admin/notes?wallet={wallet}")).await.body, listed);
    service.stop();
    host.assert_verified();

    // A row that leads to a record of something else, and a note without its row.
    let rows = [table::CUSTOMER_NOTE];
    let newest = listed["notes"][0]["sequence"].as_u64().unwrap();
    let moved = rewritten(&host, "moved", &rows, |key, row| {
        let (key, value) = (key.clone(), row.value.to_vec());
        let revision = 1;
        (row.revision == newest).then(|| vec![Write::Put { key, revision, value }])
    });
    assert_problem(&host, &moved.await.0, "audit.note_index", &newest.to_string());
    let gone = rewritten(&host, "gone", &rows, |key, row| {
        let key = key.clone();
        (row.revision == newest).then(|| vec![Write::Delete { key }])
    });
    assert_problem(&host, &gone.await.0, "audit.note_index", &newest.to_string());
}
