//! Documenting everything is no way out: each status that the document gives to an operation was really answered by it.

use std::collections::BTreeSet;
use std::io::Write as _;

use crate::contract::{gaps, operations};
use crate::tree::none;

// Aim: what the tests of the running service wrote down of its answers (`PURSER_ANSWERED`, see `.ci/run`) has every status of
// every operation, but those that the contract's table calls gaps. Programs of tests run one after the other, by name: this
// one comes after those that ask.
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
    let gaps = gaps();
    let mut found = Vec::new();
    for (operation, statuses) in operations() {
        let answers = statuses.iter().map(|status| format!("{operation} {status}"));
        found.extend(answers.filter(|answer| !given.contains(answer) && !gaps.contains(answer)));
    }
    none(&found, "documented answers that were never given");
}
