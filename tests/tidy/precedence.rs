//! `docs/precedence.md` is complete: every route that can refuse has its table, and every table is climbed by a test.

use std::fs;
use std::path::Path;

use purser::http::callable::FUNCTION_NAMES;
use purser::http::request_metrics::ROUTES;

use crate::source_files::{ROOT, files, none};

/// Routes without a table of their own, and why.
const WITHOUT: &[(&str, &str)] = &[
    ("/.well-known/jwks.json", "takes nothing and refuses nobody"),
    ("/healthz", "takes nothing and refuses nobody"),
    ("/readyz", "takes nothing and refuses nobody"),
    ("/version", "takes nothing and refuses nobody"),
    ("/openapi.json", "takes nothing and refuses nobody"),
    ("/get-pricing", "takes nothing and refuses nobody"),
    ("/get-supported-countries", "takes nothing and refuses nobody"),
    ("/login", "a code in a form, right or not"),
    (
        "/redeem",
        "pages for people; what they give becomes a form again with what is wrong",
    ),
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

/// What stands over each table.
fn headings(document: &str) -> Vec<&str> {
    let sections = document.split("\n## ").skip(1);
    let with_table = sections.filter(|section| section.contains("\n| --- |"));
    with_table.filter_map(|section| section.lines().next()).collect()
}

/// Whether the document names a path, and not only a longer one that begins with it.
fn names(document: &str, path: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "-/_.".contains(c));
    document.split(path).skip(1).any(ends)
}

// Aim: a callable function has its own table, any other route its own, one that says it is alike, or a reason for none; and
// no reason outlives the table that somebody has written since.
#[test]
fn every_route_that_can_refuse_has_its_table() {
    let document = document();
    let headings = headings(&document);
    assert!(headings.len() > 40, "the tables were not found");
    let mut found = Vec::new();
    for name in FUNCTION_NAMES {
        if !headings.contains(&format!("POST {name}").as_str()) {
            found.push(format!("{name} has no table of its own"));
        }
    }
    // The operator's are a matrix in a test, the desk's are alike.
    let apart = |route: &&&str| !["/admin/", "/sandbox"].iter().any(|prefix| route.starts_with(prefix));
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

// Aim: a table that no test climbs down is a claim.
#[test]
fn every_table_is_climbed_by_a_test() {
    let document = document();
    let tests: Vec<_> = files()
        .into_iter()
        .filter(|file| file.is_rust() && file.name.starts_with("tests/"))
        .collect();
    let climbs = |file: &crate::source_files::File, heading: &str| {
        let called = heading
            .strip_prefix("POST ")
            .filter(|path| FUNCTION_NAMES.contains(path));
        let called = called
            .is_some_and(|path| file.text.contains(".check_precedence(") && file.text.contains(&format!("\"{path}\"")));
        called || (file.text.contains("PrecedenceTable::of(") && file.text.contains(&format!("\"{heading}\"")))
    };
    let found: Vec<String> = headings(&document)
        .into_iter()
        .filter(|heading| !tests.iter().any(|file| climbs(file, heading)))
        .map(|heading| format!("no test climbs down `{heading}`"))
        .collect();
    none(&found, "tables without a test");
}
