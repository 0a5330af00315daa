//! The card's machine, every command in every state.

use purser_actors::card::{Card, Command, Rejection};
use purser_actors::kernel::{Entity, table};

use crate::sample::{CARD, EFFECT, NOW, at, cards, happened, issued, status, work};

const TABLE: &str = "
          -  pending  ready     failed  closed  expired
issued    !  Issued   !         !       !       !
refused   !  Refused  !         !       !       !
reveal    !  !        Revealed  !       !       !
close     !  !        Closed    !       !       !
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
        ("expire", Command::Expire { effect: EFFECT }),
    ]
}

#[test]
fn case_31_every_command_in_every_state_does_what_the_table_says() {
    // Aim: five commands in six states; the last three states refuse everything, late answers of the
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
                Err(rejection) => assert_eq!((rejection, *expected), (Rejection(met), "!"), "{name} in {met}"),
            }
        }
    }
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
