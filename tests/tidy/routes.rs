//! Pages that are generated from the tables of routes.

use std::collections::{BTreeMap, BTreeSet};

use purser::http::route::{Access, Confirmed, Repeat, Route};
use purser::http::routes;
use serde_json::Value;

use crate::generated;

/// The operation of each public route, as in the OpenAPI document.
fn operations() -> BTreeMap<(&'static str, &'static str), Value> {
    let documents = routes::documents(routes::listings()).map(|document| serde_json::to_value(document).unwrap());
    let documents: Vec<Value> = documents.collect();
    let operation = |route: &Route| {
        let method = route.method.to_lowercase();
        let mut found = documents.iter().map(|document| &document["paths"][route.path][&method]);
        let found = found.find(|operation| operation.is_object());
        found
            .unwrap_or_else(|| panic!("{} {} is not described", route.method, route.path))
            .clone()
    };
    routes::public()
        .map(|route| ((route.method, route.path), operation(route)))
        .collect()
}

/// The table of docs/routes.md, by tags.
fn table() -> String {
    let operations = operations();
    let mut tables: Vec<(&str, String)> = Vec::new();
    for route in routes::public() {
        let operation = &operations[&(route.method, route.path)];
        let (tag, summary) = (
            operation["tags"][0].as_str().unwrap(),
            operation["summary"].as_str().unwrap(),
        );
        let caller = match route.confirmed {
            Confirmed::Nothing => route.access.name().to_owned(),
            confirmed => format!("{}; page: {}", route.access.name(), confirmed.name()),
        };
        let row = format!("| `{} {}` | {caller} | {summary} |\n", route.method, route.path);
        match tables.iter_mut().find(|(known, _)| *known == tag) {
            Some((_, rows)) => rows.push_str(&row),
            None => tables.push((tag, row)),
        }
    }
    let tables = tables
        .iter()
        .map(|(tag, rows)| format!("### {tag}\n\n| Route | Called by | |\n| --- | --- | --- |\n{rows}"));
    tables.collect::<Vec<_>>().join("\n")
}

#[test]
fn page_of_routes_is_generated_from_the_tables() {
    generated::assert_section("docs/routes.md", "routes", &table());
}

/// A table of docs/idempotency.md. Controls of the sandbox are one row.
fn repeats(heading: &str, says: impl Fn(Repeat) -> Option<&'static str>) -> String {
    let mut rows = Vec::new();
    for route in routes::all() {
        let path = if route.access == Access::Sandbox {
            "/sandbox/*"
        } else {
            route.path
        };
        let row = says(route.repeat).map(|says| format!("| `{} {path}` | {says} |\n", route.method));
        if let Some(row) = row.filter(|row| !rows.contains(row)) {
            rows.push(row);
        }
    }
    format!("{heading}\n| --- | --- |\n{}", rows.concat())
}

#[test]
fn tables_of_repeated_requests_are_generated_from_the_routes() {
    let safe = |repeat| match repeat {
        Repeat::Keyed => Some("key"),
        Repeat::Payment => Some("payment"),
        Repeat::Read | Repeat::Unkeyed(_) => None,
    };
    let unkeyed = |repeat| match repeat {
        Repeat::Unkeyed(why) => Some(why),
        Repeat::Read | Repeat::Payment | Repeat::Keyed => None,
    };
    generated::assert_section(
        "docs/idempotency.md",
        "routes with a key",
        &repeats("| Route | |", safe),
    );
    let reasons = repeats("| Route | Why it needs none |", unkeyed);
    generated::assert_section("docs/idempotency.md", "routes without a key", &reasons);
}

// Checks: a method and path stand in one row, and the document asks for a token exactly where the row does.
#[test]
fn rows_are_unique_and_agree_with_the_document() {
    let operations = operations();
    let mut known = BTreeSet::new();
    for route in routes::all() {
        let name = format!("{} {}", route.method, route.path);
        assert!(known.insert(name.clone()), "{name} has two rows");
        let Some(operation) = operations.get(&(route.method, route.path)) else {
            assert_eq!(route.access, Access::Operator, "{name}");
            continue;
        };
        let security = operation["security"].as_array().into_iter().flatten();
        let asks = security
            .flat_map(|one| one.as_object().unwrap().keys())
            .any(|scheme| scheme == "bearer");
        let takes = match route.access {
            Access::Token => true,
            // An API key is not a token.
            Access::Callable => route.path != "/agentAuth",
            _ => false,
        };
        assert_eq!(asks, takes, "{name}: {}", operation["security"]);
        let keys = operation["parameters"].as_array().into_iter().flatten();
        let keyed = keys.into_iter().any(|parameter| parameter["name"] == "Idempotency-Key");
        assert_eq!(keyed, route.repeat == Repeat::Keyed, "{name}");
    }
}
