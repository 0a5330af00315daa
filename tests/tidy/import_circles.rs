//! Modules at the top of a crate import each other in one direction. Inside a module, a folder's files may use each
//! other: they are read together.

use std::collections::{BTreeMap, BTreeSet};

use crate::source_files::{File, files, none};

/// The folder of a crate's top-level modules: that of its `lib.rs`.
fn roots(files: &[File]) -> BTreeSet<&str> {
    let libraries = files.iter().filter_map(|file| file.name.strip_suffix("/lib.rs"));
    libraries.filter(|root| !root.starts_with("tests")).collect()
}

/// The crate's folder and the module path of a file: `src/a/b.rs` is `a`, `b` in `src`.
fn place<'a>(file: &'a File, roots: &BTreeSet<&'a str>) -> Option<(&'a str, Vec<&'a str>)> {
    let inside = |root: &&&str| file.name.strip_prefix(**root).is_some_and(|rest| rest.starts_with('/'));
    let root = roots.iter().filter(inside).max_by_key(|root| root.len())?;
    let path = file.name[root.len() + 1..].strip_suffix(".rs")?;
    let path: Vec<&str> = path.split('/').collect();
    (path != ["lib"] && path != ["main"]).then_some((root, path))
}

/// The names behind `crate::`, or behind as many `super::` as lead to the crate: one, or those in braces.
fn named(code: &str, depth: usize) -> BTreeSet<String> {
    let prefixes = ["crate::".to_owned(), "super::".repeat(depth)];
    let mut found = BTreeSet::new();
    for prefix in prefixes {
        for (at, _) in code.match_indices(&prefix) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let rest = &code[at + prefix.len()..];
            match rest.strip_prefix('{') {
                None => drop(found.insert(identifier(rest))),
                Some(group) => found.extend(group_heads(group)),
            }
        }
    }
    found
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The first names of the members of `a::B, c::{D, E}}`.
fn group_heads(group: &str) -> Vec<String> {
    let (mut level, mut heads, mut begins) = (0, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => level += 1,
            '}' if level == 0 => break,
            '}' => level -= 1,
            ',' if level == 0 => begins = true,
            c if begins && !c.is_whitespace() => {
                heads.push(identifier(&group[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    heads
}

/// For each module, those that it names.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// The modules that one module reaches, over any number of others.
fn reached(imports: &Imports, from: &str) -> BTreeSet<String> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = next.pop() {
        for used in imports.get(&module).into_iter().flatten() {
            if seen.insert(used.clone()) {
                next.push(used.clone());
            }
        }
    }
    seen
}

/// The modules of each circle.
fn circles(imports: &Imports) -> BTreeSet<BTreeSet<String>> {
    let reach: BTreeMap<&str, BTreeSet<String>> = imports.keys().map(|m| (m.as_str(), reached(imports, m))).collect();
    let of = |module: &str| {
        let mutual = reach[module]
            .iter()
            .filter(|other| reach.get(other.as_str()).is_some_and(|back| back.contains(module)));
        mutual.cloned().collect::<BTreeSet<String>>()
    };
    imports
        .keys()
        .map(|module| of(module))
        .filter(|circle| circle.len() > 1)
        .collect()
}

// Checks: no two top-level modules of a crate import each other, directly or over others.
#[test]
fn no_import_circles() {
    let files = files();
    let roots = roots(&files);
    let mut crates: BTreeMap<&str, Imports> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_product()) {
        if let Some((root, path)) = place(file, &roots) {
            let code: String = file
                .code()
                .lines()
                .map(|line| line.split("//").next().unwrap_or_default())
                .fold(String::new(), |all, line| all + line + "\n");
            let uses = crates.entry(root).or_default().entry(path[0].to_owned()).or_default();
            uses.extend(named(&code, path.len()).into_iter().filter(|name| name != path[0]));
        }
    }
    let mut found = Vec::new();
    for (root, mut imports) in crates {
        let modules: BTreeSet<String> = imports.keys().cloned().collect();
        for uses in imports.values_mut() {
            uses.retain(|name| modules.contains(name));
        }
        found.extend(circles(&imports).iter().map(|circle| format!("{root}: {circle:?}")));
    }
    none(&found, "modules that import each other");
}

#[test]
fn imports_are_found_in_paths_and_groups() {
    let code = "use crate::a::B;\nuse super::super::{c::{D, E}, f};\nlet x = super::g::h(); mycrate::i::j();";
    let names = |depth| named(code, depth).into_iter().collect::<Vec<_>>();
    assert_eq!(names(2), ["a", "c", "f"]);
    let of = |pairs: &[(&str, &str)]| {
        let mut imports = Imports::new();
        for (from, to) in pairs {
            imports.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        circles(&imports).into_iter().flatten().collect::<Vec<_>>()
    };
    assert!(of(&[("a", "b"), ("b", "c")]).is_empty());
    assert_eq!(of(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]), ["a", "b", "c"]);
}
