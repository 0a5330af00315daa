//! Gift cards.

use purser_actors::gift_card::{Event, GiftCard, Status};
use purser_actors::id::CardId;
use purser_actors::ledger::Provider;
use purser_actors::product::Product;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

use super::{Money, Sold};

pub(super) fn read(id: CardId, row: &Row) -> Result<Sold, DecodeError> {
    let gift: GiftCard = codec::decode(&row.value)?;
    let (status, money) = match gift.status {
        Status::Processing => ("processing", Money::Spent),
        Status::Completed => ("completed", Money::Spent),
        Status::Failed { .. } => ("failed", Money::Undone),
    };
    Ok(Sold {
        product: Product::GiftCard(id),
        plural: "gift_cards",
        revision: row.revision,
        status,
        owner: gift.owner,
        charge: gift.charge,
        worth: i128::from(gift.charge.owed().atomic()),
        provider: Provider::GiftCards,
        money,
        moving: gift.status == Status::Processing,
    })
}

pub(super) fn fold(event: &[u8]) -> Result<&'static str, DecodeError> {
    Ok(match codec::decode(event)? {
        Event::Ordered { .. } => "processing",
        Event::Delivered(_) | Event::Revealed(_) => "completed",
        Event::Refused(..) => "failed",
    })
}
