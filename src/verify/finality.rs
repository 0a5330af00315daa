//! Payments that are not final: each is polled until it is final or permanently gone. Its hold is released by then.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::account;
use purser_actors::entity::account::{provisional_hold_cause, underlying_payment};
use purser_actors::entity::payment;
use purser_actors::entity::payment::Status;
use purser_actors::id::PaymentId;

use super::ledger::LedgerTotals;
use super::{StoreContents, VerifyReport, outcomes};

pub(super) fn check(
    unfinal: &BTreeSet<PaymentId>,
    contents: &StoreContents,
    books: &LedgerTotals,
    report: &mut VerifyReport,
) {
    let (mut awaited, mut held) = (BTreeMap::<PaymentId, u32>::new(), BTreeMap::<PaymentId, i128>::new());
    for effect in &contents.jobs {
        if let Some(payment::Job::AwaitFinal(id)) = effect.job.typed() {
            *awaited.entry(id).or_default() += 1;
        } else if let Some(account::Job::ReleaseCredit { payment, amount, .. }) = effect.job.typed() {
            *held.entry(payment).or_default() += i128::from(amount.atomic());
        }
    }
    let status = |id: &PaymentId| contents.payments.get(id).map(|(payment, _)| &payment.status);
    for id in unfinal {
        let asking = awaited.remove(id).unwrap_or_default();
        match status(id) {
            Some(Status::Settled { .. } | Status::Fulfilled { .. } | Status::Credited { .. }) if asking == 1 => {}
            // It was already found to be reversed, and the polling job is about to see that.
            Some(Status::Reversed { .. }) if asking <= 1 => {}
            found => {
                let name = found.map_or("no payment", outcomes::name_of);
                report.report(
                    "payment.unfinal",
                    id,
                    format!("{name}, and {asking} effects await that it is final"),
                );
            }
        }
    }
    for id in awaited.keys() {
        report.report(
            "payment.unfinal",
            id,
            "it is awaited that it is final, and its row is not there",
        );
    }
    for id in books.causes.iter().filter_map(|cause| underlying_payment(cause)) {
        let cause = provisional_hold_cause(id);
        let booked = |by: &BTreeMap<String, i128>| by.get(&cause).copied().unwrap_or(0);
        let (has, want) = (booked(&books.held_for), held.remove(&id).unwrap_or_default());
        if has != want {
            let detail = format!("{has} held for it, and effects end a hold of {want}");
            report.report("credit.held", id, detail);
        }
        // An amount debited from a balance makes the loss smaller.
        let taken = -booked(&books.losses);
        let gone = unfinal.contains(&id) && matches!(status(&id), Some(Status::Reversed { .. }));
        if taken < 0 || (taken > 0 && !gone) {
            report.report("credit.reversed", id, format!("{taken} taken out of a balance"));
        }
    }
    for (id, want) in held {
        report.report(
            "credit.held",
            id,
            format!("nothing held for it, and effects end a hold of {want}"),
        );
    }
}
