//! The withdrawal's machine, every command in every state, and the account's part in it.

use purser_actors::account::{Account, Command as Ask, Event, Rejection as No};
use purser_actors::id::{Network, OutgoingTransferId};
use purser_actors::kernel::job::{CreditCause, Job};
use purser_actors::kernel::{Decision, Entity, table};
use purser_actors::money::Usdc;
use purser_actors::port::OutgoingTransfer;
use purser_actors::withdrawal::{Command, Rejection, Withdrawal};
use purser_storage::codec;
use purser_storage::{Condition, Write};

use crate::fixtures::{
    JOB, NOW, PAYMENT, WALLET, WITHDRAWAL, accounts, at, event_names, fold, job_names, operator, outgoing, status,
    transaction, withdrawals,
};

const TABLE: &str = "
        -  pending    sent       complete  failed
signed  !  Signed     !          !         !
landed  !  !          Confirmed  !         !
adopt   !  Confirmed  !          !         !
fail    !  Failed     Failed     !         !
";

pub(crate) fn commands() -> Vec<(&'static str, Command)> {
    let (effect, transaction) = (JOB, transaction());
    let reason = "expired".into();
    vec![
        ("signed", Command::RecordSigned(outgoing())),
        (
            "landed",
            Command::RecordConfirmed {
                job: effect,
                transaction,
            },
        ),
        (
            "adopt",
            Command::AttributeTransfer {
                job: effect,
                transaction: "left".into(),
                act: operator(),
                evidence: "seen on the chain".into(),
            },
        ),
        ("fail", Command::Fail { job: effect, reason }),
    ]
}

#[test]
fn case_31_every_command_in_every_state_does_what_the_table_says() {
    // Aim: three commands in five states; an end refuses everything, and each end tells the account once how.
    let states: Vec<_> = std::iter::once(None)
        .chain(withdrawals().into_iter().map(Some))
        .collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let decided = Withdrawal::decide(state.as_ref(), &WITHDRAWAL, command.clone(), &at(NOW));
            let met = status(state.as_ref());
            match decided {
                Err(rejection) => assert_eq!((rejection, *expected), (Rejection(met), "!"), "{name} in {met}"),
                Ok(decision) => {
                    assert_eq!(event_names(&decision), *expected, "{name} in {met}");
                    let told = match decision.jobs() {
                        [] => None,
                        [effect] => match effect.job {
                            Job::SettleHold { amount, paid, .. } => Some((amount.atomic(), paid)),
                            ref other => panic!("{other:?}"),
                        },
                        more => panic!("{more:?}"),
                    };
                    let expected = match name {
                        "signed" => None,
                        "landed" | "adopt" => Some((5_000_000, Some(Network::Base))),
                        _ => Some((5_000_000, None)),
                    };
                    assert_eq!(told, expected, "{name} in {met}");
                }
            }
        }
    }
}

/// An account with so much.
fn holding(atomic: u64) -> Account {
    let amount = Usdc::from_atomic(atomic);
    let cause = CreditCause::Payment(PAYMENT);
    fold(
        Some(accounts().remove(0)),
        &WALLET,
        &[Event::Credited { amount, cause }],
    )
}

fn withdraw(account: &Account, atomic: u64) -> Result<Decision<Account>, No> {
    let command = Ask::Withdraw {
        id: WITHDRAWAL,
        to: WALLET,
        amount: Usdc::from_atomic(atomic),
    };
    Account::decide(Some(account), &WALLET, command, &at(NOW))
}

#[test]
fn case_27_the_whole_balance_is_held_once_and_not_a_unit_more() {
    // Aim: all of it may go, one unit more may not, and once it is held nothing is left for a second.
    let account = holding(7_000_000);
    let none = |available| Err(No::Insufficient { available });
    assert_eq!(
        withdraw(&account, 7_000_001).map(drop),
        none(Usdc::from_atomic(7_000_000))
    );
    assert_eq!(withdraw(&account, 0).map(drop), none(Usdc::from_atomic(7_000_000)));
    let decision = withdraw(&account, 7_000_000).unwrap();
    assert_eq!(
        (event_names(&decision), job_names(&decision)),
        ("Held".to_owned(), vec!["withdraw"])
    );
    assert_eq!(decision.new_entities().len(), 1);
    let held = fold(Some(account), &WALLET, decision.events());
    assert_eq!((held.balance.atomic(), held.available().atomic()), (7_000_000, 0));
    assert_eq!(withdraw(&held, 1).map(drop), none(Usdc::ZERO));
    let frozen = fold(Some(held), &WALLET, &[Event::Frozen("call us".into())]);
    assert!(matches!(withdraw(&frozen, 1), Err(No::Frozen { .. })));
    let nobody = Ask::Withdraw {
        id: WITHDRAWAL,
        to: WALLET,
        amount: Usdc::from_atomic(1),
    };
    assert!(Account::decide(None, &WALLET, nobody, &at(NOW)).is_err());
}

#[test]
fn what_had_left_before_a_restore_is_taken_from_what_is_available_once() {
    // Aim: all that is available may be booked and not a unit more, nothing of what is held; the row lets it be booked once,
    // and the operator is written down.
    let account = holding(7_000_000);
    let held = fold(
        Some(account.clone()),
        &WALLET,
        withdraw(&account, 3_000_000).unwrap().events(),
    );
    let book = |account: &Account, atomic| {
        let departure = OutgoingTransfer {
            transaction: "left".into(),
            to: WALLET,
            amount: Usdc::from_atomic(atomic),
            at: NOW,
            fingerprint: [1; 32],
            index: 0,
        };
        let (act, evidence) = (operator(), "seen on the chain".into());
        let command = Ask::AttributeTransfer {
            transfer: departure,
            act,
            evidence,
        };
        Account::decide(Some(account), &WALLET, command, &at(NOW))
    };
    let available = Usdc::from_atomic(4_000_000);
    assert_eq!(book(&held, 4_000_001).map(drop), Err(No::Insufficient { available }));
    let decision = book(&held, 4_000_000).unwrap();
    let row = table::attributed_transfer(OutgoingTransferId::for_transfer(Network::Base, "left", 0));
    assert!(decision.conditions().contains(&Condition::Absent(row)));
    let audits = decision.writes().iter();
    let audits = audits.filter(|write| matches!(write, Write::Put { key, .. } if key[0] == table::AUDIT_LOG));
    assert_eq!(
        (event_names(&decision), audits.count()),
        ("TransferAttributed".to_owned(), 1)
    );
    let after = fold(Some(held), &WALLET, decision.events());
    assert_eq!((after.balance.atomic(), after.available()), (3_000_000, Usdc::ZERO));
}

#[test]
fn a_hold_ends_paid_or_released_for_exactly_its_amount() {
    // Aim: paid, balance and hold fall; released, only the hold; a hold that is not there ends nothing. A frozen account's
    // holds end as any other's.
    for frozen in [false, true] {
        let account = holding(7_000_000);
        let mut held = fold(
            Some(account.clone()),
            &WALLET,
            withdraw(&account, 3_000_000).unwrap().events(),
        );
        if frozen {
            held = fold(Some(held), &WALLET, &[Event::Frozen("call us".into())]);
        }
        for (paid, balance) in [(Some(Network::Solana), 4_000_000), (None, 7_000_000)] {
            let end = Ask::SettleHold {
                job: JOB,
                withdrawal: WITHDRAWAL,
                amount: Usdc::from_atomic(3_000_000),
                paid,
            };
            let decision = Account::decide(Some(&held), &WALLET, end.clone(), &at(NOW)).unwrap();
            let after = fold(Some(held.clone()), &WALLET, decision.events());
            assert_eq!((after.balance.atomic(), after.held), (balance, Usdc::ZERO));
            assert_eq!(after.total_deposits.atomic(), 7_000_000, "a deposit stays one");
            assert!(Account::decide(Some(&after), &WALLET, end, &at(NOW)).is_err());
        }
    }
}

#[test]
fn case_08_34_a_completed_withdrawal_keeps_by_what_the_chain_shows_it() {
    // Aim: one that was signed here keeps the mark of what was signed, so that it is found in whatever transaction a reorganisation
    // leaves it; one whose transfer an operator named has none. Rows of before, which had no mark, are read as they were written.
    let [pending, sent] = [0, 1].map(|n| withdrawals().swap_remove(n));
    let ended = |before: Withdrawal, name: &str| {
        let (_, command) = commands().into_iter().find(|(other, _)| *other == name).unwrap();
        let decision = Withdrawal::decide(Some(&before), &WITHDRAWAL, command, &at(NOW)).unwrap();
        fold(Some(before), &WITHDRAWAL, decision.events())
    };
    let landed = ended(sent, "landed");
    assert_eq!(landed.fingerprint(), Some(outgoing().authorization.fingerprint()));
    assert_eq!(landed.transaction(), Some(transaction().as_str()));
    let adopted = ended(pending, "adopt");
    assert_eq!((adopted.fingerprint(), adopted.transaction()), (None, Some("left")));
    let before = codec::encode(&adopted);
    // The third variant, the length of its text, the text.
    assert!(before.ends_with(b"\x02\0\0\0\x04\0\0\0\0\0\0\0left"), "{before:?}");
    for known in [landed, adopted] {
        assert_eq!(codec::decode::<Withdrawal>(&codec::encode(&known)), Ok(known));
    }
}
