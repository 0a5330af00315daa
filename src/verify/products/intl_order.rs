//! Orders of international cards.

use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::card::lifecycle::CardUpdate;
use purser_actors::entity::intl_order;
use purser_actors::entity::intl_order::{Event, IntlOrder, Status};
use purser_actors::id::CardId;
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::job::AnyJob;
use purser_actors::ledger::LedgerProvider;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

use super::{ExpectedRows, MoneyOutcome, RowExpectation, SoldProduct, Usable, remainder};
use crate::{StoreContents, VerifyReport};

/// USDC has six decimals, money on a card two.
const ATOMIC_PER_CENT: i128 = 10_000;

pub(super) fn read(id: CardId, row: &Row) -> Result<SoldProduct, DecodeError> {
    let order: IntlOrder = codec::decode(&row.value)?;
    let (status, money) = match order.status {
        Status::Queued => ("queued", MoneyOutcome::Spent),
        Status::Claimed(_) => ("claimed", MoneyOutcome::Spent),
        Status::Ready(_) => ("ready", MoneyOutcome::Spent),
        Status::Paused(_) => ("paused", MoneyOutcome::Spent),
        Status::Closed(_) => ("closed", remainder(&order.charge, order.lifecycle.released)),
        Status::Expired(_) => ("expired", remainder(&order.charge, order.lifecycle.released)),
        Status::Cancelled => ("cancelled", MoneyOutcome::Reversed),
        Status::Rejected { .. } => ("rejected", MoneyOutcome::Reversed),
    };
    Ok(SoldProduct {
        product: PurchasedProduct::IntlOrder(id),
        plural: "intl_orders",
        revision: row.revision,
        status,
        owner: order.owner,
        charge: order.charge,
        value: i128::from(order.amount.get()) * ATOMIC_PER_CENT,
        provider: LedgerProvider::IntlFulfilment,
        money,
        price: None,
        // An operator moves it on, not a job.
        is_in_progress: false,
        usable: match order.status {
            Status::Ready(_) | Status::Paused(_) => Usable::All,
            Status::Queued
            | Status::Claimed(_)
            | Status::Closed(_)
            | Status::Expired(_)
            | Status::Cancelled
            | Status::Rejected { .. } => Usable::Zero,
        },
        returned_late: false,
        expected_rows: ExpectedRows {
            number: match order.status {
                Status::Ready(_) | Status::Paused(_) | Status::Closed(_) | Status::Expired(_) => RowExpectation::Always,
                _ => RowExpectation::Never,
            },
            cvv: match order.status {
                Status::Ready(_) | Status::Paused(_) => RowExpectation::Always,
                Status::Closed(_) | Status::Expired(_) => RowExpectation::Until(intl_order::Job::ShredCvv(id).into()),
                _ => RowExpectation::Never,
            },
            timers: timers(id, &order),
            pending_action: order.lifecycle.pending_action.is_some(),
        },
    })
}

/// An open order has a daily notification. A lease has an end, and so does a card.
fn timers(id: CardId, order: &IntlOrder) -> Vec<AnyJob> {
    let end = |lease| intl_order::Job::ExpireOrderLease { order: id, lease };
    let (open, timer) = match order.status {
        Status::Queued | Status::Claimed(None) => (true, None),
        Status::Claimed(Some(_)) => (true, Some(end(order.lease))),
        Status::Ready(_) | Status::Paused(_) => (false, Some(intl_order::Job::ExpireIntlCard(id))),
        Status::Cancelled | Status::Rejected { .. } | Status::Closed(_) | Status::Expired(_) => (false, None),
    };
    let overdue = (open && !order.overdue).then_some(intl_order::Job::MarkOrderOverdue(id));
    timer.into_iter().chain(overdue).map(Into::into).collect()
}

/// The status after an event; `None` leaves it unchanged.
pub(super) fn fold(event: &[u8]) -> Result<Option<&'static str>, DecodeError> {
    Ok(Some(match codec::decode(event)? {
        Event::Ordered { .. } | Event::Released(_) | Event::BecameOverdue { claimed: false, .. } => "queued",
        Event::Claimed(..) | Event::LeaseExpired(_) | Event::BecameOverdue { claimed: true, .. } => "claimed",
        Event::Fulfilled(..) | Event::Updated(CardUpdate::Resumed(_), _) => "ready",
        Event::Updated(CardUpdate::Paused(_), _) => "paused",
        Event::Updated(CardUpdate::Closed(_), _) => "closed",
        Event::Cancelled(_) => "cancelled",
        Event::Rejected(..) => "rejected",
        Event::Expired(_) => "expired",
        // Views, requests and charges change no status.
        Event::Revealed(_)
        | Event::ActionRequested(..)
        | Event::ActionCompleted(_)
        | Event::ActionCancelled(_)
        | Event::RemainderRetained(..)
        | Event::Updated(CardUpdate::Charged(..) | CardUpdate::Released(_), _) => return Ok(None),
    }))
}

/// The operators' list has exactly the pending card actions.
pub(super) fn check_pending_actions(contents: &StoreContents, report: &mut VerifyReport) {
    for ((_, id), sold) in &contents.sold {
        if matches!(sold.product, PurchasedProduct::IntlOrder(_))
            && sold.expected_rows.pending_action != contents.pending_card_actions.contains(id)
        {
            let detail = format!(
                "{}, and in the list of card actions: {}",
                sold.status, !sold.expected_rows.pending_action
            );
            report.report("card_wish.row", CardId(*id), detail);
        }
    }
    for id in &contents.pending_card_actions {
        if !contents.sold.contains_key(&(EntityKind::IntlOrder as u8, *id)) {
            report.report(
                "card_wish.row",
                CardId(*id),
                "in the list of card actions, and there is no such order",
            );
        }
    }
}

/// The operators' queue has exactly the open orders: a missing one would never be seen.
pub(super) fn queue(contents: &StoreContents, report: &mut VerifyReport) {
    let open = |status: &str| matches!(status, "queued" | "claimed");
    for ((kind, id), sold) in &contents.sold {
        let waits = *kind == EntityKind::IntlOrder as u8 && open(sold.status);
        if waits != contents.order_queue.contains(id) && *kind == EntityKind::IntlOrder as u8 {
            let detail = format!("{}, and in the queue: {}", sold.status, !waits);
            report.report("intl_order.queue_mismatch", CardId(*id), detail);
        }
    }
    for id in &contents.order_queue {
        if !contents.sold.contains_key(&(EntityKind::IntlOrder as u8, *id)) {
            report.report(
                "intl_order.queue_mismatch",
                CardId(*id),
                "in the queue, and there is no such order",
            );
        }
    }
}

/// Its jobs are for operators: none has to be pending for the order.
pub(super) const fn product_of_job(_: &AnyJob) -> Option<String> {
    None
}
