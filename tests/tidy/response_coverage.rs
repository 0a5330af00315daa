//! Documented statuses are real: each operation responded with each of its statuses, to the test that the contract
//! names.

use std::collections::BTreeSet;
use std::io::Write as _;

use crate::contract::{documented_responses, gaps, operations};
use crate::source_files::none;

/// Responses that the service tests recorded (`PURSER_ANSWERED`, see `.ci/run`): each as `GET /get-card 503` with the
/// test that received it, or `-` when a separate task sent the request. Test binaries run one after the other, by name:
/// this one runs after those that send requests.
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

// Checks: each status of each operation was responded, except the gaps in the table of the contract.
#[test]
fn every_documented_response_was_given() {
    let Some(given) = recorded_responses("every_documented_response_was_given") else {
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

// Checks: each response was given to the exact test that the contract names, because the existence of a test proves
// nothing. A record without test names fails for every row.
#[test]
fn every_response_was_given_to_its_named_test() {
    let Some(given) = recorded_responses("every_response_was_given_to_its_named_test") else {
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
