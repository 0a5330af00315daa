//! Prepaid card state machine: every command in every state.

use purser_actors::entity::account;
use purser_actors::entity::card::{Card, Command, Event, Rejection};
use purser_actors::entity::refund::Refunded;
use purser_actors::kernel::{Decision, Entity, StateMachine, table, to_json};
use purser_actors::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{
    CardAction, CardActivity, CardSnapshot, CardState, CardTransaction, ChargeChange, Timestamp, TransactionStatus,
    month_end,
};
use purser_storage::{Write, codec};

use crate::fixtures::{CARD, CARD_SEQUENCE, JOB, NOW, at, cards, event_names, fold, issued, job_names, status};

const TABLE: &str = "
               -  pending   ready             failed  closed   expired  paused            pausing                  ended
issued         !  Issued    !                 !       !        !        !                 !                        !
refused        !  Declined  !                 !       !        !        !                 !                        !
reveal         !  !         Revealed          !       !        !        Revealed          Revealed                 !
pause          !  !         ActionRequested   !       !        !        =                 =                        !
resume         !  !         =                 !       !        !        ActionRequested   !                        !
close          !  !         ActionRequested   !       !        !        ActionRequested   !                        !
answer_old     !  !         !                 !       !        !        !                 ActionCompleted          ActionCompleted
answer_paused  !  !         !                 !       !        !        !                 Updated+ActionCompleted  Updated+ActionCompleted
answer_closed  !  !         !                 !       !        !        !                 Updated+ActionCompleted  Updated+ActionCompleted
told_old       !  !         =                 !       =        =        =                 =                        =
told_open      !  !         Updated           !       Updated  Updated  Updated           Updated                  Updated
told_closed    !  !         Updated           !       Updated  Updated  Updated           Updated                  Updated
refresh        !  !         RefreshRequested  !       !        !        RefreshRequested  RefreshRequested         !
refreshed      !  !         !                 !       !        !        !                 !                        !
expire         !  =         Expired           =       =        =        Expired           Expired                  =
";

/// The issuer's snapshot of a card: sequence number, state and released amount in cents.
pub(crate) fn card_snapshot(sequence: u64, state: CardState, released: u64) -> CardSnapshot {
    CardSnapshot {
        sequence,
        state,
        activity: CardActivity::loaded(Cents::new(4_00)),
        released: Cents::new(released),
    }
}

pub(crate) fn commands() -> Vec<(&'static str, Command)> {
    let action_result = |sequence, state| Command::RecordActionResult {
        job: JOB,
        snapshot: card_snapshot(sequence, state, 0),
        refunded: Refunded::default(),
    };
    let card_event = |sequence, state| Command::RecordCardEvent(card_snapshot(sequence, state, 0), Refunded::default());
    let (old, new) = (CARD_SEQUENCE, CARD_SEQUENCE + 1);
    vec![
        (
            "issued",
            Command::RecordIssuance {
                job: JOB,
                card: issued(),
            },
        ),
        (
            "refused",
            Command::RecordDecline {
                job: JOB,
                reason: "no".into(),
            },
        ),
        ("reveal", Command::Reveal),
        ("pause", Command::RequestAction(CardAction::Pause)),
        ("resume", Command::RequestAction(CardAction::Resume)),
        ("close", Command::RequestAction(CardAction::Close)),
        ("answer_old", action_result(old, CardState::Paused)),
        ("answer_paused", action_result(new, CardState::Paused)),
        ("answer_closed", action_result(new, CardState::Closed)),
        ("told_old", card_event(old, CardState::Closed)),
        ("told_open", card_event(new, CardState::Open)),
        ("told_closed", card_event(new, CardState::Closed)),
        ("refresh", Command::RequestRefresh),
        ("refreshed", refreshed()),
        ("expire", Command::Expire { job: JOB }),
    ]
}

#[test]
fn case_31_every_command_in_every_state_matches_the_table() {
    // Checks: fifteen commands in nine states. An ended card accepts only issuer reports; a due timer of a card that is
    // not active just ends.
    let states: Vec<_> = std::iter::once(None).chain(cards().into_iter().map(Some)).collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    assert_eq!(lines.next().unwrap().split_whitespace().count(), states.len());
    assert_eq!(lines.clone().count(), commands().len());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let decided = Card::decide(state.as_ref(), &CARD, command.clone(), &at(NOW));
            let met = status(state.as_ref());
            match decided {
                Ok(decision) => assert_eq!(event_names(&decision), *expected, "{name} in {met}"),
                Err(_) => assert_eq!(*expected, "!", "{name} in {met}"),
            }
        }
    }
}

fn decide(card: &Card, name: &str) -> Decision<Card> {
    let (_, command) = commands().into_iter().find(|(n, _)| *n == name).unwrap();
    Card::decide(Some(card), &CARD, command, &at(NOW)).unwrap()
}

fn record_card_event(card: &Card, standing: CardSnapshot) -> (Decision<Card>, Card) {
    let decision = Card::decide(
        Some(card),
        &CARD,
        Command::RecordCardEvent(standing, Refunded::default()),
        &at(NOW),
    )
    .unwrap();
    let after = fold(Some(card.clone()), &CARD, decision.events());
    (decision, after)
}

#[test]
fn card_action_is_sent_once_and_one_at_a_time() {
    // Checks: a repeated action joins the pending one, and another action gets an error that names it. An action
    // already in effect sends nothing. Only the issuer's result permits the next action.
    let states = cards();
    let requested = decide(&states[1], "pause");
    assert_eq!(
        (job_names(&requested), *requested.reply()),
        (vec!["change_prepaid_card_state"], true)
    );
    let again = decide(&states[6], "pause");
    assert_eq!((job_names(&again), *again.reply()), (vec![], true));
    assert!(!*decide(&states[1], "resume").reply() && !*decide(&states[5], "pause").reply());
    let busy = Card::decide(
        Some(&states[6]),
        &CARD,
        Command::RequestAction(CardAction::Close),
        &at(NOW),
    );
    assert_eq!(busy.unwrap_err(), Rejection::ActionInProgress(CardAction::Pause));
    let paused = fold(
        Some(states[6].clone()),
        &CARD,
        decide(&states[6], "answer_paused").events(),
    );
    assert_eq!((paused.status(), paused.lifecycle.pending_action), ("paused", None));
    assert_eq!(job_names(&decide(&paused, "close")), ["change_prepaid_card_state"]);
}

/// Amounts debited from the issuer for the owner, and credited.
fn remainder_returns(decision: &Decision<Card>) -> Vec<(i128, Usdc)> {
    let posted = decision.writes().iter().filter_map(|write| match write {
        Write::Put { key, value, .. } if key[0] == table::LEDGER => codec::decode::<LedgerTransaction>(value).ok(),
        _ => None,
    });
    let from_issuer = posted.map(|posted| {
        assert_eq!(posted.postings.iter().map(|p| p.atomic).sum::<i128>(), 0);
        let own = posted
            .postings
            .iter()
            .find(|p| p.account == LedgerAccount::Provider(LedgerProvider::CardIssuer));
        own.unwrap().atomic
    });
    let credits = decision.jobs().iter().filter_map(|effect| match effect.job.typed()? {
        account::Job::CreditAccount { amount, .. } => Some(amount),
        _ => None,
    });
    from_issuer.zip(credits).collect()
}

#[test]
fn remainder_of_a_closed_card_is_credited_once_when_reported() {
    // Checks: closed with 3.00 released; the same event again and an older total credit nothing; a later total of 4.00
    // credits 1.00. More than was loaded is never credited, and a report about an open card is no remainder.
    let ready = &cards()[1];
    let (open, _) = record_card_event(ready, card_snapshot(5, CardState::Open, 3_00));
    assert_eq!(remainder_returns(&open), []);
    let (closing, closed) = record_card_event(ready, card_snapshot(5, CardState::Closed, 3_00));
    assert_eq!(remainder_returns(&closing), [(3_000_000, Usdc::from_atomic(3_000_000))]);
    assert_eq!(
        (closed.status(), closed.lifecycle.released),
        ("closed", Cents::new(3_00))
    );
    for (sequence, released) in [(5, 4_00), (6, 3_00), (7, 1_00)] {
        let (again, _) = record_card_event(&closed, card_snapshot(sequence, CardState::Closed, released));
        assert_eq!(remainder_returns(&again), [], "{sequence} {released}");
    }
    let (more, after) = record_card_event(&closed, card_snapshot(8, CardState::Closed, 4_00));
    assert_eq!(remainder_returns(&more), [(1_000_000, Usdc::from_atomic(1_000_000))]);
    let (most, after) = record_card_event(&after, card_snapshot(9, CardState::Closed, 90_000));
    assert_eq!(remainder_returns(&most), [(1_000_000, Usdc::from_atomic(1_000_000))]);
    assert_eq!(after.lifecycle.released, after.amount);
    let (expired, _) = record_card_event(&cards()[4], card_snapshot(5, CardState::Closed, 2_00));
    assert_eq!(remainder_returns(&expired), [(2_000_000, Usdc::from_atomic(2_000_000))]);
}

#[test]
fn card_transaction_event_names_its_result() {
    // Checks: pending, settled later, declined and refunded each have their own event, an older report has none, and
    // the newest 20 are kept.
    let charge = |id: u32, status| CardTransaction {
        id: format!("t{id}"),
        merchant: "Books 4111 1111 1111 1111".into(),
        amount: Cents::new(1),
        at: Timestamp(u64::from(id)),
        status,
        reason: None,
    };
    let mut card = cards().remove(1);
    let mut charges = Vec::new();
    let says = [
        (TransactionStatus::Pending, "charged"),
        (TransactionStatus::Settled, "charge_settled"),
        (TransactionStatus::Refunded, "charge_refunded"),
    ];
    for (n, (status, expected)) in says.into_iter().enumerate() {
        charges = vec![charge(1, status)];
        let mut standing = card_snapshot(CARD_SEQUENCE + 1 + n as u64, CardState::Open, 0);
        standing.activity.transactions = charges.clone();
        let (decision, after) = record_card_event(&card, standing);
        assert_eq!(Card::event_name(&decision.events()[0]), Some(expected));
        card = after;
    }
    charges.extend((2..60).map(|id| charge(id, TransactionStatus::Declined)));
    charges.reverse();
    let mut standing = card_snapshot(CARD_SEQUENCE + 10, CardState::Open, 0);
    standing.activity.transactions = charges;
    let (decision, after) = record_card_event(&card, standing);
    let all: Vec<_> = decision.events().iter().map(Card::event_name).collect();
    assert_eq!(
        all,
        [Some(ChargeChange::Declined.name()); CardActivity::MAX_TRANSACTIONS]
    );
    assert_eq!(after.transactions().len(), CardActivity::MAX_TRANSACTIONS);
    assert!(
        !after.transactions()[0].merchant.contains("4111 1111"),
        "{}",
        after.transactions()[0].merchant
    );
}

#[test]
fn each_transaction_of_one_issuer_event_is_announced() {
    // Checks: one issuer event reports several transactions and the card's end. Each becomes an event, oldest first; an
    // already refunded one becomes a pending and a refunded event, and the end is last. The remainder is credited once.
    let charge = |id: &str, status| CardTransaction {
        id: id.into(),
        merchant: "Fern & Hill".into(),
        amount: Cents::new(100),
        at: NOW,
        status,
        reason: None,
    };
    let mut closed = card_snapshot(CARD_SEQUENCE + 1, CardState::Closed, 50);
    closed.activity.transactions = vec![
        charge("3", TransactionStatus::Declined),
        charge("2", TransactionStatus::Refunded),
        charge("1", TransactionStatus::Settled),
    ];
    let (decision, after) = record_card_event(&cards().remove(1), closed);
    let all: Vec<_> = decision.events().iter().filter_map(Card::event_name).collect();
    assert_eq!(
        all,
        ["charged", "charged", "charge_refunded", "charge_declined", "closed"]
    );
    assert_eq!(
        (after.status(), after.lifecycle.released, job_names(&decision)),
        ("closed", Cents::new(50), vec!["credit_account"])
    );
}

#[test]
fn card_is_valid_until_the_end_of_its_printed_month() {
    // Checks: the timer is due at the first moment after the printed month, whenever the card was bought; it ends a
    // paused card too.
    let decision = decide(&cards()[0], "issued");
    let timers = decision.writes().iter().filter_map(|write| match write {
        Write::Put { key, .. } if key[0] == table::TIMER => key[1..].first_chunk().map(|due| u64::from_be_bytes(*due)),
        _ => None,
    });
    assert_eq!(timers.collect::<Vec<_>>(), [month_end(2031, 12).0]);
    assert_eq!(event_names(&decide(&cards()[5], "expire")), "Expired");
}

fn refreshed() -> Command {
    Command::RecordRefresh {
        job: JOB,
        snapshot: card_snapshot(CARD_SEQUENCE + 1, CardState::Open, 0),
        refunded: Refunded::default(),
    }
}

fn refresh(card: &Card, now: u64) -> Result<Card, Rejection> {
    let context = at(Timestamp(now));
    let asked = Card::decide(Some(card), &CARD, Command::RequestRefresh, &context)?;
    let asked = fold(Some(card.clone()), &CARD, asked.events());
    let again = Card::decide(Some(&asked), &CARD, Command::RequestRefresh, &context);
    assert_eq!(again.unwrap_err(), Rejection::RefreshInProgress, "one at a time");
    let answered = Card::decide(Some(&asked), &CARD, refreshed(), &context)?;
    Ok(fold(Some(asked), &CARD, answered.events()))
}

#[test]
fn case_57_card_refresh_is_limited_per_five_minutes_and_day() {
    // Checks: 4:59 and 5:00; the thirteenth in 24 hours; a sliding window; a clock that steps back permits no more.
    let (minute, day) = (60_000, 86_400_000);
    let wait = |wait_ms| Err(Rejection::RefreshTooSoon { wait_ms });
    let first = refresh(&cards()[1], NOW.0).unwrap();
    assert_eq!(refresh(&first, NOW.0 + 5 * minute - 1).map(drop), wait(1));
    assert!(refresh(&first, NOW.0 + 5 * minute).is_ok());
    assert_eq!(
        refresh(&first, NOW.0 - day).map(drop),
        wait(5 * minute),
        "the clock jumped back"
    );
    let mut card = cards().remove(1);
    for n in 0..12 {
        card = refresh(&card, NOW.0 + n * 10 * minute).unwrap();
    }
    let thirteenth = NOW.0 + 120 * minute;
    assert_eq!(refresh(&card, thirteenth).map(drop), wait(day - 120 * minute));
    assert_eq!(refresh(&card, NOW.0 + day - 1).map(drop), wait(1));
    let card = refresh(&card, NOW.0 + day).unwrap();
    // The second of the first twelve leaves the window next.
    assert_eq!(refresh(&card, NOW.0 + day + 5 * minute).map(drop), wait(5 * minute));
    assert!(refresh(&card, NOW.0 + day + 10 * minute).is_ok());
    assert_eq!(card.refreshes.len(), 12, "no more is remembered than counts");
}

#[test]
fn updates_of_an_ended_card_are_recorded() {
    // Checks: a card closed during an issuer query still records its spending, once.
    let asked = Card::decide(Some(&cards()[1]), &CARD, Command::RequestRefresh, &at(NOW)).unwrap();
    let asked = fold(Some(cards().remove(1)), &CARD, asked.events());
    let (_, closed) = record_card_event(&asked, card_snapshot(CARD_SEQUENCE + 1, CardState::Closed, 0));
    let news = Command::RecordRefresh {
        job: JOB,
        snapshot: card_snapshot(CARD_SEQUENCE + 2, CardState::Closed, 0),
        refunded: Refunded::default(),
    };
    let decision = Card::decide(Some(&closed), &CARD, news.clone(), &at(NOW)).unwrap();
    assert!(matches!(decision.events(), [Event::Updated(..), Event::Refreshed(_)]));
    let kept = fold(Some(closed), &CARD, decision.events());
    assert_eq!((kept.status(), kept.lifecycle.sequence), ("closed", CARD_SEQUENCE + 2));
    assert!(Card::decide(Some(&kept), &CARD, news, &at(NOW)).is_err());
}

#[test]
fn issuer_decline_credits_the_whole_charge() {
    // Checks: amount and fee are credited together to the owner.
    let refused = commands().remove(1).1;
    let decision = Card::decide(Some(&cards()[0]), &CARD, refused, &at(NOW)).unwrap();
    assert_eq!(job_names(&decision), ["credit_account"]);
    let Some(account::Job::CreditAccount { amount, .. }) = decision.jobs()[0].job.typed() else {
        panic!("{:?}", decision.jobs());
    };
    assert_eq!(amount, cards()[0].charge.charged);
}

#[test]
fn issued_card_number_is_stored_only_in_the_vault() {
    // Checks: the sealed number is a row of its own, written once; neither snapshot nor view has it.
    let decision = Card::decide(Some(&cards()[0]), &CARD, commands().remove(0).1, &at(NOW)).unwrap();
    let vault = table::vault(CARD);
    assert!(
        decision
            .conditions()
            .contains(&purser_storage::Condition::Absent(vault.clone()))
    );
    let sealed = purser_storage::Write::Put {
        key: vault,
        revision: 0,
        value: issued().sealed,
    };
    assert!(decision.writes().contains(&sealed));
    let ready = crate::fixtures::fold(Some(cards().remove(0)), &CARD, decision.events());
    let shown = to_json(&ready.view(&CARD));
    assert!(shown.contains("\"last4\":\"4242\""), "{shown}");
    assert_eq!(ready.details(), Some(&crate::fixtures::details()));
}
