//! API key state machine: every command in every state.

use purser_actors::entity::api_key::{ApiKey, Command, Event, KeyLimits, REVEAL_WINDOW_MS, Rejection};
use purser_actors::entity::session::{
    AgentInfo, AuthMethod, Command as OfSession, Event as InSession, ID_TOKEN_MAX_S, Session,
};
use purser_actors::id::{ApiKeyId, Wallet};
use purser_actors::kernel::{Entity, StateMachine, table, to_json};
use purser_actors::money::Cents;
use purser_actors::port::Timestamp;
use purser_storage::{Condition, Write, codec};

use crate::fixtures::{NOW, WALLET, at, event_names, fold, job_names, session, status};
use crate::transitions::{assert_chart, commanded, listed};

const ID: ApiKeyId = ApiKeyId(19);
const OTHER: Wallet = Wallet::Evm([2; 20]);
const SLOT: u8 = 3;
const LIMITS: KeyLimits = KeyLimits {
    per_call: Some(Cents::new(200)),
    per_day: None,
};

const TABLE: &str = "
            -         issued          active          revoked         rejected
open        Issued    .               .               AlreadyClaimed  AlreadyClaimed
another     Issued    AlreadyClaimed  AlreadyClaimed  AlreadyClaimed  AlreadyClaimed
reject      Rejected  AlreadyClaimed  AlreadyClaimed  AlreadyClaimed  .
reject-too  Rejected  AlreadyClaimed  AlreadyClaimed  AlreadyClaimed  AlreadyClaimed
use         NotFound  Activated       Exchanged       Revoked         Revoked
revoke      NotFound  Revoked         Revoked         .               .
limits      NotFound  LimitsChanged   LimitsChanged   Revoked         Revoked
";

fn events() -> Vec<Event> {
    vec![
        Event::Issued {
            owner: WALLET,
            name: "Ada's agent".into(),
            slot: SLOT,
            at: NOW,
        },
        Event::Activated(NOW),
        Event::Exchanged(NOW),
        Event::Revoked(NOW),
        Event::Rejected { owner: WALLET, at: NOW },
        Event::LimitsChanged(LIMITS),
    ]
}

fn keys() -> Vec<ApiKey> {
    let issued: ApiKey = fold(None, &ID, &events()[..1]);
    let active = fold(Some(issued.clone()), &ID, &events()[1..2]);
    let revoked = fold(Some(active.clone()), &ID, &events()[3..4]);
    let rejected = fold(None, &ID, &events()[4..5]);
    vec![issued, active, revoked, rejected]
}

fn commands() -> Vec<(&'static str, Command)> {
    let open = |owner| Command::Issue {
        owner,
        name: "Ada's agent".into(),
        slot: SLOT,
    };
    vec![
        ("open", open(WALLET)),
        ("another", open(OTHER)),
        ("reject", Command::Reject { owner: WALLET }),
        ("reject-too", Command::Reject { owner: OTHER }),
        ("use", Command::Exchange { session: session() }),
        ("revoke", Command::Revoke),
        ("limits", Command::SetLimits(LIMITS)),
    ]
}

#[test]
fn every_command_in_every_state_matches_the_table() {
    // Checks: each command in each state. A second answer of the same owner changes nothing, another's is rejected; a
    // revoked key opens no session and stays revoked, and a rejected signup never becomes a key.
    let states: Vec<_> = std::iter::once(None).chain(keys().into_iter().map(Some)).collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let met = status(state.as_ref());
            let outcome = match ApiKey::decide(state.as_ref(), &ID, command.clone(), &at(NOW)) {
                Err(rejection) => format!("{rejection:?}"),
                Ok(decision) if decision.events().is_empty() => {
                    assert!(
                        decision.writes().is_empty() && decision.new_entities().is_empty(),
                        "{name} in {met}"
                    );
                    ".".to_owned()
                }
                Ok(decision) => event_names(&decision),
            };
            assert_eq!(outcome, *expected, "{name} in {met}");
        }
    }
    assert_eq!(
        ApiKey::decide(None, &ID, Command::Revoke, &at(NOW)).unwrap_err(),
        Rejection::NotFound
    );
}

#[test]
fn transitions_match_events_and_commands() {
    // Checks: state × event and state × command, exhaustively, give the listed transitions.
    assert_chart(&ID, keys(), &events());
    assert_eq!(commanded(&ID, keys(), commands()), listed::<ApiKey>());
}

#[test]
fn active_key_takes_a_slot_that_its_revocation_frees() {
    // Checks: it is issued on the condition that its slot is free, and its revocation frees the slot together with the
    // row that authenticates tokens.
    let place = table::api_key(&WALLET, SLOT);
    let (_, open) = commands().remove(0);
    let issued = ApiKey::decide(None, &ID, open, &at(NOW)).unwrap();
    assert!(issued.conditions().contains(&Condition::Absent(place.clone())));
    let issued = keys().remove(0);
    let ended = ApiKey::decide(Some(&issued), &ID, Command::Revoke, &at(NOW)).unwrap();
    assert!(ended.conditions().contains(&Condition::Present(place.clone())));
    let revoked = table::revoked_session(NOW.seconds() + ID_TOKEN_MAX_S, ID.session_id());
    let wrote = |wanted: &dyn Fn(&Write) -> bool| ended.writes().iter().any(wanted);
    assert!(wrote(
        &|write| matches!(write, Write::Put { key, .. } if *key == revoked)
    ));
    assert!(wrote(&|write| matches!(write, Write::Delete { key } if *key == place)));
    assert_eq!(job_names(&ended), ["end_approvals_of_key"]);
}

#[test]
fn each_exchange_opens_a_session_that_names_the_key() {
    // Checks: the session belongs to the owner, names the key, and is opened by the batch that records the exchange.
    for key in &keys()[..2] {
        let used = ApiKey::decide(Some(key), &ID, Command::Exchange { session: session() }, &at(NOW)).unwrap();
        let [opening] = used.new_entities() else {
            panic!("one session")
        };
        let opened: Session = codec::decode(opening.snapshot()).unwrap();
        assert_eq!((opened.owner, opened.amr), (WALLET, AuthMethod::Key(ID)));
        assert_eq!(fold(Some(key.clone()), &ID, used.events()).status(), "active");
    }
}

#[test]
fn key_is_readable_until_first_use_or_ten_minutes() {
    // Checks: to the last millisecond, and never after it was used or revoked.
    let all = keys();
    let late = |ms| Timestamp(NOW.0 + ms);
    assert!(all[0].is_revealable(NOW) && all[0].is_revealable(late(REVEAL_WINDOW_MS - 1)));
    assert!(!all[0].is_revealable(late(REVEAL_WINDOW_MS)));
    assert!(all[1..].iter().all(|key| !key.is_revealable(NOW)));
    let unread = fold(Some(all[0].clone()), &ID, &events()[3..4]);
    assert!(!unread.is_revealable(NOW));
    assert_eq!(REVEAL_WINDOW_MS, 600_000);
}

#[test]
fn view_of_every_state_omits_the_slot() {
    // Checks: the owner's view is valid JSON with the status, and a name stays text.
    for mut key in keys() {
        key.name = "<b>\u{202e}".into();
        let text = to_json(&key.view(&ID));
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&json["status"], &json["name"]),
            (&key.status().into(), &key.name.clone().into())
        );
        assert!(
            !text.contains(['<', '\u{202e}']) && json.get("place").is_none(),
            "{text}"
        );
        assert_eq!(json["last_used_at"].is_null(), key.used_at.is_none());
    }
}

#[test]
fn agent_name_is_valid_while_its_session_is() {
    // Checks: the latest name counts, is announced, and ends with the session.
    let id = session().id;
    let opening = Session::open(session(), WALLET, AuthMethod::Key(ID), None, &at(NOW)).unwrap();
    let opened: Session = codec::decode(opening.snapshot()).unwrap();
    let agent = |name: &str| AgentInfo {
        name: name.into(),
        client: Some("a program".into()),
        version: None,
    };
    let announced = ["one", "two"].into_iter().fold(opened, |session, name| {
        let said = Session::decide(Some(&session), &id, OfSession::AnnounceAgent(agent(name)), &at(NOW)).unwrap();
        assert_eq!(Session::event_name(&said.events()[0]), Some("agent_announced"));
        fold(Some(session), &id, said.events())
    });
    assert_eq!(announced.agent, Some(agent("two")));
    let json: serde_json::Value = serde_json::from_str(&to_json(&announced.view(&id))).unwrap();
    assert_eq!(
        json["agent"],
        serde_json::json!({"name": "two", "client": "a program", "version": null})
    );
    assert_eq!(json["api_key_id"], ID.to_string());
    let ended = Session::decide(Some(&announced), &id, OfSession::Revoke, &at(NOW)).unwrap();
    let ended = fold(Some(announced), &id, ended.events());
    assert!(Session::decide(Some(&ended), &id, OfSession::AnnounceAgent(agent("three")), &at(NOW)).is_err());
    assert!(Session::apply(Some(ended), &id, &InSession::AgentAnnounced(agent("three"))).is_err());
}
