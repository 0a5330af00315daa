//! Card withdrawal state machine: every command in every state.

use purser_actors::entity::card_withdrawal::{CardWithdrawal, Command, Event, Rejection, Status};
use purser_actors::id::RequestId;
use purser_actors::kernel::{Decision, Entity, table, to_json};
use purser_actors::lease::{LeaseError, LeaseHolder};
use purser_actors::money::Cents;
use purser_actors::operator::{AuditPosition, AuditRecord, AuditedAction, OperatorAction, Role};
use purser_actors::port::Timestamp;
use purser_storage::{Condition, Write, codec};

use crate::fixtures::{JOB, NOW, WALLET, WITHDRAWAL, at, event_names, fold, job_names, status};
use crate::transitions::{assert_chart, commanded, listed};

/// The lease that `ana` holds in `held`, and held in the other states.
const LEASE: u64 = 2;
const LATER: Timestamp = Timestamp(NOW.0 + 60_000);
const ACCOUNT: [u8; 20] = [3; 20];

const TABLE: &str = "
               -          pending         queued          held            ended                 unheld          complete     rejected     failed  settled  over
ask            Requested  !               !               !               !                     !               !            !            !       !        !
set_aside      !          Held            !               !               !                     !               !            !            !       !        !
refused        !          Declined        !               !               !                     !               !            !            !       !        !
over           !          ClosedAtIssuer  !               !               !                     !               !            !            !       !        !
over_back      !          ClosedAtIssuer  !               !               !                     !               !            !            !       !        !
found_over     !          !               ClosedAtIssuer  ClosedAtIssuer  ClosedAtIssuer        ClosedAtIssuer  !            !            !       !        !
found_back     !          !               ClosedAtIssuer  ClosedAtIssuer  ClosedAtIssuer        ClosedAtIssuer  !            !            !       !        !
claim          !          !               Claimed         !               LeaseExpired+Claimed  Claimed         !            !            !       !        !
release        !          !               !               Released        Released              Released        !            !            !       !        !
release_old    !          !               !               !               !                     !               !            !            !       !        !
release_other  !          !               !               !               Released              Released        !            !            !       !        !
release_admin  !          !               !               Released        Released              Released        !            !            !       !        !
fulfil         !          !               !               Fulfilled       !                     !               !            !            !       !        !
fulfil_old     !          !               !               !               !                     !               !            !            !       !        !
fulfil_other   !          !               !               !               !                     !               !            !            !       !        !
reject         !          !               !               Rejected        !                     !               !            !            !       !        !
reject_plain   !          !               Rejected        !               !                     !               !            !            !       !        !
reject_other   !          !               Rejected        !               !                     !               !            !            !       !        !
reject_admin   !          !               Rejected        !               !                     !               !            !            !       !        !
end_lease      !          =               =               LeaseExpired    LeaseExpired          =               =            =            =       =        =
end_lease_old  !          =               =               =               =                     =               =            =            =       =        =
revoked        !          =               =               LeaseExpired    LeaseExpired          =               =            =            =       =        =
revoked_old    !          =               =               =               =                     =               =            =            =       =        =
settled        !          !               !               !               !                     !               HoldSettled  HoldSettled  !       !        !
";

fn act(by: &str, role: Role) -> AuditedAction {
    let act = OperatorAction {
        operator: by.into(),
        role,
        request_id: RequestId(9),
    };
    AuditedAction {
        act,
        position: AuditPosition::FIRST,
        extras: Box::default(),
    }
}

fn ana() -> AuditedAction {
    act("ana", Role::Operator)
}

fn commands() -> Vec<(&'static str, Command)> {
    let (ben, chief) = (act("ben", Role::Operator), act("chief", Role::Administrator));
    let release = |act, lease| Command::Release { act, lease };
    let fulfil = |act, lease| Command::Fulfil {
        act,
        lease,
        transaction: "0xabc".into(),
    };
    let reject = |act, lease| Command::Reject {
        act,
        lease,
        reason: "no".into(),
    };
    let end = |lease| Command::ExpireLease { job: JOB, lease };
    let over = |paid| Command::RecordClosedAtIssuer { job: JOB, paid };
    let found = |paid| Command::RecordClosedOnReview { act: ana(), paid };
    vec![
        (
            "ask",
            Command::Request {
                owner: WALLET,
                account: ACCOUNT,
                to: WALLET,
                amount: Cents::new(5_00),
            },
        ),
        ("set_aside", Command::RecordHold { job: JOB }),
        (
            "refused",
            Command::RecordDecline {
                job: JOB,
                reason: "no".into(),
            },
        ),
        ("over", over(true)),
        ("over_back", over(false)),
        ("found_over", found(true)),
        ("found_back", found(false)),
        (
            "claim",
            Command::Claim {
                act: ana(),
                life_ms: 60_000,
            },
        ),
        ("release", release(ana(), LEASE)),
        ("release_old", release(ana(), LEASE - 1)),
        ("release_other", release(ben.clone(), LEASE)),
        ("release_admin", release(chief.clone(), LEASE)),
        ("fulfil", fulfil(ana(), LEASE)),
        ("fulfil_old", fulfil(ana(), LEASE - 1)),
        ("fulfil_other", fulfil(ben.clone(), LEASE)),
        ("reject", reject(ana(), Some(LEASE))),
        ("reject_plain", reject(ana(), None)),
        ("reject_other", reject(ben, None)),
        ("reject_admin", reject(chief, None)),
        ("end_lease", end(LEASE)),
        ("end_lease_old", end(LEASE - 1)),
        ("revoked", Command::EndLease { lease: LEASE }),
        ("revoked_old", Command::EndLease { lease: LEASE - 1 }),
        ("settled", Command::RecordHoldSettled { job: JOB }),
    ]
}

/// One in every state; claimed in all three ways: with a current lease, with a lease that expires now, and without one.
/// Also one whose hold has ended, and one that had ended in a lost history.
fn withdrawals() -> Vec<CardWithdrawal> {
    let until = |until| {
        Status::Claimed(Some(LeaseHolder {
            by: "ana".into(),
            until,
        }))
    };
    let asked = |status| CardWithdrawal {
        owner: WALLET,
        account: ACCOUNT,
        to: WALLET,
        amount: Cents::new(5_00),
        created_at: NOW,
        updated_at: NOW,
        hold_key: Some(JOB),
        lease: LEASE,
        settled: false,
        status,
    };
    let (transaction, reason) = ("0xabc".to_owned(), "<b>no</b>".to_owned());
    vec![
        asked(Status::Pending),
        asked(Status::Queued),
        asked(until(LATER)),
        asked(until(NOW)),
        asked(Status::Claimed(None)),
        asked(Status::Complete {
            transaction: transaction.clone(),
        }),
        asked(Status::Rejected { reason: reason.clone() }),
        asked(Status::Failed {
            reason: reason.as_str().into(),
        }),
        CardWithdrawal {
            settled: true,
            ..asked(Status::Complete { transaction })
        },
        CardWithdrawal {
            settled: true,
            ..asked(Status::ClosedAtIssuer { paid: false })
        },
    ]
}

fn events() -> Vec<Event> {
    let holder = LeaseHolder {
        by: "ana".into(),
        until: LATER,
    };
    vec![
        Event::Requested {
            owner: WALLET,
            account: ACCOUNT,
            to: WALLET,
            amount: Cents::new(5_00),
            at: NOW,
        },
        Event::Held(JOB, NOW),
        Event::Declined("no".into(), NOW),
        Event::Claimed(holder, NOW),
        Event::LeaseExpired(NOW),
        Event::Released(NOW),
        Event::Fulfilled("0xabc".into(), NOW),
        Event::Rejected("no".into(), NOW),
        Event::HoldSettled {
            released: true,
            at: NOW,
        },
        Event::HoldSettled {
            released: false,
            at: NOW,
        },
        closed_at_issuer(true),
        closed_at_issuer(false),
    ]
}

fn closed_at_issuer(paid: bool) -> Event {
    let (key, at) = (JOB, NOW);
    Event::ClosedAtIssuer { key, paid, at }
}

fn decide(asked: &CardWithdrawal, name: &str) -> Decision<CardWithdrawal> {
    let (_, command) = commands().into_iter().find(|(n, _)| *n == name).unwrap();
    CardWithdrawal::decide(Some(asked), &WITHDRAWAL, command, &at(NOW)).unwrap()
}

#[test]
fn case_31_every_command_in_every_state_matches_the_table() {
    // Checks: twenty-four commands in eleven states; final states reject everything except issuer reports and timers.
    let states: Vec<_> = std::iter::once(None)
        .chain(withdrawals().into_iter().map(Some))
        .collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    assert_eq!(lines.next().unwrap().split_whitespace().count(), states.len());
    assert_eq!(lines.clone().count(), commands().len());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let decided = CardWithdrawal::decide(state.as_ref(), &WITHDRAWAL, command.clone(), &at(NOW));
            let met = status(state.as_ref());
            match decided {
                Ok(decision) => {
                    assert_eq!(event_names(&decision), *expected, "{name} in {met}");
                    if !decision.events().is_empty() {
                        fold(state.clone(), &WITHDRAWAL, decision.events());
                    }
                }
                Err(_) => assert_eq!(*expected, "!", "{name} in {met}"),
            }
        }
    }
}

#[test]
fn transitions_match_decide_and_apply() {
    // Checks: every transition is listed, and a command reaches each. Views show the status, with the shared withdrawal
    // states, and no markup.
    assert_chart(&WITHDRAWAL, withdrawals(), &events());
    assert_eq!(
        commanded(&WITHDRAWAL, withdrawals(), commands()),
        listed::<CardWithdrawal>()
    );
    for asked in withdrawals() {
        let json = to_json(&asked.view(&WITHDRAWAL));
        let shown: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(shown["status"], asked.status());
        let state = match asked.status() {
            "complete" => "complete",
            "rejected" | "failed" => "failed",
            _ => "pending",
        };
        assert_eq!(shown["state"], state);
        assert!(!json.contains('<'), "{json}");
    }
}

#[test]
fn each_final_state_settles_the_hold_at_the_issuer() {
    // Checks: a held withdrawal is queued until it is decided. Paid or rejected, one job notifies the issuer, and the
    // paying transaction can't be used again.
    let states = withdrawals();
    let row = table::card_withdrawal_queue(NOW, WITHDRAWAL);
    let asked = CardWithdrawal::decide(None, &WITHDRAWAL, commands().remove(0).1, &at(NOW)).unwrap();
    assert_eq!(job_names(&asked), ["hold_card_balance"]);
    assert!(
        asked
            .conditions()
            .contains(&Condition::Present(table::issuer_linked(&WALLET)))
    );
    let held = decide(&states[0], "set_aside");
    assert!(held.conditions().contains(&Condition::Absent(row.clone())));
    for (state, name) in [(1, "reject_plain"), (2, "reject"), (2, "fulfil")] {
        let over = decide(&states[state], name);
        assert_eq!(job_names(&over), ["settle_card_hold"], "{name}");
        assert!(over.writes().contains(&Write::Delete { key: row.clone() }), "{name}");
        let paid = Condition::Absent(table::withdrawal_transaction("0xabc"));
        assert_eq!(over.conditions().contains(&paid), name == "fulfil", "{name}");
    }
    for (state, back) in [(5, false), (6, true)] {
        let settled = decide(&states[state], "settled");
        assert_eq!(
            settled.events(),
            [Event::HoldSettled {
                released: back,
                at: NOW
            }]
        );
        assert!(
            settled
                .conditions()
                .contains(&Condition::Present(table::outbox_job(JOB)))
        );
    }
    let refused = |name: &str, state: usize| {
        let (_, command) = commands().into_iter().find(|(n, _)| *n == name).unwrap();
        CardWithdrawal::decide(Some(&states[state]), &WITHDRAWAL, command, &at(NOW)).unwrap_err()
    };
    assert!(matches!(refused("claim", 2), Rejection::Lease(LeaseError::HeldByOther(holder)) if holder.by == "ana"));
    for state in [1, 3, 4] {
        assert_eq!(refused("fulfil", state), Rejection::Lease(LeaseError::Stale(LEASE)));
    }
}

#[test]
fn withdrawal_ended_in_a_lost_history_is_final() {
    // Checks: a withdrawal that ended at the issuer leaves the queue without a notification to the issuer, keeps its
    // hold key, shows its result and accepts no command; a claim gets the reason.
    let states = withdrawals();
    for (state, name, paid) in [
        (0, "over", true),
        (0, "over_back", false),
        (1, "found_over", true),
        (4, "found_back", false),
    ] {
        let decision = decide(&states[state], name);
        assert_eq!(decision.events(), [closed_at_issuer(paid)], "{name}");
        assert!(job_names(&decision).is_empty(), "{name}: the issuer knows");
        let row = Write::Delete {
            key: table::card_withdrawal_queue(NOW, WITHDRAWAL),
        };
        assert_eq!(decision.writes().contains(&row), state != 0, "{name}");
        let fresh = CardWithdrawal {
            hold_key: None,
            ..states[state].clone()
        };
        let before = if state == 0 { fresh } else { states[state].clone() };
        let after = fold(Some(before), &WITHDRAWAL, decision.events());
        assert_eq!(
            (after.hold_key, after.settled, after.is_paid()),
            (Some(JOB), true, Some(paid)),
            "{name}"
        );
        assert_eq!(after.status(), if paid { "complete" } else { "rejected" });
        let (_, claim) = commands().into_iter().find(|(n, _)| *n == "claim").unwrap();
        let refused = CardWithdrawal::decide(Some(&after), &WITHDRAWAL, claim, &at(NOW)).unwrap_err();
        assert_eq!(refused, Rejection::ClosedAtIssuer { paid });
    }
}

#[test]
fn operator_action_is_audited_in_the_same_batch() {
    // Checks: operator, action, subject and note, in the batch of the action; an issuer report has no such row.
    for (state, name, what, words) in [
        (1, "claim", Some("card_withdrawal.claim"), None),
        (2, "release", Some("card_withdrawal.release"), None),
        (2, "fulfil", Some("card_withdrawal.fulfil"), Some("0xabc")),
        (2, "reject", Some("card_withdrawal.reject"), Some("no")),
        (2, "found_over", Some("card_withdrawal.closed_at_issuer"), Some("paid")),
        (
            1,
            "found_back",
            Some("card_withdrawal.closed_at_issuer"),
            Some("released"),
        ),
        (0, "set_aside", None, None),
        (2, "end_lease", None, None),
        (6, "settled", None, None),
    ] {
        let decision = decide(&withdrawals()[state], name);
        let audits = decision.writes().iter().filter_map(|write| match write {
            Write::Put { key, value, .. } if key[0] == table::AUDIT_LOG => {
                Some(codec::decode::<AuditRecord>(value).unwrap())
            }
            _ => None,
        });
        let entries: Vec<_> = audits.map(|a| (a.action, a.subject, a.act, a.note)).collect();
        let expected = what.map(|what| {
            (
                what.to_owned(),
                WITHDRAWAL.to_string(),
                ana().act,
                words.map(str::to_owned),
            )
        });
        assert_eq!(entries, expected.into_iter().collect::<Vec<_>>(), "{name}");
    }
}
