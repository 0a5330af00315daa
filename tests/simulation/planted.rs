//! The switch of the planted bugs, and the proof that each of them is found.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use crate::life::run;
use crate::plan::Plan;
use crate::results;
use crate::seeds::{in_parallel, quiet_ordered_panics};
use crate::shrink::shrink;
use purser_storage::planted::{Bug, plant};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

// Aim: no released binary can hold a planted bug: nothing but tests turns the feature on, and only debug builds listen.
#[test]
fn the_switch_cannot_reach_a_release_build() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--workspace",
            "--offline",
            "--locked",
            "--edges",
            "normal,build",
        ])
        .args(["--prefix", "none", "--format", "{p} [{f}]"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        tree.contains("purser-storage v") && tree.contains("purser-actors v"),
        "{tree}"
    );
    assert!(!tree.contains("planted"), "{tree}");

    let text = |name: &str| std::fs::read_to_string(std::path::Path::new(ROOT).join(name)).unwrap();
    let gate = "#[cfg(all(feature = \"planted\", debug_assertions))]";
    let switch = text("storage/src/planted.rs");
    assert!(switch.contains(&format!("{gate}\nmod active {{")));
    assert!(switch.contains(&format!("{gate}\npub use active::{{is, plant}};")));
    assert!(switch.contains("pub const fn is(_: Bug) -> bool {\n    false\n}"));
    for manifest in ["Cargo.toml", "actors/Cargo.toml", "storage/Cargo.toml"] {
        let manifest = text(manifest);
        assert!(!manifest.contains("default = ["), "no feature is on by itself");
        let shipped = manifest.split("[dev-dependencies]").next().unwrap();
        assert!(!shipped.contains("features = [\"planted\"]"), "only tests plant");
        assert!(!manifest.contains("debug-assertions"), "releases do not listen");
    }
}

/// Seeds after which a bug counts as missed.
const LIMIT: u64 = 2_000;

/// How a planted bug was found.
struct Catch {
    bug: Bug,
    seeds: u64,
    rule: &'static str,
    steps: usize,
}

fn hunt(bug: Bug) -> Option<Catch> {
    plant(Some(bug));
    let caught = (0..LIMIT).find_map(|seed| {
        let plan = Plan::of(seed);
        // A bug may well end in a panic somewhere else.
        let ran = catch_unwind(AssertUnwindSafe(|| run(&plan, false).objection.map(|o| o.rule)));
        let rule = ran.unwrap_or(Some("panic"))?;
        let steps = if rule == "panic" {
            plan.steps.len()
        } else {
            shrink(&plan, rule).steps.len()
        };
        Some(Catch {
            bug,
            seeds: seed + 1,
            rule,
            steps,
        })
    });
    plant(None);
    caught
}

// Aim: the checker objects to every planted bug, and within how many seeds.
#[cfg(debug_assertions)]
#[test]
fn each_planted_bug_is_caught() {
    quiet_ordered_panics();
    let hunted = in_parallel(Bug::ALL, |bug| (*bug, hunt(*bug)));
    let missed: Vec<Bug> = hunted
        .iter()
        .filter(|(_, caught)| caught.is_none())
        .map(|(bug, _)| *bug)
        .collect();
    let mut table = String::from(
        "| bug | seeds to catch | rule that caught it | steps of the story |\n| --- | --- | --- | --- |\n",
    );
    for Catch {
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
