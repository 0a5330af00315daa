//! The proof of the checker: every planted bug, alone in sound code, is found.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use purser_storage::mutants::{Mutant, enable};

use crate::minimize::shrink;
use crate::plan::Plan;
use crate::results;
use crate::run::run;
use crate::seeds::{in_parallel, quiet_ordered_panics};

/// Seeds after which a bug counts as missed.
const LIMIT: u64 = 2_000;

/// How a planted bug was found.
struct KilledMutant {
    bug: Mutant,
    seeds: u64,
    rule: &'static str,
    steps: usize,
}

fn hunt(bug: Mutant) -> Option<KilledMutant> {
    enable(Some(bug));
    let caught = (0..LIMIT).find_map(|seed| {
        let plan = Plan::from_seed(seed);
        // A bug may well end in a panic somewhere else.
        let ran = catch_unwind(AssertUnwindSafe(|| run(&plan, false).violation.map(|o| o.rule)));
        let rule = ran.unwrap_or(Some("panic"))?;
        // The objection must be to the bug: without it, the same run is sound.
        enable(None);
        let sound = run(&plan, false).violation;
        assert!(sound.is_none(), "seed {seed} without {bug:?}: {sound:?}");
        enable(Some(bug));
        let told = rule != "panic" && results::are_written();
        let steps = if told {
            shrink(&plan, rule).steps.len()
        } else {
            plan.steps.len()
        };
        Some(KilledMutant {
            bug,
            seeds: seed + 1,
            rule,
            steps,
        })
    });
    enable(None);
    caught
}

// Aim: the checker objects to every planted bug, and within how many seeds.
#[test]
fn each_planted_bug_is_caught() {
    quiet_ordered_panics();
    let one = std::env::var("PURSER_SIM_BUG").ok();
    let wanted = |bug: &&Mutant| one.as_ref().is_none_or(|one| *one == format!("{bug:?}"));
    let bugs: Vec<Mutant> = Mutant::ALL.iter().filter(wanted).copied().collect();
    assert!(!bugs.is_empty(), "there is no such bug: {one:?}");
    let hunted = in_parallel(&bugs, |bug| (*bug, hunt(*bug)));
    let missed: Vec<Mutant> = hunted
        .iter()
        .filter(|(_, caught)| caught.is_none())
        .map(|(bug, _)| *bug)
        .collect();
    let mut table = String::from(
        "| bug | seeds to catch | rule that caught it | steps of the story |\n| --- | --- | --- | --- |\n",
    );
    for KilledMutant {
        bug,
        seeds,
        rule,
        steps,
    } in hunted.into_iter().filter_map(|(_, caught)| caught)
    {
        writeln!(table, "| {bug:?} | {seeds} | `{rule}` | {steps} |").unwrap();
    }
    println!("{table}");
    results::write("planted", &table);
    assert!(missed.is_empty(), "not caught within {LIMIT} seeds: {missed:?}");
}
