//! Card numbers in texts that operators write.

use crate::http::readable::is_joiner;

/// Groups of digits in which a card number is written, at most, unless single separators are between them.
const MAX_GROUPS: usize = 7;
/// Characters of a hexadecimal word from which on it is a hash or an id: those of the ids of this service.
const HASH_LEN: usize = 32;
/// Lengths of the parts of a UUID.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// The zeros of all scripts with decimal digits (Unicode 17, general category Nd). The other nine digits follow each.
#[rustfmt::skip]
const ZEROS: [char; 75] = [
    '\u{30}', '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}', '\u{be6}',
    '\u{c66}', '\u{ce6}', '\u{d66}', '\u{de6}', '\u{e50}', '\u{ed0}', '\u{f20}', '\u{1040}', '\u{1090}', '\u{17e0}',
    '\u{1810}', '\u{1946}', '\u{19d0}', '\u{1a80}', '\u{1a90}', '\u{1b50}', '\u{1bb0}', '\u{1c40}', '\u{1c50}',
    '\u{a620}', '\u{a8d0}', '\u{a900}', '\u{a9d0}', '\u{a9f0}', '\u{aa50}', '\u{abf0}', '\u{ff10}', '\u{104a0}',
    '\u{10d30}', '\u{10d40}', '\u{11066}', '\u{110f0}', '\u{11136}', '\u{111d0}', '\u{112f0}', '\u{11450}',
    '\u{114d0}', '\u{11650}', '\u{116c0}', '\u{116d0}', '\u{116da}', '\u{11730}', '\u{118e0}', '\u{11950}',
    '\u{11bf0}', '\u{11c50}', '\u{11d50}', '\u{11da0}', '\u{11de0}', '\u{11f50}', '\u{16a60}', '\u{16ac0}',
    '\u{16b50}', '\u{1ccf0}', '\u{1d7ce}', '\u{1d7d8}', '\u{1d7e2}', '\u{1d7ec}', '\u{1d7f6}', '\u{1e140}',
    '\u{1e2f0}', '\u{1e4f0}', '\u{1e5f1}', '\u{1e950}', '\u{1fbf0}',
];

/// The value of a decimal digit of any script.
fn digit(c: char) -> Option<u8> {
    let zero = ZEROS.partition_point(|zero| *zero <= c).checked_sub(1)?;
    let value = u32::from(c) - u32::from(*ZEROS.get(zero)?);
    u8::try_from(value).ok().filter(|value| *value < 10)
}

/// Consecutive digits, and where they are.
struct Group {
    digits: Vec<u8>,
    start: usize,
    end: usize,
}

/// Whether a text contains a card number: digits of any script in one or several groups, also right beside letters. Of
/// hashes, UUIDs and ids no digit counts.
pub(super) fn has_card_number(text: &str) -> bool {
    let mut chars: Vec<char> = text.chars().collect();
    hide_hashes(&mut chars);
    let groups = groups(&chars);
    (0..groups.len()).any(|first| {
        let (mut digits, mut is_tight) = (Vec::new(), true);
        for (count, group) in groups[first..].iter().enumerate() {
            if count > 0 {
                let between = &chars[groups[first + count - 1].end..group.start];
                is_tight &= is_single_separator(between);
                let is_too_long = count >= MAX_GROUPS && !is_tight;
                if is_too_long || between.iter().any(|c| c.is_alphanumeric()) {
                    return false;
                }
            }
            digits.extend(&group.digits);
            if is_card_number(&digits) {
                return true;
            }
            if digits.len() > 19 {
                return false;
            }
        }
        false
    })
}

fn groups(chars: &[char]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, c) in chars.iter().enumerate() {
        let Some(digit) = digit(*c) else { continue };
        match groups.last_mut() {
            Some(group) if group.end == at => {
                group.digits.push(digit);
                group.end = at + 1;
            }
            _ => groups.push(Group {
                digits: vec![digit],
                start: at,
                end: at + 1,
            }),
        }
    }
    groups
}

/// A space, a dash, a dot or an underscore; joiners are invisible.
fn is_single_separator(between: &[char]) -> bool {
    let is_separator =
        |c: &char| c.is_whitespace() || matches!(c, '-' | '.' | '_' | '\u{b7}' | '\u{2010}'..='\u{2015}' | '\u{2212}');
    let mut shown = between.iter().filter(|c| !is_joiner(**c));
    shown.next().is_none_or(is_separator) && shown.next().is_none()
}

/// Replaces words that are hashes or UUIDs with letters.
fn hide_hashes(chars: &mut [char]) {
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        let compound = length_of(rest, |c| c.is_ascii_alphanumeric() || c == '-');
        let word = length_of(rest, |c| c.is_ascii_alphanumeric());
        let hidden = if is_uuid(&rest[..compound]) {
            compound
        } else if is_hash(&rest[..word]) {
            word
        } else {
            0
        };
        chars[at..at + hidden].fill('x');
        // Past this word, or past one other character.
        at += word.max(hidden).max(1);
    }
}

fn length_of(chars: &[char], is_part: impl Fn(char) -> bool) -> usize {
    chars.iter().take_while(|c| is_part(**c)).count()
}

fn is_hash(word: &[char]) -> bool {
    let word = word.strip_prefix(&['0', 'x']).unwrap_or(word);
    word.len() >= HASH_LEN && word.iter().all(char::is_ascii_hexdigit)
}

fn is_uuid(word: &[char]) -> bool {
    let parts = word.split(|c| *c == '-');
    parts.clone().map(<[char]>::len).eq(UUID) && parts.flatten().all(char::is_ascii_hexdigit)
}

/// Whether digits can be a card number: its length, the prefix of a card scheme and the check digit (Luhn).
fn is_card_number(digits: &[u8]) -> bool {
    let is_prefix = match digits {
        [3..=6, ..] => true,
        // Without the years of dates.
        [2, second, third, fourth, ..] => {
            let prefix = 2_000 + u16::from(*second) * 100 + u16::from(*third) * 10 + u16::from(*fourth);
            (2_221..=2_720).contains(&prefix) && digits.len() == 16
        }
        _ => false,
    };
    is_prefix && (13..=19).contains(&digits.len()) && passes_luhn(digits)
}

/// Whether the last digit checks the others.
fn passes_luhn(digits: &[u8]) -> bool {
    let values = digits.iter().rev().enumerate().map(|(n, digit)| {
        let value = u32::from(*digit) << (n % 2);
        if value > 9 { value - 9 } else { value }
    });
    values.sum::<u32>().is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: every row of the table: a card number is found in digits of any script, however it is grouped, and beside
    // letters. Other numbers, hashes, UUIDs and ids are none.
    #[test]
    fn card_numbers_are_found_in_notes() {
        let digits_of = |zero: char| -> String {
            let shown = "4242424242424242"
                .bytes()
                .map(|b| u32::from(zero) + u32::from(b - b'0'));
            shown.filter_map(char::from_u32).collect()
        };
        for zero in ZEROS {
            let number = digits_of(zero);
            assert!(has_card_number(&number), "{number}");
        }
        let hash = "4242424242424242".repeat(2);
        for (text, found) in [
            ("4000123412341234560", true),
            ("card 4242 4242 4242 4242 of Ada", true),
            ("4242-4242-4242-4242", true),
            ("4242_4242_4242_4242", true),
            ("4242.4242.4242.4242", true),
            ("4242/4242/4242/4242", true),
            ("4242 - 4242 - 4242 - 4242", true),
            ("4242\u{2013}4242\u{a0}4242\u{202f}4242", true),
            ("4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2", true),
            ("42 42 42 42 42 42 42 42", true),
            ("4\u{200d}242\u{200d}4242 4242 4242", true),
            ("\u{ff14}\u{ff12}42 4242 4242 4242", true),
            ("٤٢٤٢ ٤٢٤٢ ٤٢٤٢ ٤٢٤٢", true),
            ("۴۲۴۲۴۲۴۲۴۲۴۲۴۲۴۲", true),
            ("४२४२ ४२४२ 4242 4242", true),
            ("\u{1d7d2}\u{1d7d0}42424242424242", true),
            ("card4242424242424242", true),
            ("4242424242424242exp1227", true),
            ("No4242 4242 4242 4242x", true),
            ("Karte4242-4242-4242-4242ende", true),
            ("карта4242424242424242", true),
            ("card_4242424242424242", true),
            ("4242424242424242-12-27", true),
            ("4242424242424242 12/27 123", true),
            ("378282246310005", true),
            ("2223003122003222", true),
            ("ends in 4242", false),
            ("ticket 17, +44 20 7946 0018", false),
            ("4242 4242 4242 4241", false),
            ("٤٢٤٢ ٤٢٤٢ ٤٢٤٢ ٤٢٤١", false),
            ("at 2026-11-27 10:30:00, again at 14:00", false),
            ("1764239400000", false),
            ("4242 orders of 4242 4242", false),
            ("4242a4242b4242c4242", false),
            ("0x4242424242424242424242424242424242424242a", false),
            ("pay_4242424242424242a242424242424242", false),
            (
                "of pay_4242424242424242a242424242424242, card_a2424242424242424242424242424242.",
                false,
            ),
            ("d4242424242424242e242424242424242", false),
            (
                "D4242424242424242E2424242424242424242424242424242424242424242424242",
                false,
            ),
            ("a2424242-4242-4242-4242-424242424242", false),
            ("42424242-4242-4242-4242-42424242424a", false),
            (hash.as_str(), false),
            ("½4242", false),
            ("", false),
        ] {
            assert_eq!(has_card_number(text), found, "{text}");
        }
    }

    // Checks: the table of zeros is sorted, and no digit belongs to two of them.
    #[test]
    fn zeros_are_apart() {
        for pair in ZEROS.windows(2) {
            assert!(u32::from(pair[0]) + 10 <= u32::from(pair[1]), "{pair:?}");
        }
        assert_eq!(
            ["7", "٧", "７", "x", "²"].map(|text| text.chars().next().and_then(digit)),
            [Some(7), Some(7), Some(7), None, None]
        );
    }
}
