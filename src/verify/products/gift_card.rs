//! Gift cards.

use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::gift_card::{Event, GiftCard, Job, Status};
use purser_actors::id::CardId;
use purser_actors::kernel::job::AnyJob;
use purser_actors::ledger::LedgerProvider;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

use super::{ExpectedRows, MoneyOutcome, RowExpectation, SoldProduct, Usable, priced};

pub(super) fn read(id: CardId, row: &Row) -> Result<SoldProduct, DecodeError> {
    let gift: GiftCard = codec::decode(&row.value)?;
    let order = &gift.order;
    let (worth, price) = priced(order.amount, order.currency, &order.quoted).unwrap_or_default();
    let (status, money) = match gift.status {
        Status::Processing => ("processing", MoneyOutcome::Spent),
        Status::Completed => ("completed", MoneyOutcome::Spent),
        Status::Failed { .. } => ("failed", MoneyOutcome::Reversed),
    };
    Ok(SoldProduct {
        product: PurchasedProduct::GiftCard(id),
        plural: "gift_cards",
        revision: row.revision,
        status,
        owner: gift.owner,
        charge: gift.charge,
        value: worth,
        provider: LedgerProvider::GiftCards,
        money,
        price: Some(price),
        is_in_progress: gift.status == Status::Processing,
        usable: match gift.status {
            Status::Completed => Usable::All,
            Status::Processing | Status::Failed { .. } => Usable::Zero,
        },
        returned_late: false,
        expected_rows: ExpectedRows {
            number: match gift.status {
                Status::Completed => RowExpectation::Always,
                Status::Processing | Status::Failed { .. } => RowExpectation::Never,
            },
            ..ExpectedRows::default()
        },
    })
}

pub(super) fn fold(event: &[u8]) -> Result<Option<&'static str>, DecodeError> {
    Ok(Some(match codec::decode(event)? {
        Event::Ordered { .. } => "processing",
        Event::Delivered(_) | Event::Revealed(_) => "completed",
        Event::Declined(..) => "failed",
    }))
}

pub(super) fn product_of_job(work: &AnyJob) -> Option<String> {
    let Job::OrderGiftCard(id) = work.typed()?;
    Some(id.to_string())
}
