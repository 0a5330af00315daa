//! Proves that the checker works: it detects every mutant, alone in correct code.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use purser_storage::mutants::{Mutant, enable};

use crate::mailboxes;
use crate::minimize::shrink;
use crate::plan::Plan;
use crate::results;
use crate::run::run;
use crate::seeds::{in_parallel, quiet_ordered_panics};

/// Seeds after which a mutant counts as missed.
const LIMIT: u64 = 2_000;

/// How a mutant was detected.
struct KilledMutant {
    mutant: Mutant,
    seeds: u64,
    rule: &'static str,
    steps: usize,
}

fn hunt(mutant: Mutant) -> Option<KilledMutant> {
    enable(Some(mutant));
    let killed = (0..LIMIT).find_map(|seed| {
        let plan = Plan::from_seed(seed);
        // A mutant may cause a panic in other code.
        let ran = catch_unwind(AssertUnwindSafe(|| run(&plan, false).violation.map(|o| o.rule)));
        let by_plan = ran.unwrap_or(Some("panic"));
        let rule = by_plan.or_else(|| mailboxes::run(seed).map(|o| o.rule))?;
        // The mutant must be the cause: without it the same run has no violation.
        enable(None);
        let sound = run(&plan, false).violation.or_else(|| mailboxes::run(seed));
        assert!(sound.is_none(), "seed {seed} without {mutant:?}: {sound:?}");
        enable(Some(mutant));
        let steps = match by_plan {
            // The run of a registry alone has no plan.
            None => 0,
            Some(rule) if rule != "panic" && results::are_written() => shrink(&plan, rule).steps.len(),
            Some(_) => plan.steps.len(),
        };
        Some(KilledMutant {
            mutant,
            seeds: seed + 1,
            rule,
            steps,
        })
    });
    enable(None);
    killed
}

// Checks: a violation is found for every mutant, within a number of seeds.
#[test]
fn every_mutant_is_killed() {
    quiet_ordered_panics();
    let one = std::env::var("PURSER_SIM_BUG").ok();
    let selected = |mutant: &&Mutant| one.as_ref().is_none_or(|one| *one == format!("{mutant:?}"));
    let mutants: Vec<Mutant> = Mutant::ALL.iter().filter(selected).copied().collect();
    assert!(!mutants.is_empty(), "there is no such mutant: {one:?}");
    let hunted = in_parallel(&mutants, |mutant| (*mutant, hunt(*mutant)));
    let missed: Vec<Mutant> = hunted
        .iter()
        .filter(|(_, killed)| killed.is_none())
        .map(|(mutant, _)| *mutant)
        .collect();
    let mut table =
        String::from("| mutant | seeds to detect | rule that detected it | steps left |\n| --- | --- | --- | --- |\n");
    for KilledMutant {
        mutant,
        seeds,
        rule,
        steps,
    } in hunted.into_iter().filter_map(|(_, killed)| killed)
    {
        writeln!(table, "| {mutant:?} | {seeds} | `{rule}` | {steps} |").unwrap();
    }
    println!("{table}");
    results::write("mutants", &table);
    assert!(missed.is_empty(), "not detected within {LIMIT} seeds: {missed:?}");
}
