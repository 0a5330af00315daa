//! Stored types have unique schema numbers.

use std::collections::BTreeMap;

use crate::source_files::{File, files, none};

/// A schema number, with its position.
type Numbered = (u16, String);

/// Each `const SCHEMA: u16 = …;` of a text, in decimal or hexadecimal; anything else is an error.
fn numbers(file: &str, text: &str) -> Result<Vec<Numbered>, String> {
    let mut found = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let Some((_, rest)) = line.split_once("const SCHEMA: u16 = ") else {
            continue;
        };
        let place = format!("{file}:{}", n + 1);
        let number = rest.trim_end().trim_end_matches(';').replace('_', "");
        let read = match number.strip_prefix("0x") {
            Some(digits) => u16::from_str_radix(digits, 16),
            None => number.parse(),
        };
        found.push((
            read.map_err(|_| format!("{place}: {number} is no plain number"))?,
            place,
        ));
    }
    Ok(found)
}

/// Numbers that are used more than once.
fn doubles(numbers: &[Numbered]) -> Vec<String> {
    let mut by_number: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for (number, place) in numbers {
        by_number.entry(*number).or_default().push(place);
    }
    let double = by_number.into_iter().filter(|(_, places)| places.len() > 1);
    double
        .map(|(number, places)| format!("{number}: {}", places.join(", ")))
        .collect()
}

// Checks: schema numbers are unique, so that a row read as another type is rejected, and two branches that choose the
// same number conflict here. No test or benchmark uses a number of the product.
#[test]
fn no_two_stored_forms_have_the_same_number() {
    let files = files();
    let of = |chosen: &dyn Fn(&File) -> bool| -> Vec<Numbered> {
        let texts = files.iter().filter(|file| file.is_rust() && chosen(file));
        let found = texts.map(|file| numbers(&file.name, &file.text).unwrap());
        found.flatten().collect()
    };
    let product = of(&|file: &File| file.is_product());
    assert!(product.len() > 50, "the stored forms were not found");
    none(&doubles(&product), "numbers of more than one stored form");
    let others = of(&|file: &File| !file.is_product() && !file.name.starts_with("tests/tidy/"));
    assert!(others.len() > 5, "the tests' own were not found");
    let taken = others
        .iter()
        .filter(|(number, _)| product.iter().any(|(of, _)| of == number));
    let taken: Vec<String> = taken.map(|(number, place)| format!("{place}: {number}")).collect();
    none(&taken, "numbers of the product that tests use");
}

/// Numbers of the engine that `actors/tests/machines/stored_forms.rs` leaves out: cursors, positions that are private to
/// the engine; 82, the form before 83, which nothing writes; and 751, the envelope of events, which has a form and tests
/// of its own (`actors/src/kernel/stored_view/tests.rs`).
const UNPINNED: [u16; 6] = [82, 127, 234, 270, 342, 751];

// Checks: every stored form of the engine has its recorded digest, so that none can change by accident.
#[test]
fn stored_forms_of_the_engine_are_recorded() {
    let recorded = include_str!("../../actors/tests/machines/stored_forms.txt");
    let first = |line: &str| line.split(' ').next().and_then(|number| number.parse().ok());
    let recorded: Vec<u16> = recorded.lines().filter_map(first).collect();
    let files = files();
    let engine = files.iter().filter(|file| file.name.starts_with("actors/src/"));
    let numbers = engine.flat_map(|file| numbers(&file.name, &file.text).unwrap());
    let missing = numbers.filter(|(number, _)| !recorded.contains(number) && !UNPINNED.contains(number));
    let missing: Vec<String> = missing.map(|(number, place)| format!("{place}: {number}")).collect();
    none(&missing, "stored forms without a line in stored_forms.rs");
}

// Checks: the check above can fail: duplicates are reported with both positions in either notation, and an unreadable
// number is an error.
#[test]
fn duplicate_schema_number_is_reported() {
    let text =
        "impl Stored for A {\n    const SCHEMA: u16 = 61_001;\n}\nimpl Stored for B {\n    const SCHEMA: u16 = 2;\n}\n";
    let again = "    const SCHEMA: u16 = 0xEE49;\n    const SCHEMA: u16 = 3;\n";
    let mut all = numbers("a.rs", text).unwrap();
    assert!(doubles(&all).is_empty());
    all.extend(numbers("b.rs", again).unwrap());
    assert_eq!(doubles(&all), ["61001: a.rs:2, b.rs:1"]);
    assert!(numbers("c.rs", "const SCHEMA: u16 = FIRST + 1;").is_err());
}
