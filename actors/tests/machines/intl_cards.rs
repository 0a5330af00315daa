//! Actions of owners on international cards, and reports of operators.

use purser_actors::entity::account;
use purser_actors::entity::intl_order::{IntlOrder, Rejection, Reply};
use purser_actors::kernel::{Decision, Entity, table};
use purser_actors::money::Cents;
use purser_actors::port::CardState;
use purser_storage::Write;

use crate::fixtures::{CARD, NOW, WALLET, at, fold, job_names};
use crate::intl_orders::{decide, orders, record_report, rows};

#[test]
fn card_action_is_listed_for_operators_until_it_ends() {
    // Checks: an action is a row; a replacing action keeps it. It is deleted by an action already in effect, a
    // cancellation, the report that completes or ends it, and the card's end.
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
fn reported_remainder_is_credited_up_to_the_loaded_amount() {
    // Checks: the batch that closes the card credits the released amount and destroys the CVV. A repeated total credits
    // nothing; a total above the loaded amount or below the last is rejected. The audit log names the operator.
    let states = orders();
    let tell = |order: &IntlOrder, released| {
        let command = record_report(CardState::Closed, released, false);
        IntlOrder::decide(Some(order), &CARD, command, &at(NOW))
    };
    let closing = tell(&states[4], 3_00).unwrap();
    assert_eq!(job_names(&closing), ["credit_account", "shred_cvv"]);
    let Some(account::Job::CreditAccount { amount, account, .. }) = closing.jobs()[0].job.typed() else {
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
    assert_eq!(job_names(&tell(&closed, 5_00).unwrap()), ["credit_account"]);
    for released in [5_01, 2_99] {
        assert_eq!(tell(&closed, released).unwrap_err(), Rejection::Released, "{released}");
    }
}

#[test]
fn ended_card_rejects_a_report_of_an_earlier_state() {
    // Checks: an ended card is neither ready nor paused again, whatever balance is reported; nothing is left to spend.
    let states = orders();
    for state in [7, 9] {
        for said in [CardState::Open, CardState::Paused] {
            let result = IntlOrder::decide(Some(&states[state]), &CARD, record_report(said, 0, false), &at(NOW));
            assert_eq!(result.unwrap_err(), Rejection::Ended, "{state} {said:?}");
        }
        let result = IntlOrder::decide(
            Some(&states[state]),
            &CARD,
            record_report(CardState::Closed, 0, false),
            &at(NOW),
        );
        let after = fold(Some(states[state].clone()), &CARD, result.unwrap().events());
        assert_eq!(after.lifecycle.activity.available, Cents::ZERO, "{state}");
    }
}
