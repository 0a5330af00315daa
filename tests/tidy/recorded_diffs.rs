//! Recorded diffs of a toy product and of a toy route. ARCHITECTURE.md lists what they touch.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::source_files::{ROOT, none};

/// A recorded diff: its file, the paragraph of ARCHITECTURE.md with its list, and the name that the list leaves open.
struct Recorded {
    file: &'static str,
    paragraph: &'static str,
    placeholder: &'static str,
    name: &'static str,
}

const RECORDED: [Recorded; 2] = [
    Recorded {
        file: "tests/tidy/esim.diff",
        paragraph: "\n**A product**",
        placeholder: "{product}",
        name: "esim",
    },
    Recorded {
        file: "tests/tidy/route.diff",
        paragraph: "\n**A route**",
        placeholder: "{route}",
        name: "served_countries",
    },
];

/// A file that a diff touches.
struct Touched {
    path: String,
    added_lines: usize,
    is_new: bool,
}

impl Recorded {
    fn touched(&self) -> Vec<Touched> {
        let diff = fs::read_to_string(Path::new(ROOT).join(self.file)).unwrap();
        let diff = format!("\n{diff}");
        let files = diff.split("\ndiff --git a/").skip(1);
        let touched = files.map(|file| Touched {
            path: file.split(' ').next().unwrap().to_owned(),
            added_lines: file
                .lines()
                .filter(|line| line.starts_with('+') && !line.starts_with("+++ "))
                .count(),
            is_new: file.contains("\nnew file mode "),
        });
        touched.collect()
    }

    /// The page with the right numbers of lines: behind each path of the list, and in its sentence of sums. Adds the
    /// paths that are listed and not touched, or touched and not listed, to `found`.
    fn with_numbers(&self, page: &str, found: &mut Vec<String>) -> String {
        let begin = page.find(self.paragraph).unwrap();
        let end = begin + page[begin..].find("\n\n**").unwrap();
        let (touched, mut text) = (self.touched(), String::new());
        let mut listed = BTreeSet::new();
        let mut rest = &page[begin..end];
        // A path of the list is followed by its number of lines: `path` (7) or `path` (7, new).
        while let Some((before, after)) = rest.split_once("` (") {
            let path = before.rsplit('`').next().unwrap().replace(self.placeholder, self.name);
            text += before;
            text += "` (";
            rest = after;
            let number = after
                .split_once(')')
                .filter(|(inside, _)| inside.starts_with(|c: char| c.is_ascii_digit()));
            let Some((_, behind)) = number else { continue };
            rest = &after[after.len() - behind.len() - 1..];
            match touched.iter().find(|file| file.path == path) {
                Some(file) if file.is_new => text += &format!("{}, new", file.added_lines),
                Some(file) => text += &file.added_lines.to_string(),
                None => found.push(format!("{}: does not touch {path}", self.file)),
            }
            listed.insert(path);
        }
        text += rest;
        let missing = touched.iter().filter(|file| !listed.contains(&file.path));
        found.extend(missing.map(|file| format!("{}: {} is not listed", self.file, file.path)));
        let (before, sums) = text.rsplit_once(" touches ").unwrap();
        let (_, after) = sums.split_once(" files").unwrap();
        format!(
            "{}{before} touches {} files{after}{}",
            &page[..begin],
            sums_of(&touched),
            &page[end..]
        )
    }
}

fn sums_of(files: &[Touched]) -> String {
    let sums = |is_new: bool| {
        let files = files.iter().filter(|file| file.is_new == is_new);
        files.fold((0, 0), |(files, lines), file| (files + 1, lines + file.added_lines))
    };
    let ((new, new_lines), (shared, shared_lines)) = (sums(true), sums(false));
    format!("{new} new ({new_lines} lines) and {shared} shared ({shared_lines} lines)")
}

// Checks: ARCHITECTURE.md lists the files of each recorded diff with the lines that it adds, and their sums.
#[test]
fn architecture_lists_what_recorded_diffs_touch() {
    let path = Path::new(ROOT).join("ARCHITECTURE.md");
    let written = fs::read_to_string(&path).unwrap();
    let (mut page, mut found) = (written.clone(), Vec::new());
    for recorded in &RECORDED {
        page = recorded.with_numbers(&page, &mut found);
    }
    none(&found, "lists in ARCHITECTURE.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, page).unwrap();
        return;
    }
    let differs = page
        .lines()
        .zip(written.lines())
        .find(|(right, written)| right != written);
    assert_eq!(differs, None, "run `UPDATE=1 cargo test --test tidy`");
}

// Checks: the recorded diffs apply to this tree, so that their numbers hold for it.
#[test]
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn recorded_diffs_apply() {
    let mut found = Vec::new();
    for Recorded { file, .. } in &RECORDED {
        let mut git = Command::new("git");
        match git.args(["apply", "--check", file]).current_dir(ROOT).output() {
            Ok(applied) if applied.status.success() => {}
            Ok(refused) => found.push(format!("{file}: {}", String::from_utf8_lossy(&refused.stderr).trim())),
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "there is no git: {error}");
                eprintln!("skipped: there is no git: {error}");
                return;
            }
        }
    }
    none(
        &found,
        "diffs that no longer apply: ARCHITECTURE.md says how to renew them",
    );
}
