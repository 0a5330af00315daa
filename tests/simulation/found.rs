//! What the simulator found in the product, told again by hand so that it stays found.

use purser_actors::product::{Cap, Caps, Line};

use std::collections::BTreeMap;

use crate::fate::{Fate, Submit};
use crate::life::{Outcome, run};
use crate::plan::{Plan, Step};
use crate::seeds::quiet_ordered_panics;

/// A run of these steps, in which the chain takes a second for payment 0.
fn story(in_flight_max: usize, steps: Vec<Step>) -> Outcome {
    quiet_ordered_panics();
    let mut plan = Plan::of(0);
    plan.settings.in_flight_max = in_flight_max;
    plan.settings.retry.running_max = 64;
    plan.settings.caps = Caps::NONE.with(
        Line::UsaCard,
        Cap {
            count: 100,
            sum: plan.cap().sum,
        },
    );
    plan.steps = steps;
    let slow = Fate {
        submit: vec![Submit::Slow(1_000)],
        ..Fate::default()
    };
    plan.fates = BTreeMap::from([(0, slow)]);
    run(&plan, true)
}

const fn pay(payment: u32) -> Step {
    Step::Pay {
        payment,
        request: 0,
        patience_ms: None,
    }
}

// Aim: a settlement under way keeps its place though its payment's actor dies, and its caller still hears of it.
#[test]
fn a_settlement_keeps_its_place_when_its_actor_dies() {
    let panic = Step::Panic {
        after: 1,
        before: false,
    };
    let outcome = story(1, vec![panic, pay(0), Step::Wait { ms: 700 }, pay(2)]);
    assert_eq!(outcome.objection, None);
    let told = |what: &str| outcome.trace.iter().any(|line| line.contains(what));
    assert!(told("told of payment 0: Ok(Paid"), "{:#?}", outcome.trace);
    assert!(told("told of payment 2: Err(Overloaded"), "{:#?}", outcome.trace);
}
