//! USA prepaid cards.

use purser_actors::card::{Card, Event, Status};
use purser_actors::id::CardId;
use purser_actors::kernel::effect::Work;
use purser_actors::ledger::Provider;
use purser_actors::product::Product;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

use super::{Has, Keeps, Money, Sold};

/// USDC has six decimals, money on a card two.
const ATOMIC_PER_CENT: i128 = 10_000;

pub(super) fn read(id: CardId, row: &Row) -> Result<Sold, DecodeError> {
    let card: Card = codec::decode(&row.value)?;
    let (status, money) = match card.status {
        Status::Pending => ("pending", Money::Spent),
        Status::Ready(_) => ("ready", Money::Spent),
        Status::Failed { .. } => ("failed", Money::Undone),
        Status::Closed(_) => ("closed", Money::Spent),
        Status::Expired(_) => ("expired", Money::Spent),
    };
    Ok(Sold {
        product: Product::Card(id),
        plural: "cards",
        revision: row.revision,
        status,
        owner: card.owner,
        charge: card.charge,
        worth: i128::from(card.amount.get()) * ATOMIC_PER_CENT,
        provider: Provider::CardIssuer,
        money,
        price: None,
        moving: card.status == Status::Pending,
        came_back_late: false,
        keeps: Keeps {
            number: match card.status {
                Status::Pending | Status::Failed { .. } => Has::Never,
                Status::Ready(_) | Status::Closed(_) | Status::Expired(_) => Has::Always,
            },
            cvv: Has::Never,
            timers: match card.status {
                Status::Ready(_) => vec![Work::ExpireCard(id)],
                _ => Vec::new(),
            },
        },
    })
}

pub(super) fn fold(event: &[u8]) -> Result<Option<&'static str>, DecodeError> {
    Ok(Some(match codec::decode(event)? {
        Event::Ordered { .. } => "pending",
        Event::Issued(..) | Event::Revealed(_) | Event::RefreshAsked(_) => "ready",
        // News of a card may come after its end: they change no state.
        Event::Refreshed(..) => return Ok(None),
        Event::Refused(..) => "failed",
        Event::Closed(_) => "closed",
        Event::Expired(_) => "expired",
    }))
}
