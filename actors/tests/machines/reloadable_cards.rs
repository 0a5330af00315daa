//! Reloadable card state machine: every command in every state.

use purser_actors::entity::reloadable_card::{
    CardHistoryEntry, Command, Event, MAX_HISTORY, Rejection, ReloadableCard, Status,
};
use purser_actors::kernel::{Decision, Entity, table, to_json};
use purser_actors::money::Cents;
use purser_actors::port::{
    CardAction, CardActivity, CardSnapshot, CardState, CardTransaction, Timestamp, TransactionStatus,
};
use purser_storage::{Condition, Write};

use crate::fixtures::{CARD, JOB, NOW, PAYMENT, WALLET, at, details, event_names, fold, issued, job_names, status};
use crate::transitions::{assert_chart, commanded, listed};

/// Sequence number of the newest event in every state except `creating` and `failed`.
const SEQUENCE: u64 = 4;
const ACCOUNT: [u8; 20] = [3; 20];

const TABLE: &str = "
               -        creating  open             paused           closed   failed  pausing                  closing                  ended
create         Ordered  !         !                !                !        !       !                        !                        !
opened         !        Opened    !                !                !        !       !                        !                        !
refused        !        Declined  !                !                !        !       !                        !                        !
pause          !        !         ActionRequested  =                !        !       =                        !                        !
resume         !        !         =                ActionRequested  !        !       !                        !                        !
close          !        !         ActionRequested  ActionRequested  !        !       !                        =                        !
answer_old     !        !         !                !                !        !       ActionCompleted          ActionCompleted          ActionCompleted
answer_open    !        !         !                !                !        !       Charged+ActionCompleted  Resumed+ActionCompleted  Charged+ActionCompleted
answer_paused  !        !         !                !                !        !       Paused+ActionCompleted   Charged+ActionCompleted  Charged+ActionCompleted
answer_closed  !        !         !                !                !        !       Closed+ActionCompleted   Closed+ActionCompleted   Charged+ActionCompleted
told_old       !        !         =                =                =        !       =                        =                        =
told_open      !        !         Charged          Resumed          Charged  !       Charged                  Resumed                  Charged
told_paused    !        !         Paused           Charged          Charged  !       Paused                   Charged                  Charged
told_closed    !        !         Closed           Closed           Charged  !       Closed                   Closed                   Charged
reveal         !        !         Revealed         Revealed         !        !       Revealed                 Revealed                 !
";

fn card_snapshot(sequence: u64, state: CardState) -> CardSnapshot {
    CardSnapshot {
        sequence,
        state,
        activity: CardActivity {
            available: Cents::new(4_00),
            transactions: Vec::new(),
        },
        released: Cents::ZERO,
    }
}

fn commands() -> Vec<(&'static str, Command)> {
    let (old, new) = (
        |state| card_snapshot(SEQUENCE, state),
        |state| card_snapshot(SEQUENCE + 1, state),
    );
    let answer = |standing| Command::RecordActionResult {
        job: JOB,
        snapshot: standing,
    };
    vec![
        (
            "create",
            Command::Request {
                owner: WALLET,
                account: ACCOUNT,
                amount: Cents::new(5_00),
                reusable: true,
                funding: None,
            },
        ),
        (
            "opened",
            Command::RecordOpened {
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
        ("pause", Command::RequestAction(CardAction::Pause)),
        ("resume", Command::RequestAction(CardAction::Resume)),
        ("close", Command::RequestAction(CardAction::Close)),
        ("answer_old", answer(old(CardState::Closed))),
        ("answer_open", answer(new(CardState::Open))),
        ("answer_paused", answer(new(CardState::Paused))),
        ("answer_closed", answer(new(CardState::Closed))),
        ("told_old", Command::RecordCardEvent(old(CardState::Closed))),
        ("told_open", Command::RecordCardEvent(new(CardState::Open))),
        ("told_paused", Command::RecordCardEvent(new(CardState::Paused))),
        ("told_closed", Command::RecordCardEvent(new(CardState::Closed))),
        ("reveal", Command::Reveal),
    ]
}

/// A card in every state; open with a pending pause, paused with a pending close, and closed by its only charge with a
/// pending pause.
fn cards() -> Vec<ReloadableCard> {
    let card = |action, status| ReloadableCard {
        owner: WALLET,
        account: ACCOUNT,
        amount: Cents::new(5_00),
        reusable: true,
        funded_by: None,
        created_at: NOW,
        updated_at: NOW,
        pending_action: action,
        sequence: SEQUENCE,
        activity: CardActivity::default(),
        history: Vec::new(),
        status,
    };
    vec![
        card(None, Status::Creating),
        card(None, Status::Open(details())),
        card(None, Status::Paused(details())),
        card(None, Status::Closed(details())),
        card(None, Status::Failed { reason: "no".into() }),
        card(Some(CardAction::Pause), Status::Open(details())),
        card(Some(CardAction::Close), Status::Paused(details())),
        card(Some(CardAction::Pause), Status::Closed(details())),
    ]
}

fn events() -> Vec<Event> {
    let standing = card_snapshot(SEQUENCE + 1, CardState::Open);
    vec![
        Event::Ordered {
            owner: WALLET,
            account: ACCOUNT,
            amount: Cents::new(5_00),
            reusable: true,
            funded_by: None,
            at: NOW,
        },
        Event::Opened(details(), NOW),
        Event::Declined("no".into(), NOW),
        Event::ActionRequested(CardAction::Pause, NOW),
        Event::ActionCompleted(NOW),
        Event::Paused(standing.clone(), NOW),
        Event::Resumed(standing.clone(), NOW),
        Event::Closed(standing.clone(), NOW),
        Event::Charged(standing, None, NOW),
        Event::Revealed(NOW),
    ]
}

fn decide(card: &ReloadableCard, name: &str) -> Decision<ReloadableCard> {
    let (_, command) = commands().into_iter().find(|(n, _)| *n == name).unwrap();
    ReloadableCard::decide(Some(card), &CARD, command, &at(NOW)).unwrap()
}

#[test]
fn case_31_every_command_in_every_state_matches_the_table() {
    // Checks: fifteen commands in nine states; older events change nothing, and an ended card accepts no action.
    let states: Vec<_> = std::iter::once(None).chain(cards().into_iter().map(Some)).collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    assert_eq!(lines.next().unwrap().split_whitespace().count(), states.len());
    assert_eq!(lines.clone().count(), commands().len());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let decided = ReloadableCard::decide(state.as_ref(), &CARD, command.clone(), &at(NOW));
            let met = status(state.as_ref());
            match decided {
                Ok(decision) => {
                    assert_eq!(event_names(&decision), *expected, "{name} in {met}");
                    // Every decision applies.
                    if !decision.events().is_empty() {
                        fold(state.clone(), &CARD, decision.events());
                    }
                }
                Err(_) => assert_eq!(*expected, "!", "{name} in {met}"),
            }
        }
    }
}

#[test]
fn transitions_match_decide_and_apply() {
    // Checks: every transition is listed, and a command reaches each; views show the status.
    assert_chart(&CARD, cards(), &events());
    assert_eq!(commanded(&CARD, cards(), commands()), listed::<ReloadableCard>());
    for card in cards() {
        let shown: serde_json::Value = serde_json::from_str(&to_json(&card.view(&CARD))).unwrap();
        assert_eq!(shown["status"], card.status());
    }
}

#[test]
fn each_step_has_its_job_and_its_conditions() {
    // Checks: an order needs the link and is listed; an opened card is sealed. An action is sent to the issuer once;
    // another one meanwhile gets an error that names it.
    let (_, create) = commands().remove(0);
    let ordered = ReloadableCard::decide(None, &CARD, create, &at(NOW)).unwrap();
    assert_eq!(job_names(&ordered), ["open_reloadable_card"]);
    assert!(
        ordered
            .conditions()
            .contains(&Condition::Present(table::issuer_linked(&WALLET)))
    );
    let states = cards();
    let opened = decide(&states[0], "opened");
    assert!(opened.conditions().contains(&Condition::Absent(table::vault(CARD))));
    let sealed = |write: &Write| matches!(write, Write::Put { key, value, .. } if key[0] == table::VAULT && *value == issued().sealed);
    assert!(opened.writes().iter().any(sealed));
    let requested = decide(&states[1], "pause");
    assert_eq!(
        (job_names(&requested), *requested.reply()),
        (vec!["change_card_state"], true)
    );
    let again = decide(&states[5], "pause");
    assert_eq!((job_names(&again), *again.reply()), (vec![], true), "it joins");
    assert!(!*decide(&states[1], "resume").reply(), "it is so already");
    let busy = ReloadableCard::decide(
        Some(&states[5]),
        &CARD,
        Command::RequestAction(CardAction::Close),
        &at(NOW),
    );
    assert_eq!(busy.unwrap_err(), Rejection::ActionInProgress(CardAction::Pause));
    for name in ["answer_open", "answer_paused", "answer_closed"] {
        let row = table::outbox_job(JOB);
        assert!(
            decide(&states[5], name).conditions().contains(&Condition::Present(row)),
            "{name}"
        );
    }
}

#[test]
fn card_history_is_bounded() {
    // Checks: for any number of events and any length of issuer text, a snapshot stays small and keeps the newest.
    let mut card = cards().remove(1);
    for n in 0..100 {
        let state = if n % 2 == 0 { CardState::Paused } else { CardState::Open };
        let long = CardTransaction {
            id: "i".repeat(10_000),
            merchant: "m".repeat(10_000),
            amount: Cents::new(1),
            at: Timestamp(n),
            status: TransactionStatus::Declined,
            reason: Some("r".repeat(10_000)),
        };
        let mut standing = card_snapshot(SEQUENCE + 1 + n, state);
        standing.activity.transactions = vec![long; 100];
        let decision = ReloadableCard::decide(
            Some(&card),
            &CARD,
            Command::RecordCardEvent(standing),
            &at(Timestamp(n)),
        )
        .unwrap();
        card = fold(Some(card), &CARD, decision.events());
    }
    assert_eq!(card.history.len(), MAX_HISTORY);
    assert_eq!(card.history.last(), Some(&(CardHistoryEntry::Resumed, Timestamp(99))));
    assert!(purser_storage::codec::encode(&card).len() < 10_000);
}

#[test]
fn case_75_card_of_a_payment_token_counts_for_that_payment() {
    // Checks: the order takes the next slot of the payment's cards, under the condition that it is free, and the card
    // stores the payment. A card ordered by the owner's own sign-in takes none.
    let order = |funding| Command::Request {
        owner: WALLET,
        account: ACCOUNT,
        amount: Cents::new(5_00),
        reusable: true,
        funding,
    };
    let counted = ReloadableCard::decide(None, &CARD, order(Some((PAYMENT, 2))), &at(NOW)).unwrap();
    let row = table::payment_card(PAYMENT, 2);
    assert!(counted.conditions().contains(&Condition::Absent(row.clone())));
    let number = CARD.0.to_be_bytes().to_vec();
    let of_payment = |write: &Write| matches!(write, Write::Put { key, value, .. } if *key == row && *value == number);
    assert!(counted.writes().iter().any(of_payment));
    assert_eq!(
        fold::<ReloadableCard>(None, &CARD, counted.events()).funded_by,
        Some(PAYMENT)
    );
    let own = ReloadableCard::decide(None, &CARD, order(None), &at(NOW)).unwrap();
    let takes_a_place = |write: &Write| matches!(write, Write::Put { key, .. } if key[0] == table::PAYMENT_CARD);
    assert!(!own.writes().iter().any(takes_a_place));
    assert_eq!(fold::<ReloadableCard>(None, &CARD, own.events()).funded_by, None);
}
