//! What is written for people agrees with the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::tree::{File, ROOT, files, none};

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
fn refusal_codes(text: &str) -> Vec<String> {
    const MAKERS: [&str; 6] = [
        "new(",
        "parameter(",
        "unauthorized(",
        "forbidden(",
        "not_found(",
        "unavailable(",
    ];
    let mut codes = Vec::new();
    for kind in ["ApiError::", "Self::"] {
        for maker in MAKERS {
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
        for code in refusal_codes(file.code()) {
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
