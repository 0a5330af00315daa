//! "Did you mean": the known name closest to a mistyped one.

/// The name at most two edits away (one for short names), if there is one; the first of equals.
pub fn closest_match<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Longer text is not a typing error, and the cost of comparing grows with its length.
    if typed.len() > 64 {
        return None;
    }
    let most = if typed.len() < 4 { 1 } else { 2 };
    let lower = |text: &str| text.to_ascii_lowercase();
    let scored = known.map(|name| (edit_distance(&lower(typed), &lower(name)), name));
    scored
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one into the other (optimal string alignment).
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::closest_match;

    // Checks: a typing error finds its name, an unrelated word finds none.
    #[test]
    fn typo_finds_the_intended_name() {
        let known = || ["amount", "format", "card_id", "expectedPayTo"].into_iter();
        for (typed, expected) in [
            ("amuont", Some("amount")),
            ("Amount", Some("amount")),
            ("fromat", Some("format")),
            ("cardid", Some("card_id")),
            ("ExpectedPayto", Some("expectedPayTo")),
            ("colour", None),
            ("", None),
            ("am", None),
        ] {
            assert_eq!(closest_match(typed, known()), expected, "{typed:?}");
        }
        assert_eq!(closest_match(&"a".repeat(1000), known()), None);
    }
}
