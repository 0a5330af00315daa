//! The card's machine, every command in every state.

use purser_actors::card::{Card, Command, Rejection};
use purser_actors::kernel::{Entity, table};
use purser_actors::port::{CardActivity, Timestamp};

use crate::sample::{CARD, EFFECT, NOW, at, cards, fold, happened, issued, status, work};

const TABLE: &str = "
          -  pending  ready     failed  closed  expired
issued    !  Issued   !         !       !       !
refused   !  Refused  !         !       !       !
reveal    !  !        Revealed  !       !       !
close     !  !        Closed    !       !       !
refresh   !  !        RefreshAsked  !   !       !
refreshed !  !        !         !       !       !
expire    !  =        Expired   =       =       =
";

pub(crate) fn commands() -> Vec<(&'static str, Command)> {
    vec![
        (
            "issued",
            Command::Issued {
                effect: EFFECT,
                card: issued(),
            },
        ),
        (
            "refused",
            Command::Refused {
                effect: EFFECT,
                reason: "no".into(),
            },
        ),
        ("reveal", Command::Reveal),
        ("close", Command::Close),
        ("refresh", Command::Refresh),
        ("refreshed", refreshed()),
        ("expire", Command::Expire { effect: EFFECT }),
    ]
}

#[test]
fn case_31_every_command_in_every_state_does_what_the_table_says() {
    // Aim: seven commands in six states; the last three states refuse everything, late answers of the
    // issuer included; a timer that comes due in any state but `ready` just ends.
    let states: Vec<_> = std::iter::once(None).chain(cards().into_iter().map(Some)).collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let decided = Card::decide(state.as_ref(), &CARD, command.clone(), &at(NOW));
            let met = status(state.as_ref());
            match decided {
                Ok(decision) => assert_eq!(happened(&decision), *expected, "{name} in {met}"),
                Err(rejection) => assert_eq!((rejection, *expected), (Rejection::State(met), "!"), "{name} in {met}"),
            }
        }
    }
}

fn refreshed() -> Command {
    Command::Refreshed {
        effect: EFFECT,
        activity: CardActivity::default(),
    }
}

fn refresh(card: &Card, now: u64) -> Result<Card, Rejection> {
    let context = at(Timestamp(now));
    let asked = Card::decide(Some(card), &CARD, Command::Refresh, &context)?;
    let asked = fold(Some(card.clone()), &CARD, asked.events());
    let again = Card::decide(Some(&asked), &CARD, Command::Refresh, &context);
    assert_eq!(again.unwrap_err(), Rejection::Refreshing, "one at a time");
    let answered = Card::decide(Some(&asked), &CARD, refreshed(), &context)?;
    Ok(fold(Some(asked), &CARD, answered.events()))
}

#[test]
fn case_57_a_card_is_refreshed_every_five_minutes_and_twelve_times_a_day() {
    // Aim: 4:59 and 5:00; the thirteenth in 24 hours; the window slides; a clock that jumps back gives no new budget.
    let (minute, day) = (60_000, 86_400_000);
    let wait = |wait_ms| Err(Rejection::TooOften { wait_ms });
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
    // The second of the first twelve is the next to leave the window.
    assert_eq!(refresh(&card, NOW.0 + day + 5 * minute).map(drop), wait(5 * minute));
    assert!(refresh(&card, NOW.0 + day + 10 * minute).is_ok());
    assert_eq!(card.refreshes.len(), 12, "no more is remembered than counts");
}

#[test]
fn news_of_a_card_that_has_ended_are_kept() {
    // Aim: a card that is closed while the issuer is asked still learns what was spent, once.
    let asked = Card::decide(Some(&cards()[1]), &CARD, Command::Refresh, &at(NOW)).unwrap();
    let asked = fold(Some(cards().remove(1)), &CARD, asked.events());
    let closed = Card::decide(Some(&asked), &CARD, Command::Close, &at(NOW)).unwrap();
    let closed = fold(Some(asked), &CARD, closed.events());
    let news = Card::decide(Some(&closed), &CARD, refreshed(), &at(NOW)).unwrap();
    let kept = fold(Some(closed), &CARD, news.events());
    assert_eq!((kept.status(), kept.activity.is_some()), ("closed", true));
    assert!(Card::decide(Some(&kept), &CARD, refreshed(), &at(NOW)).is_err());
}

#[test]
fn a_refusal_by_the_issuer_credits_the_whole_charge() {
    // Aim: amount and fee go back together, to the owner.
    let refused = commands().remove(1).1;
    let decision = Card::decide(Some(&cards()[0]), &CARD, refused, &at(NOW)).unwrap();
    assert_eq!(work(&decision), ["credit"]);
    let purser_actors::kernel::effect::Work::Credit { amount, .. } = decision.effects()[0].work else {
        panic!("{:?}", decision.effects());
    };
    assert_eq!(amount, cards()[0].charge.charged);
}

#[test]
fn an_issued_cards_number_goes_to_the_vault_and_nowhere_else() {
    // Aim: the sealed number is a row of its own, written once; neither snapshot nor view knows it.
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
    let ready = crate::sample::fold(Some(cards().remove(0)), &CARD, decision.events());
    let shown = ready.view(&CARD).to_json();
    assert!(shown.contains("\"last4\":\"4242\""), "{shown}");
    assert_eq!(ready.details(), Some(&crate::sample::details()));
}
