//! What the simulator found in the product, told again by hand so that it stays found.

use purser_actors::product::{DailyCap, DailyCaps, ProductLine};

use crate::fault_plan::{FaultPlan, Issue, Submit};
use crate::plan::{Plan, Step};
use crate::run::{Outcome, run};
use crate::seeds::quiet_ordered_panics;

/// A run of these steps, with what payments meet.
fn run_steps(in_flight_max: usize, steps: Vec<Step>, fates: &[(u32, FaultPlan)]) -> Outcome {
    quiet_ordered_panics();
    let mut plan = Plan::from_seed(0);
    plan.settings.max_in_flight = in_flight_max;
    plan.settings.retry.max_concurrent = 64;
    plan.settings.breaker.max_failures = 2;
    plan.settings.caps = DailyCaps::NONE.with(
        ProductLine::UsaCard,
        DailyCap {
            count: 100,
            sum: plan.cap().sum,
        },
    );
    plan.steps = steps;
    plan.fault_plans = fates.iter().cloned().collect();
    run(&plan, true)
}

const fn pay(payment: u32) -> Step {
    Step::Pay {
        payment,
        request: 0,
        client_timeout_ms: None,
    }
}

// Aim: a settlement under way keeps its place though its payment's actor dies, and its caller still hears of it.
#[test]
fn a_settlement_keeps_its_place_when_its_actor_dies() {
    let panic = Step::Panic {
        after: 1,
        before: false,
    };
    let slow = FaultPlan {
        submit: vec![Submit::Slow(1_000)],
        ..FaultPlan::default()
    };
    let outcome = run_steps(1, vec![panic, pay(0), Step::Wait { ms: 700 }, pay(2)], &[(0, slow)]);
    assert_eq!(outcome.violation, None);
    let told = |what: &str| outcome.trace.iter().any(|line| line.contains(what));
    assert!(told("told of payment 0: Ok(PaymentResult"), "{:#?}", outcome.trace);
    assert!(told("told of payment 2: Err(Overloaded"), "{:#?}", outcome.trace);
}

// Aim: the issuer fails until its cards are not sold any more, and delivers again, which wakes what waits for it. Then the machine's
// clock is set back, and a later order that the issuer has not ready is asked for at its pace, not without a pause until the
// clock has come to where it was.
#[test]
fn what_was_woken_is_not_woken_again_when_the_clock_is_set_back() {
    let fate = |issue: Issue, times: usize| FaultPlan {
        issue: vec![issue; times],
        ..FaultPlan::default()
    };
    let steps = vec![
        pay(0),
        Step::Wait { ms: 60_000 },
        Step::SetClock { by_ms: -90_000 },
        pay(6),
        Step::Wait { ms: 40_000 },
    ];
    let fates = [(0, fate(Issue::Busy, 3)), (6, fate(Issue::Pending(1_000), 20))];
    let outcome = run_steps(16, steps, &fates);
    assert_eq!(outcome.violation, None);
    let when = |what: &str| -> Vec<u64> {
        let told = outcome.trace.iter().filter(|line| line.contains(what));
        told.map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
            .collect()
    };
    assert_eq!(when("of payment 0 meets Busy").len(), 3, "{:#?}", outcome.trace);
    let asked = when("of payment 6 meets Pending");
    assert_eq!(asked.len(), 20, "{:#?}", outcome.trace);
    assert!(asked.windows(2).all(|two| two[1] - two[0] >= 1_000), "{asked:?}");
}
