//! Before finality: the payment that is awaited, and the credit that is held until its payment is final or reversed.

use purser_actors::entity::account;
use purser_actors::entity::account::CreditCause;
use purser_actors::entity::account::{Account, Command, Event, Rejection, provisional_hold_cause, underlying_payment};
use purser_actors::entity::payment::{Command as Paid, Payment, Status};
use purser_actors::kernel::{Decision, Entity, table};
use purser_actors::ledger::{LedgerAccount, LedgerTransaction};
use purser_actors::money::Usdc;
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

/// Posted amounts by cause, in atomic USDC.
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
fn case_83_unfinal_credit_is_held_by_its_own_batch() {
    // Checks: the credit is in the balance but not available, on two statement lines, until the payment is final, and a
    // job ends the hold. A missing account is opened by the credit.
    for this in [None, Some(account())] {
        let before = this.as_ref().map_or(0, |a| a.balance.atomic());
        let decision = decide(this.as_ref(), credit()).unwrap();
        let opened = if this.is_none() { "Opened+" } else { "" };
        assert_eq!(event_names(&decision), format!("{opened}Credited+HeldUntilFinal"));
        assert!(
            decision
                .conditions()
                .contains(&Condition::Present(table::pending_finality(PAYMENT)))
        );
        assert_eq!(job_names(&decision), ["confirm_payment_credit", "release_credit"]);
        let release = account::Job::ReleaseCredit {
            account: WALLET,
            payment: PAYMENT,
            amount: FIVE,
        };
        assert!(decision.jobs().iter().any(|outbox_job| outbox_job.job == release));
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
fn case_83_held_credit_becomes_available_once_or_is_removed() {
    // Checks: when final, only the hold is removed; when reversed, the balance too, against the payment's loss. Without
    // a hold nothing ends. The same for a frozen account.
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
fn payment_behind_a_hold_is_found_in_the_ledger() {
    // Checks: a hold's cause names its payment, and no other cause is read as one.
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
fn case_83_settling_batch_waits_for_finality() {
    // Checks: from each state that settles, one row and one job mark the payment as not final; a final one has neither.
    // The row is deleted with the job at finality, and stays if the payment is reversed before.
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
                Paid::RecordSettled { job, transaction, .. } => Paid::RecordSettled {
                    job,
                    transaction,
                    finality,
                },
                Paid::RecordChainLookup {
                    job,
                    lookup: ChainStatus::Confirmed { transaction, .. },
                    is_ordered,
                } => Paid::RecordChainLookup {
                    job,
                    lookup: ChainStatus::Confirmed { transaction, finality },
                    is_ordered,
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
