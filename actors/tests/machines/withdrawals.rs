//! Withdrawal state machine: every command in every state, and the account's part in it.

use purser_actors::entity::account;
use purser_actors::entity::account::CreditCause;
use purser_actors::entity::account::{Account, Command as Ask, Event, Rejection as No};
use purser_actors::entity::withdrawal::{Command, Rejection, Withdrawal};
use purser_actors::id::{Network, OutgoingTransferId};
use purser_actors::kernel::{Decision, Entity, table};
use purser_actors::money::Usdc;
use purser_actors::port::OutgoingTransfer;
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
    let (job, transaction) = (JOB, transaction());
    let reason = "expired".into();
    vec![
        ("signed", Command::RecordSigned(outgoing())),
        ("landed", Command::RecordConfirmed { job, transaction }),
        (
            "adopt",
            Command::AttributeTransfer {
                job,
                transaction: "left".into(),
                act: operator(),
                evidence: "seen on the chain".into(),
            },
        ),
        ("fail", Command::Fail { job, reason }),
    ]
}

#[test]
fn case_31_every_command_in_every_state_matches_the_table() {
    // Checks: three commands in five states; a final state rejects everything, and each end notifies the account once
    // with its result.
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
                    let outcome = match decision.jobs() {
                        [] => None,
                        [outbox_job] => match outbox_job.job.typed() {
                            Some(account::Job::SettleHold { amount, paid, .. }) => Some((amount.atomic(), paid)),
                            ref other => panic!("{other:?}"),
                        },
                        more => panic!("{more:?}"),
                    };
                    let expected = match name {
                        "signed" => None,
                        "landed" | "adopt" => Some((5_000_000, Some(Network::Base))),
                        _ => Some((5_000_000, None)),
                    };
                    assert_eq!(outcome, expected, "{name} in {met}");
                }
            }
        }
    }
}

/// An account with this balance.
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
fn case_27_hold_is_limited_to_the_whole_balance() {
    // Checks: the whole balance is accepted, one unit more is rejected, and with it on hold nothing is left for a
    // second.
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
        ("Held".to_owned(), vec!["send_withdrawal"])
    );
    assert_eq!(decision.new_entities().len(), 1);
    let held = fold(Some(account), &WALLET, decision.events());
    assert_eq!((held.balance.atomic(), held.available().atomic()), (7_000_000, 0));
    assert_eq!(withdraw(&held, 1).map(drop), none(Usdc::ZERO));
    let frozen = fold(Some(held), &WALLET, &[Event::Frozen("call us".into())]);
    assert!(matches!(withdraw(&frozen, 1), Err(No::Frozen { .. })));
    let unknown = Ask::Withdraw {
        id: WITHDRAWAL,
        to: WALLET,
        amount: Usdc::from_atomic(1),
    };
    assert!(Account::decide(None, &WALLET, unknown, &at(NOW)).is_err());
}

#[test]
fn attributed_withdrawal_debits_the_available_balance_once() {
    // Checks: the whole available balance may be attributed, not a unit more and nothing on hold. The row permits one
    // attribution, and the audit log has the operator.
    let account = holding(7_000_000);
    let held = fold(
        Some(account.clone()),
        &WALLET,
        withdraw(&account, 3_000_000).unwrap().events(),
    );
    let book = |account: &Account, atomic| {
        let transfer = OutgoingTransfer {
            transaction: "left".into(),
            to: WALLET,
            amount: Usdc::from_atomic(atomic),
            at: NOW,
            fingerprint: [1; 32],
            index: 0,
        };
        let (act, evidence) = (operator(), "seen on the chain".into());
        let command = Ask::AttributeTransfer {
            transfer,
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
fn hold_is_captured_or_released_for_exactly_its_amount() {
    // Checks: paid, balance and hold decrease; released, only the hold. A missing hold ends nothing. The same for a
    // frozen account.
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
fn case_08_34_completed_withdrawal_stores_its_transfer() {
    // Checks: a withdrawal signed here keeps its fingerprint, so that it is found in any transaction after a reorg; an
    // attributed one has none.
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
    for known in [landed, adopted] {
        assert_eq!(codec::decode::<Withdrawal>(&codec::encode(&known)), Ok(known));
    }
}
