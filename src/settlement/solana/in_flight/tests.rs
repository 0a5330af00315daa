#![allow(clippy::unwrap_used, reason = "a test")]

use purser_actors::port::Timestamp;
use purser_chains::solana::lifecycle::Absence;
use purser_chains::solana::status::TransactionError;
use serde_json::json;

use super::*;

const ID: Signature = [7; 64];

fn open(bytes: &[u8]) -> Open {
    Open {
        bytes: bytes.to_vec(),
        payer: [1; 32],
        fee_payer: [2; 32],
        last_valid_block_height: 1_000,
        not_before_slot: 900,
        fees: [10_000, 0, 0],
        at: Timestamp(0),
    }
}

fn flights(old: bool) -> InFlightTransactions {
    let mut flights = InFlightTransactions::new(2, Pacing::default());
    assert_eq!(flights.start(ID, open(&[1]), old, None), None);
    flights
}

fn status(level: Commitment, failed: bool) -> SignatureStatus {
    let error = failed.then(|| TransactionError::from_json(&json!({"InstructionError": [2, {"Custom": 1}]})).unwrap());
    SignatureStatus {
        slot: 950,
        level,
        error,
    }
}

fn status_update(level: Commitment) -> NodeUpdate {
    NodeUpdate::Status(StatusAnswer {
        context_slot: 960,
        found: Some(status(level, false)),
    })
}

fn failed_finally() -> NodeUpdate {
    NodeUpdate::Evidence(Evidence::Found {
        context_slot: 1_300,
        status: status(Commitment::Finalized, true),
    })
}

fn absent(height: u64) -> NodeUpdate {
    NodeUpdate::Evidence(Evidence::Absent(Absence {
        finalized_block_height: height,
        finalized_slot: height + 100,
        first_available_slot: 0,
        context_slot: height + 132,
    }))
}

// Checks: a transaction that the engine has not submitted is never sent, in the same run and after a restart. Once
// submitted, it is sent at once.
#[test]
fn nothing_is_sent_before_it_is_released() {
    for old in [false, true] {
        let mut flights = flights(old);
        for now_ms in (0..200_000).step_by(500) {
            assert_eq!(flights.due(now_ms, 900).sends, []);
        }
        flights.due(300_000, 900);
        assert!(flights.release(&ID).is_some());
        assert_eq!(flights.first_send(&ID, 300_001), Some(vec![1]));
        assert_eq!(flights.due(302_001, 900).sends, [(ID, vec![1])]);
    }
}

// Checks: only transactions that may have been sent cost a query. One that was just prepared costs none until it could
// have expired.
#[test]
fn only_what_may_be_sent_is_asked_after() {
    let mut fresh = flights(false);
    let due = fresh.due(0, 1_000);
    assert!(due.statuses.is_empty() && due.searches.is_empty());
    assert_eq!(fresh.due(1, 1_001).searches, [ID], "past its last block height");
    assert_eq!(flights(true).due(0, 900).statuses, [ID]);
}

// Checks: one endpoint's proof of any kind does not end a transaction; two endpoints do.
#[test]
fn an_end_needs_two_endpoints() {
    for (answer, end) in [
        (absent(1_001), End::Expired),
        (
            failed_finally(),
            End::Failed(r#"{"InstructionError":[2,{"Custom":1}]}"#.into()),
        ),
    ] {
        let mut flights = flights(true);
        for _ in 0..3 {
            flights.apply(&ID, 0, answer.clone(), 0);
            assert!(flights.due(0, 1_001).ends.is_empty(), "{end:?}");
        }
        flights.searched(&ID);
        assert_eq!(flights.due(100_000, 1_001).searches, [ID], "another endpoint is asked");
        flights.apply(&ID, 1, answer, 0);
        assert_eq!(flights.due(0, 1_001).ends, [(ID, end.clone())]);
        assert!(flights.due(0, 1_001).ends.is_empty(), "it is being written");
        flights.close_failed(&ID);
        assert_eq!(flights.due(0, 1_001).ends, [(ID, end)]);
    }
}

// Checks: a transaction removed by a fork is sent again, and counts as removed until it is seen again.
#[test]
fn what_a_fork_removed_is_sent_again() {
    let mut flights = flights(false);
    let changes = flights.release(&ID).unwrap();
    assert!(flights.first_send(&ID, 0).is_some());
    flights.apply(&ID, 0, NodeUpdate::Sent, 0);
    flights.apply(&ID, 0, status_update(Commitment::Confirmed), 0);
    assert!(changes.has_changed().unwrap());
    assert!(flights.due(3_000, 950).sends.is_empty() && !flights.is_removed(&ID));
    flights.recheck(&ID);
    assert_eq!(flights.due(3_001, 950).searches, [ID]);
    flights.searched(&ID);
    let changed = flights.apply(&ID, 0, absent(960), 3_002).unwrap();
    assert!(changed.transition.is_reorg() && flights.is_removed(&ID));
    assert_eq!(flights.due(3_003, 961).sends.len(), 1);
    let again = NodeUpdate::Status(StatusAnswer {
        context_slot: 2_000,
        found: Some(status(Commitment::Finalized, false)),
    });
    flights.apply(&ID, 1, again.clone(), 4_000);
    assert!(!flights.is_removed(&ID));
    assert!(
        flights.due(4_001, 961).ends.is_empty(),
        "one endpoint alone makes nothing final"
    );
    flights.apply(&ID, 0, again, 4_000);
    assert_eq!(flights.due(4_001, 961).ends, [(ID, End::Confirmed)]);
}

// Checks: a transaction that is only tracked has no bytes and is never sent. Preparing it later adds the bytes.
#[test]
fn preparing_a_watched_transaction_allows_its_sending() {
    let mut flights = InFlightTransactions::new(2, Pacing::default());
    flights.start(ID, open(&[]), true, None);
    flights.release(&ID);
    assert!(!flights.has_bytes(&ID) && flights.first_send(&ID, 0).is_none());
    assert!(flights.due(10_000, 900).sends.is_empty());
    flights.start(ID, open(&[5]), false, None);
    assert_eq!(flights.due(20_000, 900).sends, [(ID, vec![5])]);
}

// Checks: a transaction that does not become final is searched for again after a minute, even if no endpoint reports it
// missing.
#[test]
fn transaction_that_does_not_become_final_is_unknown() {
    let mut flights = flights(true);
    flights.apply(&ID, 0, status_update(Commitment::Confirmed), 1_000);
    assert!(flights.due(60_999, 950).searches.is_empty());
    assert_eq!(flights.due(61_000, 950).searches, [ID]);
}
