//! What left before a restore is booked where an operator said, once, and is on the chain as it was booked.

use std::collections::BTreeMap;

use purser_actors::id::DepartureId;
use purser_actors::port::Booked;

use super::books::Books;
use super::{ChainTransfer, Contents, Report};

/// The cause under which it is booked.
pub(super) fn name_of(booked: &Booked) -> String {
    let departure = &booked.departure;
    DepartureId::of(departure.to.network(), &departure.transaction).to_string()
}

pub(super) fn check(contents: &Contents, books: &Books, report: &mut Report) {
    for booked in &contents.departures {
        let name = name_of(booked);
        let amount = i128::from(booked.departure.amount.atomic());
        let posted = |by: &BTreeMap<String, i128>| by.get(&name).copied().unwrap_or(0);
        let has = (
            posted(&books.received),
            posted(&books.credited),
            posted(&books.costs),
            posted(&books.earned),
        );
        let want = match (booked.account, contents.arrivals.sent_on(&name)) {
            (Some(_), _) => (-amount, -amount, 0, 0),
            (None, Some(came)) => (-amount, 0, (amount - came).max(0), (came - amount).max(0)),
            (None, None) => (-amount, 0, amount, 0),
        };
        if has != want {
            let detail = format!("{has:?} to treasury, holder, costs and fees, expected {want:?}");
            report.find("departure.posting", &name, detail);
        }
    }
}

/// Takes what was booked out of what the chain lists as left.
pub(super) fn against_chain(contents: &Contents, left: &mut BTreeMap<&str, &ChainTransfer>, report: &mut Report) {
    for booked in &contents.departures {
        let departure = &booked.departure;
        match left.remove(departure.transaction.as_str()) {
            Some(t) if t.to == departure.to && t.atomic == departure.amount.atomic() => {}
            Some(t) => {
                let detail = format!("{} moved {} atomic USDC to {}", departure.transaction, t.atomic, t.to);
                report.find("chain.differs", name_of(booked), detail);
            }
            None => {
                let detail = format!("{} did not leave the treasury", departure.transaction);
                report.find("chain.not_sent", name_of(booked), detail);
            }
        }
    }
}
