//! Wrong counts, and counts that the chain reverts.

use super::*;

const CONFLICT_MS: u64 = 30_000;

/// Reads the counts every two seconds. Returns the actions in that time, except searches.
fn read(manager: &mut NonceManager<u32>, counts: Counts, from_ms: u64, to_ms: u64) -> Vec<Action<u32>> {
    let mut actions = Vec::new();
    for now_ms in (from_ms..to_ms).step_by(2_000) {
        actions.extend(manager.counted(counts, now_ms));
        actions.extend(manager.tick(fee(100), now_ms));
    }
    actions.retain(|action| !matches!(action, Action::FindReceipts { .. } | Action::Send { .. }));
    actions
}

fn alarms(actions: &[Action<u32>]) -> Vec<Alarm> {
    let alarm = |action: &Action<u32>| match action {
        Action::Alarm(alarm) => Some(*alarm),
        _ => None,
    };
    actions.iter().filter_map(alarm).collect()
}

// Checks: which counts conflict with a final count, when that is lowered, and which nonce is next.
#[test]
fn wrong_final_count_is_lowered() {
    let contradicted = |shown| Alarm::Contradicted {
        expected: 55,
        reported: shown,
    };
    let taken_back = |latest| Alarm::CountReverted { expected: 55, latest };
    let full = CONFLICT_MS + 2_000;
    type Reads = Vec<(Counts, u64)>;
    type Case = (&'static str, Reads, Vec<Alarm>, Result<u64, NonceError>);
    let cases: [Case; 8] = [
        ("the chain goes on", vec![(counts(56, 55), full)], vec![], Ok(56)),
        (
            "an endpoint is behind with what is final",
            vec![(counts(55, 5), full)],
            vec![],
            Ok(55),
        ),
        (
            "for a moment",
            vec![(counts(5, 5), 10_000), (counts(55, 55), 2_000)],
            vec![],
            Ok(55),
        ),
        (
            "not long enough",
            vec![(counts(5, 5), CONFLICT_MS)],
            vec![contradicted(5)],
            Err(NonceError::CountConflict),
        ),
        (
            "long enough",
            vec![(counts(5, 5), full)],
            vec![contradicted(5), taken_back(5)],
            Ok(5),
        ),
        (
            "with a break",
            vec![(counts(5, 5), 28_000), (counts(55, 55), 2_000), (counts(5, 5), 28_000)],
            vec![contradicted(5), contradicted(5)],
            Err(NonceError::CountConflict),
        ),
        (
            "the highest of what was shown counts",
            vec![(counts(5, 5), 12_000), (counts(7, 6), 2_000), (counts(5, 5), 18_000)],
            vec![contradicted(5), taken_back(7)],
            Ok(7),
        ),
        (
            "back to nothing",
            vec![(counts(0, 0), full)],
            vec![contradicted(0), taken_back(0)],
            Ok(0),
        ),
    ];
    for (name, reads, expected, next) in cases {
        let mut manager = started();
        assert_eq!(manager.counted(counts(55, 55), 0), [], "{name}");
        let (mut now_ms, mut actions) = (2_000, Vec::new());
        for (counts, span_ms) in reads {
            actions.extend(read(&mut manager, counts, now_ms, now_ms + span_ms));
            now_ms += span_ms;
        }
        assert_eq!(alarms(&actions), expected, "{name}");
        let doubts = (manager.has_count_conflict(), manager.has_lasting_count_conflict());
        assert_eq!(doubts, (next.is_err(), next.is_err()), "{name}");
        assert_eq!(manager.reserve(vec![1], now_ms), next, "{name}");
    }
}

// Checks: a second of wrong counts while a payment is in flight. They cause its row to be dropped, and another payment
// to use a nonce of the wrong count. After correct counts, nothing is signed for half a minute. Then gaps are filled,
// and the next payment uses the chain's count. No payment uses the dropped nonce, and the row above is included.
#[test]
fn a_key_goes_on_after_a_second_of_wrong_counts() {
    let mut manager = started();
    sent(&mut manager, 1, 1, 0);
    manager.counted(counts(20, 20), 1_000);
    assert_eq!(manager.not_found(5).len(), 3, "given up");
    assert_eq!(sent(&mut manager, 1, 2, 1_000), 20);
    let row = manager.row(20).unwrap().clone();
    // In the first case the transaction was included, in the second not.
    for latest in [6, 5] {
        let mut manager = manager.clone();
        let quiet = read(&mut manager, counts(latest, 5), 2_000, 30_000);
        assert_eq!(alarms(&quiet).len(), 1, "{quiet:?}");
        assert!(
            !quiet
                .iter()
                .any(|action| matches!(action, Action::Release { .. } | Action::Forget { .. }))
        );
        assert_eq!(manager.reserve(vec![2], 30_000), Err(NonceError::CountConflict));
        read(&mut manager, counts(latest, 5), 30_000, 42_000);
        assert!(
            !manager.has_count_conflict() && manager.row(20) == Some(&row),
            "{latest}"
        );
        assert_eq!(manager.reserve(vec![2], 44_000), Ok(6), "never 5");
        manager.signed(6, attempt(3, fee(100)), 44_000).unwrap();
        manager.stored(6, 44_000);
        let filled = read(&mut manager, counts(latest, 5), 44_000, 60_000);
        let fillers = filled.iter().filter_map(|action| match action {
            Action::Sign { nonce, payments, .. } if payments.is_empty() => Some(*nonce),
            _ => None,
        });
        let expected: Vec<u64> = (latest..20).filter(|nonce| *nonce != 6).collect();
        assert_eq!(fillers.collect::<Vec<_>>(), expected, "{latest}");
        assert!(manager.row(20) == Some(&row), "{latest}: no row is lost");
    }
}

// Checks: after impossibly high counts (newest block only, or final too), the payment of a row up there gets a nonce of
// the chain. The row is stored but never signed again, and the nonces between are ignored. Also after a restart.
#[test]
fn unreachable_row_releases_its_payment() {
    let far = 1 << 50;
    for finalized in [far, 5] {
        let mut manager = started();
        manager.counted(counts(far, finalized), 0);
        assert_eq!(sent(&mut manager, 1, 1, 0), far);
        let stored = manager.row(far).unwrap().clone();
        let actions = read(&mut manager, counts(5, 5), 2_000, 40_000);
        let released = |actions: &[Action<u32>]| {
            let reason = ReleaseReason::OutOfReach;
            let (nonce, payments) = (far, vec![1]);
            let release = Action::Release {
                nonce,
                payments,
                reason,
            };
            actions.contains(&Action::Store { nonce }) && actions.contains(&release)
        };
        assert!(released(&actions), "{actions:?}");
        assert!(manager.row(far).unwrap().released);
        assert_eq!((manager.in_flight(), manager.gaps()), (0, 0));
        assert_eq!(manager.reserve(vec![1], 60_000), Ok(5));
        let later = read(&mut manager, counts(5, 5), 60_000, 100_000);
        assert_eq!(later, [], "once, and without a filler");

        let (mut manager, actions) = NonceManager::start(NonceSettings::new(CAP), vec![stored], counts(5, 5), far, 0);
        assert!(released(&actions), "{actions:?}");
        assert_eq!(manager.reserve(vec![1], 10_000), Ok(5));
    }
}
