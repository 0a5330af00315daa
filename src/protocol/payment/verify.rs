//! Verifies a payment against the offered terms.

use purser_actors::port::{Authorization, Timestamp};

use super::decode::{DecodedPayment, Payload, SelectedTerms};
use super::error::{InvalidReason, VerificationError};
use super::evm::{self, EvmRequirements, SignatureRecovery};
use super::matching::{AdvertisedExtension, extensions_echo, matches};
use super::proof::OfflineVerification;
use super::solana::{self, SolanaRequirements};
use super::terms::{Payee, Terms};

/// A payment that may be claimed and settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedPayment {
    pub authorization: Authorization,
    /// Index of the offered terms that it meets.
    pub offer: usize,
}

/// As [`verify_against`], for a payment that must be signed by the payer's key.
///
/// # Errors
/// As [`verify_against`], and [`InvalidReason::EvmSignature`].
pub fn verify(
    payment: &DecodedPayment,
    offers: &[Terms],
    advertised: &[AdvertisedExtension<'_>],
    now: Timestamp,
    recovery: SignatureRecovery,
) -> Result<VerifiedPayment, VerificationError> {
    verify_against(payment, offers, advertised, now, recovery)?.proven()
}

/// Verifies a payment against every offer for this request: on each network the current price, and every earlier price
/// that is still honoured. Settles and stores nothing.
///
/// # Errors
/// The reason of the offer that the payment came closest to.
pub fn verify_against(
    payment: &DecodedPayment,
    offers: &[Terms],
    advertised: &[AdvertisedExtension<'_>],
    now: Timestamp,
    recovery: SignatureRecovery,
) -> Result<OfflineVerification<VerifiedPayment>, VerificationError> {
    extensions_echo(payment.extensions.as_ref(), advertised)?;
    let mut closest: Option<(MatchProgress, VerificationError)> = None;
    for (offer, terms) in offers.iter().enumerate() {
        let (progress, refusal) = match select_terms(&payment.chosen, terms) {
            Ok(()) => match verify_payload(&payment.payload, terms, now, recovery) {
                // Another offer at the same price on the same network would give the same result.
                Ok(judged) => return Ok(judged.map(|authorization| VerifiedPayment { authorization, offer })),
                Err(refusal) => (MatchProgress::Selected, refusal),
            },
            Err(refusal) if refusal.reason == InvalidReason::Network => (MatchProgress::Nothing, refusal),
            Err(refusal) => (MatchProgress::Network, refusal),
        };
        if closest.as_ref().is_none_or(|(best, _)| progress > *best) {
            closest = Some((progress, refusal));
        }
    }
    Err(closest.map_or_else(
        || VerificationError::new(InvalidReason::Network, "this network is not offered"),
        |(_, refusal)| refusal,
    ))
}

/// Verifies a payment at its own price and within its own lifetime, but not against a current quote. Only for joining
/// an existing claim, whose price and time were verified when it was made. `None` if its payer's key did not sign it.
pub fn verify_for_replay(
    payment: &DecodedPayment,
    payees: &[Payee],
    recovery: SignatureRecovery,
) -> Option<Authorization> {
    verify_offline_for_replay(payment, payees, recovery)?.proven().ok()
}

/// As [`verify_for_replay`], for a payment whose signature only the chain may be able to verify.
pub fn verify_offline_for_replay(
    payment: &DecodedPayment,
    payees: &[Payee],
    recovery: SignatureRecovery,
) -> Option<OfflineVerification<Authorization>> {
    let (amount, now) = match &payment.payload {
        Payload::Evm(payload) => evm::signed_amount_and_window(payload)?,
        Payload::Solana(wire) => (solana::signed_amount(wire)?, Timestamp(0)),
        Payload::Unsupported(_) => return None,
    };
    let max_timeout_seconds = match &payment.chosen {
        SelectedTerms::V2(accepted) => u32::try_from(accepted.max_timeout_seconds).ok()?,
        SelectedTerms::V1(_) => 0,
    };
    let terms: Vec<Terms> = payees
        .iter()
        .map(|payee| Terms::new(amount, max_timeout_seconds, payee.clone()))
        .collect();
    let judged = verify_against(payment, &terms, &[], now, recovery).ok()?;
    Some(judged.map(|verified| verified.authorization))
}

/// How far a payment got with an offer; the reason of the furthest one is the useful one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MatchProgress {
    Nothing,
    Network,
    Selected,
}

fn select_terms(chosen: &SelectedTerms, terms: &Terms) -> Result<(), VerificationError> {
    match chosen {
        SelectedTerms::V2(accepted) => matches(accepted, terms),
        SelectedTerms::V1(network) if *network == terms.network() => Ok(()),
        SelectedTerms::V1(_) => Err(VerificationError::new(
            InvalidReason::Network,
            "this network is not offered",
        )),
    }
}

fn verify_payload(
    payload: &Payload,
    terms: &Terms,
    now: Timestamp,
    recovery: SignatureRecovery,
) -> Result<OfflineVerification<Authorization>, VerificationError> {
    match (payload, &terms.payee) {
        (Payload::Evm(payload), Payee::Base(payee)) => {
            let demand = EvmRequirements {
                payee,
                domain: &payee.domain_separator,
                amount: terms.amount,
                max_timeout_seconds: terms.max_timeout_seconds,
                now: now.seconds(),
            };
            evm::verify_offline(payload, &demand, recovery)
        }
        (Payload::Solana(wire), Payee::Solana(payee)) => solana::verify(
            wire,
            &SolanaRequirements {
                payee,
                amount: terms.amount,
            },
        )
        .map(OfflineVerification::Proven),
        (Payload::Unsupported(kind), _) => Err(VerificationError::new(
            InvalidReason::PayloadType,
            format!("{kind} payments are not taken"),
        )),
        _ => Err(VerificationError::new(
            InvalidReason::PayloadType,
            "the payload is not one of the chosen network",
        )),
    }
}
