//! Payouts on all rails.

use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::payout;
use purser_actors::entity::payout::{Event, Job, Payout, PayoutTarget, Status};
use purser_actors::id::PayoutId;
use purser_actors::kernel::job::AnyJob;
use purser_actors::ledger::LedgerProvider;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

use super::{ExpectedRows, MoneyOutcome, RowExpectation, SoldProduct, Usable, priced};

pub(super) fn read(id: PayoutId, row: &Row) -> Result<SoldProduct, DecodeError> {
    let payout: Payout = codec::decode(&row.value)?;
    let (status, money) = match &payout.status {
        Status::AwaitingDetails => ("awaiting-details", MoneyOutcome::Spent),
        Status::Queued => ("queued", MoneyOutcome::Spent),
        Status::InProcess => ("in-process", MoneyOutcome::Spent),
        Status::Complete { .. } => ("complete", MoneyOutcome::Spent),
        Status::Failed { .. } => ("failed", MoneyOutcome::Reversed),
        Status::Cancelled { .. } => ("cancelled", MoneyOutcome::Reversed),
        Status::Expired => ("expired", MoneyOutcome::Reversed),
        Status::Returned { return_fee: kept, .. } => (
            "returned",
            MoneyOutcome::Returned {
                retained: kept.atomic(),
            },
        ),
    };
    let provider = match payout.plan.target {
        PayoutTarget::Card(_) => LedgerProvider::PushToCard,
        PayoutTarget::Bank(..) => LedgerProvider::Bank,
        PayoutTarget::App(..) => LedgerProvider::PaymentApps,
    };
    let quoted = payout.plan.quoted.clone().unwrap_or_default();
    let (worth, price) = priced(payout.amount, payout.currency, &quoted).unwrap_or_default();
    let moving = match &payout.status {
        Status::AwaitingDetails | Status::Queued | Status::InProcess => true,
        Status::Complete { returnable, .. } => *returnable,
        _ => payout.recalling,
    };
    Ok(SoldProduct {
        product: PurchasedProduct::Payout(id),
        plural: "payouts",
        revision: row.revision,
        status,
        owner: payout.owner,
        charge: payout.charge,
        value: worth,
        provider,
        money,
        price: Some(price),
        is_in_progress: moving,
        usable: match payout.status {
            Status::Complete { .. } if !payout.returned_late => Usable::All,
            Status::Complete { .. }
            | Status::AwaitingDetails
            | Status::Queued
            | Status::InProcess
            | Status::Failed { .. }
            | Status::Cancelled { .. }
            | Status::Expired
            | Status::Returned { .. } => Usable::Zero,
        },
        returned_late: payout.returned_late,
        expected_rows: expected_rows(id, &payout),
    })
}

/// A card's number stays sealed while its rail may request it. Every wait with a limit has its scheduled job.
fn expected_rows(id: PayoutId, payout: &Payout) -> ExpectedRows {
    let timer = match (&payout.plan.target, &payout.status) {
        (_, Status::AwaitingDetails) => Some(payout::Job::ExpirePayout(id)),
        (PayoutTarget::App(..), Status::InProcess) => Some(payout::Job::RecallPayout(id)),
        (_, Status::Complete { returnable: true, .. }) => Some(payout::Job::CloseReturnWindow(id)),
        _ => None,
    };
    ExpectedRows {
        number: match (&payout.plan.target, &payout.status) {
            // A card without its last digits was found at the rail after a restore.
            (PayoutTarget::Card(Some(_)), Status::Queued | Status::InProcess) => RowExpectation::Always,
            _ => RowExpectation::Never,
        },
        cvv: RowExpectation::Never,
        timers: timer.into_iter().map(Into::into).collect(),
        pending_action: false,
    }
}

/// The status after an event; `None` leaves it unchanged.
pub(super) fn fold(event: &[u8]) -> Result<Option<&'static str>, DecodeError> {
    Ok(Some(match codec::decode(event)? {
        Event::Ordered(ordered) => match ordered.plan.target {
            PayoutTarget::Card(_) => "awaiting-details",
            PayoutTarget::Bank(..) | PayoutTarget::App(..) => "queued",
        },
        Event::DetailsSubmitted(..) | Event::FoundAtRail(_) => "queued",
        Event::Accepted(_) => "in-process",
        Event::Completed(..) | Event::ReturnWindowClosed(_) => "complete",
        Event::Failed(..) => "failed",
        Event::Cancelled(..) => "cancelled",
        Event::Expired(_) => "expired",
        Event::Returned(..) => "returned",
        Event::RailSequenceAdvanced(_)
        | Event::PaidAfterCredit(_)
        | Event::RecallCompleted(_)
        | Event::ReturnedLate => return Ok(None),
    }))
}

pub(super) fn product_of_job(work: &AnyJob) -> Option<String> {
    let (Job::SendPayout(id) | Job::RecallPayout(id) | Job::ExpirePayout(id) | Job::CloseReturnWindow(id)) =
        work.typed()?;
    Some(id.to_string())
}
