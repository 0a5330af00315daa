//! Errors of passkeys, each by its name.

use purser_actors::credential::MAX_PASSKEYS;
use purser_actors::engine::OperationError;
use purser_actors::entity::passkey::Rejection;

use crate::http::error::{ApiError, ErrorCode};
use crate::identity::passkey::PasskeyError;

/// The error of an answer that does not verify.
pub(in crate::http) fn passkey_error(error: PasskeyError) -> ApiError {
    let code = match error {
        PasskeyError::Unavailable => ErrorCode::PasskeysUnavailable,
        PasskeyError::Malformed(_) => ErrorCode::PasskeyMalformed,
        PasskeyError::OtherCeremony | PasskeyError::OtherChallenge => ErrorCode::PasskeyChallengeInvalid,
        PasskeyError::OtherOrigin | PasskeyError::OtherRelyingParty => ErrorCode::PasskeyOriginMismatch,
        PasskeyError::UserNotVerified => ErrorCode::PasskeyUserNotVerified,
        PasskeyError::AlgorithmNotSupported => ErrorCode::PasskeyAlgorithmUnsupported,
        PasskeyError::SignatureMismatch => ErrorCode::PasskeySignatureInvalid,
    };
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let text: String = first.into_iter().chain(letters).chain(['.']).collect();
    ApiError::new(code, text)
}

pub(in crate::http) fn not_found() -> ApiError {
    ApiError::new(ErrorCode::PasskeyNotFound, "The account has no such passkey.")
}

/// The challenge was answered before.
pub(in crate::http) fn answered_before() -> ApiError {
    let error = "The challenge was answered before; each serves once.";
    ApiError::new(ErrorCode::PasskeyChallengeInvalid, error)
}

pub(in crate::http) fn unknown() -> ApiError {
    ApiError::new(ErrorCode::PasskeyUnknown, "This passkey is not one of the account.")
        .hint("Remove it from this device, or sign in another way.")
}

pub(in crate::http) fn counter_regressed() -> ApiError {
    let error = "The passkey's signature counter did not grow: there may be a copy of it.";
    ApiError::new(ErrorCode::PasskeyCounterRegressed, error).hint("Remove this passkey, and add a new one.")
}

/// The error of a command to a passkey.
pub(in crate::http) fn operation_error(error: OperationError<Rejection>) -> ApiError {
    match error {
        OperationError::Rejected(rejection) => match rejection {
            Rejection::NotFound => not_found(),
            Rejection::AlreadyAdded => ApiError::new(ErrorCode::PasskeyAlreadyAdded, "This passkey was added before."),
            Rejection::Removed => ApiError::new(ErrorCode::PasskeyRemoved, "This passkey was removed.")
                .hint("Sign in with another passkey or with a login link."),
            Rejection::CounterRegressed => counter_regressed(),
            Rejection::Suspended => suspended(),
            Rejection::LimitReached => {
                let error = format!("The account has {MAX_PASSKEYS} passkeys, which is the maximum.");
                ApiError::new(ErrorCode::PasskeyLimitReached, error).hint("Remove one first.")
            }
        },
        OperationError::AlreadyUsed => answered_before(),
        OperationError::Specific(never) => match never {},
        OperationError::Unavailable => ApiError::unavailable(
            ErrorCode::ServiceUnavailable,
            "That could not be done now. Try again.",
            1,
        ),
    }
}

pub(in crate::http) fn suspended() -> ApiError {
    let error = "The service was restored from a backup without its revocation log, so earlier passkeys are suspended.";
    ApiError::new(ErrorCode::PasskeySuspended, error).hint("An operator confirms them.")
}
