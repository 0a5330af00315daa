//! Texts that people give others to read.

/// The one rule for names, labels and notes that people give: something to read, of at most `most` characters, without control characters (a
/// NUL cuts a text short, others control a terminal) and without what makes a text read otherwise than it is written.
pub(super) fn is_readable(text: &str, most: usize) -> bool {
    let shows = |c: char| !c.is_whitespace() && !is_joiner(c);
    text.chars().any(shows) && text.chars().nth(most).is_none() && !text.chars().any(|c| c.is_control() || misleads(c))
}

/// Marks that belong to scripts and to emoji, and show nothing by themselves.
const fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}')
}

/// Turns a text round (the bidirectional overrides and isolates of Unicode), breaks its lines, or hides in it.
const fn misleads(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::is_readable;

    // Aim: what people write in any script is taken; what shows nothing, or shows otherwise than it is written, is not.
    #[test]
    fn a_text_is_what_it_looks_like() {
        for good in ["Ada", "کتاب\u{200c}ها", "👩\u{200d}🚀", "a b", "日本語", "é"] {
            assert!(is_readable(good, 20), "{good:?}");
        }
        for bad in [
            "",
            "  ",
            "\u{200d}",
            "a\u{202e}b",
            "\u{2066}x",
            "x\u{200b}",
            "\u{feff}",
            "a\u{2028}b",
            "a\nb",
            "\u{3164}",
            "a\u{e0041}",
            "123456789012345678901",
        ] {
            assert!(!is_readable(bad, 20), "{bad:?}");
        }
    }
}
