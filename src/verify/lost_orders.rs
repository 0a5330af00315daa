//! An order that a restore had lost is in the books once, where an operator said who paid for it; and so is what came of it.

use purser_actors::lost_order::{BookedOrder, Direction, Payer};
use purser_actors::reconcile::Standing;

use super::books::Books;
use super::{Contents, Report};

/// The cause under which it is booked.
pub(super) fn name_of(booked: &BookedOrder) -> String {
    booked.order.id().to_string()
}

/// What the books say under its name, in atomic USDC.
#[derive(Debug, PartialEq, Eq)]
struct Posted {
    /// Owed to its provider.
    owed: i128,
    /// In a holder's balance.
    credited: i128,
    /// Earned.
    earned: i128,
    /// What it cost us.
    costs: i128,
}

/// What they should say.
fn expected(booked: &BookedOrder) -> Posted {
    let (charged, owed) = (i128::from(booked.charged.atomic()), i128::from(booked.owed.atomic()));
    let (fee, cost) = ((charged - owed).max(0), (owed - charged).max(0));
    let to_account = |payer: Payer| matches!(payer, Payer::Account(_));
    if booked.order.direction() == Direction::In {
        return Posted {
            owed: -owed,
            credited: owed,
            earned: 0,
            costs: 0,
        };
    }
    let taken = if to_account(booked.payer) { charged } else { 0 };
    let lost = if booked.payer == Payer::Nobody { charged } else { 0 };
    match booked.back {
        None => Posted {
            owed,
            credited: -taken,
            earned: fee,
            costs: cost + lost,
        },
        Some(to) => {
            // Of what came back our fee stays earned; what was refused has cost nothing.
            let kept = if booked.order.standing == Standing::Returned {
                fee
            } else {
                0
            };
            let back = charged - kept;
            Posted {
                owed: 0,
                credited: if to_account(to) { back } else { 0 } - taken,
                earned: kept,
                costs: if to == Payer::Nobody { lost - back } else { lost },
            }
        }
    }
}

pub(super) fn check(contents: &Contents, books: &Books, report: &mut Report) {
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
        let want = expected(booked);
        if has != want {
            report.find("lost_order.posting", &name, format!("{has:?}, expected {want:?}"));
        }
    }
}
