//! `docs/precedence.md` is complete: every route with errors has a table, and a test covers every table.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use purser::http::callable::FUNCTION_NAMES;
use purser::http::error::ErrorCode;
use purser::http::routes;
use purser::http::routes::PATHS as ROUTES;

use crate::source_files::{ROOT, files, none};

/// Routes without a table, with the reason.
const WITHOUT: &[(&str, &str)] = &[
    ("/.well-known/jwks.json", "takes no input and has no errors"),
    ("/healthz", "takes no input and has no errors"),
    ("/readyz", "takes no input and has no errors"),
    ("/version", "takes no input and has no errors"),
    ("/openapi.json", "takes no input and has no errors"),
    ("/get-pricing", "takes no input and has no errors"),
    ("/get-supported-countries", "takes no input and has no errors"),
    ("/login", "a code in a form, right or not"),
    (
        "/redeem",
        "pages for people; what they give becomes a form again with what is wrong",
    ),
    ("/dashboard", "a page without data, the same for everybody"),
    ("/desk", "the operator's page, without data"),
    ("/metrics", "the operator's"),
    ("/copy", "the operator's"),
    ("/", "a document"),
    ("/llms.txt", "a document"),
    ("/skill.md", "a document"),
    ("/asyncapi.json", "a document"),
    ("/.well-known/x402", "a document"),
    ("/.well-known/api-catalog", "a document"),
];

fn document() -> String {
    fs::read_to_string(Path::new(ROOT).join("docs/precedence.md")).unwrap()
}

/// The heading above each table.
fn headings(document: &str) -> Vec<&str> {
    let sections = document.split("\n## ").skip(1);
    let with_table = sections.filter(|section| section.contains("\n| --- |"));
    with_table.filter_map(|section| section.lines().next()).collect()
}

/// Whether the document names this path, and not only a longer path that starts with it.
fn names(document: &str, path: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "-/_.".contains(c));
    document.split(path).skip(1).any(ends)
}

// Checks: a callable function has its own table. Every other route has a table, a statement that it is the same as
// another, or a reason for none. No reason outlives a table that was added later.
#[test]
fn every_route_with_errors_has_a_precedence_table() {
    let document = document();
    let headings = headings(&document);
    assert!(headings.len() > 40, "the tables were not found");
    let mut found = Vec::new();
    for name in FUNCTION_NAMES.iter() {
        if !headings.contains(&format!("POST {name}").as_str()) {
            found.push(format!("{name} has no table of its own"));
        }
    }
    // Operator routes are covered by a matrix in a test, and sandbox routes are all alike.
    let apart = |route: &&&str| {
        !["/admin/", "/desk/", "/sandbox"]
            .iter()
            .any(|prefix| route.starts_with(prefix))
    };
    for route in ROUTES.iter().filter(apart) {
        let excused = WITHOUT.iter().any(|(path, _)| path == route);
        if names(&document, route) == excused {
            found.push(format!(
                "{route} has {}",
                if excused {
                    "a table and an excuse"
                } else {
                    "neither table nor excuse"
                }
            ));
        }
    }
    for (path, _) in WITHOUT.iter().filter(|(path, _)| !ROUTES.contains(path)) {
        found.push(format!("{path} is no route"));
    }
    none(&found, "routes without a table");
}

// Checks: the tables of a route list the errors of its row, in order. `provider_is_remote` comes before all of them.
#[test]
fn precedence_tables_are_the_rows_of_the_routes() {
    let document = document();
    let mut tables = BTreeMap::<String, Vec<ErrorCode>>::new();
    for section in document.split("\n## ").skip(1) {
        let operation: Vec<&str> = section.split_whitespace().take(2).collect();
        let rows = section
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split_once(" `")?.1.split_once("` |"));
        let listed = tables.entry(operation.join(" ")).or_default();
        for code in rows.filter_map(|(code, _)| ErrorCode::from_name(code)) {
            if !listed.contains(&code) {
                listed.push(code);
            }
        }
    }
    let mut found = Vec::new();
    for route in routes::all() {
        let name = format!("{} {}", route.method, route.path);
        let listed = tables.remove(&name).unwrap_or_default();
        let refuses = route
            .refuses
            .iter()
            .copied()
            .filter(|code| *code != ErrorCode::ProviderIsRemote);
        let refuses: Vec<ErrorCode> = refuses.collect();
        if listed != refuses {
            found.push(format!("{name}: the page has {listed:?}, the row {refuses:?}"));
        }
    }
    tables.remove("Every request");
    found.extend(tables.keys().map(|name| format!("{name} is no route")));
    none(&found, "tables and rows that differ");
}

// Checks: each precedence table has a test that covers it.
#[test]
fn every_precedence_table_has_a_test() {
    let document = document();
    let tests: Vec<_> = files()
        .into_iter()
        .filter(|file| file.is_rust() && file.name.starts_with("tests/"))
        .collect();
    let covers = |file: &crate::source_files::File, heading: &str| {
        let called = heading
            .strip_prefix("POST ")
            .filter(|path| FUNCTION_NAMES.contains(path));
        let called = called
            .is_some_and(|path| file.text.contains(".check_precedence(") && file.text.contains(&format!("\"{path}\"")));
        called || (file.text.contains("PrecedenceTable::of(") && file.text.contains(&format!("\"{heading}\"")))
    };
    let found: Vec<String> = headings(&document)
        .into_iter()
        .filter(|heading| !tests.iter().any(|file| covers(file, heading)))
        .map(|heading| format!("no test covers `{heading}`"))
        .collect();
    none(&found, "tables without a test");
}
