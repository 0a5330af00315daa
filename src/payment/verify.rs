//! The verdict on a payment.

use purser_actors::port::{Authorization, Timestamp};

use super::decode::{Chosen, Payload, Payment};
use super::evm::{self, EvmDemand, Recovery};
use super::matching::{Advertised, extensions_echo, matches};
use super::proof::Judged;
use super::refusal::{Reason, Refusal};
use super::solana::{self, SolanaDemand};
use super::terms::{Payee, Terms};

/// A payment that may be claimed and settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// What to settle.
    pub authorization: Authorization,
    /// Which of the offered terms it meets.
    pub offer: usize,
}

/// As [`judge`] for a payment that must be signed by the payer's key.
///
/// # Errors
/// As [`judge`], and [`Reason::EvmSignature`].
pub fn verify(
    payment: &Payment,
    offers: &[Terms],
    advertised: &[Advertised<'_>],
    now: Timestamp,
    recovery: Recovery,
) -> Result<Verified, Refusal> {
    judge(payment, offers, advertised, now, recovery)?.proven()
}

/// Judges a payment against everything that is on offer for this request: on each network the price of now, and every
/// earlier price that is still honoured. Settles and stores nothing.
///
/// # Errors
/// The reason of the offer that the payment came closest to.
pub fn judge(
    payment: &Payment,
    offers: &[Terms],
    advertised: &[Advertised<'_>],
    now: Timestamp,
    recovery: Recovery,
) -> Result<Judged<Verified>, Refusal> {
    extensions_echo(payment.extensions.as_ref(), advertised)?;
    let mut closest: Option<(Progress, Refusal)> = None;
    for (offer, terms) in offers.iter().enumerate() {
        let (progress, refusal) = match selected(&payment.chosen, terms) {
            Ok(()) => match judge_payload(&payment.payload, terms, now, recovery) {
                // Another offer at the same price on the same network would say the same.
                Ok(judged) => return Ok(judged.map(|authorization| Verified { authorization, offer })),
                Err(refusal) => (Progress::Selected, refusal),
            },
            Err(refusal) if refusal.reason == Reason::Network => (Progress::Nothing, refusal),
            Err(refusal) => (Progress::Network, refusal),
        };
        if closest.as_ref().is_none_or(|(best, _)| progress > *best) {
            closest = Some((progress, refusal));
        }
    }
    Err(closest.map_or_else(
        || Refusal::new(Reason::Network, "this network is not offered"),
        |(_, refusal)| refusal,
    ))
}

/// Judges a payment at its own price and within its own life: everything but whether it fits a quote of now. Only good
/// for joining a claim that exists already, whose price and time were judged when it was made. `None` if its payer's key has
/// not signed it.
pub fn verify_for_replay(payment: &Payment, payees: &[Payee], recovery: Recovery) -> Option<Authorization> {
    judge_for_replay(payment, payees, recovery)?.proven().ok()
}

/// The same for a payment whose signature only the chain may be able to verify.
pub fn judge_for_replay(payment: &Payment, payees: &[Payee], recovery: Recovery) -> Option<Judged<Authorization>> {
    let (amount, now) = match &payment.payload {
        Payload::Evm(payload) => evm::own_amount_and_moment(payload)?,
        Payload::Solana(wire) => (solana::own_amount(wire)?, Timestamp(0)),
        Payload::Unsupported(_) => return None,
    };
    let max_timeout_seconds = match &payment.chosen {
        Chosen::V2(accepted) => u32::try_from(accepted.max_timeout_seconds).ok()?,
        Chosen::V1(_) => 0,
    };
    let terms: Vec<Terms> = payees
        .iter()
        .map(|payee| Terms::new(amount, max_timeout_seconds, payee.clone()))
        .collect();
    let judged = judge(payment, &terms, &[], now, recovery).ok()?;
    Some(judged.map(|verified| verified.authorization))
}

/// How far a payment got with an offer; the furthest one's reason is the useful one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Nothing,
    Network,
    Selected,
}

fn selected(chosen: &Chosen, terms: &Terms) -> Result<(), Refusal> {
    match chosen {
        Chosen::V2(accepted) => matches(accepted, terms),
        Chosen::V1(network) if *network == terms.network() => Ok(()),
        Chosen::V1(_) => Err(Refusal::new(Reason::Network, "this network is not offered")),
    }
}

fn judge_payload(
    payload: &Payload,
    terms: &Terms,
    now: Timestamp,
    recovery: Recovery,
) -> Result<Judged<Authorization>, Refusal> {
    match (payload, &terms.payee) {
        (Payload::Evm(payload), Payee::Base(payee)) => {
            let demand = EvmDemand {
                payee,
                domain: &payee.domain_separator,
                amount: terms.amount,
                max_timeout_seconds: terms.max_timeout_seconds,
                now: now.seconds(),
            };
            evm::judge(payload, &demand, recovery)
        }
        (Payload::Solana(wire), Payee::Solana(payee)) => solana::verify(
            wire,
            &SolanaDemand {
                payee,
                amount: terms.amount,
            },
        )
        .map(Judged::Proven),
        (Payload::Unsupported(kind), _) => Err(Refusal::new(
            Reason::PayloadType,
            format!("{kind} payments are not taken"),
        )),
        _ => Err(Refusal::new(
            Reason::PayloadType,
            "the payload is not one of the chosen network",
        )),
    }
}
