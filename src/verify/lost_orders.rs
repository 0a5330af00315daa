//! An order that a restore had lost is posted once, where an operator attributed it to a payer. Its result is posted
//! too.

use purser_actors::kernel::EntityKind;
use purser_actors::lost_order::{AttributedOrder, Direction, OrderPayer, ReturnEvidence};

use super::ledger::LedgerTotals;
use super::{StoreContents, VerifyReport};

/// Cause of its postings.
pub(super) fn name_of(booked: &AttributedOrder) -> String {
    booked.order.id().to_string()
}

/// The ledger's amounts under its name, in atomic USDC.
#[derive(Debug, PartialEq, Eq)]
struct Posted {
    /// Owed to its provider.
    owed: i128,
    /// In a customer's balance.
    credited: i128,
    earned: i128,
    costs: i128,
}

/// The amounts that the ledger should have.
fn expected(booked: &AttributedOrder) -> Posted {
    let (charged, owed) = (i128::from(booked.charged.atomic()), i128::from(booked.owed.atomic()));
    let mut posted = Posted {
        owed,
        credited: 0,
        earned: (charged - owed).max(0),
        costs: (owed - charged).max(0),
    };
    if booked.order.direction() == Direction::In {
        (posted.owed, posted.earned, posted.costs) = (-owed, 0, 0);
        pay(&mut posted, booked.payer, owed);
        return posted;
    }
    pay(&mut posted, booked.payer, -charged);
    if let Some(back) = &booked.returned {
        let given = i128::from(back.amount.atomic());
        pay(&mut posted, back.to, given);
        match back.evidence {
            // It had no cost.
            ReturnEvidence::NotExecuted => {
                (posted.owed, posted.earned, posted.costs) = (0, 0, posted.costs - (owed - charged).max(0))
            }
            // Our fee stays earned.
            ReturnEvidence::ReturnedByRail => (posted.owed, posted.costs) = (0, posted.costs - (owed - charged).max(0)),
            ReturnEvidence::ReturnedByBank(_) => posted.owed -= given,
        }
    }
    posted
}

fn pay(posted: &mut Posted, payer: OrderPayer, amount: i128) {
    match payer {
        OrderPayer::Account(_) => posted.credited += amount,
        OrderPayer::Incoming(_) => {}
        OrderPayer::Loss => posted.costs -= amount,
    }
}

pub(super) fn check(contents: &StoreContents, books: &LedgerTotals, report: &mut VerifyReport) {
    for booked in &contents.lost_orders {
        let name = name_of(booked);
        let owed = books
            .owed
            .get(&name)
            .and_then(|owed| owed.get(&booked.order.provider()));
        let has = Posted {
            owed: owed.copied().unwrap_or(0),
            credited: books.credited.get(&name).copied().unwrap_or(0),
            earned: books.earned.get(&name).copied().unwrap_or(0),
            costs: books.costs.get(&name).copied().unwrap_or(0),
        };
        let number = booked.order.key.0;
        let moved = (EntityKind::BankTransfer as u8, number.to_be_bytes().to_vec());
        if contents.sold.contains_key(&(EntityKind::Payout as u8, number)) || contents.banking.contains_key(&moved) {
            report.report("lost_order.twice", &name, "a row of its own has the same order");
        }
        let want = expected(booked);
        if has != want {
            report.report("lost_order.posting", &name, format!("{has:?}, expected {want:?}"));
        }
    }
}
