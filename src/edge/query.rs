//! Strict query parameters: each once, each known, and amounts exact.

use std::borrow::Cow;

use purser_actors::money::{AmountError, Cents};

use super::error::{ApiError, ErrorCode};
use purser_config::ProductConfig;
use purser_config::suggest::closest_match;

/// A query whose names are all known and unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(&'static str, String)>,
    needed: &'static [&'static str],
}

impl Query {
    /// Parses a raw query string (without `?`).
    ///
    /// # Errors
    /// 400 `parameter_unrecognized` (with the nearest known name as hint), `parameter_duplicated`, `query_malformed`.
    pub fn parse(raw: Option<&str>, known: &[&'static str]) -> Result<Self, ApiError> {
        let mut pairs: Vec<(&'static str, String)> = Vec::with_capacity(known.len());
        for part in raw.unwrap_or("").split('&').filter(|p| !p.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let name = decode(name)?;
            let Some(name) = known.iter().copied().find(|k| *k == name) else {
                return Err(unrecognized_parameter(&name, known));
            };
            if pairs.iter().any(|(seen, _)| *seen == name) {
                let error = format!("The parameter `{name}` is given more than once.");
                return Err(ApiError::parameter(ErrorCode::ParameterDuplicated, name, error));
            }
            pairs.push((name, decode(value)?));
        }
        Ok(Self { pairs, needed: &[] })
    }

    /// Sets the required parameters. An error then names all missing ones at once.
    #[must_use]
    pub const fn require(mut self, needed: &'static [&'static str]) -> Self {
        self.needed = needed;
        self
    }

    /// The value, if the parameter was given.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| value.as_str())
    }

    /// The value, which must be present and not empty.
    ///
    /// # Errors
    /// 400 `parameter_missing`, which also names every other missing parameter ([`Query::require`]).
    pub fn required(&self, name: &'static str) -> Result<&str, ApiError> {
        self.names(name).ok_or_else(|| {
            let others = self.needed.iter().copied();
            let others = others.filter(|other| *other != name && self.names(other).is_none());
            missing_parameters(&std::iter::once(name).chain(others).collect::<Vec<_>>())
        })
    }

    fn names(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// `amount` within the product's range.
    ///
    /// # Errors
    /// 400 `parameter_missing`, `amount_invalid` or `amount_out_of_range`.
    pub fn amount(&self, product: &ProductConfig) -> Result<Cents, ApiError> {
        let range = || {
            format!(
                "Between {} and {}, with at most 2 decimal places.",
                product.min_amount, product.max_amount
            )
        };
        let outside = || {
            let error = format!(
                "`amount` must be between {} and {}.",
                product.min_amount, product.max_amount
            );
            ApiError::parameter(ErrorCode::AmountOutOfRange, "amount", error)
        };
        let amount = self.plain_amount().map_err(|e| match e.code {
            ErrorCode::AmountOutOfRange => outside(),
            _ => e.hint(range()),
        })?;
        if amount < product.min_amount || amount > product.max_amount {
            return Err(outside());
        }
        Ok(amount)
    }

    /// A text of at most `most` characters. `None` if the parameter is absent or empty.
    ///
    /// # Errors
    /// 400 `parameter_invalid`.
    pub fn text(&self, name: &'static str, most: usize) -> Result<Option<&str>, ApiError> {
        match self.get(name).filter(|text| !text.is_empty()) {
            Some(text) if text.chars().nth(most).is_some() => {
                let error = format!("`{name}` is longer than {most} characters.");
                Err(ApiError::parameter(ErrorCode::ParameterInvalid, name, error))
            }
            text => Ok(text),
        }
    }

    /// A code of `letters` capital letters, such as `US` or `EUR`. `None` if the parameter is absent or empty.
    ///
    /// # Errors
    /// 400 `parameter_invalid`, which names the standard of the code.
    pub fn code(&self, name: &'static str, letters: usize, of: &str) -> Result<Option<&str>, ApiError> {
        match self.get(name).filter(|code| !code.is_empty()) {
            Some(code) if code.len() != letters || !code.bytes().all(|b| b.is_ascii_uppercase()) => {
                let error = format!("`{name}` must be a code of {letters} capital letters ({of}).");
                Err(ApiError::parameter(ErrorCode::ParameterInvalid, name, error))
            }
            code => Ok(code),
        }
    }

    /// `amount` without a range.
    ///
    /// # Errors
    /// 400 `parameter_missing`, `amount_invalid`, or `amount_out_of_range` if no amount can have this value.
    pub fn plain_amount(&self) -> Result<Cents, ApiError> {
        Cents::parse(self.required("amount")?).map_err(|e| match e {
            AmountError::OutOfRange => {
                ApiError::parameter(ErrorCode::AmountOutOfRange, "amount", "`amount` is too large.")
            }
            AmountError::Malformed => {
                let error = "`amount` is not a plain decimal number of at most 2 places.";
                ApiError::parameter(ErrorCode::AmountInvalid, "amount", error)
            }
        })
    }

    /// One of the given values, or the first one if the parameter is absent.
    ///
    /// # Errors
    /// 400 `parameter_invalid`.
    pub fn choice(&self, name: &'static str, words: &[&'static str]) -> Result<&'static str, ApiError> {
        let Some(given) = self.get(name) else {
            return Ok(words.first().copied().unwrap_or_default());
        };
        words.iter().copied().find(|w| *w == given).ok_or_else(|| {
            let error = format!("`{name}` must be one of: {}.", words.join(", "));
            ApiError::parameter(ErrorCode::ParameterInvalid, name, error)
        })
    }

    /// An integer from `least` to `most`, or `default` if the parameter is absent.
    ///
    /// # Errors
    /// 400 `parameter_invalid`.
    pub fn number(&self, name: &'static str, default: u64, least: u64, most: u64) -> Result<u64, ApiError> {
        let Some(given) = self.get(name) else {
            return Ok(default);
        };
        let plain = !given.is_empty() && given.bytes().all(|b| b.is_ascii_digit());
        let number = if plain { given.parse::<u64>().ok() } else { None };
        number.filter(|n| (least..=most).contains(n)).ok_or_else(|| {
            let error = format!("`{name}` must be a whole number from {least} to {most}.");
            ApiError::parameter(ErrorCode::ParameterInvalid, name, error)
        })
    }
}

/// 400 about the first of these names. The message names all of them.
fn missing_parameters(names: &[&'static str]) -> ApiError {
    let error = match names {
        [_, _, ..] => format!("The parameters `{}` are required.", names.join("`, `")),
        _ => format!("The parameter `{}` is required.", names.concat()),
    };
    let error = ApiError::parameter(
        ErrorCode::ParameterMissing,
        names.first().copied().unwrap_or_default(),
        error,
    );
    match names {
        [_, _, ..] => error.missing(names.iter().copied()),
        _ => error,
    }
}

fn unrecognized_parameter(name: &str, known: &[&'static str]) -> ApiError {
    // The name is the caller's text: quoted short and printable only.
    let shown: String = name.chars().filter(|c| c.is_ascii_graphic()).take(64).collect();
    let error = ApiError::parameter(
        ErrorCode::ParameterUnrecognized,
        shown,
        "This route does not take that parameter.",
    );
    match closest_match(name, known.iter().copied()) {
        Some(near) => error.hint(format!("Did you mean `{near}`?")),
        None if known.is_empty() => error.hint("This route takes no parameters."),
        None => error.hint(format!("Known parameters: {}.", known.join(", "))),
    }
}

/// Decodes `application/x-www-form-urlencoded`. Rejects invalid UTF-8.
fn decode(text: &str) -> Result<String, ApiError> {
    let malformed = || ApiError::new(ErrorCode::QueryMalformed, "A parameter is not percent-encoded UTF-8.");
    let text: Cow<'_, str> = if text.contains('+') {
        text.replace('+', " ").into()
    } else {
        text.into()
    };
    if !text.contains('%') {
        return Ok(text.into_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = tail;
            continue;
        }
        let digits = tail.get(..2).ok_or_else(malformed)?;
        let mut byte = [0];
        hex::decode_to_slice(digits, &mut byte).map_err(|_| malformed())?;
        bytes.push(byte[0]);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| malformed())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use purser_config::{Config, ConfigSources};

    const KNOWN: [&str; 2] = ["amount", "format"];

    fn amount(raw: &str) -> Result<u64, ErrorCode> {
        let config = Config::load(&ConfigSources::default()).unwrap();
        let query = Query::parse(Some(raw), &KNOWN).map_err(|e| e.code)?;
        query
            .amount(&config.products.usa_prepaid_card)
            .map(Cents::get)
            .map_err(|e| e.code)
    }

    // Checks (case 24): amounts are plain decimals with at most two places, and equal amounts compare equal.
    #[test]
    fn case_24_amounts_are_plain_decimals() {
        for same in [
            "amount=5",
            "amount=5.0",
            "amount=5.00",
            "amount=%35",
            "format=json&amount=005",
        ] {
            assert_eq!(amount(same), Ok(500), "{same}");
        }
        for wrong in [
            "5.001", "1e3", "-5", "%2B5", "+5", "NaN", "%D9%A5", "5,00", "0x5", "5.", ".5", "5%20", "5%00", "Infinity",
        ] {
            assert_eq!(
                amount(&format!("amount={wrong}")),
                Err(ErrorCode::AmountInvalid),
                "{wrong}"
            );
        }
        assert_eq!(
            amount(&format!("amount={}", "9".repeat(40))),
            Err(ErrorCode::AmountOutOfRange)
        );
        assert_eq!(amount("amount="), Err(ErrorCode::ParameterMissing));
        assert_eq!(amount(""), Err(ErrorCode::ParameterMissing));
    }

    // Checks (case 25): the range includes its limits and ends one cent beyond them.
    #[test]
    fn case_25_range_includes_its_limits() {
        assert_eq!(amount("amount=4.99"), Err(ErrorCode::AmountOutOfRange));
        assert_eq!(amount("amount=1000"), Ok(100_000));
        assert_eq!(amount("amount=1000.01"), Err(ErrorCode::AmountOutOfRange));
        assert_eq!(amount("amount=0"), Err(ErrorCode::AmountOutOfRange));
    }

    // Checks (case 4): a repeated parameter is rejected in any spelling; the larger value is never used.
    #[test]
    fn case_4_repeated_parameter_is_rejected() {
        for raw in [
            "amount=5&amount=500",
            "amount=5&amount=5",
            "amount=5&%61mount=500",
            "amount&amount=5",
        ] {
            assert_eq!(amount(raw), Err(ErrorCode::ParameterDuplicated), "{raw}");
        }
    }

    // Checks: an unknown name is rejected, with the nearest known name as hint.
    #[test]
    fn unknown_parameter_hint_names_the_nearest() {
        let error = Query::parse(Some("amout=5"), &KNOWN).unwrap_err();
        assert_eq!(
            (error.status.as_u16(), error.code.as_str(), error.param.as_deref()),
            (400, "parameter_unrecognized", Some("amout"))
        );
        assert_eq!(error.hint.as_deref(), Some("Did you mean `amount`?"));
        let far = Query::parse(Some("colour=red"), &KNOWN).unwrap_err();
        assert_eq!(far.hint.as_deref(), Some("Known parameters: amount, format."));
        assert_eq!(
            Query::parse(Some("%zz=1"), &KNOWN).unwrap_err().code,
            ErrorCode::QueryMalformed
        );
        assert_eq!(
            Query::parse(Some("amount=%ff"), &KNOWN).unwrap_err().code,
            ErrorCode::QueryMalformed
        );
    }

    // Checks: one error names every missing parameter, first the one that was read; an empty value is missing.
    #[test]
    fn error_names_all_missing_parameters() {
        let query = |raw| {
            Query::parse(Some(raw), &["amount", "format", "country"])
                .unwrap()
                .require(&["amount", "country"])
        };
        let parts = |error: ApiError| (error.param.clone().unwrap(), error.error.clone(), error.missing.clone());
        let both = parts(query("country=").required("country").unwrap_err());
        assert_eq!(both.0, "country");
        assert_eq!(both.1, "The parameters `country`, `amount` are required.");
        assert_eq!(both.2, ["country", "amount"]);
        let one = parts(query("amount=5").required("country").unwrap_err());
        assert_eq!(one.1, "The parameter `country` is required.");
        assert!(one.2.is_empty(), "one is in `param`");
        assert_eq!(query("country=US").required("country").unwrap(), "US");
    }

    // Checks: choices and numbers are accepted only in their exact form.
    #[test]
    fn choices_and_numbers_must_match_exactly() {
        let query = |raw| Query::parse(Some(raw), &["format", "limit"]).unwrap();
        assert_eq!(query("").choice("format", &["json", "html"]).unwrap(), "json");
        assert_eq!(
            query("format=html").choice("format", &["json", "html"]).unwrap(),
            "html"
        );
        assert_eq!(
            query("format=HTML")
                .choice("format", &["json", "html"])
                .unwrap_err()
                .code,
            ErrorCode::ParameterInvalid
        );
        assert_eq!(query("limit=3").number("limit", 20, 1, 100).unwrap(), 3);
        for wrong in [
            "limit=0",
            "limit=101",
            "limit=-1",
            "limit=1.5",
            "limit=",
            "limit=99999999999999999999",
        ] {
            assert_eq!(
                query(wrong).number("limit", 20, 1, 100).unwrap_err().code,
                ErrorCode::ParameterInvalid,
                "{wrong}"
            );
        }
    }

    // Checks: texts are limited in characters, codes have their exact form, and an empty value is absent.
    #[test]
    fn texts_and_codes_are_bounded() {
        let query = |raw: &str| Query::parse(Some(raw), &["q", "country"]).unwrap();
        assert_eq!(query("q=").text("q", 3).unwrap(), None);
        assert_eq!(query("q=%C3%A9%C3%A9%C3%A9").text("q", 3).unwrap(), Some("ééé"));
        assert_eq!(
            query("q=abcd").text("q", 3).unwrap_err().code,
            ErrorCode::ParameterInvalid
        );
        assert_eq!(query("country=").code("country", 2, "").unwrap(), None);
        assert_eq!(query("country=US").code("country", 2, "").unwrap(), Some("US"));
        for wrong in ["us", "USA", "U", "U1", "%C3%9C", "U%00"] {
            let raw = format!("country={wrong}");
            assert_eq!(
                query(&raw).code("country", 2, "").unwrap_err().code,
                ErrorCode::ParameterInvalid,
                "{wrong}"
            );
        }
    }
}
