//! The form of the sandbox's identity check, and its verdict. Magic family names trigger rare cases.

use std::collections::BTreeMap;

use purser_actors::answer::rfc3339;
use purser_actors::port::{Timestamp, Verdict};

/// Delay from answer to verdict for the slow name, in milliseconds.
const SLOW_MS: u64 = 60_000;
const MAX_FIELD_LEN: usize = 100;
const MAJORITY_YEARS: u64 = 18;

/// How the verdict is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictDelivery {
    /// One signed callback.
    Once,
    /// No callback: the service has to query the check.
    NoCallback,
    /// The same callback twice.
    Duplicate,
    /// First a callback signed with a wrong key, then the right one.
    Forged,
    /// The right callback, then one that contradicts it.
    Contrary,
    /// Only a signed malformed callback.
    Garbage,
}

/// A family name that forces an outcome.
#[derive(Clone, Copy, Debug)]
pub struct MagicFamilyName {
    /// As entered in the form.
    pub name: &'static str,
    pub effect: &'static str,
    fails: Option<&'static str>,
    slow: bool,
    delivery: VerdictDelivery,
}

const fn magic(name: &'static str, effect: &'static str, telling: VerdictDelivery) -> MagicFamilyName {
    MagicFamilyName {
        name,
        effect,
        fails: None,
        slow: false,
        delivery: telling,
    }
}

/// All magic family names.
pub const MAGIC_NAMES: [MagicFamilyName; 7] = [
    MagicFamilyName {
        fails: Some("document_mismatch"),
        ..magic(
            "Reject",
            "the identity check fails; another may be begun",
            VerdictDelivery::Once,
        )
    },
    MagicFamilyName {
        slow: true,
        ..magic("Pending", "the identity check takes a minute", VerdictDelivery::Once)
    },
    magic(
        "Silent",
        "the verdict is sent by no callback; the service polls",
        VerdictDelivery::NoCallback,
    ),
    magic(
        "Twice",
        "the verdict's callback comes twice",
        VerdictDelivery::Duplicate,
    ),
    magic(
        "Forged",
        "a callback with another's signature comes first",
        VerdictDelivery::Forged,
    ),
    magic(
        "Contrary",
        "a second callback says the contrary",
        VerdictDelivery::Contrary,
    ),
    magic(
        "Garbage",
        "the callback is signed and holds rubbish",
        VerdictDelivery::Garbage,
    ),
];

/// Answers of the form and their outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FormResult {
    pub(super) verdict: Verdict,
    pub(super) after_ms: u64,
    pub(super) delivery: VerdictDelivery,
}

impl FormResult {
    /// A verdict without delay, delivered once.
    pub(super) const fn immediate(verdict: Verdict) -> Self {
        Self {
            verdict,
            after_ms: 0,
            delivery: VerdictDelivery::Once,
        }
    }
}

/// An invalid field of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct InvalidField {
    /// Name of the field.
    pub name: &'static str,
    /// What is wrong with it.
    pub error: &'static str,
}

impl InvalidField {
    pub(super) const fn new(name: &'static str, error: &'static str) -> Self {
        Self { name, error }
    }
}

/// Reads the form. Persons under eighteen fail.
pub(super) fn parse_form(
    form: &BTreeMap<String, String>,
    now: Timestamp,
    usual_ms: u64,
) -> Result<FormResult, InvalidField> {
    let field = |name: &str| form.get(name).map(|value| value.trim()).unwrap_or_default();
    let named = |name: &str| !field(name).is_empty() && field(name).chars().count() <= MAX_FIELD_LEN;
    if let Some(name) = ["given_name", "family_name"].into_iter().find(|name| !named(name)) {
        return Err(InvalidField::new(
            name,
            "Both names are needed, of at most 100 characters.",
        ));
    }
    let birth = |error| InvalidField::new("date_of_birth", error);
    let country = field("country");
    if country.len() != 2 || !country.bytes().all(|b| b.is_ascii_alphabetic()) {
        return Err(InvalidField::new("country", "The country is two letters, such as US."));
    }
    let birth_date = day(field("date_of_birth")).ok_or(birth("The date of birth is a day, as in 1990-12-31."))?;
    let today = day(rfc3339(now).get(..10).unwrap_or_default()).unwrap_or_default();
    if birth_date > today {
        return Err(birth("The date of birth is still to come."));
    }
    let of_age = (birth_date.0 + MAJORITY_YEARS, birth_date.1, birth_date.2) <= today;
    let family = field("family_name");
    let magic_name = MAGIC_NAMES.iter().find(|magic| magic.name.eq_ignore_ascii_case(family));
    let fails = magic_name
        .and_then(|magic| magic.fails)
        .or(if of_age { None } else { Some("under_age") });
    Ok(FormResult {
        verdict: fails.map_or(Verdict::Passed, |reason| Verdict::Failed { reason: reason.into() }),
        after_ms: if magic_name.is_some_and(|magic| magic.slow) {
            SLOW_MS
        } else {
            usual_ms
        },
        delivery: magic_name.map_or(VerdictDelivery::Once, |magic| magic.delivery),
    })
}

/// Year, month and day of a date as HTML forms send it.
fn day(text: &str) -> Option<(u64, u64, u64)> {
    let mut parts = text.split('-').map(|part| (part.len(), part.parse::<u64>().ok()));
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let digits = text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let shape = (year.0, month.0, day.0) == (4, 2, 2) && parts.next().is_none() && digits;
    let (year, month, day) = (year.1?, month.1?, day.1?);
    (shape && (1900..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day))
        .then_some((year, month, day))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NOW: Timestamp = Timestamp(1_795_176_000_000); // 2026-11-20

    fn form(family: &str, birth_date: &str) -> BTreeMap<String, String> {
        let pairs = [
            ("given_name", "Ada"),
            ("family_name", family),
            ("date_of_birth", birth_date),
            ("country", "GB"),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    // Checks: magic names force their outcome, and the age of eighteen is reached on the birthday, not a day before.
    #[test]
    fn names_and_ages_decide() {
        let judged = |family, birth_date| parse_form(&form(family, birth_date), NOW, 5).unwrap();
        let failed = |reason: &str| Verdict::Failed { reason: reason.into() };
        assert_eq!(judged("Lovelace", "2008-11-20").verdict, Verdict::Passed);
        assert_eq!(judged("Lovelace", "2008-11-21").verdict, failed("under_age"));
        assert_eq!(judged("reject", "1990-01-01").verdict, failed("document_mismatch"));
        assert_eq!(judged("Pending", "1990-01-01").after_ms, SLOW_MS);
        assert_eq!(judged("Twice", "1990-01-01").delivery, VerdictDelivery::Duplicate);
        assert_eq!(
            (
                judged("Lovelace", "1990-01-01").after_ms,
                judged("L", "1990-01-01").delivery
            ),
            (5, VerdictDelivery::Once)
        );
    }

    // Checks: a missing field or an invalid date is reported, and nothing is decided.
    #[test]
    fn an_unreadable_form_decides_nothing() {
        for birth_date in [
            "",
            "1990",
            "1990-13-01",
            "1990-1-1",
            "2026-11-21",
            "19900101",
            "1990-01-01-1",
            "+990-01-01",
        ] {
            assert!(
                parse_form(&form("Lovelace", birth_date), NOW, 5).is_err(),
                "{birth_date}"
            );
        }
        for (name, value) in [
            ("given_name", " "),
            ("family_name", ""),
            ("country", "G"),
            ("country", "G1"),
        ] {
            let mut form = form("Lovelace", "1990-01-01");
            form.insert(name.into(), value.into());
            assert!(parse_form(&form, NOW, 5).is_err(), "{name} {value}");
        }
    }
}
