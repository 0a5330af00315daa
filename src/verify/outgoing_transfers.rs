//! An outgoing transfer that is not a withdrawal or top-up is posted once, as an operator attributed it. The chain has
//! it with the posted amount.

use std::collections::BTreeMap;

use purser_actors::ledger::Outlay;
use purser_actors::port::AttributedTransfer;

use super::ledger::LedgerTotals;
use super::onchain::UnmatchedTransfers;
use super::{StoreContents, VerifyReport};

/// Cause of its postings.
pub(super) fn name_of(booked: &AttributedTransfer) -> String {
    booked.transfer.id().to_string()
}

/// The amounts that an attribution adds to the ledger, each as counted there.
#[derive(Debug, Default, PartialEq, Eq)]
struct Posted {
    treasury: i128,
    customer: i128,
    costs: i128,
    fees: i128,
    provider: i128,
    operator_funds: i128,
    network_fees: i128,
}

impl Posted {
    fn from_ledger(books: &LedgerTotals, booked: &AttributedTransfer) -> Self {
        let name = name_of(booked);
        let posted = |by: &BTreeMap<String, i128>| by.get(&name).copied().unwrap_or(0);
        // All providers together; the paid one must be the only one.
        let owed = books.owed.get(&name);
        let paid = match booked.outlay {
            Some(Outlay::Provider(provider)) => owed.and_then(|owed| owed.get(&provider)).copied(),
            _ => owed.map(|owed| owed.values().map(|atomic| atomic.abs()).sum()),
        };
        Self {
            treasury: posted(&books.received),
            customer: posted(&books.credited),
            costs: posted(&books.costs),
            fees: posted(&books.earned),
            provider: paid.unwrap_or(0),
            operator_funds: posted(&books.operator_funds),
            network_fees: posted(&books.network_fees),
        }
    }

    fn expected(booked: &AttributedTransfer, came: Option<i128>) -> Self {
        let amount = i128::from(booked.transfer.amount.atomic());
        let left = Self {
            treasury: -amount,
            ..Self::default()
        };
        match (booked.account, booked.outlay, came) {
            (Some(_), ..) => Self {
                customer: -amount,
                ..left
            },
            (None, Some(Outlay::Provider(_)), _) => Self {
                provider: -amount,
                ..left
            },
            (None, Some(Outlay::OperatorFunds), _) => Self {
                operator_funds: -amount,
                ..left
            },
            (None, Some(Outlay::NetworkFees), _) => Self {
                network_fees: amount,
                ..left
            },
            (None, None, Some(came)) => Self {
                costs: (amount - came).max(0),
                fees: (came - amount).max(0),
                ..left
            },
            (None, None, None) => Self { costs: amount, ..left },
        }
    }
}

pub(super) fn check(contents: &StoreContents, books: &LedgerTotals, report: &mut VerifyReport) {
    for booked in &contents.attributed_transfers {
        let name = name_of(booked);
        let has = Posted::from_ledger(books, booked);
        let want = Posted::expected(booked, contents.incoming.forwarded_amount(&name));
        if has != want {
            report.report(
                "untracked_transfer.posting_mismatch",
                &name,
                format!("{has:?}, expected {want:?}"),
            );
        }
    }
}

/// Takes the attributed transfers out of the chain's list of outgoing transfers.
pub(super) fn compare_with_chain(
    contents: &StoreContents,
    left: &mut UnmatchedTransfers<'_>,
    report: &mut VerifyReport,
) {
    for booked in &contents.attributed_transfers {
        let attributed = &booked.transfer;
        match left.take(&attributed.name().to_string(), |_| true) {
            Some(t) if t.to == attributed.to && t.atomic == attributed.amount.atomic() => {}
            Some(t) => {
                let detail = format!("{} moved {} atomic USDC to {}", attributed.name(), t.atomic, t.to);
                report.report("chain.transfer_mismatch", name_of(booked), detail);
            }
            None => {
                let detail = format!("{} did not leave the treasury", attributed.name());
                report.report("chain.sender_mismatch", name_of(booked), detail);
            }
        }
    }
}
