#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test whose figures are to be read"
)]

use std::collections::BTreeSet;

use super::*;

const LABELLED: &str = include_str!("labelled.txt");

fn directory() -> SandboxMerchants {
    SandboxMerchants::new().unwrap()
}

fn first(directory: &SandboxMerchants, q: &str) -> Option<String> {
    directory.find(q).first().map(|entry| entry.name.clone())
}

/// Kind of query, query, and expected merchant.
fn labelled() -> Vec<(&'static str, &'static str, Option<&'static str>)> {
    let mut kind = "";
    let mut queries = Vec::new();
    for line in LABELLED.lines() {
        if let Some(head) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            kind = head;
        } else if let Some((query, meant)) = line.rsplit_once(" => ") {
            queries.push((kind, query, (meant != "-").then_some(meant)));
        }
    }
    queries
}

// Checks: the directory has the documented size, every entry is complete, and each card type has all three results.
#[test]
fn the_directory_is_whole() {
    let directory = directory();
    let entries = &directory.entries;
    assert!(entries.len() >= 500, "{}", entries.len());
    assert!(
        entries.iter().map(|e| e.names.len() - 1).sum::<usize>() >= 400,
        "aliases"
    );
    let categories: BTreeSet<_> = entries.iter().map(|e| &e.category).collect();
    let countries: BTreeSet<_> = entries.iter().flat_map(|e| &e.countries).collect();
    assert!(categories.len() >= 20 && countries.len() >= 30);
    assert!(
        countries
            .iter()
            .all(|c| c.len() == 2 && c.bytes().all(|b| b.is_ascii_uppercase()))
    );
    for card in 0..3 {
        for status in [Acceptance::Accepted, Acceptance::NotAccepted, Acceptance::Unknown] {
            assert!(entries.iter().any(|e| e.accepted[card] == status), "{card} {status:?}");
        }
    }
    for entry in entries {
        assert!(
            entry.domain.contains('.') && !entry.domain.contains(['/', ' ']),
            "{}",
            entry.domain
        );
        let safe = |c: char| !c.is_control() && c != '<' && c != '>';
        assert!(entry.name.chars().all(safe), "{}", entry.name);
    }
}

// Checks: a merchant is found by name, alias or address; no alias belongs to two merchants.
#[test]
fn every_name_finds_its_merchant() {
    let directory = directory();
    for entry in &directory.entries {
        assert_eq!(first(&directory, &entry.name), Some(entry.name.clone()));
        assert_eq!(first(&directory, &entry.domain), Some(entry.name.clone()));
    }
    let mut seen: HashMap<String, String> = HashMap::new();
    for line in DIRECTORY.lines().filter(|l| !l.starts_with(['#', '['])) {
        let mut parts = line.split('|').map(str::trim);
        let Some(name) = parts.next() else { continue };
        for alias in parts
            .nth(1)
            .unwrap_or_default()
            .split(',')
            .filter(|a| !a.trim().is_empty())
        {
            let other = seen.insert(alias.trim().to_owned(), name.to_owned());
            assert_eq!(other, None, "{alias} is an alias of {name} too");
            assert_eq!(first(&directory, alias).as_deref(), Some(name), "{alias}");
        }
    }
}

// Checks: precision and recall of the search are high. The labels in `labelled.txt` were written by people. Counted is
// the first result, or any result where none is expected.
#[test]
fn labelled_queries_are_found_and_nothing_else_is() {
    let directory = directory();
    let queries = labelled();
    assert!(queries.len() >= 250, "{} queries", queries.len());
    let known: BTreeSet<_> = directory.entries.iter().map(|e| e.name.as_str()).collect();
    let (mut found, mut meant, mut right) = (0, 0, 0);
    let mut kinds: Vec<(&str, usize, usize)> = Vec::new();
    for (kind, query, expected) in &queries {
        assert!(
            expected.is_none_or(|name| known.contains(name)),
            "{expected:?} is not in the directory"
        );
        let got = first(&directory, query);
        let fits = got.as_deref() == *expected;
        found += usize::from(got.is_some());
        meant += usize::from(expected.is_some());
        right += usize::from(got.is_some() && fits);
        match kinds.last_mut().filter(|(last, ..)| last == kind) {
            Some((_, all, good)) => (*all, *good) = (*all + 1, *good + usize::from(fits)),
            None => kinds.push((kind, 1, usize::from(fits))),
        }
        if !fits {
            println!("  {query:?}: {got:?}, meant was {expected:?}");
        }
    }
    for (kind, all, good) in kinds {
        println!("{good:>4} of {all:>3}  {kind}");
    }
    let (precision, recall) = (right * 1_000 / found, right * 1_000 / meant);
    let unmatched = queries.len() - meant;
    let figures = format!("precision {precision} and recall {recall}, in thousandths");
    println!(
        "{} queries, {unmatched} of them without a match: {figures}",
        queries.len()
    );
    assert!(precision >= 970 && recall >= 920, "{figures}");
}

fn search(q: Option<&str>, starting_after: Option<&str>, limit: usize) -> MerchantQuery {
    MerchantQuery {
        q: q.map(str::to_owned),
        card_type: CardType::NonReloadableUs,
        starting_after: starting_after.map(str::to_owned),
        limit,
    }
}

// Checks: pages contain everything once and in order, with and without a query; a foreign cursor is rejected.
#[test]
fn pages_hold_every_merchant_once() {
    let directory = directory();
    for q in [None, Some("united"), Some("home")] {
        let all = directory.page(&search(q, None, usize::MAX)).unwrap().merchants;
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = directory.page(&search(q, after.as_deref(), 7)).unwrap();
            seen.extend(page.merchants);
            if !page.has_more {
                break;
            }
            after = seen.last().map(|m| m.id.clone());
        }
        assert_eq!(seen, all);
    }
    assert_eq!(directory.page(&search(Some("walmart"), Some("mer_ikea_com"), 7)), None);
    assert_eq!(directory.page(&search(None, Some("mer_nowhere"), 7)), None);
}

// Checks: the same merchant has its own answer for each kind of card.
#[test]
fn acceptance_is_by_kind_of_card() {
    let directory = directory();
    let status = |q: &str| CardType::ALL.map(|card| directory.find(q)[0].to_merchant(card).status.name());
    assert_eq!(status("walmart"), ["accepted", "not_accepted", "accepted"]);
    assert_eq!(status("tesco"), ["not_accepted", "accepted", "accepted"]);
    assert_eq!(status("hilton"), ["unknown"; 3]);
    assert_eq!(status("western union"), ["not_accepted"; 3]);
}

// Checks: a line that does not match its section's header is reported, not skipped.
#[test]
fn a_broken_line_is_named() {
    for (text, said) in [
        ("A | a.com | ", "line 1: no head above"),
        ("[x | US | + - | ]", "line 1: not a head"),
        ("[x | US | + - ! | ]", "line 1: not a head"),
        ("[x | US | + - + | ]\nA", "line 2: not a merchant"),
        (
            "[x | US | + - + | ]\nA | a.com |\nB | a.com |",
            "mer_a_com is there twice",
        ),
    ] {
        assert_eq!(SandboxMerchants::read(text).err().as_deref(), Some(said));
    }
}
