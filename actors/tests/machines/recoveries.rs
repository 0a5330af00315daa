//! Recovery state machine: every command in every state, the wait, and what the batches require and write.

use purser_actors::credential::Credential;
use purser_actors::entity::passkey::{self, Passkey};
use purser_actors::entity::recovery::{AccessCutoff, CancelledBy, Command, Event, READY_MS, Recovery, WAIT_MS};
use purser_actors::entity::session::{AuthMethod, Session};
use purser_actors::id::{PasskeyId, SessionId};
use purser_actors::kernel::{Entity, table, to_json};
use purser_actors::port::Timestamp;
use purser_storage::{Condition, RowKey, Write, codec};

use crate::fixtures::{JOB, NOW, WALLET, at, event_names, fold, job_names, session, status};
use crate::transitions::{assert_chart, commanded, listed};

const NONCE: ([u8; 16], u64) = ([6; 16], 900);

const TABLE: &str = "
          -          waiting    ready      completed  cancelled  expired
request   Requested  .          .          Requested  Requested  Requested
early     NotFound   .          .          .          .          .
complete  NotFound   NotReady   Completed  NotFound   NotFound   NotFound
cancel    NotFound   Cancelled  Cancelled  NotFound   .          NotFound
restore   NotFound   Cancelled  Cancelled  NotFound   .          NotFound
removed   NotFound   .          .          .          .          .
";

fn events() -> Vec<Event> {
    vec![
        Event::Requested(NOW),
        Event::Ready(NOW),
        Event::Completed(NOW),
        Event::Cancelled(CancelledBy::Owner, NOW),
        Event::Expired(NOW),
    ]
}

/// One in each state, in the order of the table.
fn recoveries() -> Vec<Recovery> {
    let of = |path: &[usize]| {
        let path: Vec<Event> = path.iter().map(|n| events()[*n].clone()).collect();
        fold(None, &WALLET, &path)
    };
    vec![of(&[0]), of(&[0, 1]), of(&[0, 1, 2]), of(&[0, 3]), of(&[0, 1, 4])]
}

fn commands() -> Vec<(&'static str, Command)> {
    let complete = Command::Complete {
        nonce: NONCE,
        session: session(),
    };
    vec![
        ("request", Command::Request { nonce: NONCE }),
        ("early", Command::Continue { job: JOB }),
        ("complete", complete),
        ("cancel", Command::Cancel(CancelledBy::Owner)),
        ("restore", Command::Cancel(CancelledBy::Restore)),
        ("removed", Command::RecordPasskeysRemoved { job: JOB }),
    ]
}

fn late(ms: u64) -> Timestamp {
    Timestamp(NOW.0 + ms)
}

#[test]
fn every_command_in_every_state_matches_the_table() {
    // Checks: six commands in six states. Nothing but a ready one is completed, and a running one does not begin anew.
    let states: Vec<_> = std::iter::once(None)
        .chain(recoveries().into_iter().map(Some))
        .collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let outcome = match Recovery::decide(state.as_ref(), &WALLET, command.clone(), &at(NOW)) {
                Err(rejection) => format!("{rejection:?}"),
                Ok(decision) if decision.events().is_empty() => ".".to_owned(),
                Ok(decision) => event_names(&decision),
            };
            assert_eq!(outcome, *expected, "{name} in {}", status(state.as_ref()));
        }
    }
}

#[test]
fn transitions_match_events_and_commands() {
    // Checks: state × event and state × command give the listed transitions, with the timer's command when it is due.
    assert_chart(&WALLET, recoveries(), &events());
    let mut made = commanded(&WALLET, recoveries(), commands());
    for (n, ms, from, to) in [
        (0, WAIT_MS, "waiting", "ready"),
        (1, WAIT_MS + READY_MS, "ready", "expired"),
    ] {
        let state = &recoveries()[n];
        let early = Recovery::decide(Some(state), &WALLET, Command::Continue { job: JOB }, &at(late(ms - 1)));
        assert!(early.unwrap().events().is_empty());
        let due = Recovery::decide(Some(state), &WALLET, Command::Continue { job: JOB }, &at(late(ms)));
        let after: Recovery = fold(Some(state.clone()), &WALLET, due.unwrap().events());
        assert_eq!(status(Some(&after)), to);
        made.insert((from, to));
    }
    assert_eq!(made, listed::<Recovery>());
}

#[test]
fn wallet_completes_it_only_between_the_wait_and_its_end() {
    // Checks: the wait is a day, and seven days later it is over, also before the timer has run.
    let complete = || commands().remove(2).1;
    let ready = &recoveries()[1];
    assert_eq!(
        (ready.ready_at, ready.expires_at),
        (late(WAIT_MS), late(WAIT_MS + READY_MS))
    );
    assert_eq!((WAIT_MS, READY_MS), (86_400_000, 604_800_000));
    let waiting = &recoveries()[0];
    assert!(Recovery::decide(Some(waiting), &WALLET, complete(), &at(late(WAIT_MS))).is_err());
    for (ms, may) in [
        (WAIT_MS, true),
        (WAIT_MS + READY_MS - 1, true),
        (WAIT_MS + READY_MS, false),
    ] {
        let decided = Recovery::decide(Some(ready), &WALLET, complete(), &at(late(ms)));
        assert_eq!(decided.is_ok(), may, "{ms}");
    }
}

#[test]
fn batches_use_the_signature_and_respect_a_freeze() {
    // Checks: a request and a completion need that the nonce is new and the account not frozen. The completion opens one
    // session of the wallet, in the account's list, and removes the passkeys from before. Each end deletes the row.
    let row = table::open_recovery(&WALLET);
    let needed = [
        Condition::Absent(table::nonce(NONCE.1, &NONCE.0)),
        Condition::Absent(table::frozen(&WALLET)),
    ];
    let begun = Recovery::decide(None, &WALLET, commands().remove(0).1, &at(NOW)).unwrap();
    let completed = Recovery::decide(Some(&recoveries()[1]), &WALLET, commands().remove(2).1, &at(NOW)).unwrap();
    for decision in [&begun, &completed] {
        assert!(needed.iter().all(|needed| decision.conditions().contains(needed)));
    }
    assert!(begun.conditions().contains(&Condition::Absent(row.clone())));
    // The end of the wait is a job that is not due yet.
    let timer = [&[table::TIMER][..], &late(WAIT_MS).0.to_be_bytes()].concat();
    let sets_timer = |write: &Write| matches!(write, Write::Put { key, .. } if key.starts_with(&timer));
    assert!(begun.writes().iter().any(sets_timer) && job_names(&begun).is_empty());
    assert_eq!(job_names(&completed), ["remove_lost_passkeys"]);
    let [opened] = completed.new_entities() else {
        panic!("one session")
    };
    let opened: Session = codec::decode(opened.snapshot()).unwrap();
    assert_eq!(
        (opened.owner, opened.amr, opened.created_by),
        (WALLET, AuthMethod::Wallet, None)
    );
    // All access from before ends, and until a passkey is added only the new session's links confirm.
    let opened_id = session().id;
    let value_of = |row: &RowKey| {
        completed.writes().iter().find_map(|write| match write {
            Write::Put { key, value, .. } if key == row => Some(value.clone()),
            _ => None,
        })
    };
    let cutoff = AccessCutoff::completed(NOW, opened_id);
    assert_eq!(value_of(&table::access_cutoff(&WALLET)), Some(cutoff.to_bytes()));
    let recovered = value_of(&table::recovered(&WALLET));
    assert_eq!(recovered, Some(opened_id.0.to_be_bytes().to_vec()));
    let cancelled = Recovery::decide(Some(&recoveries()[0]), &WALLET, commands().remove(3).1, &at(NOW)).unwrap();
    let expired = Recovery::decide(
        Some(&recoveries()[1]),
        &WALLET,
        Command::Continue { job: JOB },
        &at(late(WAIT_MS + READY_MS)),
    );
    for decision in [&completed, &cancelled, &expired.unwrap()] {
        let deletes = |write: &Write| matches!(write, Write::Delete { key } if *key == row);
        assert!(decision.writes().iter().any(deletes));
    }
}

#[test]
fn recovery_ends_all_sessions_until_its_time_but_its_own() {
    // Checks: sessions opened until the completion, in the same millisecond too, and none after it. After a restore that
    // lost the completion there is no exception. Both are read back as they were written.
    let completed = Recovery::decide(Some(&recoveries()[1]), &WALLET, commands().remove(2).1, &at(NOW)).unwrap();
    let [opened] = completed.new_entities() else {
        panic!("one session")
    };
    let opened: Session = codec::decode(opened.snapshot()).unwrap();
    let (own, other) = (session().id, SessionId(session().id.0 ^ 1));
    let mut later = opened.clone();
    later.created_at = Timestamp(NOW.0 + 1);
    for (cutoff, own_ends) in [
        (AccessCutoff::completed(NOW, own), false),
        (AccessCutoff::restored(NOW), true),
    ] {
        assert_eq!(AccessCutoff::from_bytes(&cutoff.to_bytes()), Some(cutoff));
        assert_eq!(cutoff.has_ended(&own, &opened), own_ends);
        assert!(cutoff.has_ended(&other, &opened) && !cutoff.has_ended(&other, &later));
    }
    assert_eq!(AccessCutoff::from_bytes(&[0; 9]), None);
    // A passkey ends with a completion by the same rule. Each completion changes the revision of the row.
    let passkey = |at| {
        let added = passkey::Event::Added {
            owner: WALLET,
            name: "Phone".to_owned(),
            credential: Credential {
                id: vec![1],
                public_key: vec![9; 77],
                counter: 0,
                backup_eligible: false,
            },
            slot: 0,
            at,
        };
        let passkey: Passkey = fold(None, &PasskeyId(5), &[added]);
        passkey
    };
    let cutoff = AccessCutoff::completed(NOW, own);
    assert!(cutoff.has_ended_passkey(&passkey(NOW)) && !cutoff.has_ended_passkey(&passkey(Timestamp(NOW.0 + 1))));
    assert!(!AccessCutoff::restored(NOW).has_ended_passkey(&passkey(NOW)));
    let row = table::access_cutoff(&WALLET);
    let revision = completed.writes().iter().find_map(|write| match write {
        Write::Put { key, revision, .. } if *key == row => Some(*revision),
        _ => None,
    });
    assert_eq!(revision, Some(NOW.0));
}

#[test]
fn timer_of_a_cancelled_recovery_does_not_shorten_the_next_one() {
    // Checks: the job of the first one is due in the wait of the second, and ends nothing.
    let first: Recovery = recoveries().remove(3);
    let second: Recovery = fold(Some(first), &WALLET, &[Event::Requested(late(WAIT_MS - 1))]);
    let due = Recovery::decide(
        Some(&second),
        &WALLET,
        Command::Continue { job: JOB },
        &at(late(WAIT_MS)),
    );
    assert!(due.unwrap().events().is_empty());
    assert_eq!((second.cancelled_by, second.ended_at), (None, None));
}

#[test]
fn view_says_until_when_it_can_be_cancelled() {
    // Checks: the members of an event and of the routes. Ends are named.
    let text = to_json(&recoveries()[0].view(&WALLET));
    assert!(
        text.contains(r#""status":"waiting""#) && text.contains("ready_at") && !text.contains("ended_at"),
        "{text}"
    );
    let text = to_json(&recoveries()[3].view(&WALLET));
    assert!(
        text.contains(r#""cancelled_by":"owner""#) && text.contains("ended_at"),
        "{text}"
    );
}
