//! Errors of a paid call without a challenge: paying again would not fix them.

use purser_actors::engine::{ClaimError, LineUnavailable};
use purser_actors::entity::account;
use purser_actors::entity::payment::Resolution;
use purser_actors::id::PaymentId;
use purser_actors::product::{Precondition, ProductLine};

use crate::edge::error::{ApiError, ErrorCode};
use crate::payment::PaymentHeaderError;
use crate::payment::identifier::{self, IdentifierError};

/// 400: it is unclear which payment is meant.
pub(super) fn multiple_payments(error: &PaymentHeaderError) -> ApiError {
    ApiError::new(ErrorCode::MultiplePayments, error.to_string()).hint("Send exactly one payment.")
}

/// 400: a client that names a purchase relies on a single charge, and this name cannot ensure that.
pub(super) fn identifier_invalid(error: &IdentifierError) -> ApiError {
    ApiError::parameter(ErrorCode::PaymentIdentifierInvalid, identifier::NAME, error.to_string())
        .hint("16 to 128 letters, digits, hyphens and underscores in `info.id`, or no identifier. Nothing was charged.")
}

/// 503: the chain does not respond.
pub(super) fn unreached() -> ApiError {
    let what = "The network could not be reached. Nothing was charged.";
    ApiError::unavailable(ErrorCode::SettlementUnavailable, what, 5)
}

/// 503: nothing is sold in that currency now.
pub(crate) fn rate_unavailable() -> ApiError {
    let what = "There is no exchange rate for that currency now, or only one that is too old.";
    ApiError::unavailable(ErrorCode::ExchangeRateUnavailable, what, 60)
}

/// 503: the line was closed by an operator, or its provider is down.
pub(crate) fn product_unavailable(not_sold: LineUnavailable) -> ApiError {
    let what = "This product is not sold now: its provider does not answer, or an operator has closed it.";
    ApiError::unavailable(ErrorCode::ProductUnavailable, what, not_sold.retry_after_s)
        .hint("Nothing was charged. GET /get-pricing shows with `available` whether it is sold.")
}

/// A purchase that was not claimed. Where time can be moved, the error for a reached cap explains how.
pub(super) fn claim_error(error: ClaimError, line: ProductLine, time_moves: bool) -> ApiError {
    let cap = |most: String| {
        let what = line.sells();
        ApiError::new(
            ErrorCode::CapExceeded,
            format!("An account buys {what} at most {most} a day."),
        )
        .hint(match time_moves {
            true => {
                "The cap counts from midnight UTC; `purser admin sandbox advance-clock 1d` moves this sandbox there. \
                     Nothing was charged."
            }
            false => "The cap counts from midnight UTC. Nothing was charged.",
        })
    };
    match error {
        ClaimError::Frozen { message } => ApiError::frozen(message),
        ClaimError::AgentsStopped => ApiError::agents_stopped(),
        ClaimError::UserIdCollision => user_id_collision(),
        ClaimError::PreconditionFailed(requirement) => precondition_failed(requirement),
        ClaimError::DailyCountCap { cap: n } => cap(format!("{n} times")),
        ClaimError::DailyAmountCap { cap: usd } => cap(format!("for {usd} USD")),
        ClaimError::AlreadyUsed => ApiError::new(
            ErrorCode::PaymentAlreadyUsed,
            "This payment was made for another request.",
        )
        .hint("Sign a new payment for this request."),
        ClaimError::ChallengeUsed => ApiError::new(
            ErrorCode::ChallengeAlreadyUsed,
            "Another payment has answered this challenge.",
        )
        .hint("Call the route again without a payment for a fresh challenge."),
        ClaimError::IdentifierMismatch => ApiError::new(
            ErrorCode::PaymentIdentifierReused,
            "This payment identifier was used for another request.",
        )
        .param(identifier::NAME)
        .hint("Use a new identifier for a new purchase. Nothing was charged."),
        ClaimError::LineUnavailable(not_sold) => product_unavailable(not_sold),
        ClaimError::InsufficientTreasury(network) => ApiError::unavailable(
            ErrorCode::InsufficientLiquidity,
            format!("There is too little USDC on {} to forward this now.", network.name()),
            60,
        )
        .hint("Pay on the other network, or ask again later. Nothing was charged."),
        ClaimError::Overloaded(full) => ApiError::unavailable(
            ErrorCode::Overloaded,
            "Too many paid calls are in flight. Nothing was charged.",
            full.retry_after_s,
        ),
        // A call with an identifier joins that payment, and a decline is answered with 402: neither reaches this point.
        ClaimError::Unavailable | ClaimError::IdentifierClaimed(_) | ClaimError::Declined(_) => ApiError::unavailable(
            ErrorCode::ServiceUnavailable,
            "The service cannot say now what the payment comes to.",
            2,
        )
        .hint("Send the same request with the same payment again: it is charged at most once."),
        ClaimError::OutcomeUnknown(_) => ApiError::internal(),
    }
}

/// What the payer must do first, and how. Nothing was charged.
fn precondition_failed(requirement: Precondition) -> ApiError {
    let failed = |code, what: &'static str, hint: &'static str| {
        ApiError::new(code, what).hint(format!("{hint} Nothing was charged."))
    };
    match requirement {
        Precondition::IdentityVerified => failed(
            ErrorCode::IdentityVerificationRequired,
            "This product needs the account owner's verified identity.",
            "GET /get-kyc-link gives a link for the owner.",
        ),
        Precondition::IssuerLinked => failed(
            ErrorCode::IssuerNotLinked,
            "This product needs an account at the card issuer, linked by the account owner.",
            "GET /get-auth-link gives a link for the owner, who links the account on the page behind it.",
        ),
        Precondition::OwnsDestination(_) => ApiError::new(
            ErrorCode::DestinationNotFound,
            "The account has no such bank destination.",
        )
        .hint("GET /bank-recipients lists them. Nothing was charged."),
        Precondition::OwnsRecipient(_) => ApiError::new(
            ErrorCode::RecipientNotFound,
            "The account has no such recipient on this platform.",
        )
        .hint("GET /payment-recipients lists them. Nothing was charged."),
        Precondition::MatchesSaved(_) => ApiError::new(
            ErrorCode::RecipientDiffers,
            "The saved recipient has another name or e-mail address.",
        )
        .hint(
            "Leave names and e-mail address out, or pay by what the app knows the recipient by. Nothing was charged.",
        ),
        Precondition::InStock => ApiError::new(
            ErrorCode::OutOfStock,
            "The gift card is not in stock now, or not for this amount.",
        )
        .hint("GET /search-gift-cards lists what is. Nothing was charged."),
    }
}

/// 409: two Solana addresses that are equal in lower case never share a `user_id`.
pub(crate) fn user_id_collision() -> ApiError {
    let error = "Another wallet already has this address in lower case as its user_id.";
    ApiError::new(ErrorCode::WalletIdCollision, error).hint("Use another wallet.")
}

/// An account's rejection outside a purchase.
pub(crate) fn account_error(rejection: account::Rejection) -> ApiError {
    match rejection {
        account::Rejection::Frozen { message } => ApiError::frozen(message),
        account::Rejection::AgentsStopped => ApiError::agents_stopped(),
        _ => ApiError::new(ErrorCode::AccountNotFound, "There is no such account."),
    }
}

/// 409: paid, and an operator resolved its transfer without it. The payer must not learn what happened to
/// another account's money.
pub(super) fn resolved(payment: PaymentId, resolution: Resolution) -> ApiError {
    let went = match resolution {
        Resolution::Returned => "It was sent back to the wallet that it came from.",
        Resolution::Forwarded => "It was sent on for you before this service was restored from a backup.",
        Resolution::Other => "An operator has decided where it belongs.",
    };
    let error = format!("The transfer of {payment} arrived and bought nothing here, and nothing was credited. {went}");
    ApiError::new(ErrorCode::PaymentResolved, error)
        .reason(resolution.name())
        .hint("`GET /get-payment` shows it. Sign a new payment for a new purchase; write to support if the money is missing.")
}
