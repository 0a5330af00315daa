//! Documents agree with the code.

use std::fs;
use std::path::Path;

use purser::http::error::ErrorCode;
use purser::metrics::{FACILITATORS, Metric, REAL_CHAINS, SERVICE};

use crate::generated;
use crate::source_files::{File, ROOT, files, lines_with, none};

// Checks: every setting has a comment next to it. A group of lines may share a comment; products share one list.
#[test]
fn every_setting_has_a_comment() {
    let text = fs::read_to_string(Path::new(ROOT).join("config.toml")).unwrap();
    let is_key = |line: &str| {
        line.split_once(" = ")
            .is_some_and(|(k, _)| k.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
    };
    let (mut section, mut explained, mut found) = ("", false, Vec::new());
    for (n, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            (section, explained) = (line, false);
        } else if line.starts_with('#') {
            explained = true;
        } else if line.trim().is_empty() {
            explained = false;
        } else if is_key(line) && section.starts_with("[products.") {
            let key = line.split(' ').next().unwrap();
            if !section.contains("countries_by") && !text.contains(&format!("`{key}`")) {
                found.push(format!("config.toml:{}: {line}", n + 1));
            }
        } else if is_key(line) && !explained {
            found.push(format!("config.toml:{}: {line}", n + 1));
        }
    }
    none(&found, "settings without a comment");
}

/// The table of `docs/errors.md`, generated from the error codes.
fn error_table() -> String {
    let row = |code: &ErrorCode| {
        let status = code.status();
        format!("| `{}` | {} | {} |\n", code.as_str(), status.as_str(), code.meaning())
    };
    let rows: String = ErrorCode::ALL.iter().map(row).collect();
    format!("| Code | Status | What it means |\n| --- | --- | --- |\n{rows}")
}

#[test]
fn error_page_is_generated_from_the_table_of_codes() {
    generated::assert_section("docs/errors.md", "error codes", &error_table());
}

/// A table of `docs/metrics.md`, generated from the metrics.
fn metric_table(metrics: &[Metric]) -> String {
    let row = |metric: &Metric| {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let labels = labels.join(", ");
        let name = format!("`{}`", metric.name);
        let cells = [name.as_str(), metric.kind.name(), &labels, metric.meaning];
        let cells = cells.map(|cell| {
            if cell.is_empty() {
                String::new()
            } else {
                format!(" {cell}")
            }
        });
        format!("|{} |\n", cells.join(" |"))
    };
    let rows: String = metrics.iter().map(row).collect();
    format!("| Metric | Kind | Labels | Meaning |\n| --- | --- | --- | --- |\n{rows}")
}

#[test]
fn metrics_page_is_generated_from_the_table_of_metrics() {
    for (section, metrics) in [
        ("metrics", SERVICE),
        ("metrics of the real chains", REAL_CHAINS),
        ("metrics of facilitators", FACILITATORS),
    ] {
        generated::assert_section("docs/metrics.md", section, &metric_table(metrics));
    }
}

#[test]
fn every_error_code_is_used() {
    let files = files();
    let table = "src/edge/error/code.rs";
    let users: Vec<&File> = files.iter().filter(|f| f.is_product() && f.name != table).collect();
    let mut unused = Vec::new();
    for code in ErrorCode::ALL {
        // The protocol layers do not use the table and write the text themselves.
        let (name, text) = (format!("ErrorCode::{code:?}"), format!("\"{}\"", code.as_str()));
        let is_used = |f: &&File| f.code().contains(&name) || f.code().contains(&text);
        if !users.iter().any(is_used) {
            unused.push(format!("{table}: nothing answers with {code:?}"));
        }
    }
    none(&unused, "error codes");
}

// Checks: every handler is in a table of routes. Requests of another one would be counted as unknown paths. The web apps'
// files and inner addresses are no operations, and are counted in groups.
#[test]
fn every_route_is_measured_under_its_name() {
    let exempt = ["src/http/route.rs", "src/http/web_apps.rs"];
    let handlers = files()
        .into_iter()
        .filter(|f| f.is_product() && f.name.starts_with("src/http/") && !exempt.contains(&f.name.as_str()));
    let mounts = |code: &str| {
        code.split(".route(")
            .skip(1)
            .any(|rest| rest.trim_start().starts_with("\"/"))
    };
    let beside: Vec<String> = handlers.filter(|f| mounts(f.code())).map(|f| f.name).collect();
    none(&beside, "handlers that are in no table");
    assert!(purser::http::routes::all().all(|route| purser::http::routes::PATHS.contains(&route.path)));
}

// Checks: the code reads every setting.
#[test]
fn every_setting_is_read() {
    let files = files();
    let product: Vec<&File> = files.iter().filter(|f| f.is_product()).collect();
    let text = fs::read_to_string(Path::new(ROOT).join("config.toml")).unwrap();
    let before_products = text.split("# Products.").next().unwrap();
    let keys = before_products
        .lines()
        .filter_map(|l| l.split_once(" = ").map(|(key, _)| key));
    let mut found = Vec::new();
    // Names in capitals are currencies and countries, in tables that are read as a whole.
    for key in keys.filter(|k| !k.starts_with(|c: char| c == '#' || c == ' ' || c.is_ascii_uppercase())) {
        let field = format!(".{key}");
        if !product.iter().any(|f| !lines_with(f.code(), &[&field]).is_empty()) {
            found.push(format!("config.toml: nothing reads `{key}`"));
        }
    }
    none(&found, "settings without effect");
}

// Checks: each guarantee names tests that exist.
#[test]
fn tests_named_in_guarantees_exist() {
    let document = fs::read_to_string(Path::new(ROOT).join("docs/guarantees.md")).unwrap();
    let files = files();
    let named = document
        .lines()
        .filter(|l| l.starts_with("| "))
        .filter_map(|l| l.rsplit('|').nth(1));
    let names = named.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let (mut found, mut seen) = (Vec::new(), 0);
    for name in names {
        seen += 1;
        if !files
            .iter()
            .any(|f| f.is_rust() && f.text.contains(&format!("fn {name}(")))
        {
            found.push(format!("docs/guarantees.md: there is no test `{name}`"));
        }
    }
    assert!(seen > 20, "the list of guarantees was not found");
    none(&found, "tests");
}

// Checks: a path that the architecture document mentions exists.
#[test]
fn paths_named_in_documents_exist() {
    let mut found = Vec::new();
    let pages = [
        "ARCHITECTURE.md",
        "README.md",
        "docs/guarantees.md",
        "docs/internals.md",
        "docs/states.md",
    ];
    for name in pages {
        let document = fs::read_to_string(Path::new(ROOT).join(name)).unwrap();
        let quoted = document.split('`').skip(1).step_by(2);
        let below = ["src/", "actors/", "storage/", "tests/", "benches/", "docs/"];
        for path in quoted.filter(|q| below.iter().any(|b| q.starts_with(b)) && !q.contains([' ', '*', '{', '…'])) {
            if !Path::new(ROOT).join(path.split("::").next().unwrap()).exists() {
                found.push(format!("{name}: there is no `{path}`"));
            }
        }
    }
    none(&found, "paths");
}
