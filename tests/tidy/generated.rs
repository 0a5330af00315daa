//! Documents, and sections of them, that are generated from the code. `UPDATE=1 cargo test --test tidy` writes them.

use std::fs;
use std::path::Path;

use crate::source_files::ROOT;

/// Asserts that the section of this name in the document has exactly this text, or writes it there if `UPDATE` is set. A section
/// lies between the lines `<!-- generated: NAME -->` and `<!-- end -->`.
pub(crate) fn assert_section(document: &str, name: &str, expected: &str) {
    let path = Path::new(ROOT).join(document);
    let page = fs::read_to_string(&path).unwrap();
    let opening = format!("<!-- generated: {name} -->\n");
    let (before, rest) = page.split_once(&opening).unwrap();
    let (section, after) = rest.split_once("<!-- end -->\n").unwrap();
    let expected = format!("\n{expected}\n");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{before}{opening}{expected}<!-- end -->\n{after}")).unwrap();
        return;
    }
    let differs = expected.lines().zip(section.lines()).find(|(new, old)| new != old);
    assert!(
        section == expected,
        "{document} is not what the code says; run `UPDATE=1 cargo test --test tidy`. First difference: {differs:?}"
    );
}

/// Asserts that a file has exactly this text, or writes it if `UPDATE` is set.
pub(crate) fn assert_file(name: &str, expected: &str) {
    let path = Path::new(ROOT).join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, expected).unwrap();
        return;
    }
    let stored = fs::read_to_string(path).unwrap();
    let mut lines = expected.lines().zip(stored.lines()).enumerate();
    let differs = lines
        .find(|(_, (new, old))| new != old)
        .map(|(n, lines)| (n + 1, lines));
    assert!(
        stored == expected,
        "{name} is not what the code says; run `UPDATE=1 cargo test --test tidy`. First difference: {differs:?}"
    );
}
