//! Payouts on all rails.

use purser_actors::id::PayoutId;
use purser_actors::kernel::effect::Work;
use purser_actors::ledger::Provider;
use purser_actors::payout::{Event, Payout, Status, Target};
use purser_actors::product::Product;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

use super::{Has, Keeps, Money, Sold, Usable, priced};

pub(super) fn read(id: PayoutId, row: &Row) -> Result<Sold, DecodeError> {
    let payout: Payout = codec::decode(&row.value)?;
    let (status, money) = match &payout.status {
        Status::AwaitingDetails => ("awaiting-details", Money::Spent),
        Status::Queued => ("queued", Money::Spent),
        Status::InProcess => ("in-process", Money::Spent),
        Status::Complete { .. } => ("complete", Money::Spent),
        Status::Failed { .. } => ("failed", Money::Undone),
        Status::Cancelled { .. } => ("cancelled", Money::Undone),
        Status::Expired => ("expired", Money::Undone),
        Status::Returned { kept, .. } => ("returned", Money::Returned { kept: kept.atomic() }),
    };
    let provider = match payout.plan.target {
        Target::Card(_) => Provider::PushToCard,
        Target::Bank(..) => Provider::Bank,
        Target::App(..) => Provider::PaymentApps,
    };
    let quoted = payout.plan.quoted.clone().unwrap_or_default();
    let (worth, price) = priced(payout.amount, payout.currency, &quoted).unwrap_or_default();
    let moving = match &payout.status {
        Status::AwaitingDetails | Status::Queued | Status::InProcess => true,
        Status::Complete { returnable, .. } => *returnable,
        _ => payout.recalling,
    };
    Ok(Sold {
        product: Product::Payout(id),
        plural: "payouts",
        revision: row.revision,
        status,
        owner: payout.owner,
        charge: payout.charge,
        worth,
        provider,
        money,
        price: Some(price),
        moving,
        usable: match payout.status {
            Status::Complete { .. } if !payout.came_back_late => Usable::All,
            Status::Complete { .. }
            | Status::AwaitingDetails
            | Status::Queued
            | Status::InProcess
            | Status::Failed { .. }
            | Status::Cancelled { .. }
            | Status::Expired
            | Status::Returned { .. } => Usable::Nothing,
        },
        came_back_late: payout.came_back_late,
        keeps: keeps(id, &payout),
    })
}

/// A card's number lies sealed while its rail may ask for it; what must not wait for ever has its timer.
fn keeps(id: PayoutId, payout: &Payout) -> Keeps {
    let timer = match (&payout.plan.target, &payout.status) {
        (_, Status::AwaitingDetails) => Some(Work::ExpirePayout(id)),
        (Target::App(..), Status::InProcess) => Some(Work::RecallPayout(id)),
        (_, Status::Complete { returnable: true, .. }) => Some(Work::CloseReturns(id)),
        _ => None,
    };
    Keeps {
        number: match (&payout.plan.target, &payout.status) {
            // One without its last digits was found at the rail after a restore.
            (Target::Card(Some(_)), Status::Queued | Status::InProcess) => Has::Always,
            _ => Has::Never,
        },
        cvv: Has::Never,
        timers: timer.into_iter().collect(),
        wish: false,
    }
}

/// The status after an event; `None` where it stays as it is.
pub(super) fn fold(event: &[u8]) -> Result<Option<&'static str>, DecodeError> {
    Ok(Some(match codec::decode(event)? {
        Event::Ordered(ordered) => match ordered.plan.target {
            Target::Card(_) => "awaiting-details",
            Target::Bank(..) | Target::App(..) => "queued",
        },
        Event::Detailed(..) | Event::Found(_) => "queued",
        Event::Accepted(_) => "in-process",
        Event::Completed(..) | Event::ReturnsClosed(_) => "complete",
        Event::Failed(..) => "failed",
        Event::Cancelled(..) => "cancelled",
        Event::Expired(_) => "expired",
        Event::Returned(..) => "returned",
        Event::Seen(_) | Event::PaidTooLate(_) | Event::TakenBack(_) | Event::CameBackLate => return Ok(None),
    }))
}
