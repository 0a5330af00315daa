//! Validation of names, labels and notes that people write for others.

/// The one rule for names, labels and notes: visible text of at most `most` characters. Control characters are
/// rejected, because a NUL truncates text and others control a terminal. So are characters that make text look
/// different from what it is.
pub(super) fn is_readable(text: &str, most: usize) -> bool {
    let shows = |c: char| !c.is_whitespace() && !is_joiner(c);
    text.chars().any(shows) && text.chars().nth(most).is_none() && !text.chars().any(|c| c.is_control() || misleads(c))
}

/// Joiners of scripts and emoji, which are invisible on their own.
pub(super) const fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}')
}

/// Characters that reorder text (Unicode bidirectional overrides and isolates), break lines or are invisible.
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

    // Checks: text in any script is accepted; invisible or misleading text is rejected.
    #[test]
    fn readable_text_rejects_invisible_and_misleading_characters() {
        for valid in ["Ada", "کتاب\u{200c}ها", "👩\u{200d}🚀", "a b", "日本語", "é"] {
            assert!(is_readable(valid, 20), "{valid:?}");
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
