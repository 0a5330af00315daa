//! Breaker of a product line: when it closes automatically, how it is probed, and when it opens again.

use purser_actors::breaker::{Breaker, BreakerChange, BreakerSettings};
use purser_actors::id::JobId;
use purser_actors::port::Timestamp;

const RULES: BreakerSettings = BreakerSettings {
    max_failures: 3,
    probe_interval_ms: 1_000,
    stale_after_ms: 5_000,
};

const A: JobId = JobId(1);
const B: JobId = JobId(2);
const C: JobId = JobId(3);

fn at(ms: u64) -> Timestamp {
    Timestamp(1_000_000 + ms)
}

/// A breaker closed at time 0 by three failures of these orders.
fn closed_by(orders: [JobId; 3]) -> Breaker {
    let mut breaker = Breaker::default();
    let changes = orders.map(|order| breaker.record_failure(order, &RULES, at(0)));
    assert_eq!(
        changes,
        [BreakerChange::None, BreakerChange::None, BreakerChange::Closed(3)]
    );
    breaker
}

#[test]
fn only_consecutive_failures_close_a_line() {
    // Checks: failures of one order or of several count; a success in between resets the count; without a limit nothing
    // closes.
    for orders in [[A, A, A], [A, B, C], [A, B, A]] {
        assert!(!closed_by(orders).is_open());
    }
    let mut breaker = Breaker::default();
    for _ in 0..10 {
        assert_eq!(breaker.record_failure(A, &RULES, at(0)), BreakerChange::None);
        assert_eq!(breaker.record_failure(B, &RULES, at(0)), BreakerChange::None);
        assert_eq!(breaker.record_success(C, &RULES), BreakerChange::None);
    }
    assert!(breaker.is_open());
    let never = BreakerSettings {
        max_failures: 0,
        ..RULES
    };
    let mut breaker = Breaker::default();
    assert!((0..100).all(|_| breaker.record_failure(A, &never, at(0)) == BreakerChange::None));
    assert!(breaker.is_idle());
}

#[test]
fn unresponsive_provider_before_the_sale_closes_the_line() {
    // Checks: such failures count with those of orders, without a pending order. A closed line whose probe gets no
    // answer before the sale waits as after a sale, and earlier checks change nothing; one success opens it.
    let mut breaker = Breaker::default();
    assert_eq!(breaker.record_unanswered(&RULES, at(0)), BreakerChange::None);
    assert_eq!(breaker.record_failure(A, &RULES, at(0)), BreakerChange::None);
    assert_eq!(breaker.record_success(A, &RULES), BreakerChange::None);
    let changes = [0; 3].map(|ms| breaker.record_unanswered(&RULES, at(ms)));
    assert_eq!(
        changes,
        [BreakerChange::None, BreakerChange::None, BreakerChange::Closed(3)]
    );
    assert!(!breaker.is_open());
    assert_eq!(breaker.record_unanswered(&RULES, at(999)), BreakerChange::None);
    assert_eq!(breaker.check_sale(&RULES, at(1_000)), Ok(()), "it was not its turn");
    assert_eq!(breaker.record_unanswered(&RULES, at(1_000)), BreakerChange::None);
    assert_eq!(breaker.check_sale(&RULES, at(4_999)), Err(1));
    assert_eq!(breaker.take_sale(&RULES, at(5_000)), Ok(()));
    assert_eq!(breaker.admit(B, &RULES, at(5_000)), None);
    assert_eq!(breaker.record_success(B, &RULES), BreakerChange::Opened);
    assert!(breaker.is_idle());
    let never = BreakerSettings {
        max_failures: 0,
        ..RULES
    };
    assert!((0..100).all(|_| breaker.record_unanswered(&never, at(0)) == BreakerChange::None));
    assert!(breaker.is_idle());
}

#[test]
fn closed_line_is_probed_with_one_order_at_a_time() {
    // Checks: not before the interval is over, and others wait during a probe. A failed probe starts the next interval;
    // the first success opens the line. A probe that never ends blocks the others only for a limited time.
    let mut breaker = closed_by([A, B, C]);
    assert!(breaker.admit(A, &RULES, at(999)).is_some());
    assert_eq!(breaker.admit(A, &RULES, at(1_000)), None);
    assert!(breaker.admit(B, &RULES, at(2_500)).is_some(), "A is being tried");
    assert_eq!(breaker.record_failure(A, &RULES, at(3_000)), BreakerChange::None);
    assert!(breaker.admit(B, &RULES, at(3_999)).is_some());
    assert_eq!(breaker.admit(B, &RULES, at(4_000)), None);
    assert!(breaker.admit(C, &RULES, at(8_999)).is_some(), "B is being tried");
    assert_eq!(breaker.admit(C, &RULES, at(9_000)), None, "B is silent for too long");
    assert_eq!(breaker.record_success(C, &RULES), BreakerChange::Opened);
    assert_eq!(breaker.admit(A, &RULES, at(9_001)), None);
    assert_eq!(breaker.admit(B, &RULES, at(9_001)), None);
}

#[test]
fn closed_line_sells_one_probe_order_when_none_is_pending() {
    // Checks: while other orders are pending, nothing is sold. Without any, one order is, and the next only after a
    // growing interval. An unclaimed sale frees the slot.
    let mut breaker = closed_by([A, B, C]);
    assert!(breaker.check_sale(&RULES, at(1_000)).is_err(), "three orders wait");
    assert_eq!(breaker.check_sale(&RULES, at(5_000)), Ok(()), "they are silent");
    assert_eq!(breaker.take_sale(&RULES, at(5_000)), Ok(()));
    assert!(breaker.take_sale(&RULES, at(5_000)).is_err());
    breaker.cancel_sale(&RULES, at(5_001));
    assert_eq!(breaker.take_sale(&RULES, at(5_001)), Ok(()));
    let wait = breaker.take_sale(&RULES, at(5_002)).unwrap_err();
    assert_eq!(
        breaker.take_sale(&RULES, at(9_001)),
        Ok(()),
        "four pauses later, after {wait} s"
    );
    assert!(breaker.take_sale(&RULES, at(13_001)).is_err());
    assert_eq!(breaker.take_sale(&RULES, at(25_001)), Ok(()), "sixteen pauses later");
    let mut found = Breaker::closed(&RULES, at(0));
    assert!(
        found.check_sale(&RULES, at(0)).is_err(),
        "a start that finds it closed waits too"
    );
    assert_eq!(found.take_sale(&RULES, at(1_000)), Ok(()));
}

#[test]
fn order_with_its_own_fault_closes_no_line_permanently() {
    // Checks: an order that always fails closes the line but permits a probe with another. Once that is delivered,
    // failures of the first no longer count.
    let mut breaker = closed_by([A, A, A]);
    for pause in 1..4 {
        assert!(
            breaker.check_sale(&RULES, at(pause * 1_000)).is_err(),
            "it may be the provider"
        );
        assert_eq!(breaker.admit(A, &RULES, at(pause * 1_000)), None);
        assert_eq!(
            breaker.record_failure(A, &RULES, at(pause * 1_000)),
            BreakerChange::None
        );
    }
    assert_eq!(breaker.take_sale(&RULES, at(3_500)), Ok(()));
    assert!(breaker.admit(B, &RULES, at(3_600)).is_some());
    assert_eq!(breaker.admit(B, &RULES, at(4_000)), None);
    assert_eq!(breaker.record_success(B, &RULES), BreakerChange::Opened);
    assert!((0..100).all(|ms| breaker.record_failure(A, &RULES, at(5_000 + ms)) == BreakerChange::None));
    assert!(breaker.is_open());
    // Another order's failures still count.
    assert_eq!(breaker.record_failure(B, &RULES, at(6_000)), BreakerChange::None);
    assert_eq!(breaker.record_failure(B, &RULES, at(6_000)), BreakerChange::None);
    assert_eq!(breaker.record_failure(C, &RULES, at(6_000)), BreakerChange::Closed(3));
}

#[test]
fn provider_that_stays_down_gets_few_orders() {
    // Checks: of two orders that both fail, no third is sold while they are retried.
    let mut breaker = closed_by([A, B, A]);
    for pause in 1..200 {
        let order = if pause % 2 == 0 { A } else { B };
        assert_eq!(breaker.admit(order, &RULES, at(pause * 1_000)), None);
        assert_eq!(
            breaker.record_failure(order, &RULES, at(pause * 1_000)),
            BreakerChange::None
        );
        assert!(breaker.check_sale(&RULES, at(pause * 1_000 + 999)).is_err());
    }
}
