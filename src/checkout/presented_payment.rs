//! The payment that a call presents, and the challenge when it is invalid.

use std::borrow::Cow;

use http::HeaderMap;
use purser_actors::answer::{ExactDecimal, Time, rfc3339};
use purser_actors::currency::Currency;
use purser_actors::kernel::to_json;
use purser_actors::port::Authorization;
use purser_actors::quote::ExchangeRate;
use rust_decimal::Decimal;
use serde::Serialize;

use super::PaidCall;
use crate::edge::error::ErrorCode;
use crate::payment::mpp::problem::MppProblem;
use crate::payment::mpp::{CredentialError, VerifiedCredential};
use crate::payment::{PaymentHeaderError, VerificationError, mpp_credential, payment_header};
use crate::prices::Quote;

/// The only payment of a request, still encoded.
pub(super) enum PaymentHeader<'a> {
    X402(&'a [u8]),
    Mpp(&'a [u8]),
}

/// Finds the payment in the headers.
///
/// # Errors
/// [`PaymentHeaderError::Ambiguous`] when there are several.
pub(super) fn find_payment_header(headers: &HeaderMap) -> Result<Option<PaymentHeader<'_>>, PaymentHeaderError> {
    match payment_header(headers)? {
        Some(header) => Ok(Some(PaymentHeader::X402(header))),
        None => Ok(mpp_credential(headers)?.map(PaymentHeader::Mpp)),
    }
}

/// A payment that may be claimed, or joins a claim.
pub(super) struct PresentedPayment {
    pub(super) authorization: Authorization,
    /// `None` for an x402 payment.
    pub(super) answered_challenge: Option<AnsweredChallenge>,
    /// The payer's name for the purchase; only for an x402 payment.
    pub(super) identifier: Option<String>,
    /// Whether this is the payment claimed under the identifier instead of the one that was sent.
    pub(super) is_identifier_replay: bool,
}

/// The challenge that a payment answers.
pub(super) struct AnsweredChallenge {
    pub(super) challenge: String,
    /// No other payment may answer the challenge.
    pub(super) single_use_key: ([u8; 16], u64),
}

impl PresentedPayment {
    pub(super) const fn x402(authorization: Authorization, identifier: Option<String>) -> Self {
        Self {
            authorization,
            answered_challenge: None,
            identifier,
            is_identifier_replay: false,
        }
    }

    pub(super) fn mpp(answered: VerifiedCredential) -> Self {
        Self {
            authorization: answered.authorization,
            answered_challenge: Some(AnsweredChallenge {
                challenge: answered.challenge,
                single_use_key: answered.single_use_key,
            }),
            identifier: None,
            is_identifier_replay: false,
        }
    }
}

/// The challenge's description: the product, and the exchange rate used.
pub(super) fn challenge_description(call: &PaidCall<'_>, quote: &Quote) -> String {
    let Some(exchange) = &quote.exchange else {
        return call.description.clone();
    };
    let (_, currency) = call.purchase.amount();
    let (rate, source, as_of) = (&exchange.usd_per_unit, &exchange.source, rfc3339(exchange.as_of));
    format!(
        "{}, at {rate} USD for 1 {currency} ({source}, {as_of})",
        call.description
    )
}

/// The exchange rate as a further member of the challenge's body.
pub(super) fn exchange_rate_member(exchange: &ExchangeRate, currency: Currency) -> String {
    let rate = Decimal::from_str_exact(&exchange.usd_per_unit).unwrap_or_default();
    let named = QuotedExchangeRate {
        currency,
        usd_per_unit: rate.into(),
        source: exchange.source.clone(),
        as_of: exchange.as_of.into(),
    };
    format!(",\"exchangeRate\":{}", to_json(&named))
}

/// The exchange rate of a quote.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct QuotedExchangeRate {
    /// Currency of the amount (ISO 4217).
    currency: Currency,
    /// US dollars per unit.
    usd_per_unit: ExactDecimal,
    /// Source of the rate.
    source: String,
    /// Time since when the rate is valid.
    as_of: Time,
}

pub(super) struct ChallengeReason {
    pub(super) code: ErrorCode,
    pub(super) error: &'static str,
    pub(super) problem: MppProblem,
    pub(super) detail: Cow<'static, str>,
    /// The client uses MPP and so expects problem documents.
    pub(super) to_mpp: bool,
}

impl ChallengeReason {
    pub(super) const fn required() -> Self {
        Self {
            code: ErrorCode::PaymentRequired,
            error: MppProblem::PaymentRequired.reason(),
            problem: MppProblem::PaymentRequired,
            detail: Cow::Borrowed("This costs money. Pay one of the offers."),
            to_mpp: false,
        }
    }

    pub(super) fn x402(refusal: VerificationError) -> Self {
        Self {
            to_mpp: false,
            ..Self::mpp(refusal.into())
        }
    }

    pub(super) fn mpp(rejection: CredentialError) -> Self {
        Self {
            code: ErrorCode::PaymentInvalid,
            error: rejection.reason,
            problem: rejection.problem,
            detail: rejection.detail,
            to_mpp: true,
        }
    }
}
