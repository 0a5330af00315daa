//! Documenting everything is no way out: each status that the document gives to an operation was really answered by it.

use std::collections::BTreeSet;
use std::io::Write as _;

use crate::contract::operations;
use crate::tree::none;

/// Answers that no test brings about, and why.
const NOT_PROVOKED: &[(&str, &str, &str)] = &[];

// Aim: what the tests of the running service wrote down of its answers (`PURSER_ANSWERED`, see `.ci/run`) has every status of
// every operation. Programs of tests run one after the other, by name: this one comes after those that ask.
#[test]
fn every_documented_answer_was_given() {
    let Some(file) = std::env::var_os("PURSER_ANSWERED") else {
        let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
        assert!(!in_ci, "PURSER_ANSWERED is not set");
        let line = "skipped: every_documented_answer_was_given: PURSER_ANSWERED names no file";
        let _ = writeln!(std::io::stderr(), "{line}");
        return;
    };
    let text = std::fs::read_to_string(file).unwrap();
    let answers = text.lines().filter_map(|line| line.strip_prefix("answer "));
    let given: BTreeSet<String> = answers
        .map(|line| line.split(' ').take(3).collect::<Vec<_>>().join(" "))
        .collect();
    let mut found = Vec::new();
    for (operation, statuses) in operations() {
        for status in statuses {
            let answer = format!("{operation} {status}");
            let excused = NOT_PROVOKED.iter().any(|(of, s, _)| *of == operation && *s == status);
            if given.contains(&answer) == excused {
                let what = if excused {
                    "was given after all"
                } else {
                    "was never given"
                };
                found.push(format!("{answer} {what}"));
            }
        }
    }
    none(&found, "documented answers");
}
