//! A spend that our own service refused: the one end that the chain need not show.

use purser_actors::kernel::Entity;
use purser_actors::kernel::effect::Work;
use purser_actors::spend::{Event, Spend, Way};

use crate::sample::{NOW, WALLET, at, fold};
use crate::spends::{SPEND, answer, commands, order, spends};

#[test]
fn what_our_own_service_refused_ends_at_once() {
    // Aim: answer and end in one batch, the reservation ended without payment; once it was answered or for another server's call
    // only the chain ends it.
    let [reserved, signed, ..] = &spends()[..] else {
        panic!("one in each state")
    };
    let own = |spend: &Spend| {
        let host = Way::OWN.to_owned();
        let order = order(Way::Call { host });
        Spend { order, ..spend.clone() }
    };
    let (_, declined) = commands().remove(2);
    let ask = |spend: &Spend| Spend::decide(Some(spend), &SPEND, declined.clone(), &at(NOW));
    let decision = ask(&own(signed)).unwrap();
    let [Event::Answered(..), Event::Unsettled(reason, _)] = decision.events() else {
        panic!("{:?}", decision.events())
    };
    assert_eq!(&**reason, "not_taken");
    let ended: Spend = fold(Some(own(signed)), &SPEND, decision.events());
    assert_eq!((ended.failure(), ended.is_open()), (Some("unsettled"), false));
    assert_eq!(ended.answer(), Some(&answer()));
    let told: Vec<_> = decision.effects().iter().map(|effect| effect.work.clone()).collect();
    let (wallet, spend, paid) = (WALLET, SPEND, false);
    assert_eq!(told, [Work::EndSpend { wallet, spend, paid }]);
    assert!(ask(&own(reserved)).is_err() && ask(signed).is_err() && ask(&ended).is_err());
}
