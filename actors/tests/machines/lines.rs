//! Product line state machine: every command in every state, its events and audit records.

use purser_actors::entity::line::{Command, Event, LineState, Rejection};
use purser_actors::kernel::{Entity, table};
use purser_actors::product::ProductLine;
use purser_storage::Write;

use crate::fixtures::{NOW, at, event_names, fold, operator, status};
use crate::transitions::assert_chart;

const LINE: ProductLine = ProductLine::GiftCard;

const TABLE: &str = "
         -       open    failing    closed
fail     Failed  Failed  =          =
recover  =       =       Recovered  =
close    Closed  Closed  Closed     !
open     !       !       Opened     Opened
";

fn commands() -> Vec<(&'static str, Command)> {
    let (reason, error) = ("Maintenance.".to_owned(), "no answer in time".to_owned());
    let act = operator();
    let close = Command::Close {
        reason: reason.clone(),
        act: act.clone(),
    };
    vec![
        ("fail", Command::Fail { error }),
        ("recover", Command::Recover),
        ("close", close),
        ("open", Command::Open { reason, act }),
    ]
}

fn events() -> Vec<Event> {
    vec![
        Event::Failed("no answer in time".into(), NOW),
        Event::Recovered(NOW),
        Event::Closed("Maintenance.".into(), "ana".into(), NOW),
        Event::Opened("Maintenance.".into(), "ana".into(), NOW),
    ]
}

fn states() -> Vec<(&'static str, Option<LineState>)> {
    let events = events();
    let after = |places: &[usize]| -> Option<LineState> {
        let history: Vec<Event> = places.iter().map(|n| events[*n].clone()).collect();
        Some(fold(None, &LINE, &history))
    };
    vec![
        ("-", None),
        ("open", after(&[0, 1])),
        ("failing", after(&[0])),
        ("closed", after(&[2])),
    ]
}

#[test]
fn every_command_in_every_line_state_matches_the_table() {
    // Checks: a provider result closes a line and opens only what such a result closed; an operator opens and closes
    // any. A repeated command is rejected or has no effect, and each operator action has one audit record.
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states().iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for ((met, state), expected) in states().iter().zip(&cells[1..]) {
            match LineState::decide(state.as_ref(), &LINE, command.clone(), &at(NOW)) {
                Ok(decision) => {
                    assert_eq!(event_names(&decision), *expected, "{name} in {met}");
                    let is_act = |write: &&Write| matches!(write, Write::Put { key, .. } if key[0] == table::AUDIT_LOG);
                    let acts = decision.writes().iter().filter(is_act).count();
                    let by_operator = matches!(*expected, "Closed" | "Opened");
                    assert_eq!(acts, usize::from(by_operator), "{name} in {met}");
                }
                Err(Rejection::AlreadyInState(current)) => {
                    let known = match status(state.as_ref()) {
                        "-" => "open",
                        known => known,
                    };
                    assert_eq!((current, *expected), (known, "!"), "{name} in {met}");
                }
            }
        }
    }
}

#[test]
fn line_transitions_match_apply() {
    // Checks: state × event, exhaustively; every line has a unique name that parses back to it.
    let known: Vec<LineState> = states().into_iter().filter_map(|(_, state)| state).collect();
    assert_chart(&LINE, known, &events());
    for line in ProductLine::ALL {
        use purser_actors::kernel::EntityId as _;
        assert_eq!(line.name().parse(), Ok(line));
        assert_eq!(ProductLine::from_key(&line.key()), Some(line));
    }
    assert!("usa_card".parse::<ProductLine>().is_err());
}
