//! Finding the payment among a request's headers.

use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::refusal::PaymentError;

/// Header of x402 v2.
pub const PAYMENT_SIGNATURE: &str = "payment-signature";
/// Header of x402 v1, and the contract's.
pub const X_PAYMENT: &str = "x-payment";
/// Carries the challenge.
pub const PAYMENT_REQUIRED: &str = "payment-required";
/// Carries what became of the payment, x402 v2.
pub const PAYMENT_RESPONSE: &str = "payment-response";
/// Carries what became of the payment, x402 v1.
pub const X_PAYMENT_RESPONSE: &str = "x-payment-response";

/// The one x402 payment of a request, still encoded. Which header it came in says nothing about its version.
///
/// # Errors
/// [`PaymentError::Ambiguous`] when two of the payment headers differ, or when an MPP credential comes beside x402.
pub fn payment_header(headers: &HeaderMap) -> Result<Option<&[u8]>, PaymentError> {
    let mut found: Option<&[u8]> = None;
    for value in headers
        .get_all(PAYMENT_SIGNATURE)
        .iter()
        .chain(headers.get_all(X_PAYMENT))
    {
        let value = value.as_bytes().trim_ascii();
        match found {
            Some(first) if first != value => {
                return Err(PaymentError::Ambiguous("PAYMENT-SIGNATURE and X-PAYMENT differ"));
            }
            _ => found = Some(value),
        }
    }
    if found.is_some() && has_mpp_credential(headers) {
        return Err(PaymentError::Ambiguous("x402 and MPP credentials in one request"));
    }
    Ok(found)
}

/// Whether `Authorization` carries the `Payment` scheme (MPP).
pub fn has_mpp_credential(headers: &HeaderMap) -> bool {
    const SCHEME: &[u8] = b"payment ";
    headers.get_all(AUTHORIZATION).iter().any(|value| {
        let value = value.as_bytes();
        value.len() >= SCHEME.len() && value[..SCHEME.len()].eq_ignore_ascii_case(SCHEME)
    })
}
