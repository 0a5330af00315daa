//! How pages show amounts, dates and addresses.

use purser_actors::answer::rfc3339;
use purser_actors::port::Timestamp;
use rust_decimal::Decimal;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A decimal with two places and commas between thousands: `9,541.98`.
pub(crate) fn grouped(amount: Decimal) -> String {
    group(&format!("{amount:.2}"))
}

/// The same without the places of a whole number: `1,000`.
pub(crate) fn grouped_short(amount: Decimal) -> String {
    match amount.is_integer() {
        true => group(&format!("{amount:.0}")),
        false => grouped(amount),
    }
}

fn group(text: &str) -> String {
    let (whole, places) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::with_capacity(text.len() + 4);
    for (n, digit) in whole.chars().enumerate() {
        if n > 0 && (whole.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + places
}

/// The sign before an amount; a currency without one has its code: `€`, `CHF `.
pub(crate) fn sign(currency: &str) -> String {
    match currency {
        "USD" => "$".to_owned(),
        "EUR" => "€".to_owned(),
        "GBP" => "£".to_owned(),
        code => format!("{code} "),
    }
}

/// `€1,025.00`.
pub(crate) fn money(amount: Decimal, currency: &str) -> String {
    format!("{}{}", sign(currency), grouped(amount))
}

/// The currency in a sentence.
pub(crate) fn currency_words(currency: &str) -> &str {
    match currency {
        "USD" => "US dollars",
        "EUR" => "euros",
        "GBP" => "pounds",
        code => code,
    }
}

/// `22 December 2026`, in UTC.
pub(crate) fn day(at: Timestamp) -> String {
    let text = rfc3339(at);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let month: usize = part(5, 7).parse().unwrap_or(1);
    let month = MONTHS.get(month.saturating_sub(1)).copied().unwrap_or_default();
    format!("{} {month} {}", part(8, 10).trim_start_matches('0'), part(0, 4))
}

/// `22 December 2026, 10:41 UTC`.
pub(crate) fn minute(at: Timestamp) -> String {
    let text = rfc3339(at);
    format!("{}, {} UTC", day(at), text.get(11..16).unwrap_or_default())
}

/// A whole number with its unit: `1 minute`, `28 minutes`.
pub(crate) fn counted(number: u64, unit: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural}")
}

/// The beginning and the end of an address: `0x30ef…a6c9`.
pub(crate) fn short(address: &str) -> String {
    match (
        address.get(..6),
        address.len().checked_sub(4).and_then(|at| address.get(at..)),
    ) {
        (Some(start), Some(end)) if address.len() > 13 => format!("{start}…{end}"),
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_grouped() {
        let shown = |cents: i64| grouped(Decimal::new(cents, 2));
        assert_eq!(
            [5, 100, 99_999, 954_198, 100_000_000].map(shown),
            ["0.05", "1.00", "999.99", "9,541.98", "1,000,000.00"]
        );
        assert_eq!(grouped_short(Decimal::new(100_000, 2)), "1,000");
        assert_eq!(grouped_short(Decimal::new(954_198, 2)), "9,541.98");
        assert_eq!(money(Decimal::new(2_500, 2), "EUR"), "€25.00");
        assert_eq!(money(Decimal::new(2_500, 2), "CHF"), "CHF 25.00");
    }

    #[test]
    fn dates_and_addresses_are_readable() {
        // 2026-12-02T10:41:05Z.
        let at = Timestamp(1_796_208_065_000);
        assert_eq!(day(at), "2 December 2026");
        assert_eq!(minute(at), "2 December 2026, 10:41 UTC");
        assert_eq!(short("0x340b1dcb17d6c08cba513c4a769b97dafbac400a"), "0x340b…400a");
        assert_eq!(short("Grüße"), "Grüße");
        assert_eq!(
            (counted(1, "minute"), counted(28, "minute")),
            ("1 minute".into(), "28 minutes".into())
        );
    }
}
