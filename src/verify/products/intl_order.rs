//! Orders of international cards.

use purser_actors::id::CardId;
use purser_actors::intl_order::{Event, IntlOrder, Status};
use purser_actors::kernel::Kind;
use purser_actors::kernel::effect::Work;
use purser_actors::ledger::Provider;
use purser_actors::product::Product;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

use super::{Has, Keeps, Money, Sold};
use crate::verify::{Contents, Report};

/// USDC has six decimals, money on a card two.
const ATOMIC_PER_CENT: i128 = 10_000;

pub(super) fn read(id: CardId, row: &Row) -> Result<Sold, DecodeError> {
    let order: IntlOrder = codec::decode(&row.value)?;
    let (status, money) = match order.status {
        Status::Queued => ("queued", Money::Spent),
        Status::Claimed(_) => ("claimed", Money::Spent),
        Status::Ready(_) => ("ready", Money::Spent),
        Status::Expired(_) => ("expired", Money::Spent),
        Status::Cancelled => ("cancelled", Money::Undone),
        Status::Rejected { .. } => ("rejected", Money::Undone),
    };
    Ok(Sold {
        product: Product::IntlOrder(id),
        plural: "intl_orders",
        revision: row.revision,
        status,
        owner: order.owner,
        charge: order.charge,
        worth: i128::from(order.amount.get()) * ATOMIC_PER_CENT,
        provider: Provider::IntlDesk,
        money,
        price: None,
        // A person moves it on, and no work of ours.
        moving: false,
        came_back_late: false,
        keeps: Keeps {
            number: match order.status {
                Status::Ready(_) | Status::Expired(_) => Has::Always,
                _ => Has::Never,
            },
            cvv: match order.status {
                Status::Ready(_) => Has::Always,
                Status::Expired(_) => Has::Until(Work::ForgetCvv(id)),
                _ => Has::Never,
            },
            timers: timers(id, &order),
        },
    })
}

/// A day is to be told of while it is open, a lease ends, and so does a card.
fn timers(id: CardId, order: &IntlOrder) -> Vec<Work> {
    let end = |lease| Work::EndLease { order: id, lease };
    let (open, timer) = match order.status {
        Status::Queued | Status::Claimed(None) => (true, None),
        Status::Claimed(Some(_)) => (true, Some(end(order.lease))),
        Status::Ready(_) => (false, Some(Work::ExpireIntl(id))),
        Status::Cancelled | Status::Rejected { .. } | Status::Expired(_) => (false, None),
    };
    let overdue = (open && !order.overdue).then_some(Work::IntlOverdue(id));
    timer.into_iter().chain(overdue).collect()
}

pub(super) fn fold(event: &[u8]) -> Result<&'static str, DecodeError> {
    Ok(match codec::decode(event)? {
        Event::Ordered { .. } | Event::Released(_) | Event::Overdue { claimed: false, .. } => "queued",
        Event::Claimed(..) | Event::LeaseEnded(_) | Event::Overdue { claimed: true, .. } => "claimed",
        Event::Fulfilled(..) | Event::Revealed(_) => "ready",
        Event::Cancelled(_) => "cancelled",
        Event::Rejected(..) => "rejected",
        Event::Expired(_) => "expired",
    })
}

/// The operators' queue holds the open orders and nothing else: one that is missing there would never be seen.
pub(super) fn queue(contents: &Contents, report: &mut Report) {
    let open = |status: &str| matches!(status, "queued" | "claimed");
    for ((kind, id), sold) in &contents.sold {
        let waits = *kind == Kind::IntlOrder as u8 && open(sold.status);
        if waits != contents.queue.contains(id) && *kind == Kind::IntlOrder as u8 {
            let detail = format!("{}, and in the queue: {}", sold.status, !waits);
            report.find("queue.order", CardId(*id), detail);
        }
    }
    for id in &contents.queue {
        if !contents.sold.contains_key(&(Kind::IntlOrder as u8, *id)) {
            report.find("queue.order", CardId(*id), "in the queue, and there is no such order");
        }
    }
}
