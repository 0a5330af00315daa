//! Every late return belongs to a paid payout whose return window had ended. It gives back what that payout owed its
//! rail, less what the rail retains, and is credited once.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::account;
use purser_actors::entity::account::CreditCause;
use purser_actors::entity::late_return;
use purser_actors::entity::late_return::{Event, Status};
use purser_actors::entity::payment;
use purser_actors::id::{LateReturnId, PayoutId};
use purser_actors::kernel::EntityKind;
use purser_storage::codec::{self, DecodeError};

use super::ledger::LedgerTotals;
use super::money_history::MoneyHistory;
use super::outcomes::credits;
use super::products::SoldProduct;
use super::{StoreContents, VerifyReport};

pub(super) const fn name_of(status: Status) -> &'static str {
    match status {
        Status::Received => "received",
        Status::Credited => "credited",
        Status::Retained => "kept",
    }
}

/// The status after an event; `None` for another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    (kind == EntityKind::LateReturn as u8).then(|| {
        codec::decode(event).map(|event| match event {
            Event::Received(_) => Some("received"),
            Event::Credited(_) => Some("credited"),
            Event::Retained(_) => Some("kept"),
        })
    })
}

/// Pending jobs of each: the credit, and the notification that it has arrived.
#[derive(Clone, Copy, Default)]
struct PendingCredits {
    credits: usize,
    notifications: usize,
}

pub(super) fn check(contents: &StoreContents, history: &MoneyHistory, books: &LedgerTotals, report: &mut VerifyReport) {
    let mut moving: BTreeMap<LateReturnId, PendingCredits> = BTreeMap::new();
    for effect in &contents.jobs {
        if let Some(account::Job::CreditAccount {
            cause: CreditCause::LateReturn(id),
            ..
        }) = effect.job.typed()
        {
            moving.entry(id).or_default().credits += 1;
        } else if let Some(late_return::Job::ConfirmLateReturnCredit(id)) = effect.job.typed() {
            moving.entry(id).or_default().notifications += 1;
        }
    }
    for (id, (late, _)) in &contents.late_returns {
        let name = id.to_string();
        let Some(sold) = contents.sold.get(&(EntityKind::Payout as u8, id.0)) else {
            report.report("late_return.payout_mismatch", &name, "there is no such payout");
            continue;
        };
        let same = late.payout == PayoutId(id.0) && late.owner == sold.owner;
        if !same || !sold.returned_late {
            report.report(
                "late_return.payout_mismatch",
                &name,
                format!("{} does not know of it", late.payout),
            );
        }
        let amount = i128::from(late.amount.atomic());
        let back = amount - i128::from(late.return_fee.atomic()).min(amount);
        if amount != sold.value {
            report.report(
                "late_return.amount_mismatch",
                &name,
                format!("{amount} of {} came back", sold.value),
            );
        }
        let PendingCredits {
            credits: crediting,
            notifications: telling,
        } = moving.remove(id).unwrap_or_default();
        let credited = credits(&name, history, books, report);
        let kept = if late.status == Status::Retained { back } else { 0 };
        check_retained(&name, sold, kept, (contents, books), report);
        let want = if crediting == 0 { back - kept } else { 0 };
        let from_rail = books.owed.get(&name).and_then(|owed| owed.get(&sold.provider)).copied();
        let others = books.owed.get(&name).is_some_and(|owed| owed.len() > 1);
        if credited != want || -from_rail.unwrap_or(0) != back || others {
            let detail = format!("{from_rail:?} of the rail and {credited} credited, expected {back} and {want}");
            report.report("late_return.posting_mismatch", &name, detail);
        }
        let at_work = usize::from(late.status == Status::Received);
        if crediting + telling != at_work {
            let detail = format!(
                "{}: {crediting} credits and {telling} notices of it in progress",
                name_of(late.status)
            );
            report.report("late_return.orphaned", &name, detail);
        }
    }
    for id in moving.keys() {
        report.report(
            "late_return.missing",
            id,
            "something is at work for it, and it does not exist",
        );
    }
    listed(contents, report);
}

/// What an operator retained is among our costs, and a chain had reorged the payment for it.
fn check_retained(
    name: &str,
    sold: &SoldProduct,
    kept: i128,
    (contents, books): (&StoreContents, &LedgerTotals),
    report: &mut VerifyReport,
) {
    let cost = books.costs.get(name).copied().unwrap_or(0);
    let paid = contents.payments.get(&sold.charge.payment);
    let reversed = paid.is_some_and(|(payment, _)| matches!(payment.status, payment::Status::Reversed { .. }));
    if cost != -kept || (kept > 0 && !reversed) {
        let detail = format!("{} kept, expected {kept}; reversed: {reversed}", -cost);
        report.report("late_return.kept", name, detail);
    }
}

/// The operators' list has each once, and payouts with a late return have theirs.
fn listed(contents: &StoreContents, report: &mut VerifyReport) {
    let there: BTreeSet<u128> = contents.late_returns.keys().map(|id| id.0).collect();
    for id in there.symmetric_difference(&contents.late_return_index) {
        report.report(
            "late_return.index_mismatch",
            LateReturnId(*id),
            "it and its row in the list are not both there",
        );
    }
    let expected = contents.sold.iter().filter(|(_, sold)| sold.returned_late);
    for ((_, id), sold) in expected {
        if !there.contains(id) {
            report.report(
                "late_return.missing",
                sold.product,
                "it came back late, and nothing knows what of",
            );
        }
    }
}
