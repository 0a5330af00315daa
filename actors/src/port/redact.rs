//! Hides card numbers and CVVs in external text before it is stored, logged or shown.

use std::borrow::Cow;
use std::ops::Range;

/// Fewest and most digits of a card number (ISO/IEC 7812).
const CARD_NUMBER_DIGITS: (usize, usize) = (12, 19);
/// Names of the CVV in the card schemes.
const CVV_NAMES: [&str; 8] = [
    "cvv",
    "cvc",
    "csc",
    "cvn",
    "security code",
    "verification code",
    "verification value",
    "card code",
];
/// A CVV starts within this number of characters after its name.
const CVV_NEAR: usize = 24;

/// Replaces with `*` each digit of a possible card number, and of 3 or 4 digits near a CVV name. A card number has 12
/// to 19 digits and a valid check digit, also in groups separated by spaces or dashes. Digits that only look like one
/// are hidden too.
pub fn redact(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Cow::Borrowed(text);
    }
    let mut chars: Vec<char> = text.chars().collect();
    let groups = groups(&chars);
    let mut secret = numbers(&chars, &groups);
    secret.extend(cvvs(&chars, &groups));
    if secret.is_empty() {
        return Cow::Borrowed(text);
    }
    for digit in secret.into_iter().flatten() {
        chars[digit] = '*';
    }
    Cow::Owned(chars.into_iter().collect())
}

/// Ranges of consecutive digits.
fn groups(chars: &[char]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, _) in chars.iter().enumerate().filter(|(_, c)| c.is_ascii_digit()) {
        match groups.last_mut() {
            Some(group) if group.end == at => group.end = at + 1,
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

/// Groups that form a card number together, and parts of a group that is too long for one.
fn numbers(chars: &[char], groups: &[Range<usize>]) -> Vec<Range<usize>> {
    let (least, most) = CARD_NUMBER_DIGITS;
    let mut found = Vec::new();
    for (n, first) in groups.iter().enumerate() {
        // A number inside a longer run of digits, for example in front of its CVV.
        if first.len() > least {
            let windows = (least..=most.min(first.len())).flat_map(|length| {
                let starts = first.start..=first.end - length;
                starts.map(move |start| start..start + length)
            });
            found.extend(windows.filter(|window| is_number(&chars[window.clone()])));
        }
        if first.len() > most {
            continue;
        }
        let mut digits: Vec<char> = Vec::with_capacity(most);
        for (last, group) in groups.iter().enumerate().skip(n) {
            let joined = last == n || chars[groups[last - 1].end..group.start].iter().all(|c| joins(*c));
            if !joined || digits.len() + group.len() > most {
                break;
            }
            digits.extend(&chars[group.clone()]);
            if digits.len() >= least && is_number(&digits) {
                found.extend(groups[n..=last].iter().cloned());
            }
        }
    }
    found
}

/// Separators within a card number: spaces, dots and dashes of every kind.
fn joins(c: char) -> bool {
    c.is_whitespace() || matches!(c, '-' | '.' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// Whether the check digit is valid (ISO/IEC 7812-1, Luhn).
fn is_number(digits: &[char]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(n, c)| {
            let digit = c.to_digit(10).unwrap_or(0);
            match n % 2 {
                0 => digit,
                _ => digit * 2 / 10 + digit * 2 % 10,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

fn cvvs(chars: &[char], groups: &[Range<usize>]) -> Vec<Range<usize>> {
    let lower: Vec<char> = chars.iter().map(char::to_ascii_lowercase).collect();
    let mut found = Vec::new();
    for name in CVV_NAMES {
        let name: Vec<char> = name.chars().collect();
        let ends = lower.windows(name.len()).enumerate().filter(|(_, here)| *here == name);
        for end in ends.map(|(start, _)| start + name.len()) {
            let near = groups
                .iter()
                .filter(|group| (end..=end + CVV_NEAR).contains(&group.start));
            found.extend(near.filter(|group| (3..=4).contains(&group.len())).cloned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudorandom numbers from a seed (SplitMix64).
    struct Seeded(u64);

    impl Seeded {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            usize::try_from((z ^ (z >> 31)) % end as u64).unwrap_or(0)
        }

        fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
            of[self.below(of.len())]
        }
    }

    /// A number of this length with a valid check digit. Computed differently from the code above.
    fn card_number(seeded: &mut Seeded, length: usize) -> Vec<u8> {
        let mut digits: Vec<u8> = (1..length)
            .map(|_| u8::try_from(seeded.below(10)).unwrap_or(0))
            .collect();
        let doubled = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];
        let sum: usize = digits
            .iter()
            .rev()
            .enumerate()
            .map(|(n, digit)| {
                if n % 2 == 0 {
                    doubled[usize::from(*digit)]
                } else {
                    usize::from(*digit)
                }
            })
            .sum();
        digits.push(u8::try_from((10 - sum % 10) % 10).unwrap_or(0));
        digits
    }

    // Checks: no digit of a card number is left, with any text around it, any length, and any spaces and dashes in it.
    // All other text is left. A number with a wrong check digit is a reference and stays.
    #[test]
    fn card_number_is_redacted_completely() {
        const AROUND: [&str; 7] = ["", "card ", "no: ", "{\"pan\":\"", "Zahlung für „", "x", "\u{1f4b3} "];
        const BEHIND: [&str; 6] = ["", " was refused", "\"}", ".", "e", "“ 2 mal"];
        let mut seeded = Seeded(4);
        for round in 0..20_000 {
            let length = 12 + round % 8;
            let digits = card_number(&mut seeded, length);
            let (before, after) = (seeded.one(&AROUND), seeded.one(&BEHIND));
            let mut printed = String::new();
            for (n, digit) in digits.iter().enumerate() {
                if n > 0 && seeded.below(4) == 0 {
                    printed.push_str(seeded.one(&[" ", "-", "  ", " - ", "\u{a0}", "\u{2013}"]));
                }
                printed.push(char::from(b'0' + digit));
            }
            let text = format!("{before}{printed}{after}");
            let hidden: String = printed
                .chars()
                .map(|c| if c.is_ascii_digit() { '*' } else { c })
                .collect();
            assert_eq!(redact(&text), format!("{before}{hidden}{after}"), "{text}");

            let mut wrong = digits.clone();
            wrong[length - 1] = (wrong[length - 1] + 1) % 10;
            let wrong: String = wrong.iter().map(|digit| char::from(b'0' + digit)).collect();
            // Part of a longer one may still look like a number.
            if length == CARD_NUMBER_DIGITS.0 {
                assert_eq!(redact(&wrong), wrong, "its check digit is wrong");
            }
        }
    }

    // Checks: a card number within too many digits, with digits in front of it or behind it, is hidden.
    #[test]
    fn card_number_among_other_digits_is_redacted() {
        for text in [
            "00004242424242424242424",
            "order 77 4242 4242 4242 4242 of 3 July",
            "4242424242424242 12/31",
            "12 31 4242-4242-4242-4242 9",
            "774242424242424242",
            "4242424242424242123",
            "4242.4242.4242.4242",
        ] {
            let left: String = redact(text).chars().filter(char::is_ascii_digit).collect();
            assert!(!left.contains("4242"), "{text}: {left}");
        }
        assert_eq!(redact("4242424242424242 12/31"), "**************** 12/31");
    }

    // Checks: three or four digits near a CVV name are hidden in every notation. The name, other numbers and distant
    // digits stay.
    #[test]
    fn cvv_is_redacted_after_its_name() {
        for (text, hidden) in [
            ("cvv 123", "cvv ***"),
            ("CVC: 1234.", "CVC: ****."),
            ("{\"cardCvv\":\"987\"}", "{\"cardCvv\":\"***\"}"),
            ("CVV2=123", "CVV2=***"),
            ("the security code 0123 is wrong", "the security code **** is wrong"),
            ("Card verification value was 111", "Card verification value was ***"),
            ("cvv of the card was wrong: 321", "cvv of the card was wrong: ***"),
            (
                "cvv differs from the issuer, code 402",
                "cvv differs from the issuer, code 402",
            ),
            ("cvv missing, error 50012", "cvv missing, error 50012"),
            ("cvv12 and 12", "cvv12 and 12"),
            ("refused: 402", "refused: 402"),
        ] {
            assert_eq!(redact(text), hidden, "{text}");
        }
    }
}
