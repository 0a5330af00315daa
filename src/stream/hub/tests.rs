//! Delivery of events to subscribers, and the limits on their number.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::config::{Config, ConfigSources};

const A: Wallet = Wallet::Evm([1; 20]);
const B: Wallet = Wallet::Evm([2; 20]);

fn hub(buffer_bytes: usize, max_per_account: usize) -> Arc<Hub> {
    let mut config = Config::load(&ConfigSources::default()).unwrap().stream;
    config.buffer_bytes = buffer_bytes;
    config.max_per_account = max_per_account;
    config.max_connections = 3;
    Hub::new(&config)
}

fn session(id: u128) -> [Option<SessionId>; 3] {
    [Some(SessionId(id)), None, None]
}

fn event(seq: u64, wallet: Wallet) -> StoredEvent {
    StoredEvent {
        seq,
        cursor: seq,
        subject: wallet.key().into(),
        payload: vec![b'x'; 100].into(),
    }
}

fn queued(events: impl IntoIterator<Item = StoredEvent>) -> BufferContents {
    BufferContents::Events(events.into_iter().map(QueuedEvent::new).collect())
}

// Checks: a subscriber gets only its account's events, in order.
#[test]
fn events_reach_their_account_only() {
    let hub = hub(10_000, 2);
    let a = hub.subscribe(A, session(1)).unwrap();
    let b = hub.subscribe(B, session(2)).unwrap();
    hub.publish(&[event(1, A), event(2, B), event(3, A)]);
    assert_eq!(a.take(), queued([event(1, A), event(3, A)]));
    assert_eq!(b.take(), queued([event(2, B)]));
    assert_eq!(a.take(), BufferContents::Nothing);
}

// Checks: all subscribers of an account get the same event, not a copy each: it is read and its frame is written once.
#[test]
fn subscribers_of_an_account_share_its_events() {
    let hub = hub(10_000, 2);
    let pages = [session(1), session(2)].map(|session| hub.subscribe(A, session).unwrap());
    hub.publish(&[event(1, A)]);
    let [one, other] = pages.map(|page| match page.take() {
        BufferContents::Events(events) => events[0].clone(),
        other => panic!("{other:?}"),
    });
    assert!(Arc::ptr_eq(&one, &other));
}

// Checks (case 64): a queue never exceeds its byte limit; after an overflow the subscriber must read the store.
#[test]
fn case_64_overflowing_queue_is_dropped() {
    let hub = hub(1000, 2);
    let a = hub.subscribe(A, session(1)).unwrap();
    for seq in 1..=10_000 {
        hub.publish(&[event(seq, A)]);
    }
    assert_eq!((a.subscriber.buffer.lock().queue.len(), hub.overflows()), (0, 1));
    assert_eq!(a.take(), BufferContents::Lagged);
    hub.publish(&[event(10_001, A)]);
    assert_eq!(a.take(), queued([event(10_001, A)]));
}

// Checks: a subscriber that lets events wait learns when its queue is half full, and only then.
#[tokio::test]
async fn half_full_queue_is_announced_once() {
    let hub = hub(1_000_000, 2);
    let a = hub.subscribe(A, session(1)).unwrap();
    let is_filled = async || futures_util::FutureExt::now_or_never(a.filled()).is_some();
    let mut seq = 0;
    while !is_filled().await {
        seq += 1;
        hub.publish(&[event(seq, A)]);
    }
    let bytes = a.subscriber.buffer.lock().bytes;
    assert!((500_000..510_000).contains(&bytes), "{bytes}");
    hub.publish(&[event(seq + 1, A)]);
    assert!(!is_filled().await);
}

// Checks: the limits of an account and of the service are enforced, and a closed stream releases its slot.
#[test]
fn streams_are_limited() {
    let hub = hub(1000, 2);
    let first = hub.subscribe(A, session(1)).unwrap();
    let _second = hub.subscribe(A, session(1)).unwrap();
    assert_eq!(hub.subscribe(A, session(1)).err(), Some(SubscribeError::Account));
    let _other = hub.subscribe(B, session(2)).unwrap();
    drop(first);
    let _again = hub.subscribe(A, session(1)).unwrap();
    assert_eq!((hub.subscriptions(), hub.by_subject.len()), (3, 2));

    let mut seats: Vec<_> = (0..3).map(|_| hub.acquire_slot().ok().unwrap()).collect();
    assert_eq!(hub.acquire_slot().err(), Some(SubscribeError::Service));
    seats.pop();
    assert!(hub.acquire_slot().is_ok());
    assert_eq!(hub.connections(), 2);
}

// Checks: when subscribers arrive together, no tenth of the period has more than its share of turns, and no two share
// one.
#[test]
fn turns_are_spread_over_the_period() {
    let hub = hub(1000, 100);
    let all: Vec<_> = (0..100).map(|_| hub.subscribe(A, session(1)).unwrap()).collect();
    let mut tenths = [0; 10];
    for subscription in &all {
        let turn = subscription.phase(Duration::from_secs(30)).as_millis();
        tenths[usize::try_from(turn / 3_001).unwrap()] += 1;
    }
    assert!(tenths.iter().all(|n| (8..=12).contains(n)), "{tenths:?}");
}

// Checks: revoking a session reaches its streams and no others.
#[test]
fn a_revoked_session_loses_its_streams() {
    let hub = hub(1000, 2);
    let (one, other) = (
        hub.subscribe(A, session(1)).unwrap(),
        hub.subscribe(A, session(2)).unwrap(),
    );
    hub.revoke(&A, SessionId(1));
    assert_eq!((one.is_revoked(), other.is_revoked()), (true, false));
}
