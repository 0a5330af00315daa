//! `docs/contract.md` is complete, and the tests that it names exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use purser::config::{Config, ConfigSources};
use purser::http::routes::PATHS as ROUTES;

use crate::source_files::{ROOT, files, none};

/// Rows with `GAP` instead of a test. A closed gap is removed from this list; a new one needs a reason.
const GAPS: usize = 7;

pub(crate) fn read(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(name)).unwrap()
}

/// Every operation of the document with its statuses. A test compares this list with the service.
pub(crate) fn operations() -> BTreeMap<String, BTreeSet<String>> {
    let text = read("tests/contract/snapshots/openapi.200-operations.snap");
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    let operations = lines.filter(|(operation, _)| operation.contains(" /"));
    operations
        .map(|(operation, statuses)| (operation.to_owned(), statuses.split(' ').map(str::to_owned).collect()))
        .collect()
}

/// The cells of each row of the table under a heading.
fn table(document: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, section) = document
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("docs/contract.md has no `{heading}`"));
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(2);
    let cells = |row: &str| {
        row.trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    rows.map(cells).collect()
}

/// Responses of operations that no test produces, as `GET /get-card 503`.
pub(crate) fn gaps() -> BTreeSet<String> {
    let rows = table(&read("docs/contract.md"), "Operations");
    let gaps = rows.iter().flat_map(|row| {
        let parts = row[1].split(", ").filter_map(|part| part.strip_suffix(": GAP"));
        parts.map(|status| format!("{} {status}", row[0].trim_matches('`')))
    });
    gaps.collect()
}

/// Responses of operations, as `GET /get-card 503`, each with the test that the contract names for it: in the row of
/// the operation, or in the table of common responses.
pub(crate) fn documented_responses() -> Vec<(String, String)> {
    let document = read("docs/contract.md");
    let (every, own) = (table(&document, "Every operation"), table(&document, "Operations"));
    let every: BTreeMap<&str, &str> = every
        .iter()
        .map(|row| (row[0].trim_matches('`'), row[2].as_str()))
        .collect();
    let own: BTreeMap<&str, &str> = own
        .iter()
        .map(|row| (row[0].trim_matches('`'), row[1].as_str()))
        .collect();
    let mut named = Vec::new();
    for (operation, statuses) in operations() {
        let cell = own.get(&*operation).copied().unwrap_or_default();
        let own: BTreeMap<&str, &str> = cell.split(", ").filter_map(|part| part.split_once(": ")).collect();
        for status in &statuses {
            let cell = own.get(&**status).or(every.get(&**status)).copied().unwrap_or_default();
            named.extend(quoted(cell).map(|test| (format!("{operation} {status}"), test.to_owned())));
        }
    }
    named
}

/// The text between the quotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Compares in both directions: entries that the table lacks, and entries that only the table has.
fn same(what: &str, expected: BTreeSet<String>, listed: BTreeSet<String>, found: &mut Vec<String>) {
    found.extend(
        expected
            .difference(&listed)
            .map(|missing| format!("{what}: `{missing}` is missing")),
    );
    found.extend(
        listed
            .difference(&expected)
            .map(|unknown| format!("{what}: `{unknown}` is not known")),
    );
}

fn first_cells(document: &str, heading: &str) -> BTreeSet<String> {
    let rows = table(document, heading);
    rows.iter()
        .flat_map(|row| quoted(&row[0]).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Every move of the charts in docs/states.md, which are the code's own.
fn moves() -> BTreeSet<String> {
    let map = read("docs/states.md");
    let mut moves = BTreeSet::new();
    for chart in map.split("<!-- generated: chart ").skip(1) {
        let (name, rest) = chart.split_once(" -->").unwrap();
        let rows = rest.split("<!-- end -->").next().unwrap();
        for row in rows.lines().filter(|line| line.starts_with("| ")).skip(2) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            moves.insert(format!("{name}: {} to {}", cells[0], cells[2].trim_matches('*')));
        }
    }
    moves
}

// Checks: each response of each operation has its test, and each listed response is in the document.
#[test]
fn every_response_of_every_operation_is_listed() {
    let document = read("docs/contract.md");
    let mut found = Vec::new();
    let everywhere = first_cells(&document, "Every operation");
    let operations = operations();
    let listed: BTreeMap<String, String> = table(&document, "Operations")
        .into_iter()
        .map(|row| (row[0].trim_matches('`').to_owned(), row[1].clone()))
        .collect();
    same(
        "operations",
        operations.keys().cloned().collect(),
        listed.keys().cloned().collect(),
        &mut found,
    );
    for (operation, statuses) in &operations {
        let cell = listed.get(operation).map(String::as_str).unwrap_or_default();
        let own: BTreeSet<String> = cell
            .split(", ")
            .filter_map(|part| Some(part.split_once(": ")?.0.to_owned()))
            .collect();
        let beyond: BTreeSet<String> = statuses.difference(&everywhere).cloned().collect();
        found.extend(
            beyond
                .difference(&own)
                .map(|status| format!("{operation}: {status} is missing")),
        );
        found.extend(
            own.difference(statuses)
                .map(|status| format!("{operation}: {status} is not documented")),
        );
    }
    none(&found, "docs/contract.md");
}

// Checks: everything that the contract promises has a row, and no row is obsolete.
#[test]
fn api_coverage_table_is_complete() {
    let document = read("docs/contract.md");
    let mut found = Vec::new();
    let text = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();

    let admin: Vec<&str> = ROUTES
        .iter()
        .copied()
        .filter(|r| r.starts_with("/admin") || r.starts_with("/desk") || ["/metrics", "/copy"].contains(r))
        .collect();
    same(
        "operator's routes",
        text(&admin),
        first_cells(&document, "Operator's routes"),
        &mut found,
    );
    let operations = operations();
    let paths: BTreeSet<&str> = operations
        .keys()
        .filter_map(|operation| Some(operation.split_once(' ')?.1))
        .collect();
    let routes = ROUTES
        .iter()
        .filter(|route| !admin.contains(route) && !paths.contains(*route));
    found.extend(routes.map(|route| format!("`{route}` is neither the operator's nor in the document")));
    let config = Config::load(&ConfigSources::default()).unwrap();
    let products = config.products.all().map(|(name, _)| name);
    same(
        "products",
        text(&products),
        first_cells(&document, "Products"),
        &mut found,
    );
    same(
        "moves",
        moves(),
        first_cells(&document, "States and transitions"),
        &mut found,
    );
    let events = purser_actors::engine::event_types().into_iter().collect();
    same("events", events, first_cells(&document, "Events"), &mut found);
    let errors = read("docs/errors.md");
    let codes = errors
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    same(
        "error codes",
        codes.map(str::to_owned).collect(),
        first_cells(&document, "Error codes"),
        &mut found,
    );
    let headers = read("src/edge/headers.rs");
    let exposed = headers
        .split("const EXPOSED: &str = \"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let exposed = exposed
        .split([',', '\\'])
        .map(str::trim)
        .filter(|name| !name.is_empty());
    same(
        "headers",
        exposed.map(str::to_owned).collect(),
        first_cells(&document, "Headers"),
        &mut found,
    );
    none(&found, "docs/contract.md");
}

// Checks: a row names a test that exists, or says explicitly that there is none.
#[test]
fn tests_named_in_the_contract_exist() {
    let document = read("docs/contract.md");
    let files = files();
    let tests: Vec<&str> = files
        .iter()
        .filter(|file| file.is_rust() && file.name.starts_with("tests/"))
        .map(|file| file.text.as_str())
        .collect();
    let (mut found, mut gaps) = (Vec::new(), 0);
    let headings = document.lines().filter_map(|line| line.strip_prefix("## "));
    let rows = headings.flat_map(|heading| table(&document, heading));
    for row in rows {
        let (row, last) = (row.join(" | "), row.last().unwrap().as_str());
        let names: Vec<&str> = quoted(last).collect();
        gaps += last.matches("GAP").count();
        if names.is_empty() && !last.contains("GAP") {
            found.push(format!("no test: {row}"));
        }
        for name in names {
            // The attribute of a test is above the function.
            let is_test = |text: &&str| {
                let before = text.split(&format!("fn {name}()")).next().unwrap();
                before.len() < text.len() && before.trim_end_matches("async ").trim_end().ends_with(']')
            };
            if !tests.iter().any(is_test) {
                found.push(format!("there is no test `{name}`: {row}"));
            }
        }
    }
    none(&found, "docs/contract.md");
    assert_eq!(gaps, GAPS, "lines without a test");
}
