//! What is not final: the payment that is awaited, and the credit that is held until its payment is final or is gone with it.

use purser_actors::account::{Account, Command, Event, Rejection, provisional_hold_cause, underlying_payment};
use purser_actors::kernel::job::{CreditCause, Job};
use purser_actors::kernel::{Decision, Entity, table};
use purser_actors::ledger::{LedgerAccount, LedgerTransaction};
use purser_actors::money::Usdc;
use purser_actors::payment::{Command as Paid, Payment, Status};
use purser_actors::port::{ChainStatus, Finality};
use purser_storage::{Condition, Write, codec};

use crate::fixtures::{JOB, NOW, PAYMENT, WALLET, WITHDRAWAL, at, event_names, fold, job_names, payments};
use crate::payments::command;

const FIVE: Usdc = Usdc::from_atomic(5_000_000);
const TWO: Usdc = Usdc::from_atomic(2_000_000);

fn decide(this: Option<&Account>, command: Command) -> Result<Decision<Account>, Rejection> {
    Account::decide(this, &WALLET, command, &at(NOW))
}

fn credit() -> Command {
    Command::CreditProvisionally {
        job: JOB,
        amount: FIVE,
        cause: CreditCause::Payment(PAYMENT),
        payment: PAYMENT,
    }
}

const fn end(is_final: bool) -> Command {
    Command::EndProvisionalHold {
        job: JOB,
        payment: PAYMENT,
        amount: FIVE,
        is_final,
    }
}

/// What a decision books by cause, in atomic USDC.
fn posted_entries(decision: &Decision<Account>) -> Vec<(String, LedgerAccount, i128)> {
    let rows = decision.writes().iter().filter_map(|write| match write {
        Write::Put { value, .. } => codec::decode::<LedgerTransaction>(value).ok(),
        Write::Delete { .. } => None,
    });
    rows.flat_map(|LedgerTransaction { cause, postings, .. }| {
        postings
            .into_iter()
            .map(move |posting| (cause.clone(), posting.account, posting.atomic))
    })
    .collect()
}

/// An account with 2.00 of its own.
fn account() -> Account {
    let cause = CreditCause::Payment(PAYMENT);
    let own = Event::Credited { amount: TWO, cause };
    fold(None, &WALLET, &[Event::Opened(NOW), own])
}

#[test]
fn case_83_a_credit_of_what_is_not_final_is_held_by_the_batch_that_gives_it() {
    // Aim: in the balance and not available, on two lines, only as long as the payment is not final, with work that ends it; an
    // account that there was none of is born with it.
    for this in [None, Some(account())] {
        let before = this.as_ref().map_or(0, |a| a.balance.atomic());
        let decision = decide(this.as_ref(), credit()).unwrap();
        let born = if this.is_none() { "Opened+" } else { "" };
        assert_eq!(event_names(&decision), format!("{born}Credited+HeldUntilFinal"));
        assert!(
            decision
                .conditions()
                .contains(&Condition::Present(table::pending_finality(PAYMENT)))
        );
        assert_eq!(job_names(&decision), ["confirm_credit", "release_credit"]);
        let release = Job::ReleaseCredit {
            account: WALLET,
            payment: PAYMENT,
            amount: FIVE,
        };
        assert!(decision.jobs().iter().any(|effect| effect.job == release));
        let lines = decision.writes().iter();
        let lines = lines.filter(|write| matches!(write, Write::Put { key, .. } if key[0] == table::STATEMENT_LINE));
        assert_eq!(lines.count(), 2);
        let after = fold(this, &WALLET, decision.events());
        assert_eq!((after.balance.atomic(), after.held), (before + 5_000_000, FIVE));
        assert_eq!(after.available().atomic(), before);
        let all = Command::Withdraw {
            id: WITHDRAWAL,
            to: WALLET,
            amount: after.balance,
        };
        let available = after.available();
        assert_eq!(
            decide(Some(&after), all).map(drop),
            Err(Rejection::Insufficient { available })
        );
    }
}

#[test]
fn case_83_a_held_credit_is_available_once_or_gone() {
    // Aim: final, only the hold falls; gone, the balance too, against the loss of the payment; what is not held ends nothing. A
    // frozen account's ends as any other's.
    for frozen in [false, true] {
        let mut held = fold(
            Some(account()),
            &WALLET,
            decide(Some(&account()), credit()).unwrap().events(),
        );
        if frozen {
            held = fold(Some(held), &WALLET, &[Event::Frozen("call us".into())]);
        }
        for (is_final, said, balance, goes_to) in [
            (true, "Finalized", 7_000_000, LedgerAccount::Customer(WALLET)),
            (false, "Reversed", 2_000_000, LedgerAccount::Losses),
        ] {
            let decision = decide(Some(&held), end(is_final)).unwrap();
            assert_eq!(event_names(&decision), said);
            assert!(
                decision
                    .conditions()
                    .contains(&Condition::Present(table::outbox_job(JOB)))
            );
            let cause = provisional_hold_cause(PAYMENT);
            let booked = [
                (cause.clone(), LedgerAccount::CustomerHeld(WALLET), 5_000_000),
                (cause, goes_to, -5_000_000),
            ];
            assert_eq!(posted_entries(&decision), booked);
            let after = fold(Some(held.clone()), &WALLET, decision.events());
            assert_eq!((after.balance.atomic(), after.held), (balance, Usdc::ZERO));
            assert_eq!(decide(Some(&after), end(is_final)).map(drop), Err(Rejection::Overflow));
        }
    }
    assert_eq!(decide(None, end(true)).map(drop), Err(Rejection::NotFound));
}

#[test]
fn what_a_hold_rests_on_is_found_by_its_name_in_the_ledger() {
    // Aim: a hold's cause names its payment, and no other cause is taken for one.
    assert_eq!(underlying_payment(&provisional_hold_cause(PAYMENT)), Some(PAYMENT));
    for other in [
        PAYMENT.to_string(),
        WITHDRAWAL.to_string(),
        ".unfinal".into(),
        String::new(),
    ] {
        assert_eq!(underlying_payment(&other), None, "{other}");
    }
}

fn paid(state: &Payment, name: &str) -> Option<Decision<Payment>> {
    Payment::decide(Some(state), &PAYMENT, command(name), &at(NOW)).ok()
}

#[test]
fn case_83_what_is_only_seen_is_awaited_by_the_batch_that_settles_it() {
    // Aim: from each state that settles, one row and one effect say that the payment is not final, and neither is there for one
    // that is; the row goes with the effect once it is final, and stays where the payment is gone before.
    let row = table::pending_finality(PAYMENT);
    let puts = |decision: &Decision<Payment>| {
        let put = |write: &&Write| matches!(write, Write::Put { key, .. } if *key == row);
        decision.writes().iter().filter(put).count()
    };
    let awaits = |decision: &Decision<Payment>| {
        job_names(decision)
            .iter()
            .filter(|name| **name == "await_final")
            .count()
    };
    let takes = |decision: &Decision<Payment>| {
        let taken = |write: &&Write| matches!(write, Write::Delete { key } if *key == row);
        decision.writes().iter().filter(taken).count()
    };
    for (state, name) in [(1, "settled"), (2, "seen_landed"), (3, "seen_landed")] {
        for (finality, times) in [(Finality::Confirmed, 1), (Finality::Final, 0)] {
            let command = match command(name) {
                Paid::RecordSettled {
                    job: effect,
                    transaction,
                    ..
                } => Paid::RecordSettled {
                    job: effect,
                    transaction,
                    finality,
                },
                Paid::RecordChainLookup {
                    job: effect,
                    lookup: ChainStatus::Confirmed { transaction, .. },
                    is_ordered: made,
                } => Paid::RecordChainLookup {
                    job: effect,
                    lookup: ChainStatus::Confirmed { transaction, finality },
                    is_ordered: made,
                },
                other => panic!("{other:?} settles nothing"),
            };
            let decision = Payment::decide(Some(&payments()[state]), &PAYMENT, command, &at(NOW)).unwrap();
            assert_eq!(
                (puts(&decision), awaits(&decision)),
                (times, times),
                "{name}: {finality:?}"
            );
        }
    }
    for state in payments() {
        let ends = usize::from(matches!(
            state.status,
            Status::Settled { .. } | Status::Fulfilled { .. } | Status::Credited { .. }
        ));
        if let Some(decision) = paid(&state, "finalized") {
            assert_eq!(takes(&decision), ends, "{}", state.status());
        }
        if let Some(decision) = paid(&state, "reversed") {
            assert_eq!(takes(&decision), 0, "{}", state.status());
        }
    }
}
