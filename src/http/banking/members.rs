//! Members of `data`: names and addresses that people wrote.

use super::super::error::ApiError;
use crate::http::payouts::is_email;

/// A text of one line, without spaces around it.
///
/// # Errors
/// 400 `parameter_invalid` for nothing, for more than so many characters, and for controls.
pub(super) fn line(name: &'static str, text: &str, most: usize) -> Result<String, ApiError> {
    let text = text.trim();
    if text.is_empty() || text.chars().nth(most).is_some() || text.chars().any(char::is_control) {
        let error = format!("`{name}` must be readable text of 1 to {most} characters.");
        return Err(ApiError::parameter("parameter_invalid", name, error));
    }
    Ok(text.to_owned())
}

/// An e-mail address by its form.
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn email(name: &'static str, text: &str) -> Result<String, ApiError> {
    let text = line(name, text, 254)?;
    if is_email(&text) {
        return Ok(text);
    }
    let error = format!("`{name}` is not an e-mail address.");
    Err(ApiError::parameter("parameter_invalid", name, error))
}
