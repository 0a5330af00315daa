//! Country of a sandbox debit card: `400000`, which no bank has, followed by the country's ISO 3166-1 number. The
//! well-known test numbers (`4242…`, `5555…`) are U.S. cards.

use purser_actors::currency::Country;

const COUNTRIES: [(&str, &str); 27] = [
    ("040", "AT"),
    ("056", "BE"),
    ("124", "CA"),
    ("191", "HR"),
    ("196", "CY"),
    ("233", "EE"),
    ("246", "FI"),
    ("250", "FR"),
    ("276", "DE"),
    ("300", "GR"),
    ("372", "IE"),
    ("380", "IT"),
    ("392", "JP"),
    ("428", "LV"),
    ("440", "LT"),
    ("442", "LU"),
    ("470", "MT"),
    ("484", "MX"),
    ("528", "NL"),
    ("620", "PT"),
    ("703", "SK"),
    ("705", "SI"),
    ("724", "ES"),
    ("752", "SE"),
    ("756", "CH"),
    ("826", "GB"),
    ("840", "US"),
];

/// The country of a card by its first nine digits.
pub(super) fn country(bin: &str) -> Option<Country> {
    if bin.starts_with("42424242") || bin.starts_with("55555555") {
        return "US".parse().ok();
    }
    let number = bin.strip_prefix("400000")?.get(..3)?;
    let mut known = COUNTRIES.iter();
    known.find(|(of, _)| *of == number)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: every country has exactly one number that leads back to it; an unknown number has no country.
    #[test]
    fn a_bin_names_its_country() {
        for (number, code) in COUNTRIES {
            assert_eq!(country(&format!("400000{number}0001")).unwrap().as_str(), code);
        }
        let codes: std::collections::BTreeSet<_> = COUNTRIES.iter().map(|(_, code)| code).collect();
        assert_eq!(codes.len(), COUNTRIES.len());
        assert_eq!(country("424242424").unwrap().as_str(), "US");
        for unknown in ["400000999", "411111111", "400000", ""] {
            assert_eq!(country(unknown), None, "{unknown}");
        }
    }
}
