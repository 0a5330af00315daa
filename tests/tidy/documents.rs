//! What is written for people agrees with the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::source_files::{File, ROOT, files, lines_with, none};

// Aim: every setting is explained where it stands; a group of lines may share a comment, products share one list.
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

/// The code of each refusal: the first word in quotes behind each constructor, if it is written there.
fn error_codes(text: &str) -> Vec<String> {
    const ERROR_CONSTRUCTORS: [&str; 6] = [
        "new(",
        "parameter(",
        "unauthorized(",
        "forbidden(",
        "not_found(",
        "unavailable(",
    ];
    let mut codes = Vec::new();
    for kind in ["ApiError::", "Self::"] {
        for maker in ERROR_CONSTRUCTORS {
            for (at, found) in text.match_indices(&format!("{kind}{maker}")) {
                let rest: String = text[at + found.len()..].chars().take(160).collect();
                let literal = rest.split_once('"').filter(|(before, _)| !before.contains([';', '{']));
                let code = literal.and_then(|(_, l)| l.split_once('"')).map(|(code, _)| code);
                codes.extend(code.filter(|c| is_code(c)).map(str::to_owned));
            }
        }
    }
    codes
}

fn is_code(text: &str) -> bool {
    text.len() > 3 && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

// Aim: whoever meets an error code finds it in the documents, and the documents name none that does not exist.
#[test]
fn every_error_code_is_documented() {
    let document = fs::read_to_string(Path::new(ROOT).join("docs/errors.md")).unwrap();
    let rows = document
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let documented: BTreeSet<&str> = rows.collect();
    let files = files();
    let edge: Vec<&File> = files
        .iter()
        .filter(|f| f.is_product() && f.name.starts_with("src/"))
        .collect();
    let mut found = Vec::new();
    for file in &edge {
        for code in error_codes(file.code()) {
            if !documented.contains(code.as_str()) {
                found.push(format!("{}: `{code}` is not in docs/errors.md", file.name));
            }
        }
    }
    for code in documented {
        if !edge.iter().any(|f| f.code().contains(&format!("\"{code}\""))) {
            found.push(format!("docs/errors.md: nothing says `{code}`"));
        }
    }
    none(&found, "error codes");
}

// Aim: a route that the meter does not know would be counted among the strangers' paths.
#[test]
fn every_route_is_measured_under_its_name() {
    let mut served = BTreeSet::new();
    for file in files()
        .iter()
        .filter(|f| f.is_product() && f.name.starts_with("src/http/"))
    {
        let routes = file.code().split(".route(").skip(1);
        let paths = routes
            .filter_map(|r| r.split('"').nth(1))
            .filter(|p| p.starts_with('/'));
        served.extend(paths.map(str::to_owned));
    }
    assert!(served.len() > 20, "the routes were not found");
    let known = purser::http::request_metrics::ROUTES
        .iter()
        .map(|route| (*route).to_owned())
        .collect();
    assert_eq!(served, known);
}

// Aim: a setting that nothing reads would be a lie to whoever sets it.
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
    // Names in capitals are those of currencies and countries, in tables that are read whole.
    for key in keys.filter(|k| !k.starts_with(|c: char| c == '#' || c == ' ' || c.is_ascii_uppercase())) {
        let field = format!(".{key}");
        if !product.iter().any(|f| !lines_with(f.code(), &[&field]).is_empty()) {
            found.push(format!("config.toml: nothing reads `{key}`"));
        }
    }
    none(&found, "settings without effect");
}

// Aim: each guarantee in the map names tests that exist.
#[test]
fn the_tests_that_the_map_names_exist() {
    let document = fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md")).unwrap();
    let files = files();
    let section = document.split("## What the engine guarantees").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let named = section
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
            found.push(format!("ARCHITECTURE.md: there is no test `{name}`"));
        }
    }
    assert!(seen > 20, "the list of guarantees was not found");
    none(&found, "tests");
}

// Aim: a path that the map mentions is there.
#[test]
fn the_paths_that_the_map_names_exist() {
    let mut found = Vec::new();
    for name in ["ARCHITECTURE.md", "README.md"] {
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
