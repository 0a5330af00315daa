//! The only time format of sign-in messages: `YYYY-MM-DDTHH:MM:SS[.mmm]Z` (RFC 3339, UTC only).

use std::time::UNIX_EPOCH;

use purser_actors::port::Timestamp;

/// Formats 24 characters, with milliseconds. Times after the year 9999 are formatted as its last instant.
pub use purser_actors::answer::rfc3339 as format;

/// Parses the strict format, with three digits of fraction or none. Dates before 1970, leap seconds, other offsets,
/// lower-case letters and impossible dates give `None`.
pub fn parse(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let is_strict = bytes.last() == Some(&b'Z') && (bytes.len() == 20 || bytes.len() == 24 && bytes[19] == b'.');
    // `humantime` reads a leap second as the second before it.
    if !is_strict || &bytes[17..19] == b"60" {
        return None;
    }
    let time = humantime::parse_rfc3339(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(time.as_millis()).ok().map(Timestamp)
}

/// Whether a text is a calendar date: `YYYY-MM-DD`, from the year 1000 on.
pub fn is_date(text: &str) -> bool {
    let (Some(year), Some(rest)) = (text.get(..4), text.get(4..)) else {
        return false;
    };
    // The calendar repeats every 400 years, and only times from 1970 on can be parsed.
    let year = year.parse::<u16>().ok().filter(|year| *year >= 1000);
    year.is_some_and(|year| rest.len() == 6 && parse(&format!("{}{rest}T00:00:00Z", 2000 + year % 400)).is_some())
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

    /// Checks: dates before 1970 follow the same calendar, and other texts are no dates.
    #[test]
    fn dates_follow_the_calendar() {
        for text in [
            "1000-01-01",
            "1900-02-28",
            "1904-02-29",
            "1999-12-31",
            "2000-02-29",
            "9999-12-31",
        ] {
            assert!(is_date(text), "{text}");
        }
        for text in [
            "",
            "0999-12-31",
            "+999-12-31",
            "1900-02-29",
            "2023-04-31",
            "2023-13-01",
            "2023-00-10",
            "2023-01-00",
            "2023-1-010",
            "2023-01-1Z",
            "20230-1-01",
            "2023/01/01",
            "2023-01-01T",
            "é23-01-01",
        ] {
            assert!(!is_date(text), "{text}");
        }
    }
}
