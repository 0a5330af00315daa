//! Finds the payment in a request's headers.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

use super::error::PaymentHeaderError;

/// Header of x402 v2.
pub const PAYMENT_SIGNATURE: &str = "payment-signature";
/// Header of x402 v1, and the contract's.
pub const X_PAYMENT: &str = "x-payment";
/// Response header with the challenge.
pub const PAYMENT_REQUIRED: &str = "payment-required";
/// Response header with the payment's result, x402 v2.
pub const PAYMENT_RESPONSE: &str = "payment-response";
/// Response header with the payment's result, x402 v1.
pub const X_PAYMENT_RESPONSE: &str = "x-payment-response";
/// Response header with the payment's result, MPP.
pub const PAYMENT_RECEIPT: &str = "payment-receipt";

/// The only x402 payment of a request, still encoded. The header's name does not determine the payment's version.
///
/// # Errors
/// [`PaymentHeaderError::Ambiguous`] when two of the payment headers differ, or when there is also an MPP credential.
pub fn payment_header(headers: &HeaderMap) -> Result<Option<&[u8]>, PaymentHeaderError> {
    let mut found: Option<&[u8]> = None;
    for value in headers
        .get_all(PAYMENT_SIGNATURE)
        .iter()
        .chain(headers.get_all(X_PAYMENT))
    {
        let value = value.as_bytes().trim_ascii();
        match found {
            Some(first) if first != value => {
                return Err(PaymentHeaderError::Ambiguous("PAYMENT-SIGNATURE and X-PAYMENT differ"));
            }
            _ => found = Some(value),
        }
    }
    if found.is_some() && mpp_credential(headers)?.is_some() {
        return Err(PaymentHeaderError::Ambiguous("x402 and MPP credentials in one request"));
    }
    Ok(found)
}

/// The only MPP credential of a request: the text after the scheme `Payment` in `Authorization`. Other schemes may be
/// in separate fields.
///
/// # Errors
/// [`PaymentHeaderError::Ambiguous`] when two of them differ.
pub fn mpp_credential(headers: &HeaderMap) -> Result<Option<&[u8]>, PaymentHeaderError> {
    let mut found: Option<&[u8]> = None;
    for value in headers.get_all(AUTHORIZATION) {
        let Some(credential) = after_scheme(value.as_bytes()) else {
            continue;
        };
        match found {
            Some(first) if first != credential => return Err(PaymentHeaderError::Ambiguous("two MPP credentials")),
            _ => found = Some(credential),
        }
    }
    Ok(found)
}

/// Whether an `Authorization` field contains an MPP credential.
pub fn is_mpp(value: &HeaderValue) -> bool {
    after_scheme(value.as_bytes()).is_some()
}

fn after_scheme(value: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"payment ";
    let (scheme, credential) = value.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| credential.trim_ascii())
}
