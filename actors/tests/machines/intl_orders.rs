//! International order state machine: every command in every state.

use purser_actors::entity::account;
use purser_actors::entity::card::lifecycle::CardLifecycle;
use purser_actors::entity::intl_order;
use purser_actors::entity::intl_order::{
    BillingAddress, CardReport, Command, EnteredCard, Event, IntlCardDetails, IntlOrder, Rejection, Reply, Status,
};
use purser_actors::entity::refund::Refunded;
use purser_actors::id::RequestId;
use purser_actors::kernel::{Decision, Entity, OutboxJob, table, to_json};
use purser_actors::lease::{LeaseError, LeaseHolder};
use purser_actors::ledger::LedgerTransaction;
use purser_actors::money::{Cents, Usdc};
use purser_actors::operator::{AuditPosition, AuditRecord, AuditedAction, OperatorAction, Role};
use purser_actors::port::{CardAction, CardActivity, CardState, Timestamp, month_end};
use purser_storage::{Condition, Write, codec};

use crate::fixtures::{CARD, JOB, NOW, WALLET, at, charge, event_names, fold, job_names, status};
use crate::transitions::every_card_update;

/// The lease that `ana` holds in `held`, and held in the other states.
const LEASE: u64 = 2;
const LATER: Timestamp = Timestamp(NOW.0 + 60_000);

const TABLE: &str = "
               -  queued         held           ended                 unheld         ready            cancelled  rejected  expired  paused           closed   pausing                  closing
claim          !  Claimed        !              LeaseExpired+Claimed  Claimed        !                !          !         !        !                !        !                        !
release        !  !              Released       Released              Released       !                !          !         !        !                !        !                        !
release_old    !  !              !              !                     !              !                !          !         !        !                !        !                        !
release_other  !  !              !              Released              Released       !                !          !         !        !                !        !                        !
release_admin  !  !              Released       Released              Released       !                !          !         !        !                !        !                        !
fulfil         !  !              Fulfilled      !                     !              !                !          !         !        !                !        !                        !
fulfil_old     !  !              !              !                     !              !                !          !         !        !                !        !                        !
fulfil_other   !  !              !              !                     !              !                !          !         !        !                !        !                        !
reject         !  !              Rejected       !                     !              !                !          !         !        !                !        !                        !
reject_plain   !  Rejected       Rejected       Rejected              Rejected       !                !          !         !        !                !        !                        !
reject_other   !  Rejected       !              Rejected              Rejected       !                !          !         !        !                !        !                        !
reject_admin   !  Rejected       Rejected       Rejected              Rejected       !                !          !         !        !                !        !                        !
cancel         !  Cancelled      !              !                     !              !                !          !         !        !                !        !                        !
reveal         !  !              !              !                     !              Revealed         !          !         !        Revealed         !        Revealed                 Revealed
end_lease      !  =              LeaseExpired   LeaseExpired          =              =                =          =         =        =                =        =                        =
end_lease_old  !  =              =              =                     =              =                =          =         =        =                =        =                        =
revoked        !  =              LeaseExpired   LeaseExpired          =              =                =          =         =        =                =        =                        =
revoked_old    !  =              =              =                     =              =                =          =         =        =                =        =                        =
overdue        !  BecameOverdue  BecameOverdue  BecameOverdue         BecameOverdue  =                =          =         =        =                =        =                        =
expire         !  =              =              =                     =              Expired          =          =         =        Expired          =        Expired                  Expired
forgotten      !  =              =              =                     =              =                =          =         =        =                =        =                        =
pause          !  !              !              !                     !              ActionRequested  !          !         !        =                !        =                        ActionCancelled
resume         !  !              !              !                     !              =                !          !         !        ActionRequested  !        ActionCancelled          ActionRequested
close          !  !              !              !                     !              ActionRequested  !          !         !        ActionRequested  !        ActionRequested          =
report_ready   !  !              !              !                     !              Updated          !          !         !        Updated          !        Updated                  Updated
report_paused  !  !              !              !                     !              Updated          !          !         !        Updated          !        Updated+ActionCompleted  Updated
report_closed  !  !              !              !                     !              Updated          !          !         Updated  Updated          Updated  Updated+ActionCancelled  Updated+ActionCompleted
report_no      !  !              !              !                     !              Updated          !          !         !        Updated          !        Updated+ActionCancelled  Updated+ActionCancelled
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

fn details() -> IntlCardDetails {
    IntlCardDetails {
        last4: "4242".into(),
        exp_month: 12,
        exp_year: 2031,
        billing: BillingAddress::default(),
    }
}

fn entered_card() -> Box<EnteredCard> {
    Box::new(EnteredCard {
        details: details(),
        number: vec![1; 40],
        cvv: vec![2; 40],
    })
}

pub(crate) fn commands() -> Vec<(&'static str, Command)> {
    let (ben, chief) = (act("ben", Role::Operator), act("chief", Role::Administrator));
    let release = |act, lease| Command::Release { act, lease };
    let fulfil = |act, lease| Command::Fulfil {
        act,
        lease,
        card: entered_card(),
    };
    let reject = |act, lease| Command::Reject {
        act,
        lease,
        reason: "no".into(),
    };
    let end = |lease| Command::ExpireLease { job: JOB, lease };
    vec![
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
        ("cancel", Command::Cancel),
        ("reveal", Command::Reveal),
        ("end_lease", end(LEASE)),
        ("end_lease_old", end(LEASE - 1)),
        ("revoked", Command::EndLease { lease: LEASE }),
        ("revoked_old", Command::EndLease { lease: LEASE - 1 }),
        ("overdue", Command::MarkOverdue { job: JOB }),
        ("expire", Command::Expire { job: JOB }),
        ("forgotten", Command::RecordCvvShredded { job: JOB }),
        ("pause", Command::RequestAction(CardAction::Pause)),
        ("resume", Command::RequestAction(CardAction::Resume)),
        ("close", Command::RequestAction(CardAction::Close)),
        ("report_ready", record_report(CardState::Open, 0, false)),
        ("report_paused", record_report(CardState::Paused, 0, false)),
        ("report_closed", record_report(CardState::Closed, 0, false)),
        ("report_no", record_report(CardState::Open, 0, true)),
    ]
}

/// An operator's report: the card's state and the released amount in cents.
pub(crate) fn record_report(state: CardState, released: u64, ends_wish: bool) -> Command {
    Command::RecordReport {
        act: ana(),
        report: Box::new(CardReport {
            state,
            activity: CardActivity::loaded(Cents::new(4_00)),
            released: Cents::new(released),
            ends_action: ends_wish,
        }),
        refunded: Refunded::default(),
    }
}

/// An order in every state; claimed in all three ways: with a current lease, with a lease that expires now, and without
/// one.
pub(crate) fn orders() -> Vec<IntlOrder> {
    let until = |until| LeaseHolder {
        by: "ana".into(),
        until,
    };
    let order_with = |action: Option<CardAction>, status| IntlOrder {
        owner: WALLET,
        charge: charge(),
        amount: Cents::new(5_00),
        label: Some("<b>trip</b>\u{1b}[2J".into()),
        created_at: NOW,
        updated_at: NOW,
        overdue: false,
        lease: LEASE,
        released_at: None,
        lifecycle: CardLifecycle {
            pending_action: action,
            ..CardLifecycle::activated(Cents::new(5_00), NOW)
        },
        action_requested_at: action.map(|_| NOW),
        status,
    };
    let order = |status| order_with(None, status);
    vec![
        order(Status::Queued),
        order(Status::Claimed(Some(until(LATER)))),
        order(Status::Claimed(Some(until(NOW)))),
        order(Status::Claimed(None)),
        order(Status::Ready(details())),
        order(Status::Cancelled),
        order(Status::Rejected { reason: "no".into() }),
        order(Status::Expired(details())),
        order(Status::Paused(details())),
        order(Status::Closed(details())),
        order_with(Some(CardAction::Pause), Status::Ready(details())),
        order_with(Some(CardAction::Close), Status::Paused(details())),
    ]
}

pub(crate) fn events() -> Vec<Event> {
    let holder = LeaseHolder {
        by: "ana".into(),
        until: LATER,
    };
    vec![
        Event::Ordered {
            owner: WALLET,
            charge: charge(),
            amount: Cents::new(5_00),
            label: None,
            at: NOW,
        },
        Event::Claimed(holder, NOW),
        Event::LeaseExpired(NOW),
        Event::Released(NOW),
        Event::Fulfilled(details(), NOW),
        Event::Cancelled(NOW),
        Event::Rejected("no".into(), NOW),
        Event::BecameOverdue {
            claimed: false,
            at: NOW,
        },
        Event::BecameOverdue { claimed: true, at: NOW },
        Event::Revealed(NOW),
        Event::Expired(NOW),
        Event::ActionRequested(CardAction::Pause, NOW),
        Event::ActionCompleted(NOW),
        Event::ActionCancelled(NOW),
        Event::RemainderRetained(Usdc::from_atomic(1), NOW),
    ]
    .into_iter()
    .chain(every_card_update().into_iter().map(|news| Event::Updated(news, NOW)))
    .collect()
}

pub(crate) fn decide(order: &IntlOrder, name: &str) -> Decision<IntlOrder> {
    let (_, command) = commands().into_iter().find(|(n, _)| *n == name).unwrap();
    IntlOrder::decide(Some(order), &CARD, command, &at(NOW)).unwrap()
}

#[test]
fn case_31_every_command_in_every_state_matches_the_table() {
    // Checks: twenty-eight commands in thirteen states; an ended order accepts reports, and timers without an event.
    let states: Vec<_> = std::iter::once(None).chain(orders().into_iter().map(Some)).collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    assert_eq!(lines.next().unwrap().split_whitespace().count(), states.len());
    assert_eq!(lines.clone().count(), commands().len());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let decided = IntlOrder::decide(state.as_ref(), &CARD, command.clone(), &at(NOW));
            let met = status(state.as_ref());
            match decided {
                Ok(decision) => assert_eq!(event_names(&decision), *expected, "{name} in {met}"),
                Err(_) => assert_eq!(*expected, "!", "{name} in {met}"),
            }
        }
    }
}

#[test]
fn rejection_names_the_lease_holder_or_the_last_lease() {
    // Checks: an operator learns what to do next; a stale number never fulfils, however often the order was claimed
    // since.
    let states = orders();
    let refused = |order: &IntlOrder, name: &str| {
        let (_, command) = commands().into_iter().find(|(n, _)| *n == name).unwrap();
        IntlOrder::decide(Some(order), &CARD, command, &at(NOW)).unwrap_err()
    };
    assert!(
        matches!(refused(&states[1], "claim"), Rejection::Lease(LeaseError::HeldByOther(holder)) if holder.by == "ana")
    );
    for name in ["fulfil_old", "fulfil_other"] {
        assert_eq!(
            refused(&states[1], name),
            Rejection::Lease(LeaseError::Stale(LEASE)),
            "{name}"
        );
    }
    for state in [&states[0], &states[2], &states[3]] {
        assert_eq!(refused(state, "fulfil"), Rejection::Lease(LeaseError::Stale(LEASE)));
    }
    for state in [&states[2], &states[3]] {
        assert_eq!(refused(state, "cancel"), Rejection::InvalidState("claimed"));
        let again = decide(state, "claim");
        let Reply::Lease(lease) = *again.reply() else {
            panic!("{:?}", again.reply());
        };
        assert_eq!((lease.number, lease.until), (LEASE + 1, LATER));
        let claimed = fold(Some(state.clone()), &CARD, again.events());
        assert_eq!(
            refused(&claimed, "fulfil"),
            Rejection::Lease(LeaseError::Stale(LEASE + 1))
        );
    }
}

#[test]
fn cancellation_or_rejection_credits_the_whole_charge_once() {
    // Checks: amount and fee are credited together to the owner, and the order leaves the queue; from both claim
    // states.
    let states = orders();
    for (order, name) in [
        (&states[0], "cancel"),
        (&states[0], "reject_plain"),
        (&states[1], "reject"),
    ] {
        let decision = decide(order, name);
        assert_eq!(job_names(&decision), ["credit_account"], "{name}");
        let Some(account::Job::CreditAccount { amount, account, .. }) = decision.jobs()[0].job.typed() else {
            panic!("{:?}", decision.jobs());
        };
        assert_eq!((amount, account), (order.charge.charged, WALLET));
        let row = table::intl_order_queue(NOW, CARD);
        assert!(decision.conditions().contains(&Condition::Present(row.clone())));
        assert!(decision.writes().contains(&Write::Delete { key: row }));
        let posted = rows(&decision, table::LEDGER);
        let posted: LedgerTransaction = codec::decode(&posted[0]).unwrap();
        assert_eq!(posted.postings.iter().map(|p| p.atomic).sum::<i128>(), 0);
    }
}

/// Rows that a decision writes to a table.
pub(crate) fn rows(decision: &Decision<IntlOrder>, name: u8) -> Vec<Vec<u8>> {
    let put = |write: &Write| match write {
        Write::Put { key, value, .. } if key[0] == name => Some(value.clone()),
        _ => None,
    };
    decision.writes().iter().filter_map(put).collect()
}

#[test]
fn operator_action_is_audited_in_the_same_batch() {
    // Checks: operator, action, subject and request, in the batch of the action; timers and owners have no such row.
    for (order, name, what) in [
        (0, "claim", Some("intl_order.claim")),
        (1, "release", Some("intl_order.release")),
        (1, "fulfil", Some("intl_order.fulfil")),
        (1, "reject", Some("intl_order.reject")),
        (0, "cancel", None),
        (1, "end_lease", None),
        (4, "reveal", None),
    ] {
        let audits = rows(&decide(&orders()[order], name), table::AUDIT_LOG);
        let audits: Vec<AuditRecord> = audits.iter().map(|row| codec::decode(row).unwrap()).collect();
        let entries: Vec<_> = audits
            .iter()
            .map(|a| (a.action.as_str(), a.subject.clone(), a.act.clone()))
            .collect();
        let expected: Vec<_> = what
            .map(|what| (what, CARD.to_string(), ana().act))
            .into_iter()
            .collect();
        assert_eq!(entries, expected, "{name}");
        assert_eq!(
            audits.iter().filter_map(|a| a.note.as_deref()).count(),
            usize::from(name == "reject")
        );
    }
}

#[test]
fn entered_card_is_stored_only_in_the_vault() {
    // Checks: number and CVV are rows of their own; neither snapshot nor view has them; labels contain no markup.
    let held = orders().remove(1);
    let decision = decide(&held, "fulfil");
    assert_eq!(rows(&decision, table::VAULT), [vec![1; 40]]);
    assert_eq!(rows(&decision, table::CVV), [vec![2; 40]]);
    assert!(decision.conditions().contains(&Condition::Absent(table::vault(CARD))));
    let ready = fold(Some(held), &CARD, decision.events());
    let shown = to_json(&ready.view(&CARD));
    assert!(shown.contains("\"last4\":\"4242\""), "{shown}");
    assert!(!shown.contains('<') && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn card_expires_at_the_end_of_its_printed_month() {
    // Checks: by the calendar, at any distance; at that time, not before, the CVV's key is destroyed and its row
    // deleted.
    let due = |year, month| {
        let card = Box::new(EnteredCard {
            details: IntlCardDetails {
                exp_year: year,
                exp_month: month,
                ..details()
            },
            ..*entered_card()
        });
        let command = Command::Fulfil {
            act: ana(),
            lease: LEASE,
            card,
        };
        let decision = IntlOrder::decide(Some(&orders()[1]), &CARD, command, &at(NOW)).unwrap();
        let timers = rows(&decision, table::TIMER);
        let timer: OutboxJob = codec::decode(&timers[0]).unwrap();
        assert_eq!(timer.job, intl_order::Job::ExpireIntlCard(CARD));
        timer.next_attempt_at
    };
    // NOW is 2024-10-04.
    assert_eq!(due(2031, 12), month_end(2031, 12));
    assert_eq!(due(2024, 12), Timestamp(1_735_689_600_000)); // 2025-01-01T00:00:00Z
    assert_eq!(month_end(2026, 2), Timestamp(1_772_323_200_000)); // 2026-03-01T00:00:00Z
    let expired = decide(&orders()[4], "expire");
    assert_eq!(job_names(&expired), ["shred_cvv"]);
    let forgotten = decide(&orders()[7], "forgotten");
    assert!(forgotten.writes().contains(&Write::Delete { key: table::cvv(CARD) }));
}
