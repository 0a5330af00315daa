//! Every withdrawal moves its hold exactly once, or releases it.

use std::collections::BTreeMap;

use purser_actors::entity::account;
use purser_actors::entity::withdrawal;
use purser_actors::entity::withdrawal::{Status, Withdrawal};
use purser_actors::id::WithdrawalId;

use super::ledger::LedgerTotals;
use super::onchain::{UnmatchedTransfers, is_exact};
use super::products::OutgoingTransfer;
use super::{ChainTransfer, StoreContents, VerifyReport, outgoing_transfers};

pub(super) const fn name_of(status: &Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::Sent(_) => "sent",
        Status::Complete { .. } | Status::CompleteSigned { .. } => "complete",
        Status::Failed { .. } => "failed",
    }
}

pub(super) fn check(contents: &StoreContents, books: &LedgerTotals, report: &mut VerifyReport) {
    let mut moving: BTreeMap<WithdrawalId, (usize, usize)> = BTreeMap::new();
    for effect in &contents.jobs {
        if let Some(withdrawal::Job::SendWithdrawal(id)) = effect.job.typed() {
            moving.entry(id).or_default().0 += 1;
        } else if let Some(account::Job::SettleHold { withdrawal, .. }) = effect.job.typed() {
            moving.entry(withdrawal).or_default().1 += 1;
        }
    }
    for (id, (withdrawal, _)) in &contents.withdrawals {
        let name = id.to_string();
        let amount = i128::from(withdrawal.amount.atomic());
        let (sending, ending) = moving.remove(id).unwrap_or_default();
        let booked = |by: &BTreeMap<String, i128>| by.get(&name).copied().unwrap_or(0);
        let (held, left) = (booked(&books.held_for), -booked(&books.received));
        let (want_held, want_left, want_sending) = match (&withdrawal.status, ending) {
            (Status::Pending | Status::Sent(_), _) => (amount, 0, 1),
            // At its end the account is being notified.
            (_, 1..) => (amount, 0, 0),
            (Status::Complete { .. } | Status::CompleteSigned { .. }, 0) => (0, amount, 0),
            (Status::Failed { .. }, 0) => (0, 0, 0),
        };
        let status = name_of(&withdrawal.status);
        if (held, left) != (want_held, want_left) {
            let detail = format!(
                "{status}: {held} held (expected {want_held}), {left} left the treasury (expected {want_left})"
            );
            report.report("withdrawal.posting_mismatch", &name, detail);
        }
        if sending != want_sending || ending > 1 {
            report.report(
                "withdrawal.orphaned",
                &name,
                format!("{status}: {sending} effects send it and {ending} end its hold"),
            );
        }
    }
    for id in moving.keys() {
        report.report("withdrawal.missing", id, "effects move it, and it does not exist");
    }
}

fn fits(withdrawal: &Withdrawal, transfer: &ChainTransfer) -> bool {
    transfer.to == withdrawal.to && transfer.atomic == withdrawal.amount.atomic()
}

/// Takes transfers by their fingerprint: a reorg can move a signed authorization to another transaction. Leaves
/// withdrawals that only have a transaction.
fn take_signed<'a>(
    contents: &'a StoreContents,
    left: &mut UnmatchedTransfers<'_>,
) -> (Vec<(&'a WithdrawalId, &'a Withdrawal)>, Vec<&'a OutgoingTransfer>) {
    let withdrawals = contents.withdrawals.iter().filter(|(_, (withdrawal, _))| {
        let (Some(transaction), Some(mark)) = (withdrawal.transaction(), withdrawal.fingerprint()) else {
            return true;
        };
        left.take_signed(&mark, transaction, |t| fits(withdrawal, t)).is_none()
    });
    let withdrawals = withdrawals.map(|(id, (withdrawal, _))| (id, withdrawal)).collect();
    let products = contents.outgoing_transfers.iter().filter(|sent| {
        let (Some(transaction), Some(mark)) = (&sent.transaction, &sent.mark) else {
            return true;
        };
        left.take_signed(mark, transaction, |t| t.atomic == sent.atomic)
            .is_none()
    });
    (withdrawals, products.collect())
}

/// Compares with the chain's own list of outgoing transfers: one transfer for each completed withdrawal, and no other.
pub(super) fn compare_with_chain(contents: &StoreContents, chain: &[ChainTransfer], report: &mut VerifyReport) {
    let mut left = UnmatchedTransfers::of(chain.iter());
    // Exact names take their transfers first.
    outgoing_transfers::compare_with_chain(contents, &mut left, report);
    let (withdrawals, products) = take_signed(contents, &mut left);
    for exact in [true, false] {
        for (id, withdrawal) in &withdrawals {
            let named = withdrawal.transaction().filter(|name| is_exact(name) == exact);
            let Some(transaction) = named else { continue };
            match left.take(transaction, |t| fits(withdrawal, t)) {
                Some(t) if fits(withdrawal, t) => {}
                Some(t) => {
                    let detail = format!("{transaction} moved {} atomic USDC to {}", t.atomic, t.to);
                    report.report("chain.transfer_mismatch", id, detail);
                }
                None => {
                    let detail = format!("{transaction} did not leave the treasury for it");
                    report.report("chain.sender_mismatch", id, detail);
                }
            }
        }
    }
    for sent in products {
        let Some(transaction) = &sent.transaction else { continue };
        match left.take(transaction, |t| t.atomic == sent.atomic) {
            Some(t) if t.atomic == sent.atomic => {}
            Some(t) => {
                let detail = format!("{transaction} moved {} atomic USDC", t.atomic);
                report.report("chain.transfer_mismatch", &sent.name, detail);
            }
            None => {
                let detail = format!("{transaction} did not leave the treasury");
                report.report("chain.sender_mismatch", &sent.name, detail);
            }
        }
    }
    // A transfer that the engine has not seen yet is in progress through an open withdrawal.
    for (id, (withdrawal, _)) in &contents.withdrawals {
        if matches!(withdrawal.status, Status::Sent(_)) {
            let own = |_: &str, t: &ChainTransfer| fits(withdrawal, t);
            if let Some(t) = left.take_any(own) {
                let transaction = &t.transaction;
                tracing::debug!(withdrawal = %id, transaction, "it has landed and the engine has not heard");
            }
        }
    }
    for sent in contents
        .outgoing_transfers
        .iter()
        .filter(|sent| sent.transaction.is_none())
    {
        left.take_any(|transaction, t| sent.may_be(transaction, t));
    }
    for (name, transfer) in left.unmatched() {
        let detail = format!(
            "{} atomic USDC left the treasury for {} without a withdrawal or a top-up",
            transfer.atomic, transfer.to
        );
        report.report("chain.untracked_transfer", name, detail);
    }
}
