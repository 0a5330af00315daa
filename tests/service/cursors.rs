//! Cursors of an account's events: pages in both directions, by the account page and the API, with nothing about other
//! accounts.

use purser::system::SystemClock;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, until};
use super::listener::Stream;
use super::owner::Owner;
use super::stream_limits::CARD;

fn seqs(page: &Value) -> Vec<u64> {
    let events = page["events"].as_array().unwrap().iter();
    events.map(|event| event["seq"].as_u64().unwrap()).collect()
}

/// The cursor of the first ping after a subscription without a cursor.
async fn current_cursor(site: &ServiceClient<'_>, token: &str) -> u64 {
    let mut stream = Stream::open(site, token).await;
    stream.send(&json!({"type": "subscribe"})).await;
    loop {
        let frame = stream.frame().await;
        assert_eq!(frame["type"], "ping", "{frame}");
        // A ping without a cursor was sent before the subscription was read.
        if let Some(cursor) = frame["cursor"].as_u64() {
            return cursor;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cursor_reveals_nothing_about_other_accounts() {
    // Checks: An event's cursor is the time of its commit, whatever the sandbox clock says and over a restart. While
    // others buy, an idle account's cursor does not move, and a cursor ahead of it is rejected.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    site.advance(3_600).await;
    let (quiet, busy) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let before = SystemClock.micros();
    let token = quiet.token(&site).await;
    quiet.buy(&site, CARD).await.card();
    site.wait_for_events(&token, &["card.ready"]).await;
    let after = SystemClock.micros();
    let events = site.events(&token, 0).await;
    let cursors = seqs(&json!({ "events": events }));
    assert!(cursors.is_sorted_by(|a, b| a < b), "{cursors:?}");
    assert!(
        cursors.iter().all(|seq| (before..=after).contains(seq)),
        "{before} {cursors:?} {after}"
    );
    let rests = until("the account rests", async || {
        let (one, other) = (current_cursor(&site, &token).await, current_cursor(&site, &token).await);
        (one == other).then_some(one)
    })
    .await;
    assert!(rests >= *cursors.last().unwrap() && rests <= after);
    for _ in 0..3 {
        busy.buy(&site, CARD).await.card();
    }
    assert_eq!(
        current_cursor(&site, &token).await,
        rests,
        "other accounts' purchases do not move this cursor"
    );
    let ahead = site.get_as(&token, &format!("/events?after={}", rests + 1)).await;
    assert_eq!((ahead.status, ahead.code()), (400, "cursor_ahead"));
    assert!(
        !ahead.str("error").unwrap().contains(char::is_numeric),
        "{}",
        ahead.text
    );
    let authority = service.authority().to_owned();
    service.stop();
    let service = host.restart_at(&authority);
    let site = ServiceClient::of(&service);
    let again = site.events(&quiet.token(&site).await, 0).await;
    assert_eq!(again[..events.len()], events[..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn newest_events_are_one_page_under_load() {
    // Checks: Pages from the newest back contain the same events as pages from the oldest. The account page reads them
    // with its cookie and continues live, although other accounts have far more events.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    for _ in 0..4 {
        agent.buy(&site, CARD).await.card();
    }
    until("four cards", async || {
        let events = site.events(&token, 0).await;
        (events.iter().filter(|e| e["type"] == "card.ready").count() == 4).then_some(())
    })
    .await;
    let owner = Owner::by_token(&site, &token).await;
    let cookie = [("cookie", owner.cookie())];
    let all = seqs(&json!({ "events": site.events(&token, 0).await }));
    let other = Agent::new(Network::Solana);
    for _ in 0..5 {
        other.buy(&site, CARD).await.card();
    }
    let (mut back, mut path) = (Vec::new(), "/events?order=desc&limit=7".to_owned());
    loop {
        let page = site.get(&path, &cookie).await;
        assert_eq!(page.status, 200, "{}", page.text);
        back.extend(seqs(&page.body));
        match page.body["next_before"].as_u64() {
            Some(before) => path = format!("/events?order=desc&limit=7&before={before}"),
            None => break,
        }
    }
    back.reverse();
    assert_eq!(back, all);
    let account = site.get("/account", &cookie).await;
    // Transitions without an event have cursors too.
    assert!(account.body["seq"].as_u64() >= all.last().copied());
    assert_eq!(
        site.get("/events", &[("cookie", "purser_session=x")]).await.code(),
        "token_missing"
    );
    let mut live = Stream::open(&site, &token).await;
    live.send(&json!({"type": "subscribe", "after": all[all.len() - 2]}))
        .await;
    let event = until("the last event", async || {
        let frame = live.frame().await;
        (frame["type"] == "event").then_some(frame)
    })
    .await;
    assert_eq!(event["event"]["seq"].as_u64(), all.last().copied());
}
