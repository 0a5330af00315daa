//! The text files of the repository, and functions to search them.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

pub(crate) struct File {
    /// Path relative to the root, with `/`.
    pub(crate) name: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.name.ends_with(".rs")
    }

    /// Whether this is shipped code: not a test, not a benchmark.
    pub(crate) fn is_product(&self) -> bool {
        let parts = ["src/", "actors/src/", "storage/src/"];
        self.is_rust() && parts.iter().any(|p| self.name.starts_with(p)) && !self.is_test()
    }

    fn is_test(&self) -> bool {
        let name = self.name.rsplit('/').next().unwrap();
        name == "tests.rs"
            || name.starts_with("test_")
            || self.name.contains("/tests/")
            || self.name.starts_with("tests/")
    }

    /// The lines before the unit test module.
    pub(crate) fn code(&self) -> &str {
        let tests = self.text.match_indices("#[cfg(test)]\n").find(|(at, mark)| {
            let next = self.text[at + mark.len()..].lines().next().unwrap_or_default();
            next.contains("mod ") && next.ends_with('{')
        });
        tests.map_or(&self.text, |(at, _)| &self.text[..at])
    }
}

fn collect(dir: &Path, files: &mut Vec<File>) {
    const ENDINGS: [&str; 12] = [
        "rs", "toml", "md", "mjs", "js", "ts", "tsx", "sh", "yml", "html", "css", "json",
    ];
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let last = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["target", "data", "node_modules", ".git"].contains(&last.as_str()) {
                collect(&path, files);
            }
        } else if ENDINGS.contains(&path.extension().unwrap_or_default().to_string_lossy().as_ref()) {
            let name = path.strip_prefix(ROOT).unwrap().to_string_lossy().replace('\\', "/");
            files.push(File {
                name,
                text: fs::read_to_string(&path).unwrap(),
            });
        }
    }
}

pub(crate) fn files() -> Vec<File> {
    let mut files = Vec::new();
    collect(&PathBuf::from(ROOT), &mut files);
    assert!(
        files.iter().filter(|f| f.is_product()).count() > 100,
        "the tree was not found"
    );
    files
}

pub(crate) fn none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

/// Lines that contain a word; a word ends where letters, digits and `_` end.
pub(crate) fn lines_with(text: &str, words: &[&str]) -> Vec<(usize, String)> {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let holds = |line: &str, word: &str| {
        line.match_indices(word).any(|(at, _)| {
            let before = line[..at].chars().next_back().is_some_and(inside);
            let after = line[at + word.len()..].chars().next().is_some_and(inside);
            let begins = word.chars().next().is_some_and(inside);
            let ends = word.chars().next_back().is_some_and(inside);
            !(begins && before || ends && after)
        })
    };
    let numbered = text.lines().enumerate();
    numbered
        .filter(|(_, line)| words.iter().any(|word| holds(line, word)))
        .map(|(n, line)| (n + 1, line.trim().to_owned()))
        .collect()
}
