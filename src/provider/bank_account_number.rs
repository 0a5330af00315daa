//! Checksums of bank account numbers: ABA routing numbers and IBANs.

use purser_host::secret::Secret;

/// Why a number is invalid. Contains nothing of the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountNumberError {
    #[error("not a number of this kind")]
    Malformed,
    #[error("the number's checksum is wrong")]
    Checksum,
}

/// An ABA routing number: nine digits. The sum of 3, 7 and 1 times the digits in turn is a multiple of ten.
///
/// # Errors
/// [`AccountNumberError`].
pub fn routing_number(text: &str) -> Result<(), AccountNumberError> {
    let digits = text.as_bytes();
    if digits.len() != 9 || !digits.iter().all(u8::is_ascii_digit) || text == "000000000" {
        return Err(AccountNumberError::Malformed);
    }
    let weighed = digits.iter().zip([3, 7, 1].into_iter().cycle());
    let sum: u32 = weighed.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    if sum.is_multiple_of(10) {
        Ok(())
    } else {
        Err(AccountNumberError::Checksum)
    }
}

/// A U.S. account number: 4 to 17 digits. There is no checksum.
///
/// # Errors
/// [`AccountNumberError::Malformed`].
pub fn us_account(number: &Secret<String>) -> Result<(), AccountNumberError> {
    let digits = number.expose_secret();
    if (4..=17).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) {
        Ok(())
    } else {
        Err(AccountNumberError::Malformed)
    }
}

/// An IBAN without spaces (ISO 13616): country, two check digits, up to 30 more characters. As a number, with letters
/// as 10 to 35 and the first four characters moved to the end, it is 1 modulo 97.
///
/// # Errors
/// [`AccountNumberError`].
pub fn iban(number: &Secret<String>) -> Result<(), AccountNumberError> {
    let text = number.expose_secret().as_bytes();
    let form = (15..=34).contains(&text.len())
        && text[..2].iter().all(u8::is_ascii_uppercase)
        && text[2..4].iter().all(u8::is_ascii_digit)
        && text[4..].iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    if !form {
        return Err(AccountNumberError::Malformed);
    }
    let rest = text[4..].iter().chain(&text[..4]).fold(0, |rest, character| {
        let value = char::from(*character).to_digit(36).unwrap_or(0);
        let scale = if value < 10 { 10 } else { 100 };
        (rest * scale + value) % 97
    });
    if rest == 1 {
        Ok(())
    } else {
        Err(AccountNumberError::Checksum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validate_checksum(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    // Checks: known numbers of real banks are valid, and every change of one digit or swap of two neighbours is
    // detected.
    #[test]
    fn routing_numbers_have_a_checksum() {
        for right in ["011000015", "021000021", "121000248", "322271627"] {
            assert_eq!(routing_number(right), Ok(()), "{right}");
        }
        let right = "121000248";
        for at in 0..9 {
            for digit in b'0'..=b'9' {
                let mut changed = right.as_bytes().to_vec();
                changed[at] = digit;
                let changed = String::from_utf8(changed).unwrap_or_default();
                let expected = if changed == right {
                    Ok(())
                } else {
                    Err(AccountNumberError::Checksum)
                };
                assert_eq!(routing_number(&changed), expected, "{changed}");
            }
        }
        for wrong in [
            "",
            "12100024",
            "1210002480",
            "12100024a",
            "١21000248",
            "000000000",
            "121-00248",
        ] {
            assert_eq!(routing_number(wrong), Err(AccountNumberError::Malformed), "{wrong}");
        }
    }

    // Checks: the examples of the IBAN registry are valid; a changed digit, swapped digits and other forms are not.
    #[test]
    fn ibans_leave_one_modulo_97() {
        for right in [
            "DE89370400440532013000",
            "GB29NWBK60161331926819",
            "FR1420041010050500013M02606",
            "MT84MALT011000012345MTLCAST001S",
            "NO9386011117947",
        ] {
            assert_eq!(iban(&validate_checksum(right)), Ok(()), "{right}");
        }
        for wrong in [
            "DE89370400440532013001",
            "DE98370400440532013000",
            "DE89370400440532010300",
        ] {
            assert_eq!(
                iban(&validate_checksum(wrong)),
                Err(AccountNumberError::Checksum),
                "{wrong}"
            );
        }
        for wrong in [
            "",
            "DE89",
            "de89370400440532013000",
            "DE89 3704 0044 0532 0130 00",
            "1234567890123456",
        ] {
            assert_eq!(
                iban(&validate_checksum(wrong)),
                Err(AccountNumberError::Malformed),
                "{wrong}"
            );
        }
    }

    // Checks: account numbers have 4 to 17 digits; one less or one more is invalid.
    #[test]
    fn account_numbers_have_4_to_17_digits() {
        for (digits, expected) in [
            (3, Err(AccountNumberError::Malformed)),
            (4, Ok(())),
            (17, Ok(())),
            (18, Err(AccountNumberError::Malformed)),
        ] {
            assert_eq!(
                us_account(&validate_checksum(&"1".repeat(digits))),
                expected,
                "{digits}"
            );
        }
        assert_eq!(
            us_account(&validate_checksum("12a4")),
            Err(AccountNumberError::Malformed)
        );
    }
}
