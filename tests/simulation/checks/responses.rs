//! Compares the responses to callers with the stored state at the end.

use std::collections::BTreeSet;

use purser_actors::engine::ClaimError;
use purser_actors::entity::card;
use purser_actors::entity::incoming::{self, Incoming};
use purser_actors::entity::payment::{Outcome, Payment, Status};
use purser_actors::kernel::EntityKind;
use purser_storage::codec;

use super::restored::credited_deposits;
use super::{StoreContents, Violation, violation};
use crate::clients::{Call, ClientLog, payer, product, request, wallet};
use crate::environment::Environment;
use crate::products::product_key;

/// Whether another presentation of the payment could have changed a call's response.
fn presented_again(calls: &[Call], n: usize) -> bool {
    let call = &calls[n];
    calls.iter().enumerate().any(|(m, other)| {
        m != n
            && other.payment == call.payment
            && other.request == call.request
            && other
                .response
                .as_ref()
                .is_none_or(|(responded, _)| *responded > call.requested_at)
    })
}

/// A response remains true.
pub(super) fn answers(world: &Environment, stock: &StoreContents) -> Result<(), Violation> {
    let taken = credited_deposits(world);
    let waits = |incoming: &Incoming| incoming.status == incoming::Status::Waiting;
    let notes = world.client_log.lock();
    for (n, call) in notes.calls.iter().enumerate() {
        let Some((_, answer)) = &call.response else { continue };
        let id = notes.ids[&call.payment];
        let payment = stock.payments.get(&id);
        let broken = match answer {
            Ok(paid) => payment.map_or(Some("answer.lost"), |payment| {
                let bound = paid.payment == id && payment.claim.is_for(&request(call.request));
                // A payment that settles after all opens its own session instead.
                let ended = matches!(
                    paid.outcome,
                    Outcome::Fulfilled { .. } | Outcome::Credited { .. } | Outcome::Resolved(_)
                );
                let replaced = !ended && presented_again(&notes.calls, n);
                let won = !paid.won || replaced || call.session == payment.claim.session.id;
                let true_still = bound && is_consistent(stock, &notes.calls, n, &paid.outcome, payment);
                (!true_still)
                    .then_some("answer.contradicted")
                    .or((!won).then_some("answer.won"))
            }),
            // Bought otherwise; or, in a history that a restore lost, with the transfer taken in without the payment.
            Err(ClaimError::AlreadyUsed) => {
                let otherwise = match payment {
                    Some(payment) => !payment.claim.is_for(&request(call.request)),
                    None => taken
                        .values()
                        .any(|(_, incoming)| incoming.transfer.payment == id && !waits(incoming)),
                };
                (!otherwise).then_some("answer.used")
            }
            Err(ClaimError::OutcomeUnknown(_)) => None,
            // Refused, each and every one of them: then nothing was claimed.
            Err(_) => {
                let mut others = notes.calls.iter().filter(|c| c.payment == call.payment);
                let refused =
                    |c: &Call| matches!(&c.response, Some((_, Err(e))) if !matches!(e, ClaimError::OutcomeUnknown(_)));
                (payment.is_some() && others.all(refused)).then_some("answer.claimed")
            }
        };
        if let Some(rule) = broken {
            let number = call.payment;
            return violation(
                rule,
                format!("payment {number}, call {n} was answered {answer:?}; it is {payment:?}"),
            );
        }
    }
    let mut winners = BTreeSet::new();
    let fulfilled = |outcome: &Outcome| matches!(outcome, Outcome::Fulfilled { .. });
    let won = |c: &&Call| matches!(&c.response, Some((_, Ok(paid))) if paid.won && fulfilled(&paid.outcome));
    for call in notes.calls.iter().filter(won) {
        if !winners.insert(call.payment) {
            return violation("answer.two_won", format!("payment {}", call.payment));
        }
    }
    frozen(&notes)
}

/// Whether a call's response agrees with the payment's outcome.
fn is_consistent(stock: &StoreContents, calls: &[Call], n: usize, responded: &Outcome, payment: &Payment) -> bool {
    match (responded, &payment.status) {
        (
            Outcome::Fulfilled {
                product,
                transaction,
                session,
            },
            Status::Fulfilled {
                product: p,
                transaction: t,
            },
        ) => {
            let sold = product == p && transaction == t;
            let opened = (!payment.by_managed_wallet()).then_some(payment.claim.session.id);
            let is_open = session.is_none_or(|session| stock.sessions.contains_key(&session));
            sold && (payment.claim.is_adopted() || (*session == opened && is_open))
        }
        (Outcome::Credited { transaction, amount }, Status::Credited { transaction: t }) => {
            transaction == t && *amount == payment.price()
        }
        (Outcome::Resolved(responded), Status::Resolved { resolution, .. }) => responded == resolution,
        (Outcome::Fulfilled { .. } | Outcome::Credited { .. } | Outcome::Resolved(_), _) => false,
        (Outcome::Declined(_), Status::Refused(_) | Status::Credited { .. } | Status::Resolved { .. }) => true,
        (Outcome::Declined(_) | Outcome::Unavailable, _) => payment.is_released() || presented_again(calls, n),
        (Outcome::Pending, _) => !payment.is_released(),
    }
}

/// A frozen account buys nothing: no claim wins between the replies to a freeze and its unfreeze.
fn frozen(notes: &ClientLog) -> Result<(), Violation> {
    for freeze in notes.freezes.iter().filter(|f| f.frozen) {
        let Some(since) = freeze.confirmed_at else { continue };
        let thaws = notes.freezes.iter().filter(|f| f.wallet == freeze.wallet && !f.frozen);
        // A thaw that was asked for and not answered may still have come.
        if thaws
            .clone()
            .any(|f| f.requested_at < since && f.confirmed_at.is_none_or(|responded| responded > freeze.requested_at))
        {
            continue;
        }
        let until = thaws
            .filter(|f| f.requested_at > since)
            .map(|f| f.requested_at)
            .min()
            .unwrap_or(u64::MAX);
        let bought = notes.calls.iter().find(|call| {
            payer(call.payment) == freeze.wallet
                && call.requested_at > since
                && matches!(&call.response, Some((responded, Ok(paid))) if paid.won && *responded < until)
        });
        if let Some(call) = bought {
            return violation(
                "frozen.bought",
                format!("payment {} of wallet {}", call.payment, freeze.wallet),
            );
        }
    }
    Ok(())
}

/// The responses to owners and the operator.
pub(super) fn check_owners(world: &Environment, stock: &StoreContents) -> Result<(), Violation> {
    let notes = world.client_log.lock();
    for card in &notes.closed {
        if !stock
            .cards
            .get(card)
            .is_some_and(|c| matches!(c.status, card::Status::Closed(_)))
        {
            return violation("card.reopened", card.to_string());
        }
    }
    for (card, times) in &notes.revealed {
        let kept = stock.records.iter().filter(|r| {
            r.kind == EntityKind::Card as u8
                && r.id == card.0.to_be_bytes()
                && matches!(codec::decode(&r.event), Ok(card::Event::Revealed(_)))
        });
        if kept.count() < *times {
            return violation("card.revealed", format!("{card} was shown {times} times"));
        }
    }
    if let Some(session) = notes.sessions.iter().find(|s| !stock.sessions.contains_key(s)) {
        return violation("session.lost", session.to_string());
    }
    for (session, generation) in &notes.generations {
        if stock.sessions[session].generation < *generation {
            return violation("session.generation", format!("{session}: {generation} was given"));
        }
    }
    if let Some(session) = notes
        .revoked
        .keys()
        .find(|s| stock.sessions.get(s).is_some_and(|s| s.is_active()))
    {
        return violation("session.revoked", session.to_string());
    }
    for n in 0..4 {
        let of_it: Vec<_> = notes.freezes.iter().filter(|f| f.wallet == n).collect();
        let Some(last) = of_it.last() else { continue };
        let alone = of_it[..of_it.len() - 1]
            .iter()
            .all(|f| f.confirmed_at.is_some_and(|responded| responded < last.requested_at));
        let is = stock.accounts.get(&wallet(n).key()).is_some_and(|a| a.frozen.is_some());
        if alone && last.confirmed_at.is_some() && is != last.frozen {
            return violation("account.frozen", format!("wallet {n}: {is}"));
        }
    }
    for call in &notes.calls {
        let Some((_, Ok(paid))) = &call.response else { continue };
        let owner = wallet(payer(call.payment));
        if let Some(product) = product(&paid.outcome)
            && stock
                .products
                .get(&product_key(&product))
                .is_none_or(|good| good.owner != owner)
        {
            return violation("product.owner", product.to_string());
        }
    }
    Ok(())
}
