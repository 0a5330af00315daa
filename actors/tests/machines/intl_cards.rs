//! What holders want of international cards, and what operators report of them.

use purser_actors::intl_order::{IntlOrder, Rejection, Reply};
use purser_actors::kernel::job::Job;
use purser_actors::kernel::{Decision, Entity, table};
use purser_actors::money::Cents;
use purser_actors::port::CardState;
use purser_storage::Write;

use crate::fixtures::{CARD, NOW, WALLET, at, fold, job_names};
use crate::intl_orders::{decide, orders, record_report, rows};

#[test]
fn what_a_holder_wants_is_on_the_operators_list_until_it_is_answered() {
    // Aim: a wish is a row, another one in its place keeps it, one that is so already or taken back takes it away, and so does
    // the report that fulfils it, the one that says that nothing comes of it, and the card's end.
    let states = orders();
    let row = table::pending_card_action(NOW, CARD);
    let has = |decision: &Decision<IntlOrder>| {
        let put = |write: &Write| matches!(write, Write::Put { key, .. } if *key == row);
        let gone = |write: &Write| matches!(write, Write::Delete { key } if *key == row);
        (decision.writes().iter().any(put), decision.writes().iter().any(gone))
    };
    assert_eq!(has(&decide(&states[4], "pause")), (true, false));
    assert_eq!(has(&decide(&states[10], "close")), (false, false), "it keeps its place");
    for (state, name) in [
        (10, "resume"),
        (10, "report_paused"),
        (10, "report_no"),
        (10, "expire"),
        (11, "report_closed"),
    ] {
        assert_eq!(has(&decide(&states[state], name)), (false, true), "{name}");
    }
    assert_eq!(has(&decide(&states[10], "report_ready")), (false, false), "it waits on");
    assert_eq!(*decide(&states[10], "resume").reply(), Reply::ActionRequested(false));
    assert_eq!(*decide(&states[4], "pause").reply(), Reply::ActionRequested(true));
}

#[test]
fn what_was_left_is_credited_by_an_operators_word_and_never_more_than_was_on_the_card() {
    // Aim: the batch that closes the card credits what was given back and destroys the CVV; the same total again gives nothing,
    // more than was loaded and less than before are refused; who said so is in the audit log.
    let states = orders();
    let tell = |order: &IntlOrder, released| {
        let command = record_report(CardState::Closed, released, false);
        IntlOrder::decide(Some(order), &CARD, command, &at(NOW))
    };
    let closing = tell(&states[4], 3_00).unwrap();
    assert_eq!(job_names(&closing), ["credit", "shred"]);
    let Job::CreditAccount { amount, account, .. } = closing.jobs()[0].job else {
        panic!("{:?}", closing.jobs());
    };
    assert_eq!((amount.atomic(), account), (3_000_000, WALLET));
    assert_eq!(rows(&closing, table::AUDIT_LOG).len(), 1);
    let closed = fold(Some(states[4].clone()), &CARD, closing.events());
    assert_eq!(
        (closed.status(), closed.lifecycle.released),
        ("closed", Cents::new(3_00))
    );
    assert_eq!(job_names(&tell(&closed, 3_00).unwrap()), Vec::<&str>::new());
    assert_eq!(job_names(&tell(&closed, 5_00).unwrap()), ["credit"]);
    for released in [5_01, 2_99] {
        assert_eq!(tell(&closed, released).unwrap_err(), Rejection::Released, "{released}");
    }
}

#[test]
fn what_has_ended_is_not_said_to_be_as_it_was_before() {
    // Aim: a card that has ended is neither ready nor paused any more, whatever is said to be left on it; nothing is left to spend.
    let states = orders();
    for state in [7, 9] {
        for said in [CardState::Open, CardState::Paused] {
            let told = IntlOrder::decide(Some(&states[state]), &CARD, record_report(said, 0, false), &at(NOW));
            assert_eq!(told.unwrap_err(), Rejection::Ended, "{state} {said:?}");
        }
        let told = IntlOrder::decide(
            Some(&states[state]),
            &CARD,
            record_report(CardState::Closed, 0, false),
            &at(NOW),
        );
        let after = fold(Some(states[state].clone()), &CARD, told.unwrap().events());
        assert_eq!(after.lifecycle.activity.available, Cents::ZERO, "{state}");
    }
}
