//! The sandbox's cards, derived from the order's key: the same key is always the same card.

use std::ops::Range;

use purser_actors::answer::rfc3339;
use purser_actors::id::JobId;
use purser_actors::port::{Timestamp, add_months};
use sha2::{Digest as _, Sha256};

use purser_host::secret::Secret;

/// Prefix of every sandbox card number. Luhn-valid numbers with this prefix belong to no bank.
pub(super) const TEST_BIN: &str = "400000";
/// Nine digits between the prefix and the check digit.
const ACCOUNTS: u64 = 1_000_000_000;
/// The card is valid through the sixth month after the month of issue; that month is printed on it.
const MONTHS_VALID: u64 = 6;
/// Three years and the rest of the month.
const RELOADABLE_MONTHS_VALID: u64 = 36;
/// The number's nine middle digits.
pub(super) fn account_part(key: JobId, attempt: u32) -> u64 {
    derive(b"number", key, attempt) % ACCOUNTS
}

/// Sixteen digits, the last one a Luhn check digit.
pub(super) fn number(key: JobId, attempt: u32) -> Secret<String> {
    let mut digits = format!("{TEST_BIN}{:09}", account_part(key, attempt));
    let sum = luhn_sum(
        digits
            .bytes()
            .rev()
            .enumerate()
            .map(|(place, digit)| (place + 1, digit)),
    );
    digits.push(char::from(b'0' + (10 - sum % 10) % 10));
    Secret::new(digits)
}

/// The security code, three digits.
pub(super) fn cvv(key: JobId) -> Secret<String> {
    Secret::new(format!("{:03}", derive(b"cvv", key, 0) % 1000))
}

/// The issuer's reference of the card, which reveals neither key nor number.
pub(super) fn issuer_ref(key: JobId) -> String {
    format!(
        "sbx_card_{:016x}{:016x}",
        derive(b"ref", key, 0),
        derive(b"ref", key, 1)
    )
}

/// Year and month (1 to 12) of the expiry of a card issued at this time.
pub(super) fn expiry(issued: Timestamp) -> (u16, u8) {
    expiry_after(issued, MONTHS_VALID)
}

/// The same for a reloadable card.
pub(super) fn reloadable_expiry(issued: Timestamp) -> (u16, u8) {
    expiry_after(issued, RELOADABLE_MONTHS_VALID)
}

fn expiry_after(issued: Timestamp, valid: u64) -> (u16, u8) {
    let date = rfc3339(add_months(issued, valid));
    let part = |digits: Range<usize>| date.get(digits).and_then(|text| text.parse().ok());
    let month = part(5..7).and_then(|month: u16| u8::try_from(month).ok());
    (part(0..4).unwrap_or(9999), month.unwrap_or(12))
}

fn derive(what: &[u8], key: JobId, attempt: u32) -> u64 {
    let mut hash = Sha256::new();
    hash.update(b"purser SANDBOX card");
    hash.update(what);
    hash.update(key.0.to_be_bytes());
    hash.update(attempt.to_be_bytes());
    let hash = hash.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    u64::from_be_bytes(first)
}

/// Luhn's sum over digits with their position from the right, where the check digit is position 0.
fn luhn_sum(digits: impl Iterator<Item = (usize, u8)>) -> u8 {
    let sum: u64 = digits
        .map(|(place, digit)| {
            let digit = u64::from(digit - b'0');
            let doubled = digit * 2;
            if place % 2 == 0 {
                digit
            } else {
                doubled / 10 + doubled % 10
            }
        })
        .sum();
    u8::try_from(sum % 10).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    // Luhn's well-known example, then ours: every derived number is valid, has 16 digits and the test prefix.
    #[test]
    fn numbers_pass_luhn() {
        let check = |number: &str| luhn_sum(number.bytes().rev().enumerate());
        assert_eq!(check("4539578763621486"), 0);
        assert_ne!(check("4539578763621487"), 0);
        for key in 0..200 {
            let number = number(JobId(key), 0);
            let digits = number.expose_secret();
            assert_eq!((digits.len(), &digits[..6], check(digits)), (16, TEST_BIN, 0));
        }
        assert_ne!(
            account_part(JobId(1), 0),
            account_part(JobId(1), 1),
            "an attempt is another number"
        );
    }

    // The printed month is the sixth after the issue, also across ends of months and years and leap days.
    #[test]
    fn expiry_is_the_sixth_month_on() {
        let table = [
            (0, (1970, 7)),
            (1_767_225_599_000, (2026, 6)),
            (1_767_225_600_000, (2026, 7)),
            (1_709_164_800_000, (2024, 8)),
            (1_709_251_200_000, (2024, 9)),
            (1_780_272_000_000, (2026, 12)),
            (1_795_132_800_000, (2027, 5)),
        ];
        for (at, expected) in table {
            assert_eq!(expiry(Timestamp(at)), expected, "issued at {at}");
        }
    }
}
