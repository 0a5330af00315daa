//! Parses members of `data`: names, addresses, dates and amounts.

use purser_actors::money::{AmountError, Cents};
use purser_actors::port::Timestamp;
use serde_json::value::RawValue;

use super::super::error::{ApiError, ErrorCode};
use super::super::payouts::is_email;
use super::super::readable::is_readable;
use crate::rfc3339;
use crate::secret::Secret;

/// A single-line text, trimmed.
///
/// # Errors
/// 400 `parameter_invalid` if it is empty, has more than `most` characters or contains control characters.
pub(super) fn line(name: &'static str, text: &str, most: usize) -> Result<String, ApiError> {
    let text = text.trim();
    if !is_readable(text, most) {
        let error = format!("`{name}` must be readable text of 1 to {most} characters.");
        return Err(ApiError::parameter(ErrorCode::ParameterInvalid, name, error));
    }
    Ok(text.to_owned())
}

/// An e-mail address, checked by its form only.
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn email(name: &'static str, text: &str) -> Result<String, ApiError> {
    let text = line(name, text, 254)?;
    if is_email(&text) {
        return Ok(text);
    }
    let error = format!("`{name}` is not an e-mail address.");
    Err(ApiError::parameter(ErrorCode::ParameterInvalid, name, error))
}

/// A date at least `years` years ago.
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn date(name: &'static str, text: &str, years: u16, now: Timestamp) -> Result<String, ApiError> {
    let today = rfc3339::format(now);
    // The same date `years` later. Dates in this form sort as text.
    let later = |text: &str| {
        Some(format!(
            "{:04}{}",
            text.get(..4)?.parse::<u16>().ok()? + years,
            text.get(4..)?
        ))
    };
    if rfc3339::is_date(text) && later(text).is_some_and(|later| *later <= today[..10]) {
        return Ok(text.to_owned());
    }
    let error = match years {
        0 => format!("`{name}` must be a day in the past, as YYYY-MM-DD."),
        _ => format!("`{name}` must be a day at least {years} years ago, as YYYY-MM-DD."),
    };
    Err(ApiError::parameter(ErrorCode::ParameterInvalid, name, error))
}

/// A telephone number in E.164.
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn phone(text: &str) -> Result<String, ApiError> {
    let digits = text.strip_prefix('+').unwrap_or_default();
    if (8..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    let error = "`phone` must be a + and 8 to 15 digits.";
    Err(ApiError::parameter(ErrorCode::ParameterInvalid, "phone", error))
}

/// A tax number without dashes and spaces: its last four characters and the whole number.
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn tax_number(text: &str) -> Result<(String, Secret<String>), ApiError> {
    let plain: String = text.chars().filter(|c| !matches!(c, '-' | ' ')).collect();
    let plain = Secret::new(plain);
    let number = plain.expose_secret();
    if (4..=20).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_alphanumeric()) {
        let last4 = number.get(number.len() - 4..).unwrap_or_default().to_owned();
        return Ok((last4, plain));
    }
    let error = "`taxId` must have 4 to 20 letters and digits.";
    Err(ApiError::parameter(ErrorCode::ParameterInvalid, "taxId", error))
}

/// US dollars, more than 0, at most two decimal places: a JSON number by its digits, or the same as text.
///
/// # Errors
/// 400 `amount_invalid` or `amount_out_of_range`.
pub(super) fn amount(json: &RawValue) -> Result<Cents, ApiError> {
    let json = json.get();
    let text = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match Cents::parse(text.unwrap_or(json)) {
        Ok(Cents::ZERO) | Err(AmountError::OutOfRange) => {
            let error = "`amount` must be at least 0.01, and no more than fits.";
            Err(ApiError::parameter(ErrorCode::AmountOutOfRange, "amount", error))
        }
        Ok(amount) => Ok(amount),
        Err(AmountError::Malformed) => {
            let error = "`amount` is not a plain decimal number of at most 2 places.";
            Err(ApiError::parameter(ErrorCode::AmountInvalid, "amount", error))
        }
    }
}

/// The page size.
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn limit(given: Option<u64>) -> Result<usize, ApiError> {
    match given.unwrap_or(20) {
        limit @ 1..=100 => Ok(usize::try_from(limit).unwrap_or(100)),
        _ => {
            let error = "`limit` must be a whole number from 1 to 100.";
            Err(ApiError::parameter(ErrorCode::ParameterInvalid, "limit", error))
        }
    }
}
