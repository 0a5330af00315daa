//! USA prepaid cards.

use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::card;
use purser_actors::entity::card::lifecycle::CardUpdate;
use purser_actors::entity::card::{Card, Event, Job, Status};
use purser_actors::id::CardId;
use purser_actors::kernel::job::AnyJob;
use purser_actors::ledger::LedgerProvider;
use purser_actors::port::{CardActivity, TransactionStatus};
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

use super::{ExpectedRows, MoneyOutcome, RowExpectation, SoldProduct, Usable, remainder};

/// USDC has six decimals, money on a card two.
const ATOMIC_PER_CENT: i128 = 10_000;

pub(super) fn read(id: CardId, row: &Row) -> Result<SoldProduct, DecodeError> {
    let card: Card = codec::decode(&row.value)?;
    let (status, money) = match card.status {
        Status::Pending => ("pending", MoneyOutcome::Spent),
        Status::Ready(_) => ("ready", MoneyOutcome::Spent),
        Status::Paused(_) => ("paused", MoneyOutcome::Spent),
        Status::Failed { .. } => ("failed", MoneyOutcome::Reversed),
        Status::Closed(_) => ("closed", remainder(&card.charge, card.lifecycle.released)),
        Status::Expired(_) => ("expired", remainder(&card.charge, card.lifecycle.released)),
    };
    let has_action = card.lifecycle.pending_action.is_some();
    Ok(SoldProduct {
        product: PurchasedProduct::Card(id),
        plural: "cards",
        revision: row.revision,
        status,
        owner: card.owner,
        charge: card.charge,
        value: i128::from(card.amount.get()) * ATOMIC_PER_CENT,
        provider: LedgerProvider::CardIssuer,
        money,
        price: None,
        is_in_progress: card.status == Status::Pending || has_action,
        usable: match card.status {
            Status::Ready(_) | Status::Paused(_) => usable_balance(&card.lifecycle.activity),
            Status::Pending | Status::Failed { .. } | Status::Closed(_) | Status::Expired(_) => Usable::Zero,
        },
        returned_late: false,
        expected_rows: ExpectedRows {
            number: match card.status {
                Status::Pending | Status::Failed { .. } => RowExpectation::Never,
                Status::Ready(_) | Status::Paused(_) | Status::Closed(_) | Status::Expired(_) => RowExpectation::Always,
            },
            cvv: RowExpectation::Never,
            timers: match card.status {
                Status::Ready(_) | Status::Paused(_) => vec![card::Job::ExpireCard(id).into()],
                _ => Vec::new(),
            },
            pending_action: false,
        },
    })
}

/// Includes the amounts held for pending charges.
fn usable_balance(activity: &CardActivity) -> Usable {
    let of = |status| -> i128 {
        let charges = activity.transactions.iter().filter(|one| one.status == status);
        charges.map(|one| i128::from(one.amount.get())).sum()
    };
    let now = i128::from(activity.available.get()) + of(TransactionStatus::Pending);
    // For a card with more charges than are stored, the reversed ones are unknown.
    let all_are_kept = activity.transactions.len() < CardActivity::MAX_TRANSACTIONS;
    let by_merchants = if all_are_kept {
        of(TransactionStatus::Refunded)
    } else {
        now
    };
    Usable::Remaining {
        now: now * ATOMIC_PER_CENT,
        by_merchants: by_merchants * ATOMIC_PER_CENT,
    }
}

pub(super) fn fold(event: &[u8]) -> Result<Option<&'static str>, DecodeError> {
    Ok(Some(match codec::decode(event)? {
        Event::Ordered { .. } => "pending",
        Event::Issued(..) | Event::Updated(CardUpdate::Resumed(_), _) => "ready",
        Event::Updated(CardUpdate::Paused(_), _) => "paused",
        Event::Updated(CardUpdate::Closed(_), _) => "closed",
        // Views, requests and charges change no status.
        Event::Revealed(_)
        | Event::RefreshRequested(_)
        | Event::Refreshed(_)
        | Event::ActionRequested(..)
        | Event::ActionCompleted(_)
        | Event::RemainderRetained(..)
        | Event::Updated(CardUpdate::Charged(..) | CardUpdate::Released(_), _) => return Ok(None),
        Event::Declined(..) => "failed",
        Event::Expired(_) => "expired",
    }))
}

pub(super) fn product_of_job(work: &AnyJob) -> Option<String> {
    match work.typed()? {
        Job::IssueCard(id) | Job::ChangePrepaidCardState(id) => Some(id.to_string()),
        Job::ExpireCard(_) | Job::RefreshCard(_) => None,
    }
}
