//! Refresh tokens: each is used once, its predecessor once more within the grace period; any other reuse revokes the
//! session.

use purser_actors::entity::payment::SessionSeed;
use purser_actors::entity::session::{AuthMethod, Command, GRACE_MS, PasskeyConfirmation, Rejection, Reply, Session};
use purser_actors::id::{PasskeyId, SessionId};
use purser_actors::kernel::{Decision, Entity};
use purser_actors::port::Timestamp;
use purser_storage::codec;

use crate::fixtures::{NOW, PAYMENT, WALLET, at, fold};

const ID: SessionId = SessionId(1);
const LIFE_MS: u64 = 1_000_000;

/// Hash of the token of a generation.
const fn token(generation: u32) -> [u8; 32] {
    [generation as u8 + 1; 32]
}

fn opened() -> Session {
    let seed = SessionSeed {
        id: ID,
        first: token(0),
        life_ms: LIFE_MS,
        presented_key: None,
    };
    let opening = Session::open(seed, WALLET, AuthMethod::Payment(PAYMENT), None, &at(NOW)).unwrap();
    codec::decode(opening.snapshot()).unwrap()
}

fn refresh(session: &Session, presented: u32, next: u32, ms: u64) -> Result<Decision<Session>, Rejection> {
    let command = Command::Refresh {
        presented: token(presented),
        generation: next,
        next: token(next),
    };
    Session::decide(Some(session), &ID, command, &at(Timestamp(NOW.0 + ms)))
}

/// The session after refreshes at these times.
fn refreshed(moments: &[u64]) -> Session {
    moments.iter().zip(0..).fold(opened(), |session, (ms, n)| {
        let decision = refresh(&session, n, n + 1, *ms).unwrap();
        assert_eq!(*decision.reply(), Reply::Generation(n + 1));
        fold(Some(session), &ID, decision.events())
    })
}

#[test]
fn case_45_replaced_token_is_accepted_within_grace_until_successor_use() {
    // Checks: refreshes so far, presented token, time, reply. The grace period ends after exactly 30 s.
    for (moments, presented, ms, expected) in [
        (&[0][..], 0, 1, Reply::Generation(1)),
        (&[0], 0, GRACE_MS, Reply::Generation(1)),
        (&[0], 0, GRACE_MS + 1, Reply::ReuseDetected),
        (&[500], 0, 500 + GRACE_MS, Reply::Generation(1)),
        (&[500], 0, 501 + GRACE_MS, Reply::ReuseDetected),
        (&[0, 10], 0, 11, Reply::ReuseDetected),
        (&[0, 10], 1, 11, Reply::Generation(2)),
        (&[], 9, 0, Reply::ReuseDetected),
        (&[0, 10], 9, 11, Reply::ReuseDetected),
    ] {
        let session = refreshed(moments);
        let decision = refresh(&session, presented, session.generation + 1, ms).unwrap();
        let case = format!("token {presented} at {ms} after {moments:?}");
        assert_eq!(*decision.reply(), expected, "{case}");
        let after = decision
            .events()
            .iter()
            .fold(session.clone(), |s, e| Session::apply(Some(s), &ID, e).unwrap());
        match expected {
            Reply::ReuseDetected => assert!(!after.is_active(), "{case}"),
            _ => assert_eq!(after, session, "forgiving changes nothing: {case}"),
        }
    }
    assert_eq!(GRACE_MS, 30_000);
}

#[test]
fn case_45_revoked_session_stays_revoked() {
    // Checks: after a reuse neither the thief's token nor the owner's is valid.
    let session = refreshed(&[0, 10]);
    let revoked = fold(
        Some(session.clone()),
        &ID,
        refresh(&session, 0, 3, 20).unwrap().events(),
    );
    for presented in 0..4 {
        assert_eq!(refresh(&revoked, presented, 3, 21).unwrap_err(), Rejection::Revoked);
    }
    let again = Session::decide(Some(&revoked), &ID, Command::Revoke, &at(NOW));
    assert_eq!(again.map(drop).unwrap_err(), Rejection::Revoked);
    assert!(Session::decide(None, &ID, Command::Revoke, &at(NOW)).is_err());
}

#[test]
fn account_owner_revokes_a_session() {
    // Checks: after one command no token is valid.
    let session = opened();
    let ended = Session::decide(Some(&session), &ID, Command::Revoke, &at(NOW)).unwrap();
    let ended = fold(Some(session), &ID, ended.events());
    assert_eq!(refresh(&ended, 0, 1, 1).unwrap_err(), Rejection::Revoked);
}

#[test]
fn session_expires_at_its_last_millisecond() {
    // Checks: one millisecond before its end it refreshes, at its end it does not; each use extends it by a whole
    // lifetime.
    assert!(refresh(&opened(), 0, 1, LIFE_MS - 1).is_ok());
    assert_eq!(refresh(&opened(), 0, 1, LIFE_MS).unwrap_err(), Rejection::Expired);
    let used = refreshed(&[LIFE_MS - 2]);
    assert!(refresh(&used, 1, 2, 2 * LIFE_MS - 3).is_ok());
    assert_eq!(refresh(&used, 1, 2, 2 * LIFE_MS - 2).unwrap_err(), Rejection::Expired);
}

#[test]
fn refresh_of_another_generation_is_a_conflict() {
    // Checks: the next token is derived for one generation; with another it would not be found again.
    for generation in [0, 1, 3] {
        assert_eq!(
            refresh(&refreshed(&[0]), 1, generation, 1).unwrap_err(),
            Rejection::Stale
        );
    }
}

#[test]
fn case_26_last_generation_and_timestamp_do_not_wrap() {
    // Checks: at the largest counters a refresh is rejected and nothing wraps.
    let mut session = opened();
    session.generation = u32::MAX;
    session.expires_at = Timestamp(u64::MAX);
    assert_eq!(refresh(&session, 0, 0, 1).unwrap_err(), Rejection::Stale);
    session.generation = u32::MAX - 1;
    let decision = Session::decide(
        Some(&session),
        &ID,
        Command::Refresh {
            presented: token(0),
            generation: u32::MAX,
            next: [9; 32],
        },
        &at(Timestamp(u64::MAX - 1)),
    );
    let late = fold(Some(session), &ID, decision.unwrap().events());
    let forgiven = refresh(&late, 0, 0, u64::MAX - 1 - NOW.0).unwrap();
    assert_eq!(*forgiven.reply(), Reply::Generation(u32::MAX));
}

#[test]
fn confirmation_lasts_until_its_end_and_extends_nothing() {
    // Checks: an active session takes over the end of a confirmation, and nothing else changes. An ended one takes none.
    let confirmation = PasskeyConfirmation {
        passkey: PasskeyId(3),
        until: Timestamp(NOW.0 + 5),
    };
    let confirmed = Session::decide(Some(&opened()), &ID, Command::Confirm(confirmation), &at(NOW)).unwrap();
    let session = fold(Some(opened()), &ID, confirmed.events());
    let mut expected = opened();
    expected.confirmation = Some(confirmation);
    assert_eq!(session, expected);
    let ended = Session::decide(Some(&session), &ID, Command::Revoke, &at(NOW)).unwrap();
    let ended = fold(Some(session), &ID, ended.events());
    let again = Session::decide(Some(&ended), &ID, Command::Confirm(confirmation), &at(NOW));
    assert_eq!(again.map(drop).unwrap_err(), Rejection::Revoked);
}
