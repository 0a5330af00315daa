//! Recorded diffs of a toy product and of a toy route. ARCHITECTURE.md lists what they touch.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::source_files::{ROOT, none};

/// A recorded diff: its file, the name that ARCHITECTURE.md leaves open, and where its list begins and ends.
struct Recorded {
    file: &'static str,
    name: &'static str,
    placeholder: &'static str,
    begins: &'static str,
    ends: &'static str,
}

const RECORDED: [Recorded; 2] = [
    Recorded {
        file: "tests/tidy/esim.diff",
        name: "esim",
        placeholder: "{product}",
        begins: "**A product**",
        ends: "Not counted:",
    },
    Recorded {
        file: "tests/tidy/route.diff",
        name: "served_countries",
        placeholder: "{route}",
        begins: "**A route**",
        ends: "A new table",
    },
];

/// A file that a diff touches.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Touched {
    path: String,
    added_lines: usize,
    is_new: bool,
}

impl Recorded {
    fn touched(&self) -> BTreeSet<Touched> {
        let diff = fs::read_to_string(Path::new(ROOT).join(self.file)).unwrap();
        let files = format!("\n{diff}");
        let files = files.split("\ndiff --git a/").skip(1);
        let touched = files.map(|file| Touched {
            path: file.split(' ').next().unwrap().to_owned(),
            added_lines: file
                .lines()
                .filter(|l| l.starts_with('+') && !l.starts_with("+++ "))
                .count(),
            is_new: file.contains("\nnew file mode "),
        });
        touched.collect()
    }

    /// The files in the text: `` `path` (lines) `` or `` `path` (lines, new) ``.
    fn listed(&self, text: &str) -> BTreeSet<Touched> {
        let text = text.replace(self.placeholder, self.name);
        let parts: Vec<&str> = text.split('`').collect();
        let listed = parts.windows(2).filter_map(|pair| {
            let (count, _) = pair[1].strip_prefix(" (")?.split_once(')')?;
            let (lines, is_new) = match count.strip_suffix(", new") {
                Some(lines) => (lines, true),
                None => (count, false),
            };
            Some(Touched {
                path: pair[0].to_owned(),
                added_lines: lines.parse().ok()?,
                is_new,
            })
        });
        listed.collect()
    }

    fn text(&self) -> String {
        let page = fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md")).unwrap();
        let (_, text) = page.split_once(self.begins).unwrap();
        let (text, _) = text.split_once(self.ends).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Number of files, and of lines that are added to them.
fn totals<'a>(files: impl Iterator<Item = &'a Touched>) -> (usize, usize) {
    files.fold((0, 0), |(files, lines), file| (files + 1, lines + file.added_lines))
}

// Checks: ARCHITECTURE.md lists the files of each recorded diff with the lines that it adds, and their sums.
#[test]
fn architecture_lists_what_recorded_diffs_touch() {
    let mut found = Vec::new();
    for recorded in &RECORDED {
        let (touched, text) = (recorded.touched(), recorded.text());
        let listed = recorded.listed(&text);
        let differing = touched.symmetric_difference(&listed);
        found.extend(differing.map(|file| match touched.contains(file) {
            true => format!("{}: not listed so: {file:?}", recorded.file),
            false => format!("{}: wrongly listed: {file:?}", recorded.file),
        }));
        let (new, new_lines) = totals(touched.iter().filter(|file| file.is_new));
        let (shared, shared_lines) = totals(touched.iter().filter(|file| !file.is_new));
        let sums = format!("{new} new ({new_lines} lines) and {shared} shared ({shared_lines} lines)");
        if !text.contains(&sums) {
            found.push(format!("{}: the text does not say: {sums}", recorded.file));
        }
    }
    none(&found, "differences between ARCHITECTURE.md and the recorded diffs");
}

// Checks: the recorded diffs apply to this tree, so that their figures hold for it.
#[test]
fn recorded_diffs_apply() {
    let mut found = Vec::new();
    for recorded in &RECORDED {
        let checked = Command::new("git")
            .args(["apply", "--check", recorded.file])
            .current_dir(ROOT)
            .output();
        match checked {
            Ok(checked) if checked.status.success() => {}
            Ok(checked) => found.push(format!(
                "{}: {}",
                recorded.file,
                String::from_utf8_lossy(&checked.stderr).trim()
            )),
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "git is needed: {error}");
                eprintln!("skipped: there is no git ({error})");
                return;
            }
        }
    }
    none(
        &found,
        "recorded diffs that do not apply: ARCHITECTURE.md says how to renew them",
    );
}
