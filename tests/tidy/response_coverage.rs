//! Documenting everything is no way out: each status that the document gives to an operation was really answered by it, and to the
//! test that the contract names for it.

use std::collections::BTreeSet;
use std::io::Write as _;

use crate::contract::{documented_responses, gaps, operations};
use crate::source_files::none;

/// What the tests of the running service wrote down of its answers (`PURSER_ANSWERED`, see `.ci/run`): each as
/// `GET /get-card 503`, with the test that it was given to, or `-` where that asked from a task of its own. Programs of tests run
/// one after the other, by name: this one comes after those that ask.
fn recorded_responses(test: &str) -> Option<BTreeSet<(String, String)>> {
    let Some(file) = std::env::var_os("PURSER_ANSWERED") else {
        let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
        assert!(!in_ci, "PURSER_ANSWERED is not set");
        let _ = writeln!(std::io::stderr(), "skipped: {test}: PURSER_ANSWERED names no file");
        return None;
    };
    let text = std::fs::read_to_string(file).unwrap();
    let answers = text.lines().filter_map(|line| line.strip_prefix("answer "));
    let given = answers.filter_map(|line| {
        let (answer, test) = line.rsplit_once(' ')?;
        let test = test.rsplit("::").next()?;
        let answer = answer.split(' ').take(3).collect::<Vec<_>>().join(" ");
        Some((answer, test.to_owned()))
    });
    Some(given.collect())
}

// Aim: each status of each operation was answered, but those that the contract's table calls gaps.
#[test]
fn every_documented_answer_was_given() {
    let Some(given) = recorded_responses("every_documented_answer_was_given") else {
        return;
    };
    let given: BTreeSet<&str> = given.iter().map(|(answer, _)| answer.as_str()).collect();
    let gaps = gaps();
    let mut found = Vec::new();
    for (operation, statuses) in operations() {
        let answers = statuses.iter().map(|status| format!("{operation} {status}"));
        found.extend(answers.filter(|answer| !given.contains(&**answer) && !gaps.contains(answer)));
    }
    none(&found, "documented answers that were never given");
}

// Aim: a test that exists proves nothing: each answer was given to the very test that the contract names for it. A record that
// names no tests fails for every line.
#[test]
fn every_answer_was_given_to_the_test_that_the_contract_names() {
    let Some(given) = recorded_responses("every_answer_was_given_to_the_test_that_the_contract_names") else {
        return;
    };
    let named = documented_responses();
    let answers: BTreeSet<&str> = named.iter().map(|(answer, _)| answer.as_str()).collect();
    let gaps = gaps();
    let mut nameless = Vec::new();
    for (operation, statuses) in operations() {
        let documented = statuses.iter().map(|status| format!("{operation} {status}"));
        nameless.extend(documented.filter(|answer| !answers.contains(&**answer) && !gaps.contains(answer)));
    }
    none(&nameless, "answers for which docs/contract.md names no test");
    let wrong = named.into_iter().filter(|line| !given.contains(line));
    let found: Vec<String> = wrong
        .map(|(answer, test)| {
            let others = given
                .iter()
                .filter(|(given, _)| *given == answer)
                .map(|(_, test)| test.as_str());
            let others = others.take(3).collect::<Vec<_>>().join(", ");
            format!("{answer} was not given to `{test}`, but for example to {others}")
        })
        .collect();
    none(&found, "docs/contract.md");
}
