//! "Did you mean": the known name closest to a mistyped one.

/// The name at most two edits away (one for short names), if there is one; the first of equals.
pub fn closest_match<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Longer text is not a typing error, and the cost of comparing grows with its length.
    if typed.len() > 64 {
        return None;
    }
    let most = if typed.len() < 4 { 1 } else { 2 };
    let lower = |text: &str| text.to_ascii_lowercase();
    let scored = known.map(|name| (strsim::osa_distance(&lower(typed), &lower(name)), name));
    scored
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
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
