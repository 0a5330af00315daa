//! Failures reported by endpoints.

use super::*;

/// The number of endpoints, their responses in order, and the resulting stage.
type Case = (&'static str, usize, Vec<(usize, SignatureStatus)>, Stage);

fn failed_at(slot: u64, level: Commitment) -> Stage {
    let error = failed(slot, level).error.unwrap();
    Stage::Failed { slot, level, error }
}

fn cases() -> Vec<Case> {
    use Commitment::{Confirmed, Finalized, Processed};
    let open = Stage::Sent;
    vec![
        (
            "one of one",
            1,
            vec![(0, failed(949, Confirmed))],
            failed_at(949, Confirmed),
        ),
        ("one of two", 2, vec![(0, failed(949, Confirmed))], open.clone()),
        (
            "one of three, as final",
            3,
            vec![(2, failed(949, Finalized))],
            open.clone(),
        ),
        (
            "one, twice",
            3,
            vec![(0, failed(949, Confirmed)), (0, failed(949, Finalized))],
            open.clone(),
        ),
        (
            "of two slots",
            3,
            vec![(0, failed(949, Confirmed)), (1, failed(950, Confirmed))],
            open,
        ),
        (
            "two of three",
            3,
            vec![(1, failed(949, Confirmed)), (2, failed(949, Finalized))],
            failed_at(949, Confirmed),
        ),
        (
            "the lower level is what both show",
            2,
            vec![(0, failed(949, Processed)), (1, failed(949, Confirmed))],
            failed_at(949, Processed),
        ),
    ]
}

fn contradictions() -> Vec<Case> {
    use Commitment::{Confirmed, Finalized, Processed};
    let seen_at = |slot, level| Stage::Succeeded { slot, level };
    vec![
        (
            "against one that shows a success in a lower slot",
            3,
            vec![(0, failed(999, Finalized)), (1, succeeded(949, Confirmed))],
            seen_at(949, Confirmed),
        ),
        (
            "against two that show a success",
            3,
            vec![
                (0, failed(999, Finalized)),
                (1, succeeded(949, Finalized)),
                (2, succeeded(949, Finalized)),
            ],
            seen_at(949, Finalized),
        ),
        (
            "a success that one shows against a failure that two show",
            3,
            vec![
                (0, succeeded(999, Finalized)),
                (1, failed(949, Confirmed)),
                (2, failed(949, Confirmed)),
            ],
            failed_at(949, Confirmed),
        ),
        (
            "another fork",
            3,
            vec![
                (0, failed(949, Processed)),
                (1, failed(949, Processed)),
                (2, succeeded(950, Confirmed)),
            ],
            seen_at(950, Confirmed),
        ),
    ]
}

// Checks: a failure counts once the required number of endpoints show the same one, unless as many show a success. A
// failure shown by one endpoint alone changes nothing: the transaction is still sent and queried.
#[test]
fn a_failure_needs_two_endpoints_where_there_are_two() {
    for (name, endpoints, answers, stage) in cases().into_iter().chain(contradictions()) {
        let mut life = lifecycle(endpoints);
        for (slot, (endpoint, status)) in (1_000..).zip(answers) {
            life.status(endpoint, answer(slot, Some(status)));
        }
        assert_eq!(life.stage(), &stage, "{name}");
        if stage == Stage::Sent {
            let due = life.due(10_000);
            assert!(due.send && due.status, "{name}");
        }
    }
}
