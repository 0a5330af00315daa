//! The attacks and faults that this service was designed against have numbers; each is met by a test that bears its own.

use std::collections::BTreeSet;

use crate::source_files::{files, none};

/// All of them are met.
const CASES: u32 = 90;

/// The numbers at the head of a test's name: `case_40_41_…` has two.
fn numbers(name: &str) -> BTreeSet<u32> {
    let rest = name.strip_prefix("case_").unwrap_or_default();
    rest.split('_').map_while(|part| part.parse().ok()).collect()
}

// Aim: no case is without a test, and no test bears a number that no case has.
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
