//! Attacks and faults that the service was designed against have numbers. A test for each has the number in its name.

use std::collections::BTreeSet;

use crate::source_files::{files, none};

/// The case numbers, each of which needs a test.
const CASES: u32 = 90;

/// Case numbers at the start of a test name: `case_40_41_…` has two.
fn numbers(name: &str) -> BTreeSet<u32> {
    let rest = name.strip_prefix("case_").unwrap_or_default();
    rest.split('_').map_while(|part| part.parse().ok()).collect()
}

// Checks: every case has a test, and no test has the number of an unknown case.
#[test]
fn every_case_has_a_test_with_its_number() {
    assert_eq!(numbers("case_09_31_a_refused_transfer"), BTreeSet::from([9, 31]));
    let files = files();
    let tests = files
        .iter()
        .filter(|file| file.is_rust())
        .flat_map(|file| file.text.split("fn ").skip(1));
    let met: BTreeSet<u32> = tests
        .filter_map(|text| Some(text.split_once("()")?.0))
        .flat_map(numbers)
        .collect();
    let cases: BTreeSet<u32> = (1..=CASES).collect();
    let found: Vec<String> = cases
        .symmetric_difference(&met)
        .map(|case| format!("case {case}"))
        .collect();
    none(&found, "cases without a test, or tests without a case");
}
