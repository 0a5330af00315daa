#![allow(clippy::unwrap_used, clippy::type_complexity, reason = "a test")]

mod failures;

use super::*;
use crate::solana::random::random;

const PREPARED: Prepared = Prepared {
    id: [7; 64],
    last_valid_block_height: 1000,
    not_before_slot: 900,
};

fn lifecycle(endpoints: usize) -> Lifecycle {
    let mut life = Lifecycle::new(PREPARED, endpoints, Pacing::default());
    assert_eq!(
        life.due(0),
        Due {
            send: true,
            status: true,
            proof: false
        }
    );
    assert!(life.sent().is_some());
    life
}

fn succeeded(slot: u64, level: Commitment) -> SignatureStatus {
    SignatureStatus {
        slot,
        level,
        error: None,
    }
}

fn failed(slot: u64, level: Commitment) -> SignatureStatus {
    let error = TransactionError::from_json(&serde_json::json!({"InstructionError": [2, {"Custom": 17}]}));
    SignatureStatus { slot, level, error }
}

fn answer(context_slot: u64, found: Option<SignatureStatus>) -> StatusAnswer {
    StatusAnswer { context_slot, found }
}

/// Evidence of an endpoint at this height; slot numbers are 100 above heights.
fn absence(height: u64) -> Absence {
    Absence {
        finalized_block_height: height,
        finalized_slot: height + 100,
        first_available_slot: 0,
        context_slot: height + 132,
    }
}

#[test]
fn it_is_sent_every_two_seconds_until_it_is_confirmed() {
    let mut life = lifecycle(2);
    let sends =
        |life: &mut Lifecycle, from: u64, to: u64| (from..to).filter(|now| life.due(*now).send).collect::<Vec<_>>();
    assert_eq!(sends(&mut life, 1, 7000), [2000, 4000, 6000]);
    life.status(0, answer(950, Some(succeeded(949, Commitment::Processed))));
    assert_eq!(
        sends(&mut life, 7000, 11_000),
        [8000, 10_000],
        "a processed block can still be dropped"
    );
    life.status(0, answer(951, Some(succeeded(949, Commitment::Confirmed))));
    assert!(sends(&mut life, 11_000, 20_000).is_empty());
    assert!(life.due(30_000).status, "it is followed until it is final");
    life.status(1, answer(990, Some(succeeded(949, Commitment::Finalized))));
    assert!(life.due(60_000).status, "one endpoint alone makes nothing final");
    life.status(0, answer(990, Some(succeeded(949, Commitment::Finalized))));
    assert_eq!(life.due(90_000), Due::default());
}

#[test]
fn stages_follow_the_best_answer() {
    let mut life = lifecycle(2);
    let steps = [
        (0, answer(950, None), None),
        (
            0,
            answer(951, Some(succeeded(951, Commitment::Processed))),
            Some((951, Commitment::Processed)),
        ),
        (
            1,
            answer(955, Some(succeeded(951, Commitment::Confirmed))),
            Some((951, Commitment::Confirmed)),
        ),
        // A lagging endpoint and a cache that has forgotten change nothing.
        (0, answer(952, Some(succeeded(951, Commitment::Processed))), None),
        (1, answer(1200, None), None),
        // Final according to one endpoint alone counts as confirmed.
        (0, answer(985, Some(succeeded(951, Commitment::Finalized))), None),
        (
            1,
            answer(1300, Some(succeeded(951, Commitment::Finalized))),
            Some((951, Commitment::Finalized)),
        ),
        (1, answer(1400, Some(succeeded(951, Commitment::Confirmed))), None),
    ];
    for (step, (endpoint, answer, expected)) in steps.into_iter().enumerate() {
        let to = life.status(endpoint, answer).map(|transition| transition.to);
        assert_eq!(
            to,
            expected.map(|(slot, level)| Stage::Succeeded { slot, level }),
            "step {step}"
        );
    }
    assert!(life.stage().is_final());
}

#[test]
fn a_failure_is_final_only_when_finalized() {
    let mut life = lifecycle(2);
    life.status(0, answer(950, Some(failed(949, Commitment::Confirmed))));
    life.status(1, answer(950, Some(failed(949, Commitment::Confirmed))))
        .unwrap();
    assert!(matches!(life.stage(), Stage::Failed { slot: 949, .. }) && !life.stage().is_final());
    // Another fork executes it: the higher commitment counts.
    life.status(1, answer(960, Some(succeeded(950, Commitment::Finalized))));
    let seen_at = |level| Stage::Succeeded { slot: 950, level };
    assert_eq!(life.stage(), &seen_at(Commitment::Confirmed));
    assert_eq!(life.shown_by(), 1);
    life.status(0, answer(990, Some(succeeded(950, Commitment::Finalized))));
    assert_eq!(life.stage(), &seen_at(Commitment::Finalized));
    assert_eq!(life.shown_by(), 2);

    let mut life = self::lifecycle(1);
    let transition = life
        .status(0, answer(990, Some(failed(949, Commitment::Finalized))))
        .unwrap();
    let Stage::Failed { error, .. } = &transition.to else {
        panic!("{transition:?}")
    };
    assert_eq!((error.instruction, error.custom), (Some(2), Some(17)));
    assert!(life.stage().is_final());
}

#[test]
fn transaction_removed_by_a_fork_is_sent_again() {
    let mut life = lifecycle(2);
    life.status(0, answer(950, Some(succeeded(949, Commitment::Confirmed))));
    assert!(!life.due(10_000).send);
    let early = Absence {
        finalized_slot: 900,
        ..absence(948)
    };
    assert_eq!(
        life.record_absence(1, early),
        None,
        "this endpoint has not finalised the slot yet"
    );
    let transition = life.record_absence(1, absence(960)).unwrap();
    assert!(transition.is_reorg() && !transition.is_contradiction());
    assert_eq!(life.stage(), &Stage::Sent);
    assert!(life.due(10_001).send, "at once");
    life.status(0, answer(1060, Some(succeeded(1059, Commitment::Processed))))
        .unwrap();
    assert_eq!(
        life.stage(),
        &Stage::Succeeded {
            slot: 1059,
            level: Commitment::Processed
        }
    );
}

#[test]
fn an_expiry_proof_needs_two_endpoints_past_the_point() {
    let proof = absence(1001);
    let cases: [(&str, usize, &[(usize, Absence)], bool); 8] = [
        ("two past the point", 2, &[(0, proof), (1, proof)], true),
        ("one endpoint twice", 2, &[(0, proof), (0, absence(1200))], false),
        ("only one endpoint", 1, &[(0, proof), (0, absence(2000))], false),
        (
            "one at the last valid height",
            2,
            &[(0, proof), (1, absence(1000))],
            false,
        ),
        ("two of three", 3, &[(0, absence(900)), (1, proof), (2, proof)], true),
        (
            "a status of a node behind",
            2,
            &[
                (0, proof),
                (
                    1,
                    Absence {
                        context_slot: 1100,
                        ..proof
                    },
                ),
            ],
            false,
        ),
        (
            "pruned history",
            2,
            &[
                (0, proof),
                (
                    1,
                    Absence {
                        first_available_slot: 901,
                        ..proof
                    },
                ),
            ],
            false,
        ),
        ("an endpoint that does not exist", 2, &[(0, proof), (7, proof)], false),
    ];
    for (name, endpoints, answers, expired) in cases {
        let mut life = lifecycle(endpoints);
        for (endpoint, absence) in answers {
            life.record_absence(*endpoint, *absence);
        }
        assert_eq!(life.stage() == &Stage::Expired, expired, "{name}");
        assert_eq!(life.awaits_proof(), !expired, "{name}");
        if !expired {
            assert_eq!(life.stage(), &Stage::Sent, "{name}: unknown");
        }
    }
}

#[test]
fn a_proof_is_sought_only_past_the_last_valid_height() {
    let mut life = lifecycle(2);
    life.block_height(1000);
    assert!(!life.due(5000).proof);
    life.block_height(1001);
    life.block_height(7);
    assert!(life.due(5000).proof);
    assert!(!life.due(6999).proof && life.due(7000).proof);
    life.record_absence(0, absence(1001));
    assert!(!life.due(50_000).send, "the bytes are dead where it counts");
    life.record_absence(1, absence(1001));
    assert_eq!(life.due(60_000), Due::default());
}

#[test]
fn a_positive_answer_beats_proofs_and_names_the_contradiction() {
    let mut life = lifecycle(3);
    life.record_absence(0, absence(1001));
    life.status(2, answer(1150, Some(succeeded(990, Commitment::Finalized))));
    assert_eq!(life.record_absence(1, absence(1001)), None);
    assert_eq!(
        life.stage(),
        &Stage::Succeeded {
            slot: 990,
            level: Commitment::Confirmed
        },
        "unknown, not expired and not final"
    );

    let mut life = self::lifecycle(3);
    life.record_absence(0, absence(1001));
    life.record_absence(1, absence(1001));
    assert_eq!(life.stage(), &Stage::Expired);
    let transition = life
        .status(2, answer(1200, Some(succeeded(990, Commitment::Confirmed))))
        .unwrap();
    assert!(transition.is_contradiction());
    // An endpoint that finds it has no proof any more.
    life.status(0, answer(1300, Some(succeeded(990, Commitment::Finalized))));
    assert_eq!(life.proofs(), 1);
}

// Checks: if there are two endpoints, final needs two that show the same slot and success. Repeated responses of one
// endpoint do not count twice. A single denial does not revert a final status of the other.
#[test]
fn final_needs_two_endpoints_that_show_the_same() {
    let at = |slot| succeeded(slot, Commitment::Finalized);
    let cases: [(&str, usize, Vec<(usize, SignatureStatus)>, bool); 7] = [
        ("one of one", 1, vec![(0, at(950))], true),
        ("one of two", 2, vec![(0, at(950))], false),
        ("one of two, twice", 2, vec![(0, at(950)), (0, at(950))], false),
        ("two of two", 2, vec![(0, at(950)), (1, at(950))], true),
        ("other slots", 2, vec![(0, at(950)), (1, at(951))], false),
        (
            "one of them failed",
            2,
            vec![(0, at(950)), (1, failed(950, Commitment::Finalized))],
            false,
        ),
        ("two of three", 3, vec![(2, at(951)), (0, at(950)), (1, at(950))], true),
    ];
    for (name, endpoints, answers, is_final) in cases {
        let mut life = lifecycle(endpoints);
        for (slot, (endpoint, status)) in (1_000..).zip(answers) {
            life.status(endpoint, answer(slot, Some(status)));
        }
        assert_eq!(life.stage().is_final(), is_final, "{name}");
    }
    let mut life = lifecycle(2);
    life.status(0, answer(1_000, Some(at(950))));
    assert_eq!(
        life.record_absence(1, absence(2_000)),
        None,
        "one of the two is wrong: it is not known which"
    );
}

#[test]
fn a_resumed_transaction_may_have_been_sent() {
    let mut life = Lifecycle::resumed(PREPARED, 2, Pacing::default());
    assert_eq!(life.stage(), &Stage::Sent);
    assert!(life.due(0).send && life.prepared() == &PREPARED);
}

/// A chain with one transaction: where it executed, if at all, and whether that fork survived.
struct Chain {
    executed: Option<u64>,
    forked: bool,
    failed: bool,
}

impl Chain {
    /// The knowledge of an endpoint at slot `view`. An abandoned fork is dropped eight slots after the transaction.
    fn status(&self, view: u64) -> Option<SignatureStatus> {
        let executed = self.executed.filter(|executed| *executed <= view)?;
        if self.forked && view >= executed + 8 {
            return None;
        }
        let level = match view - executed {
            0..2 => Commitment::Processed,
            2..32 => Commitment::Confirmed,
            _ => Commitment::Finalized,
        };
        Some(if self.failed {
            failed(executed, level)
        } else {
            succeeded(executed, level)
        })
    }

    fn executed_slot(&self) -> Option<u64> {
        self.executed.filter(|_| !self.forked)
    }
}

/// One response of an endpoint at slot `view`: none, a status, or a search of the history.
fn observe(life: &mut Lifecycle, endpoint: usize, view: u64, kind: u64, chain: &Chain) {
    life.block_height(view);
    let absence = Absence {
        finalized_block_height: view.saturating_sub(32),
        finalized_slot: view.saturating_sub(32),
        first_available_slot: 0,
        context_slot: view,
    };
    match (kind, chain.status(view)) {
        (0, _) => {}
        (2, None) => drop(life.evidence(endpoint, Evidence::Absent(absence))),
        (_, found) => drop(life.status(endpoint, answer(view, found))),
    }
}

#[test]
fn no_seed_ends_in_a_wrong_outcome() {
    // Checks: endpoints lag, lose responses and see an abandoned fork. Nothing is final before the chain's own outcome
    // is, and only with that outcome.
    for seed in 1..=2000u64 {
        let mut random = random(seed);
        let chain = Chain {
            executed: (random(2) == 0).then(|| 905 + random(90)),
            forked: random(3) == 0,
            failed: random(3) == 0,
        };
        let endpoints = 1 + random(3) as usize;
        let lags: Vec<u64> = (0..endpoints).map(|_| random(30)).collect();
        let mut life = lifecycle(endpoints);
        for slot in 900..1300u64 {
            let endpoint = random(endpoints as u64) as usize;
            observe(
                &mut life,
                endpoint,
                slot.saturating_sub(lags[endpoint]),
                random(3),
                &chain,
            );
            match life.stage() {
                Stage::Expired => assert!(chain.executed_slot().is_none() && slot > 1032, "seed {seed}"),
                stage if stage.is_final() => assert!(chain.executed_slot().is_some(), "seed {seed}"),
                _ => {}
            }
        }
        let level = Commitment::Finalized;
        match chain.executed_slot() {
            Some(slot) if chain.failed => {
                assert!(matches!(life.stage(), Stage::Failed { slot: at, level: l, .. } if (*at, *l) == (slot, level)));
            }
            Some(slot) => assert_eq!(life.stage(), &Stage::Succeeded { slot, level }, "seed {seed}"),
            None if endpoints >= 2 => assert_eq!(life.stage(), &Stage::Expired, "seed {seed}"),
            None => assert!(!life.stage().is_final(), "seed {seed}: one endpoint proves nothing"),
        }
    }
}
