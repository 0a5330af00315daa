//! Passkey state machine: every command in every state, and the signature counter.

use purser_actors::credential::{AnsweredChallenge, Credential};
use purser_actors::entity::passkey::{Command, Event, Passkey, Rejection};
use purser_actors::entity::session::{AuthMethod, ID_TOKEN_MAX_S, Session};
use purser_actors::id::PasskeyId;
use purser_actors::kernel::{Entity, table, to_json};
use purser_storage::{Condition, Write, codec};

use crate::fixtures::{NOW, WALLET, at, event_names, fold, session, status};
use crate::transitions::{assert_chart, commanded, listed};

const ID: PasskeyId = PasskeyId(23);
const SLOT: u8 = 4;
const CHALLENGE: AnsweredChallenge = AnsweredChallenge {
    nonce: [5; 16],
    expires_s: 900,
};

const TABLE: &str = "
         -         active            removed
add      Added     AlreadyAdded      AlreadyAdded
sign-in  NotFound  Used              Removed
confirm  NotFound  Used              Removed
copied   NotFound  CounterRegressed  Removed
rename   NotFound  Renamed           Removed
same     NotFound  .                 Removed
remove   NotFound  Removed           .
";

fn credential(counter: u32) -> Credential {
    Credential {
        id: vec![1, 2, 3],
        public_key: vec![9; 77],
        counter,
        backup_eligible: false,
    }
}

fn added() -> Event {
    Event::Added {
        owner: WALLET,
        name: "Phone".into(),
        credential: credential(7),
        slot: SLOT,
        at: NOW,
    }
}

fn events() -> Vec<Event> {
    vec![
        added(),
        Event::Used { counter: 8, at: NOW },
        Event::Renamed("Key".into()),
        Event::Removed(NOW),
    ]
}

fn passkeys() -> Vec<Passkey> {
    let active: Passkey = fold(None, &ID, &[added()]);
    let removed = fold(Some(active.clone()), &ID, &events()[3..]);
    vec![active, removed]
}

fn used(counter: u32, opens: bool) -> Command {
    Command::Use {
        counter,
        challenge: CHALLENGE,
        session: opens.then(session),
    }
}

fn commands() -> Vec<(&'static str, Command)> {
    let add = Command::Add {
        owner: WALLET,
        name: "Phone".into(),
        credential: credential(7),
        slot: SLOT,
        challenge: CHALLENGE,
    };
    vec![
        ("add", add),
        ("sign-in", used(8, true)),
        ("confirm", used(8, false)),
        ("copied", used(7, true)),
        ("rename", Command::Rename("Key".into())),
        ("same", Command::Rename("Phone".into())),
        ("remove", Command::Remove),
    ]
}

#[test]
fn every_command_in_every_state_matches_the_table() {
    // Checks: seven commands in three states. A removed passkey does nothing any more, and stays removed.
    let states: Vec<_> = std::iter::once(None).chain(passkeys().into_iter().map(Some)).collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let outcome = match Passkey::decide(state.as_ref(), &ID, command.clone(), &at(NOW)) {
                Err(rejection) => format!("{rejection:?}"),
                Ok(decision) if decision.events().is_empty() => {
                    assert!(decision.writes().is_empty() && decision.new_entities().is_empty());
                    ".".to_owned()
                }
                Ok(decision) => event_names(&decision),
            };
            assert_eq!(outcome, *expected, "{name} in {}", status(state.as_ref()));
        }
    }
}

#[test]
fn transitions_match_events_and_commands() {
    // Checks: state × event and state × command, exhaustively, give the listed transitions.
    assert_chart(&ID, passkeys(), &events());
    assert_eq!(commanded(&ID, passkeys(), commands()), listed::<Passkey>());
}

#[test]
fn counter_must_grow_unless_the_authenticator_has_none() {
    // Checks: stored counter, counter of the answer, whether it is accepted. A synced passkey always sends 0.
    for (stored, sent, accepted) in [
        (0, 0, true),
        (0, 1, true),
        (7, 8, true),
        (7, 7, false),
        (7, 6, false),
        (7, 0, false),
        (u32::MAX, u32::MAX, false),
        (u32::MAX, 0, false),
    ] {
        let mut passkey = passkeys().remove(0);
        passkey.credential = credential(stored);
        let decided = Passkey::decide(Some(&passkey), &ID, used(sent, true), &at(NOW));
        match decided {
            Ok(decision) if accepted => {
                let after: Passkey = fold(Some(passkey), &ID, decision.events());
                assert_eq!((after.credential.counter, after.used_at), (sent, Some(NOW)));
            }
            decided => {
                assert_eq!(decided.map(drop).unwrap_err(), Rejection::CounterRegressed);
                assert!(!accepted, "{stored} {sent}");
            }
        }
    }
}

#[test]
fn challenge_is_used_in_the_batch_that_it_permits() {
    // Checks: addition, sign-in and confirmation store the challenge on the condition that it is new. Only a sign-in
    // opens a session: the passkey's, of its owner, created by no other session.
    let row = table::nonce(CHALLENGE.expires_s, &CHALLENGE.nonce);
    let active = passkeys().remove(0);
    for (name, command) in commands().into_iter().take(3) {
        let state = (name != "add").then_some(&active);
        let decision = Passkey::decide(state, &ID, command, &at(NOW)).unwrap();
        assert!(
            decision.conditions().contains(&Condition::Absent(row.clone())),
            "{name}"
        );
        assert_eq!(decision.new_entities().len(), usize::from(name == "sign-in"), "{name}");
        for opened in decision.new_entities() {
            let opened: Session = codec::decode(opened.snapshot()).unwrap();
            assert_eq!((opened.owner, opened.amr), (WALLET, AuthMethod::Passkey(ID)));
            assert_eq!((opened.created_by, opened.confirmation), (None, None));
        }
    }
}

#[test]
fn active_passkey_takes_a_slot_that_its_removal_frees() {
    // Checks: it is added on the condition that slot and credential id are free. Its removal frees the slot, not the
    // credential id, together with the row that ends its sessions.
    let slot = table::passkey_slot(&WALLET, SLOT);
    let credential = table::passkey_credential(&credential(7).id);
    let (_, add) = commands().remove(0);
    let added = Passkey::decide(None, &ID, add, &at(NOW)).unwrap();
    for row in [&slot, &credential] {
        assert!(added.conditions().contains(&Condition::Absent(row.clone())));
    }
    let active = passkeys().remove(0);
    let removed = Passkey::decide(Some(&active), &ID, Command::Remove, &at(NOW)).unwrap();
    let ends = table::revoked_session(NOW.seconds() + ID_TOKEN_MAX_S, ID.session_id());
    let wrote = |wanted: &dyn Fn(&Write) -> bool| removed.writes().iter().any(wanted);
    assert!(wrote(&|write| matches!(write, Write::Put { key, .. } if *key == ends)));
    assert!(wrote(&|write| matches!(write, Write::Delete { key } if *key == slot)));
    assert!(!wrote(
        &|write| matches!(write, Write::Delete { key } if *key == credential)
    ));
}

#[test]
fn view_has_no_key() {
    // Checks: neither the list nor an event has the credential id, the public key or the counter.
    let text = to_json(&passkeys()[0].view(&ID));
    let begin = format!(r#"{{"passkey_id":"{ID}","name":"Phone","status":"active","synced":false,"created_at":""#);
    assert!(
        text.starts_with(&begin) && text.ends_with(r#"","last_used_at":null}"#),
        "{text}"
    );
}
