//! Bugs that the simulator found, replayed as fixed plans.

use purser_actors::product::{DailyCap, DailyCaps, ProductLine};

use crate::fault_plan::{FaultPlan, Issue, Submit};
use crate::plan::{Plan, Step};
use crate::run::{Outcome, run};
use crate::seeds::quiet_ordered_panics;

/// A run of these steps, with what payments meet.
fn run_steps(in_flight_max: usize, steps: Vec<Step>, fault_plans: &[(u32, FaultPlan)]) -> Outcome {
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
    plan.fault_plans = fault_plans.iter().cloned().collect();
    run(&plan, true)
}

const fn pay(payment: u32) -> Step {
    Step::Pay {
        payment,
        request: 0,
        client_timeout_ms: None,
    }
}

// Checks: a settlement in progress keeps its permit when its payment's actor dies, and its caller still gets the reply.
#[test]
fn settlement_keeps_its_permit_when_its_actor_dies() {
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
    let traced = |what: &str| outcome.trace.iter().any(|line| line.contains(what));
    assert!(
        traced("notified of payment 0: Ok(PaymentResult"),
        "{:#?}",
        outcome.trace
    );
    assert!(traced("notified of payment 2: Err(Overloaded"), "{:#?}", outcome.trace);
}

// Checks: the issuer fails until card sales stop, and recovers, which wakes waiting jobs. Then the clock is set back. A
// later order that is not ready is polled at its interval, not in a busy loop until the clock has caught up.
#[test]
fn job_does_not_run_twice_when_the_clock_is_set_back() {
    let issue_faults = |issue: Issue, times: usize| FaultPlan {
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
    let fault_plans = [
        (0, issue_faults(Issue::Busy, 3)),
        (6, issue_faults(Issue::Pending(1_000), 20)),
    ];
    let outcome = run_steps(16, steps, &fault_plans);
    assert_eq!(outcome.violation, None);
    let when = |what: &str| -> Vec<u64> {
        let traced = outcome.trace.iter().filter(|line| line.contains(what));
        traced
            .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
            .collect()
    };
    assert_eq!(when("of payment 0 meets Busy").len(), 3, "{:#?}", outcome.trace);
    let asked = when("of payment 6 meets Pending");
    assert_eq!(asked.len(), 20, "{:#?}", outcome.trace);
    assert!(asked.windows(2).all(|two| two[1] - two[0] >= 1_000), "{asked:?}");
}
