//! Gift card state machine: every command in every state.

use purser_actors::entity::account;
use purser_actors::entity::gift_card::{Command, Event, GiftCard, Rejection};
use purser_actors::kernel::{Entity, table, to_json};
use purser_actors::money::Cents;
use purser_actors::port::GiftCardOrder;

use crate::fixtures::{CARD, JOB, NOW, WALLET, at, charge, event_names, fold, job_names, status};
use crate::transitions::assert_chart;

const TABLE: &str = "
           -  processing  completed  failed
delivered  !  Delivered   !          !
refused    !  Declined    !          !
reveal     !  !           Revealed   !
";

fn commands() -> Vec<(&'static str, Command)> {
    let (effect, sealed, reason) = (JOB, vec![9; 40], "out_of_stock".into());
    vec![
        ("delivered", Command::RecordDelivery { job: effect, sealed }),
        ("refused", Command::RecordDecline { job: effect, reason }),
        ("reveal", Command::Reveal),
    ]
}

/// A gift card in every state.
pub(crate) fn gift_cards() -> Vec<GiftCard> {
    let order = GiftCardOrder {
        product: "coffee-us".into(),
        amount: Cents::new(25_00),
        currency: "USD".parse().unwrap(),
        country: "US".parse().unwrap(),
        fee_rate: "0.04".into(),
        quoted: Box::default(),
    };
    let ordered = Event::Ordered {
        owner: WALLET,
        charge: charge(),
        order,
        at: NOW,
    };
    let processing: GiftCard = fold(None, &CARD, &[ordered]);
    let after = |event| fold(Some(processing.clone()), &CARD, &[event]);
    let completed = after(Event::Delivered(NOW));
    let failed = after(Event::Declined("no".into(), NOW));
    vec![processing, completed, failed]
}

#[test]
fn case_31_every_command_in_every_gift_card_state_matches_the_table() {
    // Checks: three commands in four states, late catalog results included.
    let states: Vec<_> = std::iter::once(None)
        .chain(gift_cards().into_iter().map(Some))
        .collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let met = status(state.as_ref());
            match GiftCard::decide(state.as_ref(), &CARD, command.clone(), &at(NOW)) {
                Ok(decision) => assert_eq!(event_names(&decision), *expected, "{name} in {met}"),
                Err(rejection) => assert_eq!((rejection, *expected), (Rejection(met), "!"), "{name} in {met}"),
            }
        }
    }
}

#[test]
fn transitions_match_apply() {
    // Checks: state × event, exhaustively; each state's view is JSON with its status.
    let ordered = Event::Ordered {
        owner: WALLET,
        charge: charge(),
        order: gift_cards()[0].order.clone(),
        at: NOW,
    };
    let refused = Event::Declined("no".into(), NOW);
    let events = [ordered, Event::Delivered(NOW), refused, Event::Revealed(NOW)];
    assert_chart(&CARD, gift_cards(), &events);
    for gift in gift_cards() {
        let json: serde_json::Value = serde_json::from_str(&to_json(&gift.view(&CARD))).unwrap();
        assert_eq!(json["status"], gift.status());
    }
}

#[test]
fn catalog_decline_credits_the_whole_charge() {
    // Checks: amount and fee are credited together to the owner.
    let refused = commands().remove(1).1;
    let decision = GiftCard::decide(Some(&gift_cards()[0]), &CARD, refused, &at(NOW)).unwrap();
    assert_eq!(job_names(&decision), ["credit_account"]);
    let Some(account::Job::CreditAccount { amount, account, .. }) = decision.jobs()[0].job.typed() else {
        panic!("{:?}", decision.jobs());
    };
    assert_eq!((amount, account), (charge().charged, WALLET));
}

#[test]
fn redemption_code_is_stored_only_in_the_vault() {
    // Checks: the sealed code is a row of its own, written once.
    let decision = GiftCard::decide(Some(&gift_cards()[0]), &CARD, commands().remove(0).1, &at(NOW)).unwrap();
    let key = table::vault(CARD);
    let absent = purser_storage::Condition::Absent(key.clone());
    assert!(decision.conditions().contains(&absent));
    let (revision, value) = (0, vec![9; 40]);
    let sealed = purser_storage::Write::Put { key, revision, value };
    assert!(decision.writes().contains(&sealed));
}
