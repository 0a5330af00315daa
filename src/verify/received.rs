//! Every payment that counts as settled is on the chain.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::payment;
use purser_actors::id::{PaymentId, Wallet};

use super::{ChainTransfer, StoreContents, VerifyReport};

/// Compares with the chain's own list: every payment that counts as settled is there once, with the right amount and
/// payer.
pub(super) fn compare_with_chain(contents: &StoreContents, chain: &[ChainTransfer], report: &mut VerifyReport) {
    let mut transfers: BTreeMap<(&str, u32), &ChainTransfer> = BTreeMap::new();
    for transfer in chain {
        let place = (transfer.transaction.as_str(), transfer.index);
        if transfers.insert(place, transfer).is_some() {
            report.report(
                "chain.transfer_duplicate",
                &transfer.transaction,
                "the chain lists it twice",
            );
        }
    }
    let marks = chain
        .iter()
        .filter_map(|t| Some(((t.mark?, t.from, t.atomic), (t.transaction.as_str(), t.index))));
    let marks: BTreeMap<([u8; 32], Wallet, u64), (&str, u32)> = marks.collect();
    let awaited: BTreeSet<PaymentId> = awaiting_finality(contents).collect();
    let mut claimed: BTreeMap<(&str, u32), String> = BTreeMap::new();
    check_operator_funds(contents, &transfers, &mut claimed, report);
    for (id, (payment, _)) in &contents.payments {
        // A payment whose transfer was credited separately has no postings itself.
        let own = payment
            .transaction()
            .filter(|_| !contents.incoming.taken.contains_key(id));
        let Some(transaction) = own else { continue };
        let in_it = || transfers.range((transaction, 0)..=(transaction, u32::MAX));
        let (atomic, from) = (payment.price().atomic(), payment.payer());
        let fits = |t: &ChainTransfer| t.atomic == atomic && t.from == from;
        let place = match in_it().find(|(place, t)| fits(t) && !claimed.contains_key(place)) {
            Some((place, _)) => *place,
            None => match in_it().next() {
                // A reorg deeper than the finality depth may have moved it to another transaction.
                None if let Some(place) = marks.get(&(payment.claim.authorization.fingerprint(), from, atomic)) => {
                    *place
                }
                None if awaited.contains(id) => {
                    report.unlisted_payments += 1;
                    continue;
                }
                None => {
                    report.report(
                        "chain.transfer_missing",
                        id,
                        format!("{transaction} is not on the chain"),
                    );
                    continue;
                }
                Some((place, t)) => {
                    if !fits(t) {
                        let detail = format!("{transaction} moved {} atomic USDC from {}", t.atomic, t.from);
                        report.report("chain.transfer_mismatch", id, detail);
                    }
                    *place
                }
            },
        };
        if let Some(other) = claimed.insert(place, id.to_string()) {
            report.report(
                "chain.transfer_claimed_twice",
                transaction,
                format!("claimed by {other} and {id}"),
            );
        }
    }
    report.unclaimed_transfers = transfers.keys().filter(|t| !claimed.contains_key(t)).count();
}

/// Payments that are still polled for finality.
fn awaiting_finality(contents: &StoreContents) -> impl Iterator<Item = PaymentId> {
    contents.jobs.iter().filter_map(|effect| match effect.job.typed()? {
        payment::Job::AwaitFinal(id) => Some(id),
        _ => None,
    })
}

/// An amount received without a payment is on the chain as posted, and no other record claims it.
fn check_operator_funds<'a>(
    contents: &'a StoreContents,
    transfers: &BTreeMap<(&'a str, u32), &ChainTransfer>,
    claimed: &mut BTreeMap<(&'a str, u32), String>,
    report: &mut VerifyReport,
) {
    let booked = contents.incoming.posted_causes();
    for (id, (incoming, _)) in &contents.incoming.all {
        let (name, transfer) = (id.to_string(), &incoming.transfer);
        if !booked.contains(&name) {
            continue;
        }
        let place = (transfer.transaction.as_str(), transfer.index);
        match transfers.get(&place) {
            Some(t) if t.atomic == transfer.amount.atomic() && t.from == transfer.from => {}
            _ => report.report(
                "chain.deposit_missing",
                &name,
                "taken in, and the chain does not show it so",
            ),
        }
        if let Some(other) = claimed.insert(place, name.clone()) {
            report.report(
                "chain.transfer_claimed_twice",
                &transfer.transaction,
                format!("claimed by {other} and {name}"),
            );
        }
    }
}
