//! Points in time, and the calendar in UTC.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Whole seconds since the Unix epoch, rounded down.
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Adds milliseconds; saturates at `u64::MAX`.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// Milliseconds of a UTC day.
pub const DAY_MS: u64 = 86_400_000;

/// Adds calendar months (UTC) and keeps the time of day. Uses the last day of a month that is too short.
pub const fn add_months(at: Timestamp, months: u64) -> Timestamp {
    // Counts days from 0000-03-01 of the civil calendar, so that a year ends with February. All eras of 400 years are
    // alike.
    let days = at.0 / DAY_MS + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5;
    let later = (era * 400 + year_of_era) * 12 + month + months;
    let (year, month) = (later / 12, later % 12);
    let first = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5;
    // February is the last month here. The year that follows decides whether it has 29 days.
    let leap = (year + 1) % 4 == 0 && ((year + 1) % 100 != 0 || (year + 1) % 400 == 0);
    let length = match month {
        11 if leap => 29,
        11 => 28,
        1 | 3 | 6 | 8 => 30,
        _ => 31,
    };
    let day = if day < length { day } else { length - 1 };
    Timestamp((first + day - 719_468) * DAY_MS + at.0 % DAY_MS)
}

/// The first moment after a calendar month (UTC, 1 to 12): when a card with that expiry ends.
pub const fn month_end(year: u16, month: u8) -> Timestamp {
    add_months(Timestamp(0), (year as u64).saturating_sub(1970) * 12 + month as u64)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self)
    }
}
