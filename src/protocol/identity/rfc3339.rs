//! The only time format of sign-in messages: `YYYY-MM-DDTHH:MM:SS[.mmm]Z` (RFC 3339, UTC only).

use purser_actors::port::Timestamp;

/// Formats 24 characters, with milliseconds. Times after the year 9999 are formatted as its last instant.
pub use purser_actors::kernel::event_record::rfc3339 as format;

/// Parses the strict format, with three digits of fraction or none. Dates before 1970, leap seconds, other offsets,
/// lower-case letters and impossible dates give `None`.
pub fn parse(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let milli = match (bytes.len(), bytes.get(19)?) {
        (20, b'Z') => 0,
        (24, b'.') if bytes[23] == b'Z' => digits(&bytes[20..23])?,
        _ => return None,
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if marks.iter().any(|&(at, mark)| bytes[at] != mark) {
        return None;
    }
    let (year, month, day) = (digits(&bytes[..4])?, digits(&bytes[5..7])?, digits(&bytes[8..10])?);
    let (hour, minute, second) = (
        digits(&bytes[11..13])?,
        digits(&bytes[14..16])?,
        digits(&bytes[17..19])?,
    );
    let possible = year >= 1970
        && (1..=12).contains(&month)
        && (1..=month_days(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !possible {
        return None;
    }
    let seconds = days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(Timestamp(seconds * 1000 + milli))
}

/// Whether a text is a calendar date: `YYYY-MM-DD`, from the year 1000 on.
pub fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    match (digits(&bytes[..4]), digits(&bytes[5..7]), digits(&bytes[8..])) {
        (Some(year), Some(month), Some(day)) => {
            year >= 1000 && (1..=12).contains(&month) && (1..=month_days(year, month)).contains(&day)
        }
        _ => false,
    }
}

fn digits(bytes: &[u8]) -> Option<u64> {
    bytes
        .iter()
        .try_fold(0, |sum, b| b.is_ascii_digit().then(|| sum * 10 + u64::from(b - b'0')))
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn month_days(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Leap days in the years 1 to `year`.
const fn leap_days(year: u64) -> u64 {
    year / 4 - year / 100 + year / 400
}

fn days_since_epoch(year: u64, month: u64, day: u64) -> u64 {
    let whole_years = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969);
    whole_years + (1..month).map(|m| month_days(year, m)).sum::<u64>() + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks: known instants are formatted and parsed exactly, leap days and century rules included.
    #[test]
    fn known_instants_go_both_ways() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_768_473_000_000, "2026-01-15T10:30:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(format(Timestamp(ms)), text);
            assert_eq!(parse(text), Some(Timestamp(ms)), "{text}");
        }
        assert_eq!(format(Timestamp(u64::MAX)), "9999-12-31T23:59:59.999Z");
        assert_eq!(parse("2026-01-15T10:30:00Z"), Some(Timestamp(1_768_473_000_000)));
    }

    /// Checks: every day of four hundred years survives the round trip, so every calendar rule is covered.
    #[test]
    fn every_day_of_the_calendar_cycle_survives() {
        for day in 0..146_097 {
            let time = Timestamp(day * 86_400_000 + 1);
            assert_eq!(parse(&format(time)), Some(time));
        }
    }

    /// Checks: anything but the strict format is rejected.
    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "2026-01-15",
            "2026-01-15T10:30:00",
            "2026-01-15T10:30:00+00:00",
            "2026-01-15T10:30:00z",
            "2026-01-15t10:30:00Z",
            "2026-01-15 10:30:00Z",
            "2026-01-15T10:30:00.0Z",
            "2026-01-15T10:30:00.000000Z",
            "2026-01-15T10:30:60Z",
            "2026-01-15T24:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "+026-01-15T10:30:00Z",
            "2026-01-15T10:30:00.00ZZ",
            "２026-01-15T10:30:0Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
