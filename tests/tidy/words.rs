//! Words that the project does not use: metaphors and terms of its own where the field has a standard one.

use std::collections::BTreeSet;

use crate::source_files::{files, none};

/// Whole words, in any case. Within an identifier they are not seen.
const WORDS: &str = "whoever whomever nobody somebody mailroom doorkeeper door doors letterbox letterboxes letter_box \
                     letter_boxes afar guardian guardians overseer overseers outsider outsiders elsewhere till room rooms \
                     house houses wish wishes wished steer steers steered steering fate fates mood moods ladder \
                     ladders climb climbs climbed climbing born lapse lapses lapsed crossing crossings departure departures \
                     spoken told teller ears maker makers deed deeds pretended amiss lest thereof";

const PHRASES: [&str; 25] = [
    "held against",
    "came of",
    "come of",
    "comes of",
    "given back",
    "put back",
    "taken back",
    "set aside",
    "written down",
    "under way",
    "not ours",
    "not theirs",
    "of ours",
    "of theirs",
    "so many",
    "so long",
    "so much",
    "stands in",
    "stands there",
    "stands on",
    "stands as",
    "it stands",
    "in no book",
    "the other side",
    "for good",
];

/// Names of types that would bring the metaphors back.
const IDENTIFIERS: &str = "House HOUSE World Doors Doorkeeper Room Rooms KeyRoom Mailroom Sorter Teller Ears Kept \
                           Families Guardian Overseer Ward Walk Wish Departure Said Told Asked Looked Standing";

/// Beginnings and ends of such names: `OneReport`, `CardSeen`, `RunBegun`.
const IDENTIFIER_ENDS: [&str; 2] = ["Seen", "Begun"];

fn is_metaphor(word: &str, types: &BTreeSet<&str>) -> bool {
    let counted = word.strip_prefix("One").and_then(|rest| rest.chars().next());
    types.contains(word)
        || counted.is_some_and(char::is_uppercase)
        || IDENTIFIER_ENDS
            .iter()
            .any(|end| word.len() > end.len() && word.ends_with(end))
}

/// Words that the pages say to people.
const SAID_ON_PAGES: &str = "nobody somebody told house room rooms crossing elsewhere wish whoever deed deeds";

/// Files that still use them. The list only shrinks.
const UNFINISHED: [&str; 0] = [];

/// Where words mean something else or belong to others: recorded vectors and answers, built files, the words of past versions,
/// packages, and this file.
fn is_exempt(name: &str) -> bool {
    let folders = [
        "tests/vectors/",
        "tests/contract/snapshots/",
        "src/web/built/",
        "src/web/api/",
    ];
    let others = ["CHANGELOG.md", "LICENSE", "tests/tidy/words.rs", "package-lock.json"];
    folders.iter().any(|folder| name.starts_with(folder)) || others.iter().any(|other| name.ends_with(other))
}

/// The words of a line: what lies between characters that no identifier has.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_boundary = |c: char| !(c.is_alphanumeric() || c == '_');
    line.split(is_boundary).filter(|word| !word.is_empty())
}

#[test]
fn texts_and_names_use_standard_terms() {
    let banned: BTreeSet<&str> = WORDS.split_whitespace().collect();
    let types: BTreeSet<&str> = IDENTIFIERS.split_whitespace().collect();
    let said: BTreeSet<&str> = SAID_ON_PAGES.split_whitespace().collect();
    let (mut found, mut met) = (Vec::new(), BTreeSet::new());
    for file in files() {
        let is_checked = [
            ".rs", ".md", ".toml", ".html", ".js", ".mjs", ".ts", ".tsx", ".css", ".py",
        ];
        if is_exempt(&file.name) || !is_checked.iter().any(|ending| file.name.ends_with(ending)) {
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            // Hash labels and stored keys keep their bytes.
            if line.contains("// frozen:") {
                continue;
            }
            let plain: Vec<String> = words(line).map(str::to_lowercase).collect();
            let joined = format!(" {} ", plain.join(" "));
            let on_page = file.name.starts_with("src/web/");
            let may_say = |word: &str| on_page && said.contains(word);
            let mut words_here = plain.iter().filter(|word| !may_say(word));
            let word = words_here.find(|word| banned.contains(word.as_str())).cloned();
            let mut phrases = PHRASES.iter().filter(|_| !on_page);
            let mut phrase = || phrases.find(|phrase| joined.contains(&format!(" {phrase} ")));
            let name = || words(line).find(|word| file.is_rust() && is_metaphor(word, &types));
            let aim = || line.contains("// Aim:").then(|| "Aim:".to_owned());
            let hit = word
                .or_else(aim)
                .or_else(|| phrase().map(|p| (*p).to_owned()))
                .or_else(|| name().map(str::to_owned));
            if let Some(hit) = hit {
                met.insert(file.name.clone());
                if !UNFINISHED.contains(&file.name.as_str()) {
                    found.push(format!("{}:{}: \"{hit}\"", file.name, number + 1));
                }
            }
        }
    }
    for file in UNFINISHED {
        if !met.contains(file) {
            found.push(format!("{file} is finished: take it off the list"));
        }
    }
    none(&found, "words to replace");
}
